"""Networks as pairs of functions, with the names and the numbers of `jax.example_libraries.stax`.

A *layer* is a pair ``(init, apply)``: ``init(key, input_shape)`` returns the shape of the result and the parameters,
``apply(params, inputs, rng=None)`` the result. The first axis is that of the batch, the last that of the channels;
in shapes, the length of the batch may be -1.

>>> import numpy as np
>>> from fungrad import random
>>> from fungrad.example_libraries import stax
>>> init, apply = stax.serial(stax.Dense(32), stax.Relu, stax.Dense(10), stax.LogSoftmax)
>>> shape, params = init(random.key(0), (-1, 784))
>>> shape
(-1, 10)
>>> apply(params, np.ones((5, 784))).shape
(5, 10)

Parameters are float64, unless an initializer says otherwise: ``W_init=stax.glorot(dtype=np.float32)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import random
from fungrad.example_libraries.layers import (
    GLOROT,
    SMALL,
    Layer,
    Shape,
    affine,
    layer,
    public,
    same,
)
from fungrad.example_libraries.windows import (
    AvgPool,
    Conv,
    Conv1DTranspose,
    ConvTranspose,
    GeneralConv,
    GeneralConvTranspose,
    MaxPool,
    SumPool,
)
from fungrad.extend.types import type_of
from fungrad.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from fungrad.nn.initializers import Initializer, glorot_normal, normal, ones, zeros
from fungrad.nn.layers import kept

__all__ = [
    "AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense", "Dropout", "Elu", "Exp",
    "FanInConcat", "FanInSum", "FanOut", "Flatten", "Gelu", "GeneralConv", "GeneralConvTranspose", "Identity",
    "LeakyRelu", "LogSoftmax", "MaxPool", "Relu", "Selu", "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh",
    "elementwise", "elu", "gelu", "glorot", "glorot_normal", "leaky_relu", "log_softmax", "logsoftmax",
    "normal", "ones", "parallel", "randn", "relu", "selu", "serial", "shape_dependent", "sigmoid", "softmax",
    "softplus", "standardize", "zeros",
]  # fmt: skip
__dir__ = __all__.copy

glorot, randn, logsoftmax = glorot_normal, normal, log_softmax


@public
def Dense(out_dim: int, W_init: Initializer = GLOROT, b_init: Initializer = SMALL) -> Layer:
    """Return a layer ``inputs @ W + b``.

    Parameters
    ----------
    out_dim
        The length of the last axis of the result.

    Examples
    --------
    >>> init, apply = stax.Dense(3)
    >>> shape, (W, b) = init(random.key(0), (-1, 2))
    >>> shape, W.shape, b.shape
    ((-1, 3), (2, 3), (3,))
    """

    def shapes(shape: Shape) -> tuple[Shape, Shape, Shape]:
        return (*shape[:-1], out_dim), (shape[-1], out_dim), (out_dim,)

    return affine(shapes, fnp.dot, W_init, b_init)


@public
def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = zeros,
    gamma_init: Initializer = ones,
) -> Layer:
    """Return a layer ``gamma * standardize(inputs) + beta``, by the statistics of the batch at hand.

    Statistics that are kept for later: `fungrad.nn.batch_norm`.

    Parameters
    ----------
    axis
        The axes that statistics are of.
    epsilon
        What is added to the variance.
    center, scale
        Whether there is a `beta`, and a `gamma`.
    beta_init, gamma_init
        Their initializers.

    Examples
    --------
    >>> init, apply = stax.BatchNorm(axis=0)
    >>> shape, params = init(random.key(0), (-1, 2))
    >>> apply(params, np.array([[0.0, 5.0], [2.0, 5.0]])).round(3)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    axes = (axis,) if isinstance(axis, int | np.integer) else tuple(axis)

    def init(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        shape = tuple(n for i, n in enumerate(input_shape) if i not in axes)
        of_beta, of_gamma = random.split(rng)
        beta = beta_init(of_beta, shape) if center else ()
        return input_shape, (beta, gamma_init(of_gamma, shape) if scale else ())

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        out = standardize(inputs, axes, epsilon=epsilon)
        out = fnp.expand_dims(gamma, axes) * out if scale else out
        return out + fnp.expand_dims(beta, axes) if center else out

    return init, apply


@public
def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """Return a layer that applies a function to its inputs, and keeps their shape.

    Parameters
    ----------
    fun
        A function of an array.
    **fun_kwargs
        What else it is given.

    Examples
    --------
    >>> init, apply = stax.elementwise(fnp.clip, min=0.0)
    >>> apply((), np.array([-1.0, 1.0]))
    array([0., 1.])
    """
    return layer(lambda inputs: fun(inputs, **fun_kwargs))


Tanh, Relu, Exp = elementwise(fnp.tanh), elementwise(relu), elementwise(fnp.exp)
LogSoftmax, Softmax = elementwise(log_softmax, axis=-1), elementwise(softmax, axis=-1)
Softplus, Sigmoid, Elu = elementwise(softplus), elementwise(sigmoid), elementwise(elu)
LeakyRelu, Selu, Gelu = elementwise(leaky_relu), elementwise(selu), elementwise(gelu)
Identity = layer(same)
Flatten = layer(
    lambda x: fnp.reshape(x, (type_of(x).shape[0], -1)),
    lambda shape: (shape[0], math.prod(shape[1:])),
)


@public
def FanOut(num: int) -> Layer:
    """Return a layer that repeats its inputs in a list.

    Parameters
    ----------
    num
        How many times.

    Examples
    --------
    >>> init, apply = stax.FanOut(2)
    >>> apply((), 5.0)
    [5.0, 5.0]
    """
    return layer(lambda x: [x] * num, lambda shape: [shape] * num)


FanInSum = layer(sum, lambda shapes: shapes[0])


@public
def FanInConcat(axis: int = -1) -> Layer:
    """Return a layer that joins a list of inputs along an axis.

    Parameters
    ----------
    axis
        The axis.

    Examples
    --------
    >>> init, apply = stax.FanInConcat()
    >>> init(None, [(-1, 2), (-1, 3)])[0]
    (-1, 5)
    """

    def shape(shapes: Shape) -> Shape:
        joined = list(shapes[0])
        joined[axis] = sum(s[axis] for s in shapes)
        return tuple(joined)

    return layer(lambda inputs: fnp.concatenate(inputs, axis), shape)


@public
def Dropout(rate: Any, mode: str = "train") -> Layer:
    """Return a layer that keeps a part of the elements, divided by `rate`, and sets the others to 0.

    Parameters
    ----------
    rate
        The probability that an element is kept; that of `fungrad.nn.dropout` is the other one.
    mode
        "train"; with any other the layer does nothing.

    Raises
    ------
    ValueError
        If `apply` is given no key.

    Examples
    --------
    >>> init, apply = stax.Dropout(0.5)
    >>> apply((), np.ones(4), rng=random.key(0))
    array([2., 2., 0., 0.])
    """

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "stax.Dropout: the layer draws random numbers; give apply a key, apply(params, inputs, rng=key)"
            )
        return kept(rng, inputs, rate) if mode == "train" else inputs

    return layer(same)[0], apply


def _keys(rng: Any, n: int) -> Any:
    return [None] * n if rng is None else random.split(rng, n)


def _matched(name: str, layers: Sequence[Layer], given: Sequence[Any], what: str) -> None:
    if len(given) != len(layers):
        raise ValueError(f"stax.{name}: {len(layers)} layers are given {len(given)} {what}")


@public
def serial(*layers: Layer) -> Layer:
    """Return the layer that applies layers one after the other.

    Parameters
    ----------
    *layers
        Layers; the parameters are a list of theirs.

    Examples
    --------
    >>> init, apply = stax.serial(stax.Dense(3), stax.Tanh)
    >>> shape, params = init(random.key(0), (-1, 2))
    >>> len(params), apply(params, np.ones((5, 2))).shape
    (2, (5, 3))
    """

    def init(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        params = []
        for init_one, _ in layers:
            rng, own = random.split(rng)
            input_shape, layer_params = init_one(own, input_shape)
            params.append(layer_params)
        return input_shape, params

    def apply(params: Any, inputs: Any, *, rng: Any = None, **kwargs: Any) -> Any:
        _matched("serial", layers, params, "parts of parameters")
        for (_, apply_one), own, key in zip(layers, params, _keys(rng, len(layers)), strict=True):
            inputs = apply_one(own, inputs, rng=key, **kwargs)
        return inputs

    return init, apply


@public
def parallel(*layers: Layer) -> Layer:
    """Return the layer that applies each of the layers to an input of its own, as after `FanOut`.

    Parameters
    ----------
    *layers
        Layers; the parameters are a tuple of theirs.

    Examples
    --------
    >>> init, apply = stax.serial(stax.FanOut(2), stax.parallel(stax.Tanh, stax.Identity), stax.FanInSum)
    >>> apply([(), ((), ()), ()], np.array([0.0, 1.0]))
    array([0.        , 1.76159416])
    """

    def init(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        _matched("parallel", layers, input_shape, "shapes of inputs")
        given = zip(layers, random.split(rng, len(layers)), input_shape, strict=True)
        shapes, params = zip(*[pair[0](key, shape) for pair, key, shape in given], strict=True)
        return shapes, params

    def apply(params: Any, inputs: Any, *, rng: Any = None, **kwargs: Any) -> Any:
        _matched("parallel", layers, params, "parts of parameters")
        _matched("parallel", layers, inputs, "inputs")
        given = zip(layers, params, inputs, _keys(rng, len(layers)), strict=True)
        return [pair[1](own, x, rng=key, **kwargs) for pair, own, x, key in given]

    return init, apply


@public
def shape_dependent(make_layer: Callable[[Shape], Layer]) -> Layer:
    """Return a layer that is made when the shape of its inputs is known.

    Parameters
    ----------
    make_layer
        Takes a shape and returns a layer.

    Examples
    --------
    >>> init, apply = stax.shape_dependent(lambda shape: stax.Dense(2 * shape[-1]))
    >>> init(random.key(0), (-1, 3))[0]
    (-1, 6)
    """
    return (
        lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
        lambda params, inputs, **kwargs: make_layer(type_of(inputs).shape)[1](
            params, inputs, **kwargs
        ),
    )
