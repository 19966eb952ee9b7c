"""Losses of regression, element by element."""

from __future__ import annotations

import math
from typing import Any

import fungrad.numpy as fnp
from fungrad.nn.glossary import public, public_like
from fungrad.nn.losses.operands import check_equal_shapes, computed


@public
def squared_error(predictions: Any, targets: Any = None) -> Any:
    """Return the squares of the errors.

    Parameters
    ----------
    targets
        What should be, of the same shape; zeros by default.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> nn.squared_error(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    array([0., 4.])
    """
    return _of_equal_shapes("squared_error", fnp.square, predictions, targets)


@public_like(squared_error)
def l2_loss(predictions: Any, targets: Any = None) -> Any:
    """Return half the squares of the errors, whose derivatives are the errors.

    Examples
    --------
    >>> nn.l2_loss(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    array([0., 2.])
    """
    return _of_equal_shapes("l2_loss", lambda e: 0.5 * fnp.square(e), predictions, targets)


def _of_equal_shapes(name: str, rule: Any, predictions: Any, targets: Any) -> Any:
    if targets is None:
        return computed(name, rule, predictions)
    check_equal_shapes(name, predictions=predictions, targets=targets)
    return computed(name, lambda x, y: rule(x - y), predictions, targets)


@public
def huber_loss(predictions: Any, targets: Any = None, *, delta: Any = 1.0) -> Any:
    """Return half the squares of errors up to `delta`, and a line of slope `delta` from there.

    Parameters
    ----------
    targets
        What should be; zeros by default.
    delta
        The largest derivative.

    Examples
    --------
    >>> nn.huber_loss(np.array([-0.5, 3.0]))
    array([0.125, 2.5  ])

    References
    ----------
    P. Huber, "Robust Estimation of a Location Parameter", 1964.
    """
    targets = 0.0 if targets is None else targets
    return computed("huber_loss", _huber, predictions, targets, delta)


def _huber(predictions: Any, targets: Any, delta: Any) -> Any:
    size = fnp.abs(predictions - targets)
    near = fnp.minimum(size, delta)
    return 0.5 * fnp.square(near) + delta * (size - near)


@public_like(huber_loss)
def log_cosh(predictions: Any, targets: Any = None) -> Any:
    """Return the logarithms of the hyperbolic cosines of the errors, exact for small errors too.

    Examples
    --------
    >>> nn.log_cosh(np.array([1e-10, -1000.0]))
    array([5.00000000e-21, 9.99306853e+02])
    """
    return computed("log_cosh", _log_cosh, predictions, 0.0 if targets is None else targets)


def _log_cosh(predictions: Any, targets: Any) -> Any:
    # Near 0, cosh(e) is 1 + 2 sinh(e / 2)^2; far from it, exp(|e|) (1 + exp(-2 |e|)) / 2.
    error = predictions - targets
    small = fnp.abs(error) < 1
    near = fnp.log1p(2 * fnp.square(fnp.sinh(0.5 * fnp.where(small, error, 0.0))))
    size = fnp.abs(fnp.where(small, 1.0, error))
    return fnp.where(small, near, size + fnp.log1p(fnp.square(fnp.exp(-size))) - math.log(2))
