"""``autograd.numpy.numpy_vspaces``."""

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.vectors import ArrayVSpace, ComplexArrayVSpace
from fungrad.compat.standing_in import attributes

__all__ = ["ArrayVSpace", "ComplexArrayVSpace"]
__getattr__ = attributes("autograd.numpy.numpy_vspaces", ABSENT)
