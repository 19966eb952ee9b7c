"""Which axis of a convolution is which, how much is padded, and the shapes that follow.

`ConvDimensionNumbers` tells where an array has its batch, its channels and its spatial axes. Inside, all is
in one order: batch, channels, spatial axes; for the kernels output channels, input channels, spatial axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.types import kind_of
from fungrad.lax.checks import array_of, check_same_dtypes, integers_of
from fungrad.lax.glossary import public
from fungrad.primitives.convolution import fitting
from fungrad.primitives.elementwise import Cast

Pads = tuple[tuple[int, int], ...]
Padding = str | Sequence[tuple[int, int]]


class ConvDimensionNumbers(NamedTuple):
    """Where the arrays of a convolution have which axis.

    Attributes
    ----------
    lhs_spec
        The axes of the input that are batch, channels and spatial ones, in this order.
    rhs_spec
        The axes of the kernels that are output channels, input channels and spatial ones.
    out_spec
        The axes of the result that are batch, channels and spatial ones.

    Examples
    --------
    >>> from fungrad import lax
    >>> lax.conv_dimension_numbers((8, 32, 32, 3), (5, 5, 3, 16), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None
"""Type of the argument `dimension_numbers`."""

LETTERS = (("lhs_spec", "NC"), ("rhs_spec", "OI"), ("out_spec", "NC"))
"""The letters of the axes that are not spatial, in canonical order."""


@public
def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """Return which axis is which in a convolution.

    Parameters
    ----------
    lhs_shape, rhs_shape : tuple of int
        Shapes of the input and of the kernels, of equal length.
    dimension_numbers : tuple of str, ConvDimensionNumbers or None
        Three strings with a letter for each axis of the input, the kernels and the result, such as
        ``("NHWC", "HWIO", "NHWC")``. N is the batch, C the channels, I and O the input and output channels of the kernels. Any other
        letters are spatial axes, in the order that the kernels have them. None stands for batch (output channels),
        channels, spatial axes.

    Returns
    -------
    ConvDimensionNumbers
        The same as positions of axes.

    Raises
    ------
    TypeError
        If the strings do not describe arrays of these shapes.

    Examples
    --------
    >>> lax.conv_dimension_numbers((1, 3, 9), (2, 3, 3), None).rhs_spec
    (0, 1, 2)
    """
    ndim = len(lhs_shape)
    if ndim != len(rhs_shape) or ndim < 2:
        raise TypeError(
            "a convolution takes lhs and rhs of equally many axes, at least 2 (batch and channels), got "
            f"shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}; add axes of length 1"
        )
    if dimension_numbers is None:
        same = tuple(range(ndim))
        return ConvDimensionNumbers(same, same, same)
    if isinstance(dimension_numbers, str) or not isinstance(dimension_numbers, Sequence):
        raise TypeError(
            f"dimension_numbers are three strings, ConvDimensionNumbers or None, got {dimension_numbers!r}"
        )
    if len(dimension_numbers) != 3:
        raise TypeError(
            f"dimension_numbers are three, of lhs, rhs and out; got {dimension_numbers!r}"
        )
    if not all(isinstance(spec, str) for spec in dimension_numbers):
        return _checked(ConvDimensionNumbers(*dimension_numbers), ndim)
    for spec, (argument, letters) in zip(dimension_numbers, LETTERS, strict=True):
        text = str(spec)
        if len({*text}) != len(text) or len(text) != ndim or not {*letters} <= {*text}:
            raise TypeError(
                f"dimension_numbers: {argument} {text!r} must have {ndim} different letters, one for each "
                f"axis of the shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}, among them "
                f"{letters[0]} and {letters[1]}"
            )
    lhs, rhs, out = map(str, dimension_numbers)
    spatial = [letter for letter in rhs if letter not in "OI"]
    if any({*spatial} != {*spec} - {"N", "C"} for spec in (lhs, out)):
        raise TypeError(
            f"dimension_numbers {tuple(dimension_numbers)} must have the same letters for spatial axes in each"
        )
    return ConvDimensionNumbers(
        *[
            tuple([spec.index(letter) for letter in (*letters, *spatial)])
            for spec, (_, letters) in zip((lhs, rhs, out), LETTERS, strict=True)
        ]
    )


def _checked(numbers: ConvDimensionNumbers, ndim: int) -> ConvDimensionNumbers:
    for (argument, _), axes in zip(LETTERS, numbers, strict=True):
        if sorted(axes) != list(range(ndim)):
            raise TypeError(
                f"dimension_numbers: {argument} {tuple(axes)} are not the axes of arrays of {ndim} axes"
            )
    return ConvDimensionNumbers(*map(tuple, numbers))


@public
def conv_general_permutations(
    dimension_numbers: tuple[str, str, str],
) -> tuple[tuple[int, ...], ...]:
    """Return the permutations that bring the axes of lhs, rhs and out into canonical order.

    Parameters
    ----------
    dimension_numbers : tuple of str
        As of `conv_dimension_numbers`.

    Returns
    -------
    tuple of tuple of int
        Axes of lhs, rhs and out: batch (output channels), channels, spatial axes.

    Examples
    --------
    >>> lax.conv_general_permutations(("NHWC", "HWIO", "CNHW"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (1, 0, 2, 3))
    """
    shape = (1,) * len(dimension_numbers[0])
    return tuple(map(tuple, conv_dimension_numbers(shape, shape, dimension_numbers)))


@public
def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """Return how much a kind of padding adds before and after each axis.

    Parameters
    ----------
    in_shape, window_shape, window_strides : sequence of int
        Lengths of the axes, of the windows (as dilated), and the steps between windows.
    padding : str
        "VALID" adds nothing; "SAME" makes a window for each step, padded on both sides, by one more at the
        end if the number is odd; "SAME_LOWER" by one more at the beginning.

    Returns
    -------
    list of tuple of int
        Numbers of elements (low, high) for each axis.

    Raises
    ------
    TypeError, ValueError
        If `padding` is not one of these strings.

    Examples
    --------
    >>> lax.padtype_to_pads((5, 6), (2, 3), (1, 1), "SAME")
    [(0, 1), (1, 1)]
    """
    if not isinstance(padding, str):
        raise TypeError(f"padding must be 'VALID', 'SAME' or 'SAME_LOWER' here, got {padding!r}")
    kind = padding.upper()
    if kind not in ("VALID", "SAME", "SAME_LOWER"):
        raise ValueError(
            f"padding must be 'VALID', 'SAME', 'SAME_LOWER' or (low, high) pairs, got {padding!r}"
        )
    pads = []
    for n, window, step in zip(in_shape, window_shape, window_strides, strict=True):
        total = 0 if kind == "VALID" else max(0, (-(-n // step) - 1) * step + window - n)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if kind == "SAME" else (more, less))
    return pads


WIDENINGS = ("ii", "uu", "ui", "iu", "if", "uf", "ff", "cc")
"""The kinds of dtype that operands may have, each with one that the result may have."""


def operands_of(name: str, lhs: Any, rhs: Any, preferred: Any) -> tuple[Any, Any]:
    """Return the arrays, in the dtype of the result."""
    lhs, rhs = array_of(name, "lhs", lhs), array_of(name, "rhs", rhs)
    check_same_dtypes(name, lhs=lhs, rhs=rhs)
    if preferred is None or np.dtype(preferred) == lhs.dtype:
        return lhs, rhs
    wanted = np.dtype(preferred)
    kinds = kind_of(lhs.dtype) + kind_of(wanted)
    if kinds not in WIDENINGS or wanted.itemsize < lhs.dtype.itemsize:
        raise TypeError(
            f"lax.{name}: preferred_element_type {wanted} cannot hold sums of {lhs.dtype}: take a dtype of the same "
            "kind that is not narrower, or convert the operands first"
        )
    return Cast(wanted)(lhs), Cast(wanted)(rhs)


def pads_of(
    name: str, padding: Any, lengths: Sequence[int], window: Sequence[int], strides: Sequence[int]
) -> Pads:
    """Return the argument `padding` as pairs of integers; windows have their dilated lengths."""
    if isinstance(padding, str):
        return tuple(padtype_to_pads(lengths, window, strides, padding))
    if not isinstance(padding, Iterable):
        raise TypeError(
            f"lax.{name}: padding must be a string or a sequence of (low, high) pairs, got {padding!r}"
        )
    pairs = [integers_of(name, "a pair of padding", pair) for pair in padding]
    if len(pairs) != len(lengths) or any(len(pair) != 2 for pair in pairs):
        raise TypeError(
            f"lax.{name}: padding must have a (low, high) pair for each of {len(lengths)} axes, got {padding!r}"
        )
    return tuple([(low, high) for low, high in pairs])


def factors_of(name: str, argument: str, numbers: Any, ndim: int) -> tuple[int, ...]:
    """Return strides, dilations or lengths of windows as a tuple; None are ones."""
    if numbers is None:
        return (1,) * ndim
    factors = integers_of(name, argument, numbers)
    if len(factors) != ndim:
        raise TypeError(
            f"lax.{name}: {argument} must have one number for each of {ndim} axes, got {tuple(factors)}"
        )
    if min(factors, default=1) < 1:
        raise ValueError(f"lax.{name}: {argument} must be positive, got {factors}")
    return factors


def dilated(n: int, factor: int) -> int:
    """Return the length of an axis of n elements `factor` apart."""
    return (n - 1) * factor + 1 if n else 0


def padded(name: str, lengths: Sequence[int], pads: Pads) -> tuple[int, ...]:
    """Return lengths with padding; raise if more is cut off than there is."""
    total = tuple(low + n + high for n, (low, high) in zip(lengths, pads, strict=True))
    if min(total, default=0) < 0:
        raise ValueError(
            f"lax.{name}: padding {pads} cuts off more than axes of lengths {tuple(lengths)} have"
        )
    return total


def windows_of(
    name: str,
    lengths: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilation: Sequence[int],
) -> tuple[int, ...]:
    """Return how many windows fit along each axis; `lengths` are dilated already."""
    return tuple(map(fitting, padded(name, lengths, pads), window, strides, dilation))
