"""Momentum, running means, and gradients that are collected over several steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.extend.precision import array
from fungrad.lax import cond
from fungrad.optim import tree
from fungrad.optim.base import (
    GradientTransformation,
    GradientTransformationExtraArgs,
    Number,
    OptState,
    Params,
    Updated,
    Updates,
    no_steps,
    safe_increment,
    tree_map,
    with_extra_args_support,
)
from fungrad.optim.glossary import public, public_like
from fungrad.optim.moments import abs_sq
from fungrad.typing import Array, PyTree

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class TraceState(NamedTuple):
    """The momentum."""

    trace: Updates


class EmaState(NamedTuple):
    """The number of steps and the running mean."""

    count: Any
    ema: Updates


class ApplyEvery(NamedTuple):
    """The number of steps since updates were last applied, and their sum."""

    count: Any
    grad_acc: Updates


class MultiStepsState(NamedTuple):
    """Counts of collected gradients and of the optimizer's steps, the sums, and its state."""

    mini_step: Array
    gradient_step: Array
    inner_opt_state: OptState
    acc_grads: Updates
    skip_state: PyTree = ()


@public
def trace(
    decay: Number, nesterov: bool = False, accumulator_dtype: DTypeLike | None = None
) -> GradientTransformation:
    """Add to updates those of earlier steps, which fade: momentum (B. Polyak, 1964).

    Examples
    --------
    >>> tx = optim.trace(0.5)
    >>> _, state = tx.update(np.ones(2), tx.init(np.zeros(2)))
    >>> tx.update(np.ones(2), state)[0]
    array([1.5, 1.5])
    """

    def add(g: Any, t: Any) -> Any:
        return g + decay * t

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        total = tree_map(add, updates, state.trace)
        ahead = tree_map(add, updates, total) if nesterov else total
        return ahead, TraceState(tree.cast(total, accumulator_dtype))

    return GradientTransformation(
        lambda params: TraceState(tree.zeros_like(params, accumulator_dtype)), update
    )


@public
def ema(
    decay: Number, debias: bool = True, accumulator_dtype: DTypeLike | None = None
) -> GradientTransformation:
    """Return the running mean of updates.

    Examples
    --------
    >>> tx = optim.ema(0.5)
    >>> _, state = tx.update(np.ones(2), tx.init(np.zeros(2)))
    >>> tx.update(4 * np.ones(2), state)[0]
    array([3., 3.])
    """

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        mean = tree.update_moment(updates, state.ema, decay, order=1)
        count = safe_increment(state.count)
        new_updates = tree.bias_correction(mean, decay, count) if debias else mean
        return new_updates, EmaState(count, tree.cast(mean, accumulator_dtype))

    return GradientTransformation(
        lambda params: EmaState(no_steps(), tree.zeros_like(params, accumulator_dtype)), update
    )


@public
def apply_every(k: int = 1) -> GradientTransformation:
    """Hold updates back and return their sum in every k-th step, and zeros in between.

    Parameters
    ----------
    k
        The number of steps.

    Examples
    --------
    >>> tx = optim.apply_every(2)
    >>> first, state = tx.update(np.ones(2), tx.init(np.zeros(2)))
    >>> print(first, tx.update(np.ones(2), state)[0])
    [0. 0.] [2. 2.]
    """

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        place = state.count % k
        total = tree_map(lambda g, sum: (place != 0) * sum + g, updates, state.grad_acc)
        due = place == k - 1
        count = safe_increment(state.count) % k
        after = ApplyEvery(array(count).astype(state.count.dtype), total)
        return tree_map(lambda sum: due * sum, total), after

    return GradientTransformation(
        lambda params: ApplyEvery(no_steps(), tree.zeros_like(params)), update
    )


class ShouldSkipUpdateFunction(Protocol):
    """Whether `MultiSteps` leaves updates out, and a pytree that goes into its state."""

    def __call__(
        self, updates: Updates, gradient_step: Array, params: Params | None
    ) -> tuple[bool | Array, PyTree]: ...


@public
def skip_not_finite(
    updates: Updates, gradient_step: Number, params: Params | None
) -> tuple[Array, dict[str, Array]]:
    """Return whether there are infinities or NaNs, for `MultiSteps`.

    Parameters
    ----------
    gradient_step
        The step of the optimizer.

    Examples
    --------
    >>> skip, info = optim.skip_not_finite(np.array([1.0, np.nan]), 0, None)
    >>> print(skip, info["num_not_finite"])
    True 1
    """
    del gradient_step, params
    bad = trees.map(lambda x: fnp.sum(~fnp.isfinite(x)), updates)
    count = trees.reduce(lambda a, b: a + b, bad, fnp.zeros((), np.int64))
    skip = count > 0
    return skip, {"should_skip": skip, "num_not_finite": count}


@public_like(skip_not_finite)
def skip_large_updates(
    updates: Updates, gradient_step: Number, params: Params | None, max_squared_norm: Number
) -> tuple[Array, dict[str, Array]]:
    """Return whether the squared norm is beyond a bound, for `MultiSteps`.

    Parameters
    ----------
    max_squared_norm
        The bound.

    Examples
    --------
    >>> skip, info = optim.skip_large_updates(np.array([3.0, 4.0]), 0, None, 10.0)
    >>> print(skip, info["norm_squared"])
    True 25.0
    """
    del gradient_step, params
    square = tree.sum(trees.map(abs_sq, updates))
    skip = fnp.logical_not(square < max_squared_norm)
    return skip, {"should_skip": skip, "norm_squared": square}


class MultiSteps:
    """Collect gradients over several calls, and let an optimizer make a step with their mean.

    Parameters
    ----------
    opt
        The optimizer.
    every_k_schedule
        The number of calls for a step: an integer, or a function of the number of steps so far.
    use_grad_mean
        Whether to take the mean of gradients, not the sum.
    should_skip_update_fn
        Takes updates, step and parameters; returns whether to leave these updates out, and a pytree for the state.
    accumulator_dtype
        The dtype in which gradients are collected; by default that of the parameters, and float32 for shorter ones.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad import optim
    >>> tx = optim.MultiSteps(optim.sgd(0.5), every_k_schedule=2)
    >>> first, state = tx.update(np.array([1.0]), tx.init(np.zeros(1)))
    >>> second, state = tx.update(np.array([3.0]), state)
    >>> print(first, second, tx.has_updated(state))
    [-0.] [-1.] True
    """

    def __init__(
        self,
        opt: GradientTransformation,
        every_k_schedule: int | Callable[[Any], Number],
        use_grad_mean: bool = True,
        should_skip_update_fn: ShouldSkipUpdateFunction | None = None,
        accumulator_dtype: DTypeLike | None = None,
    ) -> None:
        self._opt = with_extra_args_support(opt)
        self._every_k = every_k_schedule
        self._use_grad_mean = use_grad_mean
        self._should_skip = should_skip_update_fn
        self._dtype = accumulator_dtype

    def __repr__(self) -> str:
        return (
            f"MultiSteps(every_k_schedule={self._every_k!r}, use_grad_mean={self._use_grad_mean})"
        )

    @property
    def inner_opt(self) -> GradientTransformationExtraArgs:
        """The optimizer."""
        return self._opt

    def init(self, params: Params) -> MultiStepsState:
        """Return the first state."""
        skip_state: Any = ()
        if self._should_skip is not None:
            _, skip_state = self._should_skip(tree.zeros_like(params), no_steps(), params)
        collected = trees.map(lambda p: fnp.zeros(fnp.shape(p), self._kept(p)), params)
        return MultiStepsState(
            no_steps(), no_steps(), self._opt.init(params), collected, skip_state
        )

    def _kept(self, param: Any) -> Any:
        if self._dtype is not None:
            return self._dtype
        return fnp.promote_types(array(param).dtype, np.float32)

    def update(
        self,
        updates: Updates,
        state: MultiStepsState,
        params: Params | None = None,
        **extra_args: Any,
    ) -> tuple[Updates, MultiStepsState]:
        """Return zeros, or the optimizer's updates for the gradients since its last step."""

        def collect(updates: Updates, before: MultiStepsState) -> tuple[Updates, MultiStepsState]:
            return self._collected(updates, before, params, extra_args)

        if self._should_skip is None:
            return collect(updates, state)
        skip, skip_state = self._should_skip(updates, state.gradient_step, params)
        if (fnp.shape(skip), array(skip).dtype) != ((), np.dtype(bool)):
            raise ValueError(
                "MultiSteps: should_skip_update_fn must return a boolean first, got an array of dtype "
                f"{array(skip).dtype} and shape {fnp.shape(skip)}"
            )
        state = state._replace(skip_state=skip_state)
        updated: tuple[Updates, MultiStepsState] = cond(
            skip,
            lambda updates, before: (tree.zeros_like(updates), before),
            collect,
            updates,
            state,
        )
        return updated

    def _collected(
        self, updates: Updates, state: MultiStepsState, params: Params | None, extra_args: Any
    ) -> tuple[Updates, MultiStepsState]:
        step = state.mini_step

        def add(g: Any, sum: Any) -> Any:
            return sum + (g - sum) / (step + 1) if self._use_grad_mean else g + sum

        every = self._every_k(state.gradient_step) if callable(self._every_k) else self._every_k
        due = step == every - 1
        grads = tree_map(add, updates, state.acc_grads)
        new_updates, inner = self._opt.update(
            tree.cast_like(grads, updates), state.inner_opt_state, params, **extra_args
        )
        after = state._replace(
            mini_step=fnp.where(due, 0, safe_increment(step)).astype(step.dtype),
            gradient_step=fnp.where(due, safe_increment(state.gradient_step), state.gradient_step),
            inner_opt_state=trees.map(
                lambda old, new: fnp.where(due, new, old).astype(array(old).dtype),
                state.inner_opt_state,
                inner,
            ),
            acc_grads=trees.map(
                lambda sum, g: fnp.where(due, 0, g).astype(array(sum).dtype),
                state.acc_grads,
                grads,
            ),
        )
        return trees.map(lambda u: due * u, new_updates), after

    def has_updated(self, state: MultiStepsState) -> Array:
        """Return whether the optimizer made a step in the last call."""
        return fnp.logical_and(state.mini_step == 0, state.gradient_step > 0)

    def gradient_transformation(self) -> GradientTransformation:
        """Return it as a pair of functions."""
        return GradientTransformation(init=self.init, update=self.update)
