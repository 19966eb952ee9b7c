"""How a ufunc of `scipy.special` is declared as an elementwise primitive."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from fungrad.core.backend import Target, target_of
from fungrad.core.errors import MissingRuleError
from fungrad.core.location import place_of_use
from fungrad.core.types import ArrayType, type_of
from fungrad.primitives.lacking import not_in_cupy
from fungrad.primitives.shaping import full
from fungrad.primitives.ufunc import Function, OfOneDtype, Rule, elementwise, ufunc_dtype


@dataclasses.dataclass(frozen=True)
class SpecialFunction:
    """A function of `scipy.special`, or one of its results; on CuPy arrays CuPy's of that name.

    Attributes
    ----------
    name
        Its name in `scipy.special` and `cupyx.scipy.special`.
    result
        Which of its results, of a function that has several.
    """

    name: str
    result: int | None = None

    @property
    def ufunc(self) -> Any:
        """SciPy's function, which tells the dtypes where it is a ufunc."""
        return library(np, self.name)

    def __call__(self, xp: Any, *operands: Any) -> Any:
        """Compute with the functions for arrays of `xp`."""
        function = library(xp, self.name)
        try:
            outputs = function(*operands)
        except TypeError:
            if target_of(xp).on_host:
                raise
            dtypes = ", ".join([str(x.dtype) for x in operands])
            raise not_in_cupy(f"{self.name} of {dtypes}", "special") from None
        return outputs if self.result is None else outputs[self.result]


def library(xp: Any, name: str) -> Callable[..., Any]:
    """Return the function of that name of the special functions for arrays of `xp`."""
    target = target_of(xp)
    if not isinstance(target, Target):
        return getattr(xp, name)
    if target.on_host:
        # With SCIPY_ARRAY_API=1, SciPy wraps its ufuncs in functions that look for the arrays' namespace.
        return inspect.unwrap(getattr(scipy.special, name))  # type: ignore[no-any-return]
    function = getattr(importlib.import_module("cupyx.scipy.special"), name, None)
    if function is None or name in UNLIKE_SCIPY:
        raise not_in_cupy(name, "special")
    return function  # type: ignore[no-any-return]


UNLIKE_SCIPY = frozenset(["lpmv"])
"""Special functions that CuPy 14 gets wrong: this one at some non-integer degrees."""


def special(
    name: str,
    *partials: Rule | None,
    label: str | None = None,
    result: int | None = None,
    holomorphic: bool = True,
) -> Function:
    """Declare the ufunc `name` of `scipy.special`; dtypes are its own.

    Parameters
    ----------
    name
        Its name in SciPy, and of the primitive unless there is a `label`.
    *partials
        As for `elementwise`.
    label
        Name of the primitive.
    result
        Which result, of a ufunc that has several.
    holomorphic
        As on `Elementwise`.
    """
    function = SpecialFunction(name, result)
    dtype = ufunc_dtype(function.ufunc, result or 0)
    name = label or name
    return elementwise(name, *partials, function=function, dtype=dtype, holomorphic=holomorphic)


class RealFunction(OfOneDtype):
    """A function of real arrays of one dtype that SciPy does not have."""

    kinds = "f"

    def impl(self, xp: Any, *operands: Any) -> Any:
        dtype = type_of(operands[-1]).dtype
        with np.errstate(all="ignore"):  # outside of the domain, where the result is NaN
            result = self.in_double(xp, *[x.astype("f8") for x in operands])
        return result.astype(dtype)

    def in_double(self, xp: Any, *operands: Any) -> Any:
        """Compute in double precision."""
        raise NotImplementedError


def no_derivative(name: str, operand: str, advice: str = "") -> Rule:
    """Return the rule of an operand by which there is no derivative in a form to compute with."""

    def partial(*_: Any) -> Any:
        raise MissingRuleError(
            f"{name} has no rule for its derivative by {operand}. Hold {operand} fixed: differentiate by the "
            f"other arguments only, or pass stop_gradient of it{advice}. It was used at {place_of_use()}"
        )

    return partial


def constant(value: Any, like: Any) -> Any:
    """Return `value` in the shape and dtype of an array."""
    return full(ArrayType(like.shape, like.dtype), value)
