"""`jax.lax.rng_bit_generator`: the bits that XLA's generators give, of 32 at a time."""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.crossing import dtype_of, enter, leave
from fungrad.random.threefry import block

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
_FACTORS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)


class RandomAlgorithm(enum.IntEnum):
    """Which generator it is; the default is Philox, as on JAX's CPU."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __repr__(self) -> str:
        return f"<RandomAlgorithm.{self.name}: {self.value}>"


def _words(key: Any) -> Any:
    """Return the four words of 32 bits of a key; there may be two of 64."""
    if key.shape == (4,) and key.dtype == _U32:
        return key
    if key.shape == (2,) and key.dtype == _U64:
        return fnp.stack([key.astype(_U32), (key >> np.uint64(32)).astype(_U32)], 1).reshape(4)
    raise TypeError(
        f"rng_bit_generator takes a key of four uint32 or two uint64, got {key.dtype.name}{[*key.shape]}"
    )


def _counted(words: Any, count: int) -> tuple[Any, Any]:
    """Return the low and high words of `count` + 1 counters, which begin at that in a key."""
    low = words[2:3] + np.arange(count + 1, dtype=_U32)
    return low, words[3:4] + (low < words[2:3]).astype(_U32)


def _multiplied(x: Any, factor: int) -> tuple[Any, Any]:
    """Return the high and low words of products of words."""
    a, b, m = x & 0xFFFF, x >> 16, (np.uint32(factor & 0xFFFF), np.uint32(factor >> 16))
    low = a * m[0]
    middle = a * m[1] + (low >> 16)
    other = b * m[0] + (middle & 0xFFFF)
    return b * m[1] + (middle >> 16) + (other >> 16), (other << 16) | (low & 0xFFFF)


def _philox(words: Any, low: Any, high: Any) -> Any:
    """Return four words for each counter: ten rounds of Philox4x32, with the key in the counters too."""
    first, second = words[0:1], words[1:2]
    x = [low, high, *[fnp.broadcast_to(word, low.shape) for word in (first, second)]]
    for _ in range(10):
        (h0, l0), (h1, l1) = (_multiplied(x[2 * i], _FACTORS[i]) for i in range(2))
        x = [h1 ^ x[1] ^ first, l1, h0 ^ x[3] ^ second, l0]
        first, second = first + np.uint32(_STEPS[0]), second + np.uint32(_STEPS[1])
    return fnp.stack(x, 1)


def rng_bit_generator(
    key: Any,
    shape: Any,
    dtype: Any = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return a key for the next call, and random bits of `shape`."""
    if dtype_of(dtype, "rng_bit_generator") != _U32:
        raise NotImplementedError(
            f"fungrad, in the place of jax, has rng_bit_generator of uint32 alone, got {np.dtype(dtype).name}: take "
            "jax.random.bits"
        )
    shape, given = tuple(map(int, shape)), fnp.asarray(enter(key))
    words, size = _words(given), math.prod(shape)
    if RandomAlgorithm(algorithm) is RandomAlgorithm.RNG_THREE_FRY:
        lead = _pairs(shape)
        count = math.prod((*shape[:lead], -(-shape[lead] // 2), *shape[lead + 1 :])) if shape else 1
        low, high = _counted(words, count)
        x, y = block(words[:2], low[:count], high[:count])
        bits = _in_pairs(x, y, shape, lead)
    else:
        count = -(-size // 4)
        low, high = _counted(words, count)
        bits = _philox(words, low[:count], high[:count]).reshape(-1)[:size].reshape(shape)
    after = fnp.concatenate([words[:2], low[count:], high[count:]])
    if given.dtype == _U64:
        halves = after.astype(_U64)
        after = halves[::2] | (halves[1::2] << np.uint64(32))
    return leave(after), leave(bits)


def _pairs(shape: tuple[int, ...]) -> int:
    """Return the axis along which the words of a block lie: the first of even length, or the longest."""
    even = (i for i, n in enumerate(shape) if n % 2 == 0)
    return next(even, shape.index(max(shape, default=0)) if shape else 0)


def _in_pairs(x: Any, y: Any, shape: tuple[int, ...], axis: int) -> Any:
    if not shape:
        return x[0]
    before, after = shape[:axis], shape[axis + 1 :]
    halves = (*before, -(-shape[axis] // 2), *after)
    both = fnp.stack([x.reshape(halves), y.reshape(halves)], axis + 1)
    bits = both.reshape((*before, 2 * halves[axis], *after))
    return bits[(slice(None),) * axis + (slice(shape[axis]),)]
