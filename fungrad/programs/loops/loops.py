"""Loops with a known number of steps: `scan`, `fori_loop`, `map`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from fungrad.core import tree
from fungrad.core.config import settings
from fungrad.core.errors import called_with, here
from fungrad.core.glossary import COMMON
from fungrad.core.tracer import Tracer, innermost_trace, known_value
from fungrad.core.types import PYTHON_SCALARS, ArrayType, is_number, kind_of, python_number, type_of
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.joins import Concatenate
from fungrad.primitives.shaping import Reshape
from fungrad.primitives.slices import slice_axis
from fungrad.programs.closing import NotTraced, record
from fungrad.programs.loops.by_python import Step, scan_by_python, tried
from fungrad.programs.loops.carry import (
    Leaves,
    NeedsTracing,
    any_tracer,
    as_type,
    close_loop,
    have_values,
    leaves_of,
    operands_as,
)
from fungrad.programs.loops.scan import scan_of
from fungrad.programs.loops.while_loop import while_loop
from fungrad.transforms.arguments import argument_type, as_operand, check_callable, name_of
from fungrad.transforms.dtypes import weakly_typed
from fungrad.transforms.vmap import vmap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

C = TypeVar("C")
"""The carry of a loop."""
X = TypeVar("X")
"""Rows, or the arrays that have them."""
Y = TypeVar("Y")
"""The result of a step, or all of them stacked."""


@overload
def scan(
    f: Callable[[NDArray[Any], X], tuple[C, Y]],
    init: complex,  # a number counts as an array
    xs: X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[C, Y]: ...
@overload
def scan(
    f: Callable[[C, X], tuple[C, Y]],
    init: C,
    xs: X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[C, Y]: ...
@COMMON.public
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Run a function over the rows of arrays, handing a carry from step to step.

    Parameters
    ----------
    f
        ``f(carry, x)`` returns the pair of the next carry, of the structure, shapes and dtypes of the one it
        takes, and a result `y`: any pytree, or None.
    init
        The first carry: an array, a number or a pytree of them.
    xs
        A pytree of arrays with axis 0 of one length; each step gets one row of each. None if there is
        nothing to go over; then `length` is needed.
    length
        The number of steps.
    reverse
        Whether to begin with the last row.
    _split_transpose
        Accepted for JAX's sake: what a step backwards computes apart from its chain is vectorised anyway.

    Returns
    -------
    tuple
        The last carry, and the results `y` of all steps stacked along a new axis 0 (in the order of `xs`).

    Raises
    ------
    TypeError
        If `f` returns no pair, or a carry of other structure, shapes or dtypes than it takes.
    ValueError
        If the lengths of `xs` and `length` differ, or none is given.

    Notes
    -----
    On plain arrays this is a Python loop: `f` is called with arrays and may look at their values. On traced
    ones `f` is traced once, and the loop is one equation. Its gradient keeps the carry of every
    step, not what `f` computes on the way, unless that is no more than the loop hands on anyway. If `f` asks
    for values, and they are known (under `grad`, but not under `jit`), the loop is unrolled.

    Examples
    --------
    >>> total, sums = lax.scan(lambda c, x: (c + x, c + x), 0.0, np.array([1.0, 2.0, 3.0]))
    >>> print(total, sums)
    6.0 [1. 3. 6.]
    >>> compound = lambda rate: lax.scan(lambda c, _: (c * (1 + rate), None), 1.0, length=3)[0]
    >>> print(fg.grad(compound)(0.1))
    3.63
    """
    check_callable(f, "scan")
    label = f"scan({name_of(f)})"
    rows = leaves_of(xs, f"{label}: xs")
    n = _length(rows, length, label, ": give the length")
    _check_unroll(unroll, label)

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        with called_with(
            f, 2, f"{label}: the function is called with the carry and a row: f(carry, x)"
        ):
            return _pair(f(carry, x), label)

    return _run(label, step, leaves_of(init, f"{label}: init"), rows, n, reverse)


def _length(rows: Leaves, length: Any, label: str, advice: str = "") -> int:
    """Return the number of steps."""
    leaves = tree.leaves_with_paths(rows.rebuilt(rows.types))
    for path, t in leaves:
        if not t.shape:
            raise ValueError(
                f"{label}: a scan goes over axis 0 of xs, and xs{path} is a scalar of type {t}. What is the same "
                "in all steps belongs into the carry, or f closes over it."
            )
    lengths = {t.shape[0] for t in rows.types}
    if length is not None:
        try:
            lengths.add(operator.index(length))
        except TypeError:
            raise TypeError(
                f"{label}: length must be a Python integer, not {length!r}; for a number of steps that is "
                "computed use while_loop"
            ) from None
    if not lengths:
        raise ValueError(f"{label}: xs holds no arrays to go over{advice}")
    if length is not None and operator.index(length) < 0:
        raise ValueError(f"{label}: length must not be negative, got {length}")
    if len(lengths) > 1:
        lines = [f"  xs{path}: {t}" for path, t in leaves]
        lines += [f"  length: {length}"] if length is not None else []
        raise ValueError(f"{label}: xs must have one length along axis 0, got\n" + "\n".join(lines))
    return lengths.pop()


def _check_unroll(unroll: Any, label: str) -> None:
    if isinstance(unroll, bool) or unroll is None:
        return
    if not isinstance(unroll, (int, np.integer)) or unroll < 0:
        raise ValueError(f"{label}: unroll must be a bool or a positive integer, got {unroll!r}")


def _pair(result: Any, label: str) -> tuple[Any, Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"at {here()}\n{label}: the function must return a pair (carry, y); it returned "
            f"{tree.shown_tree(result)}. Return (carry, None) if there is nothing to stack."
        )
    return result[0], result[1]


def _run(
    label: str, step: Step, init: Leaves, rows: Leaves, n: int, reverse: bool
) -> tuple[Any, Any]:
    """Run a loop as a Python loop or as one equation."""
    disabled = settings.get().jit_disabled
    plain = not (any_tracer([*init.leaves, *rows.leaves]) or settings.get().dtypes)
    if disabled or plain:
        by_python = functools.partial(scan_by_python, label, step, init, rows, n, reverse)
        outcome = tried(
            lambda: by_python(only_arrays=not disabled),
            not disabled and innermost_trace() is not None,
        )
        if outcome is not None:
            return outcome
    types = [t.update(shape=t.shape[1:]) for t in rows.types]
    closed = close_loop(label, step, init, rows.rebuilt(types), branch=not n)
    if isinstance(closed, NotTraced):
        if not have_values([*init.leaves, *rows.leaves, *closed.captured]):
            raise closed.error
        try:
            result = scan_by_python(label, step, init, rows, n, reverse, only_arrays=False)
        except NeedsTracing as error:
            raise error.reason from None
        assert result is not None  # it is None only where tracers appear in a loop of arrays
        return result
    body, carries = closed
    k = len(carries)
    loop = scan_of(body.program, (len(body.captured), k), n, reverse)
    operands = [*body.captured, *operands_as(init.leaves, carries)]
    operands += operands_as(rows.leaves, [t.update(weak=False) for t in rows.types])
    outputs = record(loop, operands)
    outputs = weakly_typed(outputs, body.program.expr.output_types)
    of_y = body.structure.children()[1]
    return init.rebuilt(outputs[:k]), tree.unflatten(of_y, outputs[k:])


@overload
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, NDArray[Any]], C],
    init_val: complex,
    *,
    unroll: int | bool | None = None,
) -> C: ...
@overload
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, C], C],
    init_val: C,
    *,
    unroll: int | bool | None = None,
) -> C: ...
@COMMON.public
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Run ``val = body_fun(i, val)`` for ``i = lower, lower + 1, ...`` as long as ``i < upper``.

    Parameters
    ----------
    lower, upper
        Integers, or real numbers. If they are traced arrays without values, the loop is a `while_loop`, which has
        no reverse mode.
    body_fun
        ``body_fun(i, val)`` returns what it takes as `val`: the same structure, shapes and dtypes.

    Returns
    -------
    pytree
        The last `val`; `init_val` if there are no steps.

    Raises
    ------
    TypeError
        If a bound is no integer or real number, or `body_fun` returns other types than it takes.

    Examples
    --------
    >>> power = lambda x: lax.fori_loop(0, 5, lambda i, y: y * x, 1.0)
    >>> print(power(2.0), fg.grad(power)(2.0))
    32.0 80.0
    """
    check_callable(body_fun, "fori_loop")
    label = f"fori_loop({name_of(body_fun)})"
    _check_unroll(unroll, label)
    bounds = [_bound(x, name, label) for x, name in ((lower, "lower"), (upper, "upper"))]
    start, stop = bounds
    if type(start) is Tracer or type(stop) is Tracer:
        return while_loop(
            lambda state: state[0] < state[1],
            lambda state: (state[0] + 1, state[1], body_fun(state[0], state[2])),
            (*_of_one_dtype(start, stop), init_val),
        )[2]
    counted = as_operand(np.arange(start, stop, dtype=np.result_type(start, stop)))
    # A Python number takes the dtype of what it meets, so that it does not widen float32.
    number = Cast(counted.dtype, type(start) in PYTHON_SCALARS and type(stop) in PYTHON_SCALARS)

    def step(val: Any, i: Any) -> tuple[Any, Any]:
        i = number(i) if type(i) is Tracer else i.item() if number.weak else i
        with called_with(body_fun, 2, f"{label}: the function is called as body_fun(i, val)"):
            return body_fun(i, val), None

    init = leaves_of(init_val, f"{label}: init_val")
    return _run(label, step, init, leaves_of(counted, label), len(counted), False)[0]


def _bound(x: Any, name: str, label: str) -> Any:
    """Return a bound: a Python number, one of NumPy, or a tracer without a value."""
    type_ = argument_type(x, f"{label}: {name}")
    value = known_value(x) if type(x) is Tracer else x
    if type_.shape or kind_of(type_.dtype) not in "iuf":
        raise TypeError(f"{label}: {name} must be an integer or a real number, got {type_}")
    if value is None:
        return x
    return python_number(x) if is_number(x) else np.asarray(value)[()]


def _of_one_dtype(x: Any, y: Any) -> tuple[Any, Any]:
    dtype = np.result_type(*[v if type(v) in PYTHON_SCALARS else type_of(v).dtype for v in (x, y)])
    type_ = ArrayType((), dtype)
    return as_type(x, type_), as_type(y, type_)


@COMMON.public
def map(f: Callable[[X], Y], xs: X, *, batch_size: int | None = None) -> Y:
    """Apply a function to each row of arrays, one after the other, and stack the results.

    Unlike `fungrad.vmap` it needs the memory of one call at a time, or of `batch_size` calls.

    Parameters
    ----------
    f
        ``f(x)`` takes a row of each array and returns a pytree.
    xs
        A pytree of arrays with axis 0 of one length.
    batch_size
        How many rows to take at once, by `fungrad.vmap`; 0, like None, for one.

    Returns
    -------
    pytree
        The results, stacked along a new axis 0.

    Raises
    ------
    ValueError
        If the lengths of the arrays differ.

    Examples
    --------
    >>> lax.map(lambda x: x @ x, np.arange(6.0).reshape(3, 2))
    array([ 1., 13., 41.])
    """
    check_callable(f, "map")
    label = f"map({name_of(f)})"
    rows = leaves_of(xs, f"{label}: xs")
    n = _length(rows, None, label)
    size = batch_size or 0
    if not isinstance(size, (int, np.integer)) or size < 0:
        raise ValueError(f"{label}: batch_size must be a positive integer, got {batch_size!r}")
    nothing = leaves_of((), label)
    if not size or not n:
        stacked: Y = _run(label, lambda _, x: ((), f(x)), nothing, rows, n, False)[1]
        return stacked
    whole = n - n % size

    def part(start: int, stop: int) -> list[Any]:
        return [slice_axis(x, 0, start, stop) for x in rows.leaves]

    chunks = [
        Reshape((whole // size, size, *t.shape[1:]))(x)
        for x, t in zip(part(0, whole), rows.types, strict=True)
    ]
    batches = leaves_of(rows.rebuilt(chunks), label)
    _, ys = _run(label, lambda _, x: ((), vmap(f)(x)), nothing, batches, whole // size, False)
    flat: Y = tree.map(lambda y: Reshape((whole, *y.shape[2:]))(y), ys)
    if whole == n:
        return flat
    rest = vmap(f)(rows.rebuilt(part(whole, n)))
    both: Y = tree.map(lambda x, y: Concatenate(0)(x, y), flat, rest)
    return both
