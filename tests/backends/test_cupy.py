"""Programs run on CuPy's arrays: shown with a strict stand-in where there is no GPU."""

import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit import pieces
from tests.backends.fake_cupy import make_module, tells_of_lack, up_to_signs
from tests.samples import rows


@pytest.fixture
def cupy(monkeypatch):
    module = make_module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.mark.parametrize("sample", rows(), ids=str)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_impl(cupy, sample):
    primitive = sample.primitive
    try:
        found = primitive.impl(cupy, *map(cupy.asarray, sample.operands))
    except (AttributeError, NotImplementedError) as error:
        if not tells_of_lack(error):
            raise
        return
    expected = primitive.impl(np, *sample.operands)
    if not primitive.multiple_results:
        found, expected = (found,), (expected,)
    for x, y in zip(*up_to_signs(primitive, found, expected), strict=True):
        assert isinstance(x, cupy.ndarray)
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x.get(), y, rtol=1e-13, atol=1e-13)


def mlp(params, x):
    for w, b in params[:-1]:
        x = fnp.tanh(x @ w + b)
    w, b = params[-1]
    return fnp.sum((x @ w + b) ** 2) / 2.0


PROGRAMS = {
    "sum": lambda x: fnp.sum(fnp.sin(x) * x * 2.0 + 1),
    "scalar loop": lambda x: (x * 3.0 - 1.5).sum() ** 2,
    "mean": lambda x: fnp.mean(x, axis=0)[0],
    "max": lambda x: fnp.max(x * x),
    "where": lambda x: fnp.sum(fnp.where(x > 0.5, x, 2 * x)),
    "index": lambda x: x[0, 1:].sum() * x[-1, 0],
    "gather": lambda x: x[[0, 1, 1]].prod(),
    "cumsum": lambda x: fnp.sum(fnp.cumsum(x, axis=1) ** 2),
    "matmul": lambda x: fnp.sum(x @ x.T),
    "branch": lambda x: fnp.sum(x) if x[0, 0] > 0 else -fnp.sum(x),
    "logsumexp": lambda x: fnp.log(fnp.sum(fnp.exp(x - fnp.max(x)))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_in_pieces(cupy, monkeypatch, name):
    monkeypatch.setattr(pieces, "PIECE", 2)
    f = PROGRAMS[name]
    x = np.linspace(0.1, 2.0, 9).reshape(3, 3)
    jitted = fg.jit(fg.grad(f)) if name != "branch" else fg.grad(f)
    expected = fg.grad(f)(x)
    for _ in range(2):
        found = jitted(cupy.asarray(x))
        assert isinstance(found, cupy.ndarray)
        np.testing.assert_allclose(found.get(), expected, rtol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("jitted", [False, True])
def test_gradients(cupy, name, jitted):
    f = PROGRAMS[name]
    x = np.random.default_rng(0).uniform(0.2, 0.9, (2, 3))
    g = fg.jit(fg.grad(f)) if jitted and name != "branch" else fg.grad(f)
    on_device = cupy.asarray(x)
    for _ in range(3):  # evaluated, compiled, compiled
        found = g(on_device)
        assert isinstance(found, cupy.ndarray)
        np.testing.assert_allclose(found.get(), fg.grad(f)(x), rtol=1e-13)


def filled(x):
    out = fnp.zeros_like(x)
    for i in range(1, 4):
        out[i] = x[i] * x[i - 1] + 0.5 * out[i - 1]
    return fnp.sum(out)


def swapped(x):
    y = x * x
    first, last = y[0], y[-1]
    y[0], y[-1] = last, first
    return fnp.sum(y * x)


def shifted(x):
    def step(i, y):
        last = fg.lax.dynamic_index_in_dim(y, i - 1, keepdims=False)
        return fg.lax.dynamic_update_index_in_dim(y, last * x[0] + 1.0, i, 0)

    return fnp.sum(fg.lax.fori_loop(1, 4, step, x * 1.0))


@pytest.mark.parametrize("f", [filled, swapped, shifted])
def test_elements_read_before_they_are_overwritten(cupy, f):
    """An element of a CuPy array is a view, which an assignment to the array changes."""
    x = np.linspace(0.5, 2.0, 4)
    for g in (fg.jit(f), fg.jit(fg.grad(f)), fg.grad(f)):
        for _ in range(3):
            np.testing.assert_allclose(g(cupy.asarray(x)).get(), g(x), rtol=1e-13)


def test_elements_that_are_returned_are_no_views(cupy):
    def f(x, t):
        y = x * 2.0
        return y, y[1], x[0], t

    x, t = cupy.asarray(np.ones(3)), cupy.asarray(np.float64(3.0))
    y, *elements = fg.jit(f)(x, t)
    for array in (x, t, y):
        array[...] = 7.0
    assert [float(e.get()) for e in elements] == [2.0, 1.0, 3.0]


def test_batches_and_trees(cupy):
    rng = np.random.default_rng(0)
    params = [
        (rng.normal(size=(3, 4)), rng.normal(size=4)),
        (rng.normal(size=(4, 2)), rng.normal(size=2)),
    ]
    x = rng.normal(size=(5, 3))
    per_example = fg.vmap(fg.grad(mlp), in_axes=(None, 0))
    expected = per_example(params, x)
    found = per_example(fg.tree.map(cupy.asarray, params), cupy.asarray(x))
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a.get(), b, rtol=1e-12, atol=1e-12)


def test_constants_in_derivatives(cupy):
    """What is made of constants alone is NumPy's, until it meets arrays of the device."""

    def f(x):
        place = lambda row: row * (1.0 + lax.axis_index("i")) + lax.pbroadcast(row, "i", 1)
        return fg.vmap(place, axis_name="i")(x)

    x = np.arange(1.0, 7.0).reshape(2, 3)
    given = cupy.asarray(x)
    for g in (f, fg.grad(lambda x: fnp.sum(f(x) ** 2)), lambda x: fg.jvp(f, (x,), (x * x,))[1]):
        for h in (g, fg.jit(g)):
            assert isinstance(h(given), cupy.ndarray)
            np.testing.assert_allclose(h(given).get(), g(x), rtol=1e-14)


def test_scalars_are_0d_arrays(cupy):
    value, gradient = fg.value_and_grad(lambda x: x * x * 3.0)(cupy.asarray(2.0))
    assert isinstance(value, cupy.ndarray)
    assert value.shape == ()
    assert float(gradient) == 12.0


def test_costs_and_profiles(cupy):
    def f(x):
        y = fnp.tanh(x @ x.T)
        return lax.scan(lambda c, row: (c + fnp.sum(row), None), 0.0, y)[0]

    x = cupy.asarray(np.linspace(0.0, 1.0, 6).reshape(2, 3))
    rows = {row.operation: row for row in fg.show.table(f)(x)}
    assert rows["dot_general"].flops == 24
    assert rows["dot_general"].maximum == pytest.approx(0.36 + 0.64 + 1.0)
    assert rows["reduce_sum"].runs == 2
    jitted = fg.jit(f)
    with fg.profile() as p:
        found = jitted(x)
    assert isinstance(found, cupy.ndarray)
    assert {"trace", "compile", "call"} <= {event.kind for event in p.events}
