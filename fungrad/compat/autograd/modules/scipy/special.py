"""``autograd.scipy.special``."""

import scipy.special as _theirs

import fungrad.scipy.special as _ours
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of, plain_names

__all__: list[str] = []
__all__ += plain_names(_theirs)
__getattr__ = names_of("autograd.scipy.special", _ours, _theirs, ABSENT)
