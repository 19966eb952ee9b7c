"""Writing reductions along a row as LLVM's assembly: vectors that accumulate, and totals of blocks."""

from __future__ import annotations

import functools
from typing import Any

from fungrad.compile.emit.assembly import Assembly
from fungrad.compile.emit.llvm_prelude import Table
from fungrad.compile.emit.traced import Around, Code, Ptr, Value, Variable, definition
from fungrad.compile.emit.types import identity, scalar_type, splat, vector_type
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.operations import DType, Node


class Reductions(Assembly):
    """The lines of a function that reduces rows of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.kernel = kernel
        self.sums: dict[int, str] = {}  # by reduction: the vector that it is accumulated in
        self.lanes: dict[int, int] = {}  # and how long that is
        self.totals: dict[int, tuple[str, str | None]] = {}  # and the total; sums in pairs count

    def begin(self, number: int, lanes: int, at_once: bool) -> None:
        """Allocate and fill a reduction's accumulators: a vector, and the total of the vectors of blocks."""
        node = self.kernel.nodes[number]
        dtype, one = node.dtype, scalar_type(node.dtype)
        first = identity(node.operation, dtype)
        self.sums[number] = self.allocate(vector_type(dtype, lanes))
        self.lanes[number] = lanes
        self._fill(self.sums[number], first, dtype, lanes)
        if at_once or node.operation != "reduce_sum" or dtype.kind != "f":
            self.totals[number] = self.allocate(one), None
            self._fill(self.totals[number][0], first, dtype, 1)
        else:
            count = self.allocate("i64")
            self.totals[number] = self.allocate(f"[64 x {one}]"), count
            self.do(f"store i64 0, ptr {count}")

    def _fill(self, place: str, value: Any, dtype: DType, lanes: int) -> None:
        self.do(f"store {vector_type(dtype, lanes)} {splat(value, dtype, lanes)}, ptr {place}")

    def accumulate(self, number: int, value: str, lanes: int, skipped: int) -> None:
        node, place = self.kernel.nodes[number], self.sums[number]
        type_ = vector_type(node.dtype, lanes)
        if skipped:
            mask = ", ".join(
                [f"i1 {'false' if lane < skipped else 'true'}" for lane in range(lanes)]
            )
            first = splat(identity(node.operation, node.dtype), node.dtype, lanes)
            value = self.emit(f"select <{lanes} x i1> <{mask}>, {type_} {value}, {type_} {first}")
        if lanes < self.lanes[number]:
            value = self._widened(node, value, lanes, self.lanes[number])
            lanes = self.lanes[number]
            type_ = vector_type(node.dtype, lanes)
        before = self.emit(f"load {type_}, ptr {place}")
        self.do(f"store {type_} {self.combined(node, before, value, lanes)}, ptr {place}")

    def _widened(self, node: Node, value: str, lanes: int, wide: int) -> str:
        """Return a vector with further lanes of the reduction's identity."""
        dtype, one = node.dtype, scalar_type(node.dtype)
        first = identity(node.operation, dtype)
        if lanes == 1:
            others = f"{vector_type(dtype, wide)} {splat(first, dtype, wide)}"
            return self.emit(f"insertelement {others}, {one} {value}, i64 0")
        type_ = vector_type(dtype, lanes)
        mask = ", ".join([f"i32 {min(k, lanes)}" for k in range(wide)])
        others = f"{type_} {splat(first, dtype, lanes)}"
        return self.emit(f"shufflevector {type_} {value}, {others}, <{wide} x i32> <{mask}>")

    def push(self, sums: list[int], lanes: int) -> None:
        """Add the vectors of a block to the totals, and empty them."""
        for number in sums:
            node, place = self.kernel.nodes[number], self.sums[number]
            dtype = node.dtype
            one = scalar_type(dtype)
            vector = self.emit(f"load {vector_type(dtype, lanes)}, ptr {place}")
            self._fill(place, identity(node.operation, dtype), dtype, lanes)
            value = self.across(node, vector, lanes)
            total, count = self.totals[number]
            if count is not None:
                self.do(f"call void @push_{one}(ptr {total}, ptr {count}, {one} {value})")
            else:
                before = self.emit(f"load {one}, ptr {total}")
                self.do(f"store {one} {self.combined(node, before, value, 1)}, ptr {total}")

    def reduced(self, number: int, node: Node) -> str:
        one = scalar_type(node.dtype)
        total, count = self.totals[number]
        if count is not None:
            return self.emit(f"call {one} @total_{one}(ptr {total}, ptr {count}, {one} -0.0)")
        return self.emit(f"load {one}, ptr {total}")


def _push(to: Code, stack: Ptr, count: Ptr, value: Value) -> None:
    """Add a number in pairs, as a binary counter carries."""
    all_ = count.load("i64")
    left, sum_, place = Variable(all_), Variable(value), Variable(stack)
    with to.repeated() as leave:
        with to.when((left.get() & 1) == 0):
            leave()
        held = place.get().load(value.type)
        sum_.set(held.operate("fadd", sum_.get()))
        left.set(left.get() >> 1)
        place.set(place.get().at(1, value.type))
    place.get().store(sum_.get())
    count.store(all_ + 1)


def _total(to: Code, stack: Ptr, count: Ptr, first: Value) -> Value:
    """Return the sum of the numbers on the stack, to which those belong that are bits of the count."""
    left, sum_, place = Variable(count.load("i64")), Variable(first), Variable(stack)
    with to.repeated() as leave:
        with to.when(left.get() == 0):
            leave()
        before = sum_.get()
        added = place.get().load(first.type).operate("fadd", before)
        sum_.set(to.select((left.get() & 1) != 0, added, before))
        left.set(left.get() >> 1)
        place.set(place.get().at(1, first.type))
    return sum_.get()


@functools.cache
def sums_assembly(one: str) -> str:
    """Return the functions that add numbers in pairs and give the total."""
    around = Around(Table())
    push = definition(_push, around, "alwaysinline", f"push_{one}", ["void", "ptr", "ptr", one])
    total = definition(_total, around, "alwaysinline", f"total_{one}", [one, "ptr", "ptr", one])
    return push[0] + total[0]
