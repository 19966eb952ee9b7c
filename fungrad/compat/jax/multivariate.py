"""`jax.scipy.stats.multivariate_normal`, whose means and covariances may be stacked."""

from __future__ import annotations

import math
from typing import Any

import fungrad.numpy as fnp
from fungrad.compat.jax.crossing import leave
from fungrad.compat.jax.jnp import as_inexact
from fungrad.lax.linalg import triangular_solve


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """Return the log density, by the Cholesky factor of the covariance; of scalars, if `mean` is one."""
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")  # as JAX
    x, mean, cov = as_inexact(x, mean, cov)
    away, log_of_circle = x - mean, math.log(2 * math.pi)
    if not mean.ndim:
        return leave(-0.5 * (away * away / cov + log_of_circle + fnp.log(cov)))
    n = mean.shape[-1]
    if not cov.ndim:
        squares = fnp.sum(away * away, -1)
        return leave(-0.5 * (squares / cov + n * (log_of_circle + fnp.log(cov))))
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError("multivariate_normal.logpdf got incompatible shapes")
    factor = fnp.linalg.cholesky(cov)
    stack = fnp.broadcast_shapes(away.shape[:-1], cov.shape[:-2])
    factors = fnp.broadcast_to(factor, (*stack, n, n))
    aways = fnp.broadcast_to(away, (*stack, n))[..., None]
    standard = triangular_solve(factors, aways, left_side=True, lower=True)[..., 0]
    logs = fnp.sum(fnp.log(fnp.diagonal(factor, axis1=-2, axis2=-1)), -1)
    return leave(-0.5 * (fnp.sum(standard * standard, -1) + n * log_of_circle) - logs)


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """Return the density; see `logpdf`."""
    return fnp.exp(logpdf(x, mean, cov))
