"""Convolutions as of neural networks: any number of spatial axes, strides, dilations, groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.lax.checks import array_of, integer_of, no_such_option
from fungrad.lax.conv_shapes import transposed_pads
from fungrad.lax.glossary import public, public_like
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
from fungrad.primitives.convolution import Convolution
from fungrad.primitives.shaping import Reshape, inverse_permutation, move_axis, permuted
from fungrad.primitives.slices import Reverse, pad, slice_axis


@public
def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """Convolve with kernels: slide them over the input and sum the products.

    The kernels are not reversed, as is usual for neural networks.

    Parameters
    ----------
    lhs : array
        Input, with a batch axis, a channel axis and any number d of spatial axes.
    rhs : array
        Kernels, of the same dtype, with axes of output channels, input channels and d spatial ones.
    window_strides : sequence of d int
        Steps between windows.
    padding : str or sequence of d (int, int)
        "VALID", "SAME", "SAME_LOWER" (see `padtype_to_pads`), or how many zeros go before and after each
        spatial axis; negative numbers cut off. With `lhs_dilation` it must be given in numbers.
    lhs_dilation, rhs_dilation : sequence of d int, optional
        Distances of neighbours of the input and of the kernels; what is between them is zero.
    dimension_numbers : tuple of str or ConvDimensionNumbers, optional
        Which axis is which (see `conv_dimension_numbers`); by default batch, channels, spatial axes.
    feature_group_count : int
        In how many groups the channels are divided; each group has kernels of its own.
    batch_group_count : int
        In how many groups the batch is divided, of which each gives some of the output channels.
    precision
        Ignored: sums are computed in the precision of the dtype, those of float16 in float32.
    preferred_element_type : dtype, optional
        A dtype of the result, not narrower than that of the operands, in which sums are computed.

    Returns
    -------
    array
        With the batch, output channels and places, in the order of `dimension_numbers`.

    Raises
    ------
    TypeError, ValueError
        If dtypes differ, or shapes, strides, padding and groups do not go together.

    Examples
    --------
    >>> x = np.arange(6.0).reshape(1, 6, 1)
    >>> w = np.array([1.0, 0.0, -1.0]).reshape(3, 1, 1)
    >>> layout = ("NWC", "WIO", "NWC")
    >>> lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=layout).ravel()
    array([-2., -2., -2., -2.])
    """
    name = "conv_general_dilated"
    no_such_option(name, out_sharding=out_sharding)
    lhs, rhs = operands_of(name, lhs, rhs, preferred_element_type)
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    x, w = permuted(lhs, numbers.lhs_spec), permuted(rhs, numbers.rhs_spec)
    d = len(x.shape) - 2
    strides = factors_of(name, "window_strides", window_strides, d)
    of_x = factors_of(name, "lhs_dilation", lhs_dilation, d)
    of_w = factors_of(name, "rhs_dilation", rhs_dilation, d)
    if isinstance(padding, str) and max(of_x, default=1) > 1:
        raise ValueError(
            f"lax.{name}: padding {padding!r} has no meaning with lhs_dilation; give (low, high) pairs, or call "
            "lax.conv_transpose"
        )
    if 0 in w.shape[2:]:
        raise ValueError(f"lax.{name}: the kernels, rhs of shape {rhs.shape}, have no elements")
    pads = pads_of(name, padding, x.shape[2:], tuple(map(dilated, w.shape[2:], of_w)), strides)
    features = integer_of(name, "feature_group_count", feature_group_count)
    batches = integer_of(name, "batch_group_count", batch_group_count)
    _check_groups(name, x.shape, w.shape, features, batches)
    x, w = _in_groups(x, w, features, batches)
    y = _dilated(name, x, w, strides, pads, of_x, of_w)
    y = move_axis(y, 0, 1)
    y = Reshape((y.shape[0], y.shape[1] * y.shape[2], *y.shape[3:]))(y)
    return permuted(y, inverse_permutation(numbers.out_spec))


def _check_groups(name: str, x: Any, w: Any, features: int, batches: int) -> None:
    """Raise unless channels and batch can be divided into groups."""
    for argument, count in (("feature_group_count", features), ("batch_group_count", batches)):
        if count < 1:
            raise ValueError(f"lax.{name}: {argument} must be positive, got {count}")
    if features > 1 and batches > 1:
        raise ValueError(
            f"lax.{name}: there are groups of channels or of the batch, got feature_group_count {features} and "
            f"batch_group_count {batches}; call it for each group"
        )
    for what, n, count in (
        ("input channels", x[1], features),
        ("the batch", x[0], batches),
        ("output channels", w[0], features * batches),
    ):
        if n % count:
            raise ValueError(f"lax.{name}: {what}, {n}, cannot be divided into {count} groups")
    if x[1] // features != w[1]:
        raise ValueError(
            f"lax.{name}: the kernels take {w[1]} input channels, but lhs has {x[1]}"
            + (f" in {features} groups" if features > 1 else "")
        )


def _in_groups(x: Any, w: Any, features: int, batches: int) -> tuple[Any, Any]:
    """Return input and kernels with an axis of groups in front."""
    (n, c), lengths = x.shape[:2], x.shape[2:]
    x = Reshape((batches, n // batches, features, c // features, *lengths))(x)
    if features > 1:  # at most one of the two numbers is
        x = move_axis(x, 2, 0)
    groups = features * batches
    x = Reshape((groups, n // batches, c // features, *lengths))(x)
    return x, Reshape((groups, w.shape[0] // groups, *w.shape[1:]))(w)


def _dilated(
    name: str,
    x: Any,
    w: Any,
    strides: Sequence[int],
    pads: Sequence[tuple[int, int]],
    of_x: Sequence[int],
    of_w: Sequence[int],
) -> Any:
    """Return the convolution in groups: of axes g, n, channels, places."""
    lengths, window = tuple(map(dilated, x.shape[3:], of_x)), w.shape[3:]
    places = windows_of(name, lengths, window, strides, tuple(pads), of_w)
    low, high = [p[0] for p in pads], [p[1] for p in pads]
    if max(of_x, default=1) == 1 or not all(places) or not all(lengths):
        x = pad(x, [0, 0, 0, *low], [0, 0, 0, *high], [0, 0, 0, *[f - 1 for f in of_x]])
        return Convolution("y", tuple(strides), tuple(of_w), places)(x, w)
    # Each element of x contributes to a window of the result, which is the transpose of a convolution: there
    # nothing is multiplied by the zeros between the elements.
    reverse = Reverse(tuple(range(3, 3 + len(window))))
    reach = [(k - 1) * f for k, f in zip(window, of_w, strict=True)]
    whole = tuple(n + r for n, r in zip(lengths, reach, strict=True))
    y = Convolution("x", tuple(of_x), tuple(of_w), whole)(reverse(move_axis(w, 1, 2)), x)
    y = pad(
        y,
        [0, 0, 0, *[n - r for n, r in zip(low, reach, strict=True)]],
        [0, 0, 0, *[n - r for n, r in zip(high, reach, strict=True)]],
    )
    for axis, step in enumerate(strides, 3):
        y = slice_axis(y, axis, 0, y.shape[axis], step)
    return y


@public_like(conv_general_dilated)
def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolve arrays whose axes are batch, channels, spatial ones with kernels O, I, spatial ones.

    Parameters
    ----------
    lhs, rhs : array
        Input of shape (n, c, ...) and kernels of shape (o, c, ...), of one dtype.
    window_strides : sequence of int
        Steps between windows.
    padding : str
        "VALID" or "SAME".

    Returns
    -------
    array
        Of shape (n, o, ...).

    Examples
    --------
    >>> lax.conv(np.ones((8, 3, 32, 32)), np.ones((16, 3, 5, 5)), (2, 2), "SAME").shape
    (8, 16, 16, 16)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, preferred_element_type=preferred_element_type
    )


@public_like(conv_general_dilated)
def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolve as `conv` does, with any padding and dilations.

    Parameters
    ----------
    lhs, rhs : array
        Input of shape (n, c, ...) and kernels of shape (o, c, ...), of one dtype.

    Returns
    -------
    array
        Of shape (n, o, ...).

    Examples
    --------
    >>> x, w = np.ones((1, 1, 3)), np.ones((1, 1, 2))
    >>> lax.conv_with_general_padding(x, w, (1,), [(1, 0)], (2,), None)
    array([[[1., 1., 1., 1., 1.]]])
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        preferred_element_type=preferred_element_type,
    )


DEFAULT_NUMBERS = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}
"""The dimension numbers of `conv_transpose` where none are given, by the number of axes."""


@public_like(conv_general_dilated)
def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """Convolve with a fractional stride, as the transpose of a convolution does: the result is larger.

    Parameters
    ----------
    lhs : array
        Input, with a batch axis, a channel axis and d spatial axes.
    strides : sequence of d int
        Strides of the convolution that this is the transpose of: the spatial axes grow by these factors.
    padding : str or sequence of d (int, int)
        "SAME" or "VALID" of that convolution, or what is padded here, after dilating the input.
    rhs_dilation : sequence of d int, optional
        Distances of neighbours of the kernels.
    dimension_numbers : tuple of str or ConvDimensionNumbers, optional
        Which axis is which; by default channels come last, as in ``("NHWC", "HWIO", "NHWC")``.
    transpose_kernel : bool
        Whether the kernels are those of the convolution, so that this is its exact transpose: their spatial
        axes are reversed here, and input and output channels exchanged.
    use_consistent_padding : bool
        Whether pairs of integers are the padding of that convolution, too.

    Returns
    -------
    array
        With the axes of `dimension_numbers`.

    Examples
    --------
    >>> x, w = np.array([1.0, 2.0]).reshape(1, 2, 1), np.array([1.0, 10.0]).reshape(2, 1, 1)
    >>> lax.conv_transpose(x, w, (2,), "SAME").ravel()
    array([10., 1., 20., 2.])
    """
    name = "conv_transpose"
    lhs, rhs = array_of(name, "lhs", lhs), array_of(name, "rhs", rhs)
    if dimension_numbers is None:
        if len(lhs.shape) not in DEFAULT_NUMBERS:
            raise ValueError(
                f"lax.{name}: there is no default for an lhs of {len(lhs.shape)} axes; give dimension_numbers"
            )
        dimension_numbers = DEFAULT_NUMBERS[len(lhs.shape)]
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    spatial = numbers.rhs_spec[2:]
    strides = factors_of(name, "strides", strides, len(spatial))
    factors = factors_of(name, "rhs_dilation", rhs_dilation, len(spatial))
    window = [dilated(rhs.shape[a], f) for a, f in zip(spatial, factors, strict=True)]
    if isinstance(padding, str):
        padding = transposed_pads(window, strides, padding)
    elif use_consistent_padding:
        padding = pads_of(name, padding, window, window, strides)
        padding = [(k - 1 - p[0], k - 1 - p[1]) for k, p in zip(window, padding, strict=True)]
    if transpose_kernel:
        rhs = Reverse(tuple(spatial))(rhs)
        o, i, *_ = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(i, o, *spatial))
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(spatial),
        padding,
        strides,
        factors,
        numbers,
        preferred_element_type=preferred_element_type,
    )
