"""Compiled and plain calls give the same bits, except where docs/dtypes.md says that they round otherwise."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

RNG = np.random.default_rng(0)
X = RNG.normal(size=(7, 9))

FUNCTIONS = {
    **{
        name: getattr(fnp, name)
        for name in ("sum", "prod", "mean", "average", "var", "std", "cumsum", "cumprod", "nanmean")
    },
    **{
        f"{name} along 0": lambda x, name=name: getattr(fnp, name)(x, axis=0)
        for name in ("sum", "prod", "mean", "var", "std", "cumsum", "average")
    },
    **{f"x**{p}": lambda x, p=p: x**p for p in (0, 0.5, 1, 1.5, 2, -1)},
    **{f"float_power {p}": lambda x, p=p: fnp.float_power(x, p) for p in (0.5, 1.5, 2, 3, -1)},
    "power": lambda x: fnp.power(x, x),
    "float_power": lambda x: fnp.float_power(x, x),
    "division": lambda x: x / (x + 1),
    "ifft": lambda x: fnp.fft.ifft(x, norm="ortho"),
    "fft": fnp.fft.fft,
}
REAL_FUNCTIONS = {
    **{name: getattr(fnp, name) for name in ("median", "sinc", "trapezoid")},
    "interp": lambda x: fnp.interp(x, np.sort(X[0]), X[1]),
    "interp of complex values": lambda x: fnp.interp(x, np.sort(X[0]), X[1] + 1j * X[2]),
    "interp at the knots": lambda x: fnp.interp(fnp.sort(x[0]), fnp.sort(x[0]), x[1]),
    "interp with a period": lambda x: fnp.interp(x, X[0], X[1], period=1.5),
    "interp between two knots": lambda x: fnp.interp(x, [-0.3, 0.7], [0.1, -1.7]),
    "ihfft": fnp.fft.ihfft,
    "rfft": fnp.fft.rfft,
    "logaddexp": lambda x: fnp.logaddexp(x, -x),
    "norm along 0": lambda x: fnp.linalg.norm(x, axis=0),
    "bincount": lambda x: fnp.bincount(np.array([0, 1, 1, 2, 0, 1, 3]), x[:, 0]),
    "at.add of a number": lambda x: fg.at(x[0])[np.array([0, 1, 1, 2, 0, 1, 3])].add(0.1),
    "at.add of doubles": lambda x: fg.at(x[0])[np.array([0, 1, 1, 2, 0, 1, 3])].add(X[:, 1]),
    "at.mul of doubles": lambda x: fg.at(x[0])[np.array([0, 1, 1, 2, 0, 1, 3])].mul(X[:, 1]),
    "at.add": lambda x: fg.at(x[0])[np.array([0, 1, 1, 2, 0, 1, 3])].add(x[:, 0]),
}


IN_SINGLE = ("sum along 0", "var along 0", "std along 0")
"""What is made of halves by sums in single precision, which are closer to the truth."""


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", [*FUNCTIONS, *REAL_FUNCTIONS])
@pytest.mark.filterwarnings("ignore")
def test_compiled_and_plain_calls_round_alike(name, dtype):
    if dtype[0] == "c":
        if name in REAL_FUNCTIONS or name.startswith("var"):
            return
        x = (X + 1j * X[::-1]).astype(dtype)
    else:
        if dtype == "f2" and "fft" in name:
            return
        x = (abs(X) if "power" in name or "**" in name else X).astype(dtype)
    f = FUNCTIONS.get(name) or REAL_FUNCTIONS[name]
    if dtype == "f2" and name in IN_SINGLE:
        exact = f(x.astype(float))
        for found in (fg.jit(f)(x), fg.vjp(f, x)[0]):
            assert abs(found - exact).max() <= abs(f(x) - exact).max()
        return
    np.testing.assert_array_equal(fg.jit(f)(x), f(x))
    np.testing.assert_array_equal(fg.vjp(f, x)[0], f(x))


@pytest.mark.parametrize("n", [-3, -2, 2, 3, 4, 5, 6])
def test_matrix_power_multiplies_in_the_order_of_numpy(n):
    f = lambda x: fnp.linalg.matrix_power(x, n)
    x = X[:, :7]
    np.testing.assert_allclose(fg.jit(f)(x), f(x), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("shape", [(1,), (1, 1), (2,), (5,)])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x * fnp.conj(x),
        lambda x, y: (x + y) * y,
        lambda x, y: y * (x + y),
        lambda x, y: (x - y) ** 2,
    ],
)
def test_products_of_complex_numbers_round_alike_in_place_too(f, shape, dtype):
    """NumPy computes one product otherwise where the result goes into an operand."""
    for x, y in (RNG.normal(size=(2, *shape, 2)) for _ in range(20)):
        x, y = ((z[..., 0] + 1j * z[..., 1]).astype(dtype) for z in (x, y))
        np.testing.assert_array_equal(fg.jit(f)(x, y), f(x, y))
        np.testing.assert_array_equal(fg.vjp(f, x, y)[0], f(x, y))
        np.testing.assert_array_equal(fg.vmap(f)(x[None], y[None])[0], f(x, y))
