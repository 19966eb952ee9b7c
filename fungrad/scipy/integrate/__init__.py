"""Integrals and differential equations: `scipy.integrate` for traced arrays."""

from fungrad.scipy.integrate.equations import odeint, solve_ivp
from fungrad.scipy.integrate.quadratures import fixed_quad, quad, quad_vec
from fungrad.scipy.integrate.samples import (
    cumulative_simpson,
    cumulative_trapezoid,
    romb,
    simpson,
    trapezoid,
)

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
