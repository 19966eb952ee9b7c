"""Numbers that are normally distributed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import Shape
from fungrad.lax.special import erf
from fungrad.primitives.elementwise import stop_gradient
from fungrad.random import generators
from fungrad.random.distributions import distribution
from fungrad.random.dtypes import COMPLEX, FLOAT, DType, common_shape, parameter, shape_of
from fungrad.random.erfinv import differentiable_erfinv, erfinv
from fungrad.random.generators import How
from fungrad.random.glossary import public
from fungrad.random.keys import asked_for
from fungrad.random.programs import run
from fungrad.random.uniforms import between, heads_or_tails, unit


def standard(words: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return normal numbers of mean 0 and variance 1; complex ones have parts of variance 1/2."""
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        keys = generators.split(words, (2,), how)
        real, imaginary = [standard(k, shape, part, how).astype(dtype) for k in keys]
        return (real + dtype.type(1j) * imaginary) / dtype.type(np.sqrt(2))
    least = np.nextafter(dtype.type(-1), dtype.type(0))
    u = between(words, least, dtype.type(1), shape, dtype, True, how)
    return dtype.type(np.sqrt(2)) * erfinv(u)


@public
def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Return numbers that are normally distributed, with mean 0 and variance 1.

    Parameters
    ----------
    dtype
        The dtype of the result: float64 by default, or any other of floating-point or complex numbers. Of complex numbers
        each part has variance 1/2.

    Examples
    --------
    >>> random.normal(random.key(0), (2,))
    array([-0.20584214, -0.78476578])
    """
    words, chosen = asked_for("normal", key, dtype, float, COMPLEX, out_sharding)
    return run(standard, words, (), shape_of("normal", shape), chosen)


# Made of normal numbers


@functools.partial(distribution, sigma=1.0)
def lognormal(words: Any, sigma: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers whose logarithms are normally distributed, with mean 0.

    Parameters
    ----------
    sigma
        The standard deviation of the logarithms; it has a derivative.

    Examples
    --------
    >>> random.lognormal(random.key(0), 0.5, (2,))
    array([0.90219818, 0.67544544])
    """
    return fnp.exp(standard(words, shape, dtype, how) * sigma)


@distribution
def truncated_normal(
    words: Any, lower: Any, upper: Any, shape: Shape, dtype: DType, how: How
) -> Any:
    """Return normally distributed numbers of those that lie between two bounds.

    Parameters
    ----------
    lower, upper
        The bounds, in standard deviations; they have derivatives.

    Examples
    --------
    >>> random.truncated_normal(random.key(0), -1.0, 1.0, (2,))
    array([-0.13999612, -0.50631466])
    """
    root = dtype.type(np.sqrt(2))
    low, high = erf(lower / root), erf(upper / root)
    u = between(words, low, high, shape, dtype, False, how)
    numbers = root * differentiable_erfinv(u)
    # Rounding must not take a number to a bound.
    least = fnp.nextafter(stop_gradient(lower), dtype.type(np.inf))
    most = fnp.nextafter(stop_gradient(upper), dtype.type(-np.inf))
    return fnp.minimum(fnp.maximum(numbers, least), most)


@distribution
def maxwell(words: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of the Maxwell distribution: lengths of triples of normal numbers.

    Examples
    --------
    >>> random.maxwell(random.key(0), (2,))
    array([1.98906991, 0.42460738])
    """
    x = standard(words, (*shape, 3), dtype, how)
    wide = np.result_type(dtype, np.float32)
    return fnp.sqrt((x * x).sum(-1, dtype=wide).astype(dtype))


@public
def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Return numbers of the Maxwell distribution with a random sign.

    Parameters
    ----------
    loc, scale
        What is added to a number, and what it is multiplied by; they have derivatives.
    shape
        What comes in the shape of the result before that of the parameters; by default that once more, as in JAX.

    Returns
    -------
    array
        Of the dtype asked for.

    Examples
    --------
    >>> random.double_sided_maxwell(random.key(0), 0.0, 1.0, (2,))
    array([ 1.98461204, -2.4782074 ])
    """
    name = "double_sided_maxwell"
    words, chosen = asked_for(name, key, dtype, float, FLOAT)
    loc, scale = [parameter(name, x, chosen) for x in (loc, scale)]
    own = common_shape(name, None, loc, scale)
    leading = shape_of(name, shape) or own
    return run(_double_sided, words, (loc, scale), (*leading, *own), chosen)


def _double_sided(words: Any, loc: Any, scale: Any, shape: Shape, dtype: DType, how: How) -> Any:
    lengths, signs = generators.split(words, (2,), how)
    sides = heads_or_tails(signs, shape, dtype, how)
    return sides * maxwell.sampler(lengths, shape, dtype, how) * scale + loc


@distribution
def wald(words: Any, mean: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of Wald's distribution, the inverse Gaussian one, of scale 1.

    J. R. Michael, W. R. Schucany and R. W. Haas, "Generating random variates using transformations with multiple roots",
    The American Statistician 30, 1976.

    Parameters
    ----------
    mean
        The mean, positive; it has a derivative.

    Examples
    --------
    >>> random.wald(random.key(0), 2.0, (2,))
    array([0.22327945, 3.90085525])
    """
    first, second = generators.split(words, (2,), how)
    y = standard(first, shape, dtype, how) ** 2
    u = unit(second, shape, dtype, how)
    square = mean**2
    root = fnp.sqrt(4 * mean * y + square * y**2)
    x = mean + square * y / 2 - mean / 2 * root
    return fnp.where(u <= mean / (mean + x), x, square / x)
