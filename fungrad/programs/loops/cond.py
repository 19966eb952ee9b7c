"""Choices between functions: `cond` and `switch`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, overload

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.config import settings
from fungrad.core.errors import called_with
from fungrad.core.glossary import COMMON
from fungrad.core.trace import record_expr
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.primitives.elementwise import Cast, clamp, logical_not
from fungrad.primitives.shaping import full
from fungrad.programs.analysis import widened
from fungrad.programs.closing import Closure, NotTraced, close, memoized, shared, try_to_close
from fungrad.programs.loops.branches import Cond, selected
from fungrad.programs.loops.carry import (
    any_tracer,
    as_type,
    check_same,
    leaves_of,
    needs_tracing,
    protected,
)
from fungrad.programs.watching import look_at
from fungrad.transforms.arguments import argument_type, as_operand, check_callable, name_of
from fungrad.transforms.dtypes import weakly_typed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

A = TypeVar("A")
"""The operand given by name."""
R = TypeVar("R")
"""The result of a branch."""
R_else = TypeVar("R_else")
Operands = TypeVarTuple("Operands")

_NO_OPERAND = object()
_NAMES = ("true_fun", "false_fun")


@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[*Operands], R],
    false_fun: Callable[[*Operands], R_else],
    *operands: *Operands,
) -> R | R_else: ...
@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[A], R],
    false_fun: Callable[[A], R_else],
    *,
    operand: A,
) -> R | R_else: ...
@COMMON.public  # type: ignore[misc]
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
        If `pred` is no scalar, or the functions return different types and `pred` has no value (by JAX's rules of
        promotion, also if it has).

    Notes
    -----
    Where the value of `pred` is known, this is Python's `if`. Under `jit` it is one equation, which runs one of
    the functions. Under `vmap` with a `pred` for each call, both are run and the results selected.

    Examples
    --------
    >>> f = fg.jit(lambda x: lax.cond(x > 0, fnp.sqrt, lambda x: 0 * x, x))
    >>> print(f(4.0), f(-4.0), fg.grad(f)(4.0))
    2.0 -0.0 0.25
    """
    if len(operands) == 2 and callable(operands[1]) and not callable(true_fun):
        # JAX's old form: an operand for each function.
        of_true, taken, of_false, otherwise = true_fun, false_fun, *operands
        check_callable(taken, "cond: true_fun")
        return cond(pred, lambda x, _: taken(x), lambda _, x: otherwise(x), of_true, of_false)
    operands = _all_operands("cond", operands, operand)
    for name, function in (("true_fun", true_fun), ("false_fun", false_fun)):
        check_callable(function, f"cond: {name}")
    type_ = _scalar_type(pred, "cond: pred")
    if type_.dtype.kind == "c":
        raise TypeError(f"cond: pred must be a boolean or a real number, got {type_}")
    value = _value(pred)
    if value is not None:
        return _one_of("cond", not value, _NAMES, (true_fun, false_fun), operands)
    # The first branch is that of 0.
    which = Cast(_counting())(logical_not(Cast(np.dtype(bool))(pred)))
    return choose("cond", which, _NAMES, (true_fun, false_fun), operands)


@overload
def switch(
    index: ArrayLike, branches: Sequence[Callable[[*Operands], R]], *operands: *Operands
) -> R: ...
@overload
def switch(index: ArrayLike, branches: Sequence[Callable[[A], R]], *, operand: A) -> R: ...
@COMMON.public_like(cond)  # type: ignore[misc]
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

    Raises
    ------
    TypeError
        If `index` is no integer scalar, or the functions return different types and it has no value.
    ValueError
        If there are no branches.

    Examples
    --------
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
    names = tuple([f"branches[{i}]" for i in range(len(branches))])
    value = _value(index)
    if value is not None:
        chosen = min(max(operator.index(value), 0), last)
        return _one_of("switch", chosen, names, branches, operands)
    if not last:
        return _call("switch", branches[0], operands)
    dtype = _counting()
    index = index if index.dtype == dtype else Cast(dtype)(index)
    which = clamp(full(ArrayType((), dtype), 0), index, full(ArrayType((), dtype), last))
    return choose("switch", which, names, branches, operands)


def _counting() -> np.dtype[Any]:
    """Return the dtype of the number of a branch."""
    return np.dtype(np.int32 if settings.get().narrow else np.int64)


def _all_operands(label: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """Return the operands, given by position, or one by name."""
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(f"{label}: give operands by position or as operand=, not both")
    return (operand,)


def _scalar_type(x: Any, label: str) -> ArrayType:
    if x is None or isinstance(x, (tuple, list, dict)):
        raise TypeError(f"{label} must be a scalar, got {tree.shown_tree(x)}")
    type_ = argument_type(x, label)
    if type_.shape:
        raise TypeError(
            f"{label} must be a scalar, got {type_}. For a choice by element, use fungrad.numpy.where."
        )
    return type_


def _value(x: Any) -> Any:
    """Return the value of a scalar; None if it has none."""
    return known_value(x) if type(x) is Tracer else x


def _one_of(
    label: str,
    chosen: int,
    names: Sequence[str],
    functions: Sequence[Callable[..., Any]],
    operands: Sequence[Any],
) -> Any:
    """Call the function that is chosen.

    By JAX's rules all are traced, and must return the same types, unless one asks for values.
    """
    if settings.get().jax_types and not settings.get().jit_disabled:
        from fungrad.programs.loops import agreeing  # few programs need it

        key = agreeing.key_of(_in_jaxs_order(label, functions), operands)
        if agreeing.is_known(key):
            taken = _all_closed(label, names[chosen:][:1], functions[chosen:][:1], operands)[0]
            if not isinstance(taken, NotTraced):
                types = agreeing.agreed(key, taken)
                if types is not None:
                    return _called(taken, types, operands)
        closures = _all_closed(label, names, functions, operands)
        traced = [c for c in closures if not isinstance(c, NotTraced)]
        if len(traced) == len(closures):
            common, taken = _common_types(label, names, traced), traced[chosen]
            weak = _weak_where_the_first_is(label, traced)
            agreeing.keep(key, taken, weak)
            taken = taken._replace(program=_returning(taken.program, common))
            return _called(taken, weak, operands)
    return _call(label, functions[chosen], operands)


def _called(closure: Closure, types: Sequence[ArrayType], operands: Sequence[Any]) -> Any:
    leaves = tree.leaves(closure(*operands))  # what it has only handed on is as weak as it was
    return tree.unflatten(closure.structure, weakly_typed(leaves, types))


def _call(label: str, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Call the chosen function; traced, if it uses attributes that only traced arrays have."""
    if any(type(x) is bool for x in tree.leaves(operands)):
        operands = tree.map(lambda x: protected(x) if type(x) is bool else x, operands)
    # Operators of plain arrays have NumPy's dtypes; others are those of traced ones.
    plain = settings.get().dtypes and not any_tracer(operands)
    try:
        if not plain:
            with called_with(function, len(operands), _how(label)):
                result = function(*operands)
            look_at(f"{label}({name_of(function)})", function, operands, result)
            return result
    except (AttributeError, ZeroDivisionError) as error:
        if not needs_tracing(error):
            raise
    closed = close(f"{label}: {name_of(function)}", function, *operands, weak=bool(plain))
    return closed(*operands)


def choose(
    label: str,
    which: Any,
    names: Sequence[str],
    functions: Sequence[Callable[..., Any]],
    operands: Sequence[Any],
    weak: bool = False,
) -> Any:
    """Record the choice between traced functions.

    With `weak`, a result stays a Python number if it is one of each function.
    """
    parts = leaves_of(tuple(operands), f"{label}: operands")
    closures = []
    for closed in _all_closed(label, names, functions, operands):
        if isinstance(closed, NotTraced):
            raise closed.error
        closures.append(closed)
    types = _common_types(label, names, closures)
    counts = [len(c.captured) for c in closures]
    captured = [x for c in closures for x in c.captured]
    leaves = [as_operand(x) for x in parts.leaves]
    every = [tangent_type(type_of(x)) for x in (*captured, *leaves)]
    branches = []
    for i, closure in enumerate(closures):
        start = sum(counts[:i])
        places = [*range(start, start + counts[i]), *range(sum(counts), len(every))]
        branches.append(widened(_returning(closure.program, types), every, places))
    operands = (*captured, *leaves)
    results = selected(which, branches, operands) or shared(Cond, tuple(branches))(which, *operands)
    if weak:
        columns = zip(*[c.program.expr.output_types for c in closures], strict=True)
        numbers = [all(t.weak for t in column) for column in columns]
        results = [
            Cast(x.dtype, True)(x) if y else x for x, y in zip(results, numbers, strict=True)
        ]
    else:
        results = weakly_typed(results, _weak_where_the_first_is(label, closures))
    return tree.unflatten(closures[0].structure, results)


def _how(label: str) -> str:
    functions = "true_fun, false_fun" if label == "cond" else "branches"
    first = "pred" if label == "cond" else "index"
    return f"the functions are called with the operands that follow them: {label}({first}, {functions}, *operands)"


def _all_closed(
    label: str,
    names: Sequence[str],
    functions: Sequence[Callable[..., Any]],
    operands: Sequence[Any],
) -> list[Closure | NotTraced]:
    """Trace the functions, as long as they ask for no values."""
    closed: list[Closure | NotTraced] = []
    for name, f in zip(names, functions, strict=True):
        with called_with(f, len(operands), _how(label)):
            what = f"{label}: {name}, {name_of(f)}"
            closed.append(try_to_close(what, f, *operands, weak=True, branch=True))
        if isinstance(closed[-1], NotTraced):
            break
    return closed


def _common_types(
    label: str, names: Sequence[str], closures: Sequence[Closure]
) -> tuple[ArrayType, ...]:
    """Return the types of the results; raise a TypeError unless they are the same for all.

    Python numbers take the dtype of what another function returns in their place, but not by JAX's rules.
    """
    by_branch = [list(c.program.expr.output_types) for c in closures]
    first = closures[0].structure
    common = by_branch[0]
    if all(c.structure == first for c in closures) and not settings.get().jax_types:
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


def _weak_where_the_first_is(label: str, closures: Sequence[Closure]) -> Sequence[ArrayType]:
    """Return types of results that are weak where JAX's are: as those of its first branch."""
    return _in_jaxs_order(label, closures)[0].program.expr.output_types


def _in_jaxs_order(label: str, branches: Sequence[A]) -> Sequence[A]:
    """Return branches in JAX's order: the branch of `cond` for false is the first."""
    return branches[::-1] if label == "cond" else branches


def _strongest(types: Sequence[ArrayType]) -> ArrayType:
    strong = [t for t in types if not t.weak]
    if strong:
        return strong[0]
    return types[0].update(dtype=np.result_type(*[t.dtype for t in types]))


def _giving_way(type_: ArrayType, to: ArrayType) -> ArrayType:
    fits = type_.shape == to.shape and np.can_cast(type_.dtype, to.dtype, "same_kind")
    return to if type_.weak and fits else type_


@memoized
def _returning(program: Program, types: tuple[ArrayType, ...]) -> Program:
    """Return the program with its outputs converted to the dtypes of `types`."""
    expr = program.expr
    if all(a.dtype == b.dtype for a, b in zip(expr.output_types, types, strict=True)):
        return program

    def converted(*arguments: Any) -> list[Any]:
        return [as_type(x, t) for x, t in zip(program(*arguments), types, strict=True)]

    return Program(record_expr("cond", converted, expr.input_types))
