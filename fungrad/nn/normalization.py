"""Normalization: `layer_norm`, `rms_norm`, `group_norm`, `instance_norm`, `batch_norm`.

>>> import numpy as np
>>> from fungrad import nn
>>> nn.layer_norm(np.array([[1.0, 2.0, 3.0]]), scale=np.array([1.0, 1.0, 2.0]))
array([[-1.22473569,  0.        ,  2.44947137]])

Means and variances are those of the elements in float32 at least, the variance as the mean of the squares of the
deviations. Where a parameter has another dtype than `x`, that of the result is what NumPy promotes both to.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

import fungrad.numpy as fnp
from fungrad import lax
from fungrad.extend.precision import array, computed, converted, widened
from fungrad.extend.types import Shape, kind_of, type_of
from fungrad.nn.glossary import public, public_like
from fungrad.nn.sums import standardize

Axes = int | Sequence[int]


def _real(name: str, x: Any) -> Any:
    x = array(x)
    if kind_of(type_of(x).dtype) == "c":
        raise TypeError(f"nn.{name}: normalization is of real numbers, got {type_of(x)}")
    return x


def _along(name: str, parameter: str, value: Any, axes: tuple[int, ...], shape: Shape) -> Any:
    """Return a parameter that has the lengths of these axes, so that it broadcasts with the array."""
    value, lengths = array(value), tuple(shape[i] for i in axes)
    if type_of(value).shape != lengths:
        raise ValueError(
            f"nn.{name}: {parameter} is of shape {lengths}, as axes {axes} of an array of shape {shape}; "
            f"got one of shape {type_of(value).shape}"
        )
    value = fnp.transpose(value, [int(i) for i in np.argsort(axes)])
    return fnp.reshape(value, [n if i in axes else 1 for i, n in enumerate(shape)])


def _affine(
    name: str, normalized: Any, x: Any, scale: Any, bias: Any, axes: tuple[int, ...]
) -> Any:
    """Return ``normalized(x) * scale + bias``, where the parameters have the lengths of these axes."""
    given = {"scale": scale, "bias": bias}
    shape = type_of(x).shape
    there = {k: _along(name, k, v, axes, shape) for k, v in given.items() if v is not None}

    def rule(x: Any, *values: Any) -> Any:
        out, parameters = normalized(x), dict(zip(there, values, strict=True))
        out = out * parameters["scale"] if "scale" in parameters else out
        return out + parameters["bias"] if "bias" in parameters else out

    return computed(rule, x, *there.values())


@public
def layer_norm(
    x: Any, scale: Any = None, bias: Any = None, axis: Axes = -1, epsilon: float = 1e-5
) -> Any:
    """Return an array normalized along some axes, times `scale` plus `bias`.

    That is, less its mean, and divided by the root of its variance.

    Parameters
    ----------
    scale, bias
        Arrays with the lengths of these axes; by default 1 and 0. (PyTorch's `weight` and `bias`.)
    axis
        The axis, or axes, of one example: those of the `normalized_shape` of PyTorch, the `reduction_axes` of flax.

    Examples
    --------
    >>> nn.layer_norm(np.array([[1.0, 2.0, 3.0]]))
    array([[-1.22473569,  0.        ,  1.22473569]])

    References
    ----------
    J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer Normalization", 2016, arXiv:1607.06450.
    """
    x = _real("layer_norm", x)
    axes = normalize_axis_tuple(axis, type_of(x).ndim, "nn.layer_norm")
    normalized = functools.partial(standardize, axis=axes, epsilon=epsilon, algorithm="stable")
    return _affine("layer_norm", normalized, x, scale, bias, axes)


@public
def rms_norm(x: Any, scale: Any = None, axis: Axes = -1, epsilon: float = 1e-6) -> Any:
    """Return an array divided by the root of the mean of its squares along some axes, times `scale`.

    Parameters
    ----------
    scale
        An array with the lengths of these axes; by default 1.
    axis
        The axis, or axes, of one example.
    epsilon
        What is added to the mean of squares: 1e-6 as in flax, where PyTorch has the rounding unit of the dtype.

    Examples
    --------
    >>> nn.rms_norm(np.array([[1.0, 7.0]])).round(3)
    array([[0.2, 1.4]])

    References
    ----------
    B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization", 2019, arXiv:1910.07467.
    """
    x = _real("rms_norm", x)
    axes = normalize_axis_tuple(axis, type_of(x).ndim, "nn.rms_norm")

    def normalized(x: Any) -> Any:
        return x * lax.rsqrt(fnp.mean(fnp.square(x), axis=axes, keepdims=True) + epsilon)

    return _affine("rms_norm", normalized, x, scale, None, axes)


@public
def group_norm(
    x: Any,
    num_groups: int,
    scale: Any = None,
    bias: Any = None,
    *,
    channel_axis: int = -1,
    batch_axis: Axes = 0,
    epsilon: float = 1e-5,
) -> Any:
    """Return an array with groups of channels normalized in each example, times `scale` plus `bias`.

    Parameters
    ----------
    num_groups
        How many groups of neighbouring channels there are.
    batch_axis
        The axis, or axes, of the batch; ``()`` for a single example, as under `vmap`.

    Raises
    ------
    ValueError
        If channels do not make so many groups of one size, or parameters do not fit them.

    Examples
    --------
    >>> nn.group_norm(np.array([[1.0, 3.0, 10.0, 30.0]]), 2).round(3)
    array([[-1.,  1., -1.,  1.]])

    References
    ----------
    Y. Wu, K. He, "Group Normalization", 2018, arXiv:1803.08494.
    """
    x = _real("group_norm", x)
    return _grouped("group_norm", x, num_groups, scale, bias, channel_axis, batch_axis, epsilon)


@public_like(group_norm)
def instance_norm(
    x: Any,
    scale: Any = None,
    bias: Any = None,
    *,
    channel_axis: int = -1,
    batch_axis: Axes = 0,
    epsilon: float = 1e-5,
) -> Any:
    """Return `group_norm` with a group for each channel.

    Examples
    --------
    >>> nn.instance_norm(np.array([[[1.0, 3.0], [10.0, 30.0]]]), channel_axis=1).round(3)
    array([[[-1.,  1.],
            [-1.,  1.]]])

    References
    ----------
    D. Ulyanov, A. Vedaldi, V. Lempitsky, "Instance Normalization: The Missing Ingredient for Fast Stylization", 2016,
    arXiv:1607.08022.
    """
    x = _real("instance_norm", x)
    return _grouped("instance_norm", x, None, scale, bias, channel_axis, batch_axis, epsilon)


def _grouped(
    name: str,
    x: Any,
    num_groups: int | None,
    scale: Any,
    bias: Any,
    channel_axis: int,
    batch_axis: Axes,
    epsilon: float,
) -> Any:
    shape = type_of(x).shape
    (channel,) = normalize_axis_tuple(channel_axis, len(shape), f"nn.{name}")
    batch = normalize_axis_tuple(batch_axis, len(shape), f"nn.{name}")
    if channel in batch:
        raise ValueError(f"nn.{name}: axis {channel} cannot be that of channels and of the batch")
    count = shape[channel]
    groups = max(count, 1) if num_groups is None else num_groups
    if groups < 1 or count % groups:
        raise ValueError(f"nn.{name}: {count} channels do not make {groups} groups of one size")
    split = (*shape[:channel], groups, count // groups, *shape[channel + 1 :])
    own = {channel, *[i + (i > channel) for i in batch]}
    axes = tuple(i for i in range(len(split)) if i not in own)

    def normalized(x: Any) -> Any:
        out = standardize(fnp.reshape(x, split), axes, epsilon=epsilon, algorithm="stable")
        return fnp.reshape(out, shape)

    return _affine(name, normalized, x, scale, bias, (channel,))


@public
def batch_norm(
    x: Any,
    running: tuple[Any, Any],
    scale: Any = None,
    bias: Any = None,
    *,
    training: bool,
    channel_axis: int = -1,
    momentum: Any = 0.99,
    epsilon: float = 1e-5,
    axis_name: Any = None,
) -> tuple[Any, tuple[Any, Any]]:
    """Return an array whose channels have mean 0 and variance 1 over the batch, and running statistics.

    Parameters
    ----------
    running
        The mean and the variance of each channel so far, arrays of floating-point numbers; 0 and 1 to begin with.
        They keep their dtype, and decide no other.
    training
        Whether to normalize by the statistics of `x`, and to return running ones that have moved towards them; if not,
        `running` is used and returned.
    momentum
        How much of the running statistics is kept, as in flax, whose default this is. (PyTorch's `momentum` is the
        other part, 0.1.)
    axis_name
        The name of an axis that `vmap` maps over, or a tuple of names: statistics are over these too.

    Returns
    -------
    array, (array, array)
        The result, and the running mean and variance. As in flax the variance has the divisor n; that of PyTorch's
        running one is n - 1.

    Raises
    ------
    ValueError
        If parameters or running statistics do not have the length of the channels.

    Examples
    --------
    >>> running = np.zeros(1), np.ones(1)
    >>> x = np.array([[1.0], [5.0]])
    >>> y, running = nn.batch_norm(x, running, training=True, momentum=0.5)
    >>> y.round(3), running
    (array([[-1.],
           [ 1.]]), (array([1.5]), array([2.5])))
    >>> nn.batch_norm(x, running, training=False)[0].round(3)
    array([[-0.316],
           [ 2.214]])

    References
    ----------
    S. Ioffe, C. Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate
    Shift", 2015, arXiv:1502.03167.
    """
    x = _real("batch_norm", x)
    shape = type_of(x).shape
    (channel,) = normalize_axis_tuple(channel_axis, len(shape), "nn.batch_norm")
    axes = tuple(i for i in range(len(shape)) if i != channel)
    dtype, (wide, *_) = widened(x, *[p for p in (scale, bias) if p is not None])
    old = [array(r) for r in running]
    if any(kind_of(type_of(r).dtype) != "f" for r in old):
        raise TypeError("nn.batch_norm: running has two arrays of floating-point numbers")
    placed = [_along("batch_norm", "running", r, (channel,), shape) for r in old]
    mean, variance = [converted(r, type_of(wide).dtype) for r in placed]
    new = old
    if training:
        mean = _mean(wide, axes, axis_name)
        variance = _mean(fnp.square(wide - mean), axes, axis_name)
        steps = [fnp.reshape(s, shape[channel]) - r for s, r in zip((mean, variance), old)]
        new = [r + (1 - momentum) * step for r, step in zip(old, steps)]
        new = [converted(n, type_of(r).dtype) for n, r in zip(new, old)]
    normalized = functools.partial(
        standardize, axis=axes, mean=mean, variance=variance, epsilon=epsilon
    )
    out = _affine("batch_norm", normalized, wide, scale, bias, (channel,))
    return converted(out, dtype), (new[0], new[1])


def _mean(x: Any, axes: tuple[int, ...], axis_name: Any) -> Any:
    mean = fnp.mean(x, axis=axes, keepdims=True)
    return mean if axis_name is None else lax.pmean(mean, axis_name)
