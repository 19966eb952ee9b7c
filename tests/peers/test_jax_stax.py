"""fungrad.example_libraries.stax against JAX's: names; with the same keys the same parameters, results and gradients."""

import types

import numpy as np
import pytest

jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.example_libraries.stax")

import fungrad as fg  # noqa: E402
from fungrad import random  # noqa: E402
from fungrad.example_libraries import stax as ours  # noqa: E402

NAMES = [
    name
    for name, value in vars(theirs).items()
    if not name.startswith("_") and not isinstance(value, types.ModuleType)
]


def test_names_are_jaxs():
    assert sorted(ours.__all__) == sorted(NAMES)
    assert [name for name in NAMES if not hasattr(ours, name)] == []
    assert fg.example_libraries.stax is ours


IMAGE, TEXT, ROW = (3, 8, 6, 2), (3, 7, 4), (3, 5)
LAYERS = {
    "Dense": (lambda s: s.Dense(4), ROW),
    "Dense of sequences": (lambda s: s.Dense(4, s.randn(0.1), s.ones), TEXT),
    "Dense of float32": (
        lambda s: s.Dense(4, s.glorot(dtype=np.float32), s.randn(dtype=np.float32)),
        ROW,
    ),
    "Conv": (lambda s: s.Conv(5, (3, 2)), IMAGE),
    "Conv in steps": (lambda s: s.Conv(5, (3, 3), (2, 1), "SAME"), IMAGE),
    "Conv with pairs": (lambda s: s.Conv(5, (3, 3), padding=((1, 1), (0, 2))), IMAGE),
    "GeneralConv": (
        lambda s: s.GeneralConv(("NCHW", "OIHW", "NHWC"), 5, (3, 2), padding="SAME"),
        (3, 2, 8, 6),
    ),
    "Conv1DTranspose": (lambda s: s.Conv1DTranspose(5, (3,), (2,)), TEXT),
    "ConvTranspose": (lambda s: s.ConvTranspose(5, (3, 2), (2, 3), "SAME"), IMAGE),
    "GeneralConvTranspose": (
        lambda s: s.GeneralConvTranspose(("NCHW", "HWIO", "NCHW"), 5, (2, 2), (2, 2)),
        (3, 2, 4, 3),
    ),
    "BatchNorm": (lambda s: s.BatchNorm(), IMAGE),
    "BatchNorm of rows": (lambda s: s.BatchNorm(0, 1e-3, beta_init=s.randn()), ROW),
    "BatchNorm without scale": (lambda s: s.BatchNorm(scale=False), IMAGE),
    "BatchNorm without center": (lambda s: s.BatchNorm(center=False), IMAGE),
    "BatchNorm alone": (lambda s: s.BatchNorm(center=False, scale=False), IMAGE),
    "elementwise": (lambda s: s.elementwise(s.leaky_relu, negative_slope=0.3), ROW),
    "MaxPool": (lambda s: s.MaxPool((2, 3)), IMAGE),
    "MaxPool in steps": (lambda s: s.MaxPool((3, 3), (2, 2), "SAME"), IMAGE),
    "MaxPool with pairs": (
        lambda s: s.MaxPool((2, 2), padding=((0, 0), (1, 0), (0, 1), (0, 0))),
        IMAGE,
    ),
    "SumPool": (lambda s: s.SumPool((2, 2), (2, 2)), IMAGE),
    "AvgPool": (lambda s: s.AvgPool((2, 2), (2, 2)), IMAGE),
    "AvgPool padded": (lambda s: s.AvgPool((3, 2), (1, 2), "SAME"), IMAGE),
    "AvgPool of channels first": (
        lambda s: s.AvgPool((3, 2), (1, 2), "SAME", spec="NCHW"),
        (3, 2, 8, 6),
    ),
    "AvgPool of sequences": (lambda s: s.AvgPool((3,), padding="SAME"), TEXT),
    "Dropout": (lambda s: s.Dropout(0.7), IMAGE),
    "Dropout in a test": (lambda s: s.Dropout(0.7, mode="test"), IMAGE),
    "serial": (
        lambda s: s.serial(
            s.Conv(4, (3, 3), padding="SAME"), s.BatchNorm(), s.Relu, s.MaxPool((2, 2), (2, 2)),
            s.Flatten, s.Dropout(0.5), s.Dense(6), s.Tanh, s.Dropout(0.9), s.Dense(3), s.LogSoftmax,
        ),
        IMAGE,
    ),
    "parallel": (
        lambda s: s.serial(
            s.FanOut(3), s.parallel(s.Dense(4), s.serial(s.Dense(4), s.Dropout(0.5)), s.Dense(4)),
            s.FanInSum,
        ),
        ROW,
    ),
    "FanInConcat": (
        lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(4), s.Identity), s.FanInConcat()),
        ROW,
    ),
    "FanInConcat of an axis": (
        lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(4), s.Identity), s.FanInConcat(-2)),
        (3, 5, 4),
    ),
    "shape_dependent": (
        lambda s: s.shape_dependent(lambda shape: s.Dense(2 * shape[-1])),
        ROW,
    ),
}  # fmt: skip
ELEMENTWISE = (
    "Elu Exp Flatten Gelu Identity LeakyRelu LogSoftmax Relu Selu Sigmoid Softmax Softplus Tanh"
)
LAYERS |= {name: (lambda s, name=name: getattr(s, name), IMAGE) for name in ELEMENTWISE.split()}

REFUSED = {"MaxPool with pairs"}  # by JAX's init, though not by its apply


def close(found, expected, what):
    """Compare two trees of arrays, their structure and dtypes included, to some tens of roundings."""
    found, expected = fg.tree.map(np.asarray, found), jax.tree.map(np.asarray, expected)
    assert str(jax.tree.structure(found)) == str(jax.tree.structure(expected)), what
    for x, y in zip(fg.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), what
        if x.dtype.kind == "f":
            eps = np.finfo(x.dtype).eps
            np.testing.assert_allclose(x, y, rtol=64 * eps, atol=256 * eps, err_msg=what)


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name):
    make, shape = LAYERS[name]
    (init, apply), (init_too, apply_too) = make(ours), make(theirs)
    out, params = init(random.key(3), shape)
    if name in REFUSED:
        params_too = ()
    else:
        out_too, params_too = init_too(jax.random.key(3), shape)
        assert out == tuple(out_too)
    close(params, params_too, "parameters")
    inputs = np.random.default_rng(0).normal(size=shape)
    if "float32" in name:
        inputs = inputs.astype(np.float32)
    f = lambda p, x: apply(p, x, rng=random.key(5))
    g = lambda p, x: apply_too(p, x, rng=jax.random.key(5))
    expected = g(params_too, inputs)
    assert expected.shape == out
    close(f(params, inputs), expected, "results")
    close(fg.jit(f)(params, inputs), expected, "results, jitted")
    weights = np.random.default_rng(1).normal(size=expected.shape).astype(expected.dtype)
    gradient = fg.grad(lambda p, x: (f(p, x) * weights).sum(), (0, 1))
    expected = jax.grad(lambda p, x: (g(p, x) * weights).sum(), (0, 1))(params_too, inputs)
    close(gradient(params, inputs), expected, "gradients")
    close(fg.jit(gradient)(params, inputs), expected, "gradients, jitted")


@pytest.mark.parametrize("name", sorted({*LAYERS} - REFUSED))
def test_shapes_of_a_batch_of_unknown_length(name):
    make, shape = LAYERS[name]
    unknown = (-1, *shape[1:])
    expected = make(theirs)[0](jax.random.key(3), unknown)[0]
    # JAX's pooling makes 0 of -1.
    assert make(ours)[0](random.key(3), unknown)[0] == (-1, *expected[1:])
