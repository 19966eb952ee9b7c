"""The base of line searches: the loss along a line, and its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad import value_and_grad
from fungrad.extend.precision import array
from fungrad.lax import cond
from fungrad.optim import tree
from fungrad.optim.base import OptState, Params, zero_like
from fungrad.optim.glossary import public


def real_zeros(params: Params, shape: Any = ()) -> Any:
    """Return zeros in the dtype of losses and steps, which is that of the parameters, and real."""
    leaves = [array(p) for p in trees.leaves(params)] or [np.zeros(())]
    dtype = np.zeros((), fnp.result_type(*[p.dtype for p in leaves])).real.dtype
    return fnp.zeros_like(leaves[0], dtype, shape=shape) if shape else zero_like(leaves[0], dtype)


def arguments_for(value_fn: Callable[..., Any], extra_args: dict[str, Any], name: str) -> Any:
    """Return the loss as a function of the parameters alone; complain of arguments that it does not take."""
    known = inspect.signature(value_fn).parameters.values()
    names = [p.name for p in known]
    unknown = sorted(set(extra_args) - set(names))
    if unknown and not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known):
        raise TypeError(f"{name}: value_fn does not take {unknown}; its parameters are {names}")
    return lambda params: value_fn(params, **extra_args)


def moved(params: Params, step: Any, updates: Any) -> Params:
    """Return the point of the line at a step, in the dtypes of the parameters."""
    return tree.cast_like(tree.add_scale(params, step, updates), params)


def slope_along(grad: Any, updates: Any) -> Any:
    """Return the derivative of the loss along the updates; `grad` is as of `fungrad.grad`, if complex."""
    return fnp.real(array(tree.vdot(tree.conj(grad), updates)))


def violation(amount: Any) -> Any:
    """Return by how much a condition is violated: 0 if it holds, infinity for NaN."""
    return fnp.where(fnp.isnan(amount), np.inf, fnp.maximum(amount, 0.0)).astype(amount.dtype)


@public
def value_and_grad_from_state(value_fn: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """Return `value_and_grad` that takes both from the state of a line search if they are known there.

    It is for losses that are the same in each step, without random numbers or batches: the line search has ended
    at the parameters of the next step, and computed both.

    Parameters
    ----------
    value_fn
        The loss, whose first argument is the parameters.

    Returns
    -------
    callable
        Takes the arguments of the loss, and `state` by name.

    Raises
    ------
    ValueError
        If the state holds no value or gradient.

    Examples
    --------
    >>> loss = lambda x: ((x - 3.0) ** 2).sum()
    >>> tx = optim.lbfgs()
    >>> params = np.zeros(2)
    >>> state = tx.init(params)
    >>> value_and_grad = optim.value_and_grad_from_state(loss)
    >>> for _ in range(3):
    ...     value, grad = value_and_grad(params, state=state)
    ...     updates, state = tx.update(
    ...         grad, state, params, value=value, grad=grad, value_fn=loss
    ...     )
    ...     params = optim.apply_updates(params, updates)
    >>> print(params)
    [3. 3.]
    """

    def from_state(params: Params, *args: Any, state: OptState, **kwargs: Any) -> tuple[Any, Any]:
        value, grad = tree.get(state, "value"), tree.get(state, "grad")
        if value is None or grad is None:
            raise ValueError(
                "value_and_grad_from_state: the state holds no value and gradient; use a line search "
                "in the optimizer, and store_grad=True with scale_by_backtracking_linesearch"
            )

        def anew(params: Params) -> tuple[Any, Any]:
            now, slope = value_and_grad(value_fn)(params, *args, **kwargs)
            return array(now).astype(value.dtype), tree.cast_like(slope, grad)

        return cond(fnp.isfinite(value), lambda params: (value, grad), anew, params)

    return from_state
