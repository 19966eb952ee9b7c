"""Splines through points at traced places: SciPy's values, derivatives against differences, errors."""

import numpy as np
import pytest
import scipy.interpolate

import fungrad as fg
from fungrad.scipy import interpolate
from fungrad.test_util import assert_allclose, check_grads

KNOTS = np.array([0.0, 0.4, 0.9, 1.7, 2.0, 2.9, 3.3, 4.1])
HEIGHTS = np.sin(2 * KNOTS) + KNOTS
BETWEEN = np.array([0.13, 1.1, 2.31, 3.9])
ENDS = [
    "not-a-knot", "natural", "clamped", "periodic", ("not-a-knot", "natural"), ("clamped", "not-a-knot"),
    ((1, 0.3), (2, -0.7)), ((2, 0.2), (1, 1.5)), ("natural", (1, 0.4)),
]  # fmt: skip


def agrees_at_traced_places(ours, theirs, x, y):
    """Check values under `jit` against SciPy's, and derivatives by places, values and arguments."""
    assert_allclose(fg.jit(ours)(x, y, BETWEEN), theirs(x, y, BETWEEN), rtol=1e-9, atol=1e-11)
    check_grads(ours, (x, y, BETWEEN), order=1, eps=1e-5, rtol=1e-5)


@pytest.mark.parametrize("n", [2, 3, 4, 8])
@pytest.mark.parametrize("bc_type", ENDS, ids=str)
def test_cubic_splines_at_traced_places(bc_type, n):
    x, y = KNOTS[:n], HEIGHTS[:n].copy()
    if n < 4 and isinstance(bc_type, tuple) and "not-a-knot" in bc_type and n == 3:
        pytest.skip("SciPy needs four points for that at one end")
    if bc_type == "periodic":
        y[-1] = y[0]
        closed = lambda x, y, t: interpolate.CubicSpline(x, np.append(y, y[:1]), bc_type=bc_type)(t)
        theirs = lambda x, y, t: scipy.interpolate.CubicSpline(
            x, np.append(y, y[0]), bc_type=bc_type
        )(t)
        agrees_at_traced_places(closed, theirs, x, y[:-1])
        return
    agrees_at_traced_places(
        lambda x, y, t: interpolate.CubicSpline(x, y, bc_type=bc_type)(t),
        lambda x, y, t: scipy.interpolate.CubicSpline(x, y, bc_type=bc_type)(t), x, y,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("k", "bc_type"), [*[(k, None) for k in range(6)], (3, "natural"), (3, "clamped")]
)
def test_interpolating_splines_at_traced_places(k, bc_type):
    columns = np.stack([HEIGHTS, KNOTS**2], 1)
    agrees_at_traced_places(
        lambda x, y, t: interpolate.make_interp_spline(x, y, k, bc_type=bc_type)(t),
        lambda x, y, t: scipy.interpolate.make_interp_spline(x, y, k, bc_type=bc_type)(t), KNOTS, columns,
    )  # fmt: skip


@pytest.mark.parametrize("n", [3, 4, 8])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_periodic_splines_at_traced_places(k, n):
    if n <= k:
        pytest.skip("SciPy needs more points than the degree")
    at = np.concatenate([BETWEEN[KNOTS[n - 1] > BETWEEN], [-1.3, 9.7] if k > 1 else []])

    def through(library):
        def f(x, y, t):
            closed = np.concatenate([y, y[:1]])
            return library.make_interp_spline(x, closed, k, bc_type="periodic")(t)

        return f

    x, y = KNOTS[:n], np.stack([HEIGHTS, KNOTS**2], 1)[: n - 1]
    ours, theirs = through(interpolate), through(scipy.interpolate)
    assert_allclose(fg.jit(ours)(x, y, at), theirs(x, y, at), rtol=1e-9, atol=1e-10)
    check_grads(ours, (x, y, at), order=1, eps=1e-5, rtol=1e-5)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_least_squares_at_traced_places_with_traced_knots_and_weights(k):
    x = np.linspace(0.05, 4, 12)
    y, w = np.stack([np.sin(2 * x), x**2], 1), 1 + 0.2 * np.cos(3 * x)
    whole = lambda inner: np.concatenate([np.zeros(k + 1), inner, np.full(k + 1, 4.1)])
    through = lambda library: (
        lambda x, y, inner, w, t: library.make_lsq_spline(x, y, whole(inner), k, w=w)(t)
    )
    given = x, y, np.array([0.97, 2.2]), w, BETWEEN
    ours, theirs = through(interpolate), through(scipy.interpolate)
    assert_allclose(fg.jit(ours)(*given), theirs(*given), rtol=1e-9, atol=1e-11)
    check_grads(ours, given, order=1, eps=1e-5, rtol=1e-5)
    by_places = lambda x: interpolate.make_lsq_spline(x, y.T, whole(given[2]), k, axis=1)(BETWEEN)
    assert_allclose(fg.jit(by_places)(x), scipy.interpolate.make_lsq_spline(x, y.T, whole(given[2]), k, axis=1)(BETWEEN), rtol=1e-9)  # fmt: skip


@pytest.mark.parametrize(
    "kind", ["linear", "nearest", "previous", "next", "zero", "slinear", "quadratic", "cubic"]
)
def test_interp1d_at_traced_places(kind):
    order = np.array([3, 0, 7, 1, 2, 6, 4, 5])
    agrees_at_traced_places(
        lambda x, y, t: interpolate.interp1d(x, y, kind)(t),
        lambda x, y, t: scipy.interpolate.interp1d(x, y, kind)(t), KNOTS[order], HEIGHTS[order],
    )  # fmt: skip


def test_traced_knots_and_what_is_refused():
    inner = np.array([0.95, 1.6, 2.1, 3.0])
    whole = lambda inner: np.concatenate([np.zeros(4), inner, np.full(4, 4.1)])
    t = whole(inner)
    agrees_at_traced_places(
        lambda inner, y, at: interpolate.make_interp_spline(KNOTS, y, t=whole(inner))(at),
        lambda inner, y, at: scipy.interpolate.make_interp_spline(KNOTS, y, t=whole(inner))(at), inner, HEIGHTS,
    )  # fmt: skip
    made = lambda **options: fg.grad(
        lambda x: interpolate.make_interp_spline(x, HEIGHTS, **options)(1.0)
    )
    with pytest.raises(TypeError, match="CubicSpline has"):
        made(bc_type=("not-a-knot", "natural"))(KNOTS)
    with pytest.raises(TypeError, match='"periodic" without t'):
        made(bc_type="periodic", t=t)(KNOTS)
    with pytest.raises(ValueError, match="must be identical"):
        made(bc_type="periodic")(KNOTS)
    with pytest.raises(TypeError, match="cannot be used with traced x"):
        made(k=5, bc_type="natural")(KNOTS)
    with pytest.raises(ValueError, match="8 are needed"):
        made(t=t[1:])(KNOTS)
    with pytest.raises(ValueError, match="one for each value"):
        made()(KNOTS[1:])
