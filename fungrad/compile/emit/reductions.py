"""Writing reductions along a row as LLVM's assembly: vectors that accumulate, and totals of blocks."""

from __future__ import annotations

from typing import Any

from fungrad.compile.emit.assembly import Assembly
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
            return self.emit(f"call {one} @total_{one}(ptr {total}, ptr {count})")
        return self.emit(f"load {one}, ptr {total}")


def sums_assembly(one: str) -> str:
    """Return the functions that add numbers in pairs, as a binary counter carries, and give the total."""
    return f"""
define internal void @push_{one}(ptr %stack, ptr %count, {one} %value) alwaysinline {{
entry:
  %all = load i64, ptr %count
  br label %loop
loop:
  %left = phi i64 [ %all, %entry ], [ %rest, %carry ]
  %sum = phi {one} [ %value, %entry ], [ %next, %carry ]
  %depth = phi i64 [ 0, %entry ], [ %deeper, %carry ]
  %place = getelementptr {one}, ptr %stack, i64 %depth
  %bit = and i64 %left, 1
  %odd = icmp ne i64 %bit, 0
  br i1 %odd, label %carry, label %done
carry:
  %held = load {one}, ptr %place
  %next = fadd {one} %held, %sum
  %rest = lshr i64 %left, 1
  %deeper = add i64 %depth, 1
  br label %loop
done:
  store {one} %sum, ptr %place
  %more = add i64 %all, 1
  store i64 %more, ptr %count
  ret void
}}
define internal {one} @total_{one}(ptr %stack, ptr %count) alwaysinline {{
entry:
  %all = load i64, ptr %count
  br label %loop
loop:
  %left = phi i64 [ %all, %entry ], [ %rest, %next ]
  %sum = phi {one} [ -0.0, %entry ], [ %new, %next ]
  %depth = phi i64 [ 0, %entry ], [ %deeper, %next ]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %next, label %done
next:
  %place = getelementptr {one}, ptr %stack, i64 %depth
  %bit = and i64 %left, 1
  %odd = icmp ne i64 %bit, 0
  %held = load {one}, ptr %place
  %added = fadd {one} %held, %sum
  %new = select i1 %odd, {one} %added, {one} %sum
  %rest = lshr i64 %left, 1
  %deeper = add i64 %depth, 1
  br label %loop
done:
  ret {one} %sum
}}
"""
