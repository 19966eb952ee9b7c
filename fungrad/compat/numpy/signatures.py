"""Functions of `fungrad.scipy` with SciPy's signatures, where they have others, and what of SciPy's is had by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fungrad.numpy as fnp
from fungrad.scipy.arguments import as_tuple

__all__ = ["MORE", "OF_SCIPY"]


def _refuse(name: str, options: dict[str, Any]) -> None:
    given = [key for key, x in options.items() if x]
    if given:
        raise TypeError(f"{name}: the options {given} cannot be used inside of a traced function")


def quad(func: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, **options: Any) -> Any:
    """`scipy.integrate.quad` of what is traced."""
    from fungrad.scipy import integrate

    _refuse("quad", {"full_output": full_output})
    return integrate.quad(func, a, b, args, **options)


def odeint(
    func: Any,
    y0: Any,
    t: Any,
    args: Any = (),
    *,
    rtol: Any = None,
    atol: Any = None,
    tfirst: bool = False,
    **options: Any,
) -> Any:
    """`scipy.integrate.odeint` of what is traced, whose default tolerances are SciPy's."""
    from fungrad.scipy import integrate

    _refuse("odeint", options)
    rtol, atol = (1.49e-8 if x is None else x for x in (rtol, atol))

    def slope(y: Any, t: Any, *rest: Any) -> Any:
        return fnp.asarray(func(t, y, *rest) if tfirst else func(y, t, *rest))

    y0 = fnp.ravel(fnp.asarray(y0)) * 1.0
    return integrate.odeint(slope, y0, t, *as_tuple(args), rtol=rtol, atol=atol)


def fsolve(
    func: Any,
    x0: Any,
    args: Any = (),
    fprime: Any = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: float = 1.49012e-8,
    **options: Any,
) -> Any:
    """`scipy.optimize.fsolve` of what is traced; a Jacobian matrix that is given is not needed."""
    from fungrad.scipy import optimize

    _refuse("fsolve", {"full_output": full_output, **options})
    return optimize.root(func, x0, args, tol=xtol).x


OF_SCIPY: dict[str, Callable[..., Any]] = {"fsolve": fsolve, "odeint": odeint, "quad": quad}
MORE = {"optimize": ("fsolve",)}
