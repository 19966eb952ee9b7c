"""The generators by name: making keys of keys, and bits of a key.

`threefry2x32` is JAX's default. `rbg` draws bits with Philox 4x32 (J. K. Salmon et al., SC 2011), as XLA does on a CPU, and makes keys with
threefry; `unsafe_rbg` makes keys with Philox, too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import Shape
from fungrad.lax.creation import iota
from fungrad.random import threefry
from fungrad.random.dtypes import DType

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
_FACTORS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_STEPS = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
_SPREAD = 10  # of the blocks of Philox, every tenth is a key


class How(NamedTuple):
    """The generator, threefry's layout of counters, and whether 64 bits are off."""

    generator: str
    partitionable: bool
    narrow: bool = False


def seeded(seed: Any, how: How) -> Any:
    """Return the words of the key of a seed."""
    words = threefry.seeded(seed)
    return words if how.generator == "threefry2x32" else fnp.concatenate([words, words])


def split(words: Any, shape: Shape, how: How) -> Any:
    """Return the words of new keys in an array of `shape` and an axis of words."""
    if how.generator == "threefry2x32":
        return threefry.split(words, shape, how.partitionable)
    if how.generator == "rbg":
        halves = [threefry.split(half, shape, how.partitionable) for half in fnp.split(words, 2)]
        return fnp.concatenate(halves, -1)
    blocks = _philox(words, _SPREAD * math.prod(shape))
    return blocks[::_SPREAD].reshape((*shape, 4))


def fold_in(words: Any, data: Any, how: How) -> Any:
    """Return the words of the key that comes of a key and of 32 bits of data."""
    if how.generator == "threefry2x32":
        return threefry.fold_in(words, data)
    if how.generator == "rbg":
        return fnp.concatenate([threefry.fold_in(half, data) for half in fnp.split(words, 2)])
    return words ^ _philox(seeded(data, how), _SPREAD)[-1]


def bits(words: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return an array of random bits, of a dtype of unsigned integers."""
    if how.generator == "threefry2x32":
        return threefry.bits(words, shape, dtype, how.partitionable)
    size = math.prod(shape)
    if not size:
        return fnp.zeros(shape, dtype)
    if dtype.itemsize < 8:
        drawn = _philox(words, -(-size // 4)).reshape(-1)[:size].astype(dtype)
    else:
        pairs = _philox(words, -(-size // 2)).reshape(-1, 2)[:size]
        drawn = _joined(pairs[:, 0], pairs[:, 1])
    return drawn.reshape(shape)


def _joined(low: Any, high: Any) -> Any:
    """Return the integers of 64 bits that pairs of words are."""
    return low.astype(_U64) | (high.astype(_U64) << 32)


def _philox(words: Any, size: int) -> Any:
    """Return blocks of four words, encrypted with the first two words of a key.

    As XLA has it, the counter has 128 bits: the last two words are the low ones to begin with, the first two the high ones.
    """
    high, start = _joined(words[0:1], words[1:2]), _joined(words[2:3], words[3:4])
    low = start + iota(_U64, size)
    high = high + (low < start).astype(_U64)
    keys = [words[0:1], words[1:2]]
    a, b = low.astype(_U32), (low >> 32).astype(_U32)
    c, d = high.astype(_U32), (high >> 32).astype(_U32)
    for _ in range(10):
        first, second = a.astype(_U64) * _FACTORS[0], c.astype(_U64) * _FACTORS[1]
        a, c = (
            (second >> 32).astype(_U32) ^ b ^ keys[0],
            (first >> 32).astype(_U32) ^ d ^ keys[1],
        )
        b, d = second.astype(_U32), first.astype(_U32)
        keys = [k + step for k, step in zip(keys, _STEPS, strict=True)]
    return fnp.stack(fnp.broadcast_arrays(a, b, c, d), -1)
