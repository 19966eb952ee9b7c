"""Functions of `fungrad.scipy` under SciPy's signatures, where these differ.

Each is a rule that is called by name, with those of SciPy's parameters that it has. What only steers an algorithm, or what it prints, is taken and has no effect; what would change a result, and cannot be
obeyed, is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from fungrad.compat.numpy import integrals, searches, systems

__all__ = ["MORE", "OF_SCIPY", "under"]

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


def under(original: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule under the signature of SciPy's function: it gets the arguments that it has names for."""
    signature, own = inspect.signature(original), inspect.signature(rule).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in own.values())

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{rule.__name__}() {error}") from None
        bound.apply_defaults()
        return rule(**{n: x for n, x in bound.arguments.items() if takes_all or n in own})

    function.__name__ = function.__qualname__ = rule.__name__
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function
