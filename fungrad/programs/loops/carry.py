"""Carries of loops and results of branches: their types must agree, and errors show differences."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.backend import on_host
from fungrad.core.config import settings
from fungrad.core.errors import here
from fungrad.core.frozen import Draws
from fungrad.core.snapshot import snapshot
from fungrad.core.tracer import ARGUMENT, Tracer, new_tracer, resolve
from fungrad.core.types import PYTHON_SCALARS, ArrayType, type_of
from fungrad.primitives.elementwise import Cast
from fungrad.programs.closing import Closure, NotTraced, try_to_close
from fungrad.transforms.arguments import argument_type, as_operand
from fungrad.transforms.dtypes import narrowed_types

TypedTree: TypeAlias = tuple[tree.TreeDef, Sequence[ArrayType]]
"""The structure of a pytree and the types of its leaves."""


class Leaves(NamedTuple):
    """A pytree taken apart."""

    leaves: list[Any]
    structure: tree.TreeDef
    types: list[ArrayType]

    def rebuilt(self, leaves: Sequence[Any]) -> Any:
        """Return the tree with other leaves."""
        return tree.unflatten(self.structure, leaves)


def leaves_of(x: Any, label: str) -> Leaves:
    """Return the leaves of `x`; TypeError after `label` names a leaf that is no array or number."""
    leaves, structure = tree.flatten(x)
    try:
        types = [type_of(leaf) for leaf in leaves]
        narrow = settings.get().narrow
        return Leaves(leaves, structure, narrowed_types(types, leaves) if narrow else types)
    except TypeError:
        for path, leaf in tree.leaves_with_paths(x):
            argument_type(leaf, label + path)
        raise


def any_tracer(x: Any) -> bool:
    """Whether a leaf of `x` is a tracer."""
    return any(type(leaf) is Tracer for leaf in tree.leaves(x))


def have_values(leaves: Sequence[Any]) -> bool:
    """Whether the values of all leaves are known, or can be computed now."""
    return all(type(resolve(x)) is not Tracer for x in leaves)


def check_same(
    label: str,
    what: tuple[str, str],
    first: TypedTree,
    second: TypedTree,
    advice: str | None = None,
) -> None:
    """Raise a TypeError unless two results agree in structure, shapes and dtypes.

    `what` says what the two are, in a word each. The advice, if none is given, is that on carries.
    """
    (structure, types), (second_structure, second_types) = first, second
    if structure == second_structure and all(map(_alike, types, second_types)):
        return
    rows = [("", *what)]
    here_and_there = [_by_path(structure, types), _by_path(second_structure, second_types)]
    for path in dict.fromkeys([*here_and_there[0], *here_and_there[1]]):
        a, b = [by_path.get(path) for by_path in here_and_there]
        mark = "" if a and b and _alike(a, b) else "   <- differ"
        rows.append((path, str(a or "nothing"), f"{b or 'nothing'}{mark}"))
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    table = "\n".join(f"  {p:{widths[0]}}  {a:{widths[1]}}  {b}".rstrip() for p, a, b in rows)
    if set(here_and_there[0]) == set(here_and_there[1]) and structure != second_structure:
        table += f"\n  structures: {structure} and {second_structure}"
    raise TypeError(f"at {here()}\n{label}:\n{table}\n{advice or advice_on_carries(first, second)}")


def check_carry(label: str, takes: TypedTree, returns: TypedTree) -> None:
    """Raise a TypeError unless a step returns the carry as it takes it."""
    what = f"{label}: the carry must keep its structure, shapes and dtypes"
    check_same(what, ("takes", "returns"), takes, returns)


def _alike(x: ArrayType, y: ArrayType) -> bool:
    return (x.shape, x.dtype) == (y.shape, y.dtype)


def _by_path(structure: tree.TreeDef, types: Sequence[ArrayType]) -> dict[str, ArrayType]:
    named = tree.leaves_with_paths(tree.unflatten(structure, list(types)))
    return {path or "result": t for path, t in named}


def promoted(takes: ArrayType, returns: ArrayType) -> ArrayType:
    """Return the type to start a carry with: that of a Python number is the type that the loop gives it.

    It stays weak if the loop returns a Python number, too.
    """
    if not takes.weak or takes.shape != returns.shape:
        return takes
    if settings.get().jax_types:
        # JAX traces no second time where one is weak and the other is not.
        if takes.dtype == returns.dtype:
            return takes
        from fungrad.core import lattice  # few programs need it

        dtype, _ = lattice.promoted((takes, returns))
        return returns.update(dtype=dtype, weak=False)
    number = takes.dtype if returns.weak else takes.dtype.type(0).item()  # gives way (NEP 50)
    return returns.update(dtype=np.result_type(number, returns.dtype))


def advice_on_carries(first: TypedTree, second: TypedTree) -> str:
    """Return the advice for a loop that takes and returns different carries."""
    if first[0] != second[0]:
        return (
            "Return the carry as the pytree it came in: a tuple stays a tuple, None stays None, and what is to "
            "become an array starts as one."
        )
    if any(a.shape != b.shape for a, b in zip(first[1], second[1], strict=True)):
        return (
            "Shapes must be the same in each iteration. If only the start is too small, broadcast it before the loop "
            "(fungrad.numpy.broadcast_to). If the carry grows, return the new part as the second output of scan, which "
            "stacks it, set elements of an array of the final size, or write a Python loop."
        )
    return (
        "Start the loop with arrays of the dtypes it makes: write 0.0 instead of 0, or convert with "
        ".astype(...), before the loop or at the end of its body. Dtypes are promoted as in NumPy: int64 and "
        "float32 make float64."
    )


ROUNDS = 4
"""Most traces of a step to find the types that Python numbers in the first carry take."""


def close_loop(
    label: str,
    step: Callable[..., Any],
    carry: Leaves,
    *rows: Any,
    branch: bool = False,
) -> tuple[Closure, list[ArrayType]] | NotTraced:
    """Trace a step of a loop; return it and the types of the carries.

    ``step(carry, *rows)`` returns the pair of the next carry and anything else. `rows` are trees of types. With
    `branch` there may be no step.
    Python numbers that start a loop are given the type the loop makes of them.
    """
    types = carry.types
    for _ in range(ROUNDS):
        draws = Draws(step)
        closed = try_to_close(label, step, carry.rebuilt(types), *rows, weak=True, branch=branch)
        if isinstance(closed, NotTraced):
            return closed
        draws.warn(label)
        closure = closed
        structure = closure.structure.children()[0]
        returned = list(closure.program.expr.output_types[: structure.num_leaves])
        if structure != carry.structure:
            break
        next_types = list(map(promoted, types, returned))
        if next_types == types:
            break
        types = next_types
    check_carry(label, (carry.structure, types), (structure, returned))
    from fungrad.compile.passes.adding import updated_by_adding  # loops alone need it

    expr = closure.program.expr
    adding = updated_by_adding(expr)
    if adding is not expr:
        closure = closure._replace(program=Program(adding))
    return closure, types


def operands_as(leaves: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    """Return leaves as operands of the dtypes of `types`."""
    return [as_type(x, t) for x, t in zip(leaves, types, strict=True)]


def as_type(x: Any, type_: ArrayType) -> Any:
    """Return `x` as an operand of the dtype of `type_`, strong."""
    x = as_operand(x)
    given = type_of(x)
    if given.dtype == type_.dtype and not given.weak:
        return x
    return Cast(type_.dtype)(x)


def protected(x: Any) -> Any:
    """Return a read-only copy of an array, or a tracer for it.

    The function may have returned a buffer of its own, and write to it in the next step.
    A bool becomes NumPy's, of which ``~`` is the negation. Other Python numbers stay: they have to give way to the
    dtype of what they meet.
    """
    if type(x) is bool:
        return np.bool_(x)
    if type(x) is Tracer:
        x = new_tracer(x._owner, x._variable, x._type)
        x._memory = ARGUMENT
    if type(x) is not np.ndarray:
        return x
    x = snapshot(x)
    x.flags.writeable = False
    return x


def unshared(x: Any, type_: ArrayType) -> Any:
    """Return a carry as an array that shares memory with no other."""
    if type(x) is Tracer:
        return new_tracer(x._owner, x._variable, x._type)
    if type_.shape:
        return x.copy()
    return np.asarray(x, type_.dtype)[()] if on_host((x,)) else x


class PythonCarry:
    """The carry of a loop that Python runs: a read-only value, and its types."""

    def __init__(self, label: str, init: Leaves) -> None:
        self.label = label
        self.init = init
        self.types = init.types
        self.value = init.rebuilt(list(map(protected, init.leaves)))
        self.started = False

    def take(self, returned: Leaves) -> bool:
        """Take the carry that a step returned; False if its types changed and the first step must run again.

        A Python number becomes what the loop makes of it, from its first step on.
        """
        if not self.started and returned.structure == self.init.structure:
            self.started = True
            types = list(map(promoted, self.types, returned.types))
            if [t.dtype for t in types] != [t.dtype for t in self.types]:
                self.types = types
                self.value = self.init.rebuilt(operands_as(self.init.leaves, types))
                return False
        check_carry(self.label, (self.init.structure, self.types), returned[1:])
        self.value = returned.rebuilt(list(map(protected, returned.leaves)))
        return True

    def result(self) -> Any:
        """Return the last value, as arrays of its own."""
        return self.init.rebuilt(list(map(unshared, tree.leaves(self.value), self.types)))


class NeedsTracing(Exception):
    """A function used an attribute that traced arrays have, and NumPy's arrays or numbers lack."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


def needs_tracing(error: Exception) -> bool:
    """Whether the error is that a value is no traced array.

    Arrays of NumPy have no ``at``; Python's numbers have no axes, and divide by zero with an error.
    """
    if isinstance(error, ZeroDivisionError):
        return True
    if not isinstance(error, AttributeError):
        return False
    if type(error.obj) in PYTHON_SCALARS:
        return error.name == "at" or hasattr(np.generic, error.name or "")
    return error.name == "at" and isinstance(error.obj, (np.ndarray, np.generic))


@contextlib.contextmanager
def with_advice(label: str) -> Iterator[None]:
    """Give advice if the block writes into an array that `protected` made read-only.

    Raises `NeedsTracing` if it has to be traced to run.
    """
    try:
        yield
    except (AttributeError, ZeroDivisionError) as error:
        if needs_tracing(error):
            raise NeedsTracing(error) from error
        raise
    except ValueError as error:
        if "read-only" in str(error):
            error.add_note(
                f"{label}: the arrays that a step is given are read-only; write c = c + x instead of c += x"
            )
        raise
