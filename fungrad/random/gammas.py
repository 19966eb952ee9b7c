"""The gamma distribution.

Numbers are found by rejection, which has no derivative; the parameters have one all the same. A number is the quantile of a
fixed probability, so its derivative follows from the implicit function theorem: M. Figurnov, S. Mohamed and A. Mnih, "Implicit
reparameterization gradients", NeurIPS 2018.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import fungrad.numpy as fnp
from fungrad.core.types import Shape
from fungrad.lax.special import random_gamma_grad
from fungrad.programs.loops.while_loop import while_loop
from fungrad.programs.rules.custom_jvp import custom_jvp
from fungrad.random import generators
from fungrad.random.continuous import of_parameters
from fungrad.random.dtypes import (
    DType,
    limits_of,
    not_here,
)
from fungrad.random.generators import How
from fungrad.random.glossary import public
from fungrad.random.logarithms import log
from fungrad.random.normals import standard
from fungrad.random.uniforms import unit
from fungrad.transforms.vmap import vmap

Sampler = Callable[..., Any]


def each(sampler: Sampler, *static: Any) -> Sampler:
    """Return a function of an array of keys that draws for each: ``sampler(key, *static)``."""
    return vmap(lambda words: sampler(words, *static))


def _chosen(mask: Any, new: Any, old: Any) -> Any:
    """Return the new values where a mask is true, of arrays with axes beyond those of the mask too."""
    return fnp.where(mask.reshape(mask.shape + (1,) * (new.ndim - mask.ndim)), new, old)


def _marsaglia_tsang(words: Any, d: Any, how: How) -> Any:
    """Return numbers V such that d V is of the gamma distribution of shape ``d + 1 / 3``; one for each key.

    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
    Software 26, 2000. Each number goes on with its own key until it is accepted, so it does not depend on the others.
    """
    dtype = d.dtype
    one, half, squeeze = dtype.type(1), dtype.type(0.5), dtype.type(0.0331)
    c = dtype.type(1 / 3) / fnp.sqrt(d)
    split_in_two = each(generators.split, (2,), how)
    split_in_three = each(generators.split, (3,), how)
    normals = each(standard, (), dtype, how)
    uniforms = each(unit, (), dtype, how)

    def next_normal(state: Any) -> Any:
        keys, x, v = state
        pairs = split_in_two(keys)
        drawn = normals(pairs[:, 1])
        missing = v <= 0
        return (
            _chosen(missing, pairs[:, 0], keys),
            fnp.where(missing, drawn, x),
            fnp.where(missing, one + drawn * c, v),
        )

    def attempt(state: Any) -> Any:
        keys, found, going = state
        triples = split_in_three(keys)
        start = (triples[:, 1], fnp.zeros_like(d), fnp.full_like(d, -1))
        _, x, v = while_loop(lambda s: fnp.any(s[2] <= 0), next_normal, start)
        x, v = x * x, v * v * v
        u = uniforms(triples[:, 2])
        rejected = (u >= one - squeeze * (x * x)) & (
            log(u) >= x * half + d * ((one - v) + fnp.log(v))
        )
        return triples[:, 0], fnp.where(going, v, found), going & rejected

    start = (words, fnp.ones_like(d), fnp.ones(d.shape, bool))
    return while_loop(lambda state: fnp.any(state[2]), attempt, start)[1]


def _drawn(words: Any, a: Any, in_logs: bool, how: How) -> Any:
    """Return gamma numbers of the shapes `a`, or their logarithms.

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
    if in_logs:
        logarithm = fnp.log1p(-u)
        none = large | (logarithm == 0)
        boost = fnp.where(none, dtype.type(0), logarithm * (one / a))
        return (fnp.log(d) + fnp.log(v) + boost).reshape(shape)
    return (d * v * fnp.where(large, one, (one - u) ** (one / a))).reshape(shape)


@functools.partial(custom_jvp, nondiff_argnums=(2, 3))
def _gamma(words: Any, a: Any, in_logs: bool, how: How) -> Any:
    return _drawn(words, a, in_logs, how)


@_gamma.defjvp
def _(in_logs: bool, how: How, primals: Any, tangents: Any) -> Any:
    words, a = primals
    out = _gamma(words, a, in_logs, how)
    if not in_logs:
        return out, tangents[1] * random_gamma_grad(a, out)
    number = fnp.exp(out)
    number = fnp.where(number == 0, a.dtype.type(limits_of(a.dtype).tiny), number)
    return out, tangents[1] * (random_gamma_grad(a, number) / number)


def _gammas(words: Any, a: Any, shape: Shape, dtype: DType, in_logs: bool, how: How) -> Any:
    if not math.prod(shape):
        return fnp.zeros(shape, dtype)
    return _gamma(words, fnp.broadcast_to(a.astype(dtype), shape), in_logs, how)


def plain(words: Any, a: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return numbers of the gamma distribution."""
    return _gammas(words, a, shape, dtype, False, how)


def logarithms(words: Any, a: Any, shape: Shape, dtype: DType, how: How) -> Any:
    """Return logarithms of such numbers."""
    return _gammas(words, a, shape, dtype, True, how)


@public
def gamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Return numbers of the gamma distribution, of density ``x**(a - 1) * exp(-x)`` times a constant.

    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
    Software 26, 2000.

    Parameters
    ----------
    a
        The shape parameter, positive; it has a derivative.

    Returns
    -------
    array
        Of the shape and dtype asked for.

    Examples
    --------
    >>> random.gamma(random.key(0), 2.0, (2,))
    array([1.3520308 , 1.12435945])
    >>> fg.grad(lambda a: random.gamma(random.key(0), a))(2.0)
    np.float64(0.8862622600100416)
    """
    not_here("gamma", out_sharding)
    return of_parameters("gamma", plain, key, (a,), shape, dtype)


@public
def loggamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Return the logarithms of numbers of the gamma distribution, which for small `a` are too close to 0 themselves.

    Parameters
    ----------
    a
        The shape parameter, positive; it has a derivative.

    Returns
    -------
    array
        Of the shape and dtype asked for.

    Examples
    --------
    >>> random.loggamma(random.key(0), 0.001, (2,))
    array([-1113.02584633, -2280.53575798])
    """
    not_here("loggamma", out_sharding)
    return of_parameters("loggamma", logarithms, key, (a,), shape, dtype)
