"""Initializers, as in `jax.nn.initializers`: functions of a key, a shape and a dtype.

The same key gives the numbers that JAX gives with 64 bits enabled. The dtype is float64 unless another is asked for.

>>> from fungrad import random
>>> from fungrad.nn import initializers
>>> initializers.he_normal()(random.key(0), (3, 2)).shape
(3, 2)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import fungrad.numpy as fnp
from fungrad import random
from fungrad.extend.packages import tell_missing
from fungrad.extend.precision import DOUBLE, computing_dtype, converted
from fungrad.extend.types import kind_of
from fungrad.nn.distributions import DISTRIBUTIONS
from fungrad.nn.glossary import public, public_like
from fungrad.typing import Array

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal",
    "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal",
    "ones", "orthogonal", "truncated_normal", "uniform", "variance_scaling", "xavier_normal",
    "xavier_uniform", "zeros",
]  # fmt: skip
__dir__ = __all__.copy
tell_missing(globals())

Axes = int | Sequence[int]


class Initializer(Protocol):
    """Type of this module's results: from a key, a shape and a dtype to an array.

    Examples
    --------
    >>> from fungrad import random
    >>> from fungrad.nn import initializers
    >>> def dense(key, n, m, init: initializers.Initializer = initializers.he_normal()):
    ...     return {"w": init(key, (n, m)), "b": initializers.zeros(key, (m,))}
    >>> dense(random.key(0), 3, 2)["w"].shape
    (3, 2)
    """

    def __call__(
        self, key: Array, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> Array: ...


def _initializer(make: Callable[[Any, tuple[int, ...], Any], Array], default: Any) -> Initializer:
    """Return an initializer by a function of key, shape and a dtype that is known."""

    def init(key: Array, shape: Sequence[int], dtype: DTypeLike | None = None) -> Array:
        return make(key, tuple(shape), _dtype(default if dtype is None else dtype))

    return init


def _dtype(dtype: Any) -> np.dtype[Any]:
    return DOUBLE if dtype is None else np.dtype(dtype)


@public
def zeros(key: Array, shape: Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """Return zeros.

    Parameters
    ----------
    key
        Not used.
    shape
        The shape of the result.
    dtype
        The dtype of the result, float64 by default.

    Examples
    --------
    >>> initializers.zeros(None, (2,))
    array([0., 0.])
    """
    return fnp.zeros(tuple(shape), _dtype(dtype))


@public_like(zeros)
def ones(key: Array, shape: Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """Return ones.

    Examples
    --------
    >>> initializers.ones(None, (2,))
    array([1., 1.])
    """
    return fnp.ones(tuple(shape), _dtype(dtype))


@public
def constant(value: Any, dtype: Any = None) -> Initializer:
    """Return an initializer whose arrays are full of a number.

    Parameters
    ----------
    value
        The number, or an array that broadcasts to the shape.

    Examples
    --------
    >>> initializers.constant(-7)(None, (2,))
    array([-7., -7.])
    """
    return _initializer(lambda key, shape, dtype: fnp.full(shape, value, dtype), dtype)


@public
def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer of numbers spread evenly over [0, scale).

    Parameters
    ----------
    scale
        The upper end.

    Examples
    --------
    >>> initializers.uniform(10.0)(random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _initializer(
        lambda key, shape, dtype: random.uniform(key, shape, dtype) * converted(scale, dtype), dtype
    )


@public
def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer of numbers from the normal distribution with mean 0.

    Parameters
    ----------
    stddev
        The standard deviation.

    Examples
    --------
    >>> initializers.normal(5.0)(random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _initializer(
        lambda key, shape, dtype: random.normal(key, shape, dtype) * converted(stddev, dtype), dtype
    )


@public
def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """Return an initializer of numbers from the normal distribution between two ends.

    Parameters
    ----------
    stddev
        The standard deviation of the distribution before it is cut.
    lower, upper
        The ends, in standard deviations.

    Examples
    --------
    >>> initializers.truncated_normal(5.0)(random.key(0), (2, 3)).shape
    (2, 3)
    """

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        drawn = random.truncated_normal(key, lower, upper, shape, dtype)
        return drawn * converted(stddev, dtype)

    return _initializer(make, dtype)


def _length(shape: tuple[int, ...], axes: Axes) -> int:
    return shape[axes] if isinstance(axes, int) else math.prod(shape[i] for i in axes)


def _fans(
    shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """Return the numbers of inputs and of outputs, each times the size of the window of a convolution."""
    if in_axis == -2 and len(shape) <= 1:
        raise ValueError(
            f"nn.initializers: an array of shape {shape} has no axis of inputs; give it two axes, or say in_axis"
        )
    inputs, outputs = _length(shape, in_axis), _length(shape, out_axis)
    window = math.prod(shape) / inputs / outputs / _length(shape, batch_axis)
    return inputs * window, outputs * window


_MODES: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda inputs, outputs: inputs,
    "fan_out": lambda inputs, outputs: outputs,
    "fan_avg": lambda inputs, outputs: (inputs + outputs) / 2,
    "fan_geo_avg": lambda inputs, outputs: (inputs * outputs) ** 0.5,
}


@public
def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """Return an initializer of numbers with mean 0 and variance ``scale / n``.

    Parameters
    ----------
    scale
        A positive number.
    mode
        The meaning of `n`: "fan_in" the number of inputs of the layer, "fan_out" that of outputs, "fan_avg" their
        mean, "fan_geo_avg" their geometric mean. Each is times the lengths of the axes that are none of the three
        kinds.
    distribution
        "truncated_normal" (within two standard deviations), "normal" or "uniform".

    Raises
    ------
    ValueError
        If there is no such mode, distribution or axis; the axes when the initializer is called.

    Examples
    --------
    >>> init = initializers.variance_scaling(2.0, "fan_in", "normal")
    >>> init(random.key(0), (2, 3)).shape
    (2, 3)
    """
    if mode not in _MODES:
        raise ValueError(f"nn.initializers: mode is one of {', '.join(_MODES)}, got {mode!r}")
    if distribution not in DISTRIBUTIONS:
        known = ", ".join(DISTRIBUTIONS)
        raise ValueError(f"nn.initializers: distribution is one of {known}, got {distribution!r}")

    def make(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        denominator = _MODES[mode](*_fans(shape, in_axis, out_axis, batch_axis))
        variance = converted(scale / denominator, dtype)
        return DISTRIBUTIONS[distribution](key, shape, dtype, variance)

    return _initializer(make, dtype)


class Scaling(Protocol):
    """`variance_scaling` with the scale, the mode and the distribution given."""

    def __call__(
        self,
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: DTypeLike | None = None,
    ) -> Initializer: ...


def _named(scale: float, mode: str, distribution: str, name: str, doc: str) -> Scaling:
    def make(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"Return `variance_scaling` with scale {scale}, {mode} and the {distribution} distribution.\n\n"
        f"Examples\n--------\n>>> initializers.{name}()(random.key(0), (2, 3)).shape\n(2, 3)\n\n"
        f"References\n----------\n{doc}"
    )
    return public(make)


_GLOROT = 'X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.'
_LECUN = 'G. Klambauer et al., "Self-Normalizing Neural Networks", 2017, arXiv:1706.02515, after Y. LeCun.'
_HE = 'K. He, X. Zhang, S. Ren, J. Sun, "Delving Deep into Rectifiers", 2015, arXiv:1502.01852.'

glorot_uniform = _named(1.0, "fan_avg", "uniform", "glorot_uniform", _GLOROT)
glorot_normal = _named(1.0, "fan_avg", "truncated_normal", "glorot_normal", _GLOROT)
lecun_uniform = _named(1.0, "fan_in", "uniform", "lecun_uniform", _LECUN)
lecun_normal = _named(1.0, "fan_in", "truncated_normal", "lecun_normal", _LECUN)
he_uniform = _named(2.0, "fan_in", "uniform", "he_uniform", _HE)
he_normal = _named(2.0, "fan_in", "truncated_normal", "he_normal", _HE)
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


@public
def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return an initializer of random matrices with orthonormal columns, or rows if these are fewer.

    Parameters
    ----------
    scale
        What the matrices are multiplied by.

    Raises
    ------
    ValueError
        When the initializer is called with a shape of fewer than two axes.

    Examples
    --------
    >>> q = initializers.orthogonal()(random.key(0), (3, 2))
    >>> print(np.round(abs(q.T @ q), 12))
    [[1. 0.]
     [0. 1.]]
    """

    def make(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        if len(shape) < 2:
            raise ValueError(f"nn.initializers.orthogonal: the shape has two axes, got {shape}")
        if 0 in shape:
            return fnp.zeros(shape, dtype)
        columns = shape[column_axis]
        others = tuple(int(n) for n in np.delete(shape, column_axis))
        # There is no factorization in numbers of two bytes.
        wide = computing_dtype(dtype) if kind_of(dtype) == "f" else dtype
        q = random.orthogonal(key, math.prod(others), (), wide, columns)
        q = fnp.moveaxis(fnp.reshape(q, (*others, columns)), -1, column_axis)
        return converted(converted(scale, wide) * q, dtype)

    return _initializer(make, dtype)


@public_like(orthogonal)
def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return an initializer of convolution kernels: an orthogonal matrix in the middle, and zeros around.

    Raises
    ------
    ValueError
        When the initializer is called with a shape of fewer than three axes or more than five, or with more inputs
        than outputs.

    Examples
    --------
    >>> initializers.delta_orthogonal()(random.key(0), (3, 2, 2))[0]
    array([[0., 0.],
           [0., 0.]])
    """

    def make(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        if len(shape) not in (3, 4, 5):
            raise ValueError(
                f"nn.initializers.delta_orthogonal: the shape has 3, 4 or 5 axes, got {shape}"
            )
        if shape[-1] < shape[-2]:
            raise ValueError(
                f"nn.initializers.delta_orthogonal: shape {shape} has more inputs than outputs"
            )
        matrix = orthogonal(scale, column_axis)(key, shape[-2:], dtype)
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        before = [(m, n - 1 - m) for m, n in zip(middle, shape[:-2])]
        matrix = fnp.reshape(matrix, (1,) * len(middle) + shape[-2:])
        return fnp.pad(matrix, [*before, (0, 0), (0, 0)])

    return _initializer(make, dtype)
