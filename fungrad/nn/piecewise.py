"""Activation functions that consist of straight lines: `relu` and its kin.

>>> import numpy as np
>>> from fungrad import nn
>>> nn.relu6(np.array([-1.0, 2.0, 7.0]))
array([0., 2., 6.])
"""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.extend.precision import array, computed, converted
from fungrad.extend.types import type_of
from fungrad.nn.glossary import public


@public
def relu(x: Any) -> Any:
    """Return ``max(x, 0)``, whose derivative at 0 is taken to be 0. Integers stay integers.

    Examples
    --------
    >>> nn.relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    >>> fg.grad(lambda x: nn.relu(x).sum())(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 1.])

    References
    ----------
    D. Bertoin, J. Bolte, S. Gerchinovitz, E. Pauwels, "Numerical influence of ReLU'(0) on backpropagation", 2021.
    """
    return _relu(_numbers(x))


def _numbers(x: Any) -> Any:
    """Return an array of numbers: booleans become integers."""
    x = array(x)
    return converted(x, np.dtype(np.int64)) if type_of(x).dtype == np.bool_ else x


def _relu(x: Any) -> Any:
    # The condition, not fnp.maximum, says what the derivative is at 0; NaN stays NaN.
    return fnp.where(x <= 0, converted(0, type_of(x).dtype), x)


@public
def relu6(x: Any) -> Any:
    """Return ``min(max(x, 0), 6)``, whose derivatives at 0 and at 6 are taken to be 0.

    Examples
    --------
    >>> nn.relu6(np.array([-1.0, 2.0, 7.0]))
    array([0., 2., 6.])
    """
    return computed(_relu6, x)


def _relu6(x: Any) -> Any:
    return fnp.where(x >= 6, converted(6, type_of(x).dtype), _relu(x))


@public
def hard_sigmoid(x: Any) -> Any:
    """Return ``relu6(x + 3) / 6``.

    Examples
    --------
    >>> nn.hard_sigmoid(np.array([-4.0, 0.0, 4.0]))
    array([0. , 0.5, 1. ])
    """
    return computed(_hard_sigmoid, x)


def _hard_sigmoid(x: Any) -> Any:
    return _relu6(x + 3) / 6


@public
def hard_silu(x: Any) -> Any:
    """Return ``x * hard_sigmoid(x)``; `hard_swish` is the same function.

    Examples
    --------
    >>> nn.hard_silu(np.array([-4.0, 0.0, 4.0]))
    array([-0.,  0.,  4.])
    """
    return computed(lambda x: x * _hard_sigmoid(x), x)


hard_swish = hard_silu


@public
def hard_tanh(x: Any) -> Any:
    """Return `x` where it is in [-1, 1], and the nearer end elsewhere. Integers stay integers.

    Examples
    --------
    >>> nn.hard_tanh(np.array([-4.0, 0.5, 4.0]))
    array([-1. ,  0.5,  1. ])
    """
    x = _numbers(x)
    one, minus_one = (converted(s, type_of(x).dtype) for s in (1, -1))
    return fnp.where(x > 1, one, fnp.where(x < -1, minus_one, x))
