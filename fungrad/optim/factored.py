"""Scaling by factored squares: means of rows and columns (N. Shazeer and M. Stern, 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.extend.precision import array
from fungrad.optim.base import (
    GradientTransformation,
    Number,
    OptState,
    Params,
    Updated,
    Updates,
    no_steps,
    required,
    rounded,
    safe_increment,
)
from fungrad.optim.glossary import public
from fungrad.optim.halves import in_single
from fungrad.optim.moments import abs_sq


class FactoredState(NamedTuple):
    """Number of steps; per array, mean squares of rows and columns, or of all elements if small."""

    count: Any
    v_row: Updates
    v_col: Updates
    v: Updates


def decay_of_power(step: Any, exponent: Any = 0.8) -> Any:
    """Return how much of a mean is kept: little at first, and more with each step."""
    return 1.0 - (step + 1.0) ** (-exponent)


def factored_axes(shape: tuple[int, ...], factored: bool, least: int) -> tuple[int, int] | None:
    """Return the axes of the second largest and the largest length, None if they are not long enough."""
    if not factored or len(shape) < 2:
        return None
    *_, second, first = (int(axis) for axis in np.argsort(shape))
    return (second, first) if shape[second] >= least else None


@public
def scale_by_factored_rms(
    factored: bool = True,
    decay_rate: Number = 0.8,
    step_offset: int = 0,
    min_dim_size_to_factor: int = 128,
    epsilon: Number = 1e-30,
    decay_rate_fn: Callable[[Any, Any], Any] = decay_of_power,
) -> GradientTransformation:
    """Divide gradients by roots of means of squares, which are products of the means of rows and columns.

    Parameters
    ----------
    factored
        Whether means of rows and columns are kept in place of all.
    decay_rate
        How fast means keep more of the past.
    step_offset
        The number of the first step.
    min_dim_size_to_factor
        The least length of the two longest axes.
    epsilon
        Added to the squares.
    decay_rate_fn
        Takes the step and `decay_rate`; how much of the means is kept.

    Examples
    --------
    >>> tx = optim.scale_by_factored_rms(min_dim_size_to_factor=2)
    >>> params = np.zeros((2, 3))
    >>> state = tx.init(params)
    >>> state.v_row.shape, state.v_col.shape, state.v.shape
    ((2,), (3,), (1,))
    >>> tx.update(np.full((2, 3), 5.0), state, params)[0]
    array([[1., 1., 1.],
           [1., 1., 1.]])
    """

    def init(params: Params) -> OptState:
        def one(p: Any) -> tuple[Any, Any, Any]:
            p = array(p)
            unused = fnp.zeros_like(p, shape=(1,))
            axes = factored_axes(p.shape, factored, min_dim_size_to_factor)
            if axes is None:
                return unused, unused, fnp.zeros_like(p)
            row, column = (p.shape[:a] + p.shape[a + 1 :] for a in reversed(axes))
            return fnp.zeros_like(p, shape=row), fnp.zeros_like(p, shape=column), unused

        return FactoredState(no_steps(), *unzipped(3, one, params))

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        params = required(params, "scale_by_factored_rms")
        keep = decay_rate_fn(state.count - step_offset, decay_rate)

        def one(g: Any, v_row: Any, v_col: Any, v: Any, p: Any) -> tuple[Any, Any, Any, Any]:
            g, p = array(g), array(p)
            kept = array(keep).astype(p.dtype)
            squares = abs_sq(g) + epsilon
            axes = factored_axes(p.shape, factored, min_dim_size_to_factor)
            if axes is None:
                v = (kept * v + (1.0 - kept) * squares).astype(p.dtype)
                return rounded(g * v ** (-0.5), g.dtype, (p,)), v_row, v_col, v
            a, b = axes
            v_row = (kept * v_row + (1.0 - kept) * fnp.mean(squares, axis=b)).astype(p.dtype)
            v_col = (kept * v_col + (1.0 - kept) * fnp.mean(squares, axis=a)).astype(p.dtype)
            mean = fnp.mean(v_row, axis=a - 1 if a > b else a, keepdims=True)
            rows = fnp.expand_dims((v_row / mean) ** (-0.5), axis=b)
            columns = fnp.expand_dims(v_col ** (-0.5), axis=a)
            return rounded(g * rows * columns, g.dtype, (p,)), v_row, v_col, v

        scaled, *means = unzipped(4, one, updates, state.v_row, state.v_col, state.v, params)
        return scaled, FactoredState(safe_increment(state.count), *means)

    return in_single(GradientTransformation(init, update), "v_row", "v_col", "v")


def unzipped(count: int, f: Callable[..., tuple[Any, ...]], tree: Any, *rest: Any) -> list[Any]:
    """Apply a function to leaves that returns several; return as many trees."""
    leaves, structure = trees.flatten(tree)
    columns = [trees.leaves(x) for x in rest]
    rows = [f(*xs) for xs in zip(leaves, *columns, strict=True)]
    return [trees.unflatten(structure, [xs[i] for xs in rows]) for i in range(count)]
