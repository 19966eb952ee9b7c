"""Minima, roots and fits: `scipy.optimize` with exact derivatives, and for traced arrays.

What is not here (linear programs, global optimization without derivatives, ...) is SciPy's own.
"""

import scipy.optimize
from scipy.optimize import BFGS as BFGS
from scipy.optimize import SR1 as SR1
from scipy.optimize import Bounds as Bounds
from scipy.optimize import HessianUpdateStrategy as HessianUpdateStrategy
from scipy.optimize import LinearConstraint as LinearConstraint
from scipy.optimize import NonlinearConstraint as NonlinearConstraint
from scipy.optimize import OptimizeResult as OptimizeResult
from scipy.optimize import OptimizeWarning as OptimizeWarning

from fungrad.numpy.elsewhere import unknown_name
from fungrad.scipy.optimize import fitting, minimization, roots, scalar_roots
from fungrad.scipy.optimize.fitting import *
from fungrad.scipy.optimize.minimization import *
from fungrad.scipy.optimize.roots import *
from fungrad.scipy.optimize.scalar_roots import *

__all__ = [
    *("BFGS", "SR1", "Bounds", "HessianUpdateStrategy", "LinearConstraint"),
    *("NonlinearConstraint", "OptimizeResult", "OptimizeWarning"),
    *(*fitting.__all__, *minimization.__all__, *roots.__all__, *scalar_roots.__all__),
]
__dir__ = __all__.copy


def __getattr__(name: str) -> object:
    if name in scipy.optimize.__all__:
        return getattr(scipy.optimize, name)
    raise unknown_name("fungrad.scipy.optimize", name, globals()["__all__"])
