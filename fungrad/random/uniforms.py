"""Random bits, and numbers that are uniformly distributed."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import Shape, kind_of, type_of
from fungrad.primitives.bits import reinterpret, unsigned
from fungrad.random import generators
from fungrad.random.dtypes import (
    FLOAT,
    INTEGER,
    UNSIGNED,
    DType,
    check_shape,
    common_shape,
    in_force,
    mantissa_of,
    not_here,
    parameter,
    shape_of,
)
from fungrad.random.fused import is_exact, multiply_add
from fungrad.random.generators import How
from fungrad.random.glossary import public, public_like
from fungrad.random.keys import asked_for, words_of
from fungrad.random.programs import Words, run


@public
def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Return random bits, as unsigned integers.

    Parameters
    ----------
    dtype
        The dtype of the result, one of unsigned integers: uint64 by default.

    Examples
    --------
    >>> random.bits(random.key(0), (2,), np.uint8)
    array([167, 146], dtype=uint8)
    """
    words, chosen = asked_for("bits", key, dtype, np.uint64, UNSIGNED, out_sharding)
    return run(generators.bits, words, (), shape_of("bits", shape), chosen)


def unit(words: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers in [0, 1): random bits as the mantissas of numbers between 1 and 2, less 1."""
    mantissa, whole = mantissa_of(dtype), unsigned(dtype)
    drawn = np.dtype(np.uint8) if mantissa < 8 else whole
    random = generators.bits(words, shape, drawn, how).astype(whole)
    one = np.array(1, dtype)
    exponent = one.view(whole)[()]
    shift = whole.type(8 * drawn.itemsize - mantissa)
    return reinterpret((random >> shift) | exponent, dtype) - one[()]


def between(
    words: Any, low: Any, high: Any, shape: Shape, dtype: DType, exact: bool, how: How
) -> Any:
    """Return numbers in [low, high); with `exact`, products with ``high - low`` are known to be exact."""
    low, high = low.astype(dtype), high.astype(dtype)
    numbers = unit(words, shape, dtype, how)
    width = high - low
    scaled = numbers * width + low if exact else multiply_add(numbers, width, low)
    return fnp.maximum(low, scaled)


@public
def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return numbers uniformly distributed between two bounds.

    The bounds have derivatives: those of ``minval + (maxval - minval) * u``.

    Parameters
    ----------
    minval, maxval
        The bounds: the lower one is among the numbers, the upper one is not. Arrays are broadcast to `shape`.

    Examples
    --------
    >>> random.uniform(random.key(0), (2,))
    array([0.41845711, 0.21629545])
    >>> fg.grad(lambda b: random.uniform(random.key(0), maxval=b))(3.0)
    np.float64(0.418457111716)
    """
    words, chosen = asked_for("uniform", key, dtype, float, FLOAT, out_sharding)
    drawn_shape = shape_of("uniform", shape)
    return uniforms(words, drawn_shape, chosen, minval, maxval)


def uniforms(words: Words, shape: Shape, dtype: DType, low: Any = 0.0, high: Any = 1.0) -> Any:
    """Return numbers between two bounds, in the cheapest way that rounds as JAX does."""
    known = type(low) in (int, float) and type(high) in (int, float)
    if known and low == 0 and high == 1:
        return run(unit, words, (), shape, dtype)
    check_shape("uniform", shape, [type_of(low).shape, type_of(high).shape])
    low, high = parameter("uniform", low, dtype), parameter("uniform", high, dtype)
    exact = known and (low == 0 or is_exact(high - low))
    return run(between, words, (low, high), shape, dtype, bool(exact))


# Integers


def _clipped(x: Any, dtype: DType) -> Any:
    """Return integers as ones of another dtype, those beyond its range as its ends."""
    old, new = np.iinfo(x.dtype), np.iinfo(dtype)
    low, high = x.dtype.type(max(old.min, new.min)), x.dtype.type(min(old.max, new.max))
    return fnp.clip(x, low, high).astype(dtype)


def _remainder(x: Any, y: Any) -> Any:
    """Return the remainder of unsigned integers; `x` where `y` is 0, which stands for the full range."""
    none = y == 0
    return fnp.where(none, x, x % fnp.where(none, y.dtype.type(1), y))


def integers(words: Any, low: Any, high: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return integers in [low, high): twice the dtype's random bits, modulo their number."""
    width = 8 * dtype.itemsize
    beyond = high > _clipped(np.array(np.iinfo(dtype).max, dtype), high.dtype)
    low, high = _clipped(low, dtype), _clipped(high, dtype)
    keys = generators.split(words, (2,), how)
    whole = unsigned(dtype)
    upper = generators.bits(keys[0], shape, whole, how)
    lower = generators.bits(keys[1], shape, whole, how)
    span = high.astype(whole) - low.astype(whole)
    span = fnp.where(high <= low, whole.type(1), span)
    span = fnp.where(beyond & (high > low), span + whole.type(1), span)
    # 2^width modulo the span, of which the upper bits are multiples.
    factor = _remainder(whole.type(1 << (width // 2)), span)
    factor = _remainder(factor * factor, span)
    offset = _remainder(_remainder(upper, span) * factor + _remainder(lower, span), span)
    return (low.astype(whole) + offset).astype(dtype)


@public_like(uniform)
def randint(
    key: Any,
    shape: Any,
    minval: Any,
    maxval: Any,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return integers uniformly distributed between two bounds.

    Their probabilities differ by less than the number of integers, divided by 2 to the bits of the dtype. Where the upper
    bound is not greater than the lower one, all are the lower one.

    Parameters
    ----------
    dtype
        The dtype of the result, one of integers: int64 by default.

    Examples
    --------
    >>> random.randint(random.key(0), (5,), 0, 10)
    array([5, 1, 5, 7, 3])
    """
    words, chosen = asked_for("randint", key, dtype, int, INTEGER, out_sharding)
    drawn_shape = shape_of("randint", shape)
    check_shape("randint", drawn_shape, [type_of(minval).shape, type_of(maxval).shape])
    low, high = _integer(minval), _integer(maxval)
    sampled = chosen
    if chosen.itemsize < 4:  # as integers of 32 bits, of which the remainders are less biased
        limits, sampled = np.iinfo(chosen), np.dtype(np.int32)
        low = fnp.clip(low.astype(np.int32), limits.min, limits.max)
        high = fnp.clip(high.astype(np.int32), limits.min, limits.max + 1)
    return run(integers, words, (low, high), drawn_shape, sampled).astype(chosen)


def _integer(bound: Any) -> Any:
    x = fnp.asarray(bound)
    return x if x.dtype.kind in "iu" else x.astype(np.int64)


# Of two values


@public
def bernoulli(
    key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None
) -> Any:
    """Return booleans that are true with a probability.

    Parameters
    ----------
    p
        The probability, a floating-point number or an array of them; a uniform number of its dtype is compared with it.
    shape
        The shape of the result, by default that of `p`.

    Returns
    -------
    array
        Of booleans.

    Examples
    --------
    >>> random.bernoulli(random.key(0), 0.5, (4,))
    array([ True,  True, False, False])
    """
    words = words_of("bernoulli", key)
    not_here("bernoulli", out_sharding)
    if mode not in ("high", "low"):
        raise ValueError(f"random.bernoulli: mode is 'high' or 'low', not {mode!r}")
    given = type_of(p)
    if kind_of(given.dtype) != "f":
        raise TypeError(f"random.bernoulli: p is a floating-point number, not {given}")
    drawn_shape = common_shape("bernoulli", shape, p)
    return run(_bernoulli, words, (fnp.asarray(p),), drawn_shape, mode)


def _bernoulli(words: Any, p: Any, shape: Shape, mode: str, how: How) -> Any:
    if mode == "low":
        return unit(words, shape, p.dtype, how) < p
    first, second = unit(words, (2, *shape), p.dtype, how)
    return second * p.dtype.type(2.0 ** -mantissa_of(p.dtype)) < p - first


@public
def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Return numbers that are 1 or -1, each with probability 1/2.

    Parameters
    ----------
    dtype
        The dtype of the result: int64 by default.

    Examples
    --------
    >>> random.rademacher(random.key(0), (4,))
    array([ 1,  1, -1, -1])
    """
    words = words_of("rademacher", key)
    not_here("rademacher", out_sharding)
    chosen = in_force(int if dtype is None else dtype)
    return run(heads_or_tails, words, (), shape_of("rademacher", shape), chosen)


def heads_or_tails(words: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers that are 1 or -1."""
    half = np.array(0.5, np.float32 if how.narrow else np.float64)
    heads = _bernoulli(words, half, shape, "low", how)
    return (2 * heads.astype(dtype) - 1).astype(dtype)
