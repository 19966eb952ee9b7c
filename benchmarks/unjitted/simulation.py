"""Simulations that are differentiated as a whole, and functions written out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as onp
from scipy.optimize import minimize

from benchmarks.unjitted.library import Library


def fluid(lib: Library, varied: Random | None) -> Iterator[Any]:
    """Smoke blown into a shape by the choice of its first wind; varied: other numbers of sweeps."""
    np, value_and_grad = lib.np, lib.value_and_grad
    rs = onp.random.RandomState(0)
    n = 20
    rows, columns = onp.meshgrid(onp.arange(n), onp.arange(n), indexing="ij")
    smoke = onp.exp(-((rows - 10) ** 2 + (columns - 6) ** 2) / 12.0)
    target = onp.exp(-((rows - 10) ** 2 + (columns - 13) ** 2) / 12.0)

    def without_divergence(u: Any, v: Any, sweeps: int) -> tuple[Any, Any]:
        h = 1.0 / n
        divergence = np.roll(u, -1, axis=0) - np.roll(u, 1, axis=0)
        divergence = -0.5 * h * (divergence + np.roll(v, -1, axis=1) - np.roll(v, 1, axis=1))
        p = np.zeros((n, n))
        for _ in range(sweeps):
            around = np.roll(p, 1, axis=0) + np.roll(p, -1, axis=0)
            p = (divergence + around + np.roll(p, 1, axis=1) + np.roll(p, -1, axis=1)) / 4.0
        u = u - 0.5 / h * (np.roll(p, -1, axis=0) - np.roll(p, 1, axis=0))
        v = v - 0.5 / h * (np.roll(p, -1, axis=1) - np.roll(p, 1, axis=1))
        return u, v

    def advected(field: Any, u: Any, v: Any) -> Any:
        x, y = rows - u, columns - v
        left, top = np.floor(x).astype(int), np.floor(y).astype(int)
        across, down = x - left, y - top
        left, right = np.mod(left, n), np.mod(left + 1, n)
        top, bottom = np.mod(top, n), np.mod(top + 1, n)
        above = (1 - across) * field[left, top] + across * field[right, top]
        below = (1 - across) * field[left, bottom] + across * field[right, bottom]
        return (1 - down) * above + down * below

    def distance(params: Any, sweeps: list[int]) -> Any:
        u, v = params
        field = smoke
        for times in sweeps:
            moved = advected(u, u, v), advected(v, u, v)
            u, v = without_divergence(*moved, times)
            field = advected(field, u, v)
        return np.mean((field - target) ** 2)

    step = value_and_grad(distance)
    params = (0.1 * rs.randn(n, n), 0.1 * rs.randn(n, n))
    while True:
        sweeps = [varied.randrange(2, 6) if varied else 4 for _ in range(8 if varied else 4)]
        value, (du, dv) = step(params, sweeps)
        params = (params[0] - 10.0 * du, params[1] - 10.0 * dv)
        yield value, params


def rosenbrock(lib: Library, varied: Random | None) -> Iterator[Any]:
    """Rosenbrock's function, number by number, by BFGS; varied: one step, of other terms."""
    np, value_and_grad = lib.np, lib.value_and_grad
    rs = onp.random.RandomState(1)

    def function(x: Any, terms: list[int]) -> Any:
        total = 0.0
        for i in terms:
            total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
        return np.sqrt(1.0 + total)

    step = value_and_grad(function)
    while True:
        if varied:
            yield step(rs.rand(25), [i for i in range(24) if varied.random() < 0.5])
        else:
            start, terms = rs.rand(10), list(range(9))
            found = minimize(step, start, (terms,), "BFGS", jac=True, options={"maxiter": 5})
            yield found.fun, found.x


def tanh_by_hand(lib: Library, varied: Random | None) -> Iterator[Any]:
    """Derivatives to the third order of a function written out; varied: other compositions."""
    np, grad = lib.np, lib.grad
    rs = onp.random.RandomState(2)

    def tanh(x: Any) -> Any:
        return (1.0 - np.exp(-2 * x)) / (1.0 + np.exp(-2 * x))

    def sigmoid(x: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-x))

    def logcosh(x: Any) -> Any:
        return np.log(np.exp(x) + np.exp(-x))

    def total(x: Any, functions: list[Any]) -> Any:
        for function in functions:
            x = function(x)
        return np.sum(x)

    def derivative(function: Any) -> Any:
        return lambda x, *args: np.sum(grad(function)(x, *args))

    third = grad(derivative(derivative(total)))
    while True:
        functions = (
            [varied.choice([tanh, sigmoid, logcosh]) for _ in range(6)] if varied else [tanh]
        )
        yield third(rs.uniform(-2.0, 2.0, 100), functions)
