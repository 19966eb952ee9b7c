"""Numbers of two bytes or fewer, computed with in float32 and rounded once.

In float16 an `eps` of 1e-8 is 0, and so are squares of what is below 2e-4, while those of what is beyond 256 are infinite.
So a transformation of such updates is one of their values in float32, and only what it returns is rounded to their dtype:
updates and states have the dtypes that they have in optax. Results in float32 and float64 are what they are without.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.extend.precision import SINGLE, array, converted
from fungrad.extend.types import is_half
from fungrad.optim.base import (
    GradientTransformation,
    OptState,
    Params,
    Updated,
    Updates,
    broadcasting_map,
)

Transformation = TypeVar("Transformation", bound=GradientTransformation)

_HALF = np.dtype(np.float16)
_LEAST, _LARGEST = (
    np.float32(x) for x in (np.finfo(_HALF).smallest_subnormal, np.finfo(_HALF).max)
)


def holds_half(x: Any) -> bool:
    """Whether a leaf is of two bytes or fewer."""
    return hasattr(x, "dtype") and is_half(x.dtype)


def wide(tree: Any) -> Any:
    """Return a tree with float32 in place of dtypes of two bytes or fewer."""
    return trees.map(lambda x: converted(x, SINGLE) if holds_half(x) else x, tree)


def rounded_once(rule: Callable[[Any], Any], x: Any) -> Any:
    """Return ``rule(x)``, of an array of two bytes or fewer computed in float32."""
    x = array(x)
    return converted(rule(converted(x, SINGLE)), x.dtype) if is_half(x.dtype) else rule(x)


def in_single(tx: Transformation, *squares: str) -> Transformation:
    """Return a transformation that computes in float32 where updates or state have two bytes or fewer.

    Parameters
    ----------
    squares
        The fields of the state that are divided by, or reciprocals: what is positive stays positive there, and what is
        finite finite. Else a small gradient, of which the square is lost, would make the next step a huge one, and a large
        one end all steps.
    """

    @functools.wraps(tx.update)
    def update(
        updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> Updated:
        if not any(map(holds_half, trees.leaves((updates, state)))):
            return tx.update(updates, state, params, **extra_args)
        scaled, after = tx.update(wide(updates), wide(state), wide(params), **extra_args)
        kept = [getattr(state, name) for name in (*squares, "mu") if hasattr(state, name)]
        like = [x for x in kept if _structure(x) == _structure(updates)]
        return broadcasting_map(_as_all, scaled, updates, *like), _state(after, state, squares)

    return type(tx)(tx.init, update)


def as_short(x: Any, like: Any) -> Any:
    """Return an array in the dtype of another one if that has two bytes or fewer."""
    return converted(x, like.dtype) if holds_half(like) else x


def _structure(tree: Any) -> Any:
    return trees.structure(tree, is_leaf=lambda x: x is None)


def _as_all(x: Any, *operands: Any) -> Any:
    """Return an array in the dtype of its operands, if they all have two bytes or fewer."""
    return converted(x, operands[0].dtype) if all(map(holds_half, operands)) else x


def _state(after: Any, before: Any, squares: tuple[str, ...]) -> Any:
    """Return a state in the dtypes of the last one."""
    within = {
        name: broadcasting_map(_bounded, getattr(after, name), getattr(before, name))
        for name in squares
    }
    after = after._replace(**within) if within else after
    return broadcasting_map(as_short, after, before)


def _bounded(x: Any, old: Any) -> Any:
    """Return squares that are finite and not 0 in float16 if they are so in float32.

    bfloat16 has the range of float32.
    """
    if not hasattr(old, "dtype") or old.dtype != _HALF:
        return x
    x = fnp.where(x > 0, fnp.maximum(x, _LEAST), x)
    return fnp.where(fnp.isfinite(x), fnp.clip(x, -_LARGEST, _LARGEST), x)
