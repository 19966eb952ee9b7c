"""Batches and Jacobians in chunks: the results of the whole, in the memory of a part."""

import tracemalloc

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.test_util import assert_allclose
from fungrad.transforms import chunks

X = np.arange(21.0).reshape(7, 3) / 10
W = np.linspace(0.5, 1.5, 3)


def f(x, w):
    return {"dot": x @ w, "all": fnp.sin(x) * w}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, "auto"])
@pytest.mark.parametrize("jit", [False, True], ids=["", "jit"])
def test_vmap_gives_what_it_gives_at_once(size, jit):
    for in_axes, args in (
        ((0, None), (X, W)),
        ((1, None), (X.T, W)),
        ((0, 0), (X, X + 1)),
        ((None, 0), (W, X)),
    ):
        whole = fg.vmap(f, in_axes)
        parts = fg.vmap(f, in_axes, chunk_size=size)
        parts = fg.jit(parts) if jit else parts
        assert_allclose(parts(*args), whole(*args))


@pytest.mark.parametrize("size", [2, 7, "auto"])
def test_axes_of_results(size):
    for out_axes in (0, 1, -1, {"dot": 0, "all": -1}):
        if out_axes in (1,):
            g = lambda x, w: f(x, w)["all"]
        else:
            g = f
        whole = fg.vmap(g, (0, None), out_axes)(X, W)
        assert_allclose(fg.vmap(g, (0, None), out_axes, chunk_size=size)(X, W), whole)
    same = fg.vmap(lambda x, w: (x, w), (0, None), (0, None), chunk_size=size)(X, W)
    assert_allclose(same, (X, W))


def test_nothing_mapped_and_keywords_and_empty_batches():
    assert_allclose(fg.vmap(lambda: W, axis_size=5, chunk_size=2)(), np.tile(W, (5, 1)))
    assert_allclose(fg.vmap(lambda x, *, y: x * y, chunk_size=2)(X, y=X), X * X)
    assert fg.vmap(fnp.sin, chunk_size=2)(np.zeros((0, 3))).shape == (0, 3)


def test_under_transforms():
    total = lambda w: fg.vmap(lambda x: fnp.sum(fnp.tanh(x * w)), chunk_size=2)(X).sum()
    whole = lambda w: fg.vmap(lambda x: fnp.sum(fnp.tanh(x * w)))(X).sum()
    assert_allclose(fg.grad(total)(W), fg.grad(whole)(W))
    assert_allclose(fg.jit(fg.grad(total))(W), fg.grad(whole)(W))
    assert_allclose(fg.jvp(total, (W,), (W,)), fg.jvp(whole, (W,), (W,)))
    assert_allclose(fg.hessian(total)(W), fg.hessian(whole)(W))
    assert_allclose(fg.vmap(total)(X), fg.vmap(whole)(X))


def test_python_may_look_at_values():
    g = lambda x: x if x > 0 else -2 * x
    x = np.linspace(-1, 1, 9)
    assert_allclose(fg.vmap(g, chunk_size=4)(x), np.where(x > 0, x, -2 * x))


@pytest.mark.parametrize("size", [1, 2, 5, 50, "auto"])
@pytest.mark.parametrize("jit", [False, True], ids=["", "jit"])
def test_jacobians(size, jit):
    g = lambda t: {"a": fnp.sin(t["u"]) * t["v"], "b": t["u"] @ t["u"]}
    tree = {"u": W, "v": np.float64(2.0)}
    wrapped = fg.jit if jit else lambda f: f
    for transform in (fg.jacfwd, fg.jacrev):
        assert_allclose(wrapped(transform(g, chunk_size=size))(tree), transform(g)(tree))
    scalar = lambda t: fnp.sum(g(t)["a"] ** 3) + g(t)["b"] ** 2
    assert_allclose(wrapped(fg.hessian(scalar, chunk_size=size))(tree), fg.hessian(scalar)(tree))
    value, aux = fg.jacfwd(lambda x: (x**2, x.sum()), has_aux=True, chunk_size=size)(W)
    assert_allclose((value, aux), (np.diag(2 * W), W.sum()))


def test_chunks_take_less_memory():
    n = 300
    a = np.random.default_rng(0).normal(size=(n, n))
    g = lambda x: fnp.sum(fnp.tanh(a * x) @ a, axis=0)  # one direction holds n * n numbers

    def peak(**options):
        jacobian = fg.jacfwd(g, **options)
        x = np.ones(n)
        jacobian(x)
        tracemalloc.start()
        result = jacobian(x)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most, result

    (all_at_once, whole), (in_chunks, parts) = peak(), peak(chunk_size=10)
    assert in_chunks < all_at_once / 5
    assert_allclose(parts, whole)


def test_auto_takes_what_fits(monkeypatch):
    taken = []
    monkeypatch.setattr(chunks, "free_memory", lambda: chunks.SHARE * 8 * 1000)
    g = lambda x: taken.append(1) or fnp.sum(fnp.outer(x, x))  # 100 numbers and a few
    x = np.ones((40, 10))
    assert_allclose(fg.vmap(g, chunk_size="auto")(x), np.full(40, 100.0))
    assert 5 <= len(taken) - 1 <= 20  # traced once to see what it takes, then once a chunk
    assert chunks.free_memory() > 0


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: fg.vmap(f, chunk_size=0), ValueError, "vmap: chunk_size must be positive, got 0"),
        (lambda: fg.jacfwd(f, chunk_size=1.5), TypeError, 'chunk_size is an integer, "auto" or None, got 1.5'),
        (lambda: fg.jacrev(f, chunk_size="all"), TypeError, "got 'all'"),
        (lambda: fg.vmap(f, chunk_size=True), TypeError, "got True"),
        (lambda: fg.hessian(f, chunk_size=-1), ValueError, "positive"),
        (lambda: fg.vmap(f, axis_name="i", chunk_size=2), ValueError, "leave out axis_name or chunk_size"),
    ],
)  # fmt: skip
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
