"""The common part of un-jitted transforms: tracing a function, and running programs of the trace.

A transformed function is traced anew in each call, because its Python may take another path. The program that a
transform makes of the trace is kept under the structure of the trace: the primitives, their parameters, types and
wiring. Values are not part of the key; captured arrays and numbers are inputs.

Design: docs/design/14-first-gradients-and-structures.md.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from fungrad.compile.keeping import keep
from fungrad.compile.lower import Program
from fungrad.core.cache import Hashed, LRUCache
from fungrad.core.collection import no_collection
from fungrad.core.config import check_exprs, settings
from fungrad.core.errors import Source, places
from fungrad.core.evaluate import inline
from fungrad.core.expr import Calling, Expr
from fungrad.core.foreign import holds_array
from fungrad.core.snapshot import native
from fungrad.core.state import holding
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer
from fungrad.core.types import (
    PYTHON_SCALARS,
    ArrayType,
    array_type,
    float0,
    is_array,
    python_number,
    shown,
    type_of,
)
from fungrad.transforms.argument_errors import no_result, no_type
from fungrad.transforms.dtypes import narrow_constant, narrowed_types, weakly_typed
from fungrad.transforms.starts import make_operands

programs: LRUCache[Any] = LRUCache(maxsize=4096, maxweight=1 << 17)
"""The programs made of un-jitted functions, by transform and structure; weighed in equations."""

LONG = 256
"""Equations from which on hashing the structure of a program once saves more than it costs."""

BYTES_PER_EQUATION = 512
"""Weight of an equation, in bytes of constants held by the jitted functions that a program calls."""


def check_callable(fun: Any, transform: str) -> None:
    """Raise a TypeError if `fun` is no function.

    Examples
    --------
    >>> check_callable(3, "grad")
    Traceback (most recent call last):
    TypeError: grad takes a function, not 3 of type int
    """
    if not callable(fun):
        raise TypeError(
            f"{transform} takes a function, not {shown(fun)} of type {type(fun).__name__}"
        )


def name_of(function: Any) -> str:
    """Return how to speak of `function` in messages.

    Examples
    --------
    >>> name_of(check_callable)
    'check_callable'
    """
    return getattr(function, "__name__", None) or type(function).__name__


class Argnums:
    """Which positional arguments a function is differentiated by: one, or several as a tuple."""

    __slots__ = ("_given", "_least", "single")

    def __init__(self, argnums: Any) -> None:
        self.single = isinstance(argnums, (int, np.integer))
        self._given = given = _as_positions(argnums)
        plain = min(given, default=0) >= 0 and len({*given}) == len(given)
        self._least = max(given, default=-1) + 1 if plain else sys.maxsize
        """So many arguments make the positions right as they are given."""

    def of(self, args: tuple[Any, ...], label: str) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        """Return positions, from the front, and the arguments there; raise if an argument is missing."""
        count = len(args)
        positions = self._given
        if count < self._least:
            positions = _in_range(positions, count, label)
        return positions, (args[positions[0]],) if self.single else tuple(
            [args[i] for i in positions]
        )

    def replaced(self, args: tuple[Any, ...], positions: tuple[int, ...], chosen: Any) -> list[Any]:
        """Return `args` with others in their places: one, or a tuple."""
        new = list(args)
        if self.single:
            new[positions[0]] = chosen
        else:
            for i, x in zip(positions, chosen, strict=True):
                new[i] = x
        return new


def _as_positions(argnums: Any) -> tuple[int, ...]:
    """Return `argnums` as a tuple."""
    try:
        return (operator.index(argnums),)
    except TypeError:
        pass
    try:
        return tuple([operator.index(i) for i in argnums])
    except TypeError:
        raise TypeError(
            f"argnums must be an integer or a sequence of integers, not {argnums!r}"
        ) from None


def _in_range(positions: tuple[int, ...], count: int, label: str) -> tuple[int, ...]:
    """Return `positions` counted from the front; raise if there is no such argument."""
    for i in positions:
        if not -count <= i < count:
            raise ValueError(
                f"{label}: argnums={i} needs at least {i + 1 if i >= 0 else -i} positional arguments, "
                f"but the call has {count}. Arguments passed by keyword cannot be differentiated: "
                "pass them by position."
            )
    result = tuple([i % count for i in positions])
    if len(set(result)) < len(result):
        raise ValueError(f"{label}: argnums={positions} names an argument twice")
    return result


def as_operand(x: Any, recorded: bool = False) -> Any:
    """Return a leaf as programs take it: numbers as NumPy scalars, arrays of subclasses as NumPy's.

    What is `recorded` keeps 64 bits also where there are none outside of programs.
    """
    if settings.get().narrow and type(x) is not Tracer and not recorded:
        from fungrad.core.lattice import narrow_array  # few programs need it

        x = narrow_array(x)
    if isinstance(x, np.ndarray) or (type(x) not in PYTHON_SCALARS and holds_array(x)):
        array = np.asarray(x)
        return array if array.dtype.isnative else native(array)
    if type(x) not in PYTHON_SCALARS:
        number = python_number(x)
        if number is None:
            return x
        x = number
    try:
        return np.asarray(x, PYTHON_SCALARS[type(x)].dtype)[()]
    except OverflowError:
        raise OverflowError(
            f"the Python integer {x} does not fit into int64; pass a float, or name the argument in "
            "static_argnums of jit"
        ) from None


ARRAYS = frozenset([np.ndarray, np.float64, np.float32, np.int64, np.int32, np.bool_])
_OPERANDS = ARRAYS | {Tracer}


def as_operands(leaves: Sequence[Any]) -> Sequence[Any]:
    """Return leaves as programs take them, with arrays in this machine's byte order."""
    if _OPERANDS.issuperset(map(type, leaves)) and not settings.get().narrow:
        return leaves
    return [as_operand(x) for x in leaves]


def argument_type(x: Any, label: str) -> ArrayType:
    """Return the type of `x`, or raise a TypeError that starts with `label`."""
    try:
        type_ = type_of(x)
    except TypeError as error:
        raise TypeError(f"{label}: {error}") from None
    return narrowed_types([type_], [x])[0] if settings.get().narrow else type_


def argument_types(
    leaves: Sequence[Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    label: str,
    positions: Sequence[int] | None = None,
) -> list[ArrayType]:
    """Return the types of the leaves of arguments.

    Raises a TypeError that says which leaf it is that has none. The `positions` are those of `args` in
    the user's call, if `args` are not all of it.
    """
    try:
        types = [
            array_type(x.shape, x.dtype) if type(x) is np.ndarray else type_of(x) for x in leaves
        ]
        return narrowed_types(types, leaves) if settings.get().narrow else types
    except TypeError:
        raise no_type(args, kwargs, label, positions) from None


def output_variables(trace: Trace, leaves: Sequence[Any], label: str) -> list[int]:
    """Return the variables of the results of a traced function."""
    variables = []
    for x in leaves:
        if type(x) is Tracer and x._owner is trace:
            variables.append(x._variable)
            continue
        if hasattr(type(x), "taken_elements"):  # of an array, by a mask that had no value
            x = x.taken_elements()
        if type(x) is not Tracer and not is_array(x):
            raise no_result(x, label)
        variables.append(trace.lift(narrow_constant(x) if settings.get().narrow else x)._variable)
    return variables


def rewrite(
    trace: Trace,
    outputs: Sequence[int],
    kind: Hashable,
    build: Callable[[Expr, int], Any],
    as_it_is: bool = False,
) -> Any:
    """Return the result of `build` for the program in `trace`, from the cache if it is there.

    `build` takes the program, without calls, and the number of equations whose results are known. Integers of indices
    may be made operands (see `starts.py`), unless the program has to stay `as_it_is`.
    """
    return remembered(trace, outputs, kind, lambda: rewritten(trace, outputs, build), as_it_is)


def rewritten(trace: Trace, outputs: Sequence[int], build: Callable[[Expr, int], Any]) -> Any:
    """Return the result of `build` for the program in `trace`."""
    with no_collection(), at_places(trace.sources):
        return build(*recorded(trace, outputs))


def recorded(trace: Trace, outputs: Sequence[int], but_whole: bool = False) -> tuple[Expr, int]:
    """Return the program in `trace`, without calls, and the number of equations whose results are known.

    `but_whole`: do not inline calls that have their own gradient and are not yet evaluated.
    """
    expr = trace.expr(outputs)
    expr = dataclasses.replace(expr, sources=range(len(expr.equations)))
    expr = inline(expr, trace.done if but_whole else None)
    if check_exprs.get():
        expr.check()
    return expr, sum([n for n, _ in trace.known])


def remembered(
    trace: Trace,
    outputs: Sequence[int],
    kind: Hashable,
    make: Callable[[], Any],
    as_it_is: bool = False,
) -> Any:
    """Return the cache entry for programs like that in `trace`; `make` makes it."""
    if trace.facts.holds_rules:  # of which no two are equal
        return make()
    key = key_of(trace, outputs, kind)
    entry = programs.get(key)
    if entry is None:
        if not as_it_is and make_operands(trace, outputs, kind):
            key = key_of(trace, outputs, kind)
        entry = _made(trace, key, kind, make)
    return entry


def key_of(trace: Trace, outputs: Sequence[int], kind: Hashable) -> Hashable:
    """Return a key that is equal for traces that recorded the same program.

    Captured arrays and the values of scalars are not part of it: they are inputs.
    """
    leading = (*trace.captures, *trace.inputs)
    key = (
        kind,
        check_exprs.get(),
        settings.get().programs,
        tuple(trace.equations),
        len(trace.captures),
        leading,
        tuple(map(trace.types.__getitem__, leading)),
        tuple(outputs),
        len(trace.known),
    )
    return Hashed(key) if len(trace.equations) > LONG else key


def _made(trace: Trace, key: Hashable, kind: Hashable, make: Callable[[], Any]) -> Any:
    """Return the result of `make`, remembered under `key` by whoever may keep it."""
    primitives = {primitive for primitive, _, _ in trace.equations}

    def weigh(_: Any) -> Any:
        called = [p.callee for p in primitives if isinstance(p, Calling)]
        held = [x for c in called for x in c.constants.values()]
        return len(trace.equations) + sum(x.nbytes for x in held) / BYTES_PER_EQUATION + 1.0

    return keep(programs, key, (kind, *primitives), make, weigh)


def with_float0(given: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    """Return tangents for all `types`: inexact ones are `given`, others are zeros of dtype float0."""
    if settings.get().jax_types:
        given = weakly_typed(given, [t for t in types if t.inexact])
    moved = iter(given)
    return [next(moved) if t.inexact else np.zeros(t.shape, float0) for t in types]


def at_places(sources: Sequence[Source | None]) -> holding[Sequence[Source | None]]:
    """Context in which errors of a shared program name the lines of the trace at hand."""
    return holding(places, sources)


def run_on_values(trace: Trace, program: Program, *more: Any) -> list[Any]:
    """Run the program of a closed trace on its values: captures, inputs, known results, `more`."""
    before = places.get()
    places.set(trace.sources)  # for errors and warnings
    try:
        return program(*values_of(trace), *more)
    finally:
        places.set(before)


def values_of(trace: Trace) -> list[Any]:
    """Return the captured arrays, inputs and known results of a trace."""
    values = [*trace.captures.values()]
    if trace.values is not None:
        values += map(trace.values.__getitem__, trace.inputs)
        for _, results in trace.known:
            values += results
    return values
