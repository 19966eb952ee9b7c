"""Arrays in the memory of LLVM's functions: positions, views, and moves of elements."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.emit.assembly import Assembly
from fungrad.compile.emit.types import literal, scalar_type, splat, vector_type
from fungrad.compile.kernels.access import in_order
from fungrad.compile.kernels.bounds import Even, evenly
from fungrad.compile.kernels.operations import DType, NotScalar, computed_in
from fungrad.compile.kernels.scalar import Scalar, Scalars
from fungrad.compile.kernels.stored import Stored
from fungrad.compile.processor import VECTOR_BYTES
from fungrad.core.types import ArrayType, Shape

STACK = 1 << 15
"""Bytes of arrays that are on the stack; others are in memory that is allocated for the call."""
LARGEST_CONSTANT = 1 << 16
"""Bytes of a constant that is written into the program."""
LABELLED = 1 << 22
"""Elements up to which views are looked up."""


class Unsupported(Exception):
    """Something has no form in LLVM's assembly here: it is left to NumPy's functions."""


class Place(NamedTuple):
    """An array in memory: first element, distances of neighbours, and the memory it is in."""

    pointer: str
    type: ArrayType
    strides: tuple[int, ...]
    memory: str

    @property
    def is_in_order(self) -> bool:
        """Whether it lies in C order."""
        ordered = in_order(self.type.shape)
        lengths = self.type.shape
        return all(n == 1 or a == b for n, a, b in zip(lengths, self.strides, ordered, strict=True))


class Variable:
    """A number, or a vector of numbers, that changes, as a sum does."""

    def __init__(self, to: Assembly, dtype: DType, lanes: int = 1, first: str = "") -> None:
        self.to = to
        self.type = vector_type(dtype, lanes)
        self.pointer = to.allocate(self.type)
        self.set(first or splat(0, dtype, lanes))

    def get(self) -> str:
        return self.to.emit(f"load {self.type}, ptr {self.pointer}")

    def set(self, value: str) -> None:
        self.to.do(f"store {self.type} {value}, ptr {self.pointer}")


def _check(type_: ArrayType) -> None:
    """Raise for arrays that kernels do not compute with, and those without elements."""
    if computed_in(type_.dtype) is None or not type_.size:
        raise Unsupported(f"an array {type_}")


def _offsets(shape: Shape, strides: Sequence[int]) -> Any:
    """Return how many elements each place of an array is from the first one."""
    offsets: Any = np.zeros(shape, np.int64)
    for axis, step in enumerate(strides):
        others = (1,) * (len(shape) - axis - 1)
        offsets = offsets + step * np.arange(shape[axis]).reshape(-1, *others)
    return offsets


class Places(Assembly):
    """The lines of a function that works on arrays of known shapes."""

    def __init__(self, called: str) -> None:
        super().__init__()
        self.called = called
        self.definitions: list[str] = []  # beside the function
        self.stack = 0
        self.workspace = 0  # bytes of memory that is to be allocated
        self.counting: dict[str, Even] = {}  # by pointer, arrays of evenly spaced integers

    # Memory

    def new(self, type_: ArrayType) -> Place:
        """Return room for an array."""
        _check(type_)
        one = scalar_type(type_.dtype, True)
        size = type_.nbytes
        if not type_.shape:
            pointer = self.allocate(one)
        elif self.stack + size <= STACK:
            self.stack += size
            pointer = self.allocate(f"[{type_.size} x {one}]")
        else:
            pointer = self.name()
            start = f"getelementptr i8, ptr %workspace, i64 {self.workspace}"
            self.allocations.append(f"  {pointer} = {start}")
            self.workspace += -(-size // 64) * 64
        return Place(pointer, type_, in_order(type_.shape), pointer)

    def given(self, pointer: str, type_: ArrayType) -> Place:
        """Return an array in C order at an address."""
        _check(type_)
        return Place(pointer, type_, in_order(type_.shape), pointer)

    def number(self, value: Any, dtype: DType) -> Place:
        """Return a number that never changes."""
        return self.constant(np.asarray(value, dtype))

    def constant(self, value: Any) -> Place:
        """Return an array that never changes."""
        x, name = np.asarray(value), f"{self.called}.constant{len(self.definitions)}"
        if computed_in(x.dtype) is None or x.nbytes > LARGEST_CONSTANT:
            raise Unsupported(f"a constant of {x.nbytes} bytes of {x.dtype}")
        one = scalar_type(x.dtype, True)
        if x.dtype.kind == "b":
            x = x.view(np.uint8)
        numbers = ", ".join([f"{one} {literal(v, x.dtype)}" for v in x.reshape(-1)])
        text = numbers if not x.ndim else f"[{x.size} x {one}] [{numbers}]"
        self.definitions.append(f"@{name} = private constant {text}, align 64")
        type_ = ArrayType(x.shape, np.asarray(value).dtype)
        if (even := evenly(value)) is not None:
            self.counting[f"@{name}"] = even
        return Place(f"@{name}", type_, in_order(x.shape), f"@{name}")

    def part(self, place: Place, offset: str, shape: Shape, strides: tuple[int, ...]) -> Place:
        """Return some of the elements of an array, from that at an offset on."""
        _check(type_ := place.type.update(shape=shape))
        pointer = place.pointer
        if offset != "0":
            one = scalar_type(type_.dtype, True)
            pointer = self.emit(f"getelementptr {one}, ptr {pointer}, i64 {offset}")
        return Place(pointer, type_, strides, place.memory)

    def turned(self, place: Place, order: Sequence[int]) -> Place:
        """Return an array with its axes in another order."""
        shape = tuple([place.type.shape[a] for a in order])
        strides = tuple([place.strides[a] for a in order])
        return self.part(place, "0", shape, strides)

    def row(self, place: Place, index: str) -> Place:
        """Return the place of a row. A number that counts is computed, so that LLVM knows where it leads."""
        if (even := self.counting.get(place.pointer)) is not None:
            number = self.new(place.type.update(shape=()))
            self.store(number, self.offset([(index, even.step), ("1", even.first)]))
            return number
        offset = self.offset([(index, place.strides[0])])
        return self.part(place, offset, place.type.shape[1:], place.strides[1:])

    def viewed(self, place: Place, function: Callable[[Any], Any]) -> Place | None:
        """Return the place of a function that moves elements, if its result is a view; else None."""
        if place.type.size > LABELLED:
            raise Unsupported(f"a view of {place.type}")
        offsets = np.asarray(function(_offsets(place.type.shape, place.strides)))
        _check(place.type.update(shape=offsets.shape))
        first = offsets[(0,) * offsets.ndim]
        strides = [
            int(offsets[(0,) * axis + (1,) + (0,) * (offsets.ndim - axis - 1)] - first)
            if n > 1
            else 0
            for axis, n in enumerate(offsets.shape)
        ]
        if not np.array_equal(offsets, first + _offsets(offsets.shape, strides)):
            return None
        return self.part(place, str(int(first)), offsets.shape, tuple(strides))

    def copy(self, place: Place) -> Place:
        """Return an array of its own with these elements."""
        new = self.new(place.type)
        self.move(new, place)
        return new

    # Elements

    def at(self, place: Place, *indices: str, lanes: int = 1) -> str:
        """Return the element at some indices, or a vector from there on."""
        offset = self.offset(list(zip(indices, place.strides, strict=True)))
        return self.read(place.pointer, offset, place.type.dtype, lanes)

    def put(self, place: Place, value: str, *indices: str, lanes: int = 1) -> None:
        """Set the element at some indices, or a vector from there on."""
        offset = self.offset(list(zip(indices, place.strides, strict=True)))
        self.write(value, place.type.dtype, place.pointer, offset, lanes)

    def load(self, place: Place) -> str:
        """Return the element of an array without axes."""
        return self.read(place.pointer, "0", place.type.dtype)

    def store(self, place: Place, value: str) -> None:
        """Set the element of an array without axes."""
        self.write(value, place.type.dtype, place.pointer, "0")

    def integer(self, place: Place) -> str:
        """Return an integer without axes, as one of 64 bits."""
        return self.convert(self.load(place), place.type.dtype, np.dtype(np.int64), 1)

    # Moving elements

    def move(self, target: Place, source: Place, how: str = "set") -> None:
        """Set elements to others, of the same shape, or combine them by an operation of kernels."""
        shape, dtype = target.type.shape, target.type.dtype
        if how in ("add", "mul") and dtype.kind == "b":
            raise Unsupported(f"{how} of booleans")
        axes: list[tuple[int, int, int]] = []  # lengths and both strides
        for n, a, b in zip(shape, target.strides, source.strides, strict=True):
            if n == 1:
                continue
            if axes and (axes[-1][1], axes[-1][2]) == (a * n, b * n):
                axes[-1] = axes[-1][0] * n, a, b
            else:
                axes.append((n, a, b))
        *outer, (length, a, b) = axes or [(1, 1, 1)]
        with contextlib.ExitStack() as stack:
            indices = [stack.enter_context(self.loop(n)) for n, _, _ in outer]
            starts = [
                self.offset([(i, axis[k]) for i, axis in zip(indices, outer, strict=True)])
                for k in (1, 2)
            ]
            vectors = a == 1 and b in (0, 1)
            for i, lanes in self.along(length, VECTOR_BYTES // dtype.itemsize if vectors else 1):
                places = [
                    self.offset([(start, 1), (i, step)])
                    for start, step in zip(starts, (a, b), strict=True)
                ]
                value = self.read(source.pointer, places[1], dtype, lanes if b == 1 else 1)
                if b != 1:
                    value = self.spread(value, dtype, lanes)
                if how != "set":
                    before = self.read(target.pointer, places[0], dtype, lanes)
                    value = self.together(how, dtype, before, value, lanes)
                self.write(value, dtype, target.pointer, places[0], lanes)

    def together(self, how: str, dtype: DType, x: str, y: str, lanes: int) -> str:
        """Add an operation of two numbers, with the meaning of NumPy's function."""

        def function(s: Scalars, *operands: Scalar) -> Scalar:
            return s.arithmetic(how, *operands, kinds="biuf")

        return self.recorded(function, dtype, [x, y], lanes)

    def recorded(
        self, function: Callable[..., Scalar], dtype: DType, values: Sequence[str], lanes: int
    ) -> str:
        """Add a recorded function of numbers of one dtype."""
        scalars = Stored()
        operands = [scalars.node("load", dtype, value=k) for k in range(len(values))]
        try:
            result = function(scalars, *operands)
        except NotScalar as error:
            raise Unsupported(f"an operation of {dtype}") from error
        return self.all_of(scalars.nodes, values, lanes)[result.index]

    def identity(self, n: int, dtype: DType) -> Place:
        """Return the identity matrix of n rows."""
        matrix = self.new(ArrayType((n, n), dtype))
        self.fill(matrix, self.number(0, dtype))
        self.fill(self.part(matrix, "0", (n,), (n + 1,)), self.number(1, dtype))
        return matrix

    def blocks(self, length: int, size: int) -> Iterator[tuple[str, int]]:
        """Yield where blocks of `size` begin, then the smaller rest."""
        if length >= size:
            with self.loop(length // size) as i:
                yield self.offset([(i, size)]), size
        if rest := length % size:
            yield str(length - rest), rest

    def plus(self, index: str, number: int) -> str:
        """Return an index, and so many elements more."""
        return self.offset([(index, 1), (str(number), 1)]) if number else index

    def fill(self, target: Place, value: Place) -> None:
        """Set all elements to one number."""
        zeros = (0,) * target.type.ndim
        self.move(target, Place(value.pointer, target.type, zeros, value.memory))
