"""Products of vectors with Gauss-Newton and Fisher matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.errors import api_boundary
from fungrad.core.transformed import transformed
from fungrad.transforms.arguments import check_callable, name_of
from fungrad.transforms.autodiff import linear_transpose, linearize
from fungrad.transforms.jacobian import _partial, hvp

__all__ = ["fvp", "gnvp"]


@api_boundary
def gnvp(
    fun: Callable[..., Any],
    loss: Callable[[Any], Any] | None = None,
    argnums: int | Sequence[int] = 0,
) -> Callable[..., Any]:
    """Return the function that multiplies the Gauss-Newton matrix of ``loss(fun(x))`` with a vector.

    The matrix is ``J.T @ H @ J`` with the Jacobian J of `fun` and the Hessian H of `loss` at ``fun(x)``. It is what is left of the Hessian
    without the second derivatives of `fun`, and positive semidefinite where `loss` is convex.

    Parameters
    ----------
    fun
        The model: a function that returns floats.
    loss
        A function of what `fun` returns alone, that returns a real scalar; by default half the sum of squares, so that H is the
        identity and the matrix that of linear least squares.
    argnums
        Which positional arguments of `fun` to differentiate with respect to.

    Returns
    -------
    Callable
        ``product(*args, vector)``: takes what `fun` takes and, last, a vector of the structure and shapes of the argument; returns the
        product, of the same structure. It costs a jvp and a vjp of `fun` and a Hessian-vector product of `loss`.

    Raises
    ------
    TypeError
        If `fun` or `loss` is no function, or the vector is missing.

    Notes
    -----
    The generalized Gauss-Newton matrix of Schraudolph, Neural Computation 14 (2002), 1723-1738.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> model = lambda x: x ** 2
    >>> fg.gnvp(model)(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  4., 160.])
    >>> fg.gnvp(model, lambda z: (z ** 3).sum())(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  24., 3840.])
    """
    check_callable(fun, "gnvp")
    if loss is not None:
        check_callable(loss, "gnvp: loss")
    label = f"gnvp({name_of(fun)})"

    @transformed(gnvp, fun, loss, argnums)
    def product(*args_and_vector: Any, **kwargs: Any) -> Any:
        if len(args_and_vector) < 2:
            raise TypeError(f"{label} is called with the arguments of the function and a vector")
        *args, vector = args_and_vector
        of_chosen, chosen = _partial(fun, argnums, tuple(args), kwargs, label)
        value, push = linearize(of_chosen, chosen)
        pushed = push(vector)
        curved = pushed if loss is None else hvp(loss)(value, pushed)
        return linear_transpose(push, chosen)(curved)[0]

    return product


def _of_normal(z: Any) -> Any:
    return fnp.sum(z * z) / 2


def _of_bernoulli(z: Any) -> Any:
    return fnp.sum(fnp.logaddexp(z, 0.0))


def _of_categorical(z: Any) -> Any:
    largest = fnp.max(z, axis=-1, keepdims=True)
    return fnp.sum(fnp.log(fnp.sum(fnp.exp(z - largest), axis=-1))) + fnp.sum(largest)


def _of_poisson(z: Any) -> Any:
    return fnp.sum(fnp.exp(z))


_LOG_PARTITIONS: dict[str, Callable[[Any], Any]] = {
    "normal": _of_normal,
    "bernoulli": _of_bernoulli,
    "categorical": _of_categorical,
    "poisson": _of_poisson,
}
"""Log-partition functions of families: the Hessian by natural parameters is the Fisher matrix."""


@api_boundary
def fvp(
    fun: Callable[..., Any], distribution: str = "normal", argnums: int | Sequence[int] = 0
) -> Callable[..., Any]:
    """Return the function that multiplies the Fisher matrix of a model with a vector.

    `fun` gives the natural parameters z of what is observed, and the matrix is ``J.T @ F @ J``, F being the Fisher matrix by z: the
    Gauss-Newton matrix of the negative log-likelihood, whatever was observed.

    Parameters
    ----------
    fun
        The model: a function that returns an array of floats, or a pytree of them.
    distribution
        What `fun` returns: means of normal distributions of variance 1 ("normal"), logits ("bernoulli"), logits along the last axis
        ("categorical") or logarithms of rates ("poisson"). All are independent.
    argnums
        As of `gnvp`.

    Returns
    -------
    Callable
        ``product(*args, vector)``, as of `gnvp`.

    Raises
    ------
    ValueError
        If there is no such distribution.

    Notes
    -----
    For exponential families the Fisher matrix is the generalized Gauss-Newton matrix: Martens, Journal of Machine Learning Research 21
    (2020), no. 146, section 9.2.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> fg.fvp(lambda x: x, "poisson")(np.log([1.0, 5.0]), np.array([1.0, 1.0])).round(12)
    array([1., 5.])
    """
    check_callable(fun, "fvp")
    partition = _LOG_PARTITIONS.get(distribution)
    if partition is None:
        raise ValueError(
            f"fvp({name_of(fun)}): distribution is one of {list(_LOG_PARTITIONS)}, got {distribution!r}. For another pass "
            "gnvp the negative log-likelihood as its loss."
        )

    def loss(z: Any) -> Any:
        return sum(partition(x) for x in tree.leaves(z))

    product = gnvp(fun, loss, argnums)

    @transformed(fvp, fun, distribution, argnums)
    def fisher_product(*args_and_vector: Any, **kwargs: Any) -> Any:
        return product(*args_and_vector, **kwargs)

    return fisher_product
