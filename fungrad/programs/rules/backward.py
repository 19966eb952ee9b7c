"""The backward rule of a custom_vjp function: traced, or called with arrays when the program runs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.errors import here
from fungrad.core.paths import NAMESPACE
from fungrad.core.primitive import Linear, primitive
from fungrad.core.trace import record_expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.primitives.shaping import expand
from fungrad.programs.analysis import placed
from fungrad.programs.closing import (
    Closure,
    NotTraced,
    OfPrograms,
    batched_program,
    enclosed,
    fitting,
    memoized,
    on_arrays,
    shared,
    try_to_close,
)
from fungrad.programs.one_by_one import Iterative
from fungrad.programs.rules.rule_tracing import closed_over
from fungrad.programs.rules.rules import SymbolicZero, is_zero, shown_type, with_sums
from fungrad.programs.rules.sites import Site
from fungrad.rewrite.linearize import or_zeros


@dataclasses.dataclass(frozen=True)
class Backward:
    """The user's backward rule for one call, as a function of leaves."""

    function: Callable[..., Any]
    """``function(*static, residuals, cotangent)``."""
    label: str
    """How to speak of it in messages."""
    names: tuple[str, ...]
    """How to speak of the leaves of the arguments."""
    site: Site
    """The call."""
    residuals: tree.TreeDef
    """The structure of the residuals."""
    results: tree.TreeDef
    """The structure of the result of the call."""
    types: tuple[ArrayType, ...]
    """The types of its leaves."""
    symbolic_zeros: bool
    """Whether zero cotangents are given as `SymbolicZero`."""

    @property
    def cotangents(self) -> tuple[ArrayType, ...]:
        """The types of the cotangents of results that have one."""
        return tuple([tangent_type(t) for t in self.types if t.inexact])

    def __call__(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the operands that can have one; None is zero.

        `cotangents` are those of the inexact results; where one is None, the rule is given a symbolic zero.
        """
        moving = iter(cotangents)
        given = []
        for t in self.types:
            ct = next(moving) if t.inexact else None
            if ct is None:
                zero = SymbolicZero.from_primal_value(t)
                ct = zero if self.symbolic_zeros else np.zeros(zero.shape, zero.dtype)[()]
            given.append(ct)
        residual_tree = tree.unflatten(self.residuals, residuals)
        returned = self.function(
            *self.site.static, residual_tree, tree.unflatten(self.results, given)
        )
        leaves = self._leaves(returned)
        return [self._checked(leaves, i) for i in self.site.moving]

    def _leaves(self, returned: Any) -> list[Any]:
        """Return the rule's result for each leaf of the arguments."""
        site = self.site
        n = len(site.positions)
        if not isinstance(returned, (tuple, list)) or len(returned) != n:
            got = (
                f"a {type(returned).__name__} of length {len(returned)}"
                if isinstance(returned, (tuple, list))
                else repr(returned)
            )
            raise TypeError(
                f"{self.label} must return a tuple with a cotangent for each of the {n} arguments, None for "
                f"zero; got {got}"
            )
        arguments = site.unflatten([object()] * len(site.leaves))
        leaves: list[Any] = []
        start = 0
        for ct, argument in zip(returned, arguments, strict=True):
            count = len(tree.leaves(argument))
            leaves += _by_leaf(ct, argument, self.label, self.names[start : start + count])
            start += count
        return leaves

    def _checked(self, leaves: Sequence[Any], operand: int) -> Any:
        at = self.site.at[operand]
        ct, type_ = leaves[at], tangent_type(self.site.leaves[at])
        if is_zero(ct):
            return None
        fitted = fitting(ct, type_, cast=True)
        if fitted is None:
            raise TypeError(
                f"{self.label}: the cotangent of the argument {self.names[at]} must have the type of the "
                f"argument, {type_}; got {shown_type(ct)}"
            )
        return fitted


def _by_leaf(ct: Any, argument: Any, label: str, names: Sequence[str]) -> list[Any]:
    """Return the leaves of a cotangent; None in it stands for zeros in a whole part of the argument."""
    nodes, prefix = optree.tree_flatten(ct, is_leaf=lambda x: x is None, namespace=NAMESPACE)

    def wrong() -> TypeError:
        return TypeError(
            f"{label}: the cotangent of the argument with the leaves {', '.join(names)} must have its structure, "
            f"{tree.structure(argument)}; got {tree.structure(ct)}"
        )

    try:
        parts = prefix.flatten_up_to(argument)
    except ValueError:
        raise wrong() from None
    leaves = []
    for x, part in zip(nodes, parts, strict=True):
        count = len(tree.leaves(part))
        if x is not None and tree.structure(part) != tree.LEAF:
            raise wrong()
        leaves += [x] * count
    return leaves


class TracedBackward(NamedTuple):
    """A backward rule that has been traced, or will be.

    `program` takes what it closes over, the residuals and the cotangents of the inexact results; it returns
    cotangents of those operands of the call whose positions are in `given`.
    """

    name: str
    program: Program
    given: tuple[int, ...]
    sparse_rule: SparseBackward | None
    """How to trace it for other cotangents than all, if it wants to know which are zero."""

    def tangents(self, consts: Sequence[Any], tangents: Sequence[Any], types: Any) -> Any:
        """Return the tangents of the inexact results: linear, and known by their transpose alone."""
        moving = tuple([i for i, t in enumerate(tangents) if t is not None])
        if len(consts) == len(self.program.expr.inputs):  # no result has a tangent
            return ()
        transposed = shared(CustomTangent, self, moving, len(consts))
        return transposed(*consts, *[tangents[i] for i in moving])

    def of_batch(
        self, size: int, consts: Sequence[bool], summed: Sequence[bool], count: int
    ) -> TracedBackward:
        """Return the rule of a batch of calls.

        `consts` says what has a batch axis of what the rule closes over and the residuals, `summed` which
        operands of the call have none; all of the `count` cotangents have one.
        """
        flags = (*consts, *(True,) * count)
        over = [summed[i] for i in self.given]
        program = with_sums(batched_program(self.program, size, flags), over)
        # The batch of a symbolic zero is one too, so `sparse_rule` could be mapped; zeros do as well.
        return self._replace(program=program, sparse_rule=None)


@dataclasses.dataclass(frozen=True, eq=False)
class SparseBackward:
    """A backward rule, traced anew for each set of cotangents that are zero. No two are equal."""

    backward: Backward
    residuals: tuple[ArrayType, ...]

    def pulled(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> dict[int, Any]:
        """Return the cotangents of operands by position."""
        present = [i for i, c in enumerate(cotangents) if c is not None]
        types = self.backward.cotangents

        def sparse(res: Any, cts: Any) -> Any:
            return self.backward(res, placed(cts, present, len(types)))

        given, closure = _trace(sparse, self.backward, self.residuals, [types[i] for i in present])
        if isinstance(closure, NotTraced):
            raise closure.error
        if any(type(x) is Tracer for x in closure.captured):
            raise TypeError(closed_over(self.backward.label))
        operands = [*closure.captured, *residuals, *[cotangents[i] for i in present]]
        return dict(zip(given, closure.program(*operands), strict=True))


def trace_backward(
    name: str, backward: Backward, residuals: Sequence[Any]
) -> tuple[TracedBackward, tuple[Any, ...]]:
    """Trace a backward rule for the types of `residuals`; return it and its captures."""
    types = tuple([type_of(x) for x in residuals])
    given, closure = _trace(backward, backward, types, backward.cotangents)
    sparse_rule = SparseBackward(backward, types) if backward.symbolic_zeros else None
    if not isinstance(closure, NotTraced):
        return TracedBackward(name, closure.program, given, sparse_rule), closure.captured
    if closure.captured:
        raise enclosed(backward.label, _ADVICE, here()) from closure.error
    program = _on_values(name, backward, types)
    return TracedBackward(name, program, backward.site.moving, None), ()


def _trace(
    function: Callable[..., list[Any]],
    backward: Backward,
    residuals: Sequence[ArrayType],
    cotangents: Sequence[ArrayType],
) -> tuple[tuple[int, ...], Closure | NotTraced]:
    """Trace a backward rule; return the operands that get cotangents, and the program of these."""
    closure = try_to_close(backward.label, function, tuple(residuals), tuple(cotangents))
    if isinstance(closure, NotTraced):
        return (), closure
    pairs = zip(backward.site.moving, closure.structure.children(), strict=True)
    return tuple([i for i, ct in pairs if ct.num_leaves]), closure


@primitive
class CustomTangent(OfPrograms):
    """The tangents of the inexact results of a custom_vjp function: defined by their transpose alone.

    The operands are what the backward rule closes over and the residuals, `consts` in all, and the tangents of
    those operands of the call whose positions are in `moving`.
    """

    rule: TracedBackward
    moving: tuple[int, ...]
    consts: int

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return self.rule.program.expr.input_types[self.consts :]

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        raise TypeError(_NO_FORWARD.format(name=self.rule.name))

    def __repr__(self) -> str:
        """Show whose tangent it is."""
        return f"tangent of custom_vjp[{self.rule.name}]"

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        raise TypeError(_NO_FORWARD.format(name=self.rule.name))

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        consts, tangents = operands[: self.consts], operands[self.consts :]
        rule = self.rule
        if any(isinstance(x, Linear) for x in consts):
            raise self.missing("transpose")
        if rule.sparse_rule is not None and any(c is None for c in ct):
            captured = self.consts - len(rule.sparse_rule.residuals)
            pulled = rule.sparse_rule.pulled(consts[captured:], ct)
        else:
            cts = map(or_zeros, ct, self.abstract_eval())
            pulled = dict(zip(rule.given, rule.program(*consts, *cts), strict=True))
        linear_cts = [pulled.get(i) for i in self.moving]
        back = [
            c if isinstance(t, Linear) else None for c, t in zip(linear_cts, tangents, strict=True)
        ]
        return (*[None] * self.consts, *back)

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        n = self.consts
        tangents = [expand(size, x, b) for x, b in zip(operands[n:], batched[n:], strict=True)]
        none = (False,) * (1 + max((*self.rule.given, -1)))
        rule = self.rule.of_batch(size, batched[:n], none, len(self.abstract_eval()))
        return self.replaced(rule=rule)(*operands[:n], *tangents)  # type: ignore[no-any-return]


_NO_FORWARD = (
    "the custom_vjp function `{name}` has a rule for reverse mode only, and is used in forward mode ("
    "jvp, jacfwd, linearize, hessian). Use reverse mode (grad, vjp, jacrev), or define the function with custom_jvp, "
    "which serves both modes."
)


@primitive
class BackwardOnValues(Iterative):
    """A backward rule that could not be traced; called with arrays when the program runs."""

    called: str
    rule: Backward
    residuals: int

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return self.rule.site.tangents

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        n = self.residuals
        run = functools.partial(self.rule, operands[:n], operands[n:])
        cts = on_arrays(self.rule.label, _ADVICE, run)
        # Copied: what a function returns may be what it was given.
        return tuple(
            xp.zeros(t.shape, t.dtype) if x is None else xp.array(x, t.dtype)
            for x, t in zip(cts, self.rule.site.tangents, strict=True)
        )

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        raise TypeError(
            f"{self.rule.label} needs values, so it is called with arrays when the program runs, and has no "
            "derivative itself. Write it so that it needs none (with numpy.where, for example) to "
            "differentiate it once more."
        )


_ADVICE = "Make them residuals, or write it so that it needs no values."


@memoized
def _on_values(name: str, backward: Backward, types: tuple[ArrayType, ...]) -> Program:
    call = BackwardOnValues(name, backward, len(types))
    return Program(record_expr(name, call, [*types, *backward.cotangents]))
