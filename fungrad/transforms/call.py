"""What the transforms share: tracing a user's function, and running what is made of the trace.

A transformed function is traced anew in each call (its Python may take another path), but the program
that a transform makes of the trace is kept, under the structure of the trace: the primitives, their
parameters, types and wiring. Values are not part of the key; captured arrays and numbers are inputs.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fungrad.compile.cache import Hashed, LRUCache
from fungrad.compile.keeping import keep
from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.cached import cached_property
from fungrad.core.collection import no_collection
from fungrad.core.config import check_exprs
from fungrad.core.errors import Source, here, places
from fungrad.core.evaluate import inline
from fungrad.core.expr import Calling, Expr
from fungrad.core.float_warnings import float_modes, modes_with_calls
from fungrad.core.primitive import primitive
from fungrad.core.state import holding
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.types import PYTHON_SCALARS, ArrayType, how_to_register, is_array, type_of
from fungrad.transforms.starts import make_operands

programs: LRUCache[Any] = LRUCache(maxsize=4096, maxweight=1 << 17)
"""The programs made of un-jitted functions, by transform and structure; weighed in equations."""

LONG = 256
"""Equations from which on hashing the structure of a program once saves more than it costs."""

BYTES_PER_EQUATION = 512
"""What constants weigh that a program holds on to through the jitted functions it calls."""


@primitive
class Call(Calling):
    """A call of a jitted function. The transforms put the equations of `program` in its place."""

    name: str
    program: Program = dataclasses.field(repr=False)

    multiple_results = True
    interned = False  # a call is as good as its program, and goes when that goes

    @property
    def callee(self) -> Expr:
        return self.program.expr

    @cached_property
    def effect(self) -> bool:
        """Whether an equation of the program has one."""
        return self.program.effect

    @cached_property
    def can_fail(self) -> bool:
        """Whether an equation of the program can."""
        return self.program.can_fail

    def infer(self, types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
        return self.abstract_eval(*types)

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return self.program.expr.output_types

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        return tuple(self.program(*operands))

    def __repr__(self) -> str:
        """Show what is called."""
        return f"call[{self.name}]"


def check_callable(fun: Any, transform: str) -> None:
    """Raise a TypeError if `fun` is no function."""
    if not callable(fun):
        raise TypeError(f"{transform} takes a function, not {fun!r} of type {type(fun).__name__}")


def name_of(function: Any) -> str:
    """Return how to speak of `function` in messages."""
    return getattr(function, "__name__", None) or type(function).__name__


def as_operand(x: Any) -> Any:
    """Return a leaf as what programs run on: Python numbers become NumPy scalars."""
    if type(x) not in PYTHON_SCALARS:
        return x
    try:
        return np.asarray(x, PYTHON_SCALARS[type(x)].dtype)[()]
    except OverflowError:
        raise OverflowError(
            f"the Python integer {x} does not fit into int64; pass a float, or name the argument in "
            "static_argnums of jit"
        ) from None


def as_operands(leaves: list[Any]) -> list[Any]:
    """Return leaves as what programs run on."""
    if PYTHON_SCALARS.keys().isdisjoint(map(type, leaves)):
        return leaves
    return [as_operand(x) for x in leaves]


def argument_type(x: Any, label: str) -> ArrayType:
    """Return the type of `x`, or raise a TypeError that starts with `label`."""
    try:
        return type_of(x)
    except TypeError as error:
        raise TypeError(f"{label}: {error}") from None


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
        return [type_of(x) for x in leaves]
    except TypeError:
        pass
    places = range(len(args)) if positions is None else positions
    named: list[tuple[int | str, Any]] = [*zip(places, args, strict=True), *kwargs.items()]
    for name, argument in named:
        for path, x in tree.leaves_with_paths(argument):
            try:
                type_of(x)
            except TypeError as error:
                static = _static_advice(name, path) if label[:3] == "jit" else ""
                raise TypeError(f"{label}: argument {name!r}{path}: {error}{static}") from None
    raise TypeError(f"{label}: an argument has no type")


def argument_place(
    leaf: int,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    positions: Sequence[int] | None = None,
) -> str:
    """Return how to speak of a leaf of the arguments, counted from the first: ``argument 0['w']``."""
    places = range(len(args)) if positions is None else positions
    named: list[tuple[int | str, Any]] = [*zip(places, args, strict=True), *(kwargs or {}).items()]
    paths = [(name, path) for name, x in named for path, _ in tree.leaves_with_paths(x)]
    return "argument {!r}{}".format(*paths[leaf])


def _static_advice(name: int | str, path: str) -> str:
    if name == 0 and not path:
        return (
            " Name it in static_argnames if it is a setting; if it is the `self` of a method, give jit "
            "static_argnums=0."
        )
    return " Name it in static_argnames if it is a setting."


def output_variables(trace: Trace, leaves: Sequence[Any], label: str) -> list[int]:
    """Return the variables of the results of a traced function."""
    variables = []
    for x in leaves:
        if type(x) is Tracer and x.owner is trace:
            variables.append(x.variable)
            continue
        if type(x) is not Tracer and not is_array(x):
            advice = how_to_register(x)
            if not dataclasses.is_dataclass(x):
                advice = (
                    (f"{advice} Or: return" if advice else "Return")
                    + " it outside of the transformed function, or with has_aux=True where the transform has it."
                )
            raise TypeError(
                f"at {here()}\n{label} must return arrays, numbers or pytrees of them; one of its "
                f"results is {x!r} of type {type(x).__name__}. {advice}"
            )
        variables.append(trace.lift(x).variable)
    return variables


def check_aux(leaves: Iterable[Any], label: str) -> None:
    """Raise a TypeError if auxiliary data hold traced arrays that are not seen, in a dataclass that is no pytree."""
    for x in leaves:
        if tree.hides_tracers(x):
            raise TypeError(
                f"at {here()}\n{label}: the auxiliary data hold {x!r} of type {type(x).__name__}, with traced arrays that "
                f"would be of no use outside. {how_to_register(x)}"
            )


def split_aux(result: Any, label: str) -> tuple[Any, Any]:
    """Return the result of a function with has_aux=True as the pair it must be."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            f"{label}: with has_aux=True the function must return a pair (value, aux); it returned "
            f"{type(result).__name__} {result!r}"
        )
    return result


def rewrite(
    trace: Trace,
    outputs: Sequence[int],
    kind: Hashable,
    build: Callable[[Expr, int], Any],
    as_it_is: bool = False,
) -> Any:
    """Return what `build` makes of the program in `trace`, from the cache if it is there.

    `build` takes the program, without calls, and the number of equations whose results are known. Integers of indices
    may be made operands (see `starts.py`), unless the program has to stay `as_it_is`.
    """
    return remembered(trace, outputs, kind, lambda: rewritten(trace, outputs, build), as_it_is)


def rewritten(trace: Trace, outputs: Sequence[int], build: Callable[[Expr, int], Any]) -> Any:
    """Return what `build` makes of the program in `trace`."""
    with no_collection(), at_places(trace.sources):
        return build(*recorded(trace, outputs))


def recorded(trace: Trace, outputs: Sequence[int], but_whole: bool = False) -> tuple[Expr, int]:
    """Return the program in `trace`, without calls, and the number of equations whose results are known.

    With `but_whole`, calls stay that are differentiated as a whole and have no known result.
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
    """Return what is in the cache for programs like that in `trace`; `make` makes it."""
    key: Hashable = (kind, check_exprs.get(), trace.structure(outputs))
    if len(trace.equations) > LONG:
        key = Hashed(key)
    found = programs.get(key)
    if found is not None:
        return found
    if not as_it_is and make_operands(trace, outputs, kind):
        return remembered(trace, outputs, kind, make, as_it_is=True)
    used = {primitive for primitive, _, _ in trace.equations}

    def weigh(_: Any) -> Any:
        called = [p.callee for p in used if isinstance(p, Calling)]
        held = [x for c in called for x in c.constants.values()]
        return len(trace.equations) + sum(x.nbytes for x in held) / BYTES_PER_EQUATION + 1.0

    return keep(programs, key, [kind, *used], make, weigh)


def at_places(sources: Sequence[Source | None]) -> holding[Sequence[Source | None]]:
    """Context in which errors of a shared program name the lines of the trace at hand."""
    return holding(places, sources)


def run_on_values(trace: Trace, program: Program, *more: Any) -> list[Any]:
    """Run what was made of a trace on its values: captured arrays, inputs, known results, `more`."""
    # What the program does happens outside of the trace: one without values would record it.
    with running(trace):
        return program(*values_of(trace), *more)


def values_of(trace: Trace) -> list[Any]:
    """Return the captured arrays, inputs and known results of a trace."""
    arguments = [x for _, x in trace.captures]
    values = trace.values
    if values is not None:
        arguments += [values[v] for v in trace.inputs]
        arguments += itertools.chain.from_iterable([forced for _, forced in trace.known])
    return arguments


class running:
    """Context in which what was made of a trace runs: outside of it, its lines being at hand for errors and warnings.

    It is three of `holding` in one, which takes half the time.
    """

    __slots__ = ("_before", "_trace")

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        self._before = current_trace.get(), places.get(), float_modes.get()
        current_trace.set(self._trace.outer)
        places.set(self._trace.sources)
        float_modes.set(modes_with_calls())

    def __exit__(self, *_: object) -> None:
        trace, sources, modes = self._before
        float_modes.set(modes)
        places.set(sources)
        current_trace.set(trace)
