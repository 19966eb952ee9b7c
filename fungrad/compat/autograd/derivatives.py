"""Derivatives of functions of one argument, with autograd's rules for argument and result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.autograd.boxes import MAPPINGS
from fungrad.compat.autograd.vectors import VSpace, vspace
from fungrad.core import tree
from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.transforms.arguments import as_operand
from fungrad.transforms.autodiff import jvp as fungrad_jvp
from fungrad.transforms.autodiff import vjp as fungrad_vjp

INDEPENDENT = "Output seems independent of input."


def argument(x: Any) -> Any:
    """Return the differentiated argument: arrays of integers as floating-point numbers.

    Raises
    ------
    TypeError
        If a leaf is neither an array nor a floating-point or complex number.
    """
    if type(x) is float or (type(x) is np.ndarray and x.dtype.kind == "f"):
        return x
    return tree.map(_differentiable, x)


def _differentiable(x: Any) -> Any:
    cls = type(x)
    if (
        cls is not np.ndarray
        and cls in MAPPINGS
        and not MAPPINGS[cls].__module__.startswith("fungrad.")
    ):
        MAPPINGS[cls](x, None, None)  # raises where a library forbids it
        x = as_operand(x)
    if isinstance(x, (Tracer, np.ndarray)):
        return x if type_of(x).inexact else fnp.astype(x, float)
    if type(x) not in VSpace.mappings:
        raise TypeError(f"Can't differentiate w.r.t. type {type(x)}")
    return x


def checked(result: Any, x: Any) -> Any:
    """Return a function's result for the box `x`, with float numbers; warn if it does not depend on it."""
    boxes = [leaf for leaf in tree.leaves(x) if type(leaf) is Tracer]
    if boxes:
        owner = boxes[0]._owner
        if not any(type(y) is Tracer and y._owner is owner for y in tree.leaves(result)):
            warnings.warn(INDEPENDENT, stacklevel=2)
    return tree.map(_number, result)


def _number(y: Any) -> Any:
    if isinstance(y, (Tracer, np.ndarray)):
        return y if type_of(y).inexact else fnp.astype(y, float)
    if isinstance(y, (bool, int, np.integer, np.bool)):
        return float(y)
    vspace(y)  # raises of what is no vector
    return y


def fitted(vector: Any, like: Any) -> Any:
    """Return a vector with the dtypes of `like`, of the same structure."""

    def fit(y: Any, v: Any) -> Any:
        dtype = type_of(y).dtype
        if type(v) is not Tracer:
            v = np.asarray(v)
        return (
            v
            if v.dtype == dtype or not np.can_cast(v.dtype, dtype, "same_kind")
            else v.astype(dtype)
        )

    return tree.map(fit, like, vector)


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return the pullback of cotangents of the result to `x`, and the result of `fun` there."""
    value, pull = fungrad_vjp(lambda x: checked(fun(x), x), argument(x))
    return lambda g: pull(fitted(g, value))[0], value


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return the function from a direction to the result of `fun` at `x` and its derivative."""
    at = argument(x)
    return lambda v: fungrad_jvp(lambda x: checked(fun(x), x), (at,), (fitted(v, at),))


def total(result: Any, x: Any, message: str, size_one: bool) -> Any:
    """Return the sum of a real result's numbers; raise the TypeError of complex ones, or of another size."""
    result = checked(result, x)
    leaves = tree.leaves(result)
    is_complex = any(type_of(y).dtype.kind == "c" for y in leaves)
    if is_complex or (size_one and sum(type_of(y).size for y in leaves) != 1):
        raise TypeError(message)
    sums = [y if type_of(y).shape == () else fnp.sum(y) for y in leaves]
    return sum(sums[1:], sums[0]) if sums else 0.0
