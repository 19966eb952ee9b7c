"""The polygamma functions of an order that is an array, whole numbers in floating point."""

from __future__ import annotations

from typing import Any

from fungrad.core.primitive import primitive
from fungrad.primitives.elementwise import mul
from fungrad.primitives.scipy_ufunc import RealFunction, library, no_derivative


@primitive
class Polygamma(RealFunction):
    """The derivative, m times, of the digamma function of x; DLMF 5.15.1. By m there is none."""

    def in_double(self, xp: Any, m: Any, x: Any) -> Any:
        return library(xp, "polygamma")(m, x)

    def jvp(self, tangents: tuple[Any, ...], out: Any, m: Any, x: Any) -> Any:
        if tangents[0] is not None:
            no_derivative("polygamma", "the order m")()
        return mul(tangents[1], self(m + 1, x))


polygamma_of_order = Polygamma()
