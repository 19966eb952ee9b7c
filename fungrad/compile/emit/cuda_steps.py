"""Steps that are no kernels, as CUDA's C for one block: views, copies, products, small systems."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.emit.cuda_systems import LARGEST
from fungrad.compile.emit.cuda_types import c_type
from fungrad.compile.emit.places import Unsupported
from fungrad.compile.kernels.access import in_order, view_of
from fungrad.compile.kernels.operations import DTYPES, F4, F8, DType
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, Shape
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.decompositions import Cholesky
from fungrad.primitives.determinants import Det, Slogdet
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from fungrad.primitives.indexing import UpdateSlice
from fungrad.primitives.joins import Concatenate, Stack
from fungrad.primitives.linalg import Inv, Solve, TriangularSolve
from fungrad.primitives.slices import Pad
from fungrad.primitives.stacks import TakenAsHermitian

ALIGNED = 16
"""Alignment of arrays, in bytes: the size of the largest element."""


class Place(NamedTuple):
    """An array: the address of its first element in C, strides in elements, and its memory."""

    pointer: str
    type: ArrayType
    strides: tuple[int, ...]
    memory: int

    @property
    def is_in_order(self) -> bool:
        """Whether it lies in C order."""
        given = zip(self.type.shape, self.strides, in_order(self.type.shape), strict=True)
        return all(n == 1 or apart == wanted for n, apart, wanted in given)


def seen(x: Place, view: Callable[[Any], Any]) -> Place:
    """Return the view that a function of NumPy's, which rearranges elements, gives of an array.

    Raises
    ------
    Unsupported
        If that is no view, such as a reshape of what is transposed.
    """
    found = view_of(x.type.shape, x.strides, view)
    if found is None:
        raise Unsupported("a rearrangement that is no view")
    first, shape, strides = found
    pointer = f"({x.pointer} + {first})" if first else x.pointer
    return Place(pointer, x.type.update(shape=shape), strides, x.memory)


class Steps:
    """The lines of a function of one block, as far as they have come."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.lines: list[str] = []
        self.allocations: list[str] = []
        self.filling: list[str] = []
        """Lines that fill constants."""
        self.depth = 1
        self.room = 0  # bytes of arrays
        self.sizes: dict[int, tuple[int, int]] = {}
        """Offset and size of memory."""
        self.spare: dict[int, list[int]] = {}
        """Memory that is free again, by its size."""
        self.frames: list[set[int]] = [set()]
        """Memory that the schedules that are being written have taken."""
        self.numbers = itertools.count()
        self.writing: set[int] = set()  # memory, since all threads waited for each other
        self.reading: set[int] = set()

    # Lines

    def fresh(self, what: str) -> str:
        """Return a name that is not used so far."""
        return f"{what}{next(self.numbers)}"

    def do(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    @contextlib.contextmanager
    def scope(self, head: str = "") -> Iterator[None]:
        """Write lines within braces."""
        self.do(f"{head} {{".lstrip())
        self.depth += 1
        yield
        self.depth -= 1
        self.do("}")

    def wait(self) -> None:
        """Have all threads wait for each other, if one has read or written anything since they did."""
        if self.writing or self.reading:
            self.do("__syncthreads();")
        self.writing, self.reading = set(), set()

    def reads(self, *places: Place) -> None:
        """Have threads wait, if others may be writing to arrays that are to be read."""
        memory = {x.memory for x in places}
        if not memory.isdisjoint(self.writing):
            self.wait()
        self.reading |= memory

    @contextlib.contextmanager
    def step(self, read: Sequence[Place], written: Sequence[Place]) -> Iterator[None]:
        """Write the lines of a step that reads arrays, and fills others."""
        memory = {x.memory for x in written}
        busy = self.writing | (self.reading & memory)
        if not busy.isdisjoint(memory.union([x.memory for x in read])):
            self.wait()
        self.reading.update([x.memory for x in read])
        self.writing |= memory
        with self.scope():
            yield

    @contextlib.contextmanager
    def elements(self, shape: Shape) -> Iterator[list[str]]:
        """Write a loop of the threads over the elements of a shape; give the places along its axes."""
        size = math.prod(shape)
        with self.scope(f"for (int i = threadIdx.x; i < {size}; i += {self.threads})"):
            names, rest = [], "i"
            for axis in reversed(range(len(shape))):
                outer = math.prod(shape[:axis])
                last = f"{rest} % {shape[axis]}" if outer > 1 else rest
                name = self.fresh("j") if shape[axis] > 1 else "0"
                if shape[axis] > 1:
                    self.do(f"const int {name} = {last};")
                    rest = f"{rest} / {shape[axis]}"
                names.append(name)
            yield names[::-1]

    # Arrays

    def allocate(self, nbytes: int) -> int:
        """Return new memory."""
        memory, size = next(self.numbers), -(-nbytes // ALIGNED) * ALIGNED
        self.sizes[memory] = self.room, size
        self.room += size
        return memory

    def release(self, held: Iterable[Place]) -> None:
        """Free the memory that the schedule at hand has taken, but for arrays that it holds."""
        gone = self.frames[-1].difference([x.memory for x in held])
        self.frames[-1] -= gone
        for memory in sorted(gone):
            self.spare.setdefault(self.sizes[memory][1], []).append(memory)

    def given(self, name: str, type_: ArrayType, memory: int | None = None) -> Place:
        """Return an array in C order that there is already."""
        if type_.dtype not in DTYPES or not type_.size:
            raise Unsupported(f"{type_} for one block")
        memory = next(self.numbers) if memory is None else memory
        return Place(name, type_, in_order(type_.shape), memory)

    def new(self, type_: ArrayType, kept: bool = False) -> Place:
        """Return a new array; if it is `kept`, in memory that no other has."""
        spare = self.spare.get(-(-type_.nbytes // ALIGNED) * ALIGNED)
        memory = self.allocate(type_.nbytes) if kept or not spare else spare.pop()
        if not kept:
            self.frames[-1].add(memory)
        made = self.given(self.fresh("p"), type_, memory)
        of, (offset, _) = c_type(type_.dtype), self.sizes[memory]
        self.allocations.append(f"  {of}* {made.pointer} = ({of}*)((char*)scratch + {offset});")
        return made

    def row(self, x: Place, place: str) -> Place:
        """Return a row of an array."""
        pointer = f"({x.pointer} + {place} * {x.strides[0]})"
        return Place(pointer, x.type.update(shape=x.type.shape[1:]), x.strides[1:], x.memory)

    def move(self, target: Place, source: Place, by: str = "=") -> None:
        """Copy the elements of one array to another, or add them by `+=`; NumPy's broadcasts hold."""
        if target == source:
            return
        if source.type.shape != target.type.shape:
            source = seen(source, lambda array: np.broadcast_to(array, target.type.shape))
        with self.step([source], [target]), self.elements(target.type.shape) as at:
            self.do(f"{element(target, at)} {by} {element(source, at)};")

    def copy(self, x: Place) -> Place:
        """Return a new array in C order that is equal to another."""
        made = self.new(x.type)
        self.move(made, x)
        return made

    def ordered(self, x: Place) -> Place:
        """Return an array of these elements that lies in C order."""
        return x if x.is_in_order else self.copy(x)

    # Primitives

    def costs(self, work: int, size: int) -> None:
        """Count a step of so many operations on so many elements."""

    def computed(
        self, primitive: Primitive, operands: Sequence[Place], types: Sequence[ArrayType]
    ) -> list[Place]:
        """Write the computation of a primitive; return the results."""
        if isinstance(primitive, TakenAsHermitian):
            return [*operands]
        if primitive.rearranges and types[0].dtype == operands[0].type.dtype:
            (x,) = operands
            try:
                return [seen(x, lambda array: primitive.impl(np, array))]
            except Unsupported:
                return [seen(self.copy(x), lambda array: primitive.impl(np, array))]
        if isinstance(primitive, DynamicSlice):
            x, *starts = operands
            return [self._taken(primitive, x, starts)]
        if isinstance(primitive, UPDATES):
            return [self.updated(primitive, self.copy(operands[0]), *operands[1:])]
        if isinstance(primitive, Pad):
            return [self._padded(primitive, operands[0], operands[1], types[0])]
        if isinstance(primitive, (Stack, Concatenate)):
            return [self._joined(primitive, operands, types[0])]
        if isinstance(primitive, DotGeneral):
            return [self._product(primitive, operands[0], operands[1], types[0])]
        if type(primitive) in SYSTEMS:
            return self._systems(primitive, operands, types)
        raise Unsupported(f"{primitive} for one block")

    def updated(self, primitive: Primitive, x: Place, *others: Place) -> Place:
        """Write an update of some elements of an array."""
        adds = isinstance(primitive, UPDATES) and primitive.kind == "add" and is_plain(x.type.dtype)
        if not isinstance(primitive, UPDATES) or not (adds or primitive.kind == "set"):
            raise Unsupported(f"{primitive} for one block")
        update, *starts = others
        region = primitive.region
        if isinstance(region, DynamicSlice):
            part = self._taken(region, x, starts)
        else:
            part = seen(x, lambda array: region.impl(np, array))
        self.move(part, update, "+=" if adds else "=")
        return x

    def _padded(self, pad: Pad, x: Place, value: Place, type_: ArrayType) -> Place:
        if value.type.ndim or min((*pad.low, *pad.high), default=0) < 0:
            raise Unsupported(f"{pad} for one block")
        out = self.new(type_)
        self.move(out, value)
        index: list[int | slice] = []
        for a, (low, high, interior) in enumerate(
            zip(pad.low, pad.high, pad.interior, strict=True)
        ):
            end = type_.shape[a] - high
            index.append(low if a in pad.dropped else slice(low, end, interior + 1))
        self.move(seen(out, operator.itemgetter(tuple(index))), x)
        return out

    def _taken(self, slice_: DynamicSlice, x: Place, starts: Sequence[Place]) -> Place:
        """Return the view of a part of an array from starts that are on the device."""
        self.reads(*starts)
        offset = []
        given = zip(slice_.axes, slice_.sizes, slice_.limits, starts, strict=True)
        for axis, size, limit, start in given:
            s = self.fresh("s")
            self.do(f"long long {s} = (long long)*{start.pointer};")
            if not slice_.within:
                self.do(f"if ({s} < 0) {s} += {size + limit};")
                self.do(f"{s} = {s} < 0 ? 0 : {s} > {limit} ? {limit} : {s};")
            offset.append(f"{s} * {x.strides[axis]}")
        name = self.fresh("p")
        self.do(
            f"{c_type(x.type.dtype)}* {name} = ({c_type(x.type.dtype)}*){x.pointer} + {' + '.join(offset) or 0};"
        )
        part = seen(x, lambda array: array[slice_.index_at(*[0] * len(starts))])
        return part._replace(pointer=name)

    def _joined(
        self, primitive: Stack | Concatenate, parts: Sequence[Place], type_: ArrayType
    ) -> Place:
        out, first = self.new(type_), 0
        before = (slice(None),) * primitive.axis
        for x in parts:
            one = isinstance(primitive, Stack)
            end = first + (1 if one else x.type.shape[primitive.axis])
            index = (*before, first if one else slice(first, end))
            self.move(seen(out, operator.itemgetter(index)), x)
            first = end
        return out

    def _product(self, primitive: DotGeneral, x: Place, y: Place, type_: ArrayType) -> Place:
        if not is_plain(type_.dtype):
            raise Unsupported(f"products of {type_.dtype} for one block")
        out, of = self.new(type_), c_type(type_.dtype)
        *of_operands, of_result = primitive.names(x.type.ndim, y.type.ndim)
        lengths = dict(
            zip(of_operands[0] + of_operands[1], x.type.shape + y.type.shape, strict=True)
        )
        summed = [x_name for x_name in of_operands[0] if x_name not in of_result]
        terms = math.prod([lengths[k] for k in summed])
        self.costs(2 * terms * type_.size, type_.size)
        with self.step([x, y], [out]), self.elements(type_.shape) as at:
            places = dict(zip(of_result, at, strict=True))
            places |= {k: f"k{n}" for n, k in enumerate(summed)}
            self.do(f"{of} sum = 0;")
            for k in summed:
                name = places[k]
                self.do(f"for (int {name} = 0; {name} < {lengths[k]}; {name}++)")
            factors = [
                element(z, [places[k] for k in names])
                for z, names in zip((x, y), of_operands, strict=True)
            ]
            self.do(f"  sum += {' * '.join(factors)};")
            self.do(f"{element(out, at)} = sum;")
        return out

    def _systems(
        self, primitive: Primitive, operands: Sequence[Place], types: Sequence[ArrayType]
    ) -> list[Place]:
        """Write a loop of the threads over the matrices of a stack."""
        a, *others = operands
        dtype, (*stack, _, n) = a.type.dtype, a.type.shape
        if dtype not in (F4, F8) or n > LARGEST or any(t.dtype != dtype for t in types):
            raise Unsupported(f"{primitive} of {a.type} for one block")
        count = math.prod(stack)
        own = self.ordered(a) if isinstance(primitive, TriangularSolve) else self.copy(a)
        results = [own] if isinstance(primitive, Cholesky) else [self.new(t) for t in types]
        if others:
            self.move(results[0], others[0])
        m = types[0].shape[-1] if types[0].ndim == a.type.ndim else 0
        self.costs(count * n * n * max(n // 3, m), count)
        given = {"a": f"{own.pointer} + i * {n * n}", "n": n, "m": m, "f": c_type(dtype)}
        given |= {"b": f"{results[0].pointer} + i * {n * m}"}
        given |= {f"o{k}": f"{x.pointer}[i]" for k, x in enumerate(results)}
        given |= {"flags": ""}
        if isinstance(primitive, TriangularSolve):
            given["flags"] = f"{int(primitive.lower)}, {int(primitive.unit_diagonal)}"
        loop = f"for (int i = threadIdx.x; i < {count}; i += {self.threads})"
        with self.step([own], [own, *results]), self.scope(loop):
            for line in SYSTEMS[type(primitive)]:
                self.do(line.format(**given))
        return results


_SOLVED = ["eliminated_{f}({a}, {b}, {n}, {m});", "substituted_{f}({a}, {b}, {n}, {m}, 0, 0);"]
SYSTEMS: dict[type[Primitive], list[str]] = {
    Solve: _SOLVED,
    Inv: ["for (int k = 0; k < {n} * {n}; k++) ({b})[k] = k % ({n} + 1) == 0;", *_SOLVED],
    TriangularSolve: ["substituted_{f}({a}, {b}, {n}, {m}, {flags});"],
    Cholesky: ["factored_{f}({a}, {n});"],
    Det: ["{o0} = product_{f}({a}, {n}, eliminated_{f}({a}, {a}, {n}, 0));"],
    Slogdet: ["sized_{f}({a}, {n}, eliminated_{f}({a}, {a}, {n}, 0), &{o0}, &{o1});"],
}
"""Lines of a thread for a matrix `a`, in place, and right-hand sides `b`."""


UPDATES = UpdateSlice, DynamicUpdateSlice
"""Primitives that write to a part of an array."""


def is_plain(dtype: DType) -> bool:
    """Whether C adds and multiplies numbers as NumPy does."""
    return dtype.kind in "iuf" and dtype.itemsize >= 4


def element(x: Place, at: Sequence[str]) -> str:
    """Return an element of an array in C."""
    terms = [f"{i} * {s}" for i, s in zip(at, x.strides, strict=True) if s and i != "0"]
    return f"{x.pointer}[{' + '.join(terms) or '0'}]"
