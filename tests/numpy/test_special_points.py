"""Derivatives at special points, by a table: zeros of lengths, tiny and huge vectors, weights of 0, infinite exponents."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import nn, optim
from fungrad.scipy import special

pytestmark = [
    pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
]

INF, NAN = np.inf, np.nan
Z, MASK = np.zeros(2), np.array([True, True, False])


def pairs(length: Any) -> Any:
    """Return the sum of cubes of distances of three points in the plane, each of itself too."""

    def energy(p: Any) -> Any:
        d = p.reshape(3, 2)
        return fnp.sum(length(d[:, None] - d[None]) ** 3)

    return energy


def masked(length: Any) -> Any:
    """Return the sum of inverse distances of three points, of which those of a point to itself are masked."""

    def energy(p: Any) -> Any:
        d = p.reshape(3, 2)
        r = length(d[:, None] - d[None])
        return fnp.sum(fnp.where(np.eye(3), 0.0, 1 / fnp.where(np.eye(3), 1.0, r)))

    return energy


def of_order(p: Any) -> Any:
    return lambda d: fnp.linalg.norm(d, p, axis=-1)


def of_complex(d: Any) -> Any:
    return fnp.abs(d[..., 0] + 1j * d[..., 1])


LENGTHS = {
    "norm": of_order(None),
    "norm 3": of_order(3),
    "norm 1.5": of_order(1.5),
    "norm 4": of_order(4),
    "hypot": lambda d: fnp.hypot(d[..., 0], d[..., 1]),
    "abs of complex": of_complex,
    "std": lambda d: fnp.std(d, axis=-1),
    "std where": lambda d: fnp.std(d, axis=-1, where=np.array([True, True])),
    "nanstd": lambda d: fnp.nanstd(d, axis=-1),
}
POINTS = np.array([0.3, -0.1, 1.0, 2.0, 3.0, 1.5])


def forms(f: Any) -> dict[str, Any]:
    """Return the gradient in all ways."""
    ways = {"grad": fg.grad(f), "jacfwd": fg.jacfwd(f), "jacrev": fg.jacrev(f)}
    return ways | {f"jit {name}": fg.jit(ways[name]) for name in ("grad", "jacfwd")}


def seconds(f: Any) -> dict[str, Any]:
    """Return the second derivatives in all orders."""
    ways = {
        "hessian": fg.hessian(f),
        "reverse twice": fg.jacrev(fg.jacrev(f)),
        "forward twice": fg.jacfwd(fg.jacfwd(f)),
        "reverse of forward": fg.jacrev(fg.jacfwd(f)),
    }
    return ways | {f"jit {name}": fg.jit(ways[name]) for name in ("hessian", "reverse twice")}


def differences(f: Any, x: Any, h: float = 1e-6) -> np.ndarray:
    """Return central differences of a gradient."""
    return np.stack([(f(x + h * t) - f(x - h * t)) / (2 * h) for t in np.eye(x.size)])


@pytest.mark.parametrize("name", LENGTHS)
def test_distances_of_points_to_themselves(name):
    """Their length is 0 and stays 0, in every direction."""
    for energy in (masked(LENGTHS[name]), pairs(LENGTHS[name])):
        expected = differences(fg.grad(energy), POINTS)
        ways = seconds(energy)
        if energy.__qualname__.startswith("pairs"):
            # what is 0 because a length is, as its square, may not be: these are NaN at worst
            ways = {k: ways[k] for k in ("hessian", "forward twice", "jit hessian")}
        for way, second in ways.items():
            np.testing.assert_allclose(second(POINTS), expected, 1e-5, 1e-5, err_msg=way)


@pytest.mark.parametrize("name", LENGTHS)
def test_a_mask_after_a_length_of_zero(name):
    """In reverse mode nothing comes back through the mask; a length that is not masked has no second derivative at 0."""
    f = lambda x: fnp.where(x[0] > 1, LENGTHS[name](x), 0.0)
    for second in (fg.jacrev(fg.jacrev(f)), fg.jit(fg.jacrev(fg.grad(f)))):
        np.testing.assert_array_equal(second(Z), 0)
    for g in (
        LENGTHS[name],
        lambda x: LENGTHS[name](x) ** 2,
        lambda x: 1 - fnp.cos(LENGTHS[name](x)),
    ):
        for way, gradient in forms(g).items():
            np.testing.assert_array_equal(gradient(Z), 0, way)
        for way, second in seconds(g).items():
            assert np.isnan(np.diag(second(Z))).all(), way


class Point(NamedTuple):
    """A function, a point, and its derivatives there."""

    f: Any
    x: Any
    first: Any
    second: Any


VECTOR = [3.0, 4.0, -1.0]
OF_VECTORS = {
    "norm": fnp.linalg.norm,
    "norm 3": lambda x: fnp.linalg.norm(x, 3),
    "norm 1.5": lambda x: fnp.linalg.norm(x, 1.5),
    "norm of complex": lambda x: fnp.linalg.norm(x + 1j * x[::-1]),
    "norm 3 of complex": lambda x: fnp.linalg.norm(x + 1j * x[::-1], 3),
    "abs of complex": lambda x: fnp.sum(fnp.abs(x + 1j * x[::-1])),
    "rows": lambda x: fnp.sum(fnp.linalg.norm(fnp.stack([x, 2 * x]), axis=0)),
    "std": fnp.std,
    "std where": lambda x: fnp.std(x, where=MASK),
    "nanstd": lambda x: fnp.nanstd(fnp.append(x, np.array([NAN], x.dtype))),
    "global norm": lambda x: optim.global_norm({"a": x, "b": 2 * x[:1]}),
}


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # of 1 / 1e-310
@pytest.mark.parametrize("name", OF_VECTORS)
@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e-170, "f8"), (1e-310, "f8"), (1e200, "f8"), (1e-25, "f4"), (1e30, "f4")]
)
def test_tiny_and_huge_vectors(name, scale, dtype):
    """Squares underflow or overflow; the length does not."""
    f, x = OF_VECTORS[name], np.array(VECTOR)
    point = (x * scale).astype(dtype)
    tolerance = 1e-5 if dtype == "f4" or scale < 1e-300 else 1e-12
    for way, gradient in forms(f).items():
        found = gradient(point)
        assert found.dtype == point.dtype
        np.testing.assert_allclose(found, fg.grad(f)(x), tolerance, tolerance, err_msg=way)
    np.testing.assert_allclose(np.float64(fg.jit(f)(point)) / scale, f(x), rtol=tolerance)
    if scale > 1e-300:  # else they overflow
        for way in ("hessian", "reverse twice"):
            found = seconds(f)[way](point).astype(float) * scale
            np.testing.assert_allclose(found, fg.hessian(f)(x), 1e-4, 1e-5, err_msg=way)


@pytest.mark.parametrize("name", OF_VECTORS)
def test_the_first_derivative_at_zero_is_zero(name):
    f = OF_VECTORS[name]
    for dtype in ("f4", "f8"):
        for way, gradient in forms(f).items():
            np.testing.assert_array_equal(gradient(np.zeros(3, dtype)), 0, way)
    rests = lambda x: f(x - x)
    for x in (np.zeros(3), np.array(VECTOR)):
        np.testing.assert_array_equal(fg.hessian(rests)(x), 0)
        np.testing.assert_array_equal(fg.jit(fg.hessian(rests))(x), 0)


@pytest.mark.parametrize("order", ["fro", 2, "nuc", 1, np.inf])
def test_matrix_norms_at_zero(order):
    f = lambda a: fnp.sum(fnp.linalg.norm(a, order, (-2, -1)))
    for shape in ((2, 2), (2, 3), (3, 2)):
        for dtype in ("f4", "f8", "c16"):
            for way, gradient in forms(f).items():
                if dtype != "c16" or "grad" in way:
                    np.testing.assert_array_equal(gradient(np.zeros(shape, dtype)), 0, way)
    stack = np.stack([np.zeros((2, 2)), np.diag([3.0, 1.0])])
    found = fg.grad(f)(stack)
    np.testing.assert_array_equal(found[0], 0)
    np.testing.assert_allclose(found[1], fg.grad(f)(stack[1]))
    np.testing.assert_array_equal(fg.hessian(lambda a: f(a - a))(np.eye(2)), 0)
    if order in (2, "nuc"):
        assert np.isnan(fg.hessian(f)(np.zeros((2, 2)))).any()


def test_singular_values_of_zero_share_nothing():
    np.testing.assert_array_equal(
        fg.grad(lambda a: fnp.linalg.norm(a, "nuc"))(np.diag([2.0, 0.0])), np.diag([1.0, 0.0])
    )


E = np.exp(1.0)
W, A = np.array([0.0, 1.0]), np.array([-1.0, -2.0])
SUMS = {
    "weight of 0": Point(lambda f: lambda w: f(A, b=w), W, [E, 1], [[-E * E, -E], [-E, -1]]),
    "exponent of weight 0": Point(lambda f: lambda a: f(a, b=W), A, [0, 1], np.zeros((2, 2))),
    "infinite exponent of weight 0": Point(
        lambda f: lambda w: f(np.array([INF, -2.0]), b=w), W, [0, 1], [[0, 0], [0, -1]]
    ),
    "large exponent of weight 0": Point(lambda f: lambda a: f(a, b=W), np.array([2000.0, 0]), [0, 1], np.zeros((2, 2))),
    "no weight": Point(lambda f: lambda w: f(A, b=w), Z, [0, 0], np.zeros((2, 2))),
    "beside infinity": Point(lambda f: lambda x: f(fnp.stack([x[0], INF, x[1]])), A, [0, 0], np.zeros((2, 2))),
    "beside infinity, weighted": Point(
        lambda f: lambda x: f(fnp.stack([x[0], INF, x[1]]), b=np.ones(3)), A, [0, 0], np.zeros((2, 2))
    ),
    "beside -infinity": Point(
        lambda f: lambda x: f(fnp.stack([x[0], -INF, x[1]])), Z, [0.5, 0.5], [[0.25, -0.25], [-0.25, 0.25]]
    ),
    "nothing": Point(lambda f: lambda x: f(x), np.array([-INF, -INF]), [0, 0], np.zeros((2, 2))),
    "left out": Point(lambda f: lambda x: f(x, where=np.array([True, False])), np.array([0.0, 900.0]), [1, 0], np.zeros((2, 2))),
    "left out, weighted": Point(
        lambda f: lambda w: f(A, b=w, where=np.array([True, False])), np.ones(2), [1, 0], [[-1, 0], [0, 0]]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("f", [special.logsumexp, nn.logsumexp], ids=["special", "nn"])
def test_logsumexp(name, f):
    f, x, first, second = SUMS[name].f(f), *SUMS[name][1:]
    for dtype in ("f4", "f8"):
        tolerance = 1e-5 if dtype == "f4" else 1e-12
        for way, gradient in forms(f).items():
            found = gradient(x.astype(dtype))
            np.testing.assert_allclose(found, first, tolerance, tolerance, err_msg=way)
        for way, hessian in seconds(f).items():
            found = hessian(x.astype(dtype))
            np.testing.assert_allclose(found, second, tolerance, tolerance, err_msg=way)


def test_infinite_exponents_share_the_derivative():
    for x, expected in (([INF, INF, 0.0], [0.5, 0.5, 0]), ([INF, -INF, 0.0], [1, 0, 0])):
        for way, gradient in forms(special.logsumexp).items():
            np.testing.assert_array_equal(gradient(np.array(x)), expected, way)
    for way, gradient in forms(lambda x: fnp.logaddexp(x, INF)).items():
        assert gradient(1.0) == 0, way


def test_logsumexp_where():
    x, where = np.array([[0.0, 100.0], [1.0, 2.0]]), np.array([[True, False], [True, True]])
    expected = np.array([0.0, np.logaddexp(1.0, 2.0)])
    f = lambda x, where: special.logsumexp(x, axis=1, where=where)
    for found in (f(x, where), fg.jit(f)(x, where), fg.jit(lambda x: f(x, where))(x)):
        np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(f(x, None), special.logsumexp(x, axis=1))
    value, sign = special.logsumexp(x, axis=1, b=-1.0, return_sign=True, where=where)
    np.testing.assert_allclose(value, expected)
    np.testing.assert_array_equal(sign, -1)
