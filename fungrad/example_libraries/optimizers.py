"""Optimizers as triples of functions, with the names and numbers of JAX's example library.

An optimizer is ``(init, update, get_params)``: ``init(params)`` makes a state, ``update(i, grads, state)`` the state after
step `i`, ``get_params(state)`` takes the parameters out of it. `fungrad.optim` has more of them, as optax has them.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.example_libraries import optimizers
>>> init, update, get_params = optimizers.adam(0.1)
>>> state = init({"w": np.array([3.0, -4.0])})
>>> @fg.jit
... def step(i, state):
...     grads = fg.grad(lambda p: (p["w"] ** 2).sum())(get_params(state))
...     return update(i, grads, state)
>>> for i in range(100):
...     state = step(i, state)
>>> bool(abs(get_params(state)["w"]).max() < 0.5)
True
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import fungrad.numpy as fnp
from fungrad.example_libraries import step_sizes, triples
from fungrad.example_libraries.step_sizes import *  # noqa: F403
from fungrad.example_libraries.step_sizes import make_schedule, public, public_like
from fungrad.example_libraries.triples import *  # noqa: F403
from fungrad.example_libraries.triples import Rule, optimizer
from fungrad.extend.precision import array

__all__ = step_sizes.__all__ + triples.__all__
__all__ += ["adagrad", "adam", "adamax", "momentum", "nesterov", "rmsprop", "rmsprop_momentum"]
__all__ += ["sgd", "sm3"]
__dir__ = __all__.copy


def first(state: Any) -> Any:
    """Return the array, which a state begins with."""
    return state[0]


def with_zeros(count: int) -> Callable[[Any], Any]:
    """Return the function that begins with an array and so many arrays of zeros."""
    return lambda x: (x, *(fnp.zeros_like(x) for _ in range(count)))


def inverse_root(x: Any) -> Any:
    """Return 1 / sqrt(x), and 0 where x is 0."""
    return fnp.where(x > 0, 1.0 / fnp.sqrt(fnp.where(x > 0, x, 1)), 0).astype(x.dtype)


@public
@optimizer
def sgd(step_size: Any) -> Rule:
    """Descend along gradients.

    Examples
    --------
    >>> init, update, get_params = optimizers.sgd(0.5)
    >>> get_params(update(0, np.ones(2), init(np.zeros(2))))
    array([-0.5, -0.5])
    """
    rate = make_schedule(step_size)
    return (lambda x: x), (lambda i, g, x: x - rate(i) * g), (lambda x: x)


@public
@optimizer
def momentum(step_size: Any, mass: Any) -> Rule:
    """Descend with momentum (B. Polyak, 1964).

    Examples
    --------
    >>> init, update, get_params = optimizers.momentum(0.5, mass=0.9)
    >>> get_params(update(0, np.ones(2), init(np.zeros(2))))
    array([-0.5, -0.5])
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return with_zeros(1), update, first


@public
@optimizer
def nesterov(step_size: Any, mass: Any) -> Rule:
    """Descend with momentum, looking ahead along it (Y. Nesterov, 1983).

    Examples
    --------
    >>> init, update, get_params = optimizers.nesterov(0.5, mass=0.5)
    >>> get_params(update(0, np.ones(2), init(np.zeros(2))))
    array([-0.75, -0.75])
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return with_zeros(1), update, first


@public
@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Rule:
    """Adagrad (J. Duchi et al., 2011), with momentum.

    Examples
    --------
    >>> init, update, get_params = optimizers.adagrad(0.5, momentum=0.0)
    >>> get_params(update(0, np.ones(2), init(np.zeros(2))))
    array([-0.5, -0.5])
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, m = state
        squares = squares + fnp.square(g)
        m = (1.0 - momentum) * (g * inverse_root(squares)) + momentum * m
        return x - rate(i) * m, squares, m

    return with_zeros(2), update, first


@public
@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-08) -> Rule:
    """RMSProp (T. Tieleman and G. Hinton, 2012).

    Examples
    --------
    >>> init, update, get_params = optimizers.rmsprop(0.5, gamma=0.0)
    >>> get_params(update(0, np.ones(2), init(np.zeros(2)))).round(6)
    array([-0.5, -0.5])
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares = state
        squares = squares * gamma + fnp.square(g) * (1.0 - gamma)
        return x - rate(i) * g / fnp.sqrt(squares + eps), squares

    return with_zeros(1), update, first


@public
@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: Any = 0.9, eps: Any = 1e-08, momentum: Any = 0.9
) -> Rule:
    """RMSProp with momentum.

    Parameters
    ----------
    momentum
        How much of the last step is repeated.

    Examples
    --------
    >>> init, update, get_params = optimizers.rmsprop_momentum(0.5, gamma=0.0)
    >>> get_params(update(0, np.ones(2), init(np.zeros(2)))).round(6)
    array([-0.5, -0.5])
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, step = state
        squares = squares * gamma + fnp.square(g) * (1.0 - gamma)
        step = momentum * step + rate(i) * g / fnp.sqrt(squares + eps)
        return x - step, squares, step

    return with_zeros(2), update, first


@public
@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-08) -> Rule:
    """Adam (D. Kingma and J. Ba, 2014).

    Examples
    --------
    >>> init, update, get_params = optimizers.adam(0.5)
    >>> get_params(update(0, np.ones(2), init(np.zeros(2)))).round(6)
    array([-0.5, -0.5])
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * fnp.square(g) + b2 * v
        mean = m / (1 - m.dtype.type(b1) ** (i + 1))
        square = v / (1 - m.dtype.type(b2) ** (i + 1))
        return x - rate(i) * mean / (fnp.sqrt(square) + eps), m, v

    return with_zeros(2), update, first


@public_like(adam)
@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-08) -> Rule:
    """Adamax (D. Kingma and J. Ba, 2014).

    Parameters
    ----------
    b2
        How much of the largest gradient so far is kept in each step.

    Examples
    --------
    >>> init, update, get_params = optimizers.adamax(0.5)
    >>> get_params(update(0, np.ones(2), init(np.zeros(2)))).round(6)
    array([-0.5, -0.5])
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = fnp.maximum(b2 * u, fnp.abs(g))
        weight = 1 - m.dtype.type(b1) ** (i + 1)
        return x - rate(i) / weight * m / (u + eps), m, u

    return with_zeros(2), update, first


@public
@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Rule:
    """SM3, which keeps largest sums of squares along axes alone (R. Anil et al., 2019).

    Examples
    --------
    >>> init, update, get_params = optimizers.sm3(0.5, momentum=0.0)
    >>> get_params(update(0, np.ones((2, 3)), init(np.zeros((2, 3)))))
    array([[-0.5, -0.5, -0.5],
           [-0.5, -0.5, -0.5]])
    """
    rate = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, fnp.zeros_like(x), [fnp.zeros_like(x, shape=n) for n in x.shape or (1,)]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, largest = state
        g = array(g)
        axes = range(max(g.ndim, 1))
        wide = [fnp.reshape(v, [-1 if j == a else 1 for j in axes]) for a, v in enumerate(largest)]
        total = functools.reduce(fnp.minimum, wide) + fnp.square(g)
        m = (1.0 - momentum) * (g * inverse_root(total).reshape(g.shape)) + momentum * m
        largest = [fnp.max(total, axis=tuple(j for j in axes if j != a)) for a in axes]
        return x - rate(i) * m, m, largest

    return init, update, first
