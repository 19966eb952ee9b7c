"""Rows for primitives/fft.py."""

import numpy as np
import scipy.fft

from fungrad.primitives.fft import FFT, CosineTransform, InverseRealFFT, RealFFT
from tests.samples.row import Sample, complexes, reals

NORMS = ("backward", "ortho", "forward")


def dft(x, axis, inverse=False, norm="backward"):
    """The definition: a product with the matrix of exp(-2 pi i jk / n)."""
    n = x.shape[axis]
    angles = 2 * np.pi * np.outer(np.arange(n), np.arange(n)) / n
    scale = {
        "backward": 1 / n if inverse else 1,
        "ortho": n**-0.5,
        "forward": 1 if inverse else 1 / n,
    }
    matrix = scale[norm] * np.exp((1j if inverse else -1j) * angles)
    return np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


def whole(x, axes, inverse, norm):
    for axis in axes:
        x = dft(x, axis, inverse, norm)
    return x


def half(x, axis, norm):
    return dft(x, axis, False, norm).take(range(x.shape[axis] // 2 + 1), axis)


def from_half(x, axis, n, norm):
    x = np.moveaxis(x, axis, 0)
    others = np.conj(x[1 : (n + 1) // 2][::-1])
    own = [0, n // 2] if n % 2 == 0 else [0]  # the imaginary parts there are ignored
    x = x.copy()
    x[own] = x[own].real
    return np.moveaxis(dft(np.concatenate([x, others]), 0, True, norm).real, 0, axis)


def cosines(x, axis, type, sine):
    n = x.shape[axis]
    function = scipy.fft.dst if sine else scipy.fft.dct
    matrix = function(np.eye(n), type, axis=0, norm="ortho")
    return np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


ROWS = [
    *[
        Sample(
            FFT(axes, inverse, norm),
            (x,),
            lambda x, axes=axes, inverse=inverse, norm=norm: whole(x, axes, inverse, norm),
            name=f"{x.dtype}{list(x.shape)} over {axes}{', inverse' if inverse else ''}, {norm}",
        )
        for inverse, norm in [
            (False, "backward"),
            (True, "backward"),
            (True, "ortho"),
            (False, "forward"),
        ]
        for x, axes in [
            (complexes(5), (0,)),
            (complexes(2, 4), (1,)),
            (reals(3, 4), (0,)),
            (reals(3, 2, 2), (0, 2)),
            (complexes(0, 3), (1,)),
        ]
    ],
    *[
        Sample(
            RealFFT(axis, norm),
            (reals(*shape),),
            lambda x, axis=axis, norm=norm: half(x, axis, norm),
            name=f"{shape} along {axis}, {norm}",
        )
        for norm in NORMS
        for shape, axis in [((5,), 0), ((4, 2), 0), ((2, 1), 1), ((1, 2), 1)]
    ],
    *[
        Sample(
            InverseRealFFT(axis, n, norm),
            (complexes(*shape),),
            lambda x, axis=axis, n=n, norm=norm: from_half(x, axis, n, norm),
            name=f"{shape} along {axis} to {n}, {norm}",
        )
        for norm in NORMS
        for shape, axis, n in [((3,), 0, 5), ((3, 2), 0, 4), ((2, 1), 1, 1), ((1, 2), 1, 2)]
    ],
    *[
        Sample(
            CosineTransform(axis, type, sine),
            (x,),
            lambda x, axis=axis, type=type, sine=sine: cosines(x, axis, type, sine),
            name=f"{'dst' if sine else 'dct'}{type} of {x.dtype}{list(x.shape)}",
        )
        for sine in (False, True)
        for type in (1, 2, 3, 4)
        for x, axis in [(reals(5), 0), (complexes(4, 2), 0)]
    ],
]
