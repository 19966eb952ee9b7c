"""``autograd.scipy.integrate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.standing_in import attributes
from fungrad.numpy.promotion import has_tracer
from fungrad.scipy.integrate import odeint as fungrad_odeint

__all__ = ["odeint"]
__getattr__ = attributes("autograd.scipy.integrate", ABSENT)


def odeint(
    func: Callable[..., Any], y0: Any, t: Any, func_args: tuple[Any, ...] = (), **kwargs: Any
) -> Any:
    """Integrate ``dy/dt = func(y, t, *func_args)`` by SciPy's ``odeint``, under derivatives by fungrad's.

    Of the options only `rtol` and `atol` mean something for the latter.
    """
    if not has_tracer((y0, t, *func_args)):
        return scipy.integrate.odeint(func, y0, t, tuple(func_args), **kwargs)
    tolerances = {name: kwargs[name] for name in ("rtol", "atol") if name in kwargs}
    start = y0 if has_tracer((y0,)) else np.asarray(y0, float)
    return fungrad_odeint(func, start, t, *func_args, **tolerances)
