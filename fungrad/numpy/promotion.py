"""Broadcasting and NEP 50 promotion of operands, before they reach a primitive.

NumPy itself is asked which loop a ufunc takes, so dtypes are NumPy's for every combination; the setting `promotion` puts JAX's
rules in its place.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fungrad.core.config import settings
from fungrad.core.foreign import has_own_rules
from fungrad.core.nesting import trace_of
from fungrad.core.primitive import Primitive, bind
from fungrad.core.recorder import Recorder
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import (
    PYTHON_SCALARS,
    ArrayType,
    Shape,
    is_added,
    is_number,
    kind_of,
    python_number,
    type_of,
)
from fungrad.numpy.memory import like
from fungrad.numpy.plans import (
    Rules,
    alignment,
    broadcast_shapes,
    broadcast_steps,
    compares_keys,
    elementwise_plan,
    loop_dtypes,
    result_type,
    scalar_plan,
    ufunc_dtypes,
)
from fungrad.primitives.elementwise import Cast, Elementwise, select
from fungrad.primitives.joins import Stack


def has_tracer(arguments: Iterable[Any]) -> bool:
    """Whether a tracer is among `arguments` or in the lists and tuples there."""
    for x in arguments:
        if type(x) is Tracer:
            return True
        if (type(x) is tuple or type(x) is list) and x and has_tracer(x):
            return True
    return False


def as_array(x: Any) -> Any:
    """Return `x` as an array, a number or a tracer; tracers in a list are stacked."""
    cls = type(x)
    if cls is Tracer or cls is np.ndarray or cls in PYTHON_SCALARS:
        return x
    if hasattr(cls, "taken_elements"):
        return x.taken_elements()
    if has_own_rules(cls):
        type_of(x)  # which refuses it
    if (known := python_number(x)) is not None:
        return known
    if hasattr(x, "dtype") and (hasattr(x, "flags") or not hasattr(x, "__array__")):
        return x
    if (cls is list or cls is tuple) and has_tracer(x):
        from fungrad.numpy.whole import whole_of  # few programs need it

        return _stacked(x) if (whole := whole_of(x)) is None else strong(whole)
    return np.asarray(x)


def _stacked(items: Sequence[Any]) -> Tracer:
    rows = [strong(x) for x in items]
    if len(shapes := {type_of(x).shape for x in rows}) > 1:
        ask_numpy("array", np.asarray, rows)
        raise ValueError(f"a list of arrays of different shapes {shapes} is not an array")
    return Stack(0)(*promote(*rows))  # type: ignore[no-any-return]


def strong(x: Any) -> Any:
    """Return the array or tracer that NumPy's functions make of `x`: strong, except by JAX's rules."""
    x = as_array(x)
    if type(x) is Tracer:
        return cast(x, x._type.dtype) if x._type.weak and not settings.get().jax_types else x
    if type(x) not in PYTHON_SCALARS:
        return x
    if settings.get().jax_types and type(x) is not bool:
        from fungrad.core.lattice import weak_array  # few programs need it

        return weak_array(x)
    return np.asarray(x)[()]


def as_tracer(x: Any) -> Tracer:
    """Return `x` as a tracer that is not weak; arrays are recorded in the innermost open trace.

    For functions of which another argument may be the only tracer.
    """
    x = as_array(x) if settings.get().jax_types else strong(x)
    if type(x) is Tracer:
        return x
    trace = innermost_trace()
    if trace is None:
        raise TypeError(f"no function is being traced, so {x!r} cannot be recorded")
    return trace.lift(x)  # type: ignore[no-any-return]


def as_tracer_of(trace: Recorder, x: Any) -> Tracer:
    """Return `x`, a tracer of any trace or a value that converts to an array, as a tracer of `trace`."""
    return trace.lift(strong(x))  # type: ignore[no-any-return]


def standin(x: Any) -> np.ndarray[Any, Any]:
    """Return an array of the type of `x` that takes no memory: to ask NumPy for its error."""
    type_ = type_of(x)
    return np.broadcast_to(np.zeros((), type_.dtype), type_.shape)


def ask_numpy(name: str, call: Callable[[list[Any]], Any], operands: Sequence[Any]) -> None:
    """Raise NumPy's error for operands that do not fit, with their types; `call` takes their stand-ins."""
    try:
        call([standin(x) for x in operands])
    except Exception as error:
        types = " and ".join(str(type_of(x)) for x in operands)
        error.args = (f"{str(error).rstrip()}: {name} of {types}",)
        raise


def rules_in(trace: Recorder) -> Rules:
    """Return the rules of promotion in a trace: for derivatives, NumPy's, for which rules are written."""
    rules = settings.get().dtypes
    return () if rules and trace.mode.rewriting else rules


def combined(
    primitive: Elementwise, x: Tracer, y: Tracer, keep_weak: bool, given: tuple[Any, Any]
) -> Tracer:
    """Apply a primitive to tracers of one trace, converted and broadcast; `given` are the originals."""
    trace = x._owner
    aligned = alignment(primitive, (x._type, y._type), keep_weak, rules_in(trace))
    if aligned is None:
        from fungrad.numpy import keys  # few programs need it

        return keys.compared(primitive, (x, y))  # type: ignore[no-any-return]
    (of_x, of_y), types = aligned
    u, v = x._variable, y._variable
    for step, between in of_x:
        u = trace.extend(step, (u,), between)._variable
    for step, between in of_y:
        v = trace.extend(step, (v,), between)._variable
    result = trace.extend(primitive, (u, v), types)
    return result if x._memory is y._memory is None else like(result, given)


def number(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return a Python number as an array of a dtype; integers that do not fit raise, or wrap as JAX's."""
    try:
        return np.array(x, dtype)
    except OverflowError:
        if not settings.get().jax_types:
            raise
        from fungrad.core.lattice import wrapped_number  # few programs need it

        return wrapped_number(x, dtype, settings.get().narrow)


CAPTURED: frozenset[type] = frozenset([int, float, np.ndarray])
"""The types of operands that `captured` takes."""


def captured(primitive: Elementwise, x: Tracer, other: Any) -> Any:
    """Return the other operand of `x` as a captured array, if capturing converts it; else unchanged.

    A number becomes an array that takes no memory.
    """
    trace = x._owner
    if not (trace.given.on_host and trace.open):
        return other
    if type(other) is np.ndarray:
        as_it_is = other.dtype == x._type.dtype and other.flags.c_contiguous and trace.into is None
        return trace.lift(other) if as_it_is else other
    strides = scalar_plan(primitive, x._type, type(other))  # type: ignore[arg-type]
    if strides is None:
        return other
    return trace.uniform(number(other, x._type.dtype), x._type, strides)


def through(steps: Iterable[Primitive], x: Tracer) -> Tracer:
    """Apply one-operand primitives, which cannot fail and have no effect, to a tracer in order."""
    for step in steps:
        if (trace := x._owner).into is None:
            x = trace.extend(step, (x._variable,), step.infer((x._type,)))
        else:
            x = bind(step, (x,))
    return x


def broadcast_to(x: Any, shape: Shape) -> Any:
    """Return a tracer broadcast to `shape` by NumPy's rules."""
    return x if x._type.shape == shape else through(broadcast_steps(x._type.shape, shape), x)


def cast(x: Any, dtype: np.dtype[Any], weak: bool = False) -> Any:
    """Return a tracer with `dtype`."""
    if x._type.dtype == dtype and x._type.weak == weak:
        return x
    return like(through((Cast(dtype, weak),), x), (x,))


def check_cast(given: np.dtype[Any], wanted: np.dtype[Any], casting: Any) -> None:
    """Raise NumPy's error where a rule does not allow to convert numbers of one dtype to another."""
    if not np.can_cast(given, wanted, casting):
        raise TypeError(
            f"Cannot cast array data from {given!r} to {wanted!r} according to the rule '{casting}'"
        )


def warn_of_discarded_parts(x: Tracer, dtype: np.dtype[Any]) -> None:
    """Warn as NumPy does where a conversion makes complex numbers real."""
    if x.dtype.kind == "c" and dtype.kind in "iuf":
        warnings.warn(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
            stacklevel=3,
        )


def convert(trace: Recorder, x: Any, dtype: np.dtype[Any], weak: bool = False) -> Tracer:
    """Return any operand as a tracer of `trace` with `dtype`."""
    if type(x) is Tracer:
        return cast(x, dtype, weak)  # type: ignore[no-any-return]
    if is_number(x):
        x = number(x, dtype)[()] if dtype.kind in "iu" else dtype.type(x)
        x = x.item() if weak else x  # among weak operands a Python number stays one
    elif x.dtype != dtype:
        x = x.astype(dtype)
    return cast(trace.lift(x), dtype, weak)  # type: ignore[no-any-return]


def brought_to(
    trace: Recorder, x: Any, dtype: np.dtype[Any], shape: Shape, weak: bool = False
) -> Tracer:
    """Return any operand as a tracer of `trace` with `dtype`, broadcast to `shape`."""
    if type(x) is not Tracer or x._type.dtype != dtype or x._type.weak != weak:
        x = convert(trace, x, dtype, weak)
    return broadcast_to(x, shape)  # type: ignore[no-any-return]


def _comparable(x: Any, y: Any) -> list[Any]:
    """Return the operands of a comparison; a Python integer beyond the range of the other is infinite."""
    for number, other in ((x, y), (y, x)):
        dtype = type_of(other).dtype
        if type(number) is int and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if not limits.min <= number <= limits.max:
                infinity = math.inf if number > 0 else -math.inf
                return [infinity if z is number else z for z in (x, y)]
    return [x, y]


def _of_rule(operands: list[Any]) -> list[Any]:
    """Return the operands of a derivative rule: Python floats take a dtype that a package added to NumPy.

    They take NumPy's dtypes by NumPy's own promotion, but a bfloat16 times 2.0 is a float32.
    """
    added = [x.dtype for x in operands if type(x) is Tracer and is_added(x.dtype)]
    return [added[0].type(x) if added and type(x) is float else x for x in operands]


def _types_of(operands: Sequence[Any], rules: Rules) -> tuple[ArrayType, ...]:
    """Return the types of operands; without 64 bits, that of a plain array is narrow."""
    types = tuple([type_of(x) for x in operands])
    if not (rules and rules[1]):
        return types
    from fungrad.core.lattice import narrow_type  # few programs need it

    pairs = zip(operands, types, strict=True)
    return tuple([t if type(x) is Tracer else narrow_type(t) for x, t in pairs])


def apply(primitive: Elementwise, operands: Sequence[Any], keep_weak: bool = False) -> Any:
    """Apply an elementwise primitive to operands that include a tracer.

    `keep_weak` is for operators, which make of weak operands a weak result, as Python does.
    """
    operands = [as_array(x) for x in operands]
    trace = trace_of(operands)
    assert trace is not None
    if trace.mode.rewriting:
        operands = _of_rule(operands)
    rules = rules_in(trace)
    if rules and rules[0]:
        from fungrad.core.lattice import check_power  # few programs need it

        check_power(primitive.name, operands)
    elif primitive.compares:
        operands = _comparable(*operands)
    types = _types_of(operands, rules)
    if primitive.compares and compares_keys(primitive, types):
        from fungrad.numpy import keys  # few programs need it

        return keys.compared(primitive, operands)
    plan = elementwise_plan(primitive, types, keep_weak, rules)
    if plan is None and rules and rules[1]:  # of the types that plain arrays are to have
        plan = tuple([t.dtype for t in types]), types[0].shape, types[0].weak
    aligned = operands
    if plan is not None:
        dtypes, shape, weak = plan
        aligned = [
            brought_to(trace, x, d, shape, weak) for x, d in zip(operands, dtypes, strict=True)
        ]
    result = trace.record(primitive, aligned)
    if rules and rules[0]:
        result = _halved(result, types)
    return like(result, operands)


def _halved(result: Any, types: tuple[ArrayType, ...]) -> Any:
    """Return a half-precision result in the operands' dtype, where a function has no loop for that."""
    dtype, _ = result_type(types, (True, False))
    halves = dtype.itemsize < 4 and kind_of(dtype) == "f" and result._type.dtype == np.float32
    return cast(result, dtype, result._type.weak) if halves else result


def ufunc_operands(
    ufunc: np.ufunc, operands: Sequence[Any], dtype: Any = None, casting: str = "same_kind"
) -> list[Tracer]:
    """Return operands as tracers of one shape and the dtypes that `ufunc` converts them to.

    `dtype` and `casting` are the ufunc's own arguments. At least one operand is a tracer.
    """
    operands = [as_array(x) for x in operands]
    rules = settings.get().dtypes
    types = _types_of(operands, rules)
    if dtype is None and rules:
        dtypes, weak = ufunc_dtypes(ufunc, types, False, rules)
    else:
        dtypes, weak = loop_dtypes(ufunc, types, False, dtype, casting), False
    shape = broadcast_shapes(ufunc.__name__, types)
    trace = trace_of(operands)
    assert trace is not None
    return [brought_to(trace, x, d, shape, weak) for x, d in zip(operands, dtypes, strict=True)]


def where(condition: Any, x: Any, y: Any) -> Tracer:
    """Return `x` where a condition holds and else `y`, with a tracer among them.

    They are broadcast, and `x` and `y` promoted; Python numbers are weak, the result is not by NumPy's rules.
    """
    operands = [as_array(condition), as_array(x), as_array(y)]
    rules = settings.get().dtypes
    dtypes, type_ = _where_plan(*_types_of(operands, rules), rules)
    trace = trace_of(operands)
    assert trace is not None
    chosen = [_chosen(trace, z, d, type_) for z, d in zip(operands, dtypes, strict=True)]
    return like(bind(select, chosen), operands)


@functools.lru_cache(maxsize=1 << 12)
def _where_plan(
    condition: ArrayType, x: ArrayType, y: ArrayType, rules: Rules
) -> tuple[tuple[np.dtype[Any], ...], ArrayType]:
    """Return the dtypes that operands of `where` are converted to, and the type of the result."""
    dtype, weak = result_type((x, y), rules)
    shape = broadcast_shapes("where", (condition, x, y))
    return (np.dtype(bool), dtype, dtype), ArrayType(shape, dtype, weak)


def _chosen(trace: Recorder, x: Any, dtype: np.dtype[Any], type_: ArrayType) -> Tracer:
    """Return an operand with `dtype`, in the shape of `type_`."""
    # As of operators, a number is a captured array that takes no memory: one equation less.
    number = type(x) is float and dtype == type_.dtype and dtype.kind in "fc" and not type_.weak
    if number and type_.shape and trace.given.on_host and trace.open:
        return trace.uniform(np.array(x, dtype), type_, (0,) * len(type_.shape))  # type: ignore[no-any-return]
    return brought_to(trace, x, dtype, type_.shape, type_.weak and dtype.kind != "b")


def promote(*operands: Any) -> list[Tracer]:
    """Return operands as tracers of one dtype, by promotion; shapes stay as they are."""
    first = operands[0]
    if type(first) is Tracer and not first._type.weak:
        given = first._type.dtype
        if all(type(x) is Tracer and x._type.dtype == given and not x._type.weak for x in operands):
            return list(operands)
    operands = tuple([as_array(x) for x in operands])
    rules = settings.get().dtypes
    dtype, weak = result_type(_types_of(operands, rules), rules)
    trace = trace_of(operands)
    assert trace is not None
    return [convert(trace, x, dtype, weak) for x in operands]
