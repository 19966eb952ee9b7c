"""Batches of what can only be run one call at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.compile.lower import Program
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.primitives.shaping import ReduceSum, zeros_like
from fungrad.programs.closing import OfPrograms, shared
from fungrad.rewrite.batch import batch_expr


def one_by_one(
    inner: Primitive, size: int, batched: tuple[bool, ...], operands: Sequence[Any]
) -> tuple[Any, ...]:
    """Return the results of `size` calls of `inner`: the `batch` rule of iterative solvers.

    Each call iterates for as long as it would alone: no result depends on what else is in the batch.
    """
    return shared(OneByOne, inner, size, batched)(*operands)  # type: ignore[no-any-return]


@primitive
class OneByOne(OfPrograms):
    """Run `inner`, which has several results, in a loop over axis 0 of the operands in `batched`.

    Every rule is the batch of the rule of `inner`.
    """

    inner: Primitive
    size: int
    batched: tuple[bool, ...]

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        of_one = self.inner.infer(self._unbatched(types))
        return tuple(t.update(shape=(self.size, *t.shape)) for t in of_one)

    def _unbatched(self, types: Sequence[ArrayType]) -> tuple[ArrayType, ...]:
        return tuple(
            t.update(shape=t.shape[1:]) if b else t
            for t, b in zip(types, self.batched, strict=True)
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
        n = len(operands)
        alive: list[int] = []

        def rule(*arguments: Any) -> list[Any]:
            given: list[Any] = [None] * n
            for i, t in zip(moving, arguments[n + len(out) :], strict=True):
                given[i] = t
            t_outs = self.inner.jvp(tuple(given), arguments[n : n + len(out)], *arguments[:n])
            alive.extend([i for i, t in enumerate(t_outs) if t is not None])
            return [t for t in t_outs if t is not None]

        types = self._unbatched([type_of(x) for x in operands])
        results = self.inner.infer(types)
        expr = record_expr(
            "jvp", rule, [*types, *results, *[tangent_type(types[i]) for i in moving]]
        )
        flags = [*self.batched, *[True] * len(out), *[self.batched[i] for i in moving]]
        axes = [0 if b else None for b in flags]
        program = Program(batch_expr(expr, self.size, axes, [0] * len(alive)))
        pushed = program(*operands, *out, *[tangents[i] for i in moving])
        t_out: list[Any] = [None] * len(out)
        for i, t in zip(alive, pushed, strict=True):
            t_out[i] = t
        return tuple(t_out)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        known = [i for i, x in enumerate(operands) if not isinstance(x, Linear)]
        types = self._unbatched([x.type if isinstance(x, Linear) else type_of(x) for x in operands])
        present = [i for i, c in enumerate(ct) if c is not None]
        alive: list[int] = []

        def rule(*arguments: Any) -> list[Any]:
            given: list[Any] = [Linear(t) for t in types]
            for i, x in zip(known, arguments[: len(known)], strict=True):
                given[i] = x
            cts: list[Any] = [None] * len(ct)
            for i, c in zip(present, arguments[len(known) :], strict=True):
                cts[i] = c
            pulled = self.inner.transpose(tuple(cts), *given)
            alive.extend([i for i, x in enumerate(pulled) if x is not None])
            return [x for x in pulled if x is not None]

        results = self.inner.infer(types)
        of_ct = [tangent_type(results[i]) for i in present]
        expr = record_expr("transpose", rule, [*[types[i] for i in known], *of_ct])
        flags = [*[self.batched[i] for i in known], *[True] * len(present)]
        axes = [0 if b else None for b in flags]
        program = Program(batch_expr(expr, self.size, axes, [0] * len(alive)))
        pulled = program(*[operands[i] for i in known], *[ct[i] for i in present])
        cts: list[Any] = [None] * len(operands)
        for i, x in zip(alive, pulled, strict=True):
            cts[i] = x if self.batched[i] else ReduceSum((0,))(x)
        return tuple(cts)

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        return one_by_one(self, size, batched, operands)


def or_zero(ct: Any, like: Any) -> Any:
    """Return the cotangent `ct`, or zeros like `like` if it is None."""
    return zeros_like(like) if ct is None else ct
