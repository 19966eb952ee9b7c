"""Objects of other libraries that hold arrays, beside traced ones: values and derivatives are right, or an error says what to write."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

xarray = pytest.importorskip("xarray")
pandas = pytest.importorskip("pandas")
pint = pytest.importorskip("pint")
units = pytest.importorskip("astropy.units")
h5py = pytest.importorskip("h5py")

NUMBERS = np.array([1.0, 2.0, 3.0])
T, S = (xarray.DataArray(NUMBERS, dims=name) for name in "ts")
UNITS = pint.UnitRegistry()

OF_XARRAY = {
    "d * x": lambda x: (T * x).sum().item(),
    "x * d": lambda x: (x * T).sum().item(),
    "d + x": lambda x: (T + x).sum().item(),
    "x + d": lambda x: (x + T).sum().item(),
    "d - x": lambda x: (T - x).sum().item(),
    "d ** x": lambda x: (T**x).sum().item(),
    "d / x": lambda x: (T / x).sum().item(),
    "x / d": lambda x: (x / T).sum().data,
    "by names of axes": lambda x: ((T * x) * (S * x)).sum().item(),
    "np.multiply(x, d)": lambda x: np.multiply(x, T).sum().item(),
    "np.multiply(d, x)": lambda x: np.multiply(T, x).sum().item(),
    "np.sin(d * x)": lambda x: np.sin(T * x).sum().item(),
    "mean": lambda x: (T * x).mean("t").item(),
    "dataset": lambda x: (xarray.Dataset({"a": T}) * x)["a"].sum().item(),
}
OF_PINT = {
    "q * x": lambda x: (UNITS.Quantity(NUMBERS, "m") * x).sum().magnitude,
    "x * q": lambda x: (x * UNITS.Quantity(NUMBERS, "m")).sum().magnitude,
    "km + m": lambda x: (UNITS.Quantity(x, "km") + UNITS.Quantity(2.0, "m")).to("m").magnitude,
    "x * unit": lambda x: (x * UNITS.km + 2 * UNITS.m).to("m").magnitude,
    "np.multiply": lambda x: np.multiply(x, 1 * UNITS.km).to("m").magnitude,
    "square": lambda x: ((x * UNITS.km) ** 2).to("m^2").magnitude,
}


@pytest.mark.parametrize("f", (OF_XARRAY | OF_PINT).values(), ids=OF_XARRAY | OF_PINT)
def test_values_and_derivatives(f):
    value, slope = fg.value_and_grad(f)(2.0)
    np.testing.assert_allclose(value, f(2.0), rtol=1e-12)
    np.testing.assert_allclose(slope, (f(2 + 1e-5) - f(2 - 1e-5)) / 2e-5, rtol=1e-8)
    np.testing.assert_allclose(fg.jvp(f, (2.0,), (1.0,))[1], slope, rtol=1e-12)


SERIES = pandas.Series(NUMBERS, index=[2, 1, 0])


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        (T, r"xarray\.DataArray cannot be traced.*x\.to_numpy\(\)"),
        (SERIES, r"pandas\.Series cannot be traced.*x\.to_numpy\(\)"),
        (SERIES.index, r"pandas\.Index cannot be traced.*x\.to_numpy\(\)"),
        (
            pandas.DataFrame({"a": range(100)}),
            r"object of shape \(100, 1\) of type DataFrame.*x\.to_numpy\(\)",
        ),
        (UNITS.Quantity(NUMBERS, "m"), r"pint\.Quantity cannot be traced.*x\.magnitude"),
        (NUMBERS * units.km, r"astropy\.Quantity cannot be traced.*x\.value"),
    ],
    ids=lambda x: type(x).__name__,
)
@pytest.mark.parametrize("transform", [fg.jit, fg.grad, fg.vmap, fg.make_expr])
def test_arguments_that_mean_more_than_numbers_are_refused(transform, given, advice):
    with pytest.raises(TypeError, match=advice):
        transform(lambda x: x)(given)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (SERIES * x).sum(),
        lambda x: (x * SERIES).sum(),
        lambda x: fnp.dot(SERIES, x),
        lambda x: fnp.sum(fnp.sin(SERIES) * x),
        lambda x: ((NUMBERS * units.km) * x).value.sum(),
        lambda x: (x * (NUMBERS * units.km)).value.sum(),
    ],
)
def test_no_operand_loses_what_it_means(f):
    with pytest.raises(TypeError):
        fg.grad(f)(NUMBERS)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, fg.jacrev, fg.make_expr, fg.value_and_grad])
@pytest.mark.parametrize(
    ("f", "advice"),
    [
        (
            lambda x: np.sum(x * UNITS.Quantity(NUMBERS, "m")),
            r"Quantity.*x\.magnitude",
        ),
        (lambda x: (T * x).sum(), r"DataArray.*x\.data"),
    ],
    ids=["pint", "xarray"],
)
def test_results_that_mean_more_than_numbers_are_refused(transform, f, advice):
    with pytest.raises(TypeError, match=advice):
        transform(f)(NUMBERS)


def test_units_of_two_traced_quantities_stay():
    f = lambda x: (x * (x * UNITS.km)).to("m").sum().magnitude
    np.testing.assert_allclose(fg.grad(f)(NUMBERS), 2000 * NUMBERS)


def test_datasets_in_files_are_arrays(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        x = file.create_dataset("x", data=NUMBERS)
        assert fg.jit(lambda x: (x * 2).sum())(x) == 12
        np.testing.assert_array_equal(fg.grad(lambda x: (x * x).sum())(x), 2 * NUMBERS)
        np.testing.assert_array_equal(fg.vmap(lambda x: x + 1)(x), NUMBERS + 1)
        for f in (lambda a: (a * x).sum(), lambda a: (x * a).sum()):
            assert fg.grad(f)(2.0) == 6
