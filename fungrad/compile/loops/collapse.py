"""Fewer operations from carry to next carry, in loops that are derivatives.

The body of such a loop is linear in its carries, and most of it multiplies elementwise: ``((t * a) * b) + t * c``. The
chain that has to be run step by step gets as short as ``t * (a * b + c)``; the factor depends on no carry, so it
is computed for many steps at once. Rounding differs, as that of sums does (see `fission`), which is why loops that are
no derivatives are left alone.

Design: docs/design/21-loops-in-schedules.md.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import NamedTuple

from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.passes.draft import Draft
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.primitives.elementwise import add, mul, neg, sub


def collapse(body: Expr, c: int, k: int) -> Expr:
    """Return a body, linear in its `k` carries, with factors multiplied and terms summed first."""
    return _Collapsing(_added_up(body, c, k), c, k).run()


def _added_up(body: Expr, c: int, k: int) -> Expr:
    """Return the body with `(carry + a) + b` rewritten as `carry + (a + b)`.

    Then carries are sums over many steps, as `fission` looks for.
    """
    uses = Counter(v for e in body.equations for v in e.inputs)
    uses.update(body.outputs)
    adds = {v: e for e in body.equations if e.primitive is add for v in set(e.inputs)}
    chains: dict[
        int, tuple[int, list[int]]
    ] = {}  # by what a carry becomes: the carry, and the terms
    for before, after in zip(body.inputs[c : c + k], body.outputs[:k], strict=True):
        v, terms = before, list[int]()
        while v != after and uses[v] == 1 and v in adds:
            (x, y), (out,) = adds[v].inputs, adds[v].outputs
            terms.append(y if x == v else x)
            v = out
        if v == after and len(terms) > 1 and uses[v] == 1:
            chains[after] = before, terms
    if not chains:
        return body
    draft = Draft(body)
    for primitive, inputs, outputs in draft.given():
        if outputs and outputs[0] in chains:
            before, terms = chains[outputs[0]]
            total = functools.reduce(lambda x, y: draft.computed(add, (x, y)), terms)
            inputs = before, total
        draft.add(primitive, inputs, outputs)
    return without_dead_code(draft.finished())


class _Scaled(NamedTuple):
    """A variable as the product of a base, a factor that depends on no carry, and a sign."""

    base: int
    factor: int | None
    negative: bool


class _Collapsing(Draft):
    """One pass over the equations."""

    def __init__(self, body: Expr, c: int, k: int) -> None:
        super().__init__(body)
        self.moving = set(body.inputs[c : c + k])  # what depends on the carries
        self.scaled: dict[int, _Scaled] = {}

    def run(self) -> Expr:
        for primitive, inputs, outputs in self.given():
            if any(v in self.moving for v in inputs):
                self.moving.update(outputs)
                scaling = self._scaled(primitive, inputs) if len(outputs) == 1 else None
                if scaling is not None:
                    self.scaled[outputs[0]] = scaling
                    base, factor, negative = scaling
                    if factor is not None:
                        factor = self.computed(neg, (factor,)) if negative else factor
                        primitive, inputs = mul, (base, factor)
            self.add(primitive, inputs, outputs)
        return without_dead_code(self.finished())

    def _scaled(self, primitive: Primitive, inputs: tuple[int, ...]) -> _Scaled | None:
        """Return a result as a product with a factor; None if it is not known as one."""
        if primitive is mul:
            x, y = inputs if inputs[0] in self.moving else inputs[::-1]
            if y in self.moving:
                return None
            base, factor, negative = self._parts(x)
            factor = y if factor is None else self.computed(mul, (factor, y))
            return _Scaled(base, factor, negative)
        if primitive is neg:
            base, factor, negative = self._parts(inputs[0])
            return _Scaled(base, factor, not negative)
        if primitive is not add and primitive is not sub:
            return None
        first, second = map(self._parts, inputs)
        if first.base != second.base or first.factor is None or second.factor is None:
            return None
        alike = (first.negative == second.negative) is (primitive is add)
        factor = self.computed(add if alike else sub, (first.factor, second.factor))
        return _Scaled(first.base, factor, first.negative)

    def _parts(self, v: int) -> _Scaled:
        return self.scaled.get(v, _Scaled(v, None, False))
