"""The layers of stax that look at windows: convolutions and pooling."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import fungrad.numpy as fnp
from fungrad import lax
from fungrad.example_libraries.layers import TINY, Layer, Shape, affine, layer, public
from fungrad.extend.types import type_of
from fungrad.nn.initializers import Initializer, glorot_normal

__all__ = [
    "AvgPool", "Conv", "Conv1DTranspose", "ConvTranspose", "GeneralConv", "GeneralConvTranspose", "MaxPool",
    "SumPool",
]  # fmt: skip


def _convolution(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    W_init: Initializer | None,
    b_init: Initializer,
    result_shape: Callable[[Shape, Shape], Shape],
    product: Callable[[Any, Any], Any],
) -> Layer:
    inputs, weights, results = dimension_numbers

    def shapes(shape: Shape) -> tuple[Shape, Shape, Shape]:
        window = iter(filter_shape)
        lengths = {"O": out_chan, "I": shape[inputs.index("C")]}
        W_shape = tuple(lengths[c] if c in lengths else next(window) for c in weights)
        b_shape = tuple(out_chan if c == "C" else 1 for c in results)
        return result_shape(shape, W_shape), W_shape, b_shape

    W_init = W_init or glorot_normal(weights.index("I"), weights.index("O"))
    return affine(shapes, product, W_init, b_init)


@public
def GeneralConv(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = TINY,
) -> Layer:
    """Return a layer that convolves, and adds a bias for each channel.

    `Conv` is this layer for images: `dimension_numbers` is ("NHWC", "HWIO", "NHWC").

    Examples
    --------
    >>> init, apply = stax.Conv(8, (3, 3), padding="SAME")
    >>> init(random.key(0), (-1, 28, 28, 1))[0]
    (-1, 28, 28, 8)
    """
    one = (1,) * len(filter_shape)
    strides = strides or one
    numbers: Any = tuple(dimension_numbers)
    return _convolution(
        dimension_numbers, out_chan, filter_shape, W_init, b_init,
        lambda x, W: lax.conv_general_shape_tuple(x, W, strides, padding, numbers),
        lambda x, W: lax.conv_general_dilated(
            x, W, strides, padding, one, one, dimension_numbers=numbers
        ),
    )  # fmt: skip


@public
def GeneralConvTranspose(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = TINY,
) -> Layer:
    """Return a layer that is a transposed convolution, and adds a bias for each channel.

    `ConvTranspose` is this layer for images, ("NHWC", "HWIO", "NHWC"); `Conv1DTranspose` that of sequences,
    ("NHC", "HIO", "NHC").

    Examples
    --------
    >>> init, apply = stax.ConvTranspose(8, (2, 2), (2, 2))
    >>> init(random.key(0), (-1, 14, 14, 1))[0]
    (-1, 28, 28, 8)
    """
    strides = strides or (1,) * len(filter_shape)
    numbers: Any = tuple(dimension_numbers)
    return _convolution(
        dimension_numbers, out_chan, filter_shape, W_init, b_init,
        lambda x, W: lax.conv_transpose_shape_tuple(x, W, strides, padding, numbers),
        lambda x, W: lax.conv_transpose(x, W, strides, padding, dimension_numbers=numbers),
    )  # fmt: skip


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def _pooling(name: str, what: str, example: str, pool: Callable[..., Any]) -> Callable[..., Layer]:
    """Return a constructor of layers whose outputs are ``pool(inputs, inner, window, strides, padding)``.

    `window`, `strides` and `padding` include the axes of batch and channels; `inner` lists the other axes.
    """

    def make(
        window_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: Any = "VALID",
        spec: str | None = None,
    ) -> Layer:
        ndim = len(window_shape) + 2
        outer = (0, ndim - 1) if spec is None else (spec.index("N"), spec.index("C"))
        inner = [i for i in range(ndim) if i not in outer]

        if strides is not None and len(strides) != len(inner):
            raise ValueError(
                f"stax.{name}: strides {strides} must have one number for each axis of the window {window_shape}"
            )

        def whole(lengths: Sequence[int]) -> tuple[int, ...]:
            by_axis = dict(zip(inner, lengths, strict=True))
            return tuple(by_axis.get(i, 1) for i in range(ndim))

        window, steps = whole(window_shape), whole(strides or (1,) * len(inner))

        def shape(inputs: Shape) -> Shape:
            known = [
                1 if n == -1 else n for n in inputs
            ]  # -1, of the batch, is a length not known yet
            pads: Any = padding
            if isinstance(padding, str):
                pads = lax.padtype_to_pads(known, window, steps, padding)
            outputs = lax.reduce_window_shape_tuple(known, window, steps, pads)
            return tuple(-1 if n == -1 else m for n, m in zip(inputs, outputs, strict=True))

        return layer(lambda x: pool(x, inner, window, steps, padding), shape)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"Return a layer of {what} of windows.\n\n"
        "Parameters\n----------\n"
        "window_shape\n    The lengths of the window, without the axes of batch and channels.\n"
        "padding\n    As of `fungrad.lax.reduce_window`: a string, or a pair for each axis of the inputs.\n"
        'spec\n    The axes of the inputs; those of "N" and "C" are the first and the last by default.\n\n'
        f"Examples\n--------\n>>> init, apply = stax.{name}((2,), (2,))\n"
        f">>> apply((), np.array([1.0, 3.0, 5.0, 9.0]).reshape(1, 4, 1)).ravel()\n{example}"
    )
    return public(make)


def _sums(x: Any, inner: Sequence[int], *windows: Any) -> Any:
    return lax.reduce_window(x, 0.0, lax.add, *windows)


def _means(x: Any, inner: Sequence[int], *windows: Any) -> Any:
    """Padding does not count."""
    shape = [n if i in inner else 1 for i, n in enumerate(type_of(x).shape)]
    ones = fnp.ones_like(x, shape=shape)
    return _sums(x, inner, *windows) / _sums(ones, inner, *windows)


MaxPool = _pooling(
    "MaxPool", "the largest elements", "array([3., 9.])",
    lambda x, inner, *windows: lax.reduce_window(x, -math.inf, lax.max, *windows),
)  # fmt: skip
SumPool = _pooling("SumPool", "the sums", "array([ 4., 14.])", _sums)
AvgPool = _pooling("AvgPool", "the means, padding left out,", "array([2., 7.])", _means)
