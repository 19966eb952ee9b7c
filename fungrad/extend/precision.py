"""Dtypes in which the functions of `fungrad.nn` and `fungrad.optim` compute, and of their results.

Numbers of two bytes or fewer are computed with in float32 and rounded once, the result.

`array`, `converted`
    An operand as an array; an array of another dtype.
`floating_dtype`, `computing_dtype`
    The dtype of the result of operands; the dtype to compute in for it.
`widened`, `computed`
    Operands in the dtype to compute in; the result of a formula that is computed there.
`SINGLE`, `DOUBLE`
    The dtypes float32 and float64.
"""

from fungrad.numpy.precision import (
    DOUBLE,
    SINGLE,
    array,
    computed,
    computing_dtype,
    converted,
    floating_dtype,
    widened,
)

__all__ = [
    "DOUBLE",
    "SINGLE",
    "array",
    "computed",
    "computing_dtype",
    "converted",
    "floating_dtype",
    "widened",
]
__dir__ = __all__.copy
