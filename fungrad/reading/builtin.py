"""Python's own functions on traced numbers: conversions, comparisons of several, tests of types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import GeneratorType
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.numpy.views import is_scalar, scalar_of
from fungrad.numpy.whole import whole_of
from fungrad.primitives.elementwise import Cast
from fungrad.programs.closing import NotTraced
from fungrad.programs.loops.carry import leaves_of
from fungrad.programs.loops.recorded import recorded_loop
from fungrad.reading.numbers import COMPLEX, REAL, WHOLE, number
from fungrad.reading.registry import HOOKS
from fungrad.reading.symbols import is_symbolic

Function = Callable[..., Any]

STRONG = Cast(np.dtype(np.float64))


def plain_type(x: Any) -> type:
    """Return the type that a traced value stands for: an array, a scalar of NumPy or a Python number."""
    if type(x) is not Tracer:
        return type(x)
    if not is_scalar(x):
        return np.ndarray
    return _PYTHON[x.dtype.kind] if x._type.weak and x.dtype.kind in _PYTHON else x.dtype.type


_PYTHON: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}


def of_type(*args: Any, **kwargs: Any) -> Any:
    """`type`: of what is traced, that of what it stands for."""
    return plain_type(*args) if len(args) == 1 and not kwargs else type(*args, **kwargs)


def of_isinstance(x: Any, kinds: Any) -> bool:
    """`isinstance` of what is traced, as of what it stands for."""
    if type(x) is not Tracer:
        return isinstance(x, kinds)
    return isinstance(x, kinds) or issubclass(plain_type(x), kinds)


def of_float(*args: Any) -> Any:
    """`float` of what is traced: a traced number."""
    if len(args) != 1 or type(args[0]) is not Tracer or args[0].size != 1:
        return float(*args)
    if args[0].dtype.kind == "c":
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    if not args[0]._has_derivative and not is_symbolic(args[0]):
        return float(args[0])
    return REAL(number(args[0]))


def real(*args: Any) -> Any:
    """`numpy.float64` of what is traced."""
    return STRONG(args[0]) if len(args) == 1 and type(args[0]) is Tracer else np.float64(*args)


def of_int(*args: Any, **kwargs: Any) -> Any:
    """`int`: of what has no value, a traced whole number."""
    if kwargs or len(args) != 1 or not is_symbolic(args[0]) or args[0].size != 1:
        return int(*args, **kwargs)
    x = number(args[0])
    return WHOLE(x if x.dtype.kind in "biu" else fnp.trunc(x))


def of_complex(*args: Any, **kwargs: Any) -> Any:
    """`complex` of what is traced: a traced number."""
    traced = [x for x in args if type(x) is Tracer]
    if kwargs or not traced or any(x.size != 1 for x in traced):
        return complex(*args, **kwargs)
    first = COMPLEX(number(args[0])) if type(args[0]) is Tracer else args[0]
    return first + 1j * args[1] if len(args) == 2 else first


def _extreme(original: Function, later: Function, of_whole: Function) -> Function:
    """Return Python's `min` or `max`, which takes another element only if it is less, or greater.

    `of_whole` is that of two whole numbers, of which bounds are known.
    """

    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not _is_iterable(args[0]):
            return original(*args, **kwargs)  # which raises
        values = list(args[0]) if len(args) == 1 else list(args)
        if (
            kwargs
            or not any(map(is_symbolic, values))
            or any(getattr(x, "shape", ()) for x in values)
        ):
            # An iterator may have been used up.
            return original(values, **kwargs) if len(args) == 1 else original(*args, **kwargs)
        result = values[0]
        whole = all(type_of(x).dtype.kind == "i" for x in values)
        for x in values[1:]:
            after = of_whole(x, result) if whole else fnp.where(later(x, result), x, result)
            result = as_one_of(after, (x, result))
        return result

    function.__name__ = original.__name__
    return function


def as_one_of(result: Any, values: Sequence[Any]) -> Any:
    """Return a selected number as Python has it: a scalar among scalars, weak among Python numbers.

    `where` makes an array without axes, which an in-place operator would change; that of a scalar makes a new one.
    """
    if type(result) is not Tracer:
        return result
    if not any(plain_type(x) is np.ndarray for x in values):
        result = scalar_of(result)
    return Cast(result.dtype, True)(result) if all(type_of(x).weak for x in values) else result


def of_hasattr(x: Any, name: str) -> bool:
    """`hasattr` of what is traced: what stands for a Python number has that number's attributes alone."""
    return hasattr(x, name) and (type(x) is not Tracer or hasattr(plain_type(x), name))


def of_getattr(x: Any, name: str, *default: Any) -> Any:
    """`getattr` of what is traced, as `of_hasattr`."""
    if type(x) is Tracer and default and not hasattr(plain_type(x), name):
        return default[0]
    return getattr(x, name, *default)


def of_str(*args: Any, **kwargs: Any) -> str:
    """`str` of what is traced: its value's."""
    return str(*map(shown, args), **kwargs)


def of_repr(x: Any) -> str:
    """`repr` of what is traced: its value's."""
    return repr(shown(x))


def of_format(x: Any, spec: str = "") -> str:
    """`format` of what is traced: its value's."""
    return format(shown(x), spec)


def shown(x: Any) -> Any:
    """Return the value to format in place of `x`, as a Python number if it stands for one."""
    if type(x) is not Tracer:
        return x
    value = x._number("its text", "CONVERT")
    return value.item() if x._type.weak and not x._type.shape else value


def of_round(x: Any, ndigits: Any = None) -> Any:
    """`round` of what is traced: of a number without `ndigits` a whole number."""
    if type(x) is not Tracer or x.shape or x.dtype.kind != "f":
        return round(x, ndigits)
    if ndigits is not None:
        return as_one_of(fnp.round(x, ndigits), (x,))
    return WHOLE(fnp.round(x)) if is_symbolic(x) else round(x.__float__())


def _is_iterable(x: Any) -> bool:
    return hasattr(x, "__iter__") and not (type(x) is Tracer and not x.ndim)


def of_sorted(values: Any, /, **kwargs: Any) -> Any:
    """`sorted` of numbers without values."""
    values = list(values)
    if set(kwargs) - {"reverse"} or not any(map(is_symbolic, values)):
        return sorted(values, **kwargs)
    if any(getattr(x, "shape", ()) for x in values):
        return sorted(values, **kwargs)
    ordered = list(fnp.sort(fnp.stack([fnp.asarray(x) for x in values])))
    return ordered[::-1] if kwargs.get("reverse") else ordered


def _joined(original: Function, ours: Function) -> Function:
    """Return Python's `any` or `all`, of truth values that nobody has."""

    def function(values: Any, /) -> Any:
        if not _is_iterable(values):
            return original(values)
        values = list(values)
        if not any(map(is_symbolic, values)) or any(getattr(x, "shape", ()) for x in values):
            return original(values)
        return ours(fnp.stack([fnp.asarray(x).astype(bool) for x in values]))

    function.__name__ = original.__name__
    return function


def of_sum(values: Any, /, start: Any = 0) -> Any:
    """`sum`: of many rows of one array it is a loop, with the sums in Python's order."""
    if type(values) is GeneratorType:
        values = list(values)
    whole: Any = whole_of(values) if type(values) is list and len(values) >= LEAST else None
    if whole is None:
        return sum(values, start)
    first = start + values[0]  # which has the type of sums
    init, rows = leaves_of(first, "sum"), leaves_of(whole[1:], "sum")
    added = recorded_loop(
        "sum", lambda total, x: (total + x, None), init, rows, len(values) - 1, lambda *_: None
    )
    return sum(values, start) if isinstance(added, NotTraced) else added[0]


LEAST = 8
"""Elements from which on a sum is a loop."""


def isscalar(x: Any) -> bool:
    """`numpy.isscalar` of what is traced: false of arrays without axes, as in NumPy."""
    return is_scalar(x) if type(x) is Tracer else np.isscalar(x)


def vectorize(*args: Any, **kwargs: Any) -> Any:
    """`numpy.vectorize`, whose object takes what is traced."""
    if args and callable(args[0]):
        args = (HOOKS["called"](args[0]), *args[1:])
    return fnp.vectorize(*args, **kwargs)


def item(x: Any, *index: Any) -> Any:
    """`ndarray.item` of what is traced: a Python number."""
    element = x[index] if index else number(x)
    if element.shape:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    kind = element.dtype.kind
    casts = {"f": REAL, "i": WHOLE, "u": WHOLE, "c": COMPLEX}
    if kind not in casts or (kind in "iu" and not is_symbolic(element)):
        return element.item()
    return casts[kind](element[()])


def tolist(x: Any) -> Any:
    """`ndarray.tolist` of what is traced: nested lists of Python numbers."""
    return [tolist(row) for row in x] if x.ndim else item(x)


of_min = _extreme(min, lambda x, y: x < y, fnp.minimum)
of_max = _extreme(max, lambda x, y: x > y, fnp.maximum)
of_any = _joined(any, fnp.any)
of_all = _joined(all, fnp.all)
