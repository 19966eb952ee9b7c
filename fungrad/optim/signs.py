"""Scaling that looks at signs, at changes from step to step, or at the way so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

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
    stateless,
    tree_map,
)
from fungrad.optim.glossary import public
from fungrad.optim.halves import in_single, wide
from fungrad.typing import Array

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class ScaleByLionState(NamedTuple):
    """The number of steps and the mean of gradients."""

    count: Any
    mu: Updates


class ScaleByOptimisticGradientState(NamedTuple):
    """Whether there was no step yet, and the last gradient."""

    is_initial_step: np.bool | Array
    previous_gradient: Updates


class ScaleByRpropState(NamedTuple):
    """The sizes of the steps of all elements, and the steps to be made in the next call."""

    step_sizes: Updates
    prev_updates: Updates


class ScaleByDistanceOverGradientsState(NamedTuple):
    """Largest distances from the first parameters, sums of squared gradients, the first parameters."""

    max_dist: OptState
    grad_sum_of_squares: OptState
    init_params: OptState


@public
def scale_by_sign() -> GradientTransformation:
    """Replace updates by their signs.

    Examples
    --------
    >>> tx = optim.scale_by_sign()
    >>> tx.update(np.array([3.0, -0.5]), tx.init(np.zeros(2)))[0]
    array([ 1., -1.])
    """
    return stateless(lambda updates, params: tree_map(fnp.sign, updates))


@public
def scale_by_lion(
    b1: Number = 0.9,
    b2: Number = 0.99,
    mu_dtype: DTypeLike | None = None,
    *,
    mode: str = "hard",
    smooth_beta: float = 1.0,
) -> GradientTransformation:
    """Replace gradients by the sign of their mean with the running mean (X. Chen et al., 2023).

    Parameters
    ----------
    b1
        The weight of the running mean in the step.
    b2
        How much of the running mean is kept in each step.
    mode
        "hard" takes the sign; "smooth" the hyperbolic tangent; "refined" what is below 1 as it is, otherwise the sign.
    smooth_beta
        A factor within the tangent.

    Examples
    --------
    >>> tx = optim.scale_by_lion()
    >>> tx.update(np.array([3.0, -0.5]), tx.init(np.zeros(2)))[0]
    array([ 1., -1.])
    """
    kinds: dict[str, Callable[[Any], Any]] = {
        "hard": fnp.sign,
        "smooth": lambda x: fnp.tanh(smooth_beta * x),
        "refined": lambda x: fnp.where(fnp.abs(x) < 1.0, x, fnp.sign(x)),
    }
    if mode not in kinds:
        raise ValueError(f'scale_by_lion: mode must be "hard", "smooth" or "refined", got {mode!r}')
    bounded = kinds[mode]

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        step = tree_map(lambda g, m: bounded((1.0 - b1) * g + b1 * m), updates, state.mu)
        mu = tree.cast(tree.update_moment(updates, state.mu, b2, 1), mu_dtype)
        return step, ScaleByLionState(safe_increment(state.count), mu)

    return GradientTransformation(
        lambda params: ScaleByLionState(no_steps(), tree.zeros_like(params, mu_dtype)), update
    )


@public
def scale_by_optimistic_gradient(alpha: Number = 1.0, beta: Number = 1.0) -> GradientTransformation:
    """Add to the gradient its change since the last step (A. Mokhtari et al., 2020).

    Parameters
    ----------
    alpha
        The factor of the gradient.
    beta
        The factor of its change.

    Examples
    --------
    >>> tx = optim.scale_by_optimistic_gradient()
    >>> first, state = tx.update(np.ones(2), tx.init(np.zeros(2)))
    >>> tx.update(3 * np.ones(2), state)[0]
    array([5., 5.])
    """

    def init(params: Params) -> OptState:
        return ScaleByOptimisticGradientState(np.True_, tree.zeros_like(params))

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        def ahead(g: Any, before: Any) -> Any:
            before = fnp.where(state.is_initial_step, g, before)
            return (alpha + beta) * g - beta * before

        step = tree_map(ahead, updates, state.previous_gradient)
        return step, ScaleByOptimisticGradientState(np.False_, updates)

    return GradientTransformation(init, update)


@public
def scale_by_rprop(
    learning_rate: Number,
    eta_minus: Number = 0.5,
    eta_plus: Number = 1.2,
    min_step_size: Number = 1e-06,
    max_step_size: Number = 50.0,
) -> GradientTransformation:
    """Replace gradients by signs, with steps that grow while a sign stays (M. Riedmiller, H. Braun, 1993).

    As in optax, a step is made in the call after that of its gradient. The first call returns zeros. So does, for an
    element, the call in which its sign changes: a step too far is not made.

    Parameters
    ----------
    learning_rate
        The first step of each element, a number.
    eta_minus, eta_plus
        The factors of the step where the sign of the gradient changes, and where it does not.
    min_step_size, max_step_size
        The bounds of steps.

    Raises
    ------
    ValueError
        If parameters are complex.

    Examples
    --------
    >>> tx = optim.scale_by_rprop(0.5)
    >>> _, state = tx.update(np.array([3.0, -0.1]), tx.init(np.zeros(2)))
    >>> updates, state = tx.update(np.array([2.0, -0.1]), state)
    >>> print(updates, tx.update(np.array([2.0, 0.1]), state)[0])
    [ 0.5 -0.5] [0.6 0. ]
    """

    def init(params: Params) -> OptState:
        refuse_complex(params, "scale_by_rprop")
        return ScaleByRpropState(tree.full_like(params, learning_rate), tree.zeros_like(params))

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        def resized(g: Any, size: Any, before: Any) -> Any:
            factor = fnp.where(g * before > 0, eta_plus, eta_minus)
            new = fnp.clip(size * factor, min_step_size, max_step_size)
            return fnp.where(g * before == 0, size, new).astype(size.dtype)

        def unless_turned(g: Any, before: Any, step: Any) -> Any:
            return fnp.where(g * before < 0, 0, step).astype(before.dtype)

        last = state.prev_updates
        sizes = tree_map(resized, updates, state.step_sizes, last)
        ahead = tree_map(lambda g, size: size * fnp.sign(g), updates, sizes)
        made, ahead = (tree_map(unless_turned, updates, last, step) for step in (last, ahead))
        return made, ScaleByRpropState(sizes, ahead)

    return in_single(GradientTransformation(init, update))


@public
def scale_by_distance_over_gradients(
    reps_rel: Number = 1e-06,
    eps: Number = 1e-08,
    param_dtype: DTypeLike = np.float32,
    global_scale: Number = 1.0,
) -> GradientTransformation:
    """Multiply gradients by the way so far over the root of the sum of their squares.

    M. Ivgi et al., 2023.

    Parameters
    ----------
    reps_rel
        The first way, relative to the norm of the parameters.
    eps
        Added to the denominator within the root.
    param_dtype
        The dtype in which the first parameters are kept.
    global_scale
        A factor.

    Examples
    --------
    >>> tx = optim.scale_by_distance_over_gradients(reps_rel=0.1)
    >>> params = np.zeros(2)
    >>> tx.update(np.array([3.0, 4.0]), tx.init(params), params)[0]
    array([0.06, 0.08])
    """

    def length(x: Any, y: Any = 0.0) -> Any:
        return fnp.sqrt(fnp.sum(fnp.square(x - y)))

    def init(params: Params) -> OptState:
        return ScaleByDistanceOverGradientsState(
            tree_map(lambda p: reps_rel * (1 + length(p)), wide(params)),
            tree_map(lambda p: fnp.zeros(1), params),
            tree.cast(params, param_dtype),
        )

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        params = required(params, "scale_by_distance_over_gradients")
        way = tree_map(
            lambda p, start, most: fnp.maximum(most, length(p, start)).astype(array(most).dtype),
            params,
            state.init_params,
            state.max_dist,
        )
        squares = tree_map(
            lambda g, sum: sum + fnp.sum(fnp.square(g)), updates, state.grad_sum_of_squares
        )
        step = tree_map(
            lambda g, d, sum: (global_scale * (d / fnp.sqrt(sum + eps))).astype(g.dtype) * g,
            updates,
            way,
            squares,
        )
        return step, ScaleByDistanceOverGradientsState(way, squares, state.init_params)

    return in_single(GradientTransformation(init, update))
