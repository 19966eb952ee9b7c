"""Activation functions of `jax.nn`, element by element.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad import nn
>>> nn.relu(np.array([-1.0, 0.0, 2.0]))
array([0., 0., 2.])
>>> fg.grad(lambda x: nn.gelu(x).sum())(np.array([-1.0, 0.0, 2.0]))
array([-0.08296408,  0.5       ,  1.08609926])

Integers and booleans are converted to float64, except where a docstring says otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import fungrad.numpy as fnp
from fungrad.extend.precision import array, computed, converted
from fungrad.extend.types import kind_of, type_of
from fungrad.lax import erfc, logistic
from fungrad.nn.glossary import public


def _complex(x: Any) -> bool:
    return kind_of(type_of(x).dtype) == "c"


@public
def identity(x: Any) -> Any:
    """Return `x` as an array, in its own dtype.

    Examples
    --------
    >>> nn.identity(np.array([1, 2]))
    array([1, 2])
    """
    return array(x)


@public
def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent.

    Examples
    --------
    >>> nn.tanh(np.array([0.0, 1.0]))
    array([0.        , 0.76159416])
    """
    return computed(fnp.tanh, x)


@public
def sigmoid(x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> nn.sigmoid(np.array([-1000.0, 0.0, 1.0]))
    array([0.        , 0.5       , 0.73105858])
    """
    return computed(logistic, x)


@public
def log_sigmoid(x: Any) -> Any:
    """Return ``log(sigmoid(x))``, exact for large negative numbers too.

    Examples
    --------
    >>> nn.log_sigmoid(np.array([-1000.0, 0.0]))
    array([-1.00000000e+03, -6.93147181e-01])
    """
    return computed(lambda x: -_softplus(-x), x)


@public
def softplus(x: Any) -> Any:
    """Return ``log(1 + exp(x))``, which neither overflows nor loses digits.

    Examples
    --------
    >>> nn.softplus(np.array([-50.0, 0.0, 1000.0]))
    array([1.92874985e-22, 6.93147181e-01, 1.00000000e+03])
    """
    return computed(_softplus, x)


def _softplus(x: Any) -> Any:
    if not _complex(x):
        return fnp.logaddexp(x, converted(0, type_of(x).dtype))
    # NumPy's logaddexp takes no complex numbers. The logarithm's imaginary part is in (-pi, pi], and so is that of
    # the result.
    right = x.real > 0
    near = fnp.log1p(fnp.exp(fnp.where(right, -x, x)))
    out = fnp.where(right, x + near, near)
    turn = 2 * math.pi
    imag = out.imag - turn * fnp.ceil((out.imag - math.pi) / turn)
    return out.real + 1j * imag


@public
def squareplus(x: Any, b: Any = 4) -> Any:
    """Return ``(x + sqrt(x**2 + b)) / 2``.

    Parameters
    ----------
    b
        How round the corner is; with 0 this is `relu`.

    Examples
    --------
    >>> nn.squareplus(np.array([-1.5, 0.0, 1.5]))
    array([0.5, 1. , 2. ])

    References
    ----------
    J. Barron, "Squareplus: A Softplus-Like Algebraic Rectifier", 2021, arXiv:2112.11687.
    """
    return computed(lambda x, b: (x + fnp.sqrt(fnp.square(x) + b)) / 2, x, b)


@public
def sparse_plus(x: Any) -> Any:
    """Return 0 up to -1, ``(x + 1)**2 / 4`` between -1 and 1, and `x` from 1 on.

    Examples
    --------
    >>> nn.sparse_plus(np.array([-2.0, 0.0, 2.0]))
    array([0.  , 0.25, 2.  ])
    """
    return computed(_sparse_plus, x)


def _sparse_plus(x: Any) -> Any:
    zero = converted(0, type_of(x).dtype)
    middle = fnp.where(fnp.abs(x) >= 1, zero, x)  # of large numbers no square is taken
    return fnp.where(x <= -1, zero, fnp.where(x >= 1, x, fnp.square(middle + 1) / 4))


@public
def sparse_sigmoid(x: Any) -> Any:
    """Return 0 up to -1, ``(x + 1) / 2`` up to 1, and then 1: the derivative of `sparse_plus`.

    Examples
    --------
    >>> nn.sparse_sigmoid(np.array([-2.0, 0.0, 2.0]))
    array([0. , 0.5, 1. ])

    References
    ----------
    M. Blondel, A. Martins, V. Niculae, "Learning with Fenchel-Young Losses", section 6.2, 2019, arXiv:1901.02324.
    """
    return computed(lambda x: fnp.clip(x + 1, 0.0, 2.0) / 2, x)


@public
def soft_sign(x: Any) -> Any:
    """Return ``x / (abs(x) + 1)``.

    Examples
    --------
    >>> nn.soft_sign(np.array([-1.0, 0.0, 3.0]))
    array([-0.5 ,  0.  ,  0.75])
    """
    return computed(lambda x: x / (fnp.abs(x) + 1), x)


@public
def silu(x: Any) -> Any:
    """Return ``x * sigmoid(x)``; `swish` is the same function.

    Examples
    --------
    >>> nn.silu(np.array([-1.0, 0.0, 1.0]))
    array([-0.26894142,  0.        ,  0.73105858])
    """
    return computed(lambda x: x * logistic(x), x)


swish = silu


@public
def mish(x: Any) -> Any:
    """Return ``x * tanh(softplus(x))``.

    Examples
    --------
    >>> nn.mish(np.array([-1.0, 0.0, 1.0]))
    array([-0.30340146,  0.        ,  0.86509839])

    References
    ----------
    D. Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019, arXiv:1908.08681.
    """
    return computed(lambda x: x * fnp.tanh(_softplus(x)), x)


@public
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """Return `x` where it is positive, and ``alpha * (exp(x) - 1)`` elsewhere.

    Examples
    --------
    >>> nn.elu(np.array([-1.0, 0.0, 1.0]))
    array([-0.63212056,  0.        ,  1.        ])
    """
    return computed(_elu, x, alpha)


def _elu(x: Any, alpha: Any) -> Any:
    positive = x > 0
    zero = converted(0, type_of(x).dtype)
    return fnp.where(positive, x, alpha * fnp.expm1(fnp.where(positive, zero, x)))


@public
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """Return `x` where it is positive, and ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    Examples
    --------
    >>> nn.celu(np.array([-1.0, 0.0, 1.0]), 2.0)
    array([-0.78693868,  0.        ,  1.        ])

    References
    ----------
    J. Barron, "Continuously Differentiable Exponential Linear Units", 2017, arXiv:1704.07483.
    """
    return computed(_celu, x, alpha)


def _celu(x: Any, alpha: Any) -> Any:
    zero = converted(0, type_of(x).dtype)
    return fnp.maximum(x, zero) + alpha * fnp.expm1(fnp.minimum(x, zero) / alpha)


@public
def selu(x: Any) -> Any:
    """Return `elu` with the factor and `alpha` that keep mean 0 and variance 1 across layers.

    Examples
    --------
    >>> nn.selu(np.array([-1.0, 0.0, 1.0]))
    array([-1.11133074,  0.        ,  1.05070099])

    References
    ----------
    G. Klambauer, T. Unterthiner, A. Mayr, S. Hochreiter, "Self-Normalizing Neural Networks", 2017, arXiv:1706.02515;
    the two numbers are theirs.
    """
    return computed(lambda x: 1.0507009873554804934193349852946 * _elu(x, SELU_ALPHA), x)


SELU_ALPHA = 1.6732632423543772848170429916717


@public
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """Return `x` where it is not negative, and ``negative_slope * x`` elsewhere.

    Parameters
    ----------
    negative_slope
        A number, or an array that broadcasts with `x`.

    Examples
    --------
    >>> nn.leaky_relu(np.array([-1.0, 0.0, 1.0]), 0.1)
    array([-0.1,  0. ,  1. ])
    """
    return computed(lambda x, slope: fnp.where(x >= 0, x, slope * x), x, negative_slope)


@public
def gelu(x: Any, approximate: bool = True) -> Any:
    """Return `x` times the distribution function of the normal distribution at `x`.

    Parameters
    ----------
    approximate
        Whether to take ``(1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2`` for that function.

    Raises
    ------
    TypeError
        If `x` is complex and the function not approximated.

    Examples
    --------
    >>> nn.gelu(np.array([-1.0, 0.0, 1.0]), approximate=False)
    array([-0.15865525,  0.        ,  0.84134475])

    References
    ----------
    D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units (GELUs)", section 2, 2016, arXiv:1606.08415.
    """
    return computed(_approximate_gelu if approximate else _gelu, x)


def _approximate_gelu(x: Any) -> Any:
    # (1 + tanh(z)) / 2 is sigmoid(2 z), in which nothing cancels.
    return x * logistic(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def _gelu(x: Any) -> Any:
    return 0.5 * x * erfc(x * -math.sqrt(0.5))


@public
def glu(x: Any, axis: int = -1) -> Any:
    """Return the first half of an array along an axis times the `sigmoid` of the second.

    Parameters
    ----------
    axis
        The axis that is halved.

    Raises
    ------
    ValueError
        If the length of the axis is odd.

    Examples
    --------
    >>> nn.glu(np.array([1.0, 2.0, 0.0, 1000.0]))
    array([0.5, 2. ])
    """
    return computed(lambda x: _glu(x, axis), x)


def _glu(x: Any, axis: int) -> Any:
    shape = type_of(x).shape
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"nn.glu: there is no axis {axis} in an array of shape {shape}")
    if shape[axis] % 2:
        raise ValueError(f"nn.glu: axis {axis} of shape {shape} has no two halves")
    first, second = fnp.split(x, 2, axis)
    return first * logistic(second)


@public
def log1mexp(x: Any) -> Any:
    """Return ``log(1 - exp(-x))`` for positive `x`, without cancellation.

    Examples
    --------
    >>> nn.log1mexp(np.array([1e-20, 1.0, 50.0]))
    array([-4.60517019e+01, -4.58675145e-01, -1.92874985e-22])

    References
    ----------
    M. Mächler, "Accurately Computing ``log(1 - exp(-|a|))``", 2012, a vignette of the R package Rmpfr.
    """
    return computed(_log1mexp, x)


def _log1mexp(x: Any) -> Any:
    # Each branch sees only what it is good for, so both have the derivative 1 / expm1(x) and no NaN.
    small = x < math.log(2)
    limit = converted(math.log(2), type_of(x).dtype)
    near = fnp.log(-fnp.expm1(-fnp.where(small, x, limit)))
    return fnp.where(small, near, fnp.log1p(-fnp.exp(-fnp.where(small, limit, x))))
