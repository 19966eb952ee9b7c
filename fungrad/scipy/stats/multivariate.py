"""Distributions of vectors: `multivariate_normal`, `dirichlet`, `multinomial`."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import scipy.stats

from fungrad.core.tracer import Tracer
from fungrad.numpy.composites import as_one
from fungrad.numpy.documentation import example_of
from fungrad.scipy import special
from fungrad.scipy.linalg import solve_triangular
from fungrad.scipy.stats.choices import as_constant, certain, choose, double
from fungrad.scipy.stats.distribution import Mirror, traced_method

__all__ = ["dirichlet", "multinomial", "multivariate_normal"]


class Multivariate(Mirror):
    """A distribution of vectors."""

    def __init__(self) -> None:
        self.scipy = getattr(scipy.stats, self.name)
        text = inspect.cleandoc(type(self).__doc__ or "")
        self.__doc__ = f"{text}\n\n{example_of(f'scipy.stats.{self.name}')}"

    def _traced(self, method: str, args: Any, kwargs: Any) -> Any:
        log = self._log_density(*args, **kwargs)
        return log if method.startswith("log") else np.exp(log)

    def _log_density(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


class Density(Multivariate):
    """One with a density."""

    methods = ("pdf", "logpdf")

    pdf = traced_method("pdf", "Return the density at x.")
    logpdf = traced_method("logpdf", "Return the logarithm of the density at x.")


class MultivariateNormal(Density):
    """`scipy.stats.multivariate_normal`, for tracers too.

    Methods for traced arrays: pdf, logpdf; parameters: mean, cov, allow_singular. A covariance that is traced
    must be positive definite: it is factorized by Cholesky's method.
    """

    name = "multivariate_normal"

    def _log_density(
        self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False
    ) -> Any:
        if isinstance(cov, scipy.stats.Covariance):
            raise TypeError(
                "multivariate_normal: a Covariance object cannot be used on traced arrays; pass the "
                "matrix, cov.covariance"
            )
        x, mean, cov = double(x), None if mean is None else double(mean), double(cov)
        sizes = [np.size(mean) if np.ndim(mean) else 1, np.shape(cov)[0] if np.ndim(cov) else 1]
        dimension = max(sizes if mean is not None else sizes[1:])
        if np.ndim(x) == 0:
            x = np.reshape(x, (1,))
        elif np.ndim(x) == 1 and dimension == 1:
            x = np.reshape(x, (-1, 1))
        if np.shape(x)[-1] != dimension:
            raise ValueError(
                f"multivariate_normal: x has {np.shape(x)[-1]} components along its last axis, the distribution {dimension}"
            )
        cov = _matrix(cov, dimension)
        if allow_singular:
            return np.squeeze(_singular(x if mean is None else x - mean, cov))
        # It may fail, and is then computed at once: nothing else has to be.
        operands = [x, np.linalg.cholesky(cov), *([] if mean is None else [mean])]
        return as_one("multivariate_normal.logpdf", (), _log_density, operands)


def _log_density(x: Any, factor: Any, mean: Any = None) -> Any:
    """Return the logarithm of the density for a covariance with the Cholesky factor `factor`."""
    dimension = np.shape(factor)[0]
    deviation = x if mean is None else x - np.broadcast_to(mean, (dimension,))
    flat = np.reshape(deviation, (-1, dimension))
    white = solve_triangular(factor, np.transpose(flat), lower=True)
    squares = np.reshape(np.sum(white * white, axis=0), np.shape(deviation)[:-1])
    logdet = 2 * np.sum(np.log(np.diagonal(factor)))
    return np.squeeze(-0.5 * (dimension * math.log(2 * math.pi) + logdet + squares))


def _matrix(cov: Any, dimension: int) -> Any:
    """Return the covariance as a matrix: of a number or a vector it is diagonal."""
    if np.ndim(cov) == 0:
        return cov * np.eye(dimension)
    if np.ndim(cov) == 1:
        return np.diag(cov)
    if np.shape(cov) != (dimension, dimension):
        raise ValueError(
            f"multivariate_normal: cov has shape {np.shape(cov)}, but the mean has {dimension} components"
        )
    return cov


def _singular(deviation: Any, cov: Any) -> Any:
    """Return the logarithm of the density on the subspace that a singular covariance spans."""
    if type(cov) is Tracer:
        raise TypeError(
            "multivariate_normal: with allow_singular, cov cannot be a traced array: the density jumps where "
            "its rank changes. Leave allow_singular out, or add a multiple of the identity to cov."
        )
    values, vectors = np.linalg.eigh(cov)
    eps = 1e6 * np.finfo(np.float64).eps * np.abs(values).max()  # SciPy's threshold
    kept = values > eps
    white = deviation @ (vectors[:, kept] / np.sqrt(values[kept]))
    residual = as_constant(deviation) @ vectors[:, ~kept]
    inside = np.sum(residual * residual, axis=-1) < (1e3 * eps) ** 2
    logdet = np.sum(np.log(values[kept]))
    log = -0.5 * (kept.sum() * math.log(2 * math.pi) + logdet + np.sum(white * white, axis=-1))
    return np.where(inside, log, -math.inf)


class Dirichlet(Density):
    """`scipy.stats.dirichlet`, for tracers too.

    Methods for traced arrays: pdf, logpdf; parameters: alpha. Where SciPy raises an error because `x` is not in the simplex,
    the density is 0.
    """

    name = "dirichlet"

    def _log_density(self, x: Any, alpha: Any) -> Any:
        x, alpha = double(x), double(alpha)
        if np.ndim(alpha) != 1:
            raise ValueError("Parameter vector 'a' must be one dimensional")
        count = np.shape(alpha)[0]
        if np.shape(x)[0] == count - 1:
            x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
        if np.shape(x)[0] != count:
            raise ValueError(
                f"dirichlet: x has {np.shape(x)[0]} entries along its first axis, alpha {count}: it must have as many, "
                "or one less"
            )
        valid = certain(alpha > 0) or None  # if they are known to be
        rule = lambda x, alpha: self._inside_simplex(x, alpha, valid)
        return as_one("dirichlet.logpdf", valid, rule, (x, alpha))

    def _inside_simplex(self, x: Any, alpha: Any, valid: Any) -> Any:
        """Return the logarithm of the density; `valid` if the parameters are known to be."""
        count = np.shape(alpha)[0]
        alpha = np.reshape(alpha, (count, *[1] * (np.ndim(x) - 1)))
        total = np.sum(x, axis=0)
        inside = np.logical_and(np.all(x >= 0, axis=0), np.abs(total - 1) <= 10e-10)
        point = np.where(inside, x, 1 / count)
        normalizer = np.sum(special.gammaln(alpha), axis=0) - special.gammaln(np.sum(alpha, axis=0))
        log = np.sum(special.xlogy(alpha - 1, point), axis=0) - normalizer
        valid = valid or np.all(alpha > 0)
        return np.squeeze(choose(valid, np.where(inside, log, -math.inf), math.nan))


class Multinomial(Multivariate):
    """`scipy.stats.multinomial`, for tracers too.

    Methods for traced arrays: pmf, logpmf; parameters: n, p. The probabilities are taken as they are: SciPy
    replaces the last one by what the others leave.
    """

    name = "multinomial"
    methods = ("pmf", "logpmf")

    pmf = traced_method("pmf", "Return the probability of the counts x.")
    logpmf = traced_method("logpmf", "Return the logarithm of the probability of the counts x.")

    def _log_density(self, x: Any, n: Any, p: Any) -> Any:
        operands = as_constant(double(x)), as_constant(double(n)), double(p)
        return as_one("multinomial.logpmf", (), self._of_counts, operands)

    def _of_counts(self, given: Any, n: Any, p: Any) -> Any:
        """Return the logarithm of the probability."""
        counts = np.floor(given)
        inside = np.all(np.logical_and(counts == given, counts >= 0), axis=-1)
        inside = np.logical_and(inside, np.sum(counts, axis=-1) == n)
        valid = np.logical_and(
            np.all(np.logical_and(p >= 0, p <= 1), axis=-1),
            np.logical_and(np.abs(np.sum(p, axis=-1) - 1) <= 1e-8, n >= 0),
        )
        counts = np.where(np.expand_dims(inside, -1), counts, 0.0)
        log = special.gammaln(np.where(inside, n, 1.0) + 1) + np.sum(
            special.xlogy(counts, p) - special.gammaln(counts + 1), axis=-1
        )
        return np.where(valid, np.where(inside, log, -math.inf), math.nan)


multivariate_normal = MultivariateNormal()
dirichlet = Dirichlet()
multinomial = Multinomial()
