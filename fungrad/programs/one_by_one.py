"""Batches of computations that can only be run one call at a time.

Design: docs/design/27-programs-within-programs.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fungrad.compile.lower import Program
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, type_of
from fungrad.primitives.shaping import ReduceSum, zeros_like
from fungrad.programs.analysis import placed
from fungrad.programs.closing import OfPrograms, Values, shared
from fungrad.rewrite.batch import batch_expr


def one_by_one(
    inner: Primitive, size: int, batched: tuple[bool, ...], operands: Sequence[Any]
) -> tuple[Any, ...]:
    """Return the results of `size` calls of `inner`: the `batch` rule of iterative solvers.

    Each call iterates for as long as it would alone: no result depends on what else is in the batch.
    """
    return shared(OneByOne, inner, size, batched)(*operands)  # type: ignore[no-any-return]


class Iterative(OfPrograms):
    """A primitive that runs a batch one call after the other."""

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        return one_by_one(self, size, batched, operands)


@primitive
class OneByOne(Iterative):
    """Run `inner`, which has several results, in a loop over axis 0 of the operands in `batched`.

    Every rule is the batch of the rule of `inner`.
    """

    inner: Primitive
    size: int
    batched: tuple[bool, ...]

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        of_one = self.inner.infer(self._unbatched(types))
        return tuple(t.update(shape=(self.size, *t.shape)) for t in of_one)

    def _unbatched(
        self, types: Sequence[ArrayType], batched: Sequence[bool] = ()
    ) -> tuple[ArrayType, ...]:
        flags = batched or self.batched
        return tuple(
            [t.update(shape=t.shape[1:]) if b else t for t, b in zip(types, flags, strict=True)]
        )

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        results = [
            self.inner.impl(
                xp, *[x[i] if b else x for x, b in zip(operands, self.batched, strict=True)]
            )
            for i in range(self.size)
        ]
        if not results:
            types = self.abstract_eval(*[type_of(x) for x in operands])
            return tuple(xp.zeros(t.shape, t.dtype) for t in types)
        return tuple(xp.stack([xp.asarray(x) for x in column]) for column in zip(*results))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        moving = [i for i, t in enumerate(tangents) if t is not None]
        n, m = len(operands), len(operands) + len(out)

        def rule(*arguments: Any) -> Values:
            given = tuple(placed(arguments[m:], moving, n))
            return self.inner.jvp(given, arguments[n:m], *arguments[:n])  # type: ignore[no-any-return]

        values = [*operands, *out, *[tangents[i] for i in moving]]
        flags = [*self.batched, *[True] * len(out), *[self.batched[i] for i in moving]]
        return tuple(self._mapped("jvp", rule, values, flags))

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        known = [i for i, x in enumerate(operands) if not isinstance(x, Linear)]
        types = self._unbatched([x.type if isinstance(x, Linear) else type_of(x) for x in operands])
        present = [i for i, c in enumerate(ct) if c is not None]

        def rule(*arguments: Any) -> Values:
            given: list[Any] = list(map(Linear, types))
            for i, x in zip(known, arguments):
                given[i] = x
            cts = placed(arguments[len(known) :], present, len(ct))
            return self.inner.transpose(tuple(cts), *given)

        values = [*[operands[i] for i in known], *[ct[i] for i in present]]
        flags = [*[self.batched[i] for i in known], *[True] * len(present)]
        pulled = self._mapped("transpose", rule, values, flags)
        return tuple(
            [x if x is None or b else ReduceSum((0,))(x) for x, b in zip(pulled, self.batched)]
        )

    def _mapped(
        self, label: str, rule: Callable[..., Values], values: Values, batched: Sequence[bool]
    ) -> list[Any]:
        """Return the results of a rule for a batch, where `batched` marks `values`; None as the rule's."""
        returned: list[Any] = []

        def present(*arguments: Any) -> list[Any]:
            returned.extend(rule(*arguments))
            return [x for x in returned if x is not None]

        types = self._unbatched([type_of(x) for x in values], batched)
        expr = record_expr(label, present, types)
        axes = [0 if b else None for b in batched]
        program = Program(batch_expr(expr, self.size, axes, [0] * len(expr.outputs)))
        results = iter(program(*values))
        return [None if x is None else next(results) for x in returned]


def or_zero(ct: Any, like: Any) -> Any:
    """Return the cotangent `ct`, or zeros like `like` if it is None."""
    return zeros_like(like) if ct is None else ct
