"""``autograd.scipy.linalg``."""

import scipy.linalg as _theirs

import fungrad.scipy.linalg as _ours
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of, plain_names

__all__: list[str] = []
__all__ += plain_names(_theirs)
__getattr__ = names_of("autograd.scipy.linalg", _ours, _theirs, ABSENT)
