"""The line search that shortens a step until the loss falls enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad import grad as gradient
from fungrad.extend.precision import array
from fungrad.lax import while_loop
from fungrad.optim import tree
from fungrad.optim.base import (
    GradientTransformationExtraArgs,
    Number,
    OptState,
    Params,
    Updated,
    Updates,
    required,
)
from fungrad.optim.glossary import public
from fungrad.optim.line_points import arguments_for, moved, real_zeros, slope_along, violation
from fungrad.typing import Array


class BacktrackingLinesearchInfo(NamedTuple):
    """How many steps were tried, and by how much the last one misses the decrease that was asked for."""

    num_linesearch_steps: Number
    decrease_error: Array


class ScaleByBacktrackingLinesearchState(NamedTuple):
    """The factor that was found, the loss there, its gradient if it is kept, and how the search went."""

    learning_rate: Array
    value: Array
    grad: Updates | None
    info: BacktrackingLinesearchInfo


@public
def scale_by_backtracking_linesearch(
    max_backtracking_steps: int,
    slope_rtol: Number = 0.0001,
    decrease_factor: Number = 0.8,
    increase_factor: Number = 1.5,
    max_learning_rate: Number = 1.0,
    atol: Number = 0.0,
    rtol: Number = 0.0,
    store_grad: bool = False,
) -> GradientTransformationExtraArgs:
    """Multiply updates with a factor that is shortened until the loss falls enough (L. Armijo, 1966).

    A factor is enough if the loss is at most ``(1 + rtol) * value + slope_rtol * factor * slope + atol``, where the
    slope is that along the updates. `update` needs the loss, its value and gradient, and its other arguments by name.

    Parameters
    ----------
    max_backtracking_steps
        How often the factor is shortened at most.
    slope_rtol
        The part of the slope that the loss has to fall by.
    decrease_factor
        By how much it is shortened.
    increase_factor
        By how much it is longer at the beginning than the last one found.
    max_learning_rate
        The largest factor.
    atol, rtol
        By how much the loss may miss the condition, absolutely and relative to its value.
    store_grad
        Whether the gradient at the end is computed and kept, for `value_and_grad_from_state`.

    Raises
    ------
    TypeError
        If `update` is given arguments that the loss does not take.

    Examples
    --------
    >>> loss = lambda x: (x**2).sum()
    >>> tx = optim.chain(optim.sgd(1.0), optim.scale_by_backtracking_linesearch(15))
    >>> params = np.array([1.0, 2.0])
    >>> value, grad = fg.value_and_grad(loss)(params)
    >>> state = tx.init(params)
    >>> updates, _ = tx.update(grad, state, params, value=value, grad=grad, value_fn=loss)
    >>> print(updates, loss(params + updates) < value)
    [-1.6 -3.2] True
    """

    def init(params: Params) -> OptState:
        zero = real_zeros(params)
        far = zero + np.inf
        return ScaleByBacktrackingLinesearchState(
            zero + 1,
            far,
            tree.zeros_like(params) if store_grad else None,
            BacktrackingLinesearchInfo(np.int64(0), far),
        )

    def update(
        updates: Updates,
        state: OptState,
        params: Params | None = None,
        *,
        value: Any,
        grad: Updates,
        value_fn: Callable[..., Any],
        **extra_args: Any,
    ) -> Updated:
        params = required(params, "scale_by_backtracking_linesearch")
        loss = arguments_for(value_fn, extra_args, "scale_by_backtracking_linesearch")
        value = array(value).astype(state.value.dtype)
        slope = slope_along(grad, updates).astype(value.dtype)

        def goes_on(carry: Any) -> Any:
            _, _, error, count = carry
            return (error > atol) & (count <= max_backtracking_steps)

        def shorten(carry: Any) -> Any:
            rate, _, _, count = carry
            rate = fnp.where(count > 0, decrease_factor * rate, rate).astype(rate.dtype)
            now = array(loss(moved(params, rate, updates))).astype(value.dtype)
            excess = now - (1.0 + rtol) * value - rate * slope_rtol * slope
            return rate, now, violation(excess.astype(value.dtype)), count + 1

        first = fnp.minimum(increase_factor * state.learning_rate, max_learning_rate)
        start = (first.astype(value.dtype), value, fnp.full_like(value, np.inf), np.int64(0))
        rate, now, error, count = while_loop(goes_on, shorten, start)
        stuck = fnp.isinf(error)  # no point of the line has a value, so it stays where it is
        rate, now = fnp.where(stuck, 0, rate).astype(value.dtype), fnp.where(stuck, value, now)
        there = gradient(loss)(moved(params, rate, updates)) if store_grad else None
        info = BacktrackingLinesearchInfo(count, error)
        after = ScaleByBacktrackingLinesearchState(rate, now, there, info)
        return tree.cast_like(tree.scale(rate, updates), updates), after

    return GradientTransformationExtraArgs(init, update)  # type: ignore[arg-type]
