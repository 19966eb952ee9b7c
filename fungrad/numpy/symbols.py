"""Which primitive each operator of Python is."""

from __future__ import annotations

from fungrad.primitives import elementwise as e

BINARY: dict[str, e.Function] = {
    "add": e.add,
    "sub": e.sub,
    "mul": e.mul,
    "truediv": e.div,
    "floordiv": e.floor_divide,
    "mod": e.remainder,
    "pow": e.power,
    "and": e.bitwise_and,
    "or": e.bitwise_or,
    "xor": e.bitwise_xor,
    "lshift": e.left_shift,
    "rshift": e.right_shift,
}
"""Those that have a reflected form and one in place."""

COMPARISONS: dict[str, e.Function] = {
    "eq": e.equal,
    "ne": e.not_equal,
    "lt": e.less,
    "le": e.less_equal,
    "gt": e.greater,
    "ge": e.greater_equal,
}
UNARY: dict[str, e.Function] = {
    "neg": e.neg,
    "pos": e.positive,
    "abs": e.absolute,
    "invert": e.invert,
}
