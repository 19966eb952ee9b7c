"""Calls of primitives by untraced rules: the backward pass calls the pullbacks these returned."""

from __future__ import annotations

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


@primitive
class Pulled(HoldsRule):
    """The computed result of a call, with the pullback that its rule returned.

    The operands are the result and the boxes.
    """

    called: str
    pullback: Callable[[Any], Sequence[Any]]
    enclosed: bool
    """Whether boxes of an enclosing derivative are among its values."""

    def abstract_eval(self, out: ArrayType, *types: ArrayType) -> ArrayType:
        return tangent_type(out)

    def impl(self, xp: Any, out: Any, *operands: Any) -> Any:
        return out

    def pull(self, ct: Any, flags: Sequence[bool], out: Any, operands: Sequence[Any]) -> Any:
        types = [tangent_type(type_of(x)) for x in operands[1:]]
        try:
            cts = zip(self.pullback(ct), types)
            return [None, *[ct if ct is None else fitted(self.called, ct, t) for ct, t in cts]]
        except (ConcretizationError, LostDerivativeError) as error:
            if type(ct) is not Tracer:
                raise
            if self.enclosed:
                raise looks_at_cotangent(self.called) from error
            forgive(error)  # the rule runs once there is an array

        def on_array(g: Any) -> list[Any]:
            return [filled(self.called, ct, t) for ct, t in zip(self.pullback(g), types)]

        return [None, *pure_callback(on_array, types, ct, vmap_method="sequential")]


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
