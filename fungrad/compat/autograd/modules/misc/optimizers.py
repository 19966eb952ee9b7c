"""``autograd.misc.optimizers``: ``grad(x, i)`` is the gradient for step `i`; `x` may be nested."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.modules.misc.flatten import flatten
from fungrad.compat.standing_in import attributes

__all__ = ["adam", "rmsprop", "sgd", "unflatten_optimizer"]
__getattr__ = attributes("autograd.misc.optimizers", ABSENT)


def unflatten_optimizer(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """Return an optimizer of vectors as one of nested containers."""

    @functools.wraps(optimize)
    def of_containers(grad: Any, x0: Any, callback: Any = None, *args: Any, **kwargs: Any) -> Any:
        vector, unflatten = flatten(x0)
        gradient = lambda x, i: flatten(grad(unflatten(x), i))[0]
        report = callback and (lambda x, i, g: callback(unflatten(x), i, unflatten(g)))
        return unflatten(optimize(gradient, vector, report, *args, **kwargs))

    return of_containers


def _steps(grad: Any, x: Any, callback: Any, num_iters: int, step: Callable[..., Any]) -> Any:
    """Take steps: ``step(g, i, *state)`` returns the change of `x`, and the state."""
    state: tuple[Any, ...] = ()
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        change, *state_ = step(g, i, *state)
        x, state = x + change, tuple(state_)
    return x


@unflatten_optimizer
def sgd(
    grad: Any,
    x: Any,
    callback: Any = None,
    num_iters: int = 200,
    step_size: Any = 0.1,
    mass: Any = 0.9,
) -> Any:
    """Return where gradient descent with momentum ends."""

    def step(g: Any, i: int, velocity: Any = 0.0) -> tuple[Any, ...]:
        velocity = mass * velocity - (1.0 - mass) * g
        return step_size * velocity, velocity

    return _steps(grad, x, callback, num_iters, step)


@unflatten_optimizer
def rmsprop(
    grad: Any,
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: Any = 0.1,
    gamma: Any = 0.9,
    eps: Any = 10**-8,
) -> Any:
    """Return where RMSprop ends: gradients divided by the root of a running mean of their squares."""

    def step(g: Any, i: int, mean: Any = None) -> tuple[Any, ...]:
        mean = (np.ones(len(x)) if mean is None else mean) * gamma + g**2 * (1 - gamma)
        return -step_size * g / (fnp.sqrt(mean) + eps), mean

    return _steps(grad, x, callback, num_iters, step)


@unflatten_optimizer
def adam(
    grad: Any,
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: Any = 0.001,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 10**-8,
) -> Any:
    """Return where Adam ends (Kingma and Ba, arXiv:1412.6980)."""

    def step(g: Any, i: int, m: Any = 0.0, v: Any = 0.0) -> tuple[Any, ...]:
        m, v = (1 - b1) * g + b1 * m, (1 - b2) * (g**2) + b2 * v
        root = fnp.sqrt(v / (1 - b2 ** (i + 1)))
        return -step_size * (m / (1 - b1 ** (i + 1))) / (root + eps), m, v

    return _steps(grad, x, callback, num_iters, step)
