"""scipy.interpolate for tracers: against SciPy."""

import itertools

import numpy as np
import pytest
import scipy.interpolate

import fungrad as fg
from fungrad.scipy import interpolate
from tests.numpy.checker import check_function

RNG = np.random.default_rng(0)
X = np.array([0.0, 0.7, 1.1, 2.0, 3.4, 3.9])
Y = RNG.normal(size=6)
PERIODIC = np.append(Y[:-1], Y[0])
M = RNG.normal(size=(3, 6))
Z = Y + 1j * Y[::-1]
AT = np.array([[-0.3, 0.03, 1.5], [2.2, 3.8, 4.6]])
INSIDE = np.array([0.2, 1.9, 3.8])
T = np.array([0.0, 0, 0, 0, 1, 2.5, 4, 4, 4, 4])
GRID = (np.array([0.0, 1, 2.5, 3, 4, 5]), np.array([3.0, 2, 0.5, 0, -1, -2]))
V = RNG.normal(size=(6, 6))
PLACES = RNG.uniform(0, 2.9, (2, 3, 2))
SCATTERED = RNG.normal(size=(9, 2))
HEIGHTS = np.sin(SCATTERED[:, 0]) * SCATTERED[:, 1]
NEAR = SCATTERED[:3] + 0.1
FAR = np.stack([RNG.uniform(-3, 9, 8), RNG.uniform(-6, 7, 8)], -1)


def made(name, *before, nu=None, **settings):
    """A function of values and places, and the arguments of the constructor before and after them."""

    def make(library):
        def f(values, places):
            found = getattr(library, name)(*before, values, **settings)
            return found(places) if nu is None else found(places, nu)

        return f

    return make


def spline(k, t=T, nu=0, **settings):
    return lambda library: lambda c, x: library.BSpline(t, c, k, **settings)(x, nu)


def ppoly(method, **settings):
    def make(library):
        def f(c, x):
            p = library.PPoly(c, X[:4], **settings)
            return getattr(p, method)()(x) if method else p(x)

        return f

    return make


C = RNG.normal(size=(4, 3))
CASES = {
    **{f"spline k={k}": (spline(k, T[3 - k : 10 - 3 + k]), Y[: 3 + k], AT) for k in (0, 1, 2, 3)},
    **{f"spline nu={nu}": (spline(3, nu=nu), Y, AT) for nu in (1, 2, 3, 4)},
    "spline periodic": (spline(3, extrapolate="periodic"), Y, AT * 3),
    "spline in its interval": (spline(3, extrapolate=False), Y, INSIDE),
    "spline of columns": (spline(3, axis=1), M, AT),
    "spline of one place": (spline(3, axis=1), M, np.float64(0.3)),
    "spline complex": (spline(3), Z, AT),
    **{
        f"make_interp_spline {k} {bc}": (made("make_interp_spline", X, k=k, bc_type=bc), Y, AT)
        for k, bc in [(1, None), (2, None), (3, None), (3, "natural"), (3, ("clamped", "natural")), (5, None)]
    },
    "make_interp_spline columns": (made("make_interp_spline", X, axis=1), M, AT),
    "make_lsq_spline": (lambda m: lambda y, x: m.make_lsq_spline(X, y, T[[0, 0, 0, 0, 5, 6, 7, 8, 9]])(x), Y, AT),
    **{
        f"CubicSpline {bc}": (made("CubicSpline", X, bc_type=bc, nu=nu), Y, AT)
        for nu, bc in [
            (0, "not-a-knot"),
            (1, "natural"),
            (2, "clamped"),
            (3, ("clamped", "not-a-knot")),
            (4, ((1, 0.5), (2, -0.3))),
            (0, ((2, 0.5), "not-a-knot")),
        ]
    },
    "CubicSpline columns": (made("CubicSpline", X, axis=1, extrapolate=False), M, INSIDE),
    "CubicSpline complex": (made("CubicSpline", X), Z, AT),
    "CubicSpline of two": (made("CubicSpline", X[:2]), Y[:2], AT),
    "CubicSpline of three": (made("CubicSpline", X[:3]), Y[:3], AT),
    **{
        f"{name} {axis}": (made(name, X, axis=axis), y, INSIDE)
        for name in ("PchipInterpolator", "Akima1DInterpolator")
        for axis, y in ((0, Y), (1, M))
    },
    "PchipInterpolator of two": (made("PchipInterpolator", X[:2]), Y[:2], AT),
    "PchipInterpolator of steps": (made("PchipInterpolator", X), np.array([0.0, 1, 1, 0, 0, 4]), INSIDE),
    "Akima1DInterpolator of two": (made("Akima1DInterpolator", X[:2], extrapolate=True), Y[:2], AT),
    "makima": (made("Akima1DInterpolator", X, method="makima", extrapolate=True), Y, AT),
    "CubicHermiteSpline": (lambda m: lambda y, s, x: m.CubicHermiteSpline(X, y, s)(x), Y, M[0], AT),
    "PPoly": (ppoly(""), C, AT),
    "PPoly periodic": (ppoly("", extrapolate="periodic"), C, AT),
    "PPoly derivative": (ppoly("derivative"), C, AT),
    "PPoly of columns": (ppoly("", axis=1), RNG.normal(size=(2, 4, 3)), AT),
    **{
        f"grid {method}": (made("RegularGridInterpolator", GRID, method=method), V, PLACES)
        for method in ("linear", "nearest", "cubic", "slinear", "quintic", "pchip")
    },
    "grid filled": (made("RegularGridInterpolator", GRID, bounds_error=False, fill_value=7.0), V, FAR),
    **{
        f"grid extrapolated {method}": (
            made("RegularGridInterpolator", GRID, bounds_error=False, fill_value=None, method=method),
            V,
            FAR,
        )
        for method in ("linear", "nearest")
    },
    "grid of vectors": (made("RegularGridInterpolator", GRID[:1]), M.T, INSIDE),
    "grid of vectors, cubic": (made("RegularGridInterpolator", GRID[:1], method="cubic"), M.T, INSIDE),
    "grid of vectors, pchip": (made("RegularGridInterpolator", GRID[:1], method="pchip"), M.T, INSIDE),
    "grid, a tuple": (lambda m: lambda v, x, y: m.RegularGridInterpolator(GRID, v)((x, y)), V, PLACES[..., 0], INSIDE[0] - 2),
    "grid complex": (made("RegularGridInterpolator", GRID), V * 1j, PLACES),
    "grid float32": (made("RegularGridInterpolator", GRID), V.astype(np.float32)[:, :, None], PLACES),
    "interpn": (lambda m: lambda v, x: m.interpn(GRID, v, x), V, PLACES),
    **{
        f"interp1d {kind}": (made("interp1d", X, kind=kind), Y, INSIDE)
        for kind in ("linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", 5)
    },
    **{
        f"interp1d extrapolated {kind}": (made("interp1d", X, kind=kind, fill_value="extrapolate"), Y, AT)
        for kind in ("linear", "nearest", "cubic")
    },
    **{
        f"interp1d extrapolated {kind}": (made("interp1d", X, kind=kind, fill_value="extrapolate"), Y, at)
        for kind, at in (("previous", AT[1]), ("next", AT[0]))  # NaN on the other side
    },
    "interp1d filled": (made("interp1d", X, fill_value=(1.0, 2.0), bounds_error=False), Y, AT),
    "interp1d of columns": (made("interp1d", X[::-1]), M, INSIDE),
    **{
        f"RBF {kernel}": (made("RBFInterpolator", SCATTERED, kernel=kernel, epsilon=1.2, smoothing=0.1), HEIGHTS, NEAR)
        for kernel in ("linear", "thin_plate_spline", "cubic", "quintic", "multiquadric", "inverse_multiquadric", "inverse_quadratic", "gaussian")
    },
    "RBF of columns": (made("RBFInterpolator", SCATTERED, kernel="linear", degree=0), np.stack([HEIGHTS, HEIGHTS**2], 1), NEAR),
    "RBF complex": (made("RBFInterpolator", SCATTERED), HEIGHTS + 1j * HEIGHTS[::-1], NEAR),
    "RBF without monomials": (made("RBFInterpolator", SCATTERED, kernel="gaussian", epsilon=0.5, degree=-1), HEIGHTS, NEAR),
    "interp1d of rows": (made("interp1d", X, axis=0), M.T, INSIDE),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_as_scipy(name):
    make, *args = CASES[name]
    # SciPy solves for the coefficients of "cubic" and "quintic" with an iteration.
    rtol = 1e-5 if name.startswith("grid") and args[0] is V else 1e-9
    # Slopes have kinks; noise of that iteration is no derivative.
    given = (1,) if name.endswith(("steps", "quintic")) else None
    ours, scipys = make(interpolate), make(scipy.interpolate)
    if "float32" in name:
        given = ()
    check_function(ours, scipys, args, rtol=rtol, diff_argnums=given)


@pytest.mark.parametrize("name", ["CubicSpline", "make_interp_spline"])
def test_periodic(name):
    def value(library):
        return lambda y, x: getattr(library, name)(X, y, bc_type="periodic")(x)

    ours, scipys = value(interpolate), value(scipy.interpolate)
    expected = scipys(PERIODIC, AT)
    found, pullback = fg.vjp(lambda y: ours(y, AT), PERIODIC)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(fg.jit(ours)(PERIODIC, AT), expected, rtol=1e-9)
    direction = np.array([1.0, -0.5, 2, 0, 0.3, 1.0])
    ct = np.cos(AT)
    numeric = scipys(PERIODIC + direction, AT) - expected  # linear
    np.testing.assert_allclose(np.sum(pullback(ct)[0] * direction), np.sum(ct * numeric))
    with pytest.raises(ValueError, match="must be identical"):
        fg.grad(lambda y: ours(y, 0.5))(Y)


def test_derivatives_at_the_ends():
    def f(slope, bend):
        return interpolate.CubicSpline(X, Y, bc_type=((1, slope), (2, bend)))(AT)

    expected = [f(1.0, 0.0) - f(0.0, 0.0), f(0.0, 1.0) - f(0.0, 0.0)]
    for found, column in zip(fg.jacobian(f, (0, 1))(0.3, 0.2), expected):
        np.testing.assert_allclose(found, column, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda m, x, y: m.BSpline(np.append(x, [5, 6, 7.0]), y, 2)(INSIDE),
        lambda m, x, y: m.PchipInterpolator(x, y)(INSIDE),
        lambda m, x, y: m.Akima1DInterpolator(x, y)(INSIDE),
        lambda m, x, y: m.CubicHermiteSpline(x, y, y**2)(INSIDE),
        lambda m, x, y: m.PPoly(C[:, [0, 1, 2, 0, 1]], x)(INSIDE),
    ],
)
def test_places_and_knots_have_derivatives(make):
    direction = RNG.normal(size=6)
    eps = 1e-6
    ahead = make(scipy.interpolate, X + eps * direction, Y)
    behind = make(scipy.interpolate, X - eps * direction, Y)
    tangent = fg.jvp(lambda x: make(interpolate, x, Y), (X,), (direction,))[1]
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * eps), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("nu", [1, 2])
def test_splines_from_splines(nu):
    for method in ("derivative", "antiderivative"):
        for make in (lambda m: m.BSpline(T, Y, 3), lambda m: m.PPoly(C, X[:4])):
            ours, expected = make(interpolate), getattr(make(scipy.interpolate), method)(nu)(AT)
            found = getattr(ours, method)(nu)(AT)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
            f = fg.jit(lambda s, x, method=method: getattr(s, method)(nu)(x))
            np.testing.assert_allclose(f(ours, AT), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
@pytest.mark.parametrize("ends", [(0.3, 3.1), (2.0, 1.0), (-1.0, 5.0), (0.5, 9.5)])
def test_integrals(extrapolate, ends):
    for ours, scipys in [
        (interpolate.BSpline(T, Y, 3), scipy.interpolate.BSpline(T, Y, 3)),
        (interpolate.PPoly(C, X[:4]), scipy.interpolate.PPoly(C, X[:4])),
    ]:
        expected = scipys.integrate(*ends, extrapolate=extrapolate)
        np.testing.assert_allclose(ours.integrate(*ends, extrapolate), expected, atol=1e-12)
        jitted = fg.jit(lambda a, b, ours=ours: ours.integrate(a, b, extrapolate))
        np.testing.assert_allclose(jitted(*ends), expected, atol=1e-12)


OBJECTS = {
    "BSpline": lambda: interpolate.BSpline(T, Y, 3),
    "PPoly": lambda: interpolate.PPoly(C, X[:4]),
    "CubicSpline": lambda: interpolate.CubicSpline(X, Y),
    "PchipInterpolator": lambda: interpolate.PchipInterpolator(X, Y),
    "interp1d": lambda: interpolate.interp1d(X, Y, "cubic"),
    "linear": lambda: interpolate.interp1d(X, Y),
    "grid": lambda: interpolate.RegularGridInterpolator(GRID[:1], Y, bounds_error=False),
    "cubic grid": lambda: interpolate.RegularGridInterpolator(GRID[:1], Y, "cubic", False),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_pytrees(name):
    f = OBJECTS[name]()
    leaves, structure = fg.tree.flatten(f)
    again = fg.tree.unflatten(structure, leaves)
    assert type(again) is type(f)
    expected = f(INSIDE)
    np.testing.assert_allclose(again(INSIDE), expected)
    np.testing.assert_allclose(fg.jit(lambda f, x: f(x))(f, INSIDE), expected, rtol=1e-9)
    np.testing.assert_allclose(fg.vmap(lambda x: f(x[None])[0])(INSIDE), expected, rtol=1e-9)
    gradient = fg.grad(lambda f: f(INSIDE).sum())(f)
    assert fg.tree.structure(gradient) == structure


@pytest.mark.parametrize("kind", ["linear", "nearest", "previous", "zero", "slinear", "cubic"])
def test_dtypes_of_interp1d(kind):
    for x, y, at in itertools.product("fd", "fdFD", "fd"):
        x, y, at = np.arange(6).astype(x), np.arange(6).astype(y), np.array([0.5, 2.25], at)
        expected = scipy.interpolate.interp1d(x, y, kind)(at)
        found = fg.jit(lambda y, at: interpolate.interp1d(x, y, kind)(at))(y, at)  # noqa: B023
        assert found.dtype == expected.dtype, (x.dtype, y.dtype, at.dtype)
        np.testing.assert_allclose(found, expected, 1e-6)


def test_second_derivatives():
    s = interpolate.CubicSpline(X, Y)
    np.testing.assert_allclose(fg.grad(fg.grad(s))(1.3), s(1.3, 2), rtol=1e-9)
    b = interpolate.BSpline(T, Y, 3)
    np.testing.assert_allclose(fg.grad(fg.grad(b))(1.3), b(1.3, 2), rtol=1e-9)


ERRORS = {
    "points are traced": (lambda x: interpolate.RegularGridInterpolator((x, x), V), X, TypeError, "points is traced"),
    "few points": (lambda v: interpolate.RegularGridInterpolator((X[:3],), v, "pchip"), Y[:3], ValueError, "at least 4"),
    "knots": (lambda c: interpolate.BSpline(T[::-1], c, 3)(1.0), Y, ValueError, "non-decreasing order"),
    "not enough coefficients": (lambda c: interpolate.BSpline(T, c[:3], 3)(1.0), Y, ValueError, "inconsistent"),
    "lengths": (lambda y: interpolate.CubicSpline(X, y)(1.0), Y[:4], ValueError, "doesn't match the length of `x`"),
    "axis": (lambda y: interpolate.interp1d(X, y, axis=3)(1.0), Y, IndexError, "out of bounds"),
    "order": (lambda y: interpolate.PchipInterpolator(-X, y)(1.0), Y, ValueError, "strictly increasing"),
    "condition": (lambda y: interpolate.CubicSpline(X, y, bc_type="free")(1.0), Y, ValueError, "bc_type=free is not"),
    "method": (lambda v: interpolate.RegularGridInterpolator(GRID, v, "best"), V, ValueError, "is not defined"),
    "grid": (lambda v: interpolate.RegularGridInterpolator(GRID, v[:4]), V, ValueError, "6 points and 4 values"),
    "dimension": (lambda x: interpolate.RegularGridInterpolator(GRID, V)(x), M, ValueError, "have dimension 6"),
    "conditions": (
        lambda y: interpolate.make_interp_spline(X, y, bc_type=([(1, 0.0)], "natural")),
        Y,
        ValueError,
        "by name",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    f, x, error, message = ERRORS[name]
    with pytest.raises(error, match=message):
        fg.vjp(f, x)


@pytest.mark.parametrize(
    "make",
    [lambda: interpolate.interp1d(X, Y), lambda: interpolate.RegularGridInterpolator(GRID[:1], Y)],
)
def test_bounds(make):
    f = make()
    with pytest.raises(ValueError, match=r"interpolation range|out of bounds"):
        fg.grad(lambda x: f(x[None])[0])(np.float64(9.0))
    assert np.isnan(fg.jit(f)(np.array([9.0, 1.0]))).tolist() == [True, False]


def test_nothing_outside():
    for f in (
        interpolate.BSpline(T, Y, 3, extrapolate=False),
        interpolate.CubicSpline(X, Y, extrapolate=False),
        interpolate.interp1d(X, Y, bounds_error=False),
        interpolate.RegularGridInterpolator((X,), Y, bounds_error=False),
    ):
        for g in (f, fg.jit(f)):
            assert np.isnan(g(np.array([-1.0, 1.0, 5.0]))).tolist() == [True, False, True]


def test_names():
    assert interpolate.__dir__() == interpolate.__all__
    with pytest.raises(AttributeError, match=r"scipy\.interpolate\.splprep works on plain arrays"):
        interpolate.splprep
    with pytest.raises(AttributeError, match="did you mean 'CubicSpline'"):
        interpolate.CubicSplin


def test_places_in_each_cell_of_a_grid():
    x = np.array([0.0, 1.0, 3.0, 4.0])
    f = fg.jit(lambda y, places: interpolate.interpn((x,), y, places))
    found = f(x**2, np.array([[0.5], [2.0], [3.5], [4.0]]))
    np.testing.assert_allclose(found, [0.5, 5, 12.5, 16], rtol=1e-15)


def test_radial_functions_of_traced_places_widths_and_smoothing():
    def value(y, epsilon, smoothing):
        f = scipy.interpolate.RBFInterpolator(
            y, HEIGHTS, smoothing=smoothing, kernel="multiquadric", epsilon=epsilon
        )
        return np.sum(f(NEAR) ** 2)

    arguments = SCATTERED, 1.2, 0.1
    directions = RNG.normal(size=SCATTERED.shape), 0.7, -0.4
    steps = [[x + s * t for x, t in zip(arguments, directions, strict=True)] for s in (1e-6, -1e-6)]
    numeric = (value(*steps[0]) - value(*steps[1])) / 2e-6
    for slope in (fg.grad(value, (0, 1, 2)), fg.jit(fg.grad(value, (0, 1, 2)))):
        found = sum(np.sum(g * t) for g, t in zip(slope(*arguments), directions, strict=True))
        np.testing.assert_allclose(found, numeric, rtol=1e-6)


def test_radial_interpolant_made_outside():
    f = scipy.interpolate.RBFInterpolator(SCATTERED, HEIGHTS)
    ours = interpolate.RBFInterpolator(SCATTERED, HEIGHTS)
    np.testing.assert_allclose(fg.jit(lambda x: f(x))(NEAR), f(NEAR), rtol=1e-12)
    slopes = [fg.grad(lambda x, g=g: g(x).sum())(NEAR) for g in (f, ours)]
    np.testing.assert_allclose(*slopes, rtol=1e-12)
    few = scipy.interpolate.RBFInterpolator(SCATTERED, HEIGHTS, neighbors=5)
    with pytest.raises(TypeError, match="neighbors are found for plain arrays alone"):
        fg.grad(lambda x: few(x).sum())(NEAR)
    with pytest.raises(ValueError, match="`epsilon` must be specified"):
        fg.grad(lambda y: interpolate.RBFInterpolator(y, HEIGHTS, kernel="gaussian")(NEAR).sum())(
            SCATTERED
        )
