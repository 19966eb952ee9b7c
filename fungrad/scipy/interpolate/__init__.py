"""`scipy.interpolate` for traced arrays: splines, piecewise polynomials, grids.

Objects are made and called as SciPy's are, and give what SciPy's give on plain arrays. They are pytrees of
their arrays: they may be arguments and results of transformed functions.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.scipy import interpolate
>>> x = np.linspace(0, 1, 5)
>>> spline = interpolate.CubicSpline(x, np.sin(x))
>>> round(float(fg.grad(spline)(0.4)), 3), round(float(np.cos(0.4)), 3)
(0.921, 0.921)
"""

from __future__ import annotations

from typing import Any

import scipy.interpolate

from fungrad.scipy.interpolate.grids import RegularGridInterpolator, interp1d, interpn
from fungrad.scipy.interpolate.piecewise import CubicHermiteSpline, CubicSpline, PPoly
from fungrad.scipy.interpolate.shape_preserving import Akima1DInterpolator, PchipInterpolator
from fungrad.scipy.interpolate.splines import BSpline, make_interp_spline, make_lsq_spline
from fungrad.scipy.names import missing_name

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "RegularGridInterpolator",
    "interp1d",
    "interpn",
    "make_interp_spline",
    "make_lsq_spline",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    raise missing_name(scipy.interpolate, name, __all__)
