"""autograd-gamma: incomplete gamma and beta functions, whose rules are differences of other calls."""

import autograd.numpy as np
import autograd_gamma
from autograd import elementwise_grad, grad, hessian

_A, _X = np.array([0.7, 1.5, 3.0, 8.0]), np.array([0.3, 1.0, 2.5, 9.0])


def _derivatives(name, *args):
    f = getattr(autograd_gamma, name)
    return [f(*args), *[elementwise_grad(f, i)(*args) for i in range(len(args))]]


def incomplete_gamma_functions():
    return [
        _derivatives(name, _A, _X)
        for name in ("gammainc", "gammaincc", "gammaincln", "gammainccln")
    ]


def incomplete_beta_functions():
    return [_derivatives(name, _A, _A[::-1].copy(), _X / 10) for name in ("betainc", "betaincln")]


def inverses():
    return [
        *[_derivatives(name, _A, _X / 10) for name in ("gammaincinv", "gammainccinv")],
        _derivatives("betaincinv", _A, _A[::-1].copy(), _X / 10),
    ]


def second_derivatives_of_a_likelihood():
    f = lambda p: np.sum(np.log(autograd_gamma.gammaincc(p[0], p[1] * _X)))
    return grad(f)(np.array([1.3, 0.7])), hessian(f)(np.array([1.3, 0.7]))
