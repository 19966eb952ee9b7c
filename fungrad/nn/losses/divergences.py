"""Divergences of distributions, predicted ones being given by their logarithms."""

from __future__ import annotations

from typing import Any

import fungrad.numpy as fnp
from fungrad.nn.glossary import public, public_like
from fungrad.nn.losses.operands import computed, total


@public
def kl_divergence(log_predictions: Any, targets: Any, axis: Any = -1, where: Any = None) -> Any:
    """Return the relative entropy of target distributions with respect to the predicted ones.

    Parameters
    ----------
    targets
        The probabilities that should be.

    Returns
    -------
    array
        The sum of ``targets * (log(targets) - log_predictions)`` along the axis. What has the probability 0 adds
        nothing, even where -inf is predicted for it.

    Examples
    --------
    >>> nn.kl_divergence(np.log([0.5, 0.5]), np.array([1.0, 0.0]))
    np.float64(0.693147180559)

    References
    ----------
    S. Kullback, R. Leibler, "On Information and Sufficiency", 1951.
    """
    rule = lambda x, y: _kl(x, y, axis, where)
    return computed("kl_divergence", rule, log_predictions, targets)


def _kl(log_predictions: Any, targets: Any, axis: Any, where: Any) -> Any:
    is_zero = targets == 0
    log_targets = fnp.log(fnp.where(is_zero, 1.0, targets))
    return _expected_difference(targets, log_targets, log_predictions, axis, where)


def _expected_difference(
    targets: Any, log_targets: Any, log_predictions: Any, axis: Any, where: Any
) -> Any:
    """Return the sum of targets times differences of logarithms; where a target is 0, -inf does not count."""
    impossible = (targets == 0) & fnp.isinf(log_predictions)
    difference = log_targets - fnp.where(impossible, 0.0, log_predictions)
    return total(targets * difference, axis, where)


@public_like(kl_divergence)
def kl_divergence_with_log_targets(
    log_predictions: Any, log_targets: Any, axis: Any = -1, where: Any = None
) -> Any:
    """Return `kl_divergence` for targets that are given by their logarithms too.

    Parameters
    ----------
    log_targets
        The logarithms of the probabilities that should be.

    Returns
    -------
    array
        The sum of ``exp(log_targets) * (log_targets - log_predictions)`` along the axis. What has the probability 0
        adds nothing.

    Examples
    --------
    >>> nn.kl_divergence_with_log_targets(np.log([0.5, 0.5]), np.array([0.0, -np.inf]))
    np.float64(0.693147180559)
    """

    def rule(x: Any, y: Any) -> Any:
        return _expected_difference(fnp.exp(y), fnp.where(fnp.isneginf(y), 0.0, y), x, axis, where)

    return computed("kl_divergence_with_log_targets", rule, log_predictions, log_targets)


@public_like(kl_divergence)
def generalized_kl_divergence(
    log_predictions: Any, targets: Any, axis: Any = -1, where: Any = None
) -> Any:
    """Return `kl_divergence` for densities whose sums need not be 1.

    It is the Bregman divergence that the function ``x log(x) - x`` generates.

    Returns
    -------
    array
        `kl_divergence` plus the sum of ``exp(log_predictions) - targets``.

    Examples
    --------
    >>> nn.generalized_kl_divergence(np.log([0.5, 0.5]), np.array([1.0, 1.0]))
    np.float64(0.386294361119)

    References
    ----------
    L. Bregman, "The relaxation method of finding the common point of convex sets", 1967.
    """

    def rule(x: Any, y: Any) -> Any:
        return _kl(x, y, axis, where) + total(fnp.exp(x) - y, axis, where)

    return computed("generalized_kl_divergence", rule, log_predictions, targets)


convex_kl_divergence = generalized_kl_divergence  # optax's name
