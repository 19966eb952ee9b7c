"""The discrete Fourier transform, imported when it is asked for."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from fungrad.core.types import type_of
from fungrad.lax.checks import integers_of
from fungrad.lax.glossary import public
from fungrad.lax.operands import aligned, own_result
from fungrad.numpy import fft as numpy_fft


class FftType(enum.IntEnum):
    """The kinds of Fourier transform.

    Examples
    --------
    >>> from fungrad import lax
    >>> lax.FftType["RFFT"]
    <FftType.RFFT: 2>
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


_FUNCTIONS: dict[FftType, tuple[str, Any]] = {
    FftType.FFT: ("c", numpy_fft.fftn),
    FftType.IFFT: ("c", numpy_fft.ifftn),
    FftType.RFFT: ("f", numpy_fft.rfftn),
    FftType.IRFFT: ("c", numpy_fft.irfftn),
}
"""For each kind, the numbers it takes, and NumPy's function."""


@public
def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """Return the Fourier transform over the last axes.

    Parameters
    ----------
    x
        Array, complex, or for "RFFT" floating-point.
    fft_type
        "FFT", "IFFT" (its inverse), "RFFT" (of real numbers, half of the frequencies) or "IRFFT".
    fft_lengths
        The lengths of the transformed axes; for "IRFFT" those of the result.

    Returns
    -------
    array
        Complex, or for "IRFFT" floating-point.

    Raises
    ------
    TypeError
        If the dtype of `x` is another.
    ValueError
        If there is no such kind, or the lengths are not those of the last axes.

    Examples
    --------
    >>> lax.fft(np.array([1.0, 2.0, 3.0, 4.0]), "RFFT", (4,))
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    fft_type = fft_type.upper() if isinstance(fft_type, str) else fft_type
    known = isinstance(fft_type, FftType) or fft_type in FftType.__members__
    if not known:
        raise ValueError(
            f"lax.fft: fft_type is one of {list(FftType.__members__)}, got {fft_type!r}"
        )
    kind = FftType[fft_type] if isinstance(fft_type, str) else fft_type
    kinds, function = _FUNCTIONS[kind]
    (x,) = aligned("fft", kinds, (x,), ("x",))
    lengths = list(integers_of("fft", "fft_lengths", fft_lengths))
    shape = type_of(x).shape
    first = len(shape) - len(lengths)
    wanted = [*lengths[:-1], lengths[-1] // 2 + 1] if kind is FftType.IRFFT and lengths else lengths
    if first < 0 or list(shape[first:]) != wanted:
        raise ValueError(
            f"lax.fft: {kind.name} with fft_lengths {lengths} takes an array whose last axes have lengths "
            f"{wanted}, got {type_of(x)}"
        )
    if not lengths:
        return own_result(x)
    return function(x, s=lengths, axes=range(first, len(shape)))
