"""FITPACK's splines, scattered data and trees of neighbours for tracers: against SciPy."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.spatial
from scipy.interpolate import griddata, splev, splrep
from scipy.spatial import KDTree, cKDTree

import fungrad as fg
from fungrad.scipy import interpolate
from tests.numpy.checker import check_function

RNG = np.random.default_rng(3)
X = np.array([0.0, 0.7, 1.1, 2.0, 3.4, 3.9, 4.4, 5.0])
Y = np.sin(X) + X / 3
WEIGHTS = 1 + X / 5
T, C, _ = splrep(X, Y)
AT = np.array([[-0.3, 0.03, 1.5], [2.2, 3.8, 5.6]])
INSIDE = np.array([0.2, 1.9, 4.8])
POINTS = RNG.uniform(-1, 1, (15, 2))
HEIGHTS = np.sin(2 * POINTS[:, 0]) + POINTS[:, 1] ** 2
PLACES = RNG.uniform(-0.3, 0.3, (2, 3, 2))
SPACE = RNG.uniform(-1, 1, (20, 3))


def ev(der=0, ext=0, k=3):
    return lambda m: lambda c, x: m.splev(x, (T, c, k), der, ext)


def rep(**options):
    return lambda m: lambda y: m.splrep(X, y, **options)[1]


def scattered(points, **options):
    return lambda m: lambda v, x: m.griddata(points, v, x, **options)


CASES = {
    **{f"splev ext={ext}": (ev(0, ext), C, AT) for ext in (0, 1, 3)},
    **{f"splev der={der}": (ev(der, 1), C, AT) for der in (1, 2, 3)},
    "splev of inner places": (ev(0, 2), C, INSIDE),
    "splev of one place": (ev(), C, np.float64(0.3)),
    "splev of a short vector": (ev(), C[:-4], AT),
    "splev of a BSpline": (lambda m: lambda c, x: m.splev(x, m.BSpline(T, c, 3), 1), C[:-4], AT),
    "splev of curves": (lambda m: lambda c, d, x: m.splev(x, (T, [c, d], 3))[1], C, C[::-1].copy(), AT),
    **{f"splrep k={k}": (rep(k=k), Y) for k in range(1, 6)},
    "splrep of weights": (rep(w=WEIGHTS, s=0), Y),
    "splrep of knots": (rep(t=[1.5, 3.0]), Y),
    "splrep of weights and knots": (rep(w=WEIGHTS, t=[1.5, 3.0], k=2), Y),
    "splrep of an interval": (rep(xb=-1.0, xe=6.0), Y),
    "splrep of a period": (rep(per=1), Y),
    **{f"griddata {method}": (scattered(POINTS, method=method), HEIGHTS, PLACES) for method in ("linear", "nearest")},
    **{f"griddata rescaled {method}": (scattered(POINTS * [1, 40], method=method, rescale=True), HEIGHTS, PLACES * [1, 40]) for method in ("linear", "nearest")},
    "griddata filled": (scattered(POINTS, fill_value=7.0), HEIGHTS, PLACES * 9),
    "griddata of columns": (scattered(POINTS), np.stack([HEIGHTS, POINTS[:, 0]], 1), PLACES),
    "griddata complex": (scattered(POINTS), HEIGHTS * (1 + 2j), PLACES),
    **{f"griddata {method} of {dtype}": (scattered(POINTS, method=method), HEIGHTS.astype(dtype), PLACES) for method in ("linear", "nearest") for dtype in ("f4", "c8")},
    "griddata of integers": (scattered(POINTS, method="nearest"), np.arange(15), PLACES),
    **{f"griddata {method} at no places": (scattered(POINTS, method=method), HEIGHTS, np.zeros((2, 0, 2))) for method in ("linear", "nearest")},
    "splev of float32": (ev(), C, AT.astype("f4")),
    "splrep of float32": (rep(), Y.astype("f4")),
    "griddata in space": (scattered(SPACE), SPACE[:, 0] ** 2, np.array([[0.1, 0.2, -0.1], [0.0, 0.1, 0.3]])),
    "griddata of one place": (scattered(POINTS), HEIGHTS, PLACES[0, 0]),
    "griddata of tuples": (lambda m: lambda v, x, y: m.griddata((POINTS[:, 0], POINTS[:, 1]), v, (x, y)), HEIGHTS, PLACES[..., 0], PLACES[0, :, 1]),
    **{f"griddata of one variable, {method}": (scattered(X[::-1], method=method), Y, INSIDE) for method in ("linear", "nearest", "cubic")},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_as_scipy(name):
    make, *args = CASES[name]
    check_function(make(interpolate), make(scipy.interpolate), args, rtol=1e-9)


def test_knots_have_derivatives():
    inner = np.s_[4:-4]
    direction = np.zeros_like(T)
    direction[inner] = RNG.normal(size=T.size - 8)
    found = fg.jvp(lambda t: interpolate.splev(INSIDE, (t, C, 3)), (T,), (direction,))[1]
    ahead, behind = (splev(INSIDE, (T + h * direction, C, 3)) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(found, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("k", range(1, 6))
def test_splrep_at_traced_places(k):
    f = fg.jit(lambda x, y: interpolate.splrep(x, y, k=k)[:2])
    for found, expected in zip(f(X, Y), splrep(X, Y, k=k)[:2], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_cubes_and_planes_are_reproduced():
    f = fg.jit(lambda y, x: interpolate.splev(x, interpolate.splrep(X, y)))
    np.testing.assert_allclose(f(X**3, INSIDE), INSIDE**3, rtol=1e-12)
    g = fg.jit(lambda v, x: interpolate.griddata(POINTS, v, x))
    plane = lambda x: x @ np.array([2.0, -1.0]) + 3
    np.testing.assert_allclose(g(plane(POINTS), PLACES), plane(PLACES), rtol=1e-12)


def test_second_derivatives():
    value = lambda y: splev(1.3, splrep(X, y)) ** 2
    row = fg.grad(lambda y: splev(1.3, splrep(X, y)))(Y)
    np.testing.assert_allclose(fg.hessian(value)(Y), 2 * np.outer(row, row), atol=1e-14)
    bend = fg.hessian(lambda x: splev(x, (T, C, 3)))(1.3)
    np.testing.assert_allclose(bend, splev(1.3, (T, C, 3), 2), rtol=1e-9)
    square = lambda v: griddata(POINTS, v, PLACES[0, 0])[0] ** 2
    weights = fg.grad(lambda v: griddata(POINTS, v, PLACES[0, 0])[0])(HEIGHTS)
    np.testing.assert_allclose(fg.hessian(square)(HEIGHTS), 2 * np.outer(weights, weights))
    mixed = fg.jacobian(fg.grad(lambda v, x: griddata(POINTS, v, x)[0]), 1)(HEIGHTS, PLACES[0, 0])
    slope = fg.grad(lambda x: griddata(POINTS, HEIGHTS, x)[0])(PLACES[0, 0])
    np.testing.assert_allclose(HEIGHTS @ mixed, slope, rtol=1e-9)


def test_scipys_names_are_read():
    def f(y, x):
        tck = splrep(X, y)
        return splev(x, tck, 1) + griddata(POINTS[:8], y, (x / 9, 0.1), "nearest")

    np.testing.assert_allclose(fg.jit(f)(Y, 1.3), f(Y, 1.3), rtol=1e-9)
    step = 1e-6 * np.cos(X)
    numeric = (f(Y + step, 1.3) - f(Y - step, 1.3)) / 2
    np.testing.assert_allclose(np.sum(fg.grad(f)(Y, 1.3) * step), numeric, rtol=1e-6)


def test_a_place_outside_of_the_knots():
    with pytest.raises(ValueError, match="x value not in the domain"):
        fg.grad(lambda x: interpolate.splev(x, (T, C, 3), 0, 2))(9.0)
    found = fg.jit(lambda x: interpolate.splev(x, (T, C, 3), 0, 2)).lower(INSIDE).compile()(AT[1])
    assert np.isnan(found).tolist() == [False, False, True]


ERRORS = {
    "smoothing": (lambda y: interpolate.splrep(X, y, s=0.1), Y, TypeError, "s=0.1 with traced values: .* give s=0, or inner knots"),
    "weights alone": (lambda y: interpolate.splrep(X, y, WEIGHTS), Y, TypeError, "give s=0, or inner knots"),
    "traced weights": (lambda w: interpolate.splrep(X, Y, w, s=0), WEIGHTS, TypeError, "cannot be traced: give constants"),
    "report": (lambda y: interpolate.splrep(X, y, full_output=1), Y, TypeError, "full_output=1 .* leave them out"),
    "lengths": (lambda y: interpolate.splrep(X, y), Y[:4], TypeError, "vectors of one length; got shapes"),
    "places": (lambda x: interpolate.splrep(x, Y, per=1), X, TypeError, "use make_interp_spline"),
    "derivative": (lambda c: interpolate.splev(AT, (T, c, 3), 4), C, ValueError, "0<=der=4<=k=3"),
    "mode": (lambda c: interpolate.splev(AT, (T, c, 3), 0, 5), C, ValueError, "ext = 5"),
    "cubic": (lambda v: griddata(POINTS, v, PLACES, "cubic"), HEIGHTS, ValueError, 'give "linear" or "nearest", or use RBFInterpolator'),
    "points": (lambda p: griddata(p, HEIGHTS, PLACES), POINTS, TypeError, "points cannot be traced.* use RBFInterpolator"),
    "values": (lambda v: interpolate.griddata(POINTS, v, PLACES), HEIGHTS[:4], ValueError, r"15 points need values of shape \(15, \.\.\.\)"),
    "dimension": (lambda v: interpolate.griddata(POINTS, v, SPACE), HEIGHTS, ValueError, "3, does not match points' 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    f, x, error, message = ERRORS[name]
    with pytest.raises(error, match=message):
        fg.vjp(f, x)


@pytest.mark.parametrize("kind", [KDTree, cKDTree])
def test_neighbours_are_constants(kind):
    tree, place = kind(POINTS), np.array([0.1, 0.2])
    near = np.linalg.norm(POINTS - place, axis=1)

    def made_outside(s):
        distance, i = tree.query(place)
        return s * distance + POINTS[i, 0]

    def made_inside(s):
        distance, i = kind(POINTS).query(place)
        return s * distance + POINTS[i, 0]

    for f in (made_outside, made_inside):
        np.testing.assert_allclose(fg.grad(f)(2.0), near.min(), rtol=1e-12)
        np.testing.assert_allclose(fg.jit(f)(2.0), f(2.0), rtol=1e-12)
        np.testing.assert_allclose(fg.vmap(f)(np.ones(2)), [f(1.0)] * 2, rtol=1e-12)


@pytest.mark.parametrize("kind", [KDTree, cKDTree])
def test_neighbours_of_traced_points_are_refused_and_the_advice_works(kind):
    tree, place = kind(POINTS), np.array([0.1, 0.2])
    with pytest.raises(fg.LostDerivativeError, match=r"tree\.query\(fungrad\.stop_gradient\(x\)"):
        fg.grad(lambda x: tree.query(x)[0])(place)
    with pytest.raises(fg.LostDerivativeError, match=r"constants, KDTree\(fungrad\.stop_gradient"):
        fg.grad(lambda p: kind(p).query(place)[0])(POINTS)

    def of_place(x):
        return np.linalg.norm(x - POINTS[tree.query(fg.stop_gradient(x))[1]])

    def of_points(p):
        return np.linalg.norm(p[kind(fg.stop_gradient(p)).query(place)[1]] - place)

    i = np.argmin(np.linalg.norm(POINTS - place, axis=1))
    towards = (place - POINTS[i]) / np.linalg.norm(place - POINTS[i])
    np.testing.assert_allclose(fg.grad(of_place)(place), towards, rtol=1e-12)
    np.testing.assert_allclose(fg.grad(of_points)(POINTS)[i], -towards, rtol=1e-12)


def test_places_beside_a_simplex():
    """A place outside of all simplices, by less than the tolerance, has the value of the nearest plane."""
    points, values = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0.0, 1.0, 2.0])
    beside = np.array([[0.5, -1e-9]])
    within = fg.jit(lambda v: interpolate.griddata(points, v, beside, simplex_tolerance=1e6)[0])
    assert within(values) == pytest.approx(0.5)
    assert np.isnan(fg.jit(lambda v: interpolate.griddata(points, v, beside)[0])(values))
    for values_ in (values, None):
        with pytest.raises(ValueError, match="simplex_tolerance must be positive, got 0"):
            interpolate.griddata(points, values_, beside, simplex_tolerance=0)
