"""NumPy's linear algebra, `numpy.linalg`, for tracers too.

On plain arrays every function is NumPy's own. Stacks of matrices, real and complex ones, work as they do in
NumPy, under every transform and to every order of differentiation. What needs to be known:

- Hermitian matrices. `cholesky`, `eigh` and all that take ``hermitian=True`` read one triangle, as in NumPy. Their
  derivatives are those by Hermitian matrices: a gradient is Hermitian, and of a tangent the Hermitian part
  counts. Only where the matrix itself is not Hermitian, because one triangle has been filled, is the
  derivative that by this triangle.
- Vectors of `eigh`, `eig`, `svd` and `qr` are unique up to signs, phases or rotations of some of them. Derivatives
  of functions that depend on such a choice follow it where LAPACK's is known, see `qr` and `eig`;
  otherwise a vector does not turn in its own direction.
- Repeated eigenvalues or singular values: derivatives of their vectors, and second derivatives of the values, do not
  exist and are NaN. First derivatives of the values are right for functions of all of them, sums for
  example.
- Errors that depend on values, `LinAlgError` for singular matrices, are raised when the program runs; where
  values are known, that is at once.

Examples
--------
The gradient of the logarithm of det A is the transposed inverse:

>>> import numpy as np
>>> import fungrad as fg
>>> a = np.array([[2.0, 1.0], [0.0, 4.0]])
>>> fg.grad(lambda a: np.linalg.slogdet(a).logabsdet)(a)
array([[ 0.5  ,  0.   ],
       [-0.125,  0.25 ]])
>>> fg.vmap(np.linalg.eigvalsh)(np.stack([a + a.T, np.eye(2)]))
array([[3.76393202, 8.23606798],
       [1.        , 1.        ]])
"""

from numpy.linalg import LinAlgError as LinAlgError

from fungrad.numpy.linalg import decompositions, norms, products, systems
from fungrad.numpy.linalg.decompositions import *
from fungrad.numpy.linalg.norms import *
from fungrad.numpy.linalg.products import *
from fungrad.numpy.linalg.systems import *
from fungrad.numpy.names import tell_missing

__all__ = [
    "LinAlgError",
    *decompositions.__all__,
    *norms.__all__,
    *products.__all__,
    *systems.__all__,
]
__dir__ = __all__.copy
tell_missing(globals())
