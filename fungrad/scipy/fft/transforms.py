"""The transforms: Fourier transforms as of `fungrad.numpy.fft`, and cosine and sine transforms."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import scipy.fft
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from fungrad.numpy.dispatch import implements
from fungrad.numpy.fft import transforms
from fungrad.numpy.promotion import as_tracer, cast
from fungrad.primitives.fft import SWAPPED, CosineTransform
from fungrad.scipy.mirrors import mirrors

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def _at_least_single(x: Any) -> Any:
    """Return a tracer; SciPy transforms half precision in single precision, and gives that back."""
    array = as_tracer(x)
    return cast(array, np.dtype(np.float32)) if array.dtype == np.float16 else array


def _shape_and_axes(x: Any, s: Any, axes: Any) -> tuple[list[int] | None, tuple[int, ...]]:
    lengths = None if s is None else [operator.index(n) for n in np.atleast_1d(s)]
    if axes is None:
        count = x.ndim if lengths is None else len(lengths)
        if count > x.ndim:
            raise ValueError("shape requires more axes than are present")
        axes = range(x.ndim - count, x.ndim)
    which = normalize_axis_tuple(axes, x.ndim, allow_duplicate=True)
    if len({*which}) != len(which):
        raise ValueError("all axes must be unique")
    if lengths is not None and len(lengths) != len(which):
        raise ValueError("when given, axes and shape arguments have to be of the same length")
    return lengths, which


def _one_axis(name: str) -> Any:
    """Return a Fourier transform along an axis."""
    transform = getattr(transforms, name)

    @mirrors(getattr(scipy.fft, name))
    def function(x: Any, n: Any, axis: int, norm: Any) -> Any:
        return transform(_at_least_single(x), n, axis, norm)

    return function


def _several_axes(name: str, of: str) -> Any:
    """Return a Fourier transform along several axes.

    `of` is that of NumPy with the same matrix; NumPy has no "hfftn", which is "irfftn" of the conjugate, scaled
    the other way.
    """
    transform = getattr(transforms, of)

    @mirrors(getattr(scipy.fft, name))
    def function(x: Any, s: Any, axes: Any, norm: Any) -> Any:
        array = _at_least_single(x)
        lengths, which = _shape_and_axes(array, s, axes)
        if name.startswith("hfft"):
            array = np.conjugate(array)
        if "hfft" in name:
            norm = SWAPPED[transforms.checked_norm(norm)]
        transformed = transform(array, lengths, which, norm)
        return np.conjugate(transformed) if name.startswith("ihfft") else transformed

    return function


fft, ifft, rfft = _one_axis("fft"), _one_axis("ifft"), _one_axis("rfft")
irfft, hfft, ihfft = _one_axis("irfft"), _one_axis("hfft"), _one_axis("ihfft")
fftn, fft2 = _several_axes("fftn", "fftn"), _several_axes("fft2", "fftn")
ifftn, ifft2 = _several_axes("ifftn", "ifftn"), _several_axes("ifft2", "ifftn")
rfftn, rfft2 = _several_axes("rfftn", "rfftn"), _several_axes("rfft2", "rfftn")
irfftn, irfft2 = _several_axes("irfftn", "irfftn"), _several_axes("irfft2", "irfftn")
hfftn, hfft2 = _several_axes("hfftn", "irfftn"), _several_axes("hfft2", "irfftn")
ihfftn, ihfft2 = _several_axes("ihfftn", "rfftn"), _several_axes("ihfft2", "rfftn")


fftshift = mirrors(scipy.fft.fftshift)(lambda x, axes: transforms.fftshift(x, axes))
ifftshift = mirrors(scipy.fft.ifftshift)(lambda x, axes: transforms.ifftshift(x, axes))


@implements(scipy.fft.fftfreq)
def fftfreq(n: Any, d: Any = 1.0, *, xp: Any = None, device: Any = None) -> Any:
    """Differentiable in the sample spacing `d`."""
    return transforms.fftfreq(n, d)


@implements(scipy.fft.rfftfreq)
def rfftfreq(n: Any, d: Any = 1.0, *, xp: Any = None, device: Any = None) -> Any:
    """Differentiable in the sample spacing `d`."""
    return transforms.rfftfreq(n, d)


# Cosine and sine transforms

INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _real_transform(
    x: Any, n: Any, axis: int, sine: bool, type: int, norm: Any, orthogonalize: bool | None
) -> Any:
    """Return a transform along one axis: the orthonormal one, with other factors.

    It is the orthonormal one times sqrt(2 m)^p, p being 1, 0 or -1 by `norm`, where 2 m is the length of
    the period. If not `orthogonalize`, SciPy has factors sqrt(2) less at an end of the operand or more at one of the
    result.
    """
    if type not in INVERSE:
        raise ValueError("invalid DCT type")
    norm = transforms.checked_norm(norm)
    if orthogonalize is None:
        orthogonalize = norm == "ortho"
    axis = normalize_axis_index(axis, x.ndim)
    x = transforms.resized(x, [axis], [x.shape[axis] if n is None else operator.index(n)])
    length = x.shape[axis]
    ends = {1: () if sine else (0, -1), 2: (-1,) if sine else (0,), 3: (-1,) if sine else (0,)}
    scaled = () if orthogonalize else ends.get(type, ())
    if type in (1, 3):
        x = _with_ends(x, axis, scaled, math.sqrt(0.5))
    x = CosineTransform(axis, type, sine)(x)
    if type in (1, 2):
        x = _with_ends(x, axis, scaled, math.sqrt(2))
    period = 2 * (length + (sine or -1) if type == 1 else length)
    power = {"backward": 0.5, "ortho": 0.0, "forward": -0.5}[norm]
    return x if not power else x * period**power


def _with_ends(x: Any, axis: int, ends: tuple[int, ...], factor: float) -> Any:
    if not ends:
        return x
    factors = np.ones(x.shape[axis], x.dtype)
    factors[[*ends]] *= factor
    return x * factors.reshape((-1, *[1] * (x.ndim - 1 - axis)))


def _operand(x: Any) -> Any:
    array = _at_least_single(x)
    return array if array.dtype.kind in "fc" else cast(array, np.dtype(float))


def _along(name: str, sine: bool, inverse: bool) -> Any:
    """Return a cosine or sine transform along an axis."""

    @mirrors(getattr(scipy.fft, name))
    def function(
        x: Any, type: int, n: Any, axis: int, norm: Any, orthogonalize: bool | None
    ) -> Any:
        kind, norm = _direction(type, norm, inverse)
        return _real_transform(_operand(x), n, axis, sine, kind, norm, orthogonalize)

    return function


def _over(name: str, sine: bool, inverse: bool) -> Any:
    """Return a cosine or sine transform along several axes, one after the other."""

    @mirrors(getattr(scipy.fft, name))
    def function(
        x: Any, type: int, s: Any, axes: Any, norm: Any, orthogonalize: bool | None
    ) -> Any:
        array = _operand(x)
        lengths, which = _shape_and_axes(array, s, axes)
        kind, norm = _direction(type, norm, inverse)
        for i, axis in enumerate(which):
            n = None if lengths is None or lengths[i] == -1 else lengths[i]
            array = _real_transform(array, n, axis, sine, kind, norm, orthogonalize)
        return array

    return function


def _direction(type: int, norm: Any, inverse: bool) -> tuple[int, Any]:
    """Return the type and `norm` of the transform that an inverse one is."""
    if not inverse:
        return type, norm
    return INVERSE.get(type, type), SWAPPED.get(norm or "backward", norm)


dct, idct = _along("dct", False, False), _along("idct", False, True)
dst, idst = _along("dst", True, False), _along("idst", True, True)
dctn, idctn = _over("dctn", False, False), _over("idctn", False, True)
dstn, idstn = _over("dstn", True, False), _over("idstn", True, True)
