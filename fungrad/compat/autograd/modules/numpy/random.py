"""``autograd.numpy.random``: NumPy's own, since draws do not depend on traced values."""

import numpy.random as _theirs

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import fill, names_of, plain_names

__all__: list[str] = []
__all__ += plain_names(_theirs)
__getattr__ = names_of("autograd.numpy.random", None, _theirs, ABSENT)
fill(globals(), _theirs)
