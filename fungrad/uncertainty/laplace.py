"""Laplace's approximation: a posterior as the normal distribution around its mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.errors import api_boundary, here
from fungrad.core.tracer import Tracer
from fungrad.core.transformed import transformed
from fungrad.scipy.optimize import minimize
from fungrad.transforms.arguments import check_callable, name_of
from fungrad.transforms.jacobian import hessian
from fungrad.uncertainty.covariances import Elements, factor

__all__ = ["Laplace", "laplace"]


class Laplace(NamedTuple):
    """A normal distribution that stands for a posterior.

    Attributes
    ----------
    mode
        Where the density is largest, of the structure of the parameters.
    covariance
        Of shape (n, n), for the n elements of the parameters in C order, leaf after leaf.
    log_evidence
        The logarithm of the integral of the density.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> posterior = fg.laplace(lambda x: -2 * (x - 1.0) ** 2)(0.0)
    >>> print(posterior.mode.round(6), posterior.std, posterior.sample(3).shape)
    1.0 0.5 (3,)
    """

    mode: Any
    covariance: Any
    log_evidence: Any

    @property
    def std(self) -> Any:
        """Standard deviations, of the structure of the mode."""
        elements = Elements(self.mode, "std", "parameters")
        return elements.tree(fnp.sqrt(fnp.diagonal(self.covariance)))

    def sample(self, count: int, seed: int = 0) -> Any:
        """Return `count` samples of the parameters, along a new axis 0 of each leaf.

        `seed` is that of `numpy.random.default_rng`.
        """
        from fungrad.transforms.vmap import vmap

        elements = Elements(self.mode, "sample", "parameters")
        draws = np.random.default_rng(seed).standard_normal((count, elements.size))
        root, mean = factor(self.covariance, False), elements.flat(self.mode)
        return vmap(lambda z: elements.tree(mean + root @ z))(draws)


@api_boundary
def laplace(
    log_density: Callable[..., Any], method: str | None = None, tol: float | None = 1e-9
) -> Callable[..., Any]:
    """Return the function that finds the mode of a density and the normal distribution that fits it there.

    Parameters
    ----------
    log_density
        ``log_density(parameters, *args)``, a real scalar: the logarithm of a posterior, as likelihood times prior, which need not be
        normalized.
    method, tol
        As of `fungrad.scipy.optimize.minimize`, which finds the mode; a step of Newton's follows.

    Returns
    -------
    Callable
        ``approximated(start, *args)``: takes the parameters to start with, an array or a pytree of real floats, and what else
        `log_density` takes. Returns `mode`, `covariance` (the inverse of the negative Hessian) and `log_evidence`, with the property
        `std` and the method ``sample(count, seed)``.

    Raises
    ------
    ValueError
        If the Hessian is not negative definite where the search has ended: there is no maximum there, or a flat one.
    TypeError
        If a parameter is no real float.

    Notes
    -----
    In a function that is differentiated, all results have derivatives by `args` and what `log_density` holds, as `minimize` has. See
    MacKay, *Information Theory, Inference, and Learning Algorithms* (2003), chapter 27.

    Examples
    --------
    The rate of a Poisson process, by its logarithm, from counts:

    >>> import numpy as np
    >>> import fungrad as fg
    >>> def log_posterior(rate, counts):
    ...     return np.sum(counts * rate - np.exp(rate)) - rate ** 2 / 200
    >>> posterior = fg.laplace(log_posterior)(0.0, np.array([3.0, 5.0, 4.0]))
    >>> print(np.exp(posterior.mode).round(3), posterior.std.round(3))
    3.995 0.289
    """
    check_callable(log_density, "laplace")
    label = f"laplace({name_of(log_density)})"

    @transformed(laplace, log_density, method, tol)
    def approximated(start: Any, *args: Any) -> Any:
        elements = Elements(start, label, "parameters")

        def loss(vector: Any) -> Any:
            return -log_density(elements.tree(vector), *args)

        begin = elements.flat(start).astype(float)
        found = minimize(loss, begin, method=method, tol=tol).x
        curvature = hessian(loss)(found)
        _check(curvature, label)
        if (
            type(found) is not Tracer
        ):  # traced, the mode is a root, to which Newton's step adds nothing but noise
            from fungrad.transforms.grad import grad

            found = found - np.linalg.solve(curvature, grad(loss)(found))
            curvature = hessian(loss)(found)
            _check(curvature, label)
        n = elements.size
        _, logarithm = fnp.linalg.slogdet(curvature)
        evidence = -loss(found) + n / 2 * math.log(2 * math.pi) - logarithm / 2
        return Laplace(elements.tree(found), fnp.linalg.inv(curvature), evidence)

    return approximated


def _check(curvature: Any, label: str) -> None:
    """Raise if a known Hessian of the negative logarithm is not positive definite."""
    if type(curvature) is Tracer:
        return
    least = np.linalg.eigvalsh(curvature)[0] if np.all(np.isfinite(curvature)) else math.nan
    if not least > 0:
        raise ValueError(
            f"at {here()}\n{label}: the search has ended where the density has no strict maximum: the least eigenvalue of the negative "
            f"Hessian is {least:.3g}. Start nearer to the mode, or add a prior for what the data do not determine."
        )
