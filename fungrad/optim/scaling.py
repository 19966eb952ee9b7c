"""Scaling by numbers, schedules, norms and signs, and additions to updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad.extend.precision import array, converted
from fungrad.optim import tree
from fungrad.optim.base import (
    EmptyState,
    GradientTransformation,
    GradientTransformationExtraArgs,
    Number,
    OptState,
    Params,
    ScalarOrSchedule,
    Updated,
    Updates,
    identity,
    init_empty_state,
    no_steps,
    required,
    safe_increment,
    stateless,
    tree_map,
)
from fungrad.optim.glossary import public, public_like
from fungrad.optim.halves import in_single, rounded_once
from fungrad.optim.masking import MaskOrFn, masked
from fungrad.optim.moments import mean_square
from fungrad.typing import Array, ArrayLike

ScaleState = ScaleByTrustRatioState = AddDecayedWeightsState = EmptyState


class ScaleByScheduleState(NamedTuple):
    """The number of steps."""

    count: Any


class WeightDecaySchedule(NamedTuple):
    """The number of steps."""

    count: Any


@public
def safe_norm(
    x: ArrayLike,
    min_norm: Number,
    ord: float | str | None = None,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Array:
    """Return a norm, but no less than a bound; where it is the bound, the derivative is 0 and not NaN.

    Parameters
    ----------
    x
        An array.
    min_norm
        The bound.
    ord, axis, keepdims
        As of `numpy.linalg.norm`.

    Examples
    --------
    >>> print(fg.grad(lambda x: optim.safe_norm(x, 1e-3))(np.zeros(2)))
    [0. 0.]
    """

    def bounded(x: Any) -> Any:
        small = fnp.linalg.norm(x, ord=ord, axis=axis, keepdims=True) <= min_norm
        known = fnp.linalg.norm(fnp.where(small, 1, x), ord=ord, axis=axis, keepdims=keepdims)
        if not keepdims:
            small = fnp.squeeze(small, axis=axis)
        return fnp.where(small, converted(min_norm, known.dtype), known)

    return rounded_once(bounded, x)


@public_like(safe_norm)
def safe_root_mean_squares(x: ArrayLike, min_rms: Number) -> Array:
    """Return the root of the mean of squares, but no less than a bound, where its derivative is 0.

    Parameters
    ----------
    min_rms
        The bound.

    Examples
    --------
    >>> print(fg.grad(lambda x: optim.safe_root_mean_squares(x, 1e-3))(np.zeros(2)))
    [0. 0.]
    """

    def bounded(x: Any) -> Any:
        small = fnp.sqrt(mean_square(x)) <= min_rms
        known = fnp.sqrt(mean_square(fnp.where(small, 1, x)))
        return fnp.where(small, converted(min_rms, known.dtype), known)

    return rounded_once(bounded, x)


@public
def scale(step_size: Number) -> GradientTransformation:
    """Multiply updates with a number.

    Parameters
    ----------
    step_size
        The number.

    Examples
    --------
    >>> tx = optim.scale(-0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0]
    array([-0.5, -0.5])
    """
    return GradientTransformation(
        init_empty_state,
        lambda updates, state, params=None: (tree_map(lambda g: step_size * g, updates), state),
    )


@public
def scale_by_schedule(step_size_fn: Callable[[Any], Number]) -> GradientTransformation:
    """Multiply updates with a number that depends on the number of steps.

    Parameters
    ----------
    step_size_fn
        A function of the number of steps so far.

    Examples
    --------
    >>> tx = optim.scale_by_schedule(lambda count: 1.0 / (1 + count))
    >>> updates, state = tx.update(np.ones(2), tx.init(np.zeros(2)))
    >>> tx.update(updates, state)[0]
    array([0.5, 0.5])
    """

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        size = array(step_size_fn(state.count))
        scaled = tree_map(lambda g: size.astype(array(g).dtype) * g, updates)
        return scaled, ScaleByScheduleState(safe_increment(state.count))

    return GradientTransformation(lambda params: ScaleByScheduleState(no_steps()), update)


@public
def scale_by_learning_rate(
    learning_rate: ScalarOrSchedule | None = None, *, flip_sign: bool = True
) -> GradientTransformation:
    """Multiply updates with the negative learning rate; without one leave them as they are.

    Parameters
    ----------
    flip_sign
        Whether to multiply with the negative of it, which makes descent of gradients.

    Examples
    --------
    >>> tx = optim.scale_by_learning_rate(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0]
    array([-0.5, -0.5])
    """
    if learning_rate is None:
        return identity()
    sign: Any = -1 if flip_sign else 1
    if callable(learning_rate):
        return scale_by_schedule(lambda count: sign * learning_rate(count))
    return scale(sign * learning_rate)


@public
def scale_by_param_block_norm(min_scale: Number = 0.001) -> GradientTransformation:
    """Multiply each array of updates with the norm of its parameters.

    Examples
    --------
    >>> tx = optim.scale_by_param_block_norm()
    >>> params = np.array([3.0, 4.0])
    >>> tx.update(np.ones(2), tx.init(params), params)[0]
    array([5., 5.])
    """

    def scaled(updates: Updates, params: Params | None) -> Updates:
        params = required(params, "scale_by_param_block_norm")
        return tree_map(lambda u, p: u * safe_norm(p, min_scale), updates, params)

    return in_single(stateless(scaled))


@public
def scale_by_param_block_rms(min_scale: Number = 0.001) -> GradientTransformation:
    """Multiply each array of updates with the root of the mean of squares of its parameters.

    Examples
    --------
    >>> tx = optim.scale_by_param_block_rms()
    >>> params = np.array([5.0, 5.0])
    >>> tx.update(np.ones(2), tx.init(params), params)[0]
    array([5., 5.])
    """

    def scaled(updates: Updates, params: Params | None) -> Updates:
        params = required(params, "scale_by_param_block_rms")
        return tree_map(lambda u, p: u * safe_root_mean_squares(p, min_scale), updates, params)

    return in_single(stateless(scaled))


@public
def scale_by_trust_ratio(
    min_norm: Number = 0.0, trust_coefficient: Number = 1.0, eps: Number = 0.0
) -> GradientTransformation:
    """Multiply each array of updates by the ratio of its parameters' norm to its own.

    Y. You et al., 2017.

    Parameters
    ----------
    trust_coefficient
        A factor of the ratio.

    Examples
    --------
    >>> tx = optim.scale_by_trust_ratio()
    >>> params = np.array([3.0, 4.0])
    >>> tx.update(np.array([0.0, 2.0]), tx.init(params), params)[0]
    array([0., 5.])
    """

    def scaled(u: Any, p: Any) -> Any:
        of_param, of_update = safe_norm(p, min_norm), safe_norm(u, min_norm)
        zero = (of_param == 0.0) | (of_update == 0.0)
        below = fnp.where(zero, 1, of_update + eps).astype(of_update.dtype)
        ratio = trust_coefficient * of_param / below
        return u * fnp.where(zero, 1, ratio).astype(ratio.dtype)

    def over_leaves(updates: Updates, params: Params | None) -> Updates:
        return tree_map(scaled, updates, required(params, "scale_by_trust_ratio"))

    return in_single(stateless(over_leaves))


@public
def normalize_by_update_norm(
    scale_factor: Number = 1.0, eps: Number = 1e-06
) -> GradientTransformation:
    """Divide updates by the norm of all of them.

    Parameters
    ----------
    scale_factor
        The norm afterwards.
    eps
        Added to the norm.

    Examples
    --------
    >>> tx = optim.normalize_by_update_norm(eps=0.0)
    >>> tx.update(np.array([3.0, 4.0]), tx.init(np.zeros(2)))[0]
    array([0.6, 0.8])
    """

    def scaled(updates: Updates, params: Params | None) -> Updates:
        size = (tree.norm(updates) + eps) / scale_factor
        return tree_map(lambda g: g / size, updates)

    return in_single(stateless(scaled))


@public
def centralize() -> GradientTransformation:
    """Subtract from arrays of several axes their means over all but the first (H. Yong et al., 2020).

    Examples
    --------
    >>> tx = optim.centralize()
    >>> tx.update(np.array([[1.0, 3.0]]), tx.init(np.zeros((1, 2))))[0]
    array([[-1.,  1.]])
    """

    def centred(g: Any) -> Any:
        if fnp.ndim(g) < 2:
            return g
        return g - fnp.mean(g, axis=tuple(range(1, g.ndim)), keepdims=True)

    return stateless(lambda updates, params: tree_map(centred, updates))


@public
def add_decayed_weights(
    weight_decay: ScalarOrSchedule = 0.0, mask: MaskOrFn | None = None
) -> GradientTransformation:
    """Add a multiple of the parameters to the updates.

    Examples
    --------
    >>> tx = optim.add_decayed_weights(0.5)
    >>> params = np.array([2.0, 4.0])
    >>> tx.update(np.ones(2), tx.init(params), params)[0]
    array([2., 3.])
    """
    changes = callable(weight_decay)

    def init(params: Params) -> OptState:
        return WeightDecaySchedule(no_steps()) if changes else EmptyState()

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        params = required(params, "add_decayed_weights")
        if isinstance(weight_decay, int | float) and weight_decay == 0.0:
            return updates, state
        rate = weight_decay(state.count) if callable(weight_decay) else weight_decay
        after = WeightDecaySchedule(safe_increment(state.count)) if changes else state

        def decayed(g: Any, p: Any) -> Any:
            return g + (array(rate).astype(array(p).dtype) if changes else rate) * p

        return tree_map(decayed, updates, params), after

    tx = GradientTransformation(init, update)
    return tx if mask is None else masked(tx, mask)


@public
def scale_by_polyak(
    f_min: Number = 0.0, max_learning_rate: Number = 1.0, eps: Number = 0.0, variant: str = "sps"
) -> GradientTransformationExtraArgs:
    """Multiply updates by B. Polyak's step (1969): the loss above its minimum over the squared norm.

    `update` needs the value of the loss: ``tx.update(grads, state, params, value=loss)``.

    Parameters
    ----------
    f_min
        The minimum of the loss.
    max_learning_rate
        The largest factor.
    eps
        Added to the squared norm.
    variant
        "sps", or "sps+" for a factor that is never negative.

    Examples
    --------
    >>> tx = optim.scale_by_polyak()
    >>> tx.update(np.array([3.0, 4.0]), tx.init(np.zeros(2)), value=5.0)[0]
    array([0.6, 0.8])
    """
    if variant not in ("sps", "sps+"):
        raise ValueError(f'scale_by_polyak: variant must be "sps" or "sps+", got {variant!r}')

    def update(
        updates: Updates,
        state: OptState,
        params: Params | None = None,
        *,
        value: Any,
        **extra_args: Any,
    ) -> Updated:
        square = array(tree.norm(updates, squared=True)) + eps
        gap = array(value - f_min).astype(square.dtype)
        if variant == "sps+":
            gap = fnp.maximum(gap, 0)
        flat = square <= np.finfo(np.float64).eps
        step = fnp.minimum(gap / fnp.where(flat, 1, square), max_learning_rate)
        step = fnp.where(flat, 0, step).astype(square.dtype)
        return tree_map(lambda g: step.astype(array(g).dtype) * g, updates), state

    tx = GradientTransformationExtraArgs(init_empty_state, update)  # type: ignore[arg-type]
    return in_single(tx)
