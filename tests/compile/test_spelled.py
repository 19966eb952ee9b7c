"""Triangles within kernels, and systems that share the factors of their matrix."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.kernels.spelled import LEAST, Factorize, SolveFactored, spelled_out
from fungrad.compile.native import schedule_with_kernels
from fungrad.core.config import compilation
from tests.compile.compiling import compare, in_mode, needs_compiler

RNG = np.random.default_rng(3)


def expr_of(function, *args):
    return fg.jit(function).lower(*args).simplified


def names(expr):
    return [e.primitive.name for e in expr.equations]


@needs_compiler
@pytest.mark.parametrize("k", [-7, -1, 0, 2, 9])
@pytest.mark.parametrize("function", [fnp.tril, fnp.triu])
@pytest.mark.parametrize("shape", [(6, 6), (3, 8), (8, 3), (2, 5, 7), (0, 4), (4, 1)])
def test_triangles_are_choices(shape, function, k):
    x = RNG.normal(size=shape)
    compare(lambda x: function(fnp.exp(x), k) * 2 + 1, (x,), 4)
    x[..., :1] = np.nan  # which are left out, and not multiplied by 0
    compare(lambda x: function(x, k), (x,), 0)


@needs_compiler
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f4", "f8", "c16", "f2"])
def test_triangles_of_all_dtypes(dtype):
    x = (RNG.normal(size=(9, 7)) * 10).astype(dtype)
    compare(lambda x: (fnp.tril(x), fnp.triu(x, 1) + x), (x,), 0)


@needs_compiler
@pytest.mark.parametrize("order", [np.asfortranarray, lambda x: x[::-1], lambda x: x.T])
def test_triangles_of_memory_in_any_order(order):
    compare(lambda x: fnp.triu(x, -1) * x, (order(RNG.normal(size=(12, 12))),), 0)


def test_a_triangle_and_what_it_is_of_are_one_kernel():
    expr = expr_of(lambda x: fnp.tril(fnp.sin(x)) * 2, np.ones((30, 30)))
    _, kernels = schedule_with_kernels(expr)
    assert len(kernels) == 1
    assert "triangle" not in names(spelled_out(expr))


def system(a, b, c):
    return fnp.linalg.solve(a, b), fnp.linalg.solve(a.T, c), fnp.sum(fnp.sin(a) * a)


def matrix(n, dtype=float):
    return (RNG.normal(size=(n, n)) + 2 * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("columns", [(), (1,), (5,)])
def test_factors_are_found_once(columns, dtype):
    a = matrix(40, dtype)
    b, c = RNG.normal(size=(2, 40, *columns)).astype(dtype)
    found = spelled_out(expr_of(system, a, b, c))
    assert names(found).count("factorize") == 1
    assert names(found).count("solve_factored") == 2
    assert "solve" not in names(found)
    found.check()


@needs_compiler
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("columns", [(), (1,), (5,)])
@pytest.mark.parametrize(
    "order", [np.ascontiguousarray, np.asfortranarray, lambda x: x[::-1, ::-1]]
)
def test_solutions(order, columns, dtype):
    a = order(matrix(40, dtype))
    b, c = RNG.normal(size=(2, 40, *columns)).astype(dtype)
    token = compilation.set("eager")
    try:
        x, y, _ = fg.jit(system)(a, b, c)
    finally:
        compilation.reset(token)
    for found, expected in ((x, np.linalg.solve(a, b)), (y, np.linalg.solve(a.T, c))):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.flags.c_contiguous
        assert found.flags.writeable
        scale = np.linalg.cond(a) * np.abs(expected).max()
        assert np.abs(found - expected).max() <= np.finfo(float).eps * scale * 4 + (
            np.finfo(dtype).eps * np.abs(expected).max() * (dtype == "f4")
        )


@needs_compiler
@in_mode("eager")
def test_gradients(mode, made):
    a, b = matrix(30), RNG.normal(size=30)

    def loss(a):
        return fnp.sum(fnp.linalg.solve(a, b) ** 2) + fnp.sum(fnp.tanh(a))

    expr = expr_of(fg.grad(loss), a)
    assert names(spelled_out(expr)).count("factorize") == 1
    x = np.linalg.solve(a, b)
    expected = -np.outer(np.linalg.solve(a.T, 2 * x), x) + 1 / np.cosh(a) ** 2
    np.testing.assert_allclose(fg.jit(fg.grad(loss))(a), expected, rtol=1e-10, atol=1e-12)
    assert made[-1].native is not None
    assert not made[-1].failures


@needs_compiler
@in_mode("eager")
def test_singular_matrices_are_numpys_errors(mode, made):
    a, b = matrix(20), np.ones(20)
    g = fg.jit(system)
    g(a, b, b)
    a[:, 3] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as error:
        g(a, b, b)
    assert "test_spelled.py" in error.value.__notes__[0]
    a[:, 3] = np.nan
    assert np.isnan(g(a, b, b)[0]).all()


@pytest.mark.parametrize(
    "args",
    [
        (matrix(LEAST - 1), np.ones(LEAST - 1)),
        (np.stack([matrix(20)] * 2), np.ones((2, 20, 1))),
        (matrix(20) * 1j, np.ones(20)),
        (matrix(20), np.ones(20, complex)),
    ],
    ids=["small", "a stack", "complex", "complex right side"],
)
def test_other_systems_are_left_alone(args):
    expr = expr_of(lambda a, b: fnp.linalg.solve(a, b) + fnp.linalg.solve(a, b + 1), *args)
    assert not {"factorize", "solve_factored"} & {*names(spelled_out(expr))}
    expr = expr_of(lambda a, b: fnp.linalg.solve(a, b), matrix(20), np.ones(20))
    assert spelled_out(expr) is expr


def test_their_meaning():
    a, b = matrix(20), RNG.normal(size=(20, 3))
    factors, pivots = Factorize().impl(np, a)
    for turned in (False, True):
        found = SolveFactored(turned, np.dtype(float)).impl(np, factors, pivots, b)
        np.testing.assert_allclose((a.T if turned else a) @ found, b, rtol=1e-9, atol=1e-12)
