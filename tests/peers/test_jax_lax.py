"""The functions of `fungrad.lax` and of `jax.lax` on the same arrays: values, dtypes and derivatives."""

import functools
import inspect
import operator

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402
from fungrad import lax  # noqa: E402

jlax = jax.lax
MODULES = "arithmetic choices conversion fourier reductions sorting special"
NAMES = sorted(name for module in MODULES.split() for name in lax._NAMES[module].split())

X = np.array([[0.3, -0.7, 1.9], [2.2, -1.4, 0.6]])
Y = np.array([[1.2, 0.4, -0.8], [0.9, 2.5, -1.1]])
P, Q = np.abs(X), np.abs(Y)  # positive
U = X / 3  # between -1 and 1
Z, W = X + 1j * Y, Y - 0.5j * X
I, J = np.array([7, -7, 5, -128], np.int8), np.array([2, 2, -3, 3], np.int8)
B, C = np.array([True, True, False]), np.array([True, False, False])
TIES = np.array([1.0, 3.0, 2.0, 3.0, 1.0])
NANS = np.array([1.0, np.nan, 5.0, 2.0, np.nan])

CASES = {
    "abs": [(X,), (Z,), (I,)],
    "acos": [(U,), (Z,)],
    "acosh": [(P + 1,), (Z,)],
    "add": [(X, Y), (Z, W), (I, J), (X, 2.0), (X[:1], Y), (1.0, X)],
    "argmax": [(X, 1, np.int32), (NANS, 0, np.int64), (B, 0, np.int32)],
    "argmin": [(X, 0, np.int32), (NANS, 0, np.uint8), (TIES, 0, np.int32)],
    "approx_max_k": [(X, 2), (X, 1, 0)],
    "approx_min_k": [(X, 2)],
    "asin": [(U,), (Z,)],
    "asinh": [(X,), (Z,)],
    "atan": [(X,), (Z,)],
    "atan2": [(X, Y), (Z, W)],
    "atanh": [(U,), (Z,)],
    "bessel_i0e": [(X,)],
    "bessel_i1e": [(X,)],
    "betainc": [(P, Q, P / 3)],
    "bitcast_convert_type": [
        (X, np.int64),
        (X, np.int16),
        (I, np.uint8),
        (np.arange(6, dtype=np.int32).reshape(3, 2), np.float64),
    ],
    "bitwise_and": [(I, J), (B, C)],
    "bitwise_not": [(I,), (B,)],
    "bitwise_or": [(I, J), (B, C)],
    "bitwise_xor": [(I, J), (B, C)],
    "cbrt": [(X,)],
    "ceil": [(X,)],
    "clamp": [(-0.5, X, 1.0), (Y - 1, X, Y), (np.int8(-3), I, np.int8(6))],
    "clz": [(I,), (J.view(np.uint8),), (np.arange(5),)],
    "complex": [(X, Y), (X, 1.0)],
    "conj": [(X,), (Z,)],
    "convert_element_type": [(X, np.float32), (X, np.int32), (I, np.float64), (B, np.int8)],
    "cos": [(X,), (Z,)],
    "cosh": [(X,), (Z,)],
    "cumlogsumexp": [(X,), (X, 1, True)],
    "cummax": [(X,), (TIES,), (NANS,), (I, 0, True)],
    "cummin": [(X, 1), (TIES, 0, True)],
    "cumprod": [(X,), (Z, 1, True), (I,)],
    "cumsum": [(X,), (Z, 1, True), (I,)],
    "digamma": [(X,)],
    "div": [(X, Y), (Z, W), (I, J), (I.view(np.uint8), J.view(np.uint8))],
    "eq": [(X, Y), (I, I), (Z, Z)],
    "erf": [(X,)],
    "erf_inv": [(U,)],
    "erfc": [(X,)],
    "exp": [(X,), (Z,)],
    "exp2": [(X,), (Z,)],
    "expm1": [(X,), (Z,)],
    "fft": [
        (Z, "FFT", (3,)),
        (Z, "IFFT", (2, 3)),
        (X, "RFFT", (2, 3)),
        (Z, "IRFFT", (4,)),
        (Z, "IRFFT", (2, 5)),
    ],
    "floor": [(X,)],
    "ge": [(X, Y), (I, J)],
    "gt": [(X, Y), (I, J)],
    "igamma": [(P, Q)],
    "igamma_grad_a": [(P, Q)],
    "igammac": [(P, Q)],
    "imag": [(Z,)],
    "integer_pow": [(X, 3), (Z, -2), (I, 2)],
    "is_finite": [(NANS,)],
    "le": [(X, Y), (B, C)],
    "lgamma": [(X,)],
    "log": [(P,), (Z,)],
    "log1p": [(P,), (Z,)],
    "logistic": [(X,), (Z,)],
    "lt": [(X, Y), (I, J)],
    "max": [(X, Y), (X, X), (I, J), (B, C), (Z, W)],
    "min": [(X, Y), (X, X), (I, J), (NANS, TIES)],
    "mul": [(X, Y), (Z, W), (I, J)],
    "mulhi": [(I, J), (np.array([2**62, -(2**61)]), np.array([9, 13]))],
    "ne": [(X, Y), (B, C)],
    "neg": [(X,), (Z,), (I,)],
    "nextafter": [(X, Y)],
    "polygamma": [(np.full(X.shape, 2.0), X), (0.0, P)],
    "population_count": [(I,), (J.view(np.uint8),)],
    "pow": [(P, Y), (Z, W), (X, 3), (X, I[:3].astype(np.int32) + np.zeros((2, 1), np.int32))],
    "random_gamma_grad": [(P, Q)],
    "real": [(Z,)],
    "reciprocal": [(X,), (Z,)],
    "reduce_and": [(B, (0,)), (I, (0,)), (I, ())],
    "reduce_max": [(X, (0,)), (X, (0, 1)), (TIES, (0,)), (X[:0], (0,)), (I[:0], (0,))],
    "reduce_min": [(X, (1,)), (TIES, (0,)), (B[:0], (0,))],
    "reduce_or": [(C, (0,)), (J, (0,))],
    "reduce_precision": [(X, 5, 10), (X, 4, 3), (np.array([1e9, 1e-9, np.nan, -np.inf]), 5, 2)],
    "reduce_prod": [(X, (0,)), (Z, (0, 1)), (I[:2], (0,))],
    "reduce_sum": [(X, (0,)), (Z, (1,)), (I, (0,))],
    "reduce_xor": [(B, (0,)), (I, (0,))],
    "rem": [(X, Y), (I, J)],
    "round": [(np.array([0.5, 1.5, -2.5, 0.49999999999999994, 2.3]),), (X, 1)],
    "rsqrt": [(P,), (Z,)],
    "select": [(X > 0, X, Y), (np.True_, X, Y), (B, I[:3], J[:3])],
    "select_n": [
        (X > 0, X, Y),
        (np.array([[0, 1, 2], [2, 1, 0]], np.int32), X, Y, X * Y),
        (np.int32(1), X, Y),
    ],
    "shift_left": [(I, np.array([1, 7, 8, -1], np.int8))],
    "shift_right_arithmetic": [(I, np.array([1, 7, 8, -1], np.int8))],
    "shift_right_logical": [(I, np.array([1, 7, 8, -1], np.int8))],
    "sign": [(X,), (Z,), (I,)],
    "sin": [(X,), (Z,)],
    "sinh": [(X,), (Z,)],
    "sort": [
        (X,),
        (Z, 0),
        ((TIES, NANS),),
        ((TIES, np.arange(5.0)[::-1].copy(), TIES**2), 0, True, 2),
        (NANS,),
    ],
    "sort_key_val": [(X, Y), (TIES, NANS), (X, Z, 0)],
    "sqrt": [(P,), (Z,)],
    "square": [(X,), (Z,), (I,)],
    "stop_gradient": [(X,)],
    "sub": [(X, Y), (Z, W), (I, J)],
    "tan": [(X,), (Z,)],
    "tanh": [(X,), (Z,)],
    "top_k": [(X, 2), (TIES, 3), (NANS, 4), (X.astype(np.float32), 0), (I, 3)],
    "zeta": [(P + 1.5, Q)],
}

TWICE = {"atan2", "cumlogsumexp", "cumprod", "logistic", "pow", "rsqrt", "sort", "top_k"}
"""Functions of which second derivatives are compared too."""

NO_DERIVATIVE = {
    "bitcast_convert_type": "none in JAX",
    "igamma_grad_a": "none in JAX",
    "nextafter": "none in JAX",
    "random_gamma_grad": "none in JAX",
    "zeta": "none in JAX",
    "reduce_precision": "JAX rounds tangents too",
    ("acosh", 1): "JAX's has the wrong sign left of the imaginary axis",
    ("cummax", 2): "after a NaN JAX's is 0",
    ("reduce_max", 3): "JAX's is NaN, of no elements",
    ("sign", 1): "JAX's is 0, although the direction varies",
}
"""Where derivatives are not compared: functions, or one of their cases."""

FIXED = {"polygamma": (0,), "betainc": (0, 1)}
"""Operands by which JAX has no derivative."""


def test_every_function_has_a_case():
    assert sorted(set(NAMES) - {"FftType", "RoundingMethod", "reduce"}) == sorted(CASES)


@pytest.mark.parametrize("name", [n for n in NAMES if n[0].islower()])
def test_signatures_are_those_of_jax(name):
    if name == "random_gamma_grad":  # JAX's takes *args
        return
    ours, theirs = (list(inspect.signature(getattr(lib, name)).parameters) for lib in (lax, jlax))
    assert ours == theirs


def leaves(result):
    return [np.asarray(x) for x in jax.tree.leaves(result)]


def assert_alike(ours, theirs, rtol=2e-11):
    ours, theirs = leaves(ours), leaves(theirs)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-13)


def moving(name, args):
    """Return the positions of the arguments to differentiate by."""

    def inexact(x):
        xs = x if isinstance(x, tuple) else (x,)
        return all(isinstance(y, np.ndarray) and y.dtype.kind in "fc" for y in xs) and xs != ()

    return [i for i, x in enumerate(args) if inexact(x) and i not in FIXED.get(name, ())]


def function_of(lib, name, args, where):
    def f(*moved):
        given = list(args)
        for i, x in zip(where, moved, strict=True):
            given[i] = x
        return getattr(lib, name)(*given)

    return f


def directions(args, where):
    rng = np.random.default_rng(0)

    def one(x):
        t = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0)
        return t.astype(x.dtype)

    return tuple(jax.tree.map(one, args[i]) for i in where)


CALLS = [(name, i) for name, calls in CASES.items() for i in range(len(calls))]


def operands(name, call):
    """Return the positions to differentiate by, the operands there and their tangents."""
    args = CASES[name][call]
    where = moving(name, args)
    if name in NO_DERIVATIVE or (name, call) in NO_DERIVATIVE:
        where = []
    return where, tuple(args[i] for i in where), directions(args, where)


def of_library(lib, functions, name, call):
    """Return `everything` of a case as a function of operands and tangents."""
    args = CASES[name][call]
    where, xs, _ = operands(name, call)
    twice = name in TWICE and not any(map(has_nan, xs))
    return functools.partial(everything, lib, function_of(functions, name, args, where), twice)


@pytest.fixture(scope="module")
def expected():
    """What JAX gives in all cases, compiled as one program: that takes less time than one for each."""
    calls = [c for c in CALLS if operands(*c)[0]]
    given = [operands(*c)[1:] for c in calls]

    def run(given):
        return [of_library(jax, jlax, *c)(*xs) for c, xs in zip(calls, given, strict=True)]

    return dict(zip(calls, jax.jit(run)(given), strict=True))


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_values_and_derivatives(expected, name, call):
    _, xs, ts = operands(name, call)
    with np.errstate(all="ignore"):
        found = of_library(fg, lax, name, call)(xs, ts)
        wanted = expected.get((name, call)) or {"value": getattr(jlax, name)(*CASES[name][call])}
    for what, x in wanted.items():
        assert_alike(found[what], x, rtol=1e-9 if what == "twice" else 2e-11)


def everything(lib, f, twice, xs, ts):
    """Return what is compared: values, and derivatives in both modes; second ones if `twice`."""
    result = f(*xs)
    inexact = [i for i, x in enumerate(jax.tree.leaves(result)) if x.dtype.kind in "fc"]
    if not xs or not inexact:
        return {"value": result}

    def chosen(result):
        return [x for i, x in enumerate(jax.tree.leaves(result)) if i in inexact]

    def tangent(*xs):
        return chosen(lib.jvp(f, xs, ts)[1])

    cts = [
        np.full(x.shape, 1 + 0.5j if x.dtype.kind == "c" else 1, x.dtype) for x in chosen(result)
    ]
    found = {"value": result, "jvp": tangent(*xs)}
    found["vjp"] = lib.vjp(lambda *xs: chosen(f(*xs)), *xs)[1](cts)
    return found | ({"twice": lib.vjp(tangent, *xs)[1](cts)} if twice else {})


def has_nan(tree):
    return any(np.isnan(x).any() for x in leaves(tree))


COMPUTATIONS = {
    "add": (0.0, lambda lib: lib.add),
    "mul": (1.0, lambda lib: lib.mul),
    "max": (-np.inf, lambda lib: lib.max),
    "min": (np.inf, lambda lib: lib.min),
    "operator": (0.0, lambda lib: operator.add),
    "lambda": (0.0, lambda lib: lambda x, y: y + x),
    "any": (0.0, lambda lib: lambda x, y: x + y + x * y),
    "logaddexp": (
        -1e30,
        lambda lib: (
            lambda x, y: lib.add(lib.max(x, y), lib.log1p(lib.exp(lib.neg(lib.abs(lib.sub(x, y))))))
        ),
    ),
}


@pytest.mark.parametrize("axes", [(1,), (1, 0)], ids=str)
@pytest.mark.parametrize("name", COMPUTATIONS)
def test_reduce(name, axes):
    start, make = COMPUTATIONS[name]
    f, g = (functools.partial(one_reduction, lib, start, make(lib), axes) for lib in (lax, jlax))
    both = np.stack([X, Y])
    found, expected = (
        lambda xs, lib=lib, h=h: (lib.vmap(h)(xs), lib.grad(lambda x: h(x).sum())(xs[0]))
        for lib, h in ((fg, f), (jax, g))
    )
    assert_alike(found(both), jax.jit(expected)(both))


def one_reduction(lib, start, computation, axes, x):
    return lib.reduce(x, start, computation, axes)


def test_reduce_of_several_arrays():
    def larger(lib):
        def computation(a, b):
            later = lib.gt(b["value"], a["value"])
            return {k: lib.select(later, b[k], a[k]) for k in a}

        return lambda x: lib.reduce(
            {"value": x, "place": np.arange(6).reshape(2, 3)},
            {"value": -np.inf, "place": -1},
            computation,
            (1,),
        )

    assert_alike(larger(lax)(X), larger(jlax)(X))
    ours, theirs = (lambda x, f=f: f(x)["value"].sum() for f in (larger(lax), larger(jlax)))
    # JAX cannot differentiate this reduction; its derivative is that of the maximum.
    np.testing.assert_allclose(fg.grad(ours)(X), X.max(1, keepdims=True) == X)
    assert theirs(X) == ours(X)
