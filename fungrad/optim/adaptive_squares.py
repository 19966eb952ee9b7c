"""Scaling by means or sums of squares alone: RMSProp, Adagrad, Adadelta and relatives."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import fungrad.numpy as fnp
from fungrad.extend.precision import array
from fungrad.optim import tree
from fungrad.optim.base import (
    GradientTransformation,
    Number,
    OptState,
    Params,
    Updated,
    Updates,
    no_steps,
    refuse_complex,
    required,
    safe_increment,
    tree_map,
    zero_like,
)
from fungrad.optim.glossary import public
from fungrad.optim.halves import in_single
from fungrad.optim.moments import abs_sq

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class ScaleByRssState(NamedTuple):
    """The sum of squares of gradients."""

    sum_of_squares: Updates


class ScaleByRmsState(NamedTuple):
    """The mean of squares of gradients."""

    nu: Updates


class ScaleByRmsWithCountState(NamedTuple):
    """The number of steps and the mean of squares of gradients."""

    count: Any
    nu: Updates


class ScaleByRStdDevState(NamedTuple):
    """The mean of gradients and that of their squares."""

    mu: Updates
    nu: Updates


class ScaleByRStdDevWithCountState(NamedTuple):
    """The number of steps, the mean of gradients and that of their squares."""

    count: Any
    mu: Updates
    nu: Updates


class ScaleByAdaDeltaState(NamedTuple):
    """The means of squares of gradients and of steps."""

    e_g: Updates
    e_x: Updates


class ScaleByNovogradState(NamedTuple):
    """The number of steps, the momentum, and for each array the mean of its squared norm."""

    count: Any
    mu: Updates
    nu: Updates


class ScaleBySM3State(NamedTuple):
    """For each array and each of its axes the largest sums of squares, and the momentum."""

    mu: Updates
    nu: Updates


def inverse_root(x: Any, eps: Any) -> Any:
    """Return 1 / sqrt(x + eps), and 0 where x is not positive."""
    positive = x > 0
    return fnp.where(positive, 1 / fnp.sqrt(fnp.where(positive, x, 1) + eps), 0).astype(x.dtype)


@public
def scale_by_rss(
    initial_accumulator_value: Number = 0.1, eps: Number = 1e-07
) -> GradientTransformation:
    """Divide gradients by the root of the sum of their squares so far (J. Duchi et al., 2011).

    Parameters
    ----------
    initial_accumulator_value
        What the sums begin with.
    eps
        Added to the denominator within the root.

    Examples
    --------
    >>> tx = optim.scale_by_rss(initial_accumulator_value=0.0)
    >>> tx.update(np.array([3.0, -0.5]), tx.init(np.zeros(2)))[0]
    array([ 0.99999999, -0.9999998 ])
    """

    def init(params: Params) -> OptState:
        return ScaleByRssState(tree.full_like(params, initial_accumulator_value))

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        total = tree_map(lambda g, t: abs_sq(g) + t, updates, state.sum_of_squares)
        scaled = tree_map(lambda g, t: inverse_root(t, eps) * g, updates, total)
        return scaled, ScaleByRssState(total)

    return in_single(GradientTransformation(init, update), "sum_of_squares")


def variance(mean: Any, square: Any) -> Any:
    """Return the mean of squares less the squared mean; only the former where that is negative."""
    known = square - abs_sq(mean)
    return fnp.where(known < 0, square, known)


def reciprocal_root(variance: Any, eps: Any, eps_in_sqrt: bool) -> Any:
    """Return the reciprocal of a root, kept from infinity by eps within or without it."""
    if eps_in_sqrt:
        return 1 / fnp.sqrt(variance + eps)
    return 1 / (fnp.sqrt(variance) + eps)


@public
def scale_by_rms(
    decay: Number = 0.9,
    eps: Number = 1e-08,
    initial_scale: Number = 0.0,
    eps_in_sqrt: bool = True,
    bias_correction: bool = False,
) -> GradientTransformation:
    """Divide gradients by the root of the mean of their squares (T. Tieleman and G. Hinton, 2012).

    Examples
    --------
    >>> tx = optim.scale_by_rms(bias_correction=True)
    >>> tx.update(np.array([3.0, -0.5]), tx.init(np.zeros(2)))[0]
    array([ 1.        , -0.99999998])
    """
    return _by_means(False, decay, eps, initial_scale, eps_in_sqrt, bias_correction)


@public
def scale_by_stddev(
    decay: Number = 0.9,
    eps: Number = 1e-08,
    initial_scale: Number = 0.0,
    eps_in_sqrt: bool = True,
    bias_correction: bool = False,
) -> GradientTransformation:
    """Divide gradients by their standard deviation over the last steps (A. Graves, 2013).

    Examples
    --------
    >>> tx = optim.scale_by_stddev()
    >>> tx.update(np.array([3.0, -0.5]), tx.init(np.zeros(2)))[0]
    array([ 3.33333331, -3.33333259])
    """
    return _by_means(True, decay, eps, initial_scale, eps_in_sqrt, bias_correction)


def _by_means(
    centered: bool,
    decay: Number,
    eps: Number,
    initial_scale: Number,
    eps_in_sqrt: bool,
    bias_correction: bool,
) -> GradientTransformation:
    """Return the division by the root of the mean of squares, or by the standard deviation."""
    plain: Any = ScaleByRStdDevState if centered else ScaleByRmsState
    counting: Any = ScaleByRStdDevWithCountState if centered else ScaleByRmsWithCountState

    def init(params: Params) -> OptState:
        means = [tree.zeros_like(params)] if centered else []
        means.append(tree.full_like(params, initial_scale))
        return counting(no_steps(), *means) if bias_correction else plain(*means)

    def divided(g: Any, *means: Any) -> Any:
        square = variance(*means) if centered else means[0]
        return reciprocal_root(square, eps, eps_in_sqrt) * g

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        means = [tree.update_moment(updates, state.mu, decay, 1)] if centered else []
        means.append(tree.update_moment_per_elem_norm(updates, state.nu, decay, 2))
        if not bias_correction:
            return tree_map(divided, updates, *means), plain(*means)
        count = safe_increment(state.count)
        unbiased = [tree.bias_correction(mean, decay, count) for mean in means]
        return tree_map(divided, updates, *unbiased), counting(count, *means)

    return in_single(GradientTransformation(init, update), "nu")


@public
def scale_by_adadelta(rho: Number = 0.9, eps: Number = 1e-06) -> GradientTransformation:
    """Multiply gradients by the ratio of the sizes of recent steps and gradients (M. Zeiler, 2012).

    Parameters
    ----------
    rho
        How much of the means is kept in each step.
    eps
        Added to the means within the roots.

    Examples
    --------
    >>> tx = optim.scale_by_adadelta()
    >>> tx.update(np.array([3.0, -0.5]), tx.init(np.zeros(2)))[0]
    array([ 0.00316228, -0.00316221])
    """

    def init(params: Params) -> OptState:
        return ScaleByAdaDeltaState(tree.zeros_like(params), tree.zeros_like(params))

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        e_g = tree.update_moment(updates, state.e_g, rho, 2)
        steps = tree_map(
            lambda g, now, before: fnp.sqrt(before + eps) / fnp.sqrt(now + eps) * g,
            updates,
            e_g,
            state.e_x,
        )
        return steps, ScaleByAdaDeltaState(e_g, tree.update_moment(steps, state.e_x, rho, 2))

    return in_single(GradientTransformation(init, update), "e_g", "e_x")


@public
def scale_by_novograd(
    b1: Number = 0.9,
    b2: Number = 0.25,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    weight_decay: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
) -> GradientTransformation:
    """Give momentum to gradients divided by the norms of their arrays (B. Ginsburg et al., 2019).

    Parameters
    ----------
    b2
        How much of the mean of squared norms is kept in each step.
    weight_decay
        How much of the parameters is added to the scaled gradients.

    Examples
    --------
    >>> tx = optim.scale_by_novograd()
    >>> params = np.zeros(2)
    >>> tx.update(np.array([3.0, -4.0]), tx.init(params), params)[0]
    array([ 0.6, -0.8])
    """

    def init(params: Params) -> OptState:
        nu = tree_map(zero_like, params)
        return ScaleByNovogradState(no_steps(), tree.zeros_like(params, mu_dtype), nu)

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        params = required(params, "scale_by_novograd")
        count = safe_increment(state.count)
        first = count == 1
        squares = tree_map(lambda g: fnp.sum(abs_sq(g)), updates)
        means = tree.update_moment(squares, state.nu, b2, 1)
        nu = tree_map(
            lambda s, m, old: fnp.where(first, s, m).astype(array(old).dtype),
            squares,
            means,
            state.nu,
        )
        scaled = tree_map(
            lambda g, p, n: g / (fnp.sqrt(n + eps_root) + eps) + weight_decay * p,
            updates,
            params,
            nu,
        )
        mu = tree_map(lambda u, m: fnp.where(first, u, b1 * m + u), scaled, state.mu)
        mu = tree.cast(mu, mu_dtype)
        return mu, ScaleByNovogradState(count, mu, nu)

    return in_single(GradientTransformation(init, update), "nu")


@public
def scale_by_sm3(b1: Number = 0.9, b2: Number = 1.0, eps: Number = 1e-08) -> GradientTransformation:
    """Divide as Adagrad, by sums of squares kept as maxima along axes.

    R. Anil et al., 2019.

    Parameters
    ----------
    b1
        How much of the momentum is kept in each step.
    b2
        How much of the sums of squares is kept in each step.
    eps
        Added to the denominator within the root.

    Examples
    --------
    >>> tx = optim.scale_by_sm3()
    >>> tx.update(np.array([3.0, -0.5]), tx.init(np.zeros(2)))[0]
    array([ 0.1, -0.1])
    """

    def init(params: Params) -> OptState:
        refuse_complex(params, "scale_by_sm3")
        mu = tree_map(lambda p: [fnp.zeros_like(p, shape=n) for n in fnp.shape(p) or [()]], params)
        return ScaleBySM3State(mu, tree.zeros_like(params))

    def accumulated(g: Any, maxima: list[Any]) -> Any:
        spread = [
            fnp.reshape(v, [-1 if i == axis else 1 for i in range(g.ndim)])
            for axis, v in enumerate(maxima)
        ]
        known = spread[0] if g.ndim < 2 else functools.reduce(fnp.minimum, spread)
        return (1.0 - b2 if b2 != 1.0 else 1.0) * g**2 + b2 * known

    def along_axes(a: Any) -> list[Any]:
        if a.ndim < 2:
            return [a]
        axes = range(a.ndim)
        return [fnp.max(a, axis=tuple(j for j in axes if j != i), initial=0) for i in axes]

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        total = tree_map(accumulated, updates, state.mu)
        scaled = tree_map(lambda g, a: g * inverse_root(a, eps), updates, total)
        nu = tree.update_moment(scaled, state.nu, b1, 1)
        return nu, ScaleBySM3State(tree_map(along_axes, total), nu)

    return in_single(GradientTransformation(init, update), "mu")
