"""SciPy's linear algebra, `scipy.linalg`, for tracers too.

On plain arrays every function is SciPy's own. Traced, functions of one matrix take stacks of them, unless
they say otherwise, and are differentiable to every order. What the documentation of `fungrad.numpy.linalg` says
of Hermitian matrices, of vectors and of repeated values holds here.

Arguments about how to compute (`overwrite_a`, `lapack_driver`, `lwork`, ...) mean nothing for traced arrays, nor
does `check_finite`: that an array is not finite shows when the program runs.

Examples
--------
How fast a rotation turns:

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.scipy.linalg import expm
>>> turn = np.array([[0.0, -1.0], [1.0, 0.0]])
>>> value, speed = fg.jvp(lambda angle: expm(angle * turn), (0.0,), (1.0,))
>>> np.abs(speed - turn).max() < 1e-12
np.True_
"""

import scipy.linalg
from scipy.linalg import LinAlgError as LinAlgError
from scipy.linalg import LinAlgWarning as LinAlgWarning

from fungrad.scipy.linalg.banded import *
from fungrad.scipy.linalg.decompositions import *
from fungrad.scipy.linalg.eigenvalues import *
from fungrad.scipy.linalg.equations import *
from fungrad.scipy.linalg.functions import *
from fungrad.scipy.linalg.special import *
from fungrad.scipy.linalg.systems import *
from fungrad.scipy.names import mirror_of

__all__, __dir__, __getattr__ = mirror_of(scipy.linalg, globals())
