"""Sparse Jacobians and Hessians of small problems: exact patterns, and the values of the dense ones."""

import numpy as np
import pytest

import fungrad as fg
from fungrad.test_util import assert_allclose
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
