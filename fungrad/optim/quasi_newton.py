"""L-BFGS: the inverse of the Hessian from the last few steps and changes of gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.extend.precision import array
from fungrad.lax import scan
from fungrad.optim import tree
from fungrad.optim.base import (
    GradientTransformation,
    OptState,
    Params,
    ScalarOrSchedule,
    Updated,
    Updates,
    identity,
    no_steps,
    required,
    safe_increment,
)
from fungrad.optim.combining import chain
from fungrad.optim.glossary import public, public_like
from fungrad.optim.halves import in_single
from fungrad.optim.line_points import real_zeros
from fungrad.optim.rows import Optimizer
from fungrad.optim.scaling import scale, scale_by_learning_rate
from fungrad.optim.zoom import scale_by_zoom_linesearch
from fungrad.typing import Array


class ScaleByLBFGSState(NamedTuple):
    """Number of steps, last parameters and gradient, and their last differences, the newest at the end.

    `weights_memory` has the reciprocals of the products of these differences, and 0 for those that say nothing.
    """

    count: Any
    params: Params
    updates: Updates
    diff_params_memory: Params
    diff_updates_memory: Updates
    weights_memory: Array


def product(x: Any, y: Any) -> Any:
    """Return the real part of the inner product of two trees."""
    return fnp.real(array(tree.vdot(x, y)))


def reciprocal(x: Any, otherwise: Any) -> Any:
    """Return 1 / x, or another number for 0."""
    return fnp.where(x == 0, otherwise, 1 / fnp.where(x == 0, 1, x)).astype(x.dtype)


def two_loops(updates: Updates, memory: tuple[Any, Any, Any], factor: Any) -> Updates:
    """Return the product of the inverse Hessian and the updates (J. Nocedal, 1980)."""

    def backward(vector: Any, pair: Any) -> tuple[Any, Any]:
        step, change, weight = pair
        alpha = weight * product(step, vector)
        return tree.cast_like(tree.add_scale(vector, -alpha, change), vector), alpha

    def forward(vector: Any, pair: Any) -> tuple[Any, None]:
        (step, change, weight), alpha = pair
        beta = weight * product(change, vector)
        return tree.cast_like(tree.add_scale(vector, alpha - beta, step), vector), None

    vector, alphas = scan(backward, updates, memory, reverse=True)
    vector = tree.cast_like(tree.scale(factor, vector), updates)
    return scan(forward, vector, (memory, alphas))[0]


@public
def scale_by_lbfgs(
    memory_size: int = 10, scale_init_precond: bool = True
) -> GradientTransformation:
    """Multiply gradients by the inverse Hessian, estimated from the last steps (D. Liu, J. Nocedal, 1989).

    The state is optax's, but for the order of differences: here the newest are at the end.

    Parameters
    ----------
    memory_size
        The number of steps.
    scale_init_precond
        Whether what the steps do not show is taken from the size of the last one; the first step has at most length 1.

    Raises
    ------
    ValueError
        If `memory_size` is not positive.

    Examples
    --------
    >>> tx = optim.scale_by_lbfgs()
    >>> params, grads = np.array([1.0, 1.0]), lambda x: np.array([4.0, 4.0]) * x
    >>> state = tx.init(params)
    >>> for _ in range(2):
    ...     updates, state = tx.update(grads(params), state, params)
    ...     params = params - updates
    >>> print(abs(params).max() < 1e-15)
    True
    """
    if memory_size < 1:
        raise ValueError(f"scale_by_lbfgs: memory_size must be positive, got {memory_size}")

    def init(params: Params) -> OptState:
        zeros = tree.zeros_like(params)
        memory = tree.batch_shape(zeros, (memory_size,))
        weights = real_zeros(params, memory_size)
        return ScaleByLBFGSState(no_steps(), zeros, zeros, memory, memory, weights)

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        params = required(params, "scale_by_lbfgs")
        begun = state.count > 0

        def difference(now: Any, before: Any) -> Any:
            return fnp.where(begun, now - before, 0).astype(before.dtype)

        step = trees.map(difference, params, state.params)
        change = trees.map(difference, updates, state.updates)
        curvature = product(change, step).astype(state.weights_memory.dtype)
        memory = trees.map(
            lambda old, new: fnp.concatenate([old[1:], new[None]]),
            (state.diff_params_memory, state.diff_updates_memory, state.weights_memory),
            (step, change, reciprocal(curvature, 0)),
        )
        factor: Any = 1.0
        if scale_init_precond:
            square = array(tree.norm(change, squared=True))
            later = fnp.where(square > 0, curvature * reciprocal(square, 0), 1)
            first = fnp.minimum(1, reciprocal(array(tree.norm(updates)), 1))
            factor = fnp.where(begun, later, first)
        after = ScaleByLBFGSState(safe_increment(state.count), params, updates, *memory)
        return two_loops(updates, memory, factor), after

    return in_single(GradientTransformation(init, update), "weights_memory")


_SEARCH = scale_by_zoom_linesearch(20, initial_guess_strategy="one")


@public_like(scale_by_lbfgs)
def lbfgs(
    learning_rate: ScalarOrSchedule | None = None,
    memory_size: int = 10,
    scale_init_precond: bool = True,
    linesearch: GradientTransformation | None = _SEARCH,
) -> Optimizer:
    """L-BFGS (D. Liu and J. Nocedal, 1989), by default with a line search.

    With one, `update` needs the loss, its value and gradient: ``tx.update(grad, state, params, value=value, grad=grad,
    value_fn=loss)``; `value_and_grad_from_state` has both from the last search. It is for losses without noise.

    Parameters
    ----------
    learning_rate
        A factor of steps, before the line search: a number or a schedule; None is 1.
    memory_size
        The number of steps from which the Hessian is taken.
    linesearch
        A transformation that finds the length of steps, or None.

    Examples
    --------
    >>> loss = lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
    >>> tx = optim.lbfgs()
    >>> params = np.array([-1.2, 1.0])
    >>> state = tx.init(params)
    >>> for _ in range(40):
    ...     value, grad = fg.value_and_grad(loss)(params)
    ...     updates, state = tx.update(
    ...         grad, state, params, value=value, grad=grad, value_fn=loss
    ...     )
    ...     params = optim.apply_updates(params, updates)
    >>> params.round(6)
    array([1., 1.])
    """
    first = scale(-1.0) if learning_rate is None else scale_by_learning_rate(learning_rate)
    last = identity() if linesearch is None else linesearch
    return chain(scale_by_lbfgs(memory_size, scale_init_precond), first, last)
