"""Jitted programs, each written once for every library, for the comparison of `jit` with JAX's.

A `Row` is a function `f(np, lax, *args)`, what makes its arguments, and the transformation that is
jitted. The modules list their rows in `ROWS`; all arrays are of single precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

Transform = Callable[[Any], Callable[[Callable[..., Any]], Callable[..., Any]]]
"""Given a library (fungrad, JAX, autograd), what is made of a function with it."""


def value(library: Any) -> Callable[..., Any]:
    return lambda f: f


def gradient(library: Any) -> Callable[..., Any]:
    return partial(library.grad)


def value_and_gradient(library: Any) -> Callable[..., Any]:
    return partial(library.value_and_grad)


def descent(library: Any) -> Callable[..., Any]:
    """Of a loss: the step that follows its gradient. The parameters are a list of arrays."""

    def step_of(loss: Callable[..., Any]) -> Callable[..., Any]:
        def step(params: list[Any], *data: Any) -> Any:
            gradients = library.grad(loss)(params, *data)
            return [p - 0.1 * g for p, g in zip(params, gradients, strict=True)]

        return step

    return step_of


def per_example_gradient(library: Any) -> Callable[..., Any]:
    """Of a loss of the parameters and one example: its gradients for all examples of a batch."""
    return lambda loss: library.vmap(library.grad(loss), (None, 0, 0))


@dataclass(frozen=True)
class Row:
    """One program to compare.

    Attributes
    ----------
    name : str
        What it is called, after `native_`.
    measures : str
        One line for the head of the table.
    f : callable
        The program `f(np, lax, *args)`, in the names that all libraries share.
    args : callable
        Makes the arguments, a tuple: pytrees of NumPy's arrays, the same at each call.
    transform : callable
        What is jitted: of `value`, NumPy runs the program too; of the others, autograd.
    by_hand : callable, optional
        The same of the arguments in plain NumPy, where that is not the program itself.
    numpy : bool
        Whether plain NumPy, with `plain.Lax`, can run the program.
    autograd : bool
        Whether autograd can, and answers in single precision.
    blas_threads : int, optional
        How many threads NumPy's products may use; small ones gain nothing from several.
    rtol : float
        How closely the answers agree.
    """

    name: str
    measures: str
    f: Callable[..., Any]
    args: Callable[[], Any]
    transform: Transform = value
    by_hand: Callable[..., Any] | None = None
    numpy: bool = True
    autograd: bool = True
    blas_threads: int | None = 1
    rtol: float = 1e-4


def normal(*shape: int, scale: float = 1.0, seed: int = 0) -> Any:
    """Return normally distributed numbers of single precision."""
    numbers = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return numbers * np.float32(scale)


def uniform(low: float, high: float, *shape: int, seed: int = 0) -> Any:
    """Return uniformly distributed numbers of single precision."""
    numbers = np.random.default_rng(seed).random(shape, dtype=np.float32)
    return numbers * np.float32(high - low) + np.float32(low)


def integers(high: int, *shape: int, seed: int = 0) -> Any:
    """Return uniformly distributed numbers below `high`."""
    return np.random.default_rng(seed).integers(high, size=shape)


def layers(*sizes: int, seed: int = 0) -> list[Any]:
    """Return the weights and offsets of dense layers, in one list."""
    params = []
    for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        params += [normal(fan_in, fan_out, scale=fan_in**-0.5, seed=seed + i)]
        params += [np.zeros(fan_out, np.float32)]
    return params
