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

import scipy.interpolate

from fungrad.scipy.interpolate.fitpack import *
from fungrad.scipy.interpolate.grids import *
from fungrad.scipy.interpolate.piecewise import *
from fungrad.scipy.interpolate.radial import *
from fungrad.scipy.interpolate.scattered import *
from fungrad.scipy.interpolate.shape_preserving import *
from fungrad.scipy.interpolate.splines import *
from fungrad.scipy.names import mirror_of

__all__, __dir__, __getattr__ = mirror_of(scipy.interpolate, globals())
