"""Distributions derived from the gamma distribution, with derivatives by their parameters."""

from __future__ import annotations

import math
import operator
from typing import Any

import fungrad.numpy as fnp
from fungrad.core.types import Shape, type_of
from fungrad.primitives.elementwise import stop_gradient
from fungrad.random import generators
from fungrad.random.continuous import exponential
from fungrad.random.distributions import distribution
from fungrad.random.dtypes import FLOAT, DType, check_shape, limits_of, parameter, shape_of
from fungrad.random.gammas import applied, logarithms
from fungrad.random.generators import How
from fungrad.random.glossary import public
from fungrad.random.keys import asked_for
from fungrad.random.normals import standard
from fungrad.random.programs import run
from fungrad.random.uniforms import heads_or_tails


def _drawable(largest: Any) -> Any:
    """Return a factor for parameters, by their largest, that makes logarithms of gamma numbers finite.

    All of parameters so small is on one corner, each as often as its part of their sum: a factor does not matter.
    """
    one = largest.dtype.type(1)
    least = largest.dtype.type(64 / float(limits_of(largest.dtype).max))
    tiny = (largest < least) & (largest > 0)
    return stop_gradient(fnp.where(tiny, least / fnp.where(tiny, largest, one), one))


@distribution
def beta(words: Any, a: Any, b: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return beta numbers, of density ``x**(a - 1) * (1 - x)**(b - 1)`` times a constant.

    Parameters
    ----------
    a, b
        The shape parameters, positive; they have derivatives.

    Examples
    --------
    >>> random.beta(random.key(0), 2.0, 3.0, (2,))
    array([0.32795607, 0.61380901])
    """
    keys = generators.split(words, (2,), how)
    factor = _drawable(fnp.maximum(a, b))
    a, b = a * factor, b * factor
    x, y = (
        logarithms(keys[0], a, shape, dtype, how),
        logarithms(keys[1], b, shape, dtype, how),
    )
    top = fnp.maximum(x, y)
    x, y = fnp.exp(x - top), fnp.exp(y - top)
    return x / (x + y)


@public
def dirichlet(
    key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Return vectors of the Dirichlet distribution: of positive numbers whose sum is 1.

    Parameters
    ----------
    alpha
        The concentrations, along the last axis; they have derivatives.
    shape
        The shape of the result without its last axis: by default that of `alpha`.

    Returns
    -------
    array
        Of the shape asked for and an axis of vectors.

    Examples
    --------
    >>> random.dirichlet(random.key(0), np.array([1.0, 2.0]))
    array([0.29722649, 0.70277351])
    """
    words, chosen = asked_for("dirichlet", key, dtype, float, FLOAT, out_sharding)
    a = parameter("dirichlet", alpha, chosen)
    if not a.ndim:
        raise ValueError(
            "random.dirichlet: alpha is an array whose last axis are the concentrations, not a number"
        )
    leading = a.shape[:-1] if shape is None else shape_of("dirichlet", shape)
    check_shape("dirichlet", leading, [a.shape[:-1]])
    return run(_dirichlet, words, (a,), (*leading, a.shape[-1]), chosen)


def _dirichlet(words: Any, a: Any, shape: Shape, dtype: DType, how: How) -> Any:
    a = a * _drawable(fnp.max(a, -1, keepdims=True))
    x = logarithms(words, a, shape, dtype, how)
    x = fnp.exp(x - stop_gradient(fnp.max(x, -1, keepdims=True)))
    return x / fnp.sum(x, -1, keepdims=True)


@distribution
def chisquare(words: Any, df: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of the chi-squared distribution: sums of squares of normal numbers.

    Parameters
    ----------
    df
        The degrees of freedom, positive; they have a derivative.

    Examples
    --------
    >>> random.chisquare(random.key(0), 3.0, (2,))
    array([1.81389348, 1.44835385])
    """
    return fnp.exp(logarithms(words, df / 2, shape, dtype, how)) * 2


@distribution
def f(words: Any, dfnum: Any, dfden: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return F numbers: quotients of chi-squared numbers, each over its degrees of freedom.

    Parameters
    ----------
    dfnum, dfden
        The degrees of freedom of numerator and denominator, positive; they have derivatives.

    Examples
    --------
    >>> random.f(random.key(0), 3.0, 5.0, (2,))
    array([1.54798047, 0.35745633])
    """
    keys = generators.split(words, (2,), how)
    x = logarithms(keys[1], dfnum / 2, shape, dtype, how)
    y = logarithms(keys[0], dfden / 2, shape, dtype, how)
    # Of few degrees of freedom both numbers may be too close to 0 themselves: their quotient is not.
    least = math.log(float(limits_of(dtype).tiny))
    tiny = (x < least) | (y < least)
    top, bottom = fnp.where(tiny, x - y, x), fnp.where(tiny, dtype.type(0), y)
    return (fnp.exp(top) * 2 / dfnum) / (fnp.exp(bottom) * 2 / dfden)


@distribution
def t(words: Any, df: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of Student's t distribution.

    Parameters
    ----------
    df
        The degrees of freedom, positive; they have a derivative.

    Examples
    --------
    >>> random.t(random.key(0), 3.0, (2,))
    array([ 1.40115888, -0.60724612])
    """
    keys = generators.split(words, (2,), how)
    half = df / 2
    numbers = standard(keys[0], shape, dtype, how)
    root = lambda x: fnp.sqrt(half / x)
    by_logarithm = lambda x: fnp.sqrt(half) * fnp.exp(x / -2)
    return numbers * applied(root, by_logarithm, keys[1], half, shape, dtype, how)


@public
def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Return numbers of density ``exp(-abs(x)**p)`` times a constant.

    Parameters
    ----------
    p
        The exponent, a positive number; it has a derivative.

    Examples
    --------
    >>> random.generalized_normal(random.key(0), 4.0, (2,))
    array([ 0.70833083, -0.98146637])
    """
    name = "generalized_normal"
    words, chosen = asked_for(name, key, dtype, float, FLOAT, out_sharding)
    drawn_shape = shape_of(name, shape)
    check_shape(name, drawn_shape, [type_of(p).shape])
    return run(_generalized, words, _exponents(name, p, chosen), drawn_shape, chosen)


def _exponents(name: str, p: Any, dtype: DType) -> tuple[Any, Any]:
    """Return an exponent and its reciprocal's argument."""
    return parameter(name, p, dtype), parameter(name, 1 / p, dtype)


def _generalized(words: Any, p: Any, inverse: Any, shape: Shape, dtype: DType, how: How) -> Any:
    keys = generators.split(words, (2,), how)
    power, by_logarithm = lambda x: x**inverse, lambda x: fnp.exp(x * inverse)
    sizes = applied(power, by_logarithm, keys[0], inverse, shape, dtype, how)
    return heads_or_tails(keys[1], shape, dtype, how) * sizes


@public
def ball(
    key: Any,
    d: Any,
    p: Any = 2,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return points uniformly distributed in the unit ball of an Lp norm.

    F. Barthe, O. Guédon, S. Mendelson and A. Naor, "A probabilistic approach to the geometry of the lp-ball", The Annals of
    Probability 33, 2005.

    Parameters
    ----------
    d
        The dimension.
    p
        The exponent of the norm.
    shape
        The shape of the result without its last axis.

    Returns
    -------
    array
        Of shape ``(*shape, d)``.

    Examples
    --------
    >>> random.ball(random.key(0), 3)
    array([-0.86703795, -0.45310376,  0.084509  ])
    """
    words, chosen = asked_for("ball", key, dtype, float, FLOAT, out_sharding)
    leading = shape_of("ball", shape)
    check_shape("ball", (), [type_of(p).shape])
    return run(_ball, words, _exponents("ball", p, chosen), leading, chosen, operator.index(d))


def _ball(words: Any, p: Any, inverse: Any, shape: Shape, dtype: DType, d: int, how: How) -> Any:
    keys = generators.split(words, (2,), how)
    x = _generalized(keys[0], p, inverse, (*shape, d), dtype, how)
    e = exponential.sampler(keys[1], shape, dtype, how)
    return x / ((fnp.abs(x) ** p).sum(-1) + e)[..., None] ** inverse
