"""`jax.experimental.ode`."""

from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import enter, received_tree, receiving
from fungrad.core import tree
from fungrad.scipy import integrate

__all__ = ["odeint"]


def odeint(
    func: Any,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: Any = 1.4e-8,
    atol: Any = 1.4e-8,
    mxstep: Any = float("inf"),
    hmax: Any = float("inf"),
) -> Any:
    """Return the states at times `t` of ``dy/dt = func(y, t, *args)``; see `fungrad.scipy.integrate`."""
    options = {"rtol": rtol, "atol": atol, "mxstep": mxstep, "hmax": hmax}
    given = tree.map(enter, (y0, t, *args))
    return received_tree(integrate.odeint(receiving(func), *given, **options))


__getattr__ = _namespace("jax.experimental.ode", globals(), [])
