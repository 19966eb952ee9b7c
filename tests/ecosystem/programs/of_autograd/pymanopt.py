"""Pymanopt: optimization on manifolds; gradients and products with Hessians, real and complex."""

import autograd.numpy as np
import pymanopt
from pymanopt import manifolds, optimizers

_DRAWS = np.random.RandomState(0)
_A = _DRAWS.randn(6, 6)
_A = _A + _A.T
_C = _DRAWS.randn(4, 4) + 1j * _DRAWS.randn(4, 4)
_C = _C + np.conj(_C.T)
_B, _S = _DRAWS.randn(5, 4), _DRAWS.randn(4, 4)
_S = _S @ _S.T + np.eye(4)


def _solved(manifold, cost, optimizer=None, second=True):
    np.random.seed(0)
    problem = pymanopt.Problem(manifold, pymanopt.function.autograd(manifold)(cost))
    x = manifold.random_point()
    v = manifold.random_tangent_vector(x)
    result = (optimizer or optimizers.TrustRegions(verbosity=0)).run(problem, initial_point=x)
    product = problem.euclidean_hessian(x, v) if second else 0.0
    return problem.euclidean_gradient(x), product, result.cost


def dominant_eigenvector_on_a_sphere():
    return _solved(manifolds.Sphere(6), lambda x: -x @ _A @ x)


def trace_on_a_stiefel_manifold():
    return _solved(manifolds.Stiefel(6, 2), lambda X: -np.trace(X.T @ _A @ X))


def subspaces_by_conjugate_gradients():
    optimizer = optimizers.ConjugateGradient(verbosity=0, max_iterations=300)
    return _solved(manifolds.Grassmann(6, 2), lambda X: -np.sum((X.T @ _A @ X) ** 2), optimizer)


def low_rank_approximation():
    optimizer = optimizers.ConjugateGradient(verbosity=0, max_iterations=200)
    cost = lambda u, s, vt: np.linalg.norm((u * s) @ vt - _B) ** 2
    return _solved(manifolds.FixedRankEmbedded(5, 4, 2), cost, optimizer, second=False)


def positive_definite_matrices():
    cost = lambda X: np.trace(np.linalg.inv(X) @ _S) + np.linalg.slogdet(X)[1]
    return _solved(manifolds.SymmetricPositiveDefinite(4), cost)


def a_product_of_manifolds():
    optimizer = optimizers.SteepestDescent(verbosity=0, max_iterations=200)
    manifold = manifolds.Product([manifolds.Sphere(3), manifolds.Euclidean(3)])
    cost = lambda x, y: np.sum((x - y) ** 2) + np.sum((y - np.array([1.0, 2.0, 3.0])) ** 2)
    return _solved(manifold, cost, optimizer)


def complex_circles():
    return _solved(manifolds.ComplexCircle(4), lambda z: -np.real(np.conj(z) @ _C @ z))


def complex_subspaces():
    cost = lambda X: -np.real(np.trace(np.conj(X.T) @ _C @ X))
    return _solved(manifolds.ComplexGrassmann(4, 2), cost)
