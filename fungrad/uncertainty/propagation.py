"""Propagation of uncertainty through functions: to first and second order, and by sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.backend import namespace, on_host
from fungrad.core.errors import api_boundary
from fungrad.core.tracer import Tracer
from fungrad.core.transformed import transformed
from fungrad.transforms.arguments import check_callable, name_of
from fungrad.transforms.chunks import ChunkSize, check_chunk_size
from fungrad.transforms.jacobian import _partial, jacfwd, jacrev
from fungrad.transforms.vmap import vmap
from fungrad.uncertainty.covariances import Elements, factor

__all__ = ["Propagated", "propagate"]

METHODS = ("linear", "quadratic", "sampling")


class Propagated(NamedTuple):
    """The mean and the covariance of the results of a function.

    Attributes
    ----------
    value
        The mean, of the structure of the result.
    covariance
        A matrix of shape (m, m), for the m elements of the result in C order, leaf after leaf.

    Examples
    --------
    >>> import fungrad as fg
    >>> found = fg.propagate(lambda x: 2 * x)(1.0, 0.25)
    >>> print(found.value, found.covariance, found.std)
    2.0 [[1.]] 1.0
    """

    value: Any
    covariance: Any

    @property
    def std(self) -> Any:
        """Standard deviations, of the structure of the value."""
        elements = Elements(self.value, "std", "values")
        return elements.tree(fnp.sqrt(fnp.diagonal(self.covariance)))


@api_boundary
def propagate(
    fun: Callable[..., Any],
    method: str = "linear",
    argnums: int | tuple[int, ...] = 0,
    samples: int = 10_000,
    seed: int = 0,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]:
    """Return the function that propagates the covariance of arguments to the results of `fun`.

    Parameters
    ----------
    fun
        A function of real arrays and pytrees of them that returns such.
    method
        "linear": the value at the mean, and ``J @ C @ J.T`` with the Jacobian J.
        "quadratic": the same of the Taylor polynomial of second order, for normally distributed arguments: the mean has half the trace
        of ``H @ C`` more, and the covariance of two results half the trace of ``H1 @ C @ H2 @ C``.
        "sampling": mean and covariance of the results for normally distributed arguments that are drawn.
    argnums
        Which positional arguments are uncertain: one, or a tuple.
    samples, seed
        How many arguments are drawn, and the seed of `numpy.random.default_rng`. Equal seeds draw equal numbers, so the results are smooth
        functions of the mean and the covariance.
    chunk_size
        How many directions, or samples, are computed at once, as of `vmap`.

    Returns
    -------
    Callable
        ``propagated(*args, covariance)``. The last argument is the covariance of the uncertain arguments: a matrix of shape (n, n), for their
        n elements in C order, leaf after leaf. If these are independent, it may be their variances, of the structure and shapes
        of the argument. Returns a pair `value`, `covariance`, whose `std` are standard deviations.

    Raises
    ------
    ValueError
        If the covariance has another shape, is not symmetric or has a negative variance, as far as values are known; if there is no
        such method.
    TypeError
        If an uncertain argument, or a result, is no real float.

    Notes
    -----
    All is differentiable, by the mean, the covariance and what `fun` holds, and works under `jit` and `vmap`. The formula of first
    order is the law of propagation of uncertainty, JCGM 100:2008, 5.2.2, in matrices. Those of second order are the moments of
    quadratic forms of normal variables (Mathai and Provost, *Quadratic Forms in Random Variables*, 1992, chapter 3).

    Examples
    --------
    Two correlated sides of a rectangle:

    >>> import numpy as np
    >>> import fungrad as fg
    >>> sides, covariance = np.array([2.0, 3.0]), np.array([[0.01, 0.005], [0.005, 0.04]])
    >>> area = fg.propagate(lambda x: x[0] * x[1])(sides, covariance)
    >>> print(area.value, area.std.round(3))
    6.0 0.557
    >>> area = fg.propagate(lambda x: x[0] * x[1], "quadratic")(sides, covariance)
    >>> print(area.value, area.std.round(3))
    6.005 0.557
    """
    check_callable(fun, "propagate")
    label = f"propagate({name_of(fun)})"
    check_chunk_size(chunk_size, label)
    if method not in METHODS:
        raise ValueError(f"{label}: method is one of {list(METHODS)}, got {method!r}")
    if method == "sampling" and samples < 2:
        raise ValueError(f"{label}: samples must be 2 at least, got {samples}")

    @transformed(propagate, fun, method, argnums, samples, seed, chunk_size)
    def propagated(*args_and_covariance: Any, **kwargs: Any) -> Any:
        if len(args_and_covariance) < 2:
            raise TypeError(
                f"{label} is called with the arguments of the function and a covariance"
            )
        *args, given = args_and_covariance
        of_chosen, chosen = _partial(fun, argnums, tuple(args), kwargs, label)
        elements = Elements(chosen, label, "uncertain arguments")
        covariance, independent = elements.covariance(given)
        shape: list[Elements] = []

        def of_vector(vector: Any) -> Any:
            result = of_chosen(elements.tree(vector))
            shape[:] = [Elements(result, label, "results")]
            return shape[0].flat(result)

        mean = elements.flat(chosen)
        if method == "sampling":
            factors = factor(covariance, independent), independent
            value, result = _sampled(of_vector, mean, factors, samples, seed, chunk_size)
        else:
            second = method == "quadratic"
            value, result = _by_taylor(of_vector, mean, covariance, independent, second, chunk_size)
        return Propagated(shape[0].tree(value), result)

    return propagated


def _by_taylor(
    f: Callable[[Any], Any],
    mean: Any,
    covariance: Any,
    independent: bool,
    second: bool,
    chunk_size: ChunkSize,
) -> tuple[Any, Any]:
    """Return the mean and covariance of a Taylor polynomial."""
    value = f(mean)
    make: Any = jacfwd if value.size >= mean.size else jacrev
    jacobian = make(f, chunk_size=chunk_size)(mean)

    def times(a: Any) -> Any:
        return a * covariance if independent else a @ covariance

    result = times(jacobian) @ jacobian.T
    if second:
        hessians: Callable[[Any], Any] = jacfwd(jacrev(f), chunk_size=chunk_size)
        curved = times(hessians(mean))  # (m, n, n)
        value = value + fnp.trace(curved, axis1=1, axis2=2) / 2
        result = result + fnp.einsum("ajk,bkj->ab", curved, curved) / 2
    return value, result


def _sampled(
    f: Callable[[Any], Any],
    mean: Any,
    factors: tuple[Any, bool],
    samples: int,
    seed: int,
    chunk_size: ChunkSize,
) -> tuple[Any, Any]:
    """Return the mean and covariance of results for arguments that are drawn."""
    factor, independent = factors
    draws = np.random.default_rng(seed).standard_normal((samples, mean.size))
    if not on_host(known := [x for x in (mean, factor) if type(x) is not Tracer]):
        draws = namespace(known).asarray(draws)

    def of_draw(z: Any) -> Any:
        return f(mean + (factor * z if independent else factor @ z))

    results: Any = vmap(of_draw, chunk_size=chunk_size)(draws)
    value = fnp.mean(results, axis=0)
    around = results - value
    return value, around.T @ around / (samples - 1)
