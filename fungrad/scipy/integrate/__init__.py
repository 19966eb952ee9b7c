"""Integrals and differential equations: `scipy.integrate` for traced arrays."""

from typing import Any

import scipy.integrate

from fungrad.scipy.integrate.equations import odeint, solve_ivp
from fungrad.scipy.integrate.quadratures import fixed_quad, quad, quad_vec
from fungrad.scipy.integrate.samples import (
    cumulative_simpson,
    cumulative_trapezoid,
    romb,
    simpson,
    trapezoid,
)
from fungrad.scipy.names import missing_name

__all__ = [
    "cumulative_simpson",
    "cumulative_trapezoid",
    "fixed_quad",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_ivp",
    "trapezoid",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    raise missing_name(scipy.integrate, name, __all__)
