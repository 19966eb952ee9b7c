"""Kernel density estimation with Gaussian kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats

from fungrad.core.errors import api_boundary
from fungrad.core.summary import summary
from fungrad.numpy.promotion import has_tracer
from fungrad.scipy import special
from fungrad.scipy.linalg import solve_triangular
from fungrad.scipy.stats.choices import double
from fungrad.typing import Array

__all__ = ["gaussian_kde"]


class gaussian_kde:
    """`scipy.stats.gaussian_kde`, differentiable by points, data, weights and bandwidth.

    Parameters
    ----------
    dataset
        Data of shape (n,) or (d, n).
    bw_method
        "scott" (the default), "silverman", a number, or a function of this object.
    weights
        Weights of the data, of shape (n,).

    Attributes
    ----------
    dataset, weights, covariance, factor, neff, d, n
        As SciPy's.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> from fungrad.scipy.stats import gaussian_kde
    >>> data = np.array([0.0, 1.0, 3.0])
    >>> fg.grad(lambda x: gaussian_kde(data).logpdf(x)[0])(2.0)
    np.float64(-0.207072461557)
    """

    @api_boundary
    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        traced = has_tracer((dataset, bw_method, weights))
        self._plain = None if traced else scipy.stats.gaussian_kde(dataset, bw_method, weights)
        if self._plain is not None:
            known = self._plain
            self.dataset, self.weights, self.neff = known.dataset, known.weights, known.neff
            self.d, self.n, self.factor = known.d, known.n, known.factor
            self.covariance, self._cholesky = known.covariance, known.cho_cov
            return
        self.dataset = np.atleast_2d(double(dataset))
        self.d, self.n = self.dataset.shape
        if self.dataset.size < 2:
            raise ValueError("`dataset` input should have multiple elements.")
        if weights is None:
            self.weights, self.neff = np.full(self.n, 1 / self.n), float(self.n)
        else:
            weights = double(weights)
            if np.shape(weights) != (self.n,):
                raise ValueError(
                    f"`weights` has shape {np.shape(weights)}, the data needs ({self.n},)"
                )
            self.weights = weights / np.sum(weights)
            self.neff = 1 / np.sum(self.weights * self.weights)
        self.factor = self._bandwidth(bw_method)
        # As numpy.cov with weights, without bias.
        centred = self.dataset - np.sum(self.weights * self.dataset, axis=1, keepdims=True)
        unbiased = 1 - np.sum(self.weights * self.weights)
        spread = (self.weights * centred) @ np.transpose(centred) / unbiased
        self.covariance = spread * self.factor**2
        self._cholesky = np.linalg.cholesky(spread) * self.factor

    def __repr__(self) -> str:
        return summary("gaussian_kde", dataset=self.dataset, factor=self.factor)

    def _bandwidth(self, method: Any) -> Any:
        if method is None or (isinstance(method, str) and method == "scott"):
            return self.scotts_factor()
        if isinstance(method, str) and method == "silverman":
            return self.silverman_factor()
        if isinstance(method, str):
            raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar or a callable.")
        return method(self) if callable(method) else double(method)

    def scotts_factor(self) -> Array:
        """Return Scott's factor, neff^(-1 / (d + 4))."""
        return self.neff ** (-1 / (self.d + 4))

    def silverman_factor(self) -> Array:
        """Return Silverman's factor, (neff (d + 2) / 4)^(-1 / (d + 4))."""
        return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))

    @api_boundary
    def evaluate(self, points: Any) -> Array:
        """Return the density at points of shape (d, m), or (m,) in one dimension."""
        if self._plain is not None and not has_tracer((points,)):
            return self._plain.evaluate(points)
        return np.exp(self._log(points))

    __call__ = evaluate

    def pdf(self, x: Any) -> Array:
        """Return the density at points, as `evaluate` does."""
        return self.evaluate(x)

    @api_boundary
    def logpdf(self, x: Any) -> Array:
        """Return the logarithm of the density at points."""
        if self._plain is not None and not has_tracer((x,)):
            return self._plain.logpdf(x)
        return self._log(x)

    def _log(self, points: Any) -> Any:
        points = np.atleast_2d(double(points))
        if points.shape[0] != self.d:
            if points.shape != (1, self.d):
                raise ValueError(
                    f"points have dimension {points.shape[0]}, dataset has dimension {self.d}"
                )
            points = np.reshape(points, (self.d, 1))
        data = solve_triangular(self._cholesky, self.dataset, lower=True)
        where = solve_triangular(self._cholesky, points, lower=True)
        distance = data[:, :, None] - where[:, None, :]
        energy = 0.5 * np.sum(distance * distance, axis=0)
        scale = np.sum(np.log(np.diagonal(self._cholesky))) + 0.5 * self.d * math.log(2 * math.pi)
        return special.logsumexp(-energy, axis=0, b=self.weights[:, None]) - scale

    @api_boundary
    def integrate_gaussian(self, mean: Any, cov: Any) -> Array:
        """Return the integral of the density times that of a normal distribution."""
        if self._plain is not None and not has_tracer((mean, cov)):
            return self._plain.integrate_gaussian(mean, cov)
        mean = np.atleast_1d(np.squeeze(double(mean)))
        cov = np.atleast_2d(double(cov))
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return self._overlap(self.covariance + cov, mean[:, None], np.ones(1))

    @api_boundary
    def integrate_kde(self, other: gaussian_kde) -> Array:
        """Return the integral of the product with another density."""
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        if self._plain is not None and other._plain is not None:
            return self._plain.integrate_kde(other._plain)
        return self._overlap(self.covariance + other.covariance, other.dataset, other.weights)

    def _overlap(self, cov: Any, points: Any, weights: Any) -> Any:
        """Return the sum of normal densities of covariance `cov` at all differences to `points`."""
        factor = np.linalg.cholesky(cov)
        distance = self.dataset[:, :, None] - points[:, None, :]
        flat = np.reshape(distance, (self.d, -1))
        white = solve_triangular(factor, flat, lower=True)
        energy = np.reshape(0.5 * np.sum(white * white, axis=0), (self.n, -1))
        norm = (2 * math.pi) ** (self.d / 2) * np.prod(np.diagonal(factor))
        return self.weights @ np.exp(-energy) @ weights / norm

    @api_boundary
    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """Return the probability of an interval, in one dimension."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if self._plain is not None and not has_tracer((low, high)):
            return self._plain.integrate_box_1d(low, high)
        deviation = np.sqrt(self.covariance[0, 0])
        ends = [(end - self.dataset[0]) / deviation for end in (double(low), double(high))]
        return np.sum(self.weights * (special.ndtr(ends[1]) - special.ndtr(ends[0])))

    def __getattr__(self, name: str) -> Any:
        if name in ("integrate_box", "marginal", "resample", "set_bandwidth"):
            plain = self.__dict__.get("_plain")
            if plain is not None:
                return getattr(plain, name)
            raise AttributeError(
                f"gaussian_kde.{name} has no rule for traced data; call it on plain arrays"
            )
        raise AttributeError(f"'gaussian_kde' object has no attribute {name!r}")
