"""Norms of fungrad.nn against their formulas in NumPy: values, transforms, precisions, running statistics, errors."""

import functools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, nn
from fungrad.test_util import check_agreement
from tests.compile.compiling import compare, needs_compiler
from tests.optional import BFLOAT16, eps_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 2, 6)) * 3 + 1
SCALE, BIAS = RNG.normal(size=6) + 1, RNG.normal(size=6)
DTYPES = [np.float16, BFLOAT16, np.float32, np.float64]


def normalized(x, axes, epsilon=1e-5):
    deviation = x - np.mean(x, axis=axes, keepdims=True)
    return deviation / np.sqrt(np.mean(deviation**2, axis=axes, keepdims=True) + epsilon)


def in_groups(x, groups, scale, bias, epsilon=1e-5):
    """Each group by itself, each example by itself."""
    of = x.shape[-1] // groups
    parts = [
        np.concatenate(
            [normalized(example[..., g * of : (g + 1) * of], None, epsilon) for g in range(groups)],
            axis=-1,
        )
        for example in x
    ]
    return np.stack(parts) * scale + bias


CASES = {
    "layer_norm": (nn.layer_norm, lambda x, s, b: normalized(x, -1) * s + b),
    "layer_norm of axes": (
        lambda x, s, b: nn.layer_norm(x, fnp.stack([s, s]), fnp.stack([b, b]), (-2, -1)),
        lambda x, s, b: normalized(x, (-2, -1)) * s + b,
    ),
    "layer_norm of axes in another order": (
        lambda x, s, b: nn.layer_norm(x, fnp.stack([s, s], 1), None, (-1, 2), 1e-2) + b,
        lambda x, s, b: normalized(x, (-2, -1), 1e-2) * s + b,
    ),
    "rms_norm": (
        lambda x, s, b: nn.rms_norm(x, s) + b,
        lambda x, s, b: x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * s + b,
    ),
    "group_norm": (
        lambda x, s, b: nn.group_norm(x, 3, s, b),
        lambda x, s, b: in_groups(x, 3, s, b),
    ),
    "group_norm of channels first": (
        lambda x, s, b: fnp.moveaxis(
            nn.group_norm(fnp.moveaxis(x, -1, 1), 2, s, b, channel_axis=1, epsilon=0.1), 1, -1
        ),
        lambda x, s, b: in_groups(x, 2, s, b, 0.1),
    ),
    "group_norm of one example": (
        lambda x, s, b: fg.vmap(lambda x: nn.group_norm(x, 3, s, b, batch_axis=()))(x),
        lambda x, s, b: in_groups(x, 3, s, b),
    ),
    "group_norm of a batch last": (
        lambda x, s, b: fnp.moveaxis(
            nn.group_norm(fnp.moveaxis(x, 0, -1), 3, s, b, channel_axis=-2, batch_axis=-1), -1, 0
        ),
        lambda x, s, b: in_groups(x, 3, s, b),
    ),
    "instance_norm": (nn.instance_norm, lambda x, s, b: in_groups(x, 6, s, b)),
    "batch_norm": (
        lambda x, s, b: nn.batch_norm(x, (np.zeros(6), np.ones(6)), s, b, training=True)[0],
        lambda x, s, b: normalized(x, (0, 1, 2)) * s + b,
    ),
    "batch_norm in use": (
        lambda x, s, b: nn.batch_norm(x, (BIAS, SCALE**2), s, b, training=False)[0],
        lambda x, s, b: (x - BIAS) / np.sqrt(SCALE**2 + 1e-5) * s + b,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_formula_under_transforms(name):
    check_agreement(*CASES[name], (X, SCALE, BIAS), rtol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_precisions(name, dtype):
    """The result is that of the rounded operands, rounded once, but for a few roundings of float32."""
    f, reference = CASES[name]
    x, s, b = (a.astype(dtype) for a in (X, SCALE, BIAS))
    if name in ("rms_norm", "layer_norm of axes in another order"):
        b = np.zeros((), dtype)  # else it is rounded twice
    expected = reference(*[np.asarray(a, np.float64) for a in (x, s, b)])
    eps = eps_of(dtype)
    for found in (f(x, s, b), fg.jit(f)(x, s, b)):
        assert (found.dtype, found.shape) == (np.dtype(dtype), expected.shape)
        np.testing.assert_allclose(
            found.astype(float),
            expected,
            rtol=0.51 * eps + 2e-6 * (eps > 1e-15),
            atol=30 * min(eps, 2e-7),
        )


@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_statistics_of_two_bytes_are_those_of_float32(dtype):
    """Of 10,000 elements around 100, whose squares and sums do not fit into float16."""
    x = (100 + RNG.normal(size=(2, 10_000))).astype(dtype)
    wide = x.astype(float)
    for f, g in [
        (nn.layer_norm, lambda x: normalized(x, -1)),
        (nn.rms_norm, lambda x: x / np.sqrt(np.mean(x**2, -1, keepdims=True))),
        (lambda x: nn.group_norm(x, 2, epsilon=0), lambda x: in_groups(x, 2, 1, 0, 0)),
    ]:
        eps = eps_of(dtype)
        np.testing.assert_allclose(f(x).astype(float), g(wide), rtol=eps, atol=1e-3)
    running = np.zeros(1, np.float32), np.ones(1, np.float32)
    column = x[:1].T
    _, (mean, variance) = nn.batch_norm(column, running, training=True, momentum=0.0)
    assert (mean.dtype, variance.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose([mean[0], variance[0]], [wide[0].mean(), wide[0].var()], rtol=1e-5)


def test_a_large_mean_cancels_nothing():
    x = (1e4 + RNG.normal(size=(1, 1000))).astype(np.float32)
    found = nn.layer_norm(x)
    np.testing.assert_allclose(found, normalized(x.astype(float), -1), atol=1e-3)
    np.testing.assert_allclose(
        fg.grad(lambda x: (nn.layer_norm(x) ** 3).sum())(x).sum(), 0, atol=1e-3
    )


def test_running_statistics():
    """Those of flax: momentum is what is kept, and the divisor of the variance is n."""
    running = np.array([1.0, -1.0]), np.array([2.0, 3.0])
    x = RNG.normal(size=(5, 2, 4))
    step = functools.partial(nn.batch_norm, training=True, momentum=0.9, channel_axis=1)
    for f in (step, fg.jit(step)):
        y, (mean, variance) = f(x, running)
        np.testing.assert_allclose(y, normalized(x, (0, 2)), rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(mean, 0.9 * running[0] + 0.1 * x.mean((0, 2)), rtol=1e-13)
        np.testing.assert_allclose(variance, 0.9 * running[1] + 0.1 * x.var((0, 2)), rtol=1e-13)
    y, same = nn.batch_norm(x, running, training=False, channel_axis=1)
    assert all(new is old for new, old in zip(same, running, strict=True))
    scaled = (x - running[0][:, None]) / np.sqrt(running[1][:, None] + 1e-5)
    np.testing.assert_allclose(y, scaled, rtol=1e-13)


def test_running_statistics_are_carried_by_scan():
    batches = RNG.normal(size=(20, 8, 3))
    first = np.zeros(3, np.float32), np.ones(3, np.float32)
    step = lambda running, x: nn.batch_norm(x, running, training=True, momentum=0.5)[::-1]
    running, ys = lax.scan(step, first, batches.astype(np.float16))
    assert (ys.dtype, running[0].dtype) == (np.float16, np.float32)
    expected = first
    for x in batches.astype(np.float16):
        expected = nn.batch_norm(x, expected, training=True, momentum=0.5)[1]
    np.testing.assert_allclose(running, expected, rtol=1e-6)


def test_statistics_of_a_batch_that_is_mapped_over():
    running = np.zeros(6), np.ones(6)
    whole, new = nn.batch_norm(X, running, SCALE, BIAS, training=True)
    f = lambda x: nn.batch_norm(x, running, SCALE, BIAS, training=True, axis_name="batch")
    mapped, new_mapped = fg.vmap(f, axis_name="batch")(X)
    np.testing.assert_allclose(mapped, whole, rtol=1e-12, atol=1e-13)
    for a, b in zip(new_mapped, new, strict=True):
        np.testing.assert_allclose(a, np.stack([b] * 3), rtol=1e-12)


def test_running_statistics_decide_no_dtype():
    x = np.ones((2, 3), np.float16)
    for training in (False, True):
        y, new = nn.batch_norm(x, (np.zeros(3), np.ones(3)), training=training)
        assert (y.dtype, new[0].dtype) == (np.float16, np.float64)
    assert nn.batch_norm(x, new, np.ones(3, np.float32), training=True)[0].dtype == np.float32


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_kernels(name, dtype):
    x = np.tile(X, (4, 6, 1, 1)).astype(dtype)
    given = x, SCALE.astype(dtype), BIAS.astype(dtype)
    f = CASES[name][0]
    compare(f, given, ulps=64)
    compare(fg.grad(lambda *a: (f(*a) ** 2).sum(), (0, 1, 2)), given, ulps=512)


STATE = np.zeros(6), np.ones(6)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: nn.layer_norm(X, np.ones(2)), ValueError, "scale is of shape"),
        (lambda: nn.layer_norm(X, bias=np.ones((1, 6))), ValueError, "bias is of shape"),
        (lambda: nn.layer_norm(X, axis=4), ValueError, "axis 4 is out of bounds"),
        (lambda: nn.layer_norm(X, axis=(3, -1)), ValueError, "repeated axis"),
        (lambda: nn.layer_norm(1.0), ValueError, "axis -1 is out of bounds"),
        (lambda: nn.layer_norm(X + 1j), TypeError, "real numbers"),
        (lambda: nn.rms_norm(X, np.ones(2)), ValueError, "scale is of shape"),
        (lambda: nn.group_norm(X, 4), ValueError, "6 channels do not make 4 groups"),
        (lambda: nn.group_norm(X, 0), ValueError, "6 channels do not make 0 groups"),
        (lambda: nn.group_norm(X, 2, batch_axis=-1), ValueError, "channels and of the batch"),
        (lambda: nn.instance_norm(X, channel_axis=7), ValueError, "axis 7 is"),
        (lambda: nn.batch_norm(X, (np.ones(2), np.ones(6)), training=True), ValueError, "running"),
        (
            lambda: nn.batch_norm(X, (np.ones(6, int), np.ones(6)), training=True),
            TypeError,
            "running has two arrays of floating-point numbers",
        ),
        (lambda: nn.batch_norm(X, STATE, np.ones(1), training=False), ValueError, "scale"),
    ],
)  # fmt: skip
def test_errors(call, error, says):
    with pytest.raises(error, match=rf"{says}.*nn\.layer_norm|nn\.\w+_norm: .*{says}"):
        call()
