"""`scipy.fft` for traced arrays; each function is SciPy's own on plain arrays.

The Fourier transforms are those of `fungrad.numpy.fft`, with SciPy's arguments and dtypes. What is about memory and
threads (`overwrite_x`, `workers`, `plan`) means nothing for traced arrays.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.scipy import fft
>>> fg.grad(lambda x: fft.dct(x)[1])(np.zeros(2))
array([ 1.41421356, -1.41421356])
"""

import scipy.fft
from scipy.fft import next_fast_len as next_fast_len
from scipy.fft import prev_fast_len as prev_fast_len

from fungrad.scipy.fft.transforms import *
from fungrad.scipy.names import mirror_of

__all__, __dir__, __getattr__ = mirror_of(scipy.fft, globals())
