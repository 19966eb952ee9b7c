"""NumPy's discrete Fourier transforms, `numpy.fft`, for tracers too.

The functions of several axes do what NumPy's do one axis after the other, so results are the same.
"""

from fungrad.numpy.fft import transforms
from fungrad.numpy.fft.transforms import *
from fungrad.numpy.names import tell_missing

__all__ = [*transforms.__all__]
__dir__ = __all__.copy
tell_missing(globals())
