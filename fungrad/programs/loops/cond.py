"""Choices between functions: the primitive with its rules, `cond` and `switch`."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.flow import Choice
from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.errors import api_boundary, called_with
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.trace import record_expr
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.primitives.elementwise import Cast, clamp, equal, logical_not, select
from fungrad.primitives.reductions import ReduceOr
from fungrad.primitives.shaping import full
from fungrad.programs.analysis import (
    batched_outputs,
    by_series,
    derivative,
    moves,
    placed,
    reads,
    rearranged,
    series_of,
    transposed_by,
    widened,
    with_series,
)
from fungrad.programs.closing import (
    Closure,
    NotTraced,
    OfPrograms,
    batched_program,
    close,
    shared,
    try_to_close,
)
from fungrad.programs.loops.carry import as_type, check_same, leaves_of, needs_tracing, protected
from fungrad.programs.loops.lanes import along, lends, only
from fungrad.rewrite.linearize import linearize_expr, or_zeros
from fungrad.transforms.call import argument_type, as_operand, check_callable, name_of


@primitive
class Cond(OfPrograms):
    """Run one of `branches`.

    The operands are which one, an integer in their range, and what they all take.
    """

    branches: tuple[Program, ...]

    pushes = True

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return tuple(map(tangent_type, self.branches[0].expr.output_types))

    @property
    def control_flow(self) -> Choice:
        return Choice(tuple([branch.expr for branch in self.branches]))

    def impl(self, xp: Any, which: Any, *operands: Any) -> tuple[Any, ...]:
        return tuple(self.branches[int(which)](*operands))

    def push(
        self,
        tangents: tuple[Any, ...],
        operands: tuple[Any, ...],
        known: Sequence[Any] | None,
        joint: bool,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        which, operands = operands[0], operands[1:]
        moving = tuple([i for i, t in enumerate(tangents[1:]) if t is not None])
        flags = [t is not None for t in tangents[1:]]
        alive = tuple(self._alive(flags))
        n = len(self.branches[0].expr.outputs)
        given = [tangents[1 + i] for i in moving]
        if not alive:
            return self(which, *operands) if known is None else known[:n], [None] * n
        if joint and known is None:
            return by_series(self, [which, *operands], tangents)
        if known is not None and self.effect:
            return known[:n], self._from_saved(known, [which, *operands], tangents[1:], alive)
        if known is None:
            forward, linear, kept = shared(_split_branches, self.branches, moving, alive)
            computed = shared(Cond, forward)(which, *operands)
            results = computed[:n]
            residuals = [*computed[n:], *[operands[i] for i in kept]]
            t_out = shared(Cond, linear)(which, *residuals, *given)
        else:
            derivatives = tuple([derivative(branch, moving, alive) for branch in self.branches])
            results, t_out = known, shared(Cond, derivatives)(which, *operands, *given)
        return results, placed(t_out, alive, n)

    @property
    def saving(self) -> Primitive | None:
        """The choice that also returns all residuals, if there are effects: their results cannot be had again."""
        return shared(Cond, self._split_by_all[0].forward) if self.effect else None

    @property
    def _split_by_all(self) -> tuple[_Split, tuple[int, ...], tuple[int, ...]]:
        """The branches in two for tangents of all operands that can have one, these, and the results with one."""
        flags = [t.inexact for t in self.branches[0].expr.input_types]
        moving = tuple([i for i, flag in enumerate(flags) if flag])
        alive = tuple(self._alive(flags))
        return shared(_split_branches, self.branches, moving, alive), moving, alive

    def _from_saved(
        self,
        known: Sequence[Any],
        operands: Sequence[Any],
        tangents: Sequence[Any],
        alive: Sequence[int],
    ) -> list[Any]:
        """Return the tangents of the results, of which those in `alive` have one, from what `saving` has given."""
        (_, linear, kept), moving, of_all = self._split_by_all
        which, *others = operands
        n = len(self.branches[0].expr.outputs)
        types = self.branches[0].expr.input_types
        residuals = [*known[n:], *[others[i] for i in kept]]
        given = [or_zeros(tangents[i], tangent_type(types[i])) for i in moving]
        t_outs = placed(shared(Cond, linear)(which, *residuals, *given), of_all, n)
        nonzero = set(alive)
        return [x if i in nonzero else None for i, x in enumerate(t_outs)]

    def push_series(
        self, paths: Sequence[Sequence[Any]], order: int, again: bool
    ) -> Sequence[Sequence[Any]]:
        (which, *_), paths = paths[0], paths[1:]
        flags = [len(path) > 1 for path in paths]
        moving = [i for i, flag in enumerate(flags) if flag]
        alive = self._alive(flags)
        both = tuple([with_series(b, moving, alive, order, again) for b in self.branches])
        operands = [path[0] for path in paths]
        terms = series_of([paths[i] for i in moving], [type_of(operands[i]) for i in moving], order)
        coefficients = shared(Cond, both)(which, *operands, *itertools.chain(*terms))
        n = len(self.branches[0].expr.outputs)
        starts = {i: n + order * j for j, i in enumerate(alive)}
        return [
            [x, *(coefficients[starts[i] : starts[i] + order] if i in starts else ())]
            for i, x in enumerate(coefficients[:n])
        ]

    def transpose(self, ct: Any, which: Any, *operands: Any) -> tuple[Any, ...]:
        linear = tuple([isinstance(x, Linear) for x in operands])
        present = tuple([i for i, c in enumerate(ct) if c is not None])
        backward = tuple([transposed_by(branch, linear, present) for branch in self.branches])
        known = [x for x in operands if not isinstance(x, Linear)]
        pulled = iter(shared(Cond, backward)(which, *known, *[ct[i] for i in present]))
        return (None, *[next(pulled) if flag else None for flag in linear])

    def smaller(
        self, used: Sequence[bool]
    ) -> tuple[Primitive, Sequence[int], Sequence[int]] | None:
        results = [i for i, flag in enumerate(used) if flag]
        every = range(len(self.branches[0].expr.inputs))
        branches = [rearranged(branch, every, results) for branch in self.branches]
        read = _any_of([reads(branch.expr) for branch in branches])
        if len(results) == len(used) and len(read) == len(every):
            return None
        return (
            shared(
                Cond, tuple([rearranged(branch, read, range(len(results))) for branch in branches])
            ),
            [0, *[1 + i for i in read]],
            results,
        )

    def moves(self, perturbed: Sequence[bool]) -> list[bool]:
        alive = set(self._alive(perturbed[1:]))
        return [i in alive for i in range(len(self.branches[0].expr.outputs))]

    def _alive(self, perturbed: Sequence[bool]) -> list[int]:
        """Return the results that may have a tangent if what the branches take has one where `perturbed` says so."""
        return _any_of([moves(branch.expr, perturbed) for branch in self.branches])

    def varies(self, batched: tuple[bool, ...], exactly: bool = False) -> Sequence[bool] | None:
        if batched[0]:
            return None
        by_branch = [batched_outputs(branch.expr, batched[1:], exactly) for branch in self.branches]
        return [any(flags) for flags in zip(*by_branch, strict=True)]

    def batch(self, size: int, batched: tuple[bool, ...], which: Any, *operands: Any) -> Any:
        flags = batched[1:]
        varying = self.varies(batched)
        if varying is not None:
            chosen = tuple(
                [batched_program(branch, size, flags, varying) for branch in self.branches]
            )
            return shared(Cond, chosen)(which, *operands)
        # Each call chooses for itself: a branch is computed if any call takes it, and then for all.
        results: Sequence[Any] = ()
        for i, branch in enumerate(self.branches):
            takes = equal(which, full(ArrayType((size,), which.dtype), i))
            both = shared(_or_nothing, batched_program(branch, size, flags))
            own = [x for x, b in zip(operands, flags, strict=True) if b]
            given = iter(only(takes, own) if lends(branch) else own)
            taken = [next(given) if b else x for x, b in zip(operands, flags, strict=True)]
            any_takes = Cast(which.dtype)(ReduceOr((0,))(takes))
            outs = both(any_takes, *taken)
            results = [
                select(along(takes, x), x, y) for x, y in zip(outs, results or outs, strict=True)
            ]
        return tuple(results)


def _any_of(flags: Sequence[Sequence[bool]]) -> list[int]:
    """Return the positions at which any of the lists is true."""
    return [i for i, column in enumerate(zip(*flags, strict=True)) if any(column)]


def _or_nothing(branch: Program) -> Cond:
    """Return the choice between zeros and what the branch returns."""
    expr = branch.expr

    def nothing(*_: Any) -> list[Any]:
        return [full(tangent_type(t), 0) for t in expr.output_types]

    return shared(Cond, (Program(record_expr("cond", nothing, expr.input_types)), branch))


class _Split(NamedTuple):
    """Branches in two.

    All of `forward` return, after the outputs, the residuals of all branches: zeros where they are those
    of another. All of `linear` take these, the operands in `kept`, and the tangents.
    """

    forward: tuple[Program, ...]
    linear: tuple[Program, ...]
    kept: tuple[int, ...]


def _split_branches(
    branches: tuple[Program, ...], moving: tuple[int, ...], alive: tuple[int, ...]
) -> _Split:
    parts = [linearize_expr(branch.expr, moving) for branch in branches]
    exprs = [Program(part.forward).expr for part in parts]
    n = len(branches[0].expr.outputs)
    # Residuals that are operands need not go through the results.
    places = [{v: i for i, v in enumerate(expr.inputs)} for expr in exprs]
    kept = sorted({p[v] for e, p in zip(exprs, places) for v in e.outputs[n:] if v in p})
    own = [
        list(dict.fromkeys(v for v in e.outputs[n:] if v not in p)) for e, p in zip(exprs, places)
    ]
    types = [[e.types[v] for v in vs] for e, vs in zip(exprs, own)]
    inputs = branches[0].expr.input_types

    def forward_of(j: int) -> Program:
        expr = exprs[j]

        def forward(*arguments: Any) -> list[Any]:
            computed = Program(expr)(*arguments)
            values = dict(zip(expr.outputs[n:], computed[n:], strict=True))
            residuals: list[Any] = []
            for i, vs in enumerate(own):
                zeros = [full(tangent_type(t), 0) for t in types[i]]
                residuals += [values[v] for v in vs] if i == j else zeros
            return [*computed[:n], *residuals]

        return Program(record_expr("cond", forward, inputs))

    def linear_of(j: int) -> Program:
        start = sum(map(len, own[:j]))
        total = sum(map(len, own))

        def linear(*arguments: Any) -> list[Any]:
            at = {v: arguments[start + i] for i, v in enumerate(own[j])}
            at |= {exprs[j].inputs[i]: arguments[total + k] for k, i in enumerate(kept)}
            residuals = [at[v] for v in exprs[j].outputs[n:]]
            tangents = arguments[total + len(kept) :]
            pushed = Program(parts[j].linear)(*residuals, *tangents)
            moved = dict(zip(parts[j].moving, pushed, strict=True))
            outputs = branches[j].expr.output_types
            return [or_zeros(moved.get(i), tangent_type(outputs[i])) for i in alive]

        taken = [t for ts in types for t in ts] + [inputs[i] for i in kept]
        of_tangents = [tangent_type(inputs[i]) for i in moving]
        return Program(record_expr("cond", linear, [*map(tangent_type, taken), *of_tangents]))

    every = range(len(branches))
    return _Split(
        tuple([forward_of(j) for j in every]), tuple([linear_of(j) for j in every]), tuple(kept)
    )


_NO_OPERAND = object()


@api_boundary
def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _NO_OPERAND,
) -> Any:
    """Call one of two functions: `true_fun` if `pred` is true, else `false_fun`.

    Parameters
    ----------
    pred
        A scalar: a boolean, or a number that is true unless it is zero.
    true_fun, false_fun
        Functions of `operands`. Where `pred` has no value, they must return the same structure, shapes and
        dtypes.
    *operands
        Arrays, numbers and pytrees of them.
    operand
        Another way to give one operand.

    Returns
    -------
    pytree
        What the function returns.

    Raises
    ------
    TypeError
        If `pred` is no scalar, or the functions return different types and `pred` has no value.

    Notes
    -----
    Where the value of `pred` is known, this is Python's `if`. Under `jit` it is one equation, which runs one of
    the functions. Under `vmap` with a `pred` for each call, both are run and the results selected.

    Examples
    --------
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> from fungrad import lax
    >>> f = fg.jit(lambda x: lax.cond(x > 0, fnp.sqrt, lambda x: 0 * x, x))
    >>> print(f(4.0), f(-4.0), fg.grad(f)(4.0))
    2.0 -0.0 0.25
    """
    if len(operands) == 2 and callable(operands[1]) and not callable(true_fun):
        # JAX's old form: an operand for each function.
        of_true, taken, of_false, otherwise = true_fun, false_fun, *operands
        check_callable(taken, "cond: true_fun")
        return cond(pred, lambda: taken(of_true), lambda: otherwise(of_false))
    operands = _all_operands("cond", operands, operand)
    for name, function in (("true_fun", true_fun), ("false_fun", false_fun)):
        check_callable(function, f"cond: {name}")
    type_ = _scalar_type(pred, "cond: pred")
    if type_.dtype.kind == "c":
        raise TypeError(f"cond: pred must be a boolean or a real number, got {type_}")
    value = _value(pred)
    if value is not None:
        return _call("cond", true_fun if value else false_fun, operands)
    # The first branch is that of 0.
    which = Cast(np.dtype(np.int64))(logical_not(Cast(np.dtype(bool))(pred)))
    return _choose("cond", which, ("true_fun", "false_fun"), (true_fun, false_fun), operands)


@api_boundary
def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NO_OPERAND
) -> Any:
    """Call one of several functions.

    Parameters
    ----------
    index
        An integer scalar: which one; it is clamped to the range of `branches`.
    branches
        Functions of `operands`. Where `index` has no value, they must return the same structure, shapes and
        dtypes.
    *operands
        Arrays, numbers and pytrees of them.
    operand
        Another way to give one operand.

    Returns
    -------
    pytree
        What the function returns.

    Raises
    ------
    TypeError
        If `index` is no integer scalar, or the functions return different types and it has no value.
    ValueError
        If there are no branches.

    Examples
    --------
    >>> import fungrad as fg
    >>> from fungrad import lax
    >>> f = fg.jit(lambda i, x: lax.switch(i, [lambda x: x, lambda x: x * x, lambda x: x ** 3], x))
    >>> print(f(1, 2.0), f(7, 2.0))
    4.0 8.0
    """
    operands = _all_operands("switch", operands, operand)
    branches = list(branches)
    if not branches:
        raise ValueError("switch: branches is empty; give at least one function")
    for i, function in enumerate(branches):
        check_callable(function, f"switch: branches[{i}]")
    type_ = _scalar_type(index, "switch: index")
    if type_.dtype.kind not in "iu":
        raise TypeError(
            f"switch: index must be an integer, got {type_}; convert it with .astype(int)"
        )
    last = len(branches) - 1
    value = _value(index)
    if value is not None:
        return _call("switch", branches[min(max(operator.index(value), 0), last)], operands)
    if not last:
        return _call("switch", branches[0], operands)
    dtype = np.dtype(np.int64)
    index = index if index.dtype == dtype else Cast(dtype)(index)
    which = clamp(full(ArrayType((), dtype), 0), index, full(ArrayType((), dtype), last))
    names = tuple([f"branches[{i}]" for i in range(len(branches))])
    return _choose("switch", which, names, branches, operands)


def _all_operands(label: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """Return the operands, of which there may be one by name."""
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(f"{label}: give operands by position or as operand=, not both")
    return (operand,)


def _scalar_type(x: Any, label: str) -> ArrayType:
    if x is None or isinstance(x, (tuple, list, dict)):
        raise TypeError(f"{label} must be a scalar, got {x!r}")
    type_ = argument_type(x, label)
    if type_.shape:
        raise TypeError(
            f"{label} must be a scalar, got {type_}. For a choice by element, use fungrad.numpy.where."
        )
    return type_


def _value(x: Any) -> Any:
    """Return the value of a scalar; None if it has none."""
    return known_value(x) if type(x) is Tracer else x


def _call(label: str, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Call the function that is chosen; traced, if it uses what only traced arrays have."""
    if any(type(x) is bool for x in tree.leaves(operands)):
        operands = tree.map(lambda x: protected(x) if type(x) is bool else x, operands)
    try:
        with called_with(function, len(operands), _how(label)):
            return function(*operands)
    except (AttributeError, ZeroDivisionError) as error:
        if not needs_tracing(error):
            raise
    return close(f"{label}: {name_of(function)}", function, *operands)(*operands)


def _choose(
    label: str,
    which: Any,
    names: Sequence[str],
    functions: Sequence[Callable[..., Any]],
    operands: Sequence[Any],
) -> Any:
    """Record the choice between traced functions."""
    parts = leaves_of(tuple(operands), f"{label}: operands")
    closures = [
        _closed(f"{label}: {name}, {name_of(f)}", f, operands) for name, f in zip(names, functions)
    ]
    types = _common_types(label, names, closures)
    counts = [len(c.captured) for c in closures]
    captured = [x for c in closures for x in c.captured]
    leaves = [as_operand(x) for x in parts.leaves]
    every = [tangent_type(type_of(x)) for x in (*captured, *leaves)]
    branches = []
    for i, closure in enumerate(closures):
        start = sum(counts[:i])
        own = [*range(start, start + counts[i]), *range(sum(counts), len(every))]
        program = shared(_returning, closure.program, types)
        branches.append(widened(program, every, own))
    results = shared(Cond, tuple(branches))(which, *captured, *leaves)
    return tree.unflatten(closures[0].structure, results)


def _how(label: str) -> str:
    functions = "true_fun, false_fun" if label == "cond" else "branches"
    first = "pred" if label == "cond" else "index"
    return f"the functions are called with the operands that follow them: {label}({first}, {functions}, *operands)"


def _closed(label: str, function: Callable[..., Any], operands: Sequence[Any]) -> Closure:
    with called_with(function, len(operands), _how(label.partition(":")[0])):
        closure = try_to_close(label, function, *operands, weak=True, branch=True)
    if isinstance(closure, NotTraced):
        raise closure.error
    return closure


def _common_types(
    label: str, names: Sequence[str], closures: Sequence[Closure]
) -> tuple[ArrayType, ...]:
    """Return the types of the results; raise a TypeError unless they are the same for all.

    Python numbers take the dtype of what another function returns in their place.
    """
    by_branch = [list(c.program.expr.output_types) for c in closures]
    first = closures[0].structure
    common = by_branch[0]
    if all(c.structure == first for c in closures):
        common = [_strongest(column) for column in zip(*by_branch, strict=True)]
        by_branch = [
            [_giving_way(t, c) for t, c in zip(ts, common, strict=True)] for ts in by_branch
        ]
    for i in range(1, len(by_branch)):
        check_same(
            f"{label}: the functions must return the same structure, shapes and dtypes",
            (names[0], names[i]),
            (first, by_branch[0]),
            (closures[i].structure, by_branch[i]),
            "Convert the results, with .astype(...) or fungrad.numpy.broadcast_to say, so that they agree.",
        )
    return tuple(map(tangent_type, common))


def _strongest(types: Sequence[ArrayType]) -> ArrayType:
    strong = [t for t in types if not t.weak]
    if strong:
        return strong[0]
    return types[0].update(dtype=np.result_type(*[t.dtype for t in types]))


def _giving_way(type_: ArrayType, to: ArrayType) -> ArrayType:
    fits = type_.shape == to.shape and np.can_cast(type_.dtype, to.dtype, "same_kind")
    return to if type_.weak and fits else type_


def _returning(program: Program, types: tuple[ArrayType, ...]) -> Program:
    """Return the program with its outputs converted to the dtypes of `types`."""
    expr = program.expr
    if all(a.dtype == b.dtype for a, b in zip(expr.output_types, types, strict=True)):
        return program

    def converted(*arguments: Any) -> list[Any]:
        return [as_type(x, t) for x, t in zip(program(*arguments), types, strict=True)]

    return Program(record_expr("cond", converted, expr.input_types))
