"""Windows of a convolution as channels, and convolutions with kernels that vary by place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fungrad.lax.glossary import public, public_like
from fungrad.lax.operands import own_result
from fungrad.lax.spatial import (
    ConvGeneralDilatedDimensionNumbers,
    Padding,
    conv_dimension_numbers,
    dilated,
    factors_of,
    operands_of,
    pads_of,
    windows_of,
)
from fungrad.primitives.contraction import contract
from fungrad.primitives.joins import Stack
from fungrad.primitives.shaping import Reshape, inverse_permutation, permuted
from fungrad.primitives.slices import pad
from fungrad.primitives.windows import every


@public
def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Return the elements of each window of a convolution as channels.

    Parameters
    ----------
    lhs : array
        Input, with a batch axis, c channels and d spatial axes.
    filter_shape : sequence of d int
        Lengths of the windows.
    window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision
        As of `conv_general_dilated`.
    preferred_element_type : dtype, optional
        A dtype of the result.

    Returns
    -------
    array
        With the batch, c times the size of a window channels, and the places.

    Raises
    ------
    TypeError, ValueError
        As `conv_general_dilated`.

    Examples
    --------
    >>> lax.conv_general_dilated_patches(np.arange(4.0).reshape(1, 1, 4), (2,), (1,), "VALID")
    array([[[0., 1., 2.],
            [1., 2., 3.]]])
    """
    name = "conv_general_dilated_patches"
    lhs, _ = operands_of(name, lhs, lhs, preferred_element_type)
    d = len(lhs.shape) - 2
    window = factors_of(name, "filter_shape", filter_shape, d)
    # Kernels of this shape in any order: that of their spatial axes is all that matters.
    numbers = conv_dimension_numbers(lhs.shape, (1,) * (d + 2), dimension_numbers)
    strides = factors_of(name, "window_strides", window_strides, d)
    of_x = factors_of(name, "lhs_dilation", lhs_dilation, d)
    of_w = factors_of(name, "rhs_dilation", rhs_dilation, d)
    x = permuted(lhs, numbers.lhs_spec)
    pads = pads_of(name, padding, x.shape[2:], tuple(map(dilated, window, of_w)), strides)
    lengths = tuple(map(dilated, x.shape[2:], of_x))
    places = windows_of(name, lengths, window, strides, pads, of_w)
    x = pad(
        x,
        [0, 0, *[p[0] for p in pads]],
        [0, 0, *[p[1] for p in pads]],
        [0, 0, *[f - 1 for f in of_x]],
    )
    n, c = x.shape[:2]
    for i in range(d):  # axes: n, c, those within windows so far, places so far, the rest of x
        axis = 2 + 2 * i
        taps = [every(x, axis, k * of_w[i], places[i], strides[i]) for k in range(window[i])]
        x = Stack(2 + i)(*taps)
    y = Reshape((n, c * math.prod(window), *places))(x if d else own_result(x))
    return permuted(y, inverse_permutation(numbers.out_spec))


@public_like(conv_general_dilated_patches)
def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: Any = None,
) -> Any:
    """Convolve with kernels that differ from place to place: a locally connected layer.

    Parameters
    ----------
    rhs : array
        Kernels, of the same dtype: spatial axes are the places of the result, input channels the elements of
        a window as `conv_general_dilated_patches` orders them.

    Returns
    -------
    array
        With the batch, output channels and places, in the order of `dimension_numbers`.

    Examples
    --------
    >>> x, w = np.arange(3.0).reshape(1, 1, 3), np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> lax.conv_general_dilated_local(x, w, (1,), "VALID", (2,))
    array([[[0., 2.]]])
    """
    name = "conv_general_dilated_local"
    lhs, rhs = operands_of(name, lhs, rhs, None)
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    first = tuple(range(len(lhs.shape)))
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers._replace(out_spec=first),
    )
    w = permuted(rhs, numbers.rhs_spec)
    if patches.shape[1:] != w.shape[1:]:
        raise ValueError(
            f"lax.{name}: there are windows of {patches.shape[1]} elements at places {patches.shape[2:]}, but "
            f"rhs has kernels of {w.shape[1]} at {w.shape[2:]}"
        )
    batch, channels, *axes = first  # names of axes
    out = len(first)
    y = contract(patches, [batch, channels, *axes], w, [out, channels, *axes], [batch, out, *axes])
    return permuted(y, inverse_permutation(numbers.out_spec))
