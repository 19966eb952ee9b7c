"""Interface of the function that rules of primitives write into."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

import numpy as np

from fungrad.compile.emit.places import Place, Places
from fungrad.compile.kernels.kernel import Kernel
from fungrad.core.types import ArrayType

I64 = np.dtype(np.int64)


def outside(name: str) -> str:
    """Return the name in assembly of a function that is called through the table."""
    return name.replace(" ", ".")


class Function(Places):
    """The lines of a function that may end before its time."""

    def __init__(self, called: str) -> None:
        super().__init__(called)
        self.outer: set[str] = set()  # functions of `SIGNATURES` that are called
        self.proven = (
            False  # whether the indices of the step that is written are inside of its array
        )

    def lapack(self, name: str, pointers: Sequence[str]) -> None:
        """Call a function of LAPACK."""
        self.outside(f"lapack {name}", ", ".join([f"ptr {x}" for x in pointers]))

    def outside(self, name: str, given: str) -> None:
        """Call a function of `SIGNATURES` that returns nothing."""
        self.outer.add(name)
        self.do(f"call void @{outside(name)}({given})")

    def fail_if(self, condition: str, code: str = "1") -> None:
        """End, if something holds."""
        raise NotImplementedError

    def kernel(self, kernel: Kernel, operands: Sequence[Place], targets: Targets) -> list[Place]:
        """Run a kernel on operands in place."""
        raise NotImplementedError

    @contextlib.contextmanager
    def in_parts(self, count: int) -> Iterator[str]:
        """Run the code added in the block for each of so many parts, which threads may share."""
        with self.in_spans(count) as (first, last), self.loop(last, first) as part:
            yield part

    def rounds(self, count: int, unrolled: int) -> Iterator[str]:
        """Yield each index below a number; if there are many, the one symbolic index of a loop."""
        if count <= unrolled:
            yield from map(str, range(count))
        else:
            with self.loop(count) as index:
                yield index

    def in_spans(self, count: int) -> AbstractContextManager[tuple[str, str]]:
        """Run the code added in the block for the parts of a thread: from a first up to a last."""
        return contextlib.nullcontext(("0", str(count)))

    def within(self, index: str, length: int) -> str:
        """Return an index counted from the end if it is negative; fail if it is out of range."""
        if self.proven:
            return index
        negative = self.emit(f"icmp slt i64 {index}, 0")
        shifted = self.emit(f"add i64 {index}, {length}")
        wrapped = self.emit(f"select i1 {negative}, i64 {shifted}, i64 {index}")
        self.fail_if(self.emit(f"icmp uge i64 {wrapped}, {length}"))
        return wrapped

    def clamped(self, index: str, limit: int) -> str:
        """Return an index moved into the range from 0 to a limit."""
        low = self.intrinsic("smax", I64, [index, "0"], 1)
        return self.intrinsic("smin", I64, [low, str(limit)], 1)


class Targets:
    """Where the results of a primitive go: room that is made when somebody asks for it."""

    def __init__(self, places: Places, types: Sequence[ArrayType], wanted: Sequence[Place | None]):
        self.places = places
        self.types = types
        self.wanted = list(wanted)

    def __getitem__(self, k: int) -> Place:
        place = self.wanted[k]
        if place is None:
            place = self.wanted[k] = self.places.new(self.types[k])
        return place
