"""Classes of primitives, for tests such as ``isinstance(equation.primitive, ReduceSum)``.

Their fields are the parameters of the equation; `fungrad.show` writes programs as NumPy source by them.

`Function`, `numpy_ufunc`
    An elementwise operation; the ufunc that its field `function` is.
`Cast`
    Another dtype.
`Broadcast`, `Reshape`, `Iota`
    Repetition along new axes; another shape; the numbers 0, 1, 2, ...
`ReduceSum`, `ReduceMax`, `ReduceMin`
    Reductions along axes.
`DotGeneral`
    Products of matrices and what generalizes them.
`Gather`, `Scatter`, `UFUNCS`
    Elements at arrays of indices, taken and written; the ufunc that combines an element with an update.
`Update`, `UpdateSlice`, `DynamicUpdateSlice`
    Elements of a slice, written.
"""

from fungrad.extend.packages import COMMON, Glossary, add_example, examples_of
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.dynamic import DynamicUpdateSlice
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.indexing import UFUNCS, Gather, Scatter, Update, UpdateSlice
from fungrad.primitives.reductions import ReduceMax, ReduceMin
from fungrad.primitives.shaping import Broadcast, Iota, ReduceSum, Reshape
from fungrad.primitives.ufunc import Function, numpy_ufunc

__all__ = [
    "UFUNCS",
    "Broadcast",
    "Cast",
    "DotGeneral",
    "DynamicUpdateSlice",
    "Function",
    "Gather",
    "Iota",
    "ReduceMax",
    "ReduceMin",
    "ReduceSum",
    "Reshape",
    "Scatter",
    "Update",
    "UpdateSlice",
    "numpy_ufunc",
]
__dir__ = __all__.copy

_IMPORTS = Glossary(
    {}, imports={**COMMON.imports, "operations": "from fungrad.extend import operations"}
)
for _name in examples_of(__name__):
    add_example(globals()[_name], __name__, _name, _IMPORTS)
