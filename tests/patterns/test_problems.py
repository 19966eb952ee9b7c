"""Sparse Jacobians and Hessians of small problems: exact patterns, and the values of the dense ones."""

import numpy as np
import pytest

import fungrad as fg
from fungrad.core import tree
from fungrad.test_util import assert_allclose
from tests.patterns.optimization import OBJECTIVES, RESIDUALS
from tests.patterns.problems import HESSIANS, JACOBIANS

PROBLEMS = {**JACOBIANS, **{f"hessian of {name}": p for name, p in HESSIANS.items()}}
of_problems = pytest.mark.parametrize("name", PROBLEMS)


def dense(problem):
    full = (fg.jacfwd if problem.order == 1 else fg.hessian)(problem.f)(problem.x)
    return full.reshape(-1, problem.x.size)


def sparse(problem, **options):
    return (fg.sparse_jacobian if problem.order == 1 else fg.sparse_hessian)(problem.f, **options)


@of_problems
def test_pattern_is_exact(name):
    problem = PROBLEMS[name]
    found = fg.sparsity(problem.f, order=problem.order)(problem.x)
    np.testing.assert_array_equal(found.toarray(), np.asarray(problem.pattern) != 0)


@of_problems
def test_values_are_those_of_the_dense_matrix(name):
    problem = PROBLEMS[name]
    found = sparse(problem)(problem.x)
    assert_allclose(found.toarray(), dense(problem))


@of_problems
def test_jitted(name):
    problem = PROBLEMS[name]
    found = fg.jit(sparse(problem, format="csc"))(problem.x)
    assert found.format == "csc"
    assert_allclose(found.toarray(), dense(problem))


@pytest.mark.parametrize("mode", ["columns", "rows", "both"])
@pytest.mark.parametrize("name", JACOBIANS)
def test_modes(name, mode):
    problem = JACOBIANS[name]
    found = sparse(problem, mode=mode, format="coo")(problem.x)
    assert_allclose(found.toarray(), dense(problem))


def matrix_of(f, order, x):
    full = (fg.jacfwd if order == 1 else fg.hessian)(f)(x)
    return np.concatenate([np.reshape(part, (-1, x.size)) for part in tree.leaves(full)])


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("f", [*OBJECTIVES, *RESIDUALS], ids=lambda f: f.__name__)
def test_patterns_of_optimization_are_exact(f, transform):
    order = 2 if f in OBJECTIVES else 1
    points = np.random.default_rng(0).uniform(0.3, 1.2, (3, 12))
    expected = [matrix_of(f, order, x) for x in points]
    compute = transform((fg.sparse_jacobian if order == 1 else fg.sparse_hessian)(f))
    found = [compute(x) for x in points]
    scale = np.max(np.abs(expected))
    for a, b in zip(found, expected, strict=True):
        assert_allclose(a.toarray(), b, rtol=1e-9, atol=1e-12 * scale)
    # Indices that a jitted loop computes by branches are unknown.
    if not (f.__name__ == "bratu_in_a_loop" and transform is fg.jit):
        assert found[0].nnz == np.count_nonzero(np.any(np.abs(expected) > 1e-13, axis=0))
