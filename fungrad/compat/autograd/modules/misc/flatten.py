"""``autograd.misc.flatten``: containers of arrays as vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.derivatives import argument
from fungrad.compat.standing_in import attributes
from fungrad.core import tree
from fungrad.core.types import type_of

__all__ = ["flatten", "flatten_func"]
__getattr__ = attributes("autograd.misc.flatten", ABSENT)


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the numbers in nested containers as a vector, dicts by sorted keys, and the inverse."""
    leaves, structure = tree.flatten(argument(value))
    shapes = [type_of(x).shape for x in leaves]
    ends = np.cumsum([int(np.prod(s)) for s in shapes])[:-1]

    def unflatten(vector: Any) -> Any:
        parts = fnp.split(vector, ends) if leaves else []
        return tree.unflatten(structure, [fnp.reshape(x, s) for x, s in zip(parts, shapes)])

    return fnp.concatenate([fnp.ravel(x) for x in leaves]) if leaves else np.array([]), unflatten


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Any, Any, Any]:
    """Return a function of containers as one of vectors, the inverse, and `example` as a vector."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
