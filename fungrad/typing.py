"""Types for annotations: `Array`, `ArrayLike`, `PyTree`.

>>> import numpy as np
>>> import fungrad as fg
>>> import fungrad.numpy as fnp
>>> from fungrad.typing import Array, PyTree
>>> def loss(parameters: PyTree, x: Array) -> Array:
...     return fnp.sum((x @ parameters["w"]) ** 2)
>>> fg.grad(loss)({"w": np.ones(2)}, np.eye(2))
{'w': array([2., 2.])}

Type checkers take an `Array` for an array of NumPy: what functions annotated with it take and return are these, and traced
arrays have their attributes, methods and operators. When the program runs, ``isinstance(x, Array)`` is true of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fungrad.core.tracer import Tracer
from fungrad.numpy.names import tell_missing

__all__ = ["Array", "ArrayLike", "PyTree"]
__dir__ = __all__.copy
tell_missing(globals())

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
else:
    Array = np.ndarray | Tracer
    ArrayLike = Array | np.generic | bool | int | float | complex

PyTree: TypeAlias = Any
"""Nested tuples, lists, dicts and registered classes of arrays: type checkers know no type for that."""
