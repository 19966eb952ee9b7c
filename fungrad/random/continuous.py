"""Continuous distributions whose quantile function is elementary: numbers are that of uniform ones."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import Shape
from fungrad.lax.arithmetic import clz
from fungrad.primitives.bits import reinterpret
from fungrad.random import generators
from fungrad.random.distributions import distribution
from fungrad.random.dtypes import FLOAT, DType, limits_of, parameter, shape_of
from fungrad.random.generators import How
from fungrad.random.glossary import public
from fungrad.random.keys import asked_for
from fungrad.random.logarithms import log
from fungrad.random.programs import run
from fungrad.random.uniforms import between, unit


def positive(words: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return uniform numbers with the least normal number in the place of 0."""
    least = dtype.type(limits_of(dtype).tiny)
    return fnp.maximum(least, unit(words, shape, dtype, how))


@distribution
def exponential(words: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers that are exponentially distributed, with mean 1.

    Examples
    --------
    >>> random.exponential(random.key(0), (2,))
    array([0.54207056, 0.24372319])
    """
    return -fnp.log1p(-unit(words, shape, dtype, how))


@distribution
def cauchy(words: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of the Cauchy distribution, of density ``1 / (pi * (1 + x**2))``.

    Examples
    --------
    >>> random.cauchy(random.key(0), (2,))
    array([-0.26192951, -1.23784602])
    """
    least = dtype.type(limits_of(dtype).eps)
    u = between(words, least, dtype.type(1), shape, dtype, False, how)
    return fnp.tan(dtype.type(np.pi) * (u - dtype.type(0.5)))


@distribution
def laplace(words: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of the Laplace distribution, of density ``exp(-abs(x)) / 2``.

    Examples
    --------
    >>> random.laplace(random.key(0), (2,))
    array([0.17803369, 0.83796278])
    """
    least = dtype.type(-1.0 + float(limits_of(dtype).epsneg))
    u = between(words, least, dtype.type(1), shape, dtype, True, how)
    return fnp.sign(u) * fnp.log1p(-fnp.abs(u))


@distribution
def logistic(words: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of the logistic distribution, whose distribution function is ``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> random.logistic(random.key(0), (2,))
    array([-0.32911032, -1.28738678])
    """
    u = positive(words, shape, dtype, how)
    return fnp.log(u) - fnp.log1p(-u)


# Gumbel's


@public
def gumbel(
    key: Any, shape: Any = (), dtype: Any = None, mode: Any = None, *, out_sharding: Any = None
) -> Any:
    """Return numbers of the Gumbel distribution, whose distribution function is ``exp(-exp(-x))``.

    Parameters
    ----------
    mode
        How many bits are used for a number: "low", which is the default, "high" or, of float32, "highest". In float32 the
        greatest number there can be is 16 with the first and 32 with the second.

    Examples
    --------
    >>> random.gumbel(random.key(0), (2,))
    array([ 0.13790566, -0.42599294])
    """
    words, chosen = asked_for("gumbel", key, dtype, float, FLOAT, out_sharding)
    return run(gumbels, words, (), shape_of("gumbel", shape), chosen, mode_of("gumbel", mode))


def mode_of(name: str, mode: Any) -> str:
    """Return the mode of Gumbel numbers that an argument chooses."""
    if mode not in (None, "low", "high", "highest"):
        raise ValueError(f"random.{name}: mode is 'low', 'high' or 'highest', not {mode!r}")
    return mode or "low"


def gumbels(words: Any, shape: Shape, dtype: DType, mode: str, how: How) -> Any:
    """Return numbers of the Gumbel distribution."""
    if mode == "low":
        return -fnp.log(-fnp.log(positive(words, shape, dtype, how)))
    if mode == "highest" and dtype == np.float32:
        return _from_64_bits(generators.bits(words, (2, *shape), np.dtype(np.uint32), how))
    limits = limits_of(dtype)
    high, low = unit(words, (2, *shape), dtype, how)
    finer = high + dtype.type(2.0**-limits.nmant) * low + dtype.type(limits.tiny)
    return -fnp.log(-fnp.log1p(-fnp.where(high >= dtype.type(0.5), high, finer)))


def _from_64_bits(bits: Any) -> Any:
    """Return Gumbel numbers of float32: of the smaller one of u and 1 - u, u having 64 bits."""
    low = ~bits[1]
    carry = (low == np.uint32(0xFFFFFFFF)).astype(np.uint32)
    other = fnp.stack([~bits[0] + carry, low + np.uint32(1)])
    lower_half = bits[0] < np.uint32(1 << 31)
    x = _fraction(*fnp.where(lower_half, bits, other))
    # Both are computed everywhere: of a number of the other half the logarithm of 1 - x is finite, too.
    return -fnp.log(-fnp.where(lower_half, fnp.log1p(-x), fnp.log(x)))


def _fraction(high: Any, low: Any) -> Any:
    """Return the float32 number below 1 whose first digits 64 bits are."""
    u = np.uint32
    zeros, more = clz(high), clz(low)
    none = zeros == 32
    few = fnp.where(none, u(0), zeros)  # a shift by 32 is not defined
    rest = fnp.where(few == 0, u(0), low >> fnp.where(few == 0, u(0), u(32) - few))
    shifted = low << fnp.where(more == 32, u(0), more)
    mantissa = fnp.where(none, shifted, (high << few) | rest)
    mantissa = (mantissa >> u(8)) & u((1 << 23) - 1)
    exponent = (u(126) - fnp.where(none, u(32) + more, zeros)) << u(23)
    exponent = exponent & u((1 << 30) - (1 << 22))
    return reinterpret(exponent | mantissa, np.dtype(np.float32))


# With parameters


@distribution
def pareto(words: Any, b: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of the Pareto distribution, of density ``b / x**(b + 1)`` from 1 on.

    Parameters
    ----------
    b
        The exponent, positive; it has a derivative.

    Examples
    --------
    >>> random.pareto(random.key(0), 3.0, (2,))
    array([1.19804395, 1.08463233])
    """
    return fnp.exp(exponential.sampler(words, shape, dtype, how) / b)


@distribution
def rayleigh(words: Any, scale: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of the Rayleigh distribution: lengths of pairs of normal numbers.

    Parameters
    ----------
    scale
        The standard deviation of the normal numbers; it has a derivative.

    Examples
    --------
    >>> random.rayleigh(random.key(0), 2.0, (2,))
    array([2.63997102, 3.49983995])
    """
    return scale * fnp.sqrt(log(unit(words, shape, dtype, how)) * dtype.type(-2))


@public
def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Any:
    """Return Weibull numbers: their distribution function is ``1 - exp(-(x / scale)**concentration)``.

    Parameters
    ----------
    scale, concentration
        Positive numbers, which have derivatives.
    shape
        The shape of the uniform numbers of which these are made; the parameters are broadcast with them.

    Returns
    -------
    array
        Of the dtype asked for.

    Examples
    --------
    >>> random.weibull_min(random.key(0), 1.0, 2.0, (2,))
    array([0.73625441, 0.49368328])
    """
    words, chosen = asked_for("weibull_min", key, dtype, float, FLOAT)
    given = [parameter("weibull_min", x, chosen) for x in (scale, concentration)]
    return run(_weibull, words, (*given,), shape_of("weibull_min", shape), chosen)


def _weibull(
    words: Any, scale: Any, concentration: Any, shape: Shape, dtype: DType, how: How
) -> Any:
    return exponential.sampler(words, shape, dtype, how) ** (1 / concentration) * scale


@distribution
def triangular(
    words: Any, left: Any, mode: Any, right: Any, shape: Shape, dtype: DType, how: How
) -> Any:
    """Return numbers whose density is a triangle.

    Parameters
    ----------
    left, mode, right
        Where it begins, where it is greatest and where it ends; they have derivatives.

    Examples
    --------
    >>> random.triangular(random.key(0), 0.0, 1.0, 3.0, (2,))
    array([1.13204461, 0.80553483])
    """
    width = right - left
    u = unit(words, shape, dtype, how)
    rising = left + fnp.sqrt(u * width * (mode - left))
    falling = right - fnp.sqrt((1 - u) * width * (right - mode))
    return fnp.where(u < (mode - left) / width, rising, falling)
