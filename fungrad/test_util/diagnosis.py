"""Reasons why a derivative and a difference disagree: argument, element, rule or function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad import float0, tree
from fungrad.extend.trees import leaves_with_paths
from fungrad.test_util.compare import Tolerances, as_array, described, is_inexact, mismatches
from fungrad.transforms.argnums import parameters_of, positional_names

LARGE = 256
"""Arguments of more elements are not looked through one by one."""

SHOWN = 6
"""How many arguments are spoken of."""


class Along(NamedTuple):
    """A derivative along a direction, which is a tree like the arguments.

    Attributes
    ----------
    derivative
        What is checked.
    quotient
        The difference of the function at two steps in that direction, by the difference of the steps.
    rounding
        By how much the results of the function are rounded.
    """

    derivative: Callable[[Any], Any]
    quotient: Callable[[Any, float, float], Any]
    rounding: float

    def difference(self, direction: Any, step: float) -> Any:
        """Return the central difference."""
        return self.quotient(direction, step, -step)

    def apart(self, direction: Any, step: float, tolerances: Tolerances) -> str:
        """Return how the derivative differs from the difference; "" if it does not."""
        told = mismatches(self.derivative(direction), self.difference(direction, step), tolerances)
        return described(told)

    def off(self, direction: Any, step: float) -> float:
        """Return by how much, at most."""
        return _distance(self.derivative(direction), self.difference(direction, step))


def labels_of(f: Any, args: Sequence[Any]) -> list[str]:
    """Return how to speak of each leaf of the arguments: ``params['w']``."""
    names = positional_names(parameters_of(f) or ())
    names += [f"argument {i}" for i in range(len(names), len(args))]
    pairs = zip(names, args, strict=False)
    return [name + path for name, arg in pairs for path, _ in leaves_with_paths(arg)]


def _distance(a: Any, b: Any) -> float:
    pairs = zip(map(as_array, tree.leaves(a)), map(as_array, tree.leaves(b)), strict=True)
    with np.errstate(all="ignore"):
        errors = [np.abs(np.subtract(x, y, dtype=complex)) for x, y in pairs if is_inexact(x)]
    return max((float(np.nan_to_num(e, nan=np.inf).max(initial=0.0)) for e in errors), default=0.0)


def _zero(t: Any) -> Any:
    return t if getattr(t, "dtype", None) == float0 else 0 * t


def _only(direction: Any, k: int, part: Any = None) -> Any:
    """Return the direction in one leaf alone, where it may be replaced."""
    leaves = tree.leaves(direction)
    kept = leaves[k] if part is None else part
    zeroed = [kept if i == k else _zero(t) for i, t in enumerate(leaves)]
    return tree.unflatten(tree.structure(direction), zeroed)


def explanation(
    along: Along, direction: Any, labels: Sequence[str], tolerances: Tolerances, step: float
) -> str:
    """Return the message on a derivative that is wrong along a direction."""
    leaves = [as_array(t) for t in tree.leaves(direction)]
    moving = [k for k, t in enumerate(leaves) if is_inexact(t) and t.size]
    errors = {k: along.off(_only(direction, k), step) for k in moving}
    wrong = [k for k in moving if along.apart(_only(direction, k), step, tolerances)]
    suspect = max(wrong or moving, key=errors.__getitem__, default=None)
    if suspect is None:
        return ""
    lines = [_by_argument(labels, errors, wrong, suspect)] if len(moving) > 1 else []
    if 1 < leaves[suspect].size <= LARGE:
        lines.append(_worst_element(along, direction, suspect, labels[suspect], tolerances, step))
    lines.append(_by_step(along, _only(direction, suspect), step))
    return "".join(f"\n  {line}" for line in lines)


def _by_argument(
    labels: Sequence[str], errors: dict[int, float], wrong: Sequence[int], suspect: int
) -> str:
    if not wrong:
        return f"by argument: none is wrong by itself; the largest error, {errors[suspect]:.3g}, is by {labels[suspect]}"
    shown = sorted(wrong, key=lambda k: -errors[k])[:SHOWN]
    said = [f"wrong by {labels[k]} (off by {errors[k]:.3g})" for k in shown]
    said += [f"and by {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    right = [labels[k] for k in errors if k not in wrong]
    if right:
        many = len(right) > SHOWN
        said.append(f"right by {f'the other {len(right)}' if many else ', '.join(right)}")
    return f"by argument: {'; '.join(said)}"


def _worst_element(
    along: Along, direction: Any, k: int, label: str, tolerances: Tolerances, step: float
) -> str:
    """Return which element of an argument the derivative is most wrong by."""
    like = as_array(tree.leaves(direction)[k])

    def unit(i: int) -> Any:
        vector = np.zeros_like(like)
        vector.flat[i] = 1 + 1j if vector.dtype.kind == "c" else 1
        return _only(direction, k, vector)

    worst = max(range(like.size), key=lambda i: along.off(unit(i), step))
    index = [*map(int, np.unravel_index(worst, like.shape))]
    told = along.apart(unit(worst), step, tolerances)
    return f"worst element: {label}{index}" + (f": {told}" if told else "")


def _by_step(along: Along, direction: Any, step: float) -> str:
    """Return how the error depends on the step, with a conclusion."""
    steps = (2 * step, step, step / 2)
    coarse, usual, fine = errors = [along.off(direction, h) for h in steps]
    seen = ", ".join(f"{e:.3g}" for e in errors)
    order = math.log2(usual / fine) if 0 < min(usual, fine) <= max(usual, fine) < math.inf else 0.0
    said = f"by step: off by {seen} at steps {', '.join(f'{h:g}' for h in steps)} (order {round(order, 1) + 0.0:.1f}): "
    if usual <= 4 * along.rounding / step:
        return said + (
            "differences at such steps are rounded as much: pass a larger eps, or check in double precision"
        )
    bends = [_bend(along, direction, h) for h in steps]
    if bends[2] > 0.1 * fine and (steep := _kink(bends)):
        return said + f"the function has a {steep}; check it elsewhere"
    if order > 0.5 or coarse > 1.4 * usual > 2 * fine:
        return said + (
            "the error shrinks with the step, so the rule may be right and the difference too coarse: pass a smaller eps"
        )
    change = _distance(along.difference(direction, step), along.difference(direction, step / 2))
    if change < 0.02 * fine:
        return said + (
            "the error does not shrink with the step and differences agree with one another, so the derivative rule is wrong"
        )
    return (
        said
        + "differences do not agree with one another: pass a smaller eps, or check where the function is smooth"
    )


def _kink(bends: Sequence[float]) -> str:
    """Return the kind of kink at a point, by differences of slopes at three steps; "" if smooth."""
    with np.errstate(all="ignore"):
        ratios = np.divide(bends[1:], bends[:-1])
    if np.all((ratios > 0.75) & (ratios < 1.33)):
        return f"kink there (slopes on both sides differ by {bends[2]:.3g}, however small the step)"
    return "jump there" if np.all((ratios > 1.5) & (ratios < 2.67)) else ""


def _bend(along: Along, direction: Any, step: float) -> float:
    """Return by how much the slopes ahead and behind differ."""
    return _distance(along.quotient(direction, step, 0.0), along.quotient(direction, 0.0, -step))
