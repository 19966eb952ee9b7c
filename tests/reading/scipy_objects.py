"""Plain functions of a number that call objects which SciPy and NumPy have made before."""

import numpy as np
from scipy import sparse, stats
from scipy.interpolate import (
    Akima1DInterpolator,
    BPoly,
    CubicSpline,
    InterpolatedUnivariateSpline,
    PchipInterpolator,
    PPoly,
    RegularGridInterpolator,
    UnivariateSpline,
    interp1d,
    make_interp_spline,
)
from scipy.spatial.transform import Rotation, Slerp

X = np.arange(6.0)
Y = np.sin(X)


def interpolants():
    """Return functions that call interpolants."""
    line, spline = interp1d(X, Y), CubicSpline(X, Y)
    kinds = ("nearest", "nearest-up", "previous", "next", "zero", "quadratic", "cubic", 2)
    steps = [interp1d(X, Y, kind=kind) for kind in kinds]
    beyond = interp1d(X, Y, fill_value="extrapolate")
    filled = interp1d(X, Y, bounds_error=False, fill_value=(1.0, 2.0))
    shape_preserving = [PchipInterpolator(X, Y), Akima1DInterpolator(X, Y)]
    b_spline, through = make_interp_spline(X, Y), InterpolatedUnivariateSpline(X, Y)
    modes = [UnivariateSpline(X, Y, s=0, ext=mode) for mode in (0, 1, 3)]
    pieces = PPoly(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1.0, 4.0]))
    bernstein = BPoly(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1.0, 4.0]))
    methods = ("linear", "cubic", "quintic")
    grids = [RegularGridInterpolator((X, X), np.outer(Y, Y), method=m) for m in methods]
    return {
        "line": lambda x: float(line(x)),
        "line of several": lambda x: line(np.array([x, x * x])).sum(),
        "kinds": lambda x: sum(step(x) for step in steps),
        "line beyond": lambda x: beyond(x + 5),
        "line with values beyond": lambda x: filled(x + 5) * x + filled(x),
        "spline": lambda x: spline(x) + spline(x, 1),
        "spline's methods": lambda x: spline.derivative()(x) + spline.integrate(0, x),
        "shape-preserving": lambda x: sum(f(x) for f in shape_preserving),
        "B-spline": lambda x: b_spline(x) + b_spline.integrate(x, 3.0),
        "univariate": lambda x: sum(f(x + 4.0) + f(x) for f in modes),
        "univariate's methods": lambda x: through.integral(0.0, x) + through.derivative()(x),
        "pieces": lambda x: pieces(x) * bernstein(x),
        "grids": lambda x: sum(f((x, 1.5)) + f([[1.3, x]])[0] for f in grids),
        "grid by another method": lambda x: grids[1](np.array([x, 2.0]), method="linear").sum(),
    }


def others():
    """Return functions that call distributions, polynomials, matrices and rotations."""
    normal, beta, counts = stats.norm(0, 2), stats.beta(2, 3), stats.poisson(3.0)
    density = normal.pdf
    plane = stats.multivariate_normal([0.0, 1.0], [[2.0, 0.3], [0.3, 1.0]])
    kernels = stats.gaussian_kde(Y)
    turn = Rotation.from_euler("z", 0.3)
    between = Slerp([0, 1], Rotation.from_euler("z", [[0.0], [1.0]]))
    matrix = sparse.csr_matrix(np.array([[1.0, 2.0], [3.0, 4.0]]))
    old, new = np.poly1d([1.0, 2.0, 3.0]), np.polynomial.Polynomial([1.0, 2.0, 3.0])
    chebyshev = np.polynomial.Chebyshev([1.0, 2.0, 3.0], domain=[0, 3])
    return {
        "normal": lambda x: normal.logpdf(x) + density(x) + normal.sf(x),
        "beta": lambda x: beta.cdf(x / 3) + beta.ppf(x / 3),
        "means": lambda x: beta.mean() * x + beta.std(),
        "counts": lambda x: counts.pmf(np.round(x)) * x,
        "plane": lambda x: plane.logpdf([x, x * x]) + plane.pdf(np.array([x, 1.0])),
        "kernels": lambda x: kernels(x)[0] + kernels.logpdf(x)[0],
        "rotated": lambda x: turn.apply(np.array([x, 1.0, 2.0]))[1],
        "rotations": lambda x: (Rotation.from_euler("x", x) * turn).as_rotvec()[0],
        "rotations behind": lambda x: (turn * Rotation.from_rotvec([x, 0, 0])).as_matrix()[0, 1],
        "on the way": lambda x: between(x / 4).as_rotvec()[2],
        "matrix": lambda x: (matrix @ np.array([x, 1.0])).sum() + matrix.multiply(x).sum(),
        "polynomials": lambda x: old(x) + new(x) + chebyshev(x),
        "derivatives of polynomials": lambda x: new.deriv()(x) + old.deriv()(x) + new.integ()(x),
    }


OBJECTS = {**interpolants(), **others()}
