"""fungrad.nn against jax.nn: values and gradients, in four precisions, at ordinary and at hard points.

Numbers of two bytes are computed with in float32 here and rounded once, while JAX rounds at each step, or not, as its
compiler sees fit. So there JAX's float32 result, rounded, is the oracle, which is the sharper test.
"""

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad import nn  # noqa: E402
from fungrad.nn.exclusions import EXCLUDED  # noqa: E402

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
ELEMENTWISE = [
    "celu",
    "elu",
    "gelu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]
POINTS = np.array([-30.0, -6, -3, -2.5, -1, -0.75, -1e-3, -0.0, 0, 1e-3, 0.5, 1, 2, 3, 5.5, 6, 30])
FAR = np.array([-np.inf, -1e6, -1e3, 1e3, 1e6, np.inf, np.nan])
POSITIVE = np.array([1e-3, 0.1, 0.5, np.log(2.0), 1.0, 3.0, 30.0])
ROWS = np.random.default_rng(0).normal(size=(3, 4, 5)) * 3
MASK = np.random.default_rng(1).random((3, 4, 5)) < 0.6
MASK[0, 0] = False
MASK[1] = False


@pytest.fixture(autouse=True)
def no_warnings():
    with np.errstate(all="ignore"):
        yield


def eps(dtype):
    return float(ml_dtypes.finfo(dtype).eps)


def wide(dtype):
    """The dtype in which JAX computes the oracle."""
    return np.dtype(np.float32 if np.dtype(dtype).itemsize < 4 else dtype)


def compare(ours, theirs, dtype, ulp, atol=0.0):
    """Compare with what JAX computes in the wider dtype, to `ulp` roundings; to one in dtypes of two bytes."""
    theirs = np.asarray(theirs)
    assert (np.shape(ours), ours.dtype) == (theirs.shape, np.dtype(dtype))
    ours = np.asarray(ours).astype(np.float64)
    if wide(dtype) != dtype:
        ulp, theirs = 1, theirs.astype(dtype)
    theirs = theirs.astype(np.float64)
    finite = np.isfinite(theirs)
    np.testing.assert_array_equal(ours[~finite], theirs[~finite])
    tiny = float(ml_dtypes.finfo(dtype).tiny)
    np.testing.assert_allclose(
        ours[finite], theirs[finite], rtol=ulp * eps(dtype), atol=atol * eps(wide(dtype)) + tiny
    )


def same(f, g, x, dtype, ulp=8, atol=0.0, gradient=True):
    """Compare values and gradients, as they are and jitted, of f and g at x."""
    x = x.astype(dtype)
    given = jnp.asarray(x.astype(wide(dtype)))
    theirs = g(given)
    compare(f(x), theirs, dtype, ulp, atol)
    compare(fg.jit(f)(x), theirs, dtype, ulp, atol)
    if not gradient:
        return
    weights = np.linspace(0.5, 1.5, theirs.size).reshape(theirs.shape)
    weights = (np.round(16 * weights) / 16).astype(wide(dtype))  # exact in all dtypes
    theirs = jax.grad(lambda x: (g(x) * weights).sum())(given)

    def ours(x):
        return (fnp.astype(f(x), wide(dtype)) * weights).sum()

    compare(fg.grad(ours)(x), theirs, dtype, 4 * ulp, 4 * atol)
    compare(fg.jit(fg.grad(ours))(x), theirs, dtype, 4 * ulp, 4 * atol)


NAMES = [name for name in dir(jax.nn) if not name.startswith("_")]


@pytest.mark.parametrize("name", NAMES)
def test_name_is_there_or_excluded_with_a_reason(name):
    assert hasattr(nn, name) != (name in EXCLUDED)


def test_exclusions_are_names_of_jax():
    assert sorted(EXCLUDED.keys() - set(NAMES)) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_activation(name, dtype):
    # In the tails the derivatives of JAX's exp, tanh and root cancel: they are exact to a rounding of 1.
    same(getattr(nn, name), getattr(jax.nn, name), POINTS, dtype, atol=8 if name == "gelu" else 1)


@pytest.mark.parametrize("dtype", DTYPES[2:])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_activation_far_out(name, dtype):
    ours, theirs = getattr(nn, name), getattr(jax.nn, name)
    same(ours, theirs, FAR, dtype, gradient=False)
    # The gradient at NaN is no one's, and at infinity JAX's of sparse_plus is NaN.
    same(ours, theirs, FAR[1:-2] if name == "sparse_plus" else FAR[:-1], dtype, atol=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("f", "g"),
    [
        (lambda x: nn.gelu(x, approximate=False), lambda x: jax.nn.gelu(x, approximate=False)),
        (lambda x: nn.celu(x, 0.5), lambda x: jax.nn.celu(x, 0.5)),
        (lambda x: nn.elu(x, 2), lambda x: jax.nn.elu(x, 2)),
        (lambda x: nn.leaky_relu(x, 0.3), lambda x: jax.nn.leaky_relu(x, 0.3)),
        (lambda x: nn.squareplus(x, 1), lambda x: jax.nn.squareplus(x, 1)),
        (lambda x: nn.glu(x[:16]), lambda x: jax.nn.glu(x[:16])),
    ],
    ids=["gelu", "celu", "elu", "leaky_relu", "squareplus", "glu"],
)
def test_activation_with_arguments(f, g, dtype):
    same(f, g, POINTS, dtype, atol=1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_log1mexp(dtype):
    same(nn.log1mexp, jax.nn.log1mexp, POSITIVE, dtype)
    same(nn.log1mexp, jax.nn.log1mexp, np.array([0.0, 1e3, np.inf]), dtype, gradient=False)


@pytest.mark.parametrize(
    "name",
    [
        "sigmoid",
        "silu",
        "soft_sign",
        "squareplus",
        "gelu",
        "tanh",
        "softplus",
        "log_sigmoid",
        "mish",
        "identity",
    ],
)
def test_complex_activation(name):
    x = np.random.default_rng(2).normal(size=8) + 1j * np.random.default_rng(3).normal(size=8) * 2
    ours, theirs = getattr(nn, name), getattr(jax.nn, name)
    for dtype, tolerance in ((np.complex128, 1e-13), (np.complex64, 1e-5)):
        z = x.astype(dtype)
        assert ours(z).dtype == dtype
        np.testing.assert_allclose(ours(z), theirs(z), rtol=tolerance)
        gradient = fg.grad(lambda z: fnp.abs(ours(z)).sum())(z)
        expected = jax.grad(lambda z: jnp.abs(theirs(z)).sum())(z)
        np.testing.assert_allclose(gradient, expected, rtol=10 * tolerance)


AXES = [-1, 0, (0, 2), None]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("where", [None, MASK, MASK[:1]], ids=["all", "some", "broadcast"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, where, axis, dtype):
    ours, theirs = getattr(nn, name), getattr(jax.nn, name)
    f = lambda x: ours(x, axis=axis, where=where)
    g = lambda x: theirs(x, axis=axis, where=where)
    finite = lambda h, xp: lambda x: xp.where(xp.isfinite(h(x)), h(x), 0)
    same(f, g, ROWS, dtype, ulp=16, atol=4, gradient=False)
    same(finite(f, fnp), finite(g, jnp), ROWS, dtype, ulp=16, atol=4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("axis", "keepdims"), [*zip(AXES, [True, False, True, False])])
@pytest.mark.parametrize("where", [None, MASK], ids=["all", "some"])
@pytest.mark.parametrize("name", ["logsumexp", "logmeanexp"])
def test_logsumexp(name, where, keepdims, axis, dtype):
    ours, theirs = getattr(nn, name), getattr(jax.nn, name)
    f = lambda x: ours(x, axis=axis, where=where, keepdims=keepdims)
    g = lambda x: theirs(x, axis=axis, where=where, keepdims=keepdims)
    finite = lambda h, xp: lambda x: xp.where(xp.isfinite(h(x)), h(x), 0)
    same(f, g, ROWS, dtype, atol=4, gradient=False)
    if where is None or axis is None:  # JAX's gradient of a sum of nothing is NaN
        same(finite(f, fnp), finite(g, jnp), ROWS, dtype, ulp=16, atol=4)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "logmeanexp"])
@pytest.mark.parametrize(
    "row",
    [
        [-np.inf, 0.0, 1.0],
        [-np.inf, -np.inf, 2.0],
        [-np.inf, -np.inf, -np.inf],
        [np.inf, 0.0, 1.0],
        [np.nan, 0.0, 1.0],
        [1e300, -1e300, 1e300],
        [-1000.0, 0.0, 1000.0],
        [3.0],
    ],
)
def test_hard_rows(name, row):
    ours, theirs = getattr(nn, name), getattr(jax.nn, name)
    infinite = name.startswith(("logs", "logm"))
    # Where JAX's is NaN: of a sum of nothing, 0 here, and of an infinite one, 1 by what is infinite.
    gradient = not (infinite and (np.all(np.isinf(row)) or np.inf in row))
    same(ours, theirs, np.array(row), np.float64, gradient=gradient)


def test_the_gradient_of_a_sum_of_nothing_is_zero():
    x = np.full(3, -np.inf)
    np.testing.assert_array_equal(fg.grad(nn.logsumexp)(x), np.zeros(3))
    where = np.zeros(3, bool)
    for f in (nn.softmax, nn.log_softmax, nn.logsumexp):
        gradient = fg.grad(lambda x, f=f: fnp.sum(fnp.exp(f(x, where=where))))(np.ones(3))
        np.testing.assert_array_equal(gradient, np.zeros(3))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty_arrays(shape):
    x = np.zeros(shape)
    for name in ("softmax", "log_softmax", "relu", "gelu"):
        compare(getattr(nn, name)(x), getattr(jax.nn, name)(x), np.float64, 0)
    for axis in (-1, None):
        compare(nn.logsumexp(x, axis=axis), jax.nn.logsumexp(x, axis=axis), np.float64, 0)


@pytest.mark.parametrize("return_sign", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_logsumexp_with_factors(dtype, return_sign):
    b = np.array([1.0, -0.5, 0.0, 2.0, -2.0])
    a = ROWS.astype(dtype) + (1j * ROWS[::-1] if np.dtype(dtype).kind == "c" else 0)
    b = b.astype(dtype)
    for axis in (-1, (0, 1), None):
        ours = nn.logsumexp(a, axis=axis, b=b, return_sign=return_sign)
        theirs = jax.nn.logsumexp(a, axis=axis, b=b, return_sign=return_sign)
        for x, y in zip(*[r if return_sign else (r,) for r in (ours, theirs)]):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=100 * np.finfo(dtype).eps, atol=1e-6)


def test_logsumexp_of_complex_numbers():
    a = ROWS + 1j * ROWS[::-1]
    np.testing.assert_allclose(nn.logsumexp(a, axis=1), jax.nn.logsumexp(a, axis=1), rtol=1e-13)
    f = lambda a: nn.logsumexp(a).real
    np.testing.assert_allclose(
        fg.grad(f)(a), jax.grad(lambda a: jax.nn.logsumexp(a).real)(a), rtol=1e-12
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("algorithm", ["fast", "stable"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"axis": 0},
        {"axis": (0, 2)},
        {"axis": None, "epsilon": 0.1},
        {"where": MASK[2:]},
        {"mean": 0.5},
        {"variance": 2.0},
    ],
    ids=lambda options: "-".join(options) + str(options.get("axis", "")),
)
def test_standardize(options, algorithm, dtype):
    f = lambda x: nn.standardize(x, algorithm=algorithm, **options)
    g = lambda x: jax.nn.standardize(x, algorithm=algorithm, **options)
    same(f, g, ROWS, dtype, ulp=64, atol=64)


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [None, np.float32, np.int32, bool])
def test_one_hot(axis, dtype):
    x = np.array([[0, 3, -1], [2, 4, 1]])
    ours = nn.one_hot(x, 4, axis=axis, dtype=dtype)
    theirs = jax.nn.one_hot(x, 4, axis=axis, dtype=dtype)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(
        fg.jit(lambda x: nn.one_hot(x, 4, axis=axis, dtype=dtype))(x), ours
    )


def test_one_hot_along_a_named_axis():
    x = np.array([0, 3, 2])
    f = lambda m: lambda i, x: m.one_hot(x, 4, axis="i")
    ours = fg.vmap(f(nn), in_axes=(0, None), axis_name="i")(np.arange(4), x)
    theirs = jax.vmap(f(jax.nn), in_axes=(0, None), axis_name="i")(np.arange(4), x)
    np.testing.assert_array_equal(ours, theirs)


# Attention


def attention_operands(N=4, K=2, T=5, S=7, B=2, H=3, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(B, T, N, H)),
        rng.normal(size=(B, S, K, H)),
        rng.normal(size=(B, S, K, H)),
    )


BIAS = np.random.default_rng(5).normal(size=(2, 4, 5, 7))
SEEN = np.random.default_rng(6).random((2, 4, 5, 7)) < 0.7
SEEN[0, 0, 0] = False
OPTIONS = [
    {},
    {"bias": BIAS},
    {"bias": BIAS[:1, :1]},
    {"bias": BIAS[0, :, :, :1]},
    {"mask": SEEN},
    {"mask": SEEN[:, :1]},
    {"mask": SEEN[0, :1]},
    {"is_causal": True},
    {"is_causal": True, "bias": BIAS, "mask": SEEN},
    {"local_window_size": 1},
    {"local_window_size": (2, 0), "is_causal": True},
    {"scale": 0.3},
    {"query_seq_lengths": np.array([3, 5], np.int32)},
    {"key_value_seq_lengths": np.array([2, 7], np.int32)},
    {
        "query_seq_lengths": np.array([3, 0], np.int32),
        "key_value_seq_lengths": np.array([4, 0], np.int32),
        "is_causal": True,
        "mask": SEEN,
    },
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o))
def test_attention(options, dtype):
    """JAX takes the softmax in float32, whatever the dtype."""
    ours_given = [x.astype(dtype) for x in attention_operands()]
    given = [x.astype(wide(dtype)) for x in ours_given]
    tolerance = max(eps(dtype), 1e-6) * 4
    options = {k: v.astype(wide(dtype)) if k == "bias" else v for k, v in options.items()}
    f = lambda *qkv: nn.dot_product_attention(*qkv, **options)
    g = lambda *qkv: jax.nn.dot_product_attention(*map(jnp.asarray, qkv), **options)
    out = f(*ours_given)
    assert (out.shape, out.dtype) == ((2, 5, 4, 3), np.dtype(dtype))
    np.testing.assert_allclose(out.astype(float), g(*given), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        fg.jit(f)(*ours_given).astype(float), g(*given), rtol=tolerance, atol=tolerance
    )
    weights = np.random.default_rng(8).normal(size=out.shape).astype(wide(dtype))
    ours = fg.grad(lambda *qkv: (fnp.astype(f(*qkv), wide(dtype)) * weights).sum(), (0, 1, 2))
    theirs = jax.grad(lambda *qkv: (g(*qkv) * weights).sum(), (0, 1, 2))(*given)
    for computed in (ours(*ours_given), fg.jit(ours)(*ours_given)):
        for x, y in zip(computed, theirs):
            assert x.dtype == np.dtype(dtype)
            np.testing.assert_allclose(x.astype(float), y, rtol=4 * tolerance, atol=4 * tolerance)


@pytest.mark.parametrize("heads", [(4, 4), (4, 1), (6, 3)])
def test_attention_with_residuals_and_heads(heads):
    given = attention_operands(*heads)
    ours = nn.dot_product_attention(*given, return_residual=True, is_causal=True)
    theirs = jax.nn.dot_product_attention(*given, return_residual=True, is_causal=True)
    for x, y in zip(ours, theirs):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_attention_of_one_sequence_and_of_many():
    q, k, v = attention_operands()
    np.testing.assert_allclose(
        nn.dot_product_attention(q[0], k[0], v[0]),
        jax.nn.dot_product_attention(q[0], k[0], v[0]),
        rtol=1e-5,
        atol=1e-6,
    )
    mapped = fg.vmap(lambda *x: nn.dot_product_attention(*x, is_causal=True))(q, k, v)
    np.testing.assert_allclose(
        mapped, nn.dot_product_attention(q, k, v, is_causal=True), rtol=1e-12
    )
