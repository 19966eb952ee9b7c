"""``autograd.numpy.random``: NumPy's own, since what is drawn depends on nothing that is traced."""

import numpy.random as _theirs

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of, plain_names

__all__: list[str] = []
__all__ += plain_names(_theirs)
__getattr__ = names_of("autograd.numpy.random", None, _theirs, ABSENT)
