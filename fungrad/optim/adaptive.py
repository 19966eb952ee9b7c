"""Scaling by running means of gradients and of their squares: Adam and its relatives."""

from __future__ import annotations

from collections.abc import Callable
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
    safe_increment,
    tree_map,
)
from fungrad.optim.glossary import public
from fungrad.optim.halves import in_single
from fungrad.optim.moments import abs_sq
from fungrad.typing import Array

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class ScaleByAdamState(NamedTuple):
    """The number of steps, the mean of gradients and that of their squares."""

    count: Any
    mu: Updates
    nu: Updates


class ScaleByAmsgradState(NamedTuple):
    """The state of Adam and the largest mean of squares so far."""

    count: Any
    mu: Updates
    nu: Updates
    nu_max: Updates


class ScaleByBeliefState(NamedTuple):
    """The number of steps, the mean of gradients and that of squared deviations from it."""

    count: Any
    mu: Updates
    nu: Updates


class ScaleByAdanState(NamedTuple):
    """Means of gradients, of their differences and of squares; the last gradient; the number of steps."""

    m: Updates
    v: Updates
    n: Updates
    g: Updates
    t: Array


def expected(updates: Updates, mu: Updates, b1: Any, count: Any, nesterov: bool) -> Updates:
    """Return the unbiased mean of gradients; with `nesterov`, that of the next step as far as known."""
    if not nesterov:
        return tree.bias_correction(mu, b1, count)
    ahead = tree.bias_correction(mu, b1, safe_increment(count))
    now = tree.bias_correction(updates, b1, count)
    return tree_map(lambda m, g: b1 * m + (1 - b1) * g, ahead, now)


def quotient(mu: Updates, nu: Updates, eps: Any, eps_root: Any) -> Updates:
    """Return means of gradients divided by the roots of means of squares."""
    return tree_map(lambda m, v: m / (fnp.sqrt(v + eps_root) + eps), mu, nu)


def scaling_by_means(
    formula: Callable[[Updates, Any, Array], tuple[Updates, ...]],
    state_of: type[ScaleByAdamState | ScaleByAmsgradState | ScaleByBeliefState] = ScaleByAdamState,
    mu_dtype: DTypeLike | None = None,
    start: Number = 0.0,
) -> GradientTransformation:
    """Return a transformation from its formula: of updates, the last state and the number of steps.

    The formula gives the result and the new means, which begin with `start`, in the order of the state's fields.
    """
    divided = [name for name in state_of._fields if name.startswith("nu")]

    def init(params: Params) -> OptState:
        mu = tree.full_like(params, start, mu_dtype)
        return state_of(no_steps(), mu, *[tree.full_like(params, start) for _ in divided])

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        count = safe_increment(state.count)
        scaled, mu, *others = formula(updates, state, count)
        return scaled, state_of(count, tree.cast(mu, mu_dtype), *others)

    return in_single(GradientTransformation(init, update), *divided)


@public
def scale_by_adam(
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Divide the mean of gradients by the root of the mean of their squares (D. Kingma and J. Ba, 2014).

    Examples
    --------
    >>> tx = optim.scale_by_adam()
    >>> tx.update(np.array([30.0, -5.0]), tx.init(np.zeros(2)))[0]
    array([ 1., -1.])
    """

    def formula(updates: Updates, state: Any, count: Array) -> tuple[Updates, ...]:
        mu = tree.update_moment(updates, state.mu, b1, 1)
        nu = tree.update_moment_per_elem_norm(updates, state.nu, b2, 2)
        mu_hat = expected(updates, mu, b1, count, nesterov)
        scaled = quotient(mu_hat, tree.bias_correction(nu, b2, count), eps, eps_root)
        return scaled, mu, tree_map(lambda v, old: v.astype(array(old).dtype), nu, state.nu)

    return scaling_by_means(formula, ScaleByAdamState, mu_dtype)


@public
def scale_by_amsgrad(
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    bias_correction_mu: bool = True,
    bias_correction_nu: bool = True,
) -> GradientTransformation:
    """Divide as Adam does, by the largest mean of squares so far (S. Reddi et al., 2018).

    Parameters
    ----------
    bias_correction_mu, bias_correction_nu
        Whether the means are divided by the sum of their weights, as their first value is 0.

    Examples
    --------
    >>> tx = optim.scale_by_amsgrad()
    >>> tx.update(np.array([30.0, -5.0]), tx.init(np.zeros(2)))[0]
    array([ 1., -1.])
    """

    def formula(updates: Updates, state: Any, count: Array) -> tuple[Updates, ...]:
        mu = tree.update_moment(updates, state.mu, b1, 1)
        nu = tree.update_moment_per_elem_norm(updates, state.nu, b2, 2)
        mu_hat = tree.bias_correction(mu, b1, count) if bias_correction_mu else mu
        nu_hat = tree.bias_correction(nu, b2, count) if bias_correction_nu else nu
        nu_max = tree_map(fnp.maximum, nu_hat, state.nu_max)
        return quotient(mu_hat, nu_max, eps, eps_root), mu, nu, nu_max

    return scaling_by_means(formula, ScaleByAmsgradState, mu_dtype)


@public
def scale_by_adamax(
    b1: Number = 0.9, b2: Number = 0.999, eps: Number = 1e-08
) -> GradientTransformation:
    """Divide the mean of gradients by their largest absolute value (D. Kingma and J. Ba, 2014).

    Parameters
    ----------
    eps
        Added to the absolute values.

    Examples
    --------
    >>> tx = optim.scale_by_adamax()
    >>> tx.update(np.array([30.0, -5.0]), tx.init(np.zeros(2)))[0]
    array([ 1., -1.])
    """

    def formula(updates: Updates, state: Any, count: Array) -> tuple[Updates, ...]:
        mu = tree.update_moment(updates, state.mu, b1, 1)
        nu = tree.update_infinity_moment(updates, state.nu, b2, eps)
        return tree_map(lambda m, v: m / v, tree.bias_correction(mu, b1, count), nu), mu, nu

    return scaling_by_means(formula)


@public
def scale_by_belief(
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-16,
    eps_root: Number = 1e-16,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Divide the mean of gradients by the root of their variance about it (J. Zhuang et al., 2020).

    Examples
    --------
    >>> tx = optim.scale_by_belief()
    >>> tx.update(np.array([3.0, -0.5]), tx.init(np.zeros(2)))[0]
    array([ 1.11111111, -1.11111111])
    """

    def formula(updates: Updates, state: Any, count: Array) -> tuple[Updates, ...]:
        mu = tree.update_moment(updates, state.mu, b1, 1)
        error = tree_map(lambda g, m: g - m, updates, mu)
        nu = tree.update_moment_per_elem_norm(error, state.nu, b2, 2)
        nu = tree_map(lambda v: v + eps_root, nu)
        mu_hat = expected(updates, mu, b1, count, nesterov)
        return quotient(mu_hat, tree.bias_correction(nu, b2, count), eps, 0), mu, nu

    return scaling_by_means(formula, ScaleByBeliefState)


@public
def scale_by_yogi(
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 0.001,
    eps_root: Number = 0.0,
    initial_accumulator_value: Number = 1e-06,
) -> GradientTransformation:
    """Divide as Adam does, by a mean of squares that falls slowly (M. Zaheer et al., 2018).

    Parameters
    ----------
    initial_accumulator_value
        What both means begin with.

    Examples
    --------
    >>> tx = optim.scale_by_yogi()
    >>> tx.update(np.array([3.0, -0.5]), tx.init(np.zeros(2)))[0]
    array([ 0.99961426, -0.99599999])
    """

    def toward(g: Any, v: Any) -> Any:
        square = abs_sq(g)
        return v - (1 - b2) * fnp.sign(v - square) * square

    def formula(updates: Updates, state: Any, count: Array) -> tuple[Updates, ...]:
        mu = tree.update_moment(updates, state.mu, b1, 1)
        nu = tree_map(toward, updates, state.nu)
        mu_hat = tree.bias_correction(mu, b1, count)
        return quotient(mu_hat, tree.bias_correction(nu, b2, count), eps, eps_root), mu, nu

    return scaling_by_means(formula, start=initial_accumulator_value)


@public
def scale_by_radam(
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    threshold: Number = 5.0,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Divide as Adam does, once the mean of squares has enough values to be trusted.

    L. Liu et al., 2020.

    Parameters
    ----------
    threshold
        The number of independent values from which on it divides.

    Examples
    --------
    >>> tx = optim.scale_by_radam()
    >>> tx.update(np.array([3.0, -0.5]), tx.init(np.zeros(2)))[0]
    array([ 3. , -0.5])
    """
    most = 2.0 / (1.0 - b2) - 1.0

    def formula(updates: Updates, state: Any, count: Array) -> tuple[Updates, ...]:
        mu = tree.update_moment(updates, state.mu, b1, 1)
        nu = tree.update_moment_per_elem_norm(updates, state.nu, b2, 2)
        weight = b2**count
        length = most - 2 * count * weight / (1 - weight)
        enough = length >= threshold
        # The root is of a negative number for lengths below 4, where the result is thrown away.
        known = fnp.where(length > 4.0, length, most)
        r = fnp.sqrt((known - 4.0) * (known - 2.0) * most / ((most - 4.0) * (most - 2.0) * known))
        mu_hat = expected(updates, mu, b1, count, nesterov)
        nu_hat = tree.bias_correction(nu, b2, count)

        def rectified(m: Any, v: Any) -> Any:
            scaled = r.astype(m.dtype) * m / (fnp.sqrt(v + eps_root) + eps)
            return fnp.where(enough, scaled, m)

        return tree_map(rectified, mu_hat, nu_hat), mu, nu

    return scaling_by_means(formula)


@public
def scale_by_adan(
    b1: Number = 0.98,
    b2: Number = 0.92,
    b3: Number = 0.99,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
) -> GradientTransformation:
    """Divide the mean of gradients and of their differences by the root of a mean of squares.

    X. Xie et al., 2022.

    Parameters
    ----------
    b2
        How much of the mean of differences is kept in each step.
    b3
        How much of the mean of squares is kept in each step.

    Examples
    --------
    >>> tx = optim.scale_by_adan()
    >>> tx.update(np.array([30.0, -5.0]), tx.init(np.zeros(2)))[0]
    array([ 1., -1.])
    """

    def init(params: Params) -> OptState:
        zeros = tree.zeros_like(params)
        return ScaleByAdanState(zeros, zeros, zeros, zeros, no_steps())

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        first = state.t == 0
        step = tree_map(
            lambda g, old: fnp.where(first, fnp.zeros_like(g), g - old), updates, state.g
        )
        m = tree.update_moment(updates, state.m, b1, 1)
        v = tree.update_moment(step, state.v, b2, 1)
        ahead = tree.add_scale(updates, 1 - b2, step)
        n = tree.update_moment_per_elem_norm(ahead, state.n, b3, 2)
        t = safe_increment(state.t)
        v_hat = tree.bias_correction(v, b2, t)
        mean = tree.add_scale(tree.bias_correction(m, b1, t), 1 - b2, v_hat)
        scaled = quotient(mean, tree.bias_correction(n, b3, t), eps, eps_root)
        return scaled, ScaleByAdanState(m, v, n, updates, t)

    return in_single(GradientTransformation(init, update), "n")
