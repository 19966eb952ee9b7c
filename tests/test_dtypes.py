"""Dtypes through the transforms: precisions, dtypes of ml_dtypes, byte orders, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

REAL = ["float16", "float32", "float64", "longdouble"]
COMPLEX = ["complex64", "complex128", "clongdouble"]
ADDED = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float8_e4m3fn": 0.3, "float8_e5m2": 0.6}


def dtype_of(name):
    """Return a dtype of NumPy or of ml_dtypes; skip the test if the package is not there."""
    return np.dtype(getattr(np, name, None) or getattr(pytest.importorskip("ml_dtypes"), name))


# Programs from each family of primitives; with these numbers all are exact in 8 bits or nearly so.
PROGRAMS = {
    "broadcast": lambda x: (x[:, None] * x).sum(),
    "cast": lambda x: (x.real.astype(np.float64) * x).sum().astype(x.dtype),
    "concatenate": lambda x: fnp.concatenate([x, x * x]).sum(),
    "cumsum": lambda x: fnp.cumsum(x)[1] * x[0],
    "dot": lambda x: fnp.dot(x, x),
    "exp": lambda x: fnp.exp(-x).sum(),
    "gather": lambda x: x[np.array([0, 1, 1])].sum(),
    "max": lambda x: fnp.max(x * x),
    "mean": lambda x: fnp.mean(x),
    "power": lambda x: (x**3).sum(),
    "roll": lambda x: (fnp.roll(x, 1) * x).sum(),
    "sort": lambda x: fnp.sort(x)[0],
    "where": lambda x: fnp.where(x > x[1], x, -x).sum(),
    "zeros_like": lambda x: (fnp.zeros_like(x) + x).sum(),
}
X = np.array([0.5, 1.5, 0.75])


@pytest.mark.parametrize("dtype", [*REAL, *ADDED])
def test_programs(dtype):
    """The gradient has the dtype of the argument, under every transform; `jit` gives NumPy's value, or one that is less wrong."""
    x = X.astype(dtype_of(dtype))
    tolerance = TOLERANCE.get(dtype, 1e-6)
    for name, f in PROGRAMS.items():
        expected = fg.grad(f)(X)
        jvp = fg.jvp(f, (x,), (np.ones_like(x),))[1]
        rows = fg.vmap(fg.grad(f))(np.stack([x, x]))
        for gradient in (fg.grad(f)(x), fg.jit(fg.grad(f))(x), rows[1]):
            assert gradient.dtype == x.dtype, name
            np.testing.assert_allclose(gradient.astype(float), expected, tolerance, err_msg=name)
        assert jvp.dtype == f(x).dtype == fg.jit(f)(x).dtype == x.dtype, name
        np.testing.assert_allclose(float(jvp), expected.sum(), tolerance, tolerance, err_msg=name)
        value, plain, exact = float(fg.jit(f)(x)), float(f(x)), float(f(X))
        alike = value == pytest.approx(plain, rel=tolerance / 4)
        assert alike or abs(value - exact) < abs(plain - exact), name


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_programs(dtype):
    z = (X + 0.5j).astype(dtype)
    for name, f in PROGRAMS.items():
        holomorphic = fg.grad(f, holomorphic=True)
        assert holomorphic(z).dtype == z.dtype, name
        np.testing.assert_allclose(holomorphic(z), holomorphic(X + 0.5j), 1e-5, err_msg=name)
        assert fg.grad(lambda z, f=f: abs(f(z)))(z).dtype == z.dtype, name


@pytest.mark.parametrize("dtype", ADDED)
def test_derivatives_of_ufuncs_in_added_dtypes(dtype):
    """To second order, those of float32 up to precision: no rule widens the dtype on the way."""
    dtype = dtype_of(dtype)
    tolerance = 2 * TOLERANCE[dtype.name]
    operands = [np.array(x, dtype) for x in ([0.5, 1.25], [1.5, 0.75])]
    differ = []
    for name in fnp.__all__:
        ufunc = getattr(np, name, None)
        if not isinstance(ufunc, np.ufunc) or ufunc.signature or ufunc.nout > 1:
            continue
        args = operands[: ufunc.nin]
        with np.errstate(all="ignore"):
            try:
                found = ufunc(*args).dtype == dtype
            except TypeError:
                found = False
            if not found:
                continue
            function = getattr(fnp, name)
            for i in range(ufunc.nin):
                first = fg.grad(lambda *xs, f=function: f(*xs).sum(), i)
                second = fg.grad(lambda *xs, f=first: f(*xs).sum(), i)
                for derivative in (first, second):
                    slope = derivative(*args)
                    expected = derivative(*[x.astype(np.float32) for x in args])
                    near = np.allclose(
                        slope.astype(float), expected, tolerance, tolerance, equal_nan=True
                    )
                    if slope.dtype != dtype or not near:
                        differ.append((name, i, slope, expected))
    assert not differ


def test_norms_of_bfloat16():
    """NumPy does not know it for a float, and computes in float64."""
    x = np.array([3, 4], dtype_of("bfloat16"))
    for ord in (None, 1, 3):
        expected = np.linalg.norm(x, ord)
        found = fg.jit(lambda x, ord=ord: np.linalg.norm(x, ord))(x)
        assert (found, found.dtype) == (expected, expected.dtype)
    assert fg.grad(np.linalg.norm)(x).dtype == x.dtype


def test_products_of_stacks_in_bfloat16():
    """NumPy multiplies stacks in float32, and others in bfloat16; mapped, a product keeps its dtype."""
    x = np.ones((2, 3, 3), dtype_of("bfloat16"))
    assert fg.vmap(fnp.dot)(x, x).dtype == x.dtype
    assert fg.vmap(fnp.matmul)(x, x).dtype == fg.jit(fnp.matmul)(x, x).dtype == (x @ x).dtype
    _, pullback = fg.vjp(fg.vmap(fnp.dot), x, x)
    assert [ct.dtype for ct in pullback(x)] == [x.dtype, x.dtype]


def test_arrays_made_in_bfloat16_can_be_assigned_to():
    bfloat16 = dtype_of("bfloat16")

    def f(x):
        y, z = fnp.zeros(3, bfloat16), fnp.array([1, 2, 3], bfloat16)
        y[0], z[1:] = x[0], x[1:]
        return (y + z).sum()

    np.testing.assert_array_equal(fg.grad(f)(X.astype(bfloat16)), [1, 1, 1])


@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_small_integers(name):
    x = np.array([1, 2, 3], dtype_of(name))
    found = fg.jit(lambda x: [x + x, x[::-1], x == 2, fnp.sort(x), x.astype(float)])(x)
    for a, b in zip(found, [x + x, x[::-1], x == 2, x, x.astype(float)], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    with pytest.raises(
        TypeError, match="only floating-point and complex arguments have a derivative"
    ):
        fg.grad(lambda x: fnp.sum(x * 1.0))(x)


def test_a_cast_to_an_added_dtype_keeps_the_gradient():
    bfloat16 = dtype_of("bfloat16")
    gradient = fg.grad(lambda x: (x.astype(bfloat16) * 2).sum().astype(np.float32))(X)
    np.testing.assert_array_equal(gradient, [2.0, 2.0, 2.0])


def test_longdouble_keeps_its_digits():
    x = np.longdouble(2) / 3
    if np.finfo(np.longdouble).eps == np.finfo(float).eps:
        pytest.skip("here it is float64")
    assert fg.grad(lambda x: x * x / 2)(x) == x
    assert fg.jit(fnp.sin)(x) == np.sin(x)


def test_other_byte_orders():
    """What is computed is native, as in NumPy; elements that are only moved stay as they are."""
    swapped = X.astype(X.dtype.newbyteorder())
    for f in (lambda x: x * 2, lambda x: fnp.concatenate([x, x]), lambda x: fnp.sort(x)[::-1]):
        for found in (fg.jit(f)(swapped), fg.vjp(f, swapped)[0], fg.vmap(f)(swapped[None])[0]):
            np.testing.assert_array_equal(found, f(X))
    assert fg.grad(lambda x: (x**2).sum())(swapped).dtype == X.dtype
    assert fg.jit(lambda x: x + swapped)(1.0).dtype == X.dtype
    np.testing.assert_array_equal(fg.jit(lambda x: x.astype(np.float32))(swapped), X)


REFUSED = {
    "dates": np.array(["2020-01-01"], "M8[D]"),
    "durations": np.array([1], "m8[s]"),
    "objects": np.array([1.0], object),
    "records": np.zeros(1, [("a", float)]),
    "strings": np.array(["a"]),
    "bytes": np.array([b"a"]),
    "voids": np.zeros(1, "V8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_holds_no_numbers_is_refused(name):
    array = REFUSED[name]
    for transform in (fg.jit, fg.grad, fg.vmap, lambda f: lambda x: fg.jvp(f, (x,), (x,))):
        with pytest.raises(TypeError, match=r"cannot be traced.*x\.astype\(float\)"):
            transform(lambda x: x)(array)
    with pytest.raises(TypeError, match="cannot be traced"):
        fg.jit(lambda x: x + array)(1.0)


@pytest.mark.parametrize("name", ["complex32", "bcomplex32"])
def test_complex_dtypes_that_numpy_cannot_take_apart_are_refused(name):
    dtype = getattr(pytest.importorskip("ml_dtypes"), name, None)
    if dtype is None:
        pytest.skip("this version of ml_dtypes does not have it")
    with pytest.raises(TypeError, match="cannot be traced"):
        fg.jit(lambda x: x)(np.ones(2, dtype))


def test_ml_dtypes_is_not_imported():
    program = "import sys, fungrad, fungrad.numpy; print('ml_dtypes' in sys.modules)"
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, check=True, text=True).stdout == "False\n"


def test_python_integers_too_large():
    with pytest.raises(OverflowError, match="does not fit into int64"):
        fg.jit(lambda n: n)(2**63)
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        fg.jit(lambda x: x + 300)(np.int8(1))
    assert not fg.jit(lambda x: x == 300)(np.int8(1))
    assert fg.jit(lambda x: x < 10**30)(np.uint64(1))


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX, "int8", "uint16", "bool"])
def test_python_scalars_are_weak_through_transforms(dtype):
    x = np.ones(2, dtype)

    def f(x, number):
        return x * number + 1

    for number in (2, 2.5, 1j):
        expected = f(x, number).dtype
        calls = [fg.jit(f)(x, number), fg.vmap(f, (0, None))(x, number), fg.vjp(f, x, number)[0]]
        calls += [fg.jit(fg.jit(f))(x, number), fg.jit(lambda x, n=number: f(x, n))(x)]
        assert {found.dtype for found in calls} == {expected}
