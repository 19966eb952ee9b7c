"""Convolutions within LLVM's functions, place by place, without patches or matrix products in memory.

Neighbouring places of the last axis lie in a vector, and some channels of the result share what is read: E. Georganas et al., "Anatomy of
high-performance deep learning convolutions on SIMD architectures", 2018.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from fungrad.compile.emit.function import Function, Targets
from fungrad.compile.emit.places import Place, Unsupported, Variable
from fungrad.compile.emit.types import splat
from fungrad.compile.kernels.operations import DType, Node
from fungrad.compile.processor import VECTOR_BYTES
from fungrad.core.types import ArrayType
from fungrad.primitives.convolution import Convolution

CHANNELS = 4
"""How many channels of the result are computed at once."""
VECTORS = 3
"""How many vectors of places, of each of them."""
MOST_TAPS = 11
"""Elements of the window along the last axis that are written without a loop."""


def has_form(primitive: Convolution, a: ArrayType, b: ArrayType) -> bool:
    """Whether a convolution has a form: of one group, with neighbours in a vector."""
    if primitive.gives == "x" or not primitive.stride or a.dtype.char not in "fd" or a.shape[0] > 1:
        return False
    if primitive.gives == "w":
        return {*primitive.stride} == {1} and primitive.lengths[-1] <= MOST_TAPS
    return primitive.stride[-1] == 1 and b.shape[-1] <= MOST_TAPS


def convolution(
    to: Function, primitive: Convolution, operands: Sequence[Place], targets: Targets
) -> Place:
    """Write the convolution of two arrays."""
    if not has_form(primitive, operands[0].type, operands[1].type):
        raise Unsupported(f"{primitive} of {operands[0].type} and {operands[1].type}")
    a, b = [_beside(to, _ungrouped(to, x)) for x in operands]
    out = _ungrouped(to, targets[0])
    if out.strides[-1] != 1:
        raise Unsupported(f"{primitive} with results apart")
    writer = _Convolution(to, primitive)
    if primitive.gives == "y":
        writer.places(a, to.turned(b, (1, 0, *range(2, b.type.ndim))), out)
    else:
        writer.weights(a, b, out)
    return targets[0]


def _ungrouped(to: Function, x: Place) -> Place:
    return to.part(x, "0", x.type.shape[1:], x.strides[1:])


def _beside(to: Function, x: Place) -> Place:
    """Return an array whose neighbours along the last axis lie beside each other."""
    return x if x.strides[-1] == 1 or x.type.shape[-1] == 1 else to.copy(x)


class _Convolution:
    def __init__(self, to: Function, primitive: Convolution) -> None:
        self.to = to
        self.stride = primitive.stride
        self.dilation = primitive.dilation

    def places(self, x: Place, w: Place, y: Place) -> None:
        """Compute y of x and of weights whose axes are summed channels, channels of y, window."""
        to, dtype = self.to, y.type.dtype
        lanes = VECTOR_BYTES // dtype.itemsize
        batch, channels, *lengths = y.type.shape
        with to.in_parts(batch) as n:
            for o, count in to.blocks(channels, CHANNELS):
                with contextlib.ExitStack() as entered:
                    rows = [entered.enter_context(to.loop(m)) for m in lengths[:-1]]
                    for j, vectors, wide in _vectors(to, lengths[-1], lanes):
                        self._tile(x, w, y, (n, o, (*rows, j)), (count, vectors, wide))

    def _tile(
        self, x: Place, w: Place, y: Place, at: Any, size: tuple[int, tuple[int, ...], int]
    ) -> None:
        to, dtype = self.to, y.type.dtype
        (n, o, places), (channels, vectors, lanes) = at, size
        keys = itertools.product(range(channels), vectors)
        sums = {key: Variable(to, dtype, lanes) for key in keys}
        steps = [s * d for s, d in zip(x.strides[2:], self.stride, strict=True)]
        with to.loop(w.type.shape[0]) as c, contextlib.ExitStack() as entered:
            window = [entered.enter_context(to.loop(m)) for m in w.type.shape[2:-1]]
            taps = [s * d for s, d in zip(x.strides[2:], self.dilation, strict=True)]
            start = to.offset(
                [
                    *zip((n, c, *places), (*x.strides[:2], *steps), strict=True),
                    *zip(window, taps, strict=False),
                ]
            )
            weight = to.offset([*zip((c, o, *window), w.strides, strict=False)])
            for k in range(w.type.shape[-1]):
                right = [
                    to.read(x.pointer, to.plus(start, k * taps[-1] + v), dtype, lanes)
                    for v in vectors
                ]
                for i in range(channels):
                    offset = to.plus(weight, k * w.strides[-1] + i * w.strides[1])
                    left = to.spread(to.read(w.pointer, offset, dtype), dtype, lanes)
                    for v, value in zip(vectors, right, strict=True):
                        self._add(sums[i, v], left, value, dtype, lanes)
        for (i, v), sum_ in sums.items():
            value = sum_.get()
            first = to.offset([*zip((n, o, *places), y.strides, strict=True)])
            offset = to.plus(first, i * y.strides[1] + v)
            to.write(value, dtype, y.pointer, offset, lanes)

    def _add(self, sum_: Variable, x: str, y: str, dtype: DType, lanes: int) -> None:
        """Add a product to a sum."""
        sum_.set(self.to.compute("fma", dtype, x, y, sum_.get(), lanes=lanes))

    def weights(self, x: Place, y: Place, w: Place) -> None:
        """Compute w, whose axes are channels of y, those of x, window, of x and y."""
        to = self.to
        with to.in_parts(w.type.shape[1]) as c:
            for o, count in to.blocks(w.type.shape[0], CHANNELS):
                self._weights_of(x, y, w, (o, c, count))

    def _weights_of(self, x: Place, y: Place, w: Place, at: tuple[str, str, int]) -> None:
        to, dtype, (o, c, count) = self.to, w.type.dtype, at
        lanes = VECTOR_BYTES // dtype.itemsize
        batch = y.type.shape[0]
        with contextlib.ExitStack() as entered:
            window = [entered.enter_context(to.loop(m)) for m in w.type.shape[2:-1]]
            for k, taps in to.blocks(w.type.shape[-1], VECTORS):
                target = to.offset([*zip((o, c, *window, k), w.strides, strict=True)])
                totals = {
                    (i, t): to.plus(target, i * w.strides[0] + t * w.strides[-1])
                    for i in range(count)
                    for t in range(taps)
                }
                for offset in totals.values():
                    to.write(splat(0, dtype, 1), dtype, w.pointer, offset)
                with to.loop(batch) as n:
                    sums = self._sums(x, y, (n, o, c, (*window, k)), (count, taps), lanes)
                    for key, value in sums.items():
                        before = to.read(w.pointer, totals[key], dtype)
                        total = to.compute("add", dtype, before, value)
                        to.write(total, dtype, w.pointer, totals[key])

    def _sums(
        self, x: Place, y: Place, at: Any, size: tuple[int, int], widest: int
    ) -> dict[tuple[int, int], str]:
        """Return sums over all places of one of the batch."""
        to, dtype = self.to, y.type.dtype
        (n, o, c, window), (channels, taps) = at, size
        totals: dict[tuple[int, int], str] = {}
        *outer, length = y.type.shape[2:]
        keys = list(itertools.product(range(channels), range(taps)))
        for done, whole, lanes in to.runs(length, widest):
            sums = {key: Variable(to, dtype, lanes) for key in keys}
            with contextlib.ExitStack() as entered:
                rows = [entered.enter_context(to.loop(m)) for m in outer]
                block = entered.enter_context(to.loop(whole))
                j = to.offset([(block, lanes), (str(done), 1)])
                steps = [s * d for s, d in zip(x.strides[2:], self.dilation, strict=True)]
                left = to.offset([*zip((n, o, *rows, j), y.strides, strict=True)])
                right = to.offset(
                    [
                        *zip((n, c, *rows, j), x.strides, strict=True),
                        *zip(window, steps, strict=True),
                    ]
                )
                seen = [
                    to.read(x.pointer, to.plus(right, t * steps[-1]), dtype, lanes)
                    for t in range(taps)
                ]
                for i in range(channels):
                    offset = to.plus(left, i * y.strides[1])
                    value = to.read(y.pointer, offset, dtype, lanes)
                    for t in range(taps):
                        self._add(sums[i, t], value, seen[t], dtype, lanes)
            for key, sum_ in sums.items():
                part = to.across(Node("reduce_sum", dtype), sum_.get(), lanes)
                if key in totals:
                    part = to.compute("add", dtype, totals[key], part)
                totals[key] = part
        return totals


def _vectors(to: Function, length: int, lanes: int) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """Yield where some vectors of places begin, how far each is from there, and how many lanes they have.

    The last one may overlap the one before: its places are computed again.
    """
    while lanes > length:
        lanes //= 2
    starts = [*range(0, length - lanes + 1, lanes)]
    if starts[-1] + lanes < length:
        starts.append(length - lanes)
    whole = (length // lanes) // VECTORS
    each = tuple([v * lanes for v in range(VECTORS)])
    if len(starts) == whole * VECTORS + 1 and whole:
        whole -= 1  # four by two and two
    if whole:
        with to.loop(whole) as i:
            yield to.offset([(i, VECTORS * lanes)]), each, lanes
    rest = starts[whole * VECTORS :]
    half = len(rest) if len(rest) <= VECTORS else len(rest) // 2
    for group in (rest[:half], rest[half:]):
        if group:
            yield str(group[0]), tuple([x - group[0] for x in group]), lanes
