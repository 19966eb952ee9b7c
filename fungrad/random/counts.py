"""Distributions of whole numbers, found by rejection or by counting steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import Shape, kind_of, type_of
from fungrad.lax.special import lgamma
from fungrad.programs.loops.loops import scan
from fungrad.programs.loops.while_loop import while_loop
from fungrad.random import generators
from fungrad.random.dtypes import (
    FLOAT,
    INTEGER,
    DType,
    check_shape,
    common_shape,
    in_force,
    limits_of,
    parameter,
    shape_of,
)
from fungrad.random.generators import How
from fungrad.random.glossary import public, public_like
from fungrad.random.keys import asked_for
from fungrad.random.logarithms import log
from fungrad.random.programs import run
from fungrad.random.uniforms import unit

_F32 = np.dtype(np.float32)


@public
def geometric(
    key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Return how many trials it takes until one succeeds.

    Parameters
    ----------
    p
        The probability that a trial succeeds, greater than 0.
    dtype
        The dtype of the result, one of integers: int64 by default.

    Examples
    --------
    >>> random.geometric(random.key(0), 0.2, (4,))
    array([4, 7, 1, 3])
    """
    words, chosen = asked_for("geometric", key, dtype, int, INTEGER, out_sharding)
    given = _inexact("geometric", p)
    return run(_geometric, words, (given,), common_shape("geometric", shape, given), chosen)


def _inexact(name: str, x: Any) -> Any:
    dtype = type_of(x).dtype
    return parameter(name, x, dtype if kind_of(dtype) == "f" else in_force(float))


def _geometric(words: Any, p: Any, shape: Shape, dtype: DType, how: How) -> Any:
    u = unit(words, shape, p.dtype, how)
    u = fnp.where(u == 0, u.dtype.type(1), u)
    certain = p == 1  # then the logarithm of 1 - p is infinite, and one trial is enough
    failing = fnp.log1p(-fnp.where(certain, p.dtype.type(0.5), p))
    trials = fnp.floor(fnp.log(u) / failing) + 1
    return fnp.where(certain, u.dtype.type(1), trials).astype(dtype)


# Poisson's


@public_like(geometric)
def poisson(
    key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Return numbers of the Poisson distribution.

    Of means below 10 they are counted (D. E. Knuth, "The Art of Computer Programming", volume 2, section 3.4.1), else found by
    transformed rejection (W. Hörmann, Insurance: Mathematics and Economics 12, 1993). What decides is computed in float32,
    as in JAX.

    Parameters
    ----------
    lam
        The mean, not negative.

    Examples
    --------
    >>> random.poisson(random.key(0), 3.0, (4,))
    array([0, 0, 4, 4])
    """
    words, chosen = asked_for("poisson", key, dtype, int, INTEGER, out_sharding)
    given = parameter("poisson", lam, _F32)
    return run(_poisson, words, (given,), common_shape("poisson", shape, given), chosen)


def _poisson(words: Any, lam: Any, shape: Shape, dtype: DType, how: How) -> Any:
    lam = fnp.broadcast_to(lam, shape)
    counted = fnp.isnan(lam) | (lam < 10)
    few = _knuth(words, fnp.where(counted, lam, _F32.type(0)), shape, dtype, how)
    many = _hoermann(words, fnp.where(counted, _F32.type(1e5), lam), shape, how)
    counts = fnp.where(counted, few, many.astype(dtype))
    return fnp.where(lam == 0, dtype.type(0), counts)


def _knuth(words: Any, lam: Any, shape: Shape, dtype: DType, how: How) -> Any:
    most = np.iinfo(dtype).max

    def step(state: Any) -> Any:
        i, number, words, logarithm = state
        words, own = generators.split(words, (2,), how)
        number = fnp.where(logarithm > -lam, number + dtype.type(1), number)
        return i + 1, number, words, logarithm + log(unit(own, shape, _F32, how))

    start = (0, fnp.zeros(shape, dtype), words, fnp.zeros(shape, _F32))
    going = lambda state: fnp.any(state[3] > -lam) & (state[0] < most)
    return while_loop(going, step, start)[1] - dtype.type(1)


def _hoermann(words: Any, lam: Any, shape: Shape, how: How) -> Any:
    b = 0.931 + 2.53 * fnp.sqrt(lam)
    a = -0.059 + 0.02483 * b
    scale = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    log_lam = fnp.log(lam)

    def attempt(state: Any) -> Any:
        words, latest, accepted = state
        words, first, second = generators.split(words, (3,), how)
        u = unit(first, shape, _F32, how) - 0.5
        v = unit(second, shape, _F32, how)
        side = 0.5 - fnp.abs(u)
        inside = fnp.where(side == 0, _F32.type(1), side)  # such a number is rejected
        k = fnp.floor((2 * a / inside + b) * u + lam + 0.43)
        reject = (k < 0) | (side == 0) | ((side < 0.013) & (v > side))
        s = log(v * scale / (a / (inside * inside) + b))
        t = -lam + k * log_lam - lgamma(fnp.maximum(k, 0) + 1)
        accept = ((side >= 0.07) & (v <= v_r)) | (~reject & (s <= t))
        return words, fnp.where(accept, k, latest), accepted | accept

    return _accepted(attempt, words, shape, _F32)


def _accepted(attempt: Any, words: Any, shape: Shape, dtype: DType) -> Any:
    """Return the last numbers found, once all are accepted: as in JAX, one may be found again."""
    start = (words, fnp.full(shape, -1, dtype), fnp.zeros(shape, bool))
    return while_loop(lambda state: ~fnp.all(state[2]), attempt, start)[1]


# The binomial distribution


@public
def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Return how many of some trials succeed.

    Where fewer than 10 are expected to, they are counted (L. Devroye, "Non-uniform random variate generation", 1986, section
    X.4.3), else found by transformed rejection (W. Hörmann, Journal of Statistical Computation and Simulation 46, 1993).

    Parameters
    ----------
    n
        The number of trials.
    p
        The probability that one succeeds.

    Returns
    -------
    array
        Of the shape and dtype asked for: of floating-point numbers, which are whole.

    Examples
    --------
    >>> random.binomial(random.key(0), 10, 0.3, (4,))
    array([4., 1., 3., 4.])
    """
    words, chosen = asked_for("binomial", key, dtype, float, FLOAT)
    probability = _inexact("binomial", p)
    trials = parameter("binomial", n, probability.dtype)
    drawn_shape = common_shape("binomial", shape, trials, probability)
    return run(binomials, words, (trials, probability), drawn_shape, chosen)


def binomials(words: Any, n: Any, p: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return how many of `n` trials succeed; NaN where there is no such distribution."""
    n, p = fnp.broadcast_to(n, shape), fnp.broadcast_to(p, shape)
    number = p.dtype.type
    lost = fnp.isnan(n) | fnp.isnan(p)
    n = fnp.floor(fnp.where(lost, number(-1), n))
    p = fnp.where(lost, number(0.5), p)
    small = p < number(0.5)
    q = fnp.where(small, p, number(1) - p)
    no_count = n < 0
    bad = no_count | (q < 0)
    endless = fnp.isinf(n)
    q = fnp.where(q >= 0, q, number(0.01))
    finite = fnp.where(no_count | endless, number(0), n)
    counted = no_count | ((finite * q <= number(10)) & ~endless)
    few = _by_waiting(words, fnp.where(counted, finite, number(0)), q, shape, how)
    rejected = ~counted & ~endless
    at = (fnp.where(rejected, finite, number(1e4)), fnp.where(rejected, q, number(0.5)))
    many = _btrs(words, *at, shape, how)
    successes = fnp.where(counted, few, many).astype(dtype)
    successes = fnp.where(
        bad, dtype.type(np.nan), fnp.where(endless, dtype.type(np.inf), successes)
    )
    return fnp.where(small | bad | endless, successes, n.astype(dtype) - successes)


def _by_waiting(words: Any, n: Any, q: Any, shape: Shape, how: How) -> Any:
    """Return how many waiting times until a success fit into `n` trials."""
    dtype = q.dtype
    never = q == 0
    failing = fnp.log1p(-fnp.where(never, dtype.type(0.5), q))
    most = float(limits_of(dtype).max)

    def step(state: Any) -> Any:
        i, number, waited, words = state
        own, words = generators.split(words, (2,), how)
        number = fnp.where(waited <= n, number + dtype.type(1), number)
        times = fnp.ceil(log(unit(own, shape, dtype, how)) / failing)
        times = fnp.where(never, dtype.type(np.inf), times)
        return i + 1, number, waited + times, words

    start = (0, fnp.zeros(shape, dtype), fnp.zeros(shape, dtype), words)
    going = lambda state: fnp.any(state[2] <= n) & (state[0] < most)
    return while_loop(going, step, start)[1] - dtype.type(1)


def _btrs(words: Any, n: Any, p: Any, shape: Shape, how: How) -> Any:
    dtype = p.dtype
    number = dtype.type
    half, one = number(0.5), number(1)
    deviation = fnp.sqrt(n * p * (one - p))
    b = number(1.15) + number(2.53) * deviation
    a = number(-0.0873) + number(0.0248) * b + number(0.01) * p
    centre = n * p + half
    v_r = number(0.92) - number(4.2) / b
    odds = p / (one - p)
    alpha = (number(2.83) + number(5.1) / b) * deviation
    m = fnp.floor((n + one) * p)
    steepest = a / number(float(limits_of(dtype).max) / 2)
    of_mode = _stirling(m) + _stirling(n - m)
    from_mode = (m + half) * fnp.log((m + one) / (odds * (n - m + one)))

    def attempt(state: Any) -> Any:
        words, latest, accepted = state
        words, first, second = generators.split(words, (3,), how)
        u = unit(first, shape, dtype, how) - half
        v = unit(second, shape, dtype, how)
        side = half - fnp.abs(u)
        inside = fnp.where(side == 0, one, side)  # such a number is rejected
        k = fnp.floor((number(2) * a / inside + b) * u + centre)
        reject = (k < 0) | (k > n) | (side == 0)
        at = fnp.where(reject, m, k)
        bound = (
            from_mode
            + (n + one) * fnp.log((n - m + one) / (n - at + one))
            + (at + half) * fnp.log(odds * (n - at + one) / (at + one))
            + of_mode
            - _stirling(at)
            - _stirling(n - at)
        )
        square = inside * inside
        flat = square < steepest  # float16 has no number for the quotient
        slope = fnp.where(flat, number(np.inf), a / fnp.where(flat, one, square))
        below = log(v * alpha / (slope + b)) <= bound
        accept = ((side >= number(0.07)) & (v <= v_r)) | (~reject & below)
        return words, fnp.where(accept, k, latest), accepted | accept

    return _accepted(attempt, words, shape, dtype)


# What Stirling's formula for the logarithm of k! lacks, for k = 0, ..., 9. Beyond, JAX takes its series at k = 9 whatever k
# is; equal numbers need the same. It changes probabilities by some tenths of a percent where n p is near 10, by less farther on.
_STIRLING = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling(k: Any) -> Any:
    dtype = k.dtype
    number = dtype.type
    square = number(100)
    series = number(1 / 12) - (number(1 / 360) - number(1 / 1260) / square) / square
    place = fnp.clip(k, number(0), number(9)).astype(np.int32)
    known = fnp.take(np.array(_STIRLING, dtype), place)
    return fnp.where(k <= 9, known, series / number(10))


@public_like(binomial)
def multinomial(
    key: Any,
    n: Any,
    p: Any,
    *,
    shape: Any = None,
    dtype: Any = None,
    unroll: Any = 1,
) -> Any:
    """Return how many of some trials have each of several outcomes.

    Parameters
    ----------
    p
        The probabilities of the outcomes, along the last axis.
    shape
        The shape of the result, whose last axis is that of the outcomes: by default that of `p`.
    unroll
        Accepted for JAX's sake.

    Returns
    -------
    array
        Of floating-point numbers, which are whole.

    Examples
    --------
    >>> random.multinomial(random.key(0), 10, np.array([0.2, 0.3, 0.5]))
    array([1., 4., 5.])
    """
    words, chosen = asked_for("multinomial", key, dtype, float, FLOAT)
    probabilities = _inexact("multinomial", p)
    if not probabilities.ndim:
        raise ValueError(
            "random.multinomial: p is an array whose last axis are the outcomes, not a number"
        )
    drawn_shape = probabilities.shape if shape is None else shape_of("multinomial", shape)
    trials = parameter("multinomial", n, probabilities.dtype)
    check_shape("multinomial", drawn_shape, [probabilities.shape])
    check_shape("multinomial", drawn_shape[:-1], [trials.shape])
    return run(_multinomial, words, (trials, probabilities), drawn_shape, chosen)


def _multinomial(words: Any, n: Any, p: Any, shape: Shape, dtype: DType, how: How) -> Any:
    p = fnp.moveaxis(fnp.broadcast_to(p, shape), -1, 0)
    left = fnp.flip(fnp.cumsum(fnp.flip(p, 0), 0), 0)
    ratios = fnp.clip(p / fnp.where(left == 0, left.dtype.type(1), left), 0, 1)

    def outcome(remaining: Any, ratio_and_words: Any) -> Any:
        ratio, own = ratio_and_words
        count = binomials(own, remaining, ratio, shape[:-1], remaining.dtype, how)
        return remaining - count, count

    keys = generators.split(words, (shape[-1],), how)
    _, counts = scan(outcome, fnp.broadcast_to(n, shape[:-1]), (ratios, keys))
    return fnp.moveaxis(counts, 0, -1).astype(dtype)
