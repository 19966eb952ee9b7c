"""Numbers at equal steps: `arange`, `linspace` and the like, with ends that are traced."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.types import PYTHON_SCALARS, ArrayType, array_type, type_of
from fungrad.numpy.dispatch import implements
from fungrad.numpy.joining import joined
from fungrad.numpy.plans import result_dtype
from fungrad.numpy.promotion import apply, as_array, as_tracer, cast
from fungrad.numpy.shaping import broadcast_arrays, expand_dims, moveaxis, reshaped
from fungrad.primitives import elementwise as e
from fungrad.primitives.slices import slice_axis


@implements(np.arange, creates=True)
def arange(
    start_or_stop: Any = None,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    like: Any = None,
    start: Any = None,
) -> Any:
    """The number of elements must be known when the function is traced."""
    first = start_or_stop if start is None else start
    begin, end = (0, first) if stop is None else (first, stop)
    step = 1 if step is None else step
    begin, end, step = as_array(begin), as_array(end), as_array(step)
    length = max(0, math.ceil((_number(end) - _number(begin)) / _number(step)))
    dtype = np.dtype(dtype or np.result_type(int, *[type_of(x).dtype for x in (begin, end, step)]))
    counter = _count(length, dtype)
    return cast(apply(e.add, (begin, apply(e.mul, (counter, step)))), dtype)


def _number(x: Any) -> Any:
    """Return the value of a number that may be a tracer; raise if it is not known."""
    if type(x) is not Tracer:
        return x
    return complex(x) if x.dtype.kind == "c" else float(x) if x.dtype.kind == "f" else int(x)


def _count(length: int, dtype: Any) -> Tracer:
    """Return 0, 1, 2, ... as a tracer of the innermost trace."""
    trace = current_trace.get()
    assert trace is not None  # some argument is a tracer
    return trace.lift(np.arange(length, dtype=dtype))  # type: ignore[no-any-return]


def _ends(start: Any, stop: Any, least: ArrayType) -> Any:
    """Return both as tracers of one shape and of the dtype they have in common with `least`."""
    ends = [as_array(x) for x in (start, stop)]
    dtype = result_dtype(*[type_of(x) for x in ends], least)
    return broadcast_arrays(*[cast(as_tracer(x), dtype) for x in ends])


@implements(np.linspace, creates=True)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    begin, end = _ends(start, stop, PYTHON_SCALARS[float])
    exact = begin.dtype
    div = num - 1 if endpoint else num
    step = (end - begin) / div if div > 0 else (end - begin) * np.asarray(np.nan, exact)[()]
    inner = num - 1 if endpoint and num > 1 else num  # the last one is the end, without rounding
    counter = reshaped(_count(inner, exact), (inner,) + (1,) * begin.ndim)
    result = counter * (step if div > 0 else end - begin) + begin
    if inner < num:
        result = joined([result, reshaped(end, (1, *end.shape))], 0)
    if dtype is not None and np.issubdtype(dtype, np.integer):
        result = e.floor(result)
    if axis != 0:
        result = moveaxis(result, 0, axis)
    result = cast(result, np.dtype(dtype or exact))
    return (result, step) if retstep else result


@implements(np.logspace, creates=True)
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    if np.ndim(base):
        start, stop, base = broadcast_arrays(as_tracer(start), as_tracer(stop), as_tracer(base))
        base = expand_dims(base, axis)
    exponents = linspace(start, stop, num, endpoint=endpoint, axis=axis)
    powers = apply(e.power, (base, exponents))
    return powers if dtype is None else cast(powers, np.dtype(dtype))


@implements(np.geomspace, creates=True)
def geomspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    """Where an end is 0, traced calls give NaN instead of raising an error."""
    num = operator.index(num)
    begin, end = _ends(start, stop, array_type((), np.dtype(np.float64)))
    sign = e.sign(begin)
    logs = [e.log10(e.div(x, sign)) for x in (begin, end)]
    powers = apply(e.power, (10, linspace(*logs, num, endpoint)))
    result: Any = apply(e.mul, (sign, powers))
    # The ends are exact.
    if num > 0:
        result = joined([expand_dims(begin, 0), slice_axis(result, 0, 1, num)], 0)
    if num > 1 and endpoint:
        result = joined([slice_axis(result, 0, 0, num - 1), expand_dims(end, 0)], 0)
    result = moveaxis(result, 0, axis)
    return result if dtype is None else cast(result, np.dtype(dtype))
