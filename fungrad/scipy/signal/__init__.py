"""`scipy.signal` for traced arrays: convolution, filters, spectra.

Each function is SciPy's own on plain arrays. Filters are differentiable in the signal and in their coefficients.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.scipy import signal
>>> def echo(decay):  # of an impulse, after three steps
...     return signal.lfilter(np.ones(1), fg.numpy.stack([1.0, -decay]), np.eye(4)[0])[3]
>>> echo(0.5), fg.grad(echo)(0.5)
(np.float64(0.125), np.float64(0.75))
"""

import scipy.signal

from fungrad.scipy.names import mirror_of
from fungrad.scipy.signal.convolution import *
from fungrad.scipy.signal.design import *
from fungrad.scipy.signal.filters import *
from fungrad.scipy.signal.smoothing import *
from fungrad.scipy.signal.spectral import *

__all__, __dir__, __getattr__ = mirror_of(scipy.signal, globals())
