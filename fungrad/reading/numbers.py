"""The functions of `math` on traced numbers."""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.frames import is_caught_within_transform
from fungrad.core.tracer import Tracer, known_value
from fungrad.primitives.elementwise import Cast
from fungrad.reading.bounds import bounds_of
from fungrad.reading.symbols import is_symbolic

Function = Callable[..., Any]

REAL = Cast(np.dtype(np.float64), True)
"""What makes a Python float of a traced number: it gives way to the dtype that it meets."""
WHOLE = Cast(np.dtype(np.int64), True)
COMPLEX = Cast(np.dtype(np.complex128), True)


def number(x: Any) -> Any:
    """Return a traced array of one element as a scalar, as Python's `float` takes it."""
    return x.reshape(())[()] if x.shape and x.size == 1 else x


def of_number(original: Function, ours: Function) -> Function:
    """Return a function of `math` that takes traced numbers: `ours`, of Python floats.

    Where values are known and a `try` may wait for the error that `math` raises, it is raised.
    """

    @functools.wraps(original)
    def function(*args: Any) -> Any:
        if Tracer not in map(type, args):
            return original(*args)
        args = tuple([number(x) if type(x) is Tracer else x for x in args])
        if is_caught_within_transform():
            _raise_as(original, args)
        result = ours(*args)
        return REAL(result) if type(result) is Tracer and result.dtype.kind == "f" else result

    return function


def _raise_as(original: Function, args: Sequence[Any]) -> None:
    """Raise the error that a function of `math` raises for such arguments, for which a `try` may wait."""
    if not any(map(is_symbolic, args)):
        original(*[known_value(x) if type(x) is Tracer else x for x in args])
        return
    valid = _DOMAINS.get(original.__name__)
    if valid is not None and not valid(args[0]):
        raise ValueError("math domain error")
    if original.__name__ in _OVERFLOWS and args[0] > _OVERFLOWS[original.__name__]:
        raise OverflowError("math range error")


_DOMAINS: dict[str, Callable[[Any], Any]] = {
    "acos": lambda x: abs(x) <= 1,
    "acosh": lambda x: x >= 1,
    "asin": lambda x: abs(x) <= 1,
    "atanh": lambda x: abs(x) < 1,
    "log": lambda x: x > 0,
    "log10": lambda x: x > 0,
    "log1p": lambda x: x > -1,
    "log2": lambda x: x > 0,
    "sqrt": lambda x: x >= 0,
}
"""Where functions of `math` are defined."""

_OVERFLOWS = {"exp": 709.782712893384, "exp2": 1024.0, "expm1": 709.782712893384}
"""The largest arguments of functions that raise an error beyond."""


def of_complex(original: Function, ours: Function) -> Function:
    """Return a function of `cmath` that takes traced numbers: `ours`, of complex numbers."""

    @functools.wraps(original)
    def function(*args: Any) -> Any:
        if Tracer not in map(type, args):
            return original(*args)
        return COMPLEX(
            ours(*[COMPLEX(number(x)) if type(x) is Tracer else complex(x) for x in args])
        )

    return function


def _log(x: Any, *base: Any) -> Any:
    return fnp.log(x) / fnp.log(*base) if base else fnp.log(x)


def _of_list(original: Function, ours: Function) -> Function:
    @functools.wraps(original)
    def function(values: Any, **kwargs: Any) -> Any:
        values = list(values)
        traced = not kwargs and any(type(x) is Tracer for x in values)
        return ours(values) if traced else original(values, **kwargs)

    return function


def dist(p: Any, q: Any) -> Any:
    """`math.dist` of points with traced coordinates."""
    p, q = list(p), list(q)
    if not any(type(x) is Tracer for x in (*p, *q)):
        return math.dist(p, q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    squares = [(a - b) ** 2 for a, b in zip(p, q, strict=True)]
    return REAL(fnp.sqrt(sum(squares[1:], squares[0])))


def isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    """`math.isclose` of traced numbers."""
    if type(a) is not Tracer and type(b) is not Tracer:
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    bound = fnp.maximum(rel_tol * fnp.maximum(abs(a), abs(b)), abs_tol)
    near = (abs(a - b) <= bound) & fnp.isfinite(a) & fnp.isfinite(b)
    return near | (fnp.asarray(a) == b)


def _rounded(original: Function, ours: Function) -> Function:
    """Return a function of `math` that makes an integer."""

    @functools.wraps(original)
    def function(x: Any) -> Any:
        if not is_symbolic(x):
            return original(x)
        return WHOLE(ours(number(x)))

    return function


def _sum(values: list[Any]) -> Any:
    return REAL(fnp.sum(fnp.stack([fnp.asarray(x) for x in values])))


def _product(values: list[Any]) -> Any:
    return fnp.prod(fnp.stack([fnp.asarray(x) for x in values]))


log = of_number(math.log, _log)
fsum = _of_list(math.fsum, _sum)
prod = _of_list(math.prod, _product)
floor = _rounded(math.floor, fnp.floor)
ceil = _rounded(math.ceil, fnp.ceil)
trunc = _rounded(math.trunc, fnp.trunc)


LAST = 20
"""The largest number whose factorial fits into 64 bits."""


def factorial(n: Any, /) -> Any:
    """`math.factorial` of a whole number without a value, if it has 64 bits."""
    bounds = bounds_of(n) if is_symbolic(n) else None
    if bounds is None or not 0 <= bounds[0] <= bounds[1] <= LAST:
        return math.factorial(n)
    return _looked_up([math.factorial(i) for i in range(bounds[1] + 1)], n)


def comb(n: Any, k: Any, /) -> Any:
    """`math.comb` of a known number and one without a value, if it has 64 bits."""
    bounds = bounds_of(k) if is_symbolic(k) and type(n) is int and 0 <= n < 64 else None
    if bounds is None or not 0 <= bounds[0] <= bounds[1] <= 4 * LAST:
        return math.comb(n, k)
    return _looked_up([math.comb(n, i) for i in range(bounds[1] + 1)], k)


def _looked_up(values: list[int], index: Any) -> Any:
    return WHOLE(index._owner.lift(np.array(values))[index])


def phase(x: Any) -> Any:
    """`cmath.phase` of a traced number."""
    return REAL(fnp.angle(number(x))) if type(x) is Tracer else cmath.phase(x)


def polar(x: Any) -> Any:
    """`cmath.polar` of a traced number."""
    return (REAL(abs(number(x))), phase(x)) if type(x) is Tracer else cmath.polar(x)


def rect(r: Any, phi: Any) -> Any:
    """`cmath.rect` of traced numbers."""
    if type(r) is not Tracer and type(phi) is not Tracer:
        return cmath.rect(r, phi)
    return COMPLEX(r * fnp.cos(phi) + 1j * (r * fnp.sin(phi)))


def hypot(*args: Any) -> Any:
    """`math.hypot` of traced numbers, as many as there are."""
    if Tracer not in map(type, args):
        return math.hypot(*args)
    if len(args) == 2:
        return REAL(fnp.hypot(*map(_number_of, args)))
    largest = functools.reduce(fnp.maximum, [abs(_number_of(x)) for x in args])
    largest = fnp.where(largest == 0, 1.0, largest)
    return REAL(largest * fnp.sqrt(sum((_number_of(x) / largest) ** 2 for x in args)))


def _number_of(x: Any) -> Any:
    return number(x) if type(x) is Tracer else x


def modf(x: Any) -> Any:
    """`math.modf` of a traced number."""
    if type(x) is not Tracer:
        return math.modf(x)
    fraction, whole = fnp.modf(number(x))
    return REAL(fraction), REAL(whole)


def ldexp(x: Any, i: Any) -> Any:
    """`math.ldexp` of traced numbers."""
    if type(x) is not Tracer and type(i) is not Tracer:
        return math.ldexp(x, i)
    return REAL(_number_of(x) * fnp.exp2(_number_of(i) * 1.0))


def _of_statistics(name: str, ours: Function, **options: Any) -> Function:
    """Return a function of `statistics` that takes lists of traced numbers."""

    def function(data: Any, *args: Any) -> Any:
        values = list(data)
        if args or not any(type(x) is Tracer for x in values):
            import statistics  # which takes long, and has been imported by whoever calls

            return getattr(statistics, name)(values, *args)
        return REAL(ours(fnp.stack([fnp.asarray(x) for x in values]), **options))

    function.__name__ = name
    return function


mean = _of_statistics("mean", fnp.mean)
fmean = _of_statistics("fmean", fnp.mean)
median = _of_statistics("median", fnp.median)
pstdev = _of_statistics("pstdev", fnp.std)
stdev = _of_statistics("stdev", fnp.std, ddof=1)
pvariance = _of_statistics("pvariance", fnp.var)
variance = _of_statistics("variance", fnp.var, ddof=1)
