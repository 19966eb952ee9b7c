"""``autograd.numpy.numpy_vjps``: building blocks of custom rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.modules.numpy.numpy_wrapper import metadata
from fungrad.compat.standing_in import attributes

__all__ = [
    "balanced_eq", "match_complex", "nograd_functions", "repeat_to_match_shape", "replace_zero", "unbroadcast",
    "unbroadcast_f",
]  # fmt: skip
__getattr__ = attributes("autograd.numpy.numpy_vjps", ABSENT)

nograd_functions: list[Any] = []


def match_complex(target: Any, x: Any) -> Any:
    """Return `x`, complex or real as `target` is."""
    if fnp.iscomplexobj(target):
        return x if fnp.iscomplexobj(x) else x + 0j
    return fnp.real(x)


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:
    """Return `x` summed over the axes along which an array of this `metadata` was repeated."""
    shape, ndim, _, is_complex = target_meta
    while np.ndim(x) > ndim:
        x = fnp.sum(x, axis=broadcast_idx)
    axes = tuple([i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1])
    x = fnp.sum(x, axis=axes, keepdims=True) if axes else x
    return fnp.real(x) if fnp.iscomplexobj(x) and not is_complex else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `f` followed by `unbroadcast` to the shape of `target`."""
    meta = metadata(target)
    return lambda g: unbroadcast(f(g), meta)


def replace_zero(x: Any, val: Any) -> Any:
    """Return `x` with `val` in the place of zeros."""
    return fnp.where(x, x, val)


def balanced_eq(x: Any, z: Any, y: Any) -> Any:
    """Return 1 where `x` is `z`, and one half where `y` is as well."""
    return (x == z) / (1.0 + (x == y))


def repeat_to_match_shape(
    g: Any, shape: tuple[int, ...], dtype: Any, axis: Any, keepdims: bool
) -> tuple[Any, Any]:
    """Return `g`, reduced along `axis`, repeated to a shape, and the number of elements of each."""
    if shape == ():
        return g, 1
    over = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    over = [i % len(shape) for i in over]
    kept = [1 if i in over else n for i, n in enumerate(shape)]
    repeated = fnp.broadcast_to(fnp.reshape(fnp.asarray(g, dtype), kept), shape)
    return repeated, np.prod([shape[i] for i in over])
