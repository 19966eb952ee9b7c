"""Bounds of integers in a schedule: which indices are proven to be inside of their arrays.

An integer is followed as a linear form of symbols: rows of evenly spaced arrays, numbers of rounds, maxima. In
`for i in range(n): for k in range(i + 1, n)` the index k is at most n - 1, whatever i is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.linear import LARGEST, ZERO, Form, Symbols, plus
from fungrad.compile.kernels.operations import Node
from fungrad.compile.steps import (
    Assign,
    Branch,
    Call,
    Control,
    Copy,
    Empty,
    Free,
    Into,
    Loop,
    Run,
    Schedule,
    Step,
    While,
)
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from fungrad.primitives.indexed import IndexedSlice, IndexedUpdate
from fungrad.primitives.indexing import Gather, Scatter

I64 = np.dtype(np.int64)


class Less(NamedTuple):
    """Whether one integer is less than another."""

    small: Form
    large: Form


class Even(NamedTuple):
    """An array of one axis: `first`, `first + step`, ..."""

    first: int
    step: int
    length: int


class Among(NamedTuple):
    """An array of integers between two, or an integer for which no symbol is needed."""

    least: int
    most: int


Value: TypeAlias = Form | Less | Even | Among | None


def evenly(x: Any) -> Even | None:
    """Return the first element, step and length of evenly spaced integers; None of anything else."""
    if type(x) is not np.ndarray or x.dtype != I64 or x.ndim != 1 or not len(x):
        return None
    first, step = int(x[0]), int(x[1]) - int(x[0]) if len(x) > 1 else 0
    even = abs(first) < LARGEST and abs(step) < LARGEST and (np.diff(x) == step).all()
    return Even(first, step, len(x)) if even else None


def proven_inside(steps: Schedule) -> set[int]:
    """Return the `id` of each step whose indices are all proven to be inside of its array."""
    if not any(isinstance(step, (Loop, While)) for step in steps.steps):
        return set()
    bounds = _Bounds()
    bounds.run(steps, [None] * len(steps.inputs))
    return {key for key, proven in bounds.proven.items() if proven}


class _Bounds(Symbols):
    def __init__(self) -> None:
        super().__init__()
        self.proven: dict[int, bool] = {}
        self.trying = 0  # loops that are run to see which carries change

    def form(self, value: Value) -> Form | None:
        """Return an integer as a form."""
        if isinstance(value, Among):
            return self.symbol([Form(value.least)], [Form(value.most)])
        return value if isinstance(value, Form) else None

    # Schedules

    def run(self, steps: Schedule, inputs: Sequence[Value]) -> list[Value]:
        """Follow the integers of a schedule; return its results."""
        known: dict[int, Value] = dict(zip(steps.inputs, inputs, strict=True))
        known |= {v: _constant(x) for v, x in steps.constants.items()}
        for step in steps.steps:
            self._step(step, known, steps.types)
        return [known.get(result.register) for result in steps.results]

    def _step(self, step: Step, known: dict[int, Value], types: Sequence[ArrayType]) -> None:
        match step:
            case Call():
                operands = [known.get(x.register) for x in step.operands]
                self._check(step, operands, [types[x.register] for x in step.operands])
                results = self._results(step.primitive, operands, [types[v] for v in step.results])
                known |= dict(zip(step.results, results, strict=True))
            case Into() | Assign():
                operands = [known.get(x.register) for x in step.operands]
                self._check(step, operands, [types[x.register] for x in step.operands])
                written = step.register if isinstance(step, Into) else step.operands[0].register
                (known[written],) = self._results(step.primitive, operands, [types[written]])
            case Copy():
                known[step.register] = known.get(step.operand)
            case Empty():
                known |= dict.fromkeys(step.registers)
            case Free():
                pass
            case Run() | Branch() | Loop() | While():
                self._control(step, known)

    def _control(self, step: Control, known: dict[int, Value]) -> None:
        match step:
            case Run():
                results = self.run(step.body, [known.get(v) for v in step.operands])
                known |= dict(zip(step.results, results, strict=True))
            case Branch():
                operands = [known.get(v) for v in step.operands]
                each = [self.run(branch, operands) for branch in step.branches]
                joined = [x[0] if all(y == x[0] for y in x) else None for x in zip(*each)]
                known |= dict(zip(step.results, joined, strict=True))
            case Loop():
                self._loop(step, known)
            case While():
                self._while(step, known)

    def _kept(self, given: Sequence[Value], body: Any) -> tuple[list[Value], list[int]]:
        """Return the carries that no round changes, and of the others how much each round adds, or 0."""
        if not any(isinstance(x, (Form, Even, Among)) for x in given):
            return [None] * len(given), [0] * len(given)
        tried: list[Value] = [
            self.symbol([Form(-LARGEST >> 9)], [Form(LARGEST >> 9)]) if x is not None else None
            for x in given
        ]
        self.trying += 1
        after = body(tried)
        self.trying -= 1
        kept = [x if y is not None and y == z else None for x, y, z in zip(given, tried, after)]
        added = [
            z.first - y.first
            if isinstance(y, Form) and isinstance(z, Form) and z.terms == y.terms
            else 0
            for y, z in zip(tried, after)
        ]
        return kept, added

    def _loop(self, step: Loop, known: dict[int, Value]) -> None:
        constants = [known.get(v) for v in step.constants]
        taken = [known.get(v) for v in step.taken]
        rows: list[Value] = []
        number = self.symbol([Form(step.rows.start)], [Form(step.rows.stop - 1)])
        for x in taken:
            if isinstance(x, Even):
                rows.append(self.checked(plus(Form(x.first), number, x.step)))
            else:
                rows.append(x if isinstance(x, Among) else None)
        if step.rows.block is not None:
            rows = [None] * len(rows)
        n = len(step.carries)

        def body(carries: Sequence[Value]) -> list[Value]:
            return self.run(step.body, [*constants, *carries, *rows])[:n]

        given = [known.get(v) for v in step.carries]
        kept, _ = self._kept(given, body)
        body(kept)
        known |= dict(zip(step.carries, kept, strict=True))
        known |= dict.fromkeys(step.filled)

    def _while(self, step: While, known: dict[int, Value]) -> None:
        tested, constants = [[known.get(v) for v in vs] for vs in (step.tested, step.constants)]
        given = [known.get(v) for v in step.carries]
        constants += self.run(step.before, constants)

        def body(carries: Sequence[Value]) -> list[Value]:
            return self.run(step.body, [*constants, *carries])

        kept, added = self._kept(given, body)
        known |= dict(zip(step.carries, kept, strict=True))
        counters = [
            self.symbol([begin], []) if more > 0 and isinstance(begin, Form) else None
            for begin, more in zip(given, added, strict=True)
        ]
        carries = [x if y is None else y for x, y in zip(kept, counters, strict=True)]
        (goes_on,) = self.run(step.condition, [*tested, *carries])
        carries = [
            x if y is None or self._bounded(y, goes_on) else None
            for x, y in zip(carries, counters, strict=True)
        ]
        body(carries)

    def _bounded(self, counter: Form, goes_on: Value) -> bool:
        """Bound a counter by the condition of its loop; return whether that says something of it."""
        if not isinstance(goes_on, Less) or goes_on.small.terms != counter.terms:
            return False
        ((symbol, _),) = counter.terms
        large = plus(goes_on.large, Form(1 + goes_on.small.first), -1)
        if any(v == symbol for v, _ in large.terms):
            return False
        highs = self.symbols[symbol].highs
        highs.append(large)
        if not goes_on.small.first and len(goes_on.large.terms) == 1:
            # k < max(x, y), and k is y at least: k < x.
            (v, factor), first = goes_on.large.terms[0], goes_on.large.first
            of = self.symbols[v].of
            if factor == 1 and not first and len(of) == 2:
                for x, y in (of, of[::-1]):
                    if self.is_less(y, counter, 0):
                        highs.append(plus(x, Form(1), -1))
        return True

    # Operations

    def _results(
        self, primitive: Primitive, operands: Sequence[Value], types: Sequence[ArrayType]
    ) -> list[Value]:
        """Return the results of a primitive, where they are followed."""
        if isinstance(primitive, Fused) and isinstance(primitive.kernel, Kernel):
            kernel = primitive.kernel
            nodes: list[Value] = []
            for node in kernel.nodes:
                nodes.append(self._node(node, kernel, nodes, operands))
            return [nodes[x.node] if not x.type.shape else None for x in kernel.outputs]
        array = operands[0] if operands else None
        if isinstance(primitive, (Gather, IndexedSlice)) and isinstance(array, (Even, Among)):
            return [_span(array)]
        return [None] * len(types)

    def _node(
        self, node: Node, kernel: Kernel, nodes: Sequence[Value], operands: Sequence[Value]
    ) -> Value:
        given = [nodes[v] for v in node.operands]
        if node.operation == "load":
            access = kernel.operands[node.value]
            value = operands[kernel.array_of(node.value)]
            return None if access.type.shape or given else value
        if node.operation == "constant":
            return Form(int(node.value)) if node.dtype == I64 else None
        if node.operation == "convert" and node.dtype == I64:
            return given[0]
        forms = [self.form(x) for x in given]
        if None in forms or not forms:
            return None
        if node.operation in ("lt", "gt"):
            x, y = forms if node.operation == "lt" else forms[::-1]
            return Less(x, y)  # type: ignore[arg-type]
        return self._computed(node.operation, *forms) if node.dtype == I64 else None  # type: ignore[arg-type]

    def _computed(self, operation: str, x: Form, y: Form = ZERO) -> Form | None:
        match operation:
            case "add" | "sub":
                return self.checked(plus(x, y, 1 if operation == "add" else -1))
            case "neg":
                return self.checked(plus(ZERO, x, -1))
            case "mul" if not (x.terms and y.terms):
                several, factor = (x, y.first) if x.terms else (y, x.first)
                return self.checked(plus(ZERO, several, factor))
            case "max" | "min":
                return self.extreme(operation == "max", x, y, not self.trying)
        return None

    # Indices

    def _check(
        self, step: Call | Into | Assign, operands: Sequence[Value], types: Sequence[ArrayType]
    ) -> None:
        """Note whether the indices of a step are inside, each time that it runs."""
        if self.trying:
            return
        primitive, shape = step.primitive, types[0].shape if types else ()
        match primitive:
            case Gather() | Scatter():
                first = 1 if isinstance(primitive, Gather) else 2
                lasts = [n - 1 for n in shape[: len(operands) - first]]
            case IndexedSlice() | IndexedUpdate():
                first = 1 if isinstance(primitive, IndexedSlice) else 2
                axes = primitive.axes
                lasts = [shape[a] - 1 for a in axes]
            case DynamicSlice() | DynamicUpdateSlice():
                first = 1 if isinstance(primitive, DynamicSlice) else 2
                lasts = list(primitive.limits)
            case _:
                return
        indices = zip(operands[first:], lasts, strict=True)
        inside = all(self._is_inside(x, last) for x, last in indices)
        self.proven[id(step)] = self.proven.get(id(step), True) and inside

    def _is_inside(self, value: Value, last: int) -> bool:
        if isinstance(value, (Even, Among)):
            span = _span(value)
            return span.least >= 0 and span.most <= last
        if not isinstance(value, Form):
            return False
        most, least = self.most(value), self.most(value, -1)
        return least is not None and most is not None and least >= 0 and most <= last


def _span(array: Even | Among) -> Among:
    if isinstance(array, Among):
        return array
    ends = array.first, array.first + array.step * (array.length - 1)
    return Among(min(ends), max(ends))


def _constant(x: Any) -> Value:
    array = np.asarray(x)
    if array.dtype != I64 or not array.size:
        return None
    if not array.ndim:
        return Form(int(array))
    return evenly(array) or Among(int(array.min()), int(array.max()))
