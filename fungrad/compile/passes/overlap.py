"""Computing while messages are on their way.

A collective across processes becomes two equations: one begins it as soon as its operand is there, one waits for it where nothing is
left to compute that does not need it. Sums of several arrays along one axis are begun together, as one message. So
the gradient of a network is sent some layers at a time, the last first, while those of the layers before are
computed.

S. Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training" (2020), section 3.2.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from fungrad.compile.passes.agreeing import Derivations, is_message, number, without_checks
from fungrad.compile.passes.alone import shortened
from fungrad.core.expr import Equation, Expr
from fungrad.core.types import array_type
from fungrad.primitives import ranks
from fungrad.primitives.collectives import Collective, PSum
from fungrad.primitives.ranks import Agreed, Start, Together, Total, Wait
from fungrad.primitives.ufunc import Elementwise

BUCKET = 1 << 22
"""Bytes of arrays whose sum is begun without waiting for more of them."""


def overlapped(expr: Expr) -> Expr:
    """Return the program with its collectives across processes begun early, and waited for late.

    The order is a function of the program alone, so it is the same in all processes that run it.
    """
    if not any(isinstance(e.primitive, Collective) for e in expr.equations):
        return expr
    derivations: Derivations = {}
    return _Overlapping(
        without_checks(shortened(expr, derivations), derivations), derivations
    ).run()


class _Overlapping:
    """Scheduler: equations run once their operands are computed, in the order of the program.

    An elementwise equation runs right after its operand if nothing else reads that operand, so that kernels can fuse the two.
    Short messages are waited for at once, and so are those with no other equation to run meanwhile.
    """

    def __init__(self, expr: Expr, derivations: Derivations) -> None:
        self.expr = expr
        self.derivations = derivations
        self.sources = [source for _, source in expr.located()]
        self.types = list(expr.types)
        self.returned = {*expr.outputs}
        self.messages = {n for n, e in enumerate(expr.equations) if is_message(e.primitive)}
        self.order: list[tuple[Equation, int]] = []  # with the equation that it is, or is part of
        self.readers: dict[int, list[int]] = {}  # by what they wait for
        self.missing = [0] * len(expr.equations)
        self.ready: list[tuple[int, int]] = []  # by urgency
        # What may be begun as one has a key in common: sums of one dtype, or checks, along an axis, with as many messages before them.
        self.keys: dict[int, Hashable] = {}
        self.together: dict[Hashable, list[int]] = {}
        self.size: Counter[Hashable] = Counter()
        self.begun: deque[tuple[Sequence[int], int]] = deque()

    def run(self) -> Expr:
        self._find_readers()
        while self.ready or self.together or self.begun:
            if self.ready:
                self._take(heapq.heappop(self.ready)[1])
            elif self.together:
                together, self.together = self.together, {}
                self.size.clear()
                for group in together.values():
                    self._begin(group)
            else:
                self._wait(*self.begun.popleft())
        located = [(e, self.sources[n]) for e, n in self._joined()]
        return self.expr.with_equations(located, types=self.types)

    def _find_readers(self) -> None:
        made = {v: n for n, e in enumerate(self.expr.equations) for v in e.outputs}
        depth: dict[int, int] = {}  # by variable: how many messages it waits for, one after another
        last = None  # what has effects stays in order
        for n, (primitive, inputs, outputs) in enumerate(self.expr.equations):
            before = max([depth.get(v, 0) for v in inputs], default=0)
            depth.update(dict.fromkeys(outputs, before + (n in self.messages)))
            if n in self.messages:
                self._key(n, before)
            needed = {v for v in inputs if v in made}
            if primitive.effect:
                needed |= set() if last is None else {-1 - last}
                last = n
            self.missing[n] = len(needed)
            for v in needed:
                self.readers.setdefault(v, []).append(n)
        self.to_come = Counter(self.keys.values())
        for n, count in enumerate(self.missing):
            if not count:
                self._push(n)

    def _key(self, n: int, before: int) -> None:
        primitive, inputs, _ = self.expr.equations[n]
        dtype = self.types[inputs[0]].dtype
        if isinstance(primitive, Agreed):
            self.keys[n] = (primitive.axis, None, before)
        elif isinstance(primitive, (PSum, Total)) and dtype.kind in "fc":
            self.keys[n] = (primitive.axis, dtype, before)

    def _push(self, n: int, alone: bool = False) -> None:
        """Put an equation among those that are ready; `alone` if it alone reads the last result."""
        primitive = self.expr.equations[n].primitive
        soon = primitive.view or (alone and isinstance(primitive, Elementwise))
        urgency = 0 if n in self.messages else 1 if soon else 2
        heapq.heappush(self.ready, (urgency, n))

    def _take(self, n: int) -> None:
        equation = self.expr.equations[n]
        key = self.keys.get(n)
        if key is not None:
            group = self.together.setdefault(key, [])
            group.append(n)
            self.to_come[key] -= 1
            self.size[key] += self.types[equation.inputs[0]].nbytes
            if not self.to_come[key] or self.size[key] >= BUCKET:
                del self.size[key]
                self._begin(self.together.pop(key))
        elif n in self.messages:
            self._begin([n])
        else:
            self.order.append((equation, n))
            self._made(n)

    def _made(self, n: int) -> None:
        for v in (*self.expr.equations[n].outputs, -1 - n):
            readers = self.readers.pop(v, ())
            for reader in readers:
                self.missing[reader] -= 1
                if not self.missing[reader]:
                    self._push(reader, len(readers) == 1 and v not in self.returned)

    def _begin(self, group: Sequence[int]) -> None:
        collectives, operands = self._parts(group)
        begun = len(self.types)
        self.types.append(array_type((), np.dtype(np.int64)))
        carried = self.derivations.pop(
            collectives[0].axis, ()
        )  # by the first message along the axis
        start = Equation(Start(collectives, number(carried)), operands, (begun,))
        self.order.append((start, group[0]))
        if sum([self.types[v].nbytes for v in operands]) >= ranks.ASIDE:
            self.begun.append((group, begun))
        else:
            self._wait(group, begun)

    def _wait(self, group: Sequence[int], begun: int) -> None:
        collectives, operands = self._parts(group)
        outputs = tuple([v for n in group for v in self.expr.equations[n].outputs])
        self.order.append((Equation(Wait(collectives), (begun, *operands), outputs), group[0]))
        for n in group:
            self._made(n)

    def _parts(self, group: Sequence[int]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """Return some collectives, and their operands."""
        equations = [self.expr.equations[n] for n in group]
        operands = tuple([v for e in equations for v in e.inputs])
        return tuple([e.primitive for e in equations]), operands

    def _joined(self) -> list[tuple[Equation, int]]:
        """Return the equations in order, those as one between which nothing is computed that takes time."""
        order: list[tuple[Equation, int]] = []
        for equation, n in self.order:
            primitive, inputs, outputs = equation
            if isinstance(primitive, Wait):
                beside = itertools.takewhile(lambda o: o[0].primitive.view, reversed(order))
                start = len(order) - 1 - sum(1 for _ in beside)
                if start >= 0 and order[start][0].outputs == inputs[:1]:
                    begin: Any = order.pop(start)[0].primitive
                    equation = self._at_once(begin, inputs[1:], outputs, n)
            order.append((equation, n))
        return order

    def _at_once(
        self, begin: Start, operands: tuple[int, ...], outputs: tuple[int, ...], n: int
    ) -> Equation:
        """Return the equation that starts and awaits collectives; a plain single one is itself."""
        if len(begin.collectives) == 1 and not begin.way:
            return self.expr.equations[n]
        return Equation(Together(begin.collectives, begin.way), operands, outputs)
