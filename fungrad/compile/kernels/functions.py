"""Elementary functions, of the operations that every processor has.

Each is a straight line of operations, within 2 ulp of the exact result for every argument. It sets the flags of
invalid operations, divisions by zero and overflow exactly where the result calls for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fungrad.compile.kernels.division import divisible, floor_divide, fmod, remainder
from fungrad.compile.kernels.exponentials import cosh, exp, exp2, expm1, sinh, tanh
from fungrad.compile.kernels.inverse import (
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
)
from fungrad.compile.kernels.logarithms import log, log1p, log2, log10
from fungrad.compile.kernels.powers import cbrt, hypot, logaddexp, logaddexp2, neither_nan, power
from fungrad.compile.kernels.sigmoids import expit, log_expit
from fungrad.compile.kernels.special import erf, erfc, gammaln, positive
from fungrad.compile.kernels.trigonometric import cos, moderate, sin, tan

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar

__all__ = [
    "SAFE", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt",
    "cos", "cosh", "erf", "erfc", "exp", "exp2", "expit", "expm1", "floor_divide", "fmod",
    "gammaln", "hypot", "log", "log1p", "log2", "log10", "log_expit", "logaddexp", "logaddexp2",
    "power", "remainder", "sin", "sinh", "tan", "tanh",
]  # fmt: skip

SAFE: dict[str, Callable[..., Scalar]] = {
    "cos": moderate,
    "floor_divide": divisible,
    "fmod": divisible,
    "gammaln": positive,
    "logaddexp": neither_nan,
    "logaddexp2": neither_nan,
    "remainder": divisible,
    "sin": moderate,
    "tan": moderate,
}
"""For functions that hold for a part of the arguments: whether one is in that part."""

ALONE = {"cos": "d", "erf": "fd", "erfc": "fd", "expit": "fd", "gammaln": "fd", "sin": "d"}
"""Functions, with the characters of dtypes, that pay as kernels by themselves.

NumPy and SciPy take about 1.5 to 8 times as long for 100,000 elements; for other functions the two are close.
"""
