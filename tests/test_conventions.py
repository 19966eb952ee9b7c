"""Settings that put JAX's conventions in the place of NumPy's: promotion of dtypes, 32 bits, indices out of
bounds, matrices that have no factors."""

import concurrent.futures

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, nn, random
from fungrad.core.config import process_settings
from fungrad.core.types import ArrayType, type_of
from fungrad.settings import config, enable_x64, failures, out_of_bounds, promotion
from tests.optional import needs, optional

N, X = np.arange(1, 4, dtype=np.int32), np.ones(3, np.float32)
needs_ml_dtypes = needs("ml_dtypes")
ml_dtypes = optional("ml_dtypes")
B = np.ones(3, getattr(ml_dtypes, "bfloat16", float))


def types_of(f, *args):
    return [(t.dtype.name, t.weak) for t in fg.make_expr(f)(*args).output_types]


def of_any_dtype(table):
    """Return the names of rows; those whose arguments are of bfloat16 need ml_dtypes."""
    others = {name for name, (_, args, *_) in table.items() if any(x is B for x in args)}
    return [pytest.param(name, marks=[needs_ml_dtypes] * (name in others)) for name in table]


# Promotion

PROMOTED = {
    "int32 + float32": (lambda n, x: n + x, (N, X), "float32", "float64"),
    "float32 + int64": (lambda n, x: x + n, (N.astype(int), X), "float32", "float64"),
    "int64 * bfloat16": (lambda n, x: n * x, (N.astype(int), B), "bfloat16", None),
    "bfloat16 + a Python float": (lambda x: x + 1.5, (B,), "bfloat16", "float32"),
    "bfloat16 + float16": (lambda x, y: x + y, (B, X.astype("f2")), "float32", "float32"),
    "int8 + uint8": (lambda x, y: x + y, (N.astype("i1"), N.astype("u1")), "int16", "int16"),
    "uint64 + int64": (lambda x, y: x + y, (N.astype("u8"), N.astype("i8")), "float64", "float64"),
    "int32 / int32": (lambda n: n / n, (N,), "float32", "float64"),
    "sin": (fnp.sin, (N,), "float32", "float64"),
    "sin of int64": (fnp.sin, (N.astype(int),), "float64", "float64"),
    "mean": (fnp.mean, (N,), "float32", "float64"),
    "reciprocal": (fnp.reciprocal, (N,), "float32", "int32"),
    "where": (fnp.where, (N > 0, N, X), "float32", "float64"),
    "concatenate": (lambda n, x: fnp.concatenate([n, x]), (N, X), "float32", "float64"),
    "dot": (fnp.dot, (N, X), "float32", "float64"),
    "einsum": (lambda n, x: fnp.einsum("i,i->i", n, x), (N, X), "float32", "float64"),
    "append": (lambda n: fnp.append(n, 1), (N,), "int32", "int64"),
    "linspace": (lambda n, x: fnp.linspace(n[0], x[0], 3), (N, X), "float32", "float64"),
    "power": (fnp.power, (X, N), "float32", "float64"),
    "shift": (fnp.left_shift, (N, N.astype("i1")), "int32", "int32"),
    "cumsum": (fnp.cumsum, (N,), "int32", "int64"),
    "interp": (fnp.interp, (X, X, X), "float32", "float64"),
}


@pytest.mark.parametrize("name", of_any_dtype(PROMOTED))
def test_dtypes_by_the_rules_of_jax_and_of_numpy(name):
    f, args, jaxs, numpys = PROMOTED[name]
    with promotion("jax"):
        if (
            f.__name__ != "<lambda>" or "fnp" in f.__code__.co_names
        ):  # operators of arrays are NumPy's
            assert f(*args).dtype == jaxs
        assert fg.jit(f)(*args).dtype == jaxs
        assert fg.vmap(lambda *xs: f(*xs))(*[np.stack([x, x]) for x in args]).dtype == jaxs
    if numpys is not None:
        assert fg.jit(f)(*args).dtype == numpys
        assert f(*args).dtype == numpys


WEAK = {
    "a number": (lambda x: x, (2.0,), ("float64", True)),
    "times a number": (lambda x: x * 2, (2.0,), ("float64", True)),
    "a function": (fnp.sin, (2,), ("float64", True)),
    "integers times a float": (lambda n: n * 1.5, (N,), ("float64", True)),
    "spread": (lambda x: fnp.stack([x, x])[None], (2.0,), ("float64", True)),
    "chosen": (lambda n: fnp.where(n > 0, 1.0, 0.0), (N,), ("float64", True)),
    "like": (lambda x: fnp.zeros_like(x), (2.0,), ("float64", True)),
    "gives way": (lambda n, x: (n * 1.5) * x, (N, B), ("bfloat16", False)),
    "a sum": (lambda x: fnp.sum(x * 2), (2.0,), ("float64", False)),
    "an array": (lambda x: fnp.array([x, 1.0]), (2.0,), ("float64", False)),
}


@pytest.mark.parametrize("name", of_any_dtype(WEAK))
def test_weak_types(name):
    f, args, expected = WEAK[name]
    with promotion("jax"):
        assert types_of(f, *args) == [expected]


@needs_ml_dtypes
def test_plain_results_are_weak():
    with promotion("jax"):
        w = fnp.sin(2.0)
        assert type_of(w) == ArrayType((), np.dtype(float), True)
        assert fnp.multiply(w, B).dtype == B.dtype
        assert fg.jit(lambda w, x: w * x)(w, B).dtype == B.dtype
        assert fnp.add(w, w).weak_type
        assert not hasattr(fnp.sum(w), "weak_type")
        assert type(np.add(w, 1.0)) is np.float64
        assert type(w.astype(np.float32)) is np.ndarray
    assert not type_of(w).weak


@needs_ml_dtypes
def test_carries_of_loops_and_results_of_branches():
    count = lambda i, c: c + B[0]
    with promotion("jax"):
        assert lax.fori_loop(0, 3, count, 0.0).dtype == B.dtype
        assert (
            fg.jit(lambda x: lax.scan(lambda c, a: (c + a, c * N), x, X)[0])(np.float32(0)).dtype
            == X.dtype
        )
        assert (
            fg.jit(lambda x: lax.cond(x[0] > 0, lambda: x[0], lambda: x[0] * N[0]))(X).dtype
            == X.dtype
        )


def test_derivatives_in_the_dtypes_of_jax():
    f = lambda x: fnp.sum(x * N + fnp.sin(N) * x**2)
    with promotion("jax"):
        value, gradient = fg.value_and_grad(f)(X)
        assert (value.dtype, gradient.dtype) == (X.dtype, X.dtype)
        np.testing.assert_allclose(gradient, fg.jit(fg.grad(f))(X), 1e-6)
    np.testing.assert_allclose(gradient, fg.grad(f)(X.astype(float)), 1e-6)


@needs_ml_dtypes
def test_what_has_no_common_dtype():
    eighth = np.ones(3, ml_dtypes.float8_e4m3fn)
    with (
        promotion("jax"),
        pytest.raises(TypeError, match="no dtype is above all of bfloat16, float8_e4m3fn"),
    ):
        fg.jit(lambda x, y: x + y)(eighth, B)


# 32 bits

F, I = np.array([1.0, 2.0, 3.0]), np.arange(3)

NARROW = {
    "zeros": lambda x: fnp.zeros(3),
    "arange": lambda x: fnp.arange(3),
    "linspace": lambda x: fnp.linspace(0, 1, 3),
    "eye": lambda x: fnp.eye(3),
    "a number": lambda x: fnp.asarray(2.0),
    "a list": lambda x: fnp.array([1, 2]),
    "an array": lambda x: fnp.asarray(F),
    "a dtype that is asked for": lambda x: fnp.zeros(3, float),
    "another, by name": lambda x: fnp.asarray(x, dtype="float64"),
    "astype": lambda x: fnp.astype(x, np.int64),
    "a sum": lambda x: fnp.sum(x > 0),
    "a sum in another dtype": lambda x: fnp.sum(x, dtype=np.float64),
    "argmax": fnp.argmax,
    "argsort": fnp.argsort,
    "nonzero": lambda x: fnp.nonzero(x, size=3)[0],
    "fft": fnp.fft.fft,
    "constants": lambda x: fnp.add(x, F),
    "a product with a constant": lambda x: fnp.dot(x, F),
    "quotients": lambda x: fnp.divide(I, 2),
    "iota": lambda x: lax.iota(int, 3),
    "a function of lax": lambda x: lax.add(x, np.float64(1)),
    "a function of nn": lambda x: nn.softmax(x),
    "random numbers": lambda x: random.normal(random.key(0), (3,)),
    "random integers": lambda x: random.randint(random.key(0), (3,), 0, 9),
    "a special function": lambda x: fg.scipy.special.i0(x),
    "choices": lambda x: fnp.where(x > 0, x, 0.0),
}


def of_32_bits(x):
    return np.asarray(x).dtype.name in ("float32", "int32", "complex64", "uint32")


@pytest.mark.parametrize("rules", ["numpy", "jax"])
@pytest.mark.parametrize("name", NARROW)
def test_nothing_is_of_64_bits(name, rules):
    f = NARROW[name]
    with promotion(rules):
        expected = f(F)
        with enable_x64(False):
            results = [
                f(F),
                fg.jit(f)(F),
                fg.vmap(lambda x, i: f(x))(np.stack([F, F]), np.arange(2))[0],
            ]
            if np.asarray(expected).dtype.kind == "f":
                total = lambda x: fnp.sum(f(x))
                results += [fg.value_and_grad(total)(F)[1], fg.jit(fg.grad(total))(F)]
    assert all(map(of_32_bits, results))
    if "random" not in name:
        np.testing.assert_allclose(results[1], expected, 1e-5)


def test_arguments_and_results_of_transforms():
    f = lambda x, n: (x * n, x @ x, 1.0)
    with enable_x64(False):
        assert all(map(of_32_bits, fg.jit(f)(F, 3)))
        assert all(map(of_32_bits, fg.jvp(lambda x: f(x, 2), (F,), (F,))[1]))
        _, pull = fg.vjp(lambda x: x * F, F)
        assert of_32_bits(pull(F)[0])
        assert of_32_bits(fg.jacrev(fnp.sin)(F))
        assert of_32_bits(fg.hessian(lambda x: fnp.sum(x**3))(F))
        assert all(map(of_32_bits, lax.scan(lambda c, x: (c + x, c * x), 0.0, F)))
        assert of_32_bits(lax.fori_loop(0, 3, lambda i, c: c + i, 0))
        assert of_32_bits(lax.while_loop(lambda c: c < 9, lambda c: c * 2, 1.0))
        assert of_32_bits(lax.cond(True, lambda x: x, lambda x: -x, 2.0))
    assert fg.jit(f)(F, 3)[0].dtype == "float64"


def test_integers_that_do_not_fit_are_taken_modulo():
    with enable_x64(False):
        assert fnp.asarray(np.array([2**32 + 5, -1])).tolist() == [5, -1]


def test_a_function_has_programs_with_and_without_64_bits():
    f = fg.jit(lambda x: x * 2)
    for bits in (True, False, True):
        with enable_x64(bits):
            assert f(F).dtype == ("float64" if bits else "float32")
            assert f(2.0).dtype == ("float64" if bits else "float32")
    assert f.cache_info().misses == 4


def test_64_bits_of_the_process():
    try:
        config.update("jax_enable_x64", False)
        assert not config.enable_x64
        assert fnp.zeros(3).dtype == "float32"
        with enable_x64():
            assert fnp.zeros(3).dtype == "float64"
    finally:
        config.update("jax_enable_x64", True)
    assert fnp.zeros(3).dtype == "float64"


# Indices out of bounds

M, OUT = np.arange(1.0, 7.0).reshape(2, 3), np.array([0, 2, 3, -3, -4])
LEAST = np.iinfo(int).min

# As JAX 0.10 gives; tests/peers compares more of them.
BEYOND = {
    "an integer": (lambda x, i: x[10], 3.0),
    "a negative one": (lambda x, i: x[-7], 1.0),
    "a traced one": (lambda x, i: x[i[2]], 3.0),
    "an array": (lambda x, i: x[i], [1, 3, 3, 1, 1]),
    "a constant array": (lambda x, i: x[OUT], [1, 3, 3, 1, 1]),
    "two axes": (lambda x, i: (M + 0 * x)[5, i], [4, 6, 6, 4, 4]),
    "with a slice": (lambda x, i: (M + 0 * x)[:, i][1], [4, 6, 6, 4, 4]),
    "get": (lambda x, i: fg.at(x)[i].get(), [1, 3, 3, 1, 1]),
    "get with a mode": (lambda x, i: fg.at(x)[i].get(mode="fill", fill_value=0), [1, 3, 0, 1, 0]),
    "set": (lambda x, i: fg.at(x)[i].set(9.0), [9, 2, 9]),
    "set one": (lambda x, i: fg.at(x)[i[2]].set(9.0), [1, 2, 3]),
    "set a static one": (lambda x, i: fg.at(x)[10].set(9.0), [1, 2, 3]),
    "set one inside": (lambda x, i: fg.at(x)[i[1]].set(9.0), [1, 2, 9]),
    "add": (lambda x, i: fg.at(x)[i].add(1.0), [3, 2, 4]),
    "max": (lambda x, i: fg.at(x)[i].max(9.0), [9, 2, 9]),
    "set with a mode": (lambda x, i: fg.at(x)[i].set(9.0, mode="clip"), [9, 2, 9]),
    "set a row": (lambda x, i: fg.at(M + 0 * x)[i[2]].set(x)[1], [4, 5, 6]),
    "take": (lambda x, i: fnp.take(x, i), [1, 3, np.nan, 1, np.nan]),
    "take integers": (lambda x, i: fnp.take(fnp.astype(x, int), i), [1, 3, LEAST, 1, LEAST]),
    "take with a mode": (lambda x, i: fnp.take(x, i, mode="wrap"), [1, 3, 1, 1, 3]),
    "take along an axis": (lambda x, i: fnp.take_along_axis(x, i, 0), [1, 3, np.nan, 1, np.nan]),
}


@pytest.mark.parametrize("name", BEYOND)
def test_indices_out_of_bounds(name):
    f, expected = BEYOND[name]
    with out_of_bounds("jax"):
        results = [fg.jit(f)(F, OUT), fg.vmap(f, (0, None))(F[None], OUT)[0], fg.vjp(f, F, OUT)[0]]
        if "fg" in f.__code__.co_names or "fnp" in f.__code__.co_names:
            results.append(f(F, OUT))
    for result in results:
        np.testing.assert_array_equal(result, expected)
    if "mode" not in name and "inside" not in name:
        with pytest.raises(IndexError):
            fg.jit(f)(F, OUT)


def test_derivatives_of_indices_out_of_bounds():
    """Those by index arrays are dropped, those by single integers are of the element that was read."""
    with out_of_bounds("jax"):
        for transform in (fg.grad, lambda f: fg.jit(fg.grad(f))):
            assert transform(lambda x: x[OUT].sum())(F).tolist() == [2, 0, 1]
            assert transform(lambda x: fnp.take(x, OUT).sum())(F).tolist() == [2, 0, 1]
            assert transform(lambda x: (x.at[OUT].set(x[0]) * F).sum())(F).tolist() == [4, 2, 0]
            assert transform(lambda x: x.at[7].set(0.0).sum())(F).tolist() == [1, 1, 1]


# Failures

GOOD, BAD, NANS = (
    np.array([[4.0, 1.0], [1.0, 3.0]]),
    np.array([[1.0, 2.0], [2.0, 4.0]]),
    np.full((2, 2), np.nan),
)
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])

FAILING = {
    "cholesky": (lambda a: fnp.linalg.cholesky(a)[:, 0], INDEFINITE),
    "inv": (fnp.linalg.inv, BAD),
    "solve": (lambda a: fnp.linalg.solve(a, np.ones((2, 1))), BAD),
    "solve a vector": (lambda a: fnp.linalg.solve(a, np.ones(2)), BAD),
    "eigvalsh": (fnp.linalg.eigvalsh, NANS),
    "eigh": (lambda a: fnp.linalg.eigh(a)[1], NANS),
    "singular values": (fnp.linalg.svdvals, NANS),
    "svd": (lambda a: fnp.linalg.svd(a)[0], NANS),
    "triangular": (lambda a: fg.scipy.linalg.solve_triangular(a, np.ones(2)), BAD * 0),
    "triangular, in part": (
        lambda a: fg.scipy.linalg.solve_triangular(a, np.ones(2))[..., 1:],
        np.diag([1.0, 0.0]),
    ),
    "lax.linalg.cholesky": (
        lambda a: fg.lax.linalg.cholesky(a, symmetrize_input=True)[1],
        INDEFINITE,
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_nan_in_place_of_errors(name):
    f, bad = FAILING[name]
    with failures("nan"):
        expected = f(GOOD)
        for transform in (lambda f: f, fg.jit, lambda f: lambda a: fg.vjp(f, a)[0]):
            assert not np.isfinite(transform(f)(bad)).any()
            np.testing.assert_allclose(transform(f)(GOOD), expected)
        for transform in (fg.vmap, lambda f: fg.jit(fg.vmap(f))):
            found = transform(f)(np.stack([GOOD, bad, GOOD]))
            np.testing.assert_allclose(found[[0, 2]], [expected] * 2)
            assert not np.isfinite(found[1]).any()
        with np.errstate(invalid="ignore"):
            gradient = fg.jit(fg.grad(lambda a: fnp.sum(fg.vmap(f)(a))))(np.stack([GOOD, bad]))
        assert np.isfinite(gradient[0]).all()
        assert not np.isfinite(gradient[1]).all()
    for transform in (fg.jit, lambda f: lambda a: fg.vjp(f, a)[0]) if "eig" not in name else ():
        with pytest.raises(np.linalg.LinAlgError):
            transform(f)(bad)


def test_singular_systems_are_solved_as_far_as_division_by_zero_goes():
    b, regular = np.array([[1.0], [2.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    singular = {  # as JAX 0.10 gives; tests/peers compares more of them
        "ones": (np.ones((2, 2)), [-np.inf, np.inf]),
        "zeros": (np.zeros((2, 2)), [np.nan, np.inf]),
        "in direction b": (BAD, [np.nan, np.nan]),
        "one zero": (np.diag([1.0, 0.0]), [np.nan, np.inf]),
    }
    with failures("nan"):
        for a, expected in singular.values():
            for solve in (fnp.linalg.solve, fg.jit(fnp.linalg.solve)):
                found = solve(np.stack([a, regular]), np.stack([b, b]))
                np.testing.assert_array_equal(found[0, :, 0], expected)
                np.testing.assert_allclose(found[1], np.linalg.solve(regular, b))
            inverse = fg.jit(fnp.linalg.inv)(a)
            assert not np.isfinite(inverse).all()
        np.testing.assert_array_equal(
            fg.jit(fnp.linalg.inv)(np.ones((2, 2))), [[np.inf, -np.inf], [-np.inf, np.inf]]
        )


def test_the_other_triangle_of_a_factor_is_zero():
    with failures("nan"):
        for cholesky in (fnp.linalg.cholesky, fg.jit(fnp.linalg.cholesky)):
            np.testing.assert_array_equal(cholesky(INDEFINITE), [[np.nan, 0], [np.nan, np.nan]])


def test_nan_within_a_loop():
    shifts = np.array([5.0, 0.0, 6.0])
    step = lambda c, s: (c, fnp.linalg.cholesky(INDEFINITE * c + s * np.eye(2))[0, 0])
    with failures("nan"):
        found = fg.jit(lambda c: lax.scan(step, c, shifts)[1])(1.0)
    assert np.isnan(found).tolist() == [False, True, False]


def test_shapes_that_do_not_fit_are_errors_still():
    with failures("nan"), pytest.raises(np.linalg.LinAlgError, match="square"):
        fnp.linalg.inv(np.ones((2, 3)))


# The settings themselves


def test_jitted_functions_have_a_program_for_each_convention():
    f = fg.jit(lambda n, x: n + x)
    for rules, dtype in [("jax", "float32"), ("numpy", "float64"), ("jax", "float32")]:
        with promotion(rules):
            assert f(N, X).dtype == dtype
    assert f.cache_info().misses == 2


def test_a_block_within_a_function():
    def f(n, x):
        with promotion("jax"):
            inner = n + x
        return inner, n + x

    assert [x.dtype.name for x in fg.jit(f)(N, X)] == ["float32", "float64"]


def test_other_threads_do_not_see_the_block():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # threads may inherit the settings of a block they start in
        with promotion("jax"):
            assert pool.submit(fnp.add, N, X).result().dtype == "float64"
            assert fnp.add(N, X).dtype == "float32"


def test_conventions_of_the_process():
    before = process_settings.promotion
    try:
        config.update("promotion", "jax")
        assert config.promotion == "jax"
        assert fnp.add(N, X).dtype == "float32"
        with promotion("numpy"):
            assert fnp.add(N, X).dtype == "float64"
    finally:
        config.update("promotion", before)
    assert fnp.add(N, X).dtype == "float64"


@pytest.mark.parametrize("change", [promotion, lambda x: config.update("promotion", x)])
def test_unknown_convention(change):
    with pytest.raises(ValueError, match="the setting promotion is 'numpy' or 'jax', not 'torch'"):
        change("torch")


def test_weak_numbers_of_32_bits_in_derivative_rules_stay_so():
    f = fg.checkpoint(lambda x: fnp.sin(x) ** 2)
    with promotion("jax"), enable_x64(False):
        slope = fg.grad(f)(1.0)
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, np.sin(2.0), rtol=1e-6)


def test_a_program_of_one_convention_is_not_taken_for_that_of_another():
    f = fg.jit(lambda n, x: n + x)
    with promotion("jax"):
        assert f(N, X).dtype == "float32"
    with failures("nan"):
        assert f(N, X).dtype == "float64"
    assert f.cache_info().misses == 2
