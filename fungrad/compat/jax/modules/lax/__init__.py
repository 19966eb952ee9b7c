"""`jax.lax`."""

import functools
from collections.abc import Callable
from typing import Any

import fungrad.numpy as fnp
from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import enter, leave
from fungrad.compat.jax.inert import AccuracyMode, DotAlgorithm, DotAlgorithmPreset, Tolerance
from fungrad.compat.jax.shapes import broadcast_shapes
from fungrad.compat.jax.threaded import THREADED as _THREADED
from fungrad.compat.jax.threaded import threaded as _threaded
from fungrad.compat.jax.threaded import threaded_map as _threaded_map
from fungrad.extend.primitives import primitives as _primitives

__all__ = [
    "AccuracyMode", "DotAlgorithm", "DotAlgorithmPreset", "Tolerance", "broadcast_shapes", "composite", "stage",
]  # fmt: skip


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Return the function that an operation with a name is made of: no compiler here knows it by the name."""

    @functools.wraps(decomposition)
    def function(*args: Any, **kwargs: Any) -> Any:
        return decomposition(*args, **kwargs)

    return function


def stage(x: Any, /) -> Any:
    """Return a value as an array."""
    return leave(fnp.asarray(enter(x)))


_SAME = "GatherDimensionNumbers ScatterDimensionNumbers ConvDimensionNumbers DotDimensionNumbers RaggedDotDimensionNumbers"
_get = _namespace("jax.lax", globals(), ["fungrad.lax", _primitives], "linalg", _SAME)


def __getattr__(name: str) -> Any:
    if name in _THREADED:
        globals()[name] = function = _threaded(name, _get(name))
        return function
    if name == "map":
        globals()[name] = function = _threaded_map(_get(name), __getattr__("scan"))
        return function
    if name not in ("RandomAlgorithm", "rng_bit_generator"):
        return _get(name)
    from fungrad.compat.jax import generators

    return getattr(generators, name)
