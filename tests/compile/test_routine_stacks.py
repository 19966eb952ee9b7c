"""Stacks of small matrices, of any height: routines go over them."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.kernels.outline import MATRIX, SMALL
from tests.compile.compiling import compare, compare_routines, in_mode, needs_compiler, routines

pytestmark = needs_compiler

RNG = np.random.default_rng(5)


def stack(*shape, dtype=float):
    n = shape[-1]
    return (RNG.normal(size=(*shape, n)) / (3 * n**0.5) + 2 * np.eye(n)).astype(dtype)


def positive(a):
    return a @ np.swapaxes(a, -1, -2)


FUNCTIONS = {
    "matmul": lambda a: a @ a,
    "product with vectors": lambda a: fnp.matvec(a, a[..., 0]),
    "einsum": lambda a: fnp.einsum("...ij,...kj->...ik", a, a),
    "solve": lambda a: fnp.linalg.solve(a, a[..., :2] + 1),
    "inv": fnp.linalg.inv,
    "det": fnp.linalg.det,
    "slogdet": lambda a: tuple(fnp.linalg.slogdet(a)),
    "cholesky": lambda a: fnp.linalg.cholesky(a @ fnp.swapaxes(a, -1, -2)),
    "several": lambda a: fnp.linalg.inv(a) @ fnp.linalg.solve(a, a @ a),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(3000, 3), (40, 70, 2), (900, 6), (500, 11)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_high_stacks(name, shape, dtype):
    a = stack(*shape, dtype=dtype)
    assert a.nbytes > SMALL or shape[-1] < 3
    compare_routines(FUNCTIONS[name], (a,), 100)


@pytest.mark.parametrize(
    "order",
    [
        np.asfortranarray,
        lambda a: a[::-1],
        lambda a: a[::3, ::-1],
        lambda a: np.swapaxes(a, 1, 2),
        lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, 2)), 2, 0),
        lambda a: np.broadcast_to(a[0], a.shape),
    ],
    ids=["F", "reversed", "steps", "transposed", "stacked last", "one matrix"],
)
@pytest.mark.parametrize("name", ["matmul", "solve", "inv", "cholesky"])
def test_stacks_in_any_order_of_memory(name, order):
    compare(FUNCTIONS[name], (order(stack(3000, 4)),), 100)


@pytest.mark.parametrize("name", ["matmul", "solve", "det", "cholesky"])
def test_gradients(name, monkeypatch):
    f = FUNCTIONS[name]
    compare(lambda a: fg.grad(lambda a: fnp.sum(f(a) ** 2))(a), (stack(2000, 3),), 400)
    compare(fg.vmap(lambda a: fg.grad(lambda a: fnp.sum(f(a) ** 2))(a)), (stack(2000, 3),), 400)


def test_batch_axes_anywhere():
    x, y = RNG.normal(size=(7, 2000, 3)), RNG.normal(size=(3, 4, 2000))
    # NumPy moves the axes, and the result lies in another order than C's: these are no routines.
    compare(lambda x, y: fnp.einsum("inj,jkn->nik", x, y), (x, y), 10)
    compare(lambda x, y: fnp.einsum("inj,jkn->nik", x, y).sum((0, 1)), (x, y), 100)
    x = np.moveaxis(x, 1, 0).copy()
    product = lambda x, y: fnp.einsum("nij,njk->nik", x, y)
    compare_routines(product, (x, np.moveaxis(y, 2, 0)), 10)


@in_mode("eager")
def test_one_singular_matrix_is_numpys_error(mode, made):
    a = stack(5000, 3)
    g = fg.jit(lambda a: fnp.linalg.solve(a, a[..., :1]))
    g(a)
    assert made[-1].native is not None
    a[4321] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        g(a)


@in_mode("eager")
def test_one_matrix_that_is_not_positive_is_numpys_error(mode, made):
    a = positive(stack(5000, 3))
    g = fg.jit(fnp.linalg.cholesky)
    np.testing.assert_allclose(g(a), np.linalg.cholesky(a), rtol=1e-12)
    assert made[-1].native is not None
    a[4321, 1, 1] = -1
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        g(a)


def test_large_matrices_are_numpys():
    n = int((MATRIX / 8) ** 0.5) + 1
    assert not routines(lambda a: a @ a, (np.ones((100, n, n)),))
    assert not routines(lambda a: a @ a, (np.ones((1300, 1300)),))


@pytest.mark.parametrize("shape", [(0, 3, 3), (100, 0, 0), (1, 3, 3)])
def test_stacks_without_matrices_and_of_one(shape):
    compare(
        lambda a: (a @ a, fnp.linalg.inv(a), fnp.linalg.det(a)),
        (np.ones(shape) + np.eye(shape[-1]),),
        10,
    )


@in_mode("eager")
@pytest.mark.parametrize("name", ["solve", "inv", "det", "cholesky"])
def test_in_single_precision_they_are_as_exact_as_numpys(name, mode, made):
    """Which computes in double precision: what is ill-conditioned is exact to the last digit."""
    left, right = [np.linalg.qr(RNG.normal(size=(300, 4, 4)))[0] for _ in range(2)]
    if name == "cholesky":
        left = right = np.swapaxes(right, 1, 2)
    a = (left * [1, 0.1, 1e-2, 1e-4] @ np.swapaxes(right, 1, 2)).astype(np.float32)
    g = (
        fg.jit(getattr(fnp.linalg, name))
        if name != "solve"
        else fg.jit(lambda a: fnp.linalg.solve(a, a[:, :, :1] + 1))
    )
    found = g(a)
    exact = (
        getattr(np.linalg, name)(a.astype(float))
        if name != "solve"
        else np.linalg.solve(a.astype(float), a[:, :, :1] + 1)
    )
    assert made[-1].native is not None
    assert not made[-1].failures
    axes = tuple(range(1, exact.ndim))
    scale = np.abs(exact).max(axis=axes, keepdims=True)
    assert np.abs((found - exact) / scale).max() <= np.finfo(np.float32).eps


@in_mode("eager")
@pytest.mark.parametrize("order", [np.ascontiguousarray, lambda x: np.repeat(x, 2)[::2]])
def test_an_array_may_be_read_along_several_axes(order, mode, made):
    def forces(x):
        between = x[:, None] - x[None, :]
        return fnp.sum(fnp.sin(between), axis=-1) + fnp.cos(between) @ x

    def steps(x):
        return fg.lax.fori_loop(0, 5, lambda i, c: c + 0.01 * forces(c), x)

    x = order(np.linspace(0, 1, 7))
    for function in (forces, steps, fg.grad(lambda x: fnp.sum(steps(x)))):
        compare_routines(function, (x,), 20)
    assert not any(tier.failures for tier in made)
