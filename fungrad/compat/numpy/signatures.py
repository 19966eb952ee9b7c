"""Functions of `fungrad.scipy` under SciPy's signatures, where these differ.

What only steers an algorithm, or what it prints, is taken and has no effect; what would change a result, and cannot be
obeyed, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fungrad.compat.numpy import integrals, searches, systems

__all__ = ["MORE", "OF_SCIPY"]

OF_SCIPY: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        integrals.dblquad,
        integrals.nquad,
        integrals.odeint,
        integrals.quad,
        integrals.quad_vec,
        integrals.tplquad,
        searches.bisect,
        searches.brenth,
        searches.brentq,
        searches.curve_fit,
        searches.fsolve,
        searches.least_squares,
        searches.leastsq,
        searches.ridder,
        searches.toms748,
        systems.bicgstab,
        systems.cg,
        systems.gmres,
    )
}
MORE = {"integrate": ("dblquad", "nquad", "tplquad"), "optimize": ("fsolve", "leastsq")}
