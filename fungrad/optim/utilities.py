"""Tools beside optimizers: scaled gradients, the largest eigenvalue, non-negative least squares."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import random
from fungrad import tree as trees
from fungrad.extend.precision import array
from fungrad.lax import scan, while_loop
from fungrad.optim import tree
from fungrad.optim.base import Number, T
from fungrad.optim.glossary import public
from fungrad.typing import Array, ArrayLike, PyTree


@public
def scale_gradient(inputs: T, scale: Number) -> T:
    """Return the inputs; their derivative is multiplied with a number.

    Parameters
    ----------
    inputs
        A pytree of arrays.
    scale
        The number; its own derivative is 0.

    Examples
    --------
    >>> print(fg.grad(lambda x: optim.scale_gradient(x, 0.5) ** 2)(3.0))
    3.0
    """
    from fungrad import custom_vjp  # which takes a while to import

    @custom_vjp
    def scaled(inputs: Any, scale: Any) -> Any:
        return inputs

    scaled.defvjp(
        lambda inputs, scale: (inputs, scale),
        lambda scale, ct: (trees.map(lambda g: g * scale, ct), fnp.zeros_like(scale)),
    )
    return scaled(inputs, scale)


@public
def power_iteration(
    matrix: ArrayLike | Callable[[PyTree], PyTree],
    *,
    v0: PyTree = None,
    num_iters: int = 100,
    error_tolerance: Number = 1e-06,
    key: Array | None = None,
) -> tuple[Array, PyTree]:
    """Return the eigenvalue of largest absolute value, and its eigenvector (R. von Mises, 1929).

    Parameters
    ----------
    matrix
        A square array, or a function that multiplies a pytree with it.
    v0
        The vector to begin with; by default random numbers.
    num_iters
        The largest number of products.
    error_tolerance
        The relative error of the eigenvalue equation at which it stops.
    key
        A key of `fungrad.random` for `v0`; by default ``random.PRNGKey(0)``.

    Raises
    ------
    ValueError
        If `matrix` is a function and there is no `v0`.

    Examples
    --------
    >>> value, vector = optim.power_iteration(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> round(float(value), 6), abs(vector).round(3)
    (3.0, array([0.707, 0.707]))
    """
    product: Any = matrix
    if not callable(matrix):
        product = functools.partial(fnp.matmul, matrix)
        if v0 is None:
            a = array(matrix)
            key = random.PRNGKey(0) if key is None else key
            v0 = random.uniform(key, a.shape[-1:], a.dtype, -1.0, 1.0)
    elif v0 is None:
        raise ValueError("power_iteration: a matrix that is a function needs v0")

    def of_length_one(v: Any) -> Any:
        return tree.scale(1.0 / tree.norm(v), v)

    def goes_on(carry: Any) -> Any:
        v, z, value, count = carry
        error = tree.norm(tree.sub(z, tree.scale(value, v)))
        return (error >= error_tolerance * fnp.abs(value)) & (count < num_iters)

    def step(carry: Any) -> Any:
        _, z, value, count = carry
        v = of_length_one(z)
        z = product(v)
        return v, z, array(tree.vdot(v, z)).astype(value.dtype), count + 1

    v = of_length_one(v0)
    z = product(v)
    value = fnp.zeros_like(array(tree.vdot(v, z)))
    _, z, value, _ = while_loop(goes_on, step, (v, z, value, np.int64(0)))
    return value, of_length_one(z)


@public
def nnls(
    A: ArrayLike, b: ArrayLike, iters: int, unroll: int | bool = 1, L: Number | None = None
) -> Array:
    """Return the non-negative least squares solution of ``A @ x = b`` (FISTA).

    A. Beck and M. Teboulle, 2009.

    Parameters
    ----------
    A
        An array of shape (m, n).
    b
        An array of shape (m,), or of (m, k) for several right-hand sides.
    iters
        The number of steps.
    unroll
        Accepted for optax's sake: it changes nothing.
    L
        A bound of the largest eigenvalue of ``A.T @ A``; by default one is computed.

    Returns
    -------
    array
        Of shape (n,) or (n, k).

    Raises
    ------
    ValueError
        If shapes are others.

    Examples
    --------
    >>> optim.nnls(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([-1.0, 4.0]), 200).round(4)
    array([0., 2.])
    """
    a, y = array(A), array(b)
    if a.ndim != 2 or y.ndim not in (1, 2) or a.shape[0] != y.shape[0]:
        raise ValueError(
            f"nnls: A must have shape (m, n) and b (m,) or (m, k), got {a.shape} and {y.shape}"
        )
    square, right = a.T @ a, a.T @ y
    if L is None:
        columns = fnp.max(fnp.sum(fnp.abs(square), axis=0), initial=0)
        L = fnp.minimum(fnp.sqrt(fnp.sum(square * square)), columns)
    L = fnp.where(fnp.equal(L, 0), 1, L)

    def step(carry: Any, _: Any) -> Any:
        x, ahead, weight = carry
        after = (1 + fnp.sqrt(1 + 4 * weight**2)) / 2
        new = fnp.maximum(ahead - (square @ ahead - right) / L, 0)
        return (new, new + (weight - 1) / after * (new - x), after), None

    zeros = fnp.zeros((a.shape[1], *y.shape[1:]), right.dtype)
    start = (zeros, zeros, fnp.zeros((), right.dtype))
    return scan(step, start, length=iters, unroll=unroll)[0][0]
