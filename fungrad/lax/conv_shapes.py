"""The shapes of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.lax.glossary import public, public_like
from fungrad.lax.spatial import (
    ConvGeneralDilatedDimensionNumbers,
    Pads,
    conv_dimension_numbers,
    dilated,
    factors_of,
    pads_of,
    windows_of,
)
from fungrad.primitives.shaping import inverse_permutation


@public
def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: str | Sequence[tuple[int, int]],
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of a convolution, all shapes in canonical order.

    Parameters
    ----------
    lhs_shape, rhs_shape : sequence of int
        Shapes (batch, channels, spatial axes) and (output channels, input channels, spatial axes).
    strides : sequence of int
        Steps between windows.
    pads : str or sequence of (int, int)
        As of `conv_general_dilated`.
    batch_group_count : int
        By how much the batch is divided.

    Returns
    -------
    tuple of int
        Shape (batch, channels, spatial axes).

    Examples
    --------
    >>> lax.conv_shape_tuple((8, 3, 32, 32), (16, 3, 5, 5), (2, 2), "SAME")
    (8, 16, 16, 16)
    """
    name = "conv_shape_tuple"
    lengths, window = tuple(lhs_shape[2:]), tuple(rhs_shape[2:])
    strides = factors_of(name, "strides", strides, len(lengths))
    pad_widths = pads_of(name, pads, lengths, window, strides)
    places = windows_of(name, lengths, window, strides, pad_widths, (1,) * len(lengths))
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *places)


def _general_shape(
    name: str, lhs_shape: Any, rhs_shape: Any, numbers: Any, dilation: Any, strides: Any, pads: Any
) -> tuple[int, ...]:
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, numbers)
    lhs = [lhs_shape[a] for a in numbers.lhs_spec]
    rhs = [rhs_shape[a] for a in numbers.rhs_spec]
    factors = factors_of(name, "window_strides", dilation, len(lhs) - 2)
    lhs[2:] = map(dilated, lhs[2:], factors)
    if isinstance(pads, str) and dilation is not None:
        pads = transposed_pads(rhs[2:], factors, pads)
    shape = conv_shape_tuple(lhs, rhs, strides, pads)
    return tuple([shape[i] for i in inverse_permutation(numbers.out_spec)])


@public
def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """Return the shape of ``conv_general_dilated`` with these arguments.

    Parameters
    ----------
    lhs_shape, rhs_shape : sequence of int
        Shapes of the input and the kernels.
    window_strides, padding, dimension_numbers
        As of `conv_general_dilated`.

    Returns
    -------
    tuple of int
        Shape of the result.

    Examples
    --------
    >>> layout = ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_general_shape_tuple((8, 32, 32, 3), (5, 5, 3, 16), (2, 2), "SAME", layout)
    (8, 16, 16, 16)
    """
    name = "conv_general_shape_tuple"
    numbers = dimension_numbers
    return _general_shape(name, lhs_shape, rhs_shape, numbers, None, window_strides, padding)


@public_like(conv_general_shape_tuple)
def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """Return the shape of ``conv_transpose`` with these arguments.

    Parameters
    ----------
    window_strides, padding, dimension_numbers
        The strides, the padding and the dimension numbers of `conv_transpose`.

    Examples
    --------
    >>> layout = ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_transpose_shape_tuple((8, 16, 16, 3), (5, 5, 3, 16), (2, 2), "SAME", layout)
    (8, 32, 32, 16)
    """
    name = "conv_transpose_shape_tuple"
    numbers = dimension_numbers
    return _general_shape(name, lhs_shape, rhs_shape, numbers, window_strides, None, padding)


def transposed_pads(window: Sequence[int], strides: Sequence[int], padding: str) -> Pads:
    """Return the padding of a transposed convolution that undoes the shape of one with `padding`.

    A convolution "SAME" of s * n elements with stride s has n, one "VALID" of (n - 1) * s + max(s, window). The
    transposed one makes as many of n: it dilates them by s and pads.
    """
    kind = padding.upper()
    if kind not in ("SAME", "VALID"):
        raise ValueError(
            f"padding of a transposed convolution must be 'SAME', 'VALID' or (low, high) pairs, got {padding!r}"
        )
    pads = []
    for k, s in zip(window, strides, strict=True):
        total = k + s - 2 + (max(k - s, 0) if kind == "VALID" else 0)
        low = k - 1 if kind == "VALID" or s > k - 1 else -(-total // 2)
        pads.append((low, total - low))
    return tuple(pads)
