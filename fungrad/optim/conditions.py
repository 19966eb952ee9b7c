"""Transformations under a condition; NaNs and signs of parameters."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.lax import cond
from fungrad.optim import tree
from fungrad.optim.base import (
    EmptyState,
    GradientTransformation,
    GradientTransformationExtraArgs,
    OptState,
    Params,
    Updated,
    Updates,
    no_steps,
    required,
    safe_increment,
    stateless,
    tree_map,
    with_extra_args_support,
)
from fungrad.optim.glossary import public, public_like
from fungrad.typing import Array

NonNegativeParamsState = EmptyState


class ConditionFn(Protocol):
    """Whether to transform in a step."""

    def __call__(self, step: Array, **extra_args: Any) -> bool | Array: ...


class ConditionallyTransformState(NamedTuple):
    """The state of the transformation and the number of steps."""

    inner_state: OptState
    step: Array


class ConditionallyMaskState(NamedTuple):
    """The number of steps and the state of the transformation."""

    step: Array
    inner_state: OptState


class ApplyIfFiniteState(NamedTuple):
    """Counts of non-finite updates in a row and in all, whether the last were, and the optimizer's state."""

    notfinite_count: Array
    last_finite: np.bool | Array
    total_notfinite: Array
    inner_state: OptState


class ZeroNansState(NamedTuple):
    """For each array whether there were NaNs in the last step."""

    found_nan: Updates


def either(
    due: Any,
    within: GradientTransformationExtraArgs,
    otherwise: Any,
    updates: Updates,
    inner_state: OptState,
    params: Params | None,
    extra_args: dict[str, Any],
) -> Updated:
    """Return the transformation's result if it is due, else another function's of updates and old state."""
    updated: Updated = cond(
        due,
        lambda updates, state: within.update(updates, state, params, **extra_args),
        lambda updates, state: (otherwise(updates), state),
        updates,
        inner_state,
    )
    return updated


@public
def conditionally_transform(
    inner: GradientTransformation,
    should_transform_fn: ConditionFn | Callable[[Array], bool | Array],
    forward_extra_args: bool = False,
) -> GradientTransformationExtraArgs:
    """Transform updates in some steps and leave them as they are in the others.

    Examples
    --------
    >>> tx = optim.conditionally_transform(optim.scale(9.0), lambda step: step > 0)
    >>> first, state = tx.update(np.ones(2), tx.init(np.zeros(2)))
    >>> print(first, tx.update(np.ones(2), state)[0])
    [1. 1.] [9. 9.]
    """
    unchanged = lambda updates: updates
    state = ConditionallyTransformState
    return _under_condition(inner, should_transform_fn, forward_extra_args, unchanged, state)


def _under_condition(
    inner: GradientTransformation,
    should_transform_fn: ConditionFn | Callable[[Array], bool | Array],
    forward_extra_args: bool,
    otherwise: Callable[[Updates], Updates],
    state_of: type[ConditionallyTransformState | ConditionallyMaskState],
) -> GradientTransformationExtraArgs:
    """Return a transformation of updates in the chosen steps, with another function in the others."""
    within = with_extra_args_support(inner)

    def init(params: Params) -> OptState:
        return state_of(step=no_steps(), inner_state=within.init(params))

    def update(
        updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> Updated:
        due = should_transform_fn(state.step, **(extra_args if forward_extra_args else {}))
        new_updates, after = either(
            due, within, otherwise, updates, state.inner_state, params, extra_args
        )
        return new_updates, state_of(step=safe_increment(state.step), inner_state=after)

    return GradientTransformationExtraArgs(init, update)


@public_like(conditionally_transform)
def conditionally_mask(
    inner: GradientTransformation,
    should_transform_fn: ConditionFn | Callable[[Array], bool | Array],
    forward_extra_args: bool = False,
) -> GradientTransformationExtraArgs:
    """Transform updates in some steps and make them zero in the others.

    Examples
    --------
    >>> tx = optim.conditionally_mask(optim.scale(9.0), lambda step: step > 0)
    >>> first, state = tx.update(np.ones(2), tx.init(np.zeros(2)))
    >>> print(first, tx.update(np.ones(2), state)[0])
    [0. 0.] [9. 9.]
    """
    state, zeros = ConditionallyMaskState, tree.zeros_like
    return _under_condition(inner, should_transform_fn, forward_extra_args, zeros, state)


@public
def apply_if_finite(
    inner: GradientTransformation, max_consecutive_errors: int
) -> GradientTransformationExtraArgs:
    """Make no step where gradients are not finite, unless that happens too often in a row.

    Parameters
    ----------
    max_consecutive_errors
        After how many of them in a row gradients are used as they are.

    Examples
    --------
    >>> tx = optim.apply_if_finite(optim.sgd(0.1), max_consecutive_errors=3)
    >>> updates, state = tx.update(np.array([1.0, np.nan]), tx.init(np.zeros(2)))
    >>> print(updates, state.total_notfinite)
    [0. 0.] 1
    """
    within = with_extra_args_support(inner)

    def init(params: Params) -> OptState:
        return ApplyIfFiniteState(no_steps(), np.True_, no_steps(), within.init(params))

    def update(
        updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> Updated:
        whole = trees.map(lambda g: fnp.all(fnp.isfinite(g)), updates)
        finite = trees.reduce(operator.and_, whole, np.True_)
        errors = fnp.where(finite, no_steps(), safe_increment(state.notfinite_count))
        due = fnp.logical_or(finite, errors > max_consecutive_errors)
        new_updates, after = either(
            due, within, tree.zeros_like, updates, state.inner_state, params, extra_args
        )
        total = state.total_notfinite
        total = fnp.where(finite, total, safe_increment(total))
        return new_updates, ApplyIfFiniteState(errors, finite, total, after)

    return GradientTransformationExtraArgs(init, update)


@public
def keep_params_nonnegative() -> GradientTransformation:
    """Shorten updates that would make parameters negative, so that these become 0; the last in a chain.

    Examples
    --------
    >>> tx = optim.chain(optim.sgd(1.0), optim.keep_params_nonnegative())
    >>> params = np.array([0.5, 2.0])
    >>> tx.update(np.ones(2), tx.init(params), params)[0]
    array([-0.5, -1. ])
    """

    def one(u: Any, p: Any) -> Any:
        return fnp.where(p + u < 0.0, -p, u)

    return stateless(
        lambda updates, params: tree_map(one, updates, required(params, "keep_params_nonnegative"))
    )


@public
def zero_nans() -> GradientTransformation:
    """Replace NaNs by zeros; the state says which arrays had some.

    Examples
    --------
    >>> tx = optim.zero_nans()
    >>> updates, state = tx.update(np.array([1.0, np.nan]), tx.init(np.zeros(2)))
    >>> print(updates, state.found_nan)
    [1. 0.] True
    """

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        has_nan = tree_map(lambda g: fnp.any(fnp.isnan(g)), updates)
        clean = tree_map(lambda g: fnp.where(fnp.isnan(g), fnp.zeros_like(g), g), updates)
        return clean, ZeroNansState(has_nan)

    return GradientTransformation(
        lambda params: ZeroNansState(tree_map(lambda p: np.False_, params)), update
    )
