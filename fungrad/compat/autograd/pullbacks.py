"""Calls of primitives by untraced rules: the backward pass calls the pullbacks these returned."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.callback import pure_callback
from fungrad.core import tree
from fungrad.core.errors import ConcretizationError, LostDerivativeError
from fungrad.core.primitive import primitive
from fungrad.core.tracer import Tracer, forgive
from fungrad.core.types import ArrayType, is_array, tangent_type, type_of
from fungrad.programs.closing import fitting
from fungrad.programs.rules.rules import shown_type
from fungrad.rewrite.tape import HoldsRule


class Pullback:
    """The pullback that a rule returned for one call, from a cotangent to those of its boxes."""

    __slots__ = ("enclosed", "name", "pull")

    def __init__(self, name: str, pull: Callable[[Any], Any], enclosed: bool) -> None:
        self.name, self.pull = name, pull
        self.enclosed = enclosed  # whether boxes of an enclosing derivative are among its values

    def __call__(self, types: Sequence[ArrayType], g: Any) -> list[Any]:
        """Return cotangents of `types`; None is zero. Arrays are copied: the rule may hold them."""
        return [
            ct if ct is None else fitted(self.name, ct, t) for t, ct in zip(types, self.pull(g))
        ]

    def filled(self, types: Sequence[ArrayType], g: Any) -> list[Any]:
        """Return cotangents of `types`, zeros included."""
        return [filled(self.name, ct, t) for t, ct in zip(types, self.pull(g))]


@primitive
class Pulled(HoldsRule):
    """The computed result of a call, with the pullback that its rule returned.

    The operands are the result and the boxes.
    """

    pullback: Pullback

    def abstract_eval(self, out: ArrayType, *types: ArrayType) -> ArrayType:
        return tangent_type(out)

    def impl(self, xp: Any, out: Any, *operands: Any) -> Any:
        return out

    def pull(self, ct: Any, flags: Sequence[bool], out: Any, operands: Sequence[Any]) -> Any:
        types = [tangent_type(type_of(x)) for x in operands[1:]]
        try:
            return [None, *self.pullback(types, ct)]
        except (ConcretizationError, LostDerivativeError) as error:
            if type(ct) is not Tracer:
                raise
            if self.pullback.enclosed:
                raise looks_at_cotangent(self.pullback.name) from error
            forgive(error)  # the rule runs once there is an array
        filled = functools.partial(self.pullback.filled, types)
        return [None, *pure_callback(filled, types, ct, vmap_method="sequential")]


def looks_at_cotangent(name: str) -> NotImplementedError:
    """Return the error of second derivatives by a rule that needs the numbers of its cotangent."""
    return NotImplementedError(
        f"the VJP of {name} looks at the value of g, and so has no derivative itself: write it without, with np.where say"
    )


def fitted(name: str, ct: Any, type_: ArrayType) -> Any:
    """Return a cotangent of a type; arrays are copied, as the rule may hold them."""
    if type(ct) is np.ndarray and ct.dtype is type_.dtype and ct.shape == type_.shape:
        return ct.copy()
    fits = fitting(ct if type_.dtype.kind == "c" else real_part(ct), type_, cast=True)
    if fits is None:
        raise TypeError(
            f"the VJP of {name} must return for an argument of type {type_} a cotangent of that type, got {shown_type(ct)}"
        )
    return np.array(fits)[()] if type(fits) is not Tracer else fits


def filled(name: str, cotangent: Any, types: Any) -> Any:
    """Return a cotangent as arrays of these types, zeros included."""
    if cotangent is None:
        return tree.map(lambda t: np.zeros(t.shape, t.dtype), types)
    return tree.map(lambda t, ct: fitted(name, ct, t), types, cotangent)


def real_part(cotangent: Any) -> Any:
    """Return the real parts: real arguments do not change the result along imaginary directions."""

    def part(x: Any) -> Any:
        return fnp.real(x) if is_array(x) and type_of(x).dtype.kind == "c" else x

    return tree.map(part, cotangent)
