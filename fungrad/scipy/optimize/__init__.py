"""Minima, roots and fits: `scipy.optimize` with exact derivatives, and for traced arrays.

What is not here (linear programs, global optimization without derivatives, ...) is SciPy's own.
"""

import scipy.optimize
from scipy.optimize import (
    BFGS,
    SR1,
    Bounds,
    HessianUpdateStrategy,
    LinearConstraint,
    NonlinearConstraint,
    OptimizeResult,
    OptimizeWarning,
)

from fungrad.scipy.optimize.fitting import curve_fit, least_squares
from fungrad.scipy.optimize.minimization import minimize, minimize_scalar
from fungrad.scipy.optimize.roots import root
from fungrad.scipy.optimize.scalar_roots import (
    bisect,
    brenth,
    brentq,
    fixed_point,
    newton,
    ridder,
    root_scalar,
    toms748,
)

__all__ = [
    "BFGS",
    "SR1",
    "Bounds",
    "HessianUpdateStrategy",
    "LinearConstraint",
    "NonlinearConstraint",
    "OptimizeResult",
    "OptimizeWarning",
    "bisect",
    "brenth",
    "brentq",
    "curve_fit",
    "fixed_point",
    "least_squares",
    "minimize",
    "minimize_scalar",
    "newton",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]


def __getattr__(name: str) -> object:
    if name in scipy.optimize.__all__:
        return getattr(scipy.optimize, name)
    raise AttributeError(f"module 'fungrad.scipy.optimize' has no attribute {name!r}")
