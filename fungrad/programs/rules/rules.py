"""Arguments and results of custom rules, and the primitive of a call that has one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.backend import as_result, namespace
from fungrad.core.expr import Expr
from fungrad.core.primitive import Linear, family
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, float0, is_array, shown, tangent_type, type_list, type_of
from fungrad.primitives.shaping import ReduceSum
from fungrad.programs.analysis import batched_outputs, reaches
from fungrad.programs.closing import OfPrograms, batched_program, memoized
from fungrad.programs.rules.rule_tracing import closed_over
from fungrad.rewrite.linearize import or_zeros, push_forward
from fungrad.rewrite.transpose import pull_back


class SymbolicZero:
    """A tangent or cotangent that is known to be zero, handed to rules that ask for it.

    It has a `shape` and `dtype`, and nothing can be computed with it.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad.custom_derivatives import SymbolicZero
    >>> SymbolicZero.from_primal_value(np.ones((2, 3)))
    SymbolicZero(float64[2,3])
    """

    __array_ufunc__ = None  # so that NumPy's operators say at once that they do not take it

    def __init__(self, aval: ArrayType) -> None:
        self.aval = aval

    @classmethod
    def from_primal_value(cls, value: Any) -> SymbolicZero:
        """Return the zero tangent of `value`."""
        type_ = tangent_type(type_of(value))
        return cls(type_ if type_.inexact else type_.update(dtype=float0))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the zeros."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the zeros."""
        return self.aval.dtype

    @property
    def nbytes(self) -> int:
        """Read by whatever would compute with it, so an error."""
        raise TypeError(
            f"nothing can be computed with {self}: treat such tangents apart, or define the rule without "
            "symbolic_zeros=True"
        )

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


def zero_like(x: Any, symbolic: bool) -> Any:
    """Return the zero tangent of a leaf, as rules get it."""
    if symbolic:
        return SymbolicZero.from_primal_value(x) if is_array(x) else None
    if not is_array(x):
        return np.zeros((), float0)
    type_ = type_of(x)
    if not type_.inexact:
        return np.zeros(type_.shape, float0)[()]
    return as_result(namespace((x,)).zeros(type_.shape, type_.dtype))


def is_zero(x: Any) -> bool:
    """Whether a tangent is the zero that rules get, or return, for values that cannot have one."""
    return x is None or isinstance(x, SymbolicZero) or getattr(x, "dtype", None) == float0


def shown_type(x: Any) -> str:
    """Return the type of a leaf for a message, or its class if it has none."""
    return str(type_of(x)) if is_array(x) else f"{shown(x)} of type {type(x).__name__}"


def pair(result: Any, what: str, parts: str) -> tuple[Any, Any]:
    """Return the result of a rule as the pair it must be."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"{what} must return a pair of {parts}; it returned {tree.shown_tree(result)}"
        )
    return result[0], result[1]


def check_results(
    types: Sequence[ArrayType],
    structure: tree.TreeDef,
    expected: Sequence[ArrayType],
    of: tree.TreeDef,
    what: str,
) -> None:
    """Raise a TypeError unless the results of a rule are of the types of the function's own."""
    if (structure, *types) != (of, *expected):
        raise TypeError(
            f"{what} must return, first, what the function returns: a tree of structure {of} of types "
            f"{type_list(expected)}; got {structure} of types {type_list(types)}"
        )


@family
class OfFunction(OfPrograms):
    """Call of a function that has a rule: base of all kinds of rules.

    The operands are what the function closes over, what its rule closes over, as many of each as `counts` says,
    and its arguments.
    """

    called: str
    function: Program
    rule: Any
    counts: tuple[int, int]

    joint_jvp = True

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return tuple(map(tangent_type, self.function.expr.output_types))

    def varies(self, batched: tuple[bool, ...], exactly: bool = False) -> Sequence[bool] | None:
        if not exactly:  # of a tangent, the rule alone says on what it depends
            return None
        captured, _, arguments = self.split(batched)
        return batched_outputs(self.function.expr, (*captured, *arguments), exactly)

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        captured, _, arguments = self.split(operands)
        return tuple(self.function(*captured, *arguments))

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        captured, of_rule, arguments = self.split(operands)
        if any(isinstance(x, Linear) for x in of_rule):
            raise self.missing("transpose")
        given = [None if isinstance(x, Linear) else x for x in (*captured, *arguments)]
        cts = iter(pull_back(self.function.expr, given, ct))
        return tuple([next(cts) if isinstance(x, Linear) else None for x in operands])

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        captured, of_rule, arguments = self.split(batched)
        function = batched_program(self.function, size, (*captured, *arguments))
        rule = self.rule.of_batch(size, of_rule, arguments)
        return self.replaced(function=function, rule=rule)(*operands)  # type: ignore[no-any-return]

    def check_closed(self, tangents: Sequence[Any]) -> None:
        """Raise a TypeError if a capture of the function or of its rule has a tangent."""
        if any(t is not None for t in tangents[: sum(self.counts)]):
            raise TypeError(closed_over(self.called))

    def __repr__(self) -> str:
        """Show the function called."""
        return f"{self.name}[{self.called}]"


def run_rule(expr: Expr, arguments: Sequence[Any]) -> list[Any]:
    """Run a program on tracers: each equation in the trace its operands belong to."""
    return push_forward(expr, arguments, [None] * len(arguments))[0]


def for_outputs(tangents: Iterable[Any], types: Sequence[ArrayType]) -> list[Any]:
    """Return the tangents of inexact outputs in the places of all, None for the others."""
    given = iter(tangents)
    return [next(given) if t.inexact else None for t in types]


class Pushforward(NamedTuple):
    """Tangents by a program, which takes captured values, then the tangents of the operands `moving`."""

    program: Program
    moving: tuple[int, ...]

    def tangents(
        self, consts: Sequence[Any], tangents: Sequence[Any], types: Sequence[ArrayType]
    ) -> list[Any]:
        """Return the tangents of the inexact outputs."""
        given = [or_zeros(tangents[i], tangent_type(types[i])) for i in self.moving]
        return run_rule(self.program.expr, [*consts, *given])


@memoized
def with_sums(program: Program, summed: Sequence[bool]) -> Program:
    """Return the program of a batch of calls with the outputs marked in `summed` summed over it."""

    def total(*arguments: Any) -> list[Any]:
        outs = program(*arguments)
        return [ReduceSum((0,))(x) if s else x for x, s in zip(outs, summed, strict=True)]

    return Program(record_expr("vmap", total, program.expr.input_types))


def without_tangents(results: Program, first: int, label: str) -> list[Any]:
    """Return zeros for the tangents, inputs from `first` on, on which results of a rule must not depend."""
    if any(reaches(results.expr, [i >= first for i in range(len(results.expr.inputs))])):
        raise TypeError(
            f"{label} must compute the result from the primals alone; it depends on the tangents"
        )
    return [
        np.broadcast_to(np.zeros((), t.dtype), t.shape) for t in results.expr.input_types[first:]
    ]
