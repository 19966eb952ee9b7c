"""Building blocks of stax's layers: pairs of functions, and the glossary of their documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fungrad import random
from fungrad.extend.packages import Glossary
from fungrad.nn.initializers import Initializer, glorot_normal, normal

Shape = (
    Any  # of a layer's inputs: a tuple of integers, or a sequence of these where there are several
)
GLOROT, SMALL, TINY = glorot_normal(), normal(), normal(1e-6)
"""The initializers of weights, and of the biases of products and of convolutions."""

Layer = tuple[Callable[[Any, Shape], tuple[Shape, Any]], Callable[..., Any]]

public = Glossary(
    {
        "W_init": "The initializer of the weights; `glorot_normal` by default.",
        "b_init": "The initializer of the bias.",
        "dimension_numbers": 'Three strings, of the axes of inputs, weights and results, such as ("NHWC", "HWIO", "NHWC").',
        "filter_shape": "The lengths of the window.",
        "out_chan": "The number of channels of the result.",
        "padding": 'As of `fungrad.lax.conv_general_dilated`: "VALID", "SAME", or a pair for each axis.',
        "strides": "The steps of the window, all 1 by default.",
    },
    imports={
        "np": "import numpy as np",
        "fnp": "import fungrad.numpy as fnp",
        "random": "from fungrad import random",
        "stax": "from fungrad.example_libraries import stax",
    },
).public


def same(shape: Shape) -> Shape:
    """Return the shape."""
    return shape


def layer(function: Callable[[Any], Any], shape: Callable[[Shape], Shape] = same) -> Layer:
    """Return a layer without parameters, by the shape of its result for that of its inputs."""
    return (
        lambda rng, input_shape: (shape(input_shape), ()),
        lambda params, inputs, **kwargs: function(inputs),
    )


def affine(
    shapes: Callable[[Shape], tuple[Shape, Shape, Shape]],
    product: Callable[[Any, Any], Any],
    W_init: Initializer,
    b_init: Initializer,
) -> Layer:
    """Return the layer ``product(inputs, W) + b``, by the shapes of its result, of W and of b."""

    def init(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        output_shape, W_shape, b_shape = shapes(input_shape)
        of_W, of_b = random.split(rng)
        return output_shape, (W_init(of_W, W_shape), b_init(of_b, b_shape))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return product(inputs, W) + b

    return init, apply
