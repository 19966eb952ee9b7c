"""The equations of a loop's body, run for all rounds at once.

Loops within make each of their rounds for all rounds of the outer one (loop interchange and vectorization; see e.g. Allen and
Kennedy, Optimizing Compilers for Modern Architectures, 2001, chapter 5).

Design: docs/design/42-rounds-at-once.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core.expr import Equation
from fungrad.core.location import locate
from fungrad.core.trace import rebind, record_expr
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import contract
from fungrad.primitives.elementwise import Cast, add, mul
from fungrad.primitives.indexed import IndexedSlice, IndexedUpdate
from fungrad.primitives.indexing import UpdateSlice
from fungrad.primitives.shaping import (
    Broadcast,
    ReduceSum,
    constant_like,
    counting,
    expand,
    move_axis,
)
from fungrad.primitives.slices import Reverse, Slice
from fungrad.programs.closing import Values
from fungrad.programs.loops.accesses import Access, Along, At, Cut, Dependent, Place
from fungrad.programs.loops.counted import Counted, counted
from fungrad.programs.loops.levels import Inner, Level, operands_of, step_of
from fungrad.programs.loops.plans import InPlace, Plan, Rows, is_fixed
from fungrad.programs.loops.scan import Scan, scan_of

__all__ = ["Body", "as_type"]


class Body:
    """The values of one level's variables. Those of `each` have a first axis for the rounds."""

    def __init__(self, level: Level, plans: Mapping[int, Plan], most: int, near: Values) -> None:
        self.level, self.plans, self.most, self.near = level, plans, most, near
        self.types, self.length, self.places = level.types, level.length, level.places
        self.accesses, self.version = level.accesses, level.version
        self.made, self.uses, self.varying = level.made, level.uses, level.varying
        self.values: dict[int, Any] = dict(level.expr.constants)
        self.values |= zip(level.expr.inputs, near, strict=True)
        self.each: set[int] = set()

    def compute(self, equation: Equation) -> None:
        """Compute the results of an equation for all rounds."""
        primitive, inputs, outputs = equation
        if isinstance(primitive, (Counted, Scan)):
            self._run_loop(primitive, equation)
            return
        access = self.accesses.get(outputs[0]) if outputs else None
        if access is not None:
            plan = self.plans.get(self.version.get(access.x, -1))
            if isinstance(plan, InPlace):
                self._touch(outputs[0], access, plan.axis)
                return
            if plan is not None:
                assert isinstance(plan, Rows)
                self._set(outputs[0], self._within(access, plan))
                return
            if access.updates is None and self._is_taken_evenly(access):
                taken = self._taken(self.values[access.x], access.along, access.moving[0])
                self._set(outputs[0], taken)
                return
        ins = [self._value(v) for v in inputs]
        flags = tuple([v in self.each for v in inputs])
        if not any(flags):
            results = primitive.as_sequence(rebind(primitive, ins, None))
            self.values |= zip(outputs, results, strict=True)
            return
        results = primitive.as_sequence(primitive.batch(self.length, flags, *ins))
        for v, x in zip(outputs, results, strict=True):
            self._set(v, x)

    def _touch(self, out: int, access: Access, axis: int | None) -> None:
        """Touch the elements of all rounds in an array that stays whole."""
        x, along = self.values[access.x], access.along
        if access.updates is None:
            self._set(out, self._taken(x, along, axis))
        elif axis is None:
            self.values[out] = self._put(x, along, None, self._sum(access.updates), "add")
        else:
            part = self._of_all(access.updates)
            self.values[out] = self._put(x, along, axis, part, access.kind)

    # Loops within

    def _run_loop(self, loop: Inner, equation: Equation) -> None:
        """Run a loop within: each of its rounds for all rounds of the outer one."""
        _, inputs, outputs = equation
        level = self.level.within[outputs[0]]
        _, consts, carries = step_of(loop)
        variables, given = level.expr.inputs, operands_of(loop, inputs)
        operands, each = [], []
        for i, w in enumerate(given):
            x = self._value(w)
            flag = w in self.each
            if i in carries:
                kept = flag
                flag = variables[i] in level.varying and variables[i] not in level.version
                x = expand(self.length, x, kept) if flag else x
            elif flag and i >= carries.stop:
                x = move_axis(x, 0, 1)
            operands.append(x)
            each.append(flag)
        each += [False] * (len(variables) - len(given))
        program, results_of_each = self._step(level, each, carries)
        if isinstance(loop, Counted):
            count, start = self._value(inputs[0]), self._value(inputs[1 + len(consts)])
            of_rounds = counted(program, len(consts), loop.length)
            b = len(consts)
            results = of_rounds(count, *operands[:b], start, *operands[b:])
            results_of_each = [False, *results_of_each]
        else:
            of_rows = scan_of(program, loop.counts, loop.length, loop.reverse, loop.tangent)
            results = of_rows(*operands)
        stacked = len(outputs) if isinstance(loop, Counted) else len(carries)
        for i, (v, x, flag) in enumerate(zip(outputs, results, results_of_each, strict=True)):
            if flag:
                self._set(v, x if i < stacked else move_axis(x, 1, 0))
            else:
                self.values[v] = x

    def _step(
        self, level: Level, each: Sequence[bool], carries: range
    ) -> tuple[Program, list[bool]]:
        """Return a round of a loop within, for all rounds, and whether each result has an axis for these."""
        expr, flags = level.expr, list[bool]()

        def run(*arguments: Any) -> list[Any]:
            body = Body(level, self.plans, self.most, arguments)
            body.each.update([v for v, flag in zip(expr.inputs, each, strict=True) if flag])
            for equation, source in expr.located():
                locate(source)
                body.compute(equation)
            results = []
            for i, v in enumerate(expr.outputs):
                flag = each[carries.start + i] if i < len(carries) else v in body.each
                x = body._of_all(v) if flag else body._value(v)
                results.append(as_type(x, expr.types[v]))
                flags.append(flag)
            return results

        types = [
            t.update(shape=(self.length, *t.shape)) if flag else t
            for t, flag in zip(expr.input_types, each, strict=True)
        ]
        return Program(record_expr("loop", run, types)), flags

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
            self._set(v, as_type(self._counted(place), self.types[v]))
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

    def _put(
        self, x: Any, box: Sequence[Along], axis: int | None, part: Any, kind: str = "set"
    ) -> Any:
        """Return an array with elements of all rounds put, or added, where `_taken` takes them."""
        axes, places, cuts = self._index(box, x.shape)
        if axis is not None:
            part = move_axis(part, 0, axis - sum(a < axis for a in axes))
        if axes:
            return IndexedUpdate(tuple(axes), *zip(*cuts, strict=True), kind)(x, part, *places)
        if cuts == [(0, n, 1) for n in x.shape]:
            return part if kind == "set" else add(x, part)
        return UpdateSlice(*zip(*cuts, strict=True), kind)(x, part)

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

    # Sums

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

    def _sum(self, term: int) -> Any:
        """Return the sum of a term over all rounds."""
        factors = self._split(term)
        if factors is None:
            x = self._value(term)
            if term in self.each:
                return as_type(ReduceSum((0,))(x), self.types[term])
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


def as_type(x: Any, type_: ArrayType) -> Any:
    """Return an array with the dtype of a type."""
    return x if x.dtype == type_.dtype else Cast(type_.dtype)(x)
