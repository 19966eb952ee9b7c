"""Types of arrays, tracers and numbers: shape and dtype, and the kind of a dtype's numbers.

`type_of`, `is_array`
    The `ArrayType` of an array, a number or a tracer; whether it has one.
`ArrayType`, `Shape`
    Shape, dtype and whether the dtype is weak; a tuple of integers.
`kind_of`, `is_half`, `is_key`
    The kind of a dtype, for those that other packages add to NumPy, too; whether it is of two bytes or fewer; whether
    it is that of keys of random numbers.
`float0`
    The dtype of tangents of integers and booleans.
"""

from fungrad.core.types import (
    ArrayType,
    Shape,
    float0,
    is_array,
    is_half,
    is_key,
    kind_of,
    type_of,
)

__all__ = [
    "ArrayType",
    "Shape",
    "float0",
    "is_array",
    "is_half",
    "is_key",
    "kind_of",
    "type_of",
]
__dir__ = __all__.copy
