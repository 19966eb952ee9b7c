"""autoptim: SciPy's optimizers with gradients by autograd, of lists of arrays."""

import autograd.numpy as np
from autoptim import minimize

_DRAWS = np.random.RandomState(0)
_X, _Y = _DRAWS.randn(20, 3), _DRAWS.randn(20)


def _found(objective, start, *args, **kwargs):
    x, result = minimize(objective, start, *args, **kwargs)
    return x, result.fun


def rosenbrock():
    return _found(
        lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
        np.array([-1.2, 1.0, 0.5]),
    )


def ridge_of_two_arrays():
    f = lambda w, b: np.sum((np.dot(_X, w) + b - _Y) ** 2) + 0.1 * np.sum(w**2)
    return _found(f, [np.zeros(3), np.zeros(1)])


def arguments_besides():
    f = lambda w, X, y, lam: np.mean((X @ w - y) ** 2) + lam * np.sum(w**2)
    return _found(f, np.zeros(3), args=(_X, _Y, 0.1))


def bounds():
    return _found(lambda x: np.sum((x - 3) ** 2), np.zeros((2, 2)), bounds=(0, 2))


def conjugate_gradients():
    return _found(
        lambda X: np.sum((X @ X.T - np.eye(2)) ** 2),
        np.ones((2, 3)) / 3 + np.eye(2, 3),
        method="CG",
    )
