"""A program written for JAX, run by tests/compat/test_jax.py with `jax` meaning fungrad: arguments and results as JAX has them."""

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
import pytest
from jax.custom_derivatives import linear_call
from jax.experimental import checkify
from jax.scipy.interpolate import RegularGridInterpolator
from jax.scipy.optimize import OptimizeResults, minimize

from fungrad.compat.jax.adapting import adapted

X = jnp.arange(3.0)
LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


def is_array(x):
    return type(x) is type(X)


def bowl(x, center=1.0):
    return jnp.sum((x - center) ** 2) + jnp.sum(x**4)


OWN_NAMES = "options target result finish enter receives refuse dtype_of trace view class_of ufunc quick x y k"


@pytest.mark.parametrize("name", OWN_NAMES.split())
def test_no_name_of_a_parameter_hides_another(name):
    namespace = {}
    exec(f"def f(a, {name}=None): return a, {name}", namespace)
    made = adapted("m", "f", f"a, {name}=None, precision=None", namespace["f"])
    assert made(1, **{name: 2}) == (1, 2)
    assert made(1) == (1, None)
    made = adapted("m", "f", f"{name}, b=None, *, dtype=None", lambda x, dtype=None: x)
    assert made(3) == 3


def test_options_of_minimize():
    found = minimize(bowl, jnp.zeros(3), method="BFGS", options={"maxiter": 1})
    assert isinstance(found, OptimizeResults)
    names = ("x", "success", "status", "fun", "jac", "hess_inv", "nfev", "njev", "nit")
    assert found._fields == names
    assert all(map(is_array, found))
    assert (found.nit, found.status, bool(found.success)) == (1, 1, False)
    np.testing.assert_allclose(found.x, 0.5831238, rtol=1e-5)  # as JAX's
    assert found.x.at[0].set(7.0)[0] == 7
    loose = minimize(bowl, jnp.zeros(3), method="bfgs", options={"gtol": 1.0})
    assert (loose.nit, loose.status, bool(loose.success)) == (1, 0, True)
    for options in ({"maxiter": 1}, {"maxfun": 2}, {"maxgrad": 2}):
        found = minimize(bowl, jnp.zeros(3), method=LBFGS, options=options)
        assert found.status == (1 if "maxiter" in options else 2)
        assert found.hess_inv is None
    with jax.enable_x64(True):
        for method in ("BFGS", LBFGS):
            found = minimize(bowl, jnp.zeros(3), (1.0,), method=method, tol=1.0)
            assert found.success
            assert abs(found.jac).max() < 1e-5


def test_minimize_in_compiled_functions():
    def least(center, **options):
        return minimize(bowl, jnp.zeros(2), (center,), method="BFGS", options=options)

    with jax.enable_x64(True):
        found = jax.jit(least)(jnp.array([1.0, 2.0]))
        assert all(map(is_array, found))
        exact = jax.hessian(bowl)(found.x, jnp.array([1.0, 2.0]))
        np.testing.assert_allclose(found.hess_inv, jnp.linalg.inv(exact), rtol=1e-10)
        np.testing.assert_allclose(found.jac, 0, atol=1e-5)
        once = jax.jit(lambda c: least(c, maxiter=1))(2.0)
        assert (once.nit, once.status, bool(once.success)) == (1, 1, False)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"method": "CG"}, ValueError, "Method CG not recognized"),
        ({"args": [1.0]}, TypeError, "must be a tuple"),
        ({"options": {"disp": True}}, TypeError, "no options disp; it has maxiter, norm, gtol"),
        ({"options": {"line_search_maxiter": 3}}, NotImplementedError, "line_search_maxiter"),
        ({"method": LBFGS, "options": {"norm": 2}}, NotImplementedError, "norm"),
    ],
)
def test_what_minimize_does_not_take(given, error, text):
    with pytest.raises(error, match=text):
        minimize(bowl, jnp.zeros(2), **{"method": "BFGS", **given})


def doubled(x):
    return 2 * x


def checked(x):
    checkify.check(x[0] >= 0, "below zero: {}", x[0])
    return 2 * x


def of_a_program(x):
    program = jax.make_jaxpr(doubled)(x)
    return jax.core.eval_jaxpr(program.jaxpr, program.consts, x)[0]


RESULTS = {
    "lower": lambda: jax.jit(doubled).lower(X).compile()(X),
    "trace": lambda: jax.jit(doubled).trace(X).lower().compile()(X),
    "closure_convert": lambda: jax.closure_convert(doubled, X)[0](X),
    "checkify": lambda: checkify.checkify(checked)(X)[1],
    "eval_jaxpr": lambda: of_a_program(X),
    "jaxpr_as_fun": lambda: jax.extend.core.jaxpr_as_fun(jax.make_jaxpr(doubled)(X))(X)[0],
    "jaxpr_as_fun, at once": lambda: jax.extend.core.jaxpr_as_fun(jax.make_jaxpr(doubled)(X), X)()[
        0
    ],
    "linear_call": lambda: linear_call(lambda r, x: r * x, lambda r, t: r * t, 2.0, X),
    "RegularGridInterpolator": lambda: RegularGridInterpolator((X,), 2 * X)(X[:, None]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_arrays_of_jaxs_class(name):
    found = RESULTS[name]()
    assert is_array(found)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.at[0].add(1), [1, 2, 4])


def test_stages():
    traced = jax.jit(doubled).trace(X)
    lowered = traced.lower(lowering_platforms=("cpu",))
    compiled = lowered.compile()
    assert isinstance(traced, jax.stages.Traced)
    assert isinstance(lowered, jax.stages.Lowered)
    assert isinstance(compiled, jax.stages.Compiled)
    assert traced.out_info.shape == lowered.out_info.shape == (3,)
    assert lowered.as_text()
    with pytest.raises(TypeError):
        compiled(jnp.arange(4.0))


def test_objects_of_scipy():
    squares = RegularGridInterpolator((X,), X**2)
    assert jnp.isnan(squares(jnp.array([[5.0]]))[0])  # and no error, as in JAX
    np.testing.assert_allclose(jax.grad(lambda x: squares(x)[0])(jnp.array([[1.5]])), [[3.0]])
    density = jax.scipy.stats.gaussian_kde(X)
    for found in (
        density(X),
        density.logpdf(X),
        density.covariance,
        density.integrate_kde(density),
    ):
        assert is_array(found)
    errors, value = checkify.checkify(checked)(X - 1)
    assert "below zero: -1.0" in errors.get()
    np.testing.assert_array_equal(value, [-2, 0, 2])


A = jnp.array([[4.0, 1.0], [2.0, 5.0]])
BYTES = jnp.array([100, 100], jnp.int8)
FAR, NEGATIVE = jnp.array([-9, 1, 7]), jnp.array([-1, 1])
SOME = jnp.array([True, False, True])
NAN = np.nan
AS_IN_JAX = {  # what JAX gives; tests/peers/jax_cells/arguments.py compares more of these
    "polymul": (lambda: jnp.polymul(jnp.array([0.0, 1.0]), jnp.array([0.0, 2.0])), [0, 0, 2]),
    "polydiv": (
        lambda: jnp.polydiv(jnp.array([1.0, 5, 6, 1]), jnp.array([1.0, 2]))[1],
        [0, 0, 0, 1],
    ),
    "polydiv, trimmed": (lambda: jnp.polydiv(A[0], A[0], trim_leading_zeros=True)[1], []),
    "cholesky": (lambda: jnp.linalg.cholesky(A), [[2, 0], [0.75, 2.1065373]]),
    "cholesky of the lower": (
        lambda: jnp.linalg.cholesky(A, symmetrize_input=False),
        [[2, 0], [1, 2]],
    ),
    "eigvalsh": (lambda: jnp.linalg.eigvalsh(A), [2.9188612, 6.0811388]),
    "eigh of the upper": (
        lambda: jnp.linalg.eigh(A, "U", symmetrize_input=False)[0],
        [3.3819661, 5.6180339],
    ),
    "lstsq": (lambda: jnp.linalg.lstsq(jnp.ones((3, 2)), X)[1], [2]),
    "lstsq, as NumPy": (lambda: jnp.linalg.lstsq(jnp.ones((3, 2)), X, numpy_resid=True)[1], []),
    "expm": (lambda: jax.scipy.linalg.expm(10 * A, max_squarings=2), [[NAN, NAN], [NAN, NAN]]),
    "solve_sylvester": (
        lambda: jax.scipy.linalg.solve_sylvester(jnp.eye(2), -jnp.eye(2), A),
        [[NAN, NAN], [NAN, NAN]],
    ),
    "take_along_axis": (
        lambda: jnp.take_along_axis(A, jnp.array([[7], [-1]]), 1, mode="clip"),
        [[1], [5]],
    ),
    "take_along_axis, filled": (
        lambda: jnp.take_along_axis(A, jnp.array([[7], [-1]], jnp.int8), 1, fill_value=9),
        [[9], [5]],
    ),
    "get, promised": (lambda: X.at[FAR].get(mode="promise_in_bounds"), [0, 1, 2]),
    "set, promised": (lambda: X.at[FAR].set(9.0, mode="promise_in_bounds"), [0, 9, 2]),
    "get without wrapping": (
        lambda: X.at[NEGATIVE].get(wrap_negative_indices=False, mode="fill"),
        [NAN, 1],
    ),
    "set without wrapping": (
        lambda: X.at[NEGATIVE].set(9.0, wrap_negative_indices=False),
        [0, 9, 2],
    ),
    "add without wrapping, jitted": (
        lambda: jax.jit(lambda x, i: x.at[i].add(1.0, wrap_negative_indices=False))(X, NEGATIVE),
        [0, 2, 2],
    ),
    "delete": (
        lambda: jax.jit(lambda x, i: jnp.delete(x, i, assume_unique_indices=True))(X, NEGATIVE),
        [0],
    ),
    "mask_indices": (lambda: jnp.mask_indices(2, jnp.triu, size=4)[1], [0, 1, 1, 0]),
    "sum": (lambda: jnp.sum(BYTES, promote_integers=False), -56),
    "dot": (lambda: jnp.dot(BYTES, BYTES, preferred_element_type=jnp.int32), 20000),
    "einsum": (lambda: jnp.einsum("i,i", BYTES, BYTES, preferred_element_type=jnp.int32), 20000),
    "logsumexp": (lambda: jax.scipy.special.logsumexp(X, where=SOME), 2.126928),
}


@pytest.mark.parametrize("name", AS_IN_JAX)
def test_arguments_mean_what_they_mean_in_jax(name):
    compute, wanted = AS_IN_JAX[name]
    found = compute()
    assert is_array(found)
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_dtypes_that_are_asked_for():
    assert jnp.argsort(X, dtype=jnp.int16).dtype == np.int16
    assert jnp.dstack([X, X], dtype=jnp.float16).dtype == np.float16
    pair = jnp.array([[1], [1]])
    assert jnp.ravel_multi_index(pair, (2, 3), dtype=jnp.int8).dtype == np.int8
    with pytest.raises(ValueError, match="does not hold all indices"):
        jnp.ravel_multi_index(pair, (2, 300), dtype=jnp.int8)
    with pytest.raises(ValueError, match="complex numbers"):
        jax.scipy.linalg.dft(3, dtype=jnp.float32)


def test_what_is_refused_says_why():
    with pytest.raises(NotImplementedError, match=r"subset_by_index.*JAX refuses it as well"):
        jnp.linalg.svd(A, full_matrices=False, subset_by_index=(0, 1))
    with pytest.raises(NotImplementedError, match=r"'out' of sum.*do not change"):
        jnp.sum(A, out=A)
    assert jnp.sum(A, out=None) == 12


NARROW = ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int1", "uint1", "int2", "uint4"]


@pytest.mark.parametrize("name", NARROW)
def test_dtypes_of_ml_dtypes(name):
    dtypes = pytest.importorskip("ml_dtypes")
    if not hasattr(dtypes, name):
        with pytest.raises(AttributeError, match="a newer one has it"):
            getattr(jnp, name)
        return
    made = getattr(jnp, name)
    zeros = jnp.zeros(2, made)
    assert is_array(zeros)
    assert zeros.dtype == made == np.dtype(getattr(dtypes, name))
    assert str(zeros) == "[0 0]"
    assert jnp.arange(2.0).astype(made).astype(float)[0] == 0
    limits = jnp.finfo if name.startswith("float") else jnp.iinfo
    assert limits(made).max == limits(zeros).max == limits(zeros.dtype).max


KEYS = {
    "an integer": 1,
    "from the end": -1,
    "out of bounds": 9,
    "far below": -9,
    "an array of one": jnp.array(2, jnp.int32),
    "a weak one": jnp.asarray(2),
    "a slice": slice(0, 2),
    "backwards": slice(None, None, -1),
    "two": (1, slice(0, 2)),
    "of two, one out of bounds": (1, 9),
    "nothing": (),
    "an ellipsis": (Ellipsis, 0),
    "a new axis": (None, 1),
    "a mask": jnp.arange(4) > 1,
    "indices": jnp.array([0, 0, 9]),
    "indices in bounds": jnp.array([0, 0, -1, 2]),
    "indices of both axes": (jnp.array([0, 0, -1]), jnp.array([1, 1, 2], jnp.uint8)),
    "indices and a slice": (jnp.array([[0], [2]], jnp.int8), slice(1, 3)),
    "indices apart": (jnp.array([1, 2]), None, jnp.array([0, 3])),
}
VALUES = {
    "float": 2.5,
    "int": 3,
    "an array": jnp.float32(7),
    "of NumPy": np.float64(7),
    "a large array": jnp.arange(16.0).reshape(4, 4),
    "a row": jnp.arange(4.0),
    "integers": jnp.arange(4),
    "nan": NAN,
    "a long integer": 2**40,
}


@pytest.mark.parametrize("name", ["set", "add", "subtract", "multiply", "min", "max", "get"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int8, np.complex64])
def test_the_quick_way_to_update_gives_what_the_other_does(name, dtype, subtests):
    """With `mode` there is one way alone."""
    mode = "clip" if name == "get" else "drop"
    given = [()] if name == "get" else [(value,) for value in VALUES.values()]
    for key, index in KEYS.items():
        with subtests.test(key=key):
            x = (jnp.arange(16).reshape(4, 4) - 3).astype(dtype)
            before, update = np.array(x), getattr(x.at[index], name)
            for values in given:
                try:
                    wanted = update(*values, mode=mode)
                except Exception as error:
                    with pytest.raises(type(error)):
                        update(*values)
                else:
                    found = update(*values)
                    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
                    assert is_array(found)
                    # Plain arrays: NumPy compares JAX's with more steps than the updates take.
                    np.testing.assert_array_equal(np.array(found), np.array(wanted))
                np.testing.assert_array_equal(np.array(x), before)


ROWS = [[0.5, -1.5, NAN], [2.0, 1.0, -0.0]]
WAYS = {
    "sum": lambda n, x: n.sum(x),
    "sum along": lambda n, x: n.sum(x, 0),
    "sum from the end": lambda n, x: n.sum(x, axis=-1),
    "sum of dtype": lambda n, x: n.sum(x, 1, dtype=np.float16),
    "sum with axes": lambda n, x: n.sum(x, (0, 1), keepdims=True),
    "prod": lambda n, x: n.prod(x, 1),
    "max": lambda n, x: n.max(x),
    "max from": lambda n, x: n.max(x, 0, initial=7),
    "min": lambda n, x: n.min(x, 0),
    "min where": lambda n, x: n.min(x, where=x > 1, initial=3),
    "dot": lambda n, x: n.dot(x, x[0]),
    "dot of vectors": lambda n, x: n.dot(x[1], x[0]),
    "dot with a number": lambda n, x: n.dot(x, 2),
    "matmul": lambda n, x: n.matmul(x, x.T),
    "@": lambda n, x: x.T @ x,
    "@ of three axes": lambda n, x: x[None] @ x.T,
    "-": lambda n, x: -x,
    "abs": lambda n, x: abs(x),
    "reshape": lambda n, x: x.reshape(3, 2),
    "reshape by one": lambda n, x: x.reshape(-1),
    "reshape by a tuple": lambda n, x: x.reshape((6, 1)),
    "T": lambda n, x: x.T,
    "transpose": lambda n, x: x.transpose(),
    "transpose by axes": lambda n, x: x.transpose(1, 0),
    "astype": lambda n, x: x.astype(np.float32),
    "a scalar of NumPy": lambda n, x: x + x.dtype.type(2),
    "a scalar on the left": lambda n, x: x.dtype.type(2) - x,
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1", "?", "c8"])
@pytest.mark.parametrize("name", WAYS)
def test_quick_ways_give_what_traced_arrays_give(name, dtype):
    with jax.enable_x64(True):
        x = (
            jnp.nan_to_num(jnp.array(ROWS)).astype(dtype)
            if dtype in ("i4", "i8", "u1", "?")
            else None
        )
        x = jnp.array(ROWS).astype(dtype) if x is None else x
        try:
            wanted = jax.jit(lambda x: WAYS[name](jnp, x))(x)
        except Exception as error:
            with pytest.raises(type(error)):
                WAYS[name](jnp, x)
            return
        found = WAYS[name](jnp, x)
        assert isinstance(found, jax.Array)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert found.weak_type == wanted.weak_type
        np.testing.assert_allclose(found, wanted, rtol=1e-6 if found.dtype != np.float16 else 1e-3)


def test_errors_of_quick_ways():
    x = jnp.array(ROWS)
    for wrong in (
        lambda: x.reshape(4, 2),
        lambda: jnp.sum(x, 2),
        lambda: jnp.max(x[:0]),
        lambda: jnp.dot(x, x),
        lambda: x @ x,
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()
    assert jnp.sum(x[:0]) == 0


TOGETHER = ["append", "dot", "inner", "kron", "outer", "polyval", "float_power"]


@pytest.mark.parametrize("name", [*TOGETHER, "polyadd", "polysub"])
@pytest.mark.parametrize("number", [2, 2.5, True])
def test_numbers_of_python_give_way(name, number):
    function = getattr(jnp, name)
    with jax.enable_x64(True):
        for dtype in ("f2", "f4", "c8"):
            x = jnp.arange(1, 4).astype(dtype)
            assert function(x, number).dtype == dtype
            if name != "polyval":
                assert function(number, x).dtype == dtype
        assert jnp.polyder(jnp.arange(3.0, dtype="f4")).dtype == "f4"
        assert jnp.float_power(x.real, x.real).dtype == "f4"
