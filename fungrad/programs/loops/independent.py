"""Loops whose rounds are independent, or add up, as operations on whole arrays.

A round touches elements of the arrays that the loop updates. If no other round touches them, all rounds can be made at once, as
`vmap` would. If all of them add to the same ones, their terms can be added first. A sum of products is a product of matrices.
Inner loops come first, so a nest of loops over elements ends as slices, sums and products (loop vectorization; see e.g. Allen and
Kennedy, Optimizing Compilers for Modern Architectures, 2001, chapters 2 and 5). It is decided when the loop is recorded,
before derivatives: these are then of the slices and products.

Design: docs/design/28-loops-and-branches.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core.errors import MissingRuleError
from fungrad.core.expr import Equation, Expr
from fungrad.core.location import locate
from fungrad.core.trace import rebind, record_expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.contraction import contract
from fungrad.primitives.elementwise import Cast, add, mul, sub
from fungrad.primitives.indexed import IndexedSlice, IndexedUpdate
from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice
from fungrad.primitives.shaping import (
    Broadcast,
    ReduceSum,
    constant_like,
    counting,
    expand,
    move_axis,
)
from fungrad.primitives.slices import Reverse, Slice, index_axis
from fungrad.programs.closing import Values, memoized
from fungrad.programs.loops.accesses import (
    Access,
    Along,
    At,
    Cut,
    Dependent,
    Place,
    counter,
    number,
)
from fungrad.programs.loops.plans import Last, Plans, Rows, Sum, is_fixed

POINTING = Gather, Scatter, IndexedSlice, IndexedUpdate

LARGE = 1 << 20
"""Bytes that an intermediate result of all rounds may always take."""
TIMES = 4
"""How many times the bytes of the loop's arrays it may take, where that is more."""


def at_once(
    body: Program, counts: tuple[int, int], length: int, operands: Values
) -> Program | None:
    """Return the program that makes all rounds of a loop at once; None if they depend on each other.

    Parameters
    ----------
    body, counts, length
        As those of `Scan`.
    operands
        Those of the loop. Integers and evenly spaced ones, such as the numbers of the rounds, are best given as they are.
    """
    if length < 2 or not any(type(x) is Tracer for x in operands):
        return None
    numbers: list[Place | None] = [None] * len(operands)
    for i in _pointing(body):
        if i < counts[0]:
            numbers[i] = number(operands[i])
        elif i >= sum(counts):
            numbers[i] = counter(operands[i])
    return _made(body, counts, length, numbers)


@memoized
def _pointing(body: Program) -> tuple[int, ...]:
    """Return the positions of the integers by which a body points at elements."""
    expr = body.expr
    whole = {v for v, t in enumerate(expr.types) if not t.shape and t.dtype.kind in "iu"}
    pointing: set[int] = set()
    for primitive, inputs, outputs in reversed(expr.equations):
        if isinstance(primitive, POINTING) or not pointing.isdisjoint(outputs):
            pointing.update(whole.intersection(inputs))
    return tuple([i for i, v in enumerate(expr.inputs) if v in pointing])


@memoized
def _made(
    body: Program, counts: tuple[int, int], length: int, numbers: Sequence[Place | None]
) -> Program | None:
    try:
        return Program(_Rounds(body.expr, counts, length, numbers).recorded())
    except (Dependent, MissingRuleError):
        return None


class _Rounds:
    """The rounds of one loop, on the way to one program."""

    def __init__(
        self, expr: Expr, counts: tuple[int, int], length: int, numbers: Sequence[Place | None]
    ) -> None:
        self.expr, self.counts, self.length = expr, counts, length
        self.types = expr.types
        of = Plans(expr, counts, length, numbers)
        self.plans, self.places, self.accesses, self.version = (
            of.plans,
            of.places,
            of.accesses,
            of.version,
        )
        self.made, self.uses, self.done, self.varying = of.made, of.uses, of.done, of.varying
        c, k = counts
        size = sum(self.types[v].nbytes for v in expr.inputs[: c + k])
        rows = (*expr.inputs[c + k :], *expr.outputs[k:])
        self.most = max(LARGE, TIMES * (size + length * sum(self.types[v].nbytes for v in rows)))
        self.values: dict[int, Any] = {}
        self.each: set[int] = set()  # variables whose values have an axis for the rounds

    def recorded(self) -> Expr:
        """Return the program of the operands of the loop."""
        c, k = self.counts
        types = [
            t if i < c + k else t.update(shape=(self.length, *t.shape))
            for i, t in enumerate(self.expr.input_types)
        ]
        return record_expr("loop", self._run, types)

    def _run(self, *operands: Any) -> list[Any]:
        c, k = self.counts
        inputs, values = self.expr.inputs, self.values
        values |= self.expr.constants
        values |= zip(inputs, operands, strict=True)
        self.each.update(inputs[c + k :])
        self.near = operands
        needed = self._needed()
        for v, plan in self.plans.items():
            if isinstance(plan, Rows):
                self.values[v] = self._taken(values[v], plan.box, plan.axis)
                self.each.add(v)
        for equation, source in self.expr.located():
            locate(source)
            if not needed.isdisjoint(equation.outputs):
                self._compute(equation)
        carried = zip(inputs[c : c + k], self.expr.outputs, operands[c : c + k], strict=False)
        outputs = [self._carry(v, out, x) for v, out, x in carried]
        outputs += [self._of_all(v) for v in self.expr.outputs[k:]]
        return [_as(x, tangent_type(t)) for x, t in zip(outputs, self._output_types(), strict=True)]

    def _output_types(self) -> list[ArrayType]:
        k = self.counts[1]
        return [
            t if i < k else t.update(shape=(self.length, *t.shape))
            for i, t in enumerate(self.expr.output_types)
        ]

    def _needed(self) -> set[int]:
        """Return the variables whose values are read: plans stand for some."""
        needed: set[int] = set(self.expr.outputs[self.counts[1] :])
        for v, plan in self.plans.items():
            if isinstance(plan, Sum):
                needed.update([w for term, _ in plan.terms for w in self._factors(term)])
            elif isinstance(plan, Last):
                needed.add(plan.variable)
            else:
                needed.add(self.expr.outputs[self.expr.inputs.index(v) - self.counts[0]])
        for box in [plan.box for plan in self.plans.values() if plan.box is not None]:
            needed.update([x.variable for x in box if isinstance(x, At)])
        for equation in reversed(self.expr.equations):
            if not needed.isdisjoint(equation.outputs):
                needed.update(equation.inputs)
        return needed - self.done

    def _compute(self, equation: Equation) -> None:
        primitive, inputs, outputs = equation
        out = outputs[0]
        access = self.accesses.get(out)
        if not any(v in self.each or v in self.varying for v in inputs):
            results = primitive.as_sequence(
                rebind(primitive, [self.values[v] for v in inputs], None)
            )
            self.values |= zip(outputs, results, strict=True)
            return
        if access is not None and self.version.get(access.x) in self.plans:
            plan = self.plans[self.version[access.x]]
            assert isinstance(plan, Rows)
            self._set(out, self._within(access, plan))
            return
        if access is not None and access.updates is None and self._is_taken_evenly(access):
            self._set(out, self._taken(self.values[access.x], access.along, access.moving[0]))
            return
        ins = [self._value(v) for v in inputs]
        flags = tuple([v in self.each for v in inputs])
        results = primitive.as_sequence(primitive.batch(self.length, flags, *ins))
        for v, x in zip(outputs, results, strict=True):
            self._set(v, x)

    def _is_taken_evenly(self, access: Access) -> bool:
        others = [x for a, x in enumerate(access.along) if a not in access.moving]
        fixed = access.x not in self.each and access.x not in self.varying
        return fixed and len(access.moving) == 1 and all(map(is_fixed, others))

    def _set(self, v: int, x: Any) -> None:
        """Set a variable that has a value for each round."""
        if math.prod(x.shape) * self.types[v].dtype.itemsize > self.most:
            raise Dependent
        self.values[v] = x
        self.each.add(v)

    def _value(self, v: int) -> Any:
        """Return the value of a variable. Functions of the round's number are computed when they are read."""
        place = self.places.known.get(v)
        if place is not None and place.step and v not in self.values:
            self._set(v, _as(self._counted(place), self.types[v]))
        return self.values[v]

    def _of_all(self, v: int) -> Any:
        return expand(self.length, self._value(v), v in self.each)

    # Elements

    def _taken(self, x: Any, box: Sequence[Along], axis: int | None) -> Any:
        """Return the elements that rounds take of an array, with the rounds along the first axis."""
        axes, places, cuts = self._index(box, x.shape)
        part = x
        if axes:
            part = IndexedSlice(tuple(axes), *zip(*cuts, strict=True))(x, *places)
        elif cuts != [(0, n, 1) for n in x.shape]:
            part = Slice(*zip(*cuts, strict=True))(x)
        if axis is None:
            return part
        at = axis - sum(a < axis for a in axes)
        along = box[axis]
        assert isinstance(along, Place)
        return move_axis(Reverse((at,))(part) if along.step < 0 else part, at, 0)

    def _put(self, x: Any, box: Sequence[Along], axis: int | None, part: Any) -> Any:
        """Return an array with elements of all rounds put where `_taken` takes them."""
        axes, places, cuts = self._index(box, x.shape)
        if axis is not None:
            part = move_axis(part, 0, axis - sum(a < axis for a in axes))
        if axes:
            return IndexedUpdate(tuple(axes), *zip(*cuts, strict=True))(x, part, *places)
        if cuts == [(0, n, 1) for n in x.shape]:
            return part
        return UpdateSlice(*zip(*cuts, strict=True))(x, part)

    def _index(
        self, box: Sequence[Along], shape: Sequence[int]
    ) -> tuple[list[int], list[Any], list[tuple[int, int, int]]]:
        """Return the axes at integers, the integers, and the cut along each axis."""
        axes, places, cuts = [], [], []
        for axis, (along, n) in enumerate(zip(box, shape, strict=True)):
            cut = (0, n, 1)
            if isinstance(along, Cut):
                cut = along.start, along.stop, along.step
            elif isinstance(along, Place) and along.step:
                last = along.first + along.step * (self.length - 1)
                low, high = sorted((along.first, last))
                cut = (low, high + 1, abs(along.step))
            else:
                axes.append(axis)
                places.append(
                    np.int64(along.first)
                    if isinstance(along, Place)
                    else self._value(along.variable)
                )
            cuts.append(cut)
        return axes, places, cuts

    def _within(self, access: Access, plan: Rows) -> Any:
        """Return the elements that a round reads of its own, or its own after it has written to some."""
        rows = self.values[access.x]
        updates = None if access.updates is None else self._value(access.updates)
        if updates is not None:
            updates = expand(self.length, updates, access.updates in self.each)
        rest = [
            (x, n)
            for a, (x, own, n) in enumerate(
                zip(access.along, plan.box, self.types[access.x].shape, strict=True)
            )
            if a != plan.axis and not (x == own and not isinstance(own, Cut))
            # An axis that all take whole, or by the same cut, is there as it is.
        ]
        kept = [own for a, own in enumerate(plan.box) if a != plan.axis and isinstance(own, Cut)]
        along = [
            Cut(0, len(range(*own)), 1) if x == own else x
            for (x, _), own in zip(rest, kept, strict=True)
        ]
        whole = all(
            isinstance(x, Cut) and x == Cut(0, n, 1)
            for x, n in zip(along, rows.shape[1:], strict=True)
        )
        if whole:
            if updates is None:
                return rows
            return updates if access.kind == "set" else add(rows, updates)
        cuts = [
            x if isinstance(x, Cut) else Cut(0, n, 1)
            for x, n in zip(along, rows.shape[1:], strict=True)
        ]
        axes = tuple([a for a, x in enumerate(along) if not isinstance(x, Cut)])
        places, flags = [], []
        for x in along:
            if isinstance(x, Place):
                places.append(self._counted(x))
                flags.append(bool(x.step))
            elif isinstance(x, At):
                places.append(self._value(x.variable))
                flags.append(x.variable in self.each)
        bounds = tuple(zip(*cuts, strict=True))
        if updates is None:
            return IndexedSlice(axes, *bounds).batch(self.length, (True, *flags), rows, *places)
        update = IndexedUpdate(axes, *bounds, access.kind)
        return update.batch(self.length, (True, True, *flags), rows, updates, *places)

    def _counted(self, place: Place) -> Any:
        if not place.step:
            return np.int64(place.first)
        numbers = counting((self.length,), 0, *self.near)
        first, step = [constant_like(numbers, n) for n in place]
        return add(mul(numbers, step), first)

    # Carries at the end

    def _carry(self, v: int, out: int, begun: Any) -> Any:
        plan = self.plans.get(v)
        if plan is None:
            return begun
        if isinstance(plan, Rows):
            return self._put(begun, plan.box, plan.axis, self._of_all(out))
        if isinstance(plan, Last):
            x = self._value(plan.variable)
            last = index_axis(x, 0, self.length - 1) if plan.variable in self.each else x
            return last if plan.box is None else self._put(begun, plan.box, None, last)
        total = begun if plan.box is None else self._taken(begun, plan.box, None)
        for term, negative in reversed(plan.terms):
            total = (sub if negative else add)(total, self._sum(term, total))
        return total if plan.box is None else self._put(begun, plan.box, None, total)

    def _split(self, term: int) -> list[tuple[int, tuple[int, ...]]] | None:
        """Return the factors of a product before they are repeated along axes, and their axes; None of others."""
        equation = self.made.get(term)
        kind = self.types[term].dtype.kind
        if (
            equation is None
            or equation.primitive is not mul
            or self.uses[term] != 1
            or kind not in "fc"
        ):
            return None
        factors = []
        for v in equation.inputs:
            axes = tuple(range(self.types[v].ndim))
            of = self.made.get(v)
            if of is not None and isinstance(of.primitive, Broadcast):
                v, axes = of.inputs[0], tuple([a for a in axes if a not in of.primitive.axes])
            if v not in self.varying:
                return None
            factors.append((v, axes))
        return factors

    def _factors(self, term: int) -> list[int]:
        """Return the variables that the sum of a term needs."""
        factors = self._split(term)
        return [term] if factors is None else [v for v, _ in factors]

    def _sum(self, term: int, total: Any) -> Any:
        """Return the sum of a term over all rounds."""
        factors = self._split(term)
        if factors is None:
            x = self._value(term)
            if term in self.each:
                return _as(ReduceSum((0,))(x), self.types[term])
            return mul(x, constant_like(x, self.length))
        (v, axes), (w, others) = factors
        x, y = self._of_all(v), self._of_all(w)
        shape = self.types[term].shape
        if shape and axes == others:
            return ReduceSum((0,))(mul(x, y))
        kept = sorted({*axes, *others})
        product = contract(x, [-1, *axes], y, [-1, *others], kept)
        repeated = tuple([a for a in range(len(shape)) if a not in kept])
        return Broadcast(shape, repeated)(product) if repeated else product


def _as(x: Any, type_: ArrayType) -> Any:
    """Return an array with the dtype of a type."""
    return x if x.dtype == type_.dtype else Cast(type_.dtype)(x)
