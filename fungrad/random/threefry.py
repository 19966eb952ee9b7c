"""The generator threefry2x32, and how its counters are laid out.

It encrypts a counter of two words of 32 bits with a key of two words: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E.
Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Layouts are those of JAX: its *partitionable* one, in which
element n is the block of counter n, and the one that JAX had before, in which the counters of two halves are a block.

Here keys are arrays of two words, and computed with are arrays of one axis at least: NumPy warns where scalars overflow.

Design: docs/design/33-random-numbers.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import Shape
from fungrad.lax.creation import iota
from fungrad.random.dtypes import DType

WORDS = 2
"""How many words of 32 bits a key has."""

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_U32 = np.dtype(np.uint32)
_LIMIT = 1 << 32


def block(key: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """Return the two encrypted words of counters: 20 rounds, with the key added after every fourth."""
    first, second = key[0:1], key[1:2]
    schedule = (first, second, first ^ second ^ _PARITY)
    x, y = high + first, low + second
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x = x + y
            y = x ^ ((y << distance) | (y >> (32 - distance)))
        x = x + schedule[(group + 1) % 3]
        y = y + (schedule[(group + 2) % 3] + np.uint32(group + 1))
    return x, y


def _counters(size: int) -> tuple[Any, Any]:
    """Return the numbers 0, 1, ... as high and low words."""
    if size <= _LIMIT:
        return np.zeros(1, _U32), iota(_U32, size)
    counter = iota(np.uint64, size)
    return (counter >> 32).astype(_U32), counter.astype(_U32)


def seeded(seed: Any) -> Any:
    """Return the key of a seed, an integer or an array of one: its high and its low word.

    Seeds of 32 bits and less have no high word, and those that are negative are taken modulo 2^32 there.
    """
    seed = fnp.reshape(seed, (1,))
    if seed.dtype.itemsize <= 4:
        low = seed.astype(_U32)
        return fnp.concatenate([fnp.zeros_like(low), low])
    whole = seed.astype(np.uint64)
    return fnp.concatenate([(whole >> 32).astype(_U32), whole.astype(_U32)])


def split(key: Any, shape: Shape, partitionable: bool) -> Any:
    """Return keys in an array of `shape` and an axis of words."""
    size = math.prod(shape)
    if partitionable:
        words = fnp.stack(fnp.broadcast_arrays(*block(key, *_counters(size))), -1)
    else:
        words = _in_halves(key, iota(_U32, 2 * size))
    return words.reshape((*shape, WORDS))


def fold_in(key: Any, data: Any) -> Any:
    """Return the key that comes of a key and of 32 bits of data."""
    x, y = block(key, *fnp.split(seeded(data), 2))
    return fnp.concatenate([x, y])


def bits(key: Any, shape: Shape, dtype: DType, partitionable: bool) -> Any:
    """Return an array of random bits, of a dtype of unsigned integers."""
    size = math.prod(shape)
    if not size:
        return fnp.zeros(shape, dtype)
    drawn = _apart if partitionable else _from_halves
    return drawn(key, size, dtype).reshape(shape)


def _apart(key: Any, size: int, dtype: DType) -> Any:
    high, low = block(key, *_counters(size))
    if dtype.itemsize == 8:
        return (high.astype(dtype) << 32) | low.astype(dtype)
    return (high ^ low).astype(dtype)


def _in_halves(key: Any, counters: Any) -> Any:
    """Return one word per counter; counters in the second half are low words of pairs."""
    size = counters.shape[0]
    if size % 2:
        counters = fnp.concatenate([counters, np.zeros(1, _U32)])
    half = counters.shape[0] // 2
    x, y = block(key, counters[:half], counters[half:])
    return fnp.concatenate([x, y])[:size]


def _from_halves(key: Any, size: int, dtype: DType) -> Any:
    width = 8 * dtype.itemsize
    count = -(-width * size // 32)
    if count >= _LIMIT - 1:
        raise NotImplementedError(
            f"{size} random numbers of {width} bits have no counters of 32 bits: draw fewer, or leave the setting "
            "threefry_partitionable on"
        )
    words = _in_halves(key, iota(_U32, count))
    if width == 64:
        high, low = words[:size].astype(dtype), words[size:].astype(dtype)
        return (high << 32) | low
    if width == 32:
        return words
    # The parts of a word, the lowest first, and only then those of the next.
    shifts = np.arange(0, 32, width, dtype=_U32)
    parts = (words[:, None] >> shifts) & np.uint32((1 << width) - 1)
    return parts.reshape(-1)[:size].astype(dtype)
