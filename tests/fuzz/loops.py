"""Random nests of Python's loops: native = evaluated = NumPy, and gradients = differences, in float64, float32 and complex128."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad as fg
from fungrad.core.config import compilation
from tests.control.random_nests import Nest
from tests.fuzz.campaign import Mismatch

TOLERANCES = {"float64": 1e-11, "float32": 2e-4, "complex128": 1e-11}
STEP = 1e-6
PRECISION = 2e-4
"""How far a derivative may be from a difference, relative to its terms. Where two differences disagree by more, a branch changes."""


def generate(seed: int) -> int:
    """Return the program of a seed: the seed."""
    return seed


def check(seed: int) -> Mismatch | None:
    """Run a nest in all ways; return what differs."""
    nest = Nest(seed, wide=True)
    f, dtype = nest.function(), [*TOLERANCES][seed % 5 % 3]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        args = nest.arguments(seed, dtype)
        try:
            expected = f(*args)
        except (IndexError, TypeError, ValueError, OverflowError):
            return None  # not a program
        if not np.isfinite(expected).all() or abs(expected).max() > 1e6:
            return None
        try:
            found = _values(f, args, expected, TOLERANCES[dtype])
            if found is None and dtype == "float64":
                found = _derivatives(f, args, expected)
        except Exception as error:
            found = Mismatch(type(error).__name__, str(error)[:500])
    return found and found._replace(text=f"{found.text}\n{nest.text}")


def _in_mode(mode: str, function: Callable[..., Any], args: Any) -> Any:
    token = compilation.set(mode)
    try:
        return fg.jit(lambda *a: function(*a))(*args)
    finally:
        compilation.reset(token)


def _values(f: Callable[..., Any], args: Any, expected: Any, tolerance: float) -> Mismatch | None:
    scale = 1 + abs(expected).max()
    for mode in ("eager", "off"):
        found = _in_mode(mode, f, args)
        if found.dtype != expected.dtype or found.shape != expected.shape:
            return Mismatch(f"type, {mode}", f"{found.dtype} for {expected.dtype}")
        error = abs(found - expected).max() / scale
        if not error <= tolerance:
            return Mismatch(f"values, {mode}", f"off by {error:.2g}")
    return None


def _derivatives(f: Callable[..., Any], args: Any, expected: Any) -> Mismatch | None:
    rng = np.random.default_rng(1)
    weights, directions = rng.normal(size=expected.shape), [rng.normal(size=x.shape) for x in args]

    def loss(*args: Any) -> Any:
        return (weights * f(*args)).sum()

    def slope(step: float) -> Any:
        ends = [loss(*[x + h * d for x, d in zip(args, directions)]) for h in (step, -step)]
        return (ends[0] - ends[1]) / (2 * step)

    every = tuple(range(len(args)))
    gradients = {mode: _in_mode(mode, fg.grad(loss, every), args) for mode in ("eager", "off")}
    gradients["un-jitted"] = fg.grad(loss, every)(*args)
    tangent = fg.jvp(loss, args, directions)[1]
    terms = {mode: [(g * d).sum() for g, d in zip(x, directions)] for mode, x in gradients.items()}
    scale = 1 + max(abs(g * d).sum() for g, d in zip(gradients["off"], directions))
    for mode, found in terms.items():
        error = abs(sum(found) - tangent) / scale
        if not error <= 1e-9:
            return Mismatch(f"gradient, {mode}", f"off by {error:.2g} from the tangent")
    first, second = slope(STEP), slope(3 * STEP)
    if abs(first - second) / scale > PRECISION / 10:
        return None  # a branch or a maximum changes nearby
    if not abs(tangent - first) / scale <= PRECISION:
        return Mismatch("tangent", f"{tangent} and not {first}")
    return None
