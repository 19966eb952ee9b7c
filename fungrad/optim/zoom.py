"""The line search that brackets a step and then narrows the bracket.

J. Nocedal and S. Wright, "Numerical Optimization" (1999), algorithms 3.5 and 3.6, with the approximate condition of
W. Hager and H. Zhang, "Algorithm 851: CG_DESCENT" (2006). Both phases are one loop: as long as there is no bracket,
the next point is farther out; from then on it is between the ends. What a new point does to the ends is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad import debug, value_and_grad
from fungrad.extend.precision import array
from fungrad.lax import cond, while_loop
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


class ZoomLinesearchInfo(NamedTuple):
    """How many steps were tried, and by how much the last one misses the two conditions."""

    num_linesearch_steps: Number
    decrease_error: Array
    curvature_error: Array


class ScaleByZoomLinesearchState(NamedTuple):
    """The factor that was found, the loss there and its gradient, and how the search went."""

    learning_rate: Array
    value: Array
    grad: Updates
    info: ZoomLinesearchInfo


class Point(NamedTuple):
    """A step along the line, the loss there, and its slope."""

    step: Any
    value: Any
    slope: Any


class Search(NamedTuple):
    """State of the loop: the ends of the bracket, `low` with the lower value, and an earlier point.

    `last` and `safe` are points with their gradients: the last one, and the best with enough decrease.
    """

    count: Any
    low: Point
    high: Point
    third: Point
    last: tuple[Point, Updates]
    safe: tuple[Point, Updates]
    decrease: Any
    curvature: Any
    bracketed: Any
    done: Any
    failed: Any


class Conditions(NamedTuple):
    """Conditions of a step, and limits of the search for it."""

    max_steps: Any
    max_step: Any
    tol: Any
    increase_factor: Any
    slope_rtol: Any
    curv_rtol: Any
    approx_dec_rtol: Any
    precision: Any

    def errors(self, start: Point, at: Point) -> tuple[Any, Any]:
        """Return by how much a point misses the decrease and the curvature that are asked for."""
        rise = at.value - start.value
        excess = rise - self.slope_rtol * at.step * start.slope
        if self.approx_dec_rtol is not None:
            bend = at.slope - (2 * self.slope_rtol - 1.0) * start.slope
            near = rise - self.approx_dec_rtol * fnp.abs(start.value)
            excess = fnp.minimum(excess, fnp.maximum(bend, near))
        steep = fnp.abs(at.slope) - self.curv_rtol * fnp.abs(start.slope)
        dtype = at.value.dtype
        return violation(excess.astype(dtype)), violation(steep.astype(dtype))

    def next_step(self, s: Search, guess: Any) -> tuple[Any, Any]:
        """Return the step to try, and whether it is the longest one."""
        farther = fnp.where(s.count == 0, guess, self.increase_factor * s.low.step)
        at_end: Any = False
        if self.max_step is not None:
            at_end = farther >= self.max_step
            farther = fnp.minimum(farther, self.max_step)
        step = fnp.where(s.bracketed, between(s.low, s.high, s.third), farther)
        return step.astype(guess.dtype), at_end

    def narrowed(self, s: Search, start: Point, at: Point, grad: Updates, at_end: Any) -> Search:
        """Return the state of the search after a point was tried."""
        decrease, curvature = self.errors(start, at)
        good = fnp.maximum(decrease, curvature) <= self.tol
        width = s.high.step - s.low.step
        higher = (decrease > 0) | ((at.value >= s.low.value) & (s.count > 0))
        turned = ~higher & (at.slope * fnp.where(s.bracketed, width, 1) >= 0)
        low = tree.where(higher, s.low, at)
        beyond = tree.where(s.bracketed & (higher | turned), s.high, s.low)
        better = (decrease <= self.tol) & (~s.bracketed | (at.value < s.safe[0].value))
        safe = tree.where(better, (at, grad), s.safe)
        bracketed = s.bracketed | higher | turned | good
        done = good | (at_end & ~bracketed)
        narrow = s.bracketed & (fnp.abs(width) <= self.precision) & (safe[0].step > 0)
        return Search(
            s.count + 1,
            low,
            tree.where(higher, at, tree.where(turned, s.low, s.high)),
            tree.where(s.bracketed, beyond, low),
            (at, grad),
            safe,
            decrease,
            curvature,
            bracketed,
            done,
            ~done & ((s.count + 1 >= self.max_steps) | narrow),
        )


def divided(a: Any, b: Any) -> Any:
    """Return a quotient, and NaN, without a warning, where the denominator is 0."""
    return fnp.where(b == 0, np.nan, a / fnp.where(b == 0, 1, b))


def between(low: Point, high: Point, third: Point) -> Any:
    """Return where a cubic through three points is least, or a parabola through two, or else the middle."""
    to_high, to_third = high.step - low.step, third.step - low.step

    def above(point: Point, way: Any) -> Any:
        known = fnp.isfinite(point.value)
        rise = fnp.where(known, point.value, low.value) - low.value
        return fnp.where(known, rise - low.slope * way, np.nan)

    b, c = above(high, to_high), above(third, to_third)
    below = (to_high * to_third) ** 2 * (to_high - to_third)
    cubic = divided(to_third**2 * b - to_high**2 * c, below)
    square = divided(to_high**3 * c - to_third**3 * b, below)
    radical = square * square - 3 * cubic * low.slope
    root = fnp.sqrt(fnp.where(radical >= 0, radical, np.nan))
    of_cubic = low.step + divided(root - square, 3 * cubic)
    of_parabola = low.step - divided(low.slope, 2 * divided(b, to_high**2))
    width = fnp.abs(to_high)
    middle = (low.step + high.step) / 2.0

    def or_else(step: Any, margin: float, other: Any) -> Any:
        inside = fnp.abs(step - middle) < (0.5 - margin) * width
        return fnp.where(inside, step, other)

    return or_else(of_cubic, 0.2, or_else(of_parabola, 0.1, middle))


@public
def scale_by_zoom_linesearch(
    max_linesearch_steps: int,
    max_learning_rate: Number | None = None,
    tol: Number = 0.0,
    increase_factor: Number = 2.0,
    slope_rtol: Number = 0.0001,
    curv_rtol: Number = 0.9,
    approx_dec_rtol: Number = 1e-06,
    stepsize_precision: Number = 1e-05,
    initial_guess_strategy: str = "keep",
    verbose: bool = False,
) -> GradientTransformationExtraArgs:
    """Multiply updates with a factor for which the loss falls enough and is flat enough (P. Wolfe, 1969).

    The search is that of J. Nocedal and S. Wright, "Numerical Optimization" (1999), algorithms 3.5 and 3.6. `update`
    needs the loss, its value and gradient, and its other arguments by name.

    Parameters
    ----------
    max_linesearch_steps
        How many factors are tried at most.
    max_learning_rate
        The largest factor; None for no bound.
    tol
        By how much conditions may be missed.
    increase_factor
        By how much factors grow as long as the loss falls.
    slope_rtol
        The part of the slope that the loss has to fall by.
    curv_rtol
        The slope at the end may have this part of the slope at the beginning.
    approx_dec_rtol
        Within this part of its value the loss may rise if its slope tells that it falls (W. Hager and H. Zhang, 2006),
        since differences of losses lose their digits near a minimum; None for the condition on the loss alone.
    stepsize_precision
        The width of brackets at which any factor for which the loss falls enough will do.
    initial_guess_strategy
        The first factor: "one" is 1, as quasi-Newton methods need it; "keep" is the last one found.
    verbose
        Whether to print why a search fails.

    Raises
    ------
    ValueError
        If there is no such strategy.
    TypeError
        If `update` is given arguments that the loss does not take.

    Examples
    --------
    >>> loss = lambda x, y: ((x - y) ** 2).sum()
    >>> tx = optim.chain(optim.sgd(1.0), optim.scale_by_zoom_linesearch(15))
    >>> params, y = np.zeros(2), np.array([1.0, 2.0])
    >>> value, grad = fg.value_and_grad(loss)(params, y)
    >>> state = tx.init(params)
    >>> updates, _ = tx.update(grad, state, params, value=value, grad=grad, value_fn=loss, y=y)
    >>> print(updates)
    [1. 2.]
    """
    if initial_guess_strategy not in ("one", "keep"):
        raise ValueError(
            'scale_by_zoom_linesearch: initial_guess_strategy must be "one" or "keep", got '
            f"{initial_guess_strategy!r}"
        )
    conditions = Conditions(
        max_linesearch_steps, max_learning_rate, tol, increase_factor, slope_rtol, curv_rtol,
        approx_dec_rtol, stepsize_precision,
    )  # fmt: skip

    def init(params: Params) -> OptState:
        zero = real_zeros(params)
        far = zero + np.inf
        info = ZoomLinesearchInfo(np.int64(0), far, far)
        return ScaleByZoomLinesearchState(zero + 1, far, tree.zeros_like(params), info)

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
        params = required(params, "scale_by_zoom_linesearch")
        loss = arguments_for(value_fn, extra_args, "scale_by_zoom_linesearch")
        guess = state.learning_rate
        if initial_guess_strategy == "one":
            guess = fnp.ones_like(guess)
        s = searched(conditions, loss, params, updates, guess, value, grad)
        keeps = s.failed & ((s.safe[0].step > 0) | fnp.isinf(s.decrease))
        at, there = tree.where(keeps, s.safe, s.last)
        if verbose:
            cond(s.failed, report, lambda s: None, s)
        info = ZoomLinesearchInfo(s.count, s.decrease, s.curvature)
        after = ScaleByZoomLinesearchState(at.step, at.value, there, info)
        return tree.cast_like(tree.scale(at.step, updates), updates), after

    return GradientTransformationExtraArgs(init, update)  # type: ignore[arg-type]


def searched(
    conditions: Conditions,
    loss: Callable[[Params], Any],
    params: Params,
    updates: Updates,
    guess: Any,
    value: Any,
    grad: Updates,
) -> Search:
    """Return the end of a search along the updates."""
    dtype = guess.dtype

    def point(step: Any, value: Any, grad: Updates) -> Point:
        slope = slope_along(grad, updates)
        return Point(step, array(value).astype(dtype), slope.astype(dtype))

    def step(s: Search) -> Search:
        size, at_end = conditions.next_step(s, guess)
        now, slope = value_and_grad(loss)(moved(params, size, updates))
        slope = tree.cast_like(slope, params)
        return conditions.narrowed(s, start, point(size, now, slope), slope, at_end)

    grad = tree.cast_like(grad, params)
    zero = fnp.zeros_like(guess)
    start, far, no = point(zero, value, grad), zero + np.inf, zero > 0
    ends = (start, start, start, (start, grad), (start, grad))
    first = Search(np.int64(0), *ends, far, far, no, no, no)
    last: Search = while_loop(lambda s: ~(s.done | s.failed), step, first)
    return last


def report(s: Search) -> None:
    """Print why a search failed."""
    at = s.last[0]
    debug.print(
        "scale_by_zoom_linesearch: none of {} steps will do. The last one is {}, with loss {} and slope {}; it misses "
        "the decrease by {} and the curvature by {}. Updates must lead downhill, losses be finite; allow for more "
        "steps, or compute in float64.",
        s.count,
        at.step,
        at.value,
        at.slope,
        s.decrease,
        s.curvature,
    )
