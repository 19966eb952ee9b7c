"""The gamma distribution.

Numbers are found by rejection, which has no derivative; the parameters have one all the same. A number is the quantile of a
fixed probability, so its derivative follows from the implicit function theorem: M. Figurnov, S. Mohamed and A. Mnih, "Implicit
reparameterization gradients", NeurIPS 2018.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal

import fungrad.numpy as fnp
from fungrad.core.types import Shape
from fungrad.lax.special import digamma, random_gamma_grad
from fungrad.numpy.at import at
from fungrad.programs.loops.while_loop import while_loop
from fungrad.programs.rules.custom_jvp import custom_jvp
from fungrad.random import generators
from fungrad.random.distributions import distribution
from fungrad.random.dtypes import DType, limits_of
from fungrad.random.generators import How
from fungrad.random.logarithms import log
from fungrad.random.normals import standard
from fungrad.random.uniforms import unit
from fungrad.transforms.vmap import vmap

Sampler = Callable[..., Any]


def each(sampler: Sampler, *static: Any) -> Sampler:
    """Return a function of an array of keys that draws for each: ``sampler(key, *static)``."""
    return vmap(lambda words: sampler(words, *static))


Lanes = tuple[Any, ...]
"""Arrays whose first axis are the numbers that are looked for."""

MANY = 1 << 12
"""How many numbers there are at least for those that have been rejected to be looked at apart."""


def _merged(mask: Any, new: Lanes, old: Lanes) -> Lanes:
    """Return the new values where a mask is true, of arrays with axes beyond those of the mask too."""
    shaped = [mask.reshape(mask.shape + (1,) * (x.ndim - 1)) for x in new]
    return tuple([fnp.where(m, x, y) for m, x, y in zip(shaped, new, old, strict=True)])


def _until_accepted(step: Callable[[Lanes], tuple[Lanes, Any]], lanes: Lanes) -> Lanes:
    """Run steps, which return new values and their rejections, until nothing is rejected.

    Numbers do not depend on each other. So where there are many, those rejected at first, of which there are few, go on
    among themselves.
    """

    def run(state: tuple[Lanes, Any]) -> tuple[Lanes, Any]:
        lanes, going = state
        new, rejected = step(lanes)
        return _merged(going, new, lanes), going & rejected

    size = lanes[0].shape[0]
    state = (lanes, fnp.ones(size, bool))
    goes_on = lambda state: fnp.any(state[1])
    if size >= MANY:
        lanes, going = run(state)
        places = fnp.argsort(~going, kind="stable")[: size // 8]
        state = (tuple([x[places] for x in lanes]), going[places])
        accepted, _ = while_loop(goes_on, run, state)
        lanes = tuple([at(x)[places].set(y) for x, y in zip(lanes, accepted, strict=True)])
        state = (lanes, at(going)[places].set(False))
    return while_loop(goes_on, run, state)[0]


def _marsaglia_tsang(words: Any, d: Any, how: How) -> Any:
    """Return V, one per key, such that d V is gamma-distributed with shape ``d + 1 / 3``.

    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
    Software 26, 2000. Each number goes on with its own key until it is accepted.
    """
    dtype = d.dtype
    one, half, squeeze = dtype.type(1), dtype.type(0.5), dtype.type(0.0331)
    split_in_two = each(generators.split, (2,), how)
    split_in_three = each(generators.split, (3,), how)
    normals = each(standard, (), dtype, how)
    uniforms = each(unit, (), dtype, how)

    def next_normal(lanes: Lanes) -> tuple[Lanes, Any]:
        keys, _, _, c = lanes
        pairs = split_in_two(keys)
        x = normals(pairs[:, 1])
        v = one + x * c
        return (pairs[:, 0], x, v, c), v <= 0

    def attempt(lanes: Lanes) -> tuple[Lanes, Any]:
        keys, _, d, c = lanes
        triples = split_in_three(keys)
        _, x, v, _ = _until_accepted(next_normal, (triples[:, 1], c, c, c))
        x, v = x * x, v * v * v
        u = uniforms(triples[:, 2])
        below = log(u) >= x * half + d * ((one - v) + fnp.log(v))
        return (triples[:, 0], v, d, c), (u >= one - squeeze * (x * x)) & below

    return _until_accepted(attempt, (words, d, d, dtype.type(1 / 3) / fnp.sqrt(d)))[1]


Form = Literal["numbers", "logarithms", "both"]


def _drawn(words: Any, a: Any, form: Form, how: How) -> Any:
    """Return gamma numbers of the shapes `a`, their logarithms, or both.

    Of shapes below 1 they are those of ``a + 1``, times a power of a uniform number.
    """
    dtype, shape = a.dtype, a.shape
    a = a.reshape(-1)
    one = dtype.type(1)
    large = a >= one
    d = fnp.where(large, a, a + one) - dtype.type(1 / 3)
    keys = generators.split(words, (a.shape[0],), how)
    pairs = each(generators.split, (2,), how)(keys)
    v = _marsaglia_tsang(pairs[:, 0], d, how)
    u = each(unit, (), dtype, how)(pairs[:, 1])
    numbers = d * v * fnp.where(large, one, (one - u) ** (one / a)) if form != "logarithms" else v
    if form == "numbers":
        return numbers.reshape(shape)
    logarithm = fnp.log1p(-u)
    none = large | (logarithm == 0)
    boost = fnp.where(none, dtype.type(0), logarithm * (one / a))
    logarithms = (fnp.log(d) + fnp.log(v) + boost).reshape(shape)
    return logarithms if form == "logarithms" else (numbers.reshape(shape), logarithms)


@functools.partial(custom_jvp, nondiff_argnums=(2, 3))
def _gamma(words: Any, a: Any, form: Form, how: How) -> Any:
    return _drawn(words, a, form, how)


@_gamma.defjvp
def _(form: Form, how: How, primals: Any, tangents: Any) -> Any:
    words, a = primals
    out = _gamma(words, a, form, how)
    if form == "numbers":
        return out, tangents[1] * random_gamma_grad(a, out)
    number, logarithm = out if form == "both" else (None, out)
    slope = tangents[1] * _slope_of_logarithm(a, logarithm)
    return out, slope if number is None else (slope * number, slope)


def _slope_of_logarithm(a: Any, out: Any) -> Any:
    """Return the derivative by `a` of the logarithm of a number, which may be too close to 0 itself."""
    limits, one = limits_of(a.dtype), a.dtype.type(1)
    # The probability of less than such a number is x**a / gamma(a + 1), up to rounding.
    near = out < math.log(float(limits.eps))
    number = fnp.exp(fnp.where(near, 0 * one, out))
    rise = digamma(a + one) - fnp.where(near, out, 0 * one)
    # Not infinite, since the exponential that it may be multiplied by next is 0.
    steep = near & (rise > limits.max * fnp.minimum(a, one))
    tail = fnp.where(steep, limits.max, rise / fnp.where(near & ~steep, a, one))
    return fnp.where(near, tail, random_gamma_grad(a, number) / number)


def _gammas(words: Any, a: Any, shape: Shape, dtype: DType, form: Form, how: How) -> Any:
    if not math.prod(shape):
        none = fnp.zeros(shape, dtype)
        return (none, none) if form == "both" else none
    return _gamma(words, fnp.broadcast_to(a.astype(dtype), shape), form, how)


def plain(words: Any, a: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of the gamma distribution."""
    return _gammas(words, a, shape, dtype, "numbers", how)


def logarithms(words: Any, a: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return logarithms of such numbers."""
    return _gammas(words, a, shape, dtype, "logarithms", how)


def applied(
    f: Callable[[Any], Any],
    of_logarithm: Callable[[Any], Any],
    words: Any,
    a: Any,
    shape: Shape,
    dtype: DType,
    how: How,
) -> Any:
    """Return a function of such numbers, by their logarithms where they are too close to 0 themselves."""
    number, logarithm = _gammas(words, a, shape, dtype, "both", how)
    normal = number >= limits_of(dtype).tiny
    by_logarithm = of_logarithm(fnp.where(normal, dtype.type(0), logarithm))
    return fnp.where(normal, f(fnp.where(normal, number, dtype.type(1))), by_logarithm)


@distribution
def gamma(words: Any, a: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of the gamma distribution, of density ``x**(a - 1) * exp(-x)`` times a constant.

    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
    Software 26, 2000.

    Parameters
    ----------
    a
        The shape parameter, positive; it has a derivative.

    Examples
    --------
    >>> random.gamma(random.key(0), 2.0, (2,))
    array([1.3520308 , 1.12435945])
    >>> fg.grad(lambda a: random.gamma(random.key(0), a))(2.0)
    np.float64(0.886262260010)
    """
    return plain(words, a, shape, dtype, how)


@distribution
def loggamma(words: Any, a: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return logarithms of gamma numbers, which for small `a` are too close to 0 themselves.

    Parameters
    ----------
    a
        The shape parameter, positive; it has a derivative.

    Examples
    --------
    >>> random.loggamma(random.key(0), 0.001, (2,))
    array([-1113.02584633, -2280.53575798])
    """
    return logarithms(words, a, shape, dtype, how)
