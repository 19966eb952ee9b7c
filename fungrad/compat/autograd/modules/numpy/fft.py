"""``autograd.numpy.fft``."""

import numpy.fft as _theirs

import fungrad.numpy.fft as _ours
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import fill, names_of, plain_names

__all__: list[str] = []
__all__ += plain_names(_theirs)
__getattr__ = names_of("autograd.numpy.fft", _ours, _theirs, ABSENT)
fill(globals(), _theirs)
