"""Sparse matrices of traced data, as `scipy.sparse` has them of numbers, and their `linalg`.

The places of entries are constants; derivatives flow through the data: by assembly, sums, products with vectors, matrices
and sparse matrices, and `linalg.spsolve`. Of plain data each function makes SciPy's matrix.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.scipy import sparse
>>> def energy(stiffness):
...     K = sparse.csr_array((stiffness, ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))
...     load = np.array([1.0, 0.0])
...     return load @ sparse.linalg.spsolve(K, load)
>>> fg.grad(energy)(np.array([2.0, -1.0, -1.0, 2.0])).round(4)
array([-0.4444, -0.2222, -0.2222, -0.1111])
"""

from typing import Any

from fungrad.scipy.sparse import construct
from fungrad.scipy.sparse import linalg as linalg
from fungrad.scipy.sparse import nodes as _nodes  # noqa: F401  # which makes them pytrees
from fungrad.scipy.sparse.arrays import SparseArray as SparseArray
from fungrad.scipy.sparse.construct import *

__all__ = [*construct.__all__, "SparseArray", "linalg"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module 'fungrad.scipy.sparse' has no attribute {name!r}; scipy.sparse.{name}, if there is one, makes matrices of "
        "plain data"
    )
