"""Images between their elements: spline interpolation, and the transformations made with it.

The spline through the elements is a sum of B-splines; its coefficients are linear in the elements
(M. Unser, "Splines: a perfect fit for signal and image processing", IEEE Signal Processing Magazine
16, 1999). Differentiable in the image and in the coordinates.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.ndimage
import scipy.special

from fungrad.core.tracer import Tracer
from fungrad.numpy.promotion import as_tracer, strong
from fungrad.scipy.arguments import double
from fungrad.scipy.mirrors import Group, mirrors
from fungrad.scipy.ndimage.filters import PADDING, Border, finished, per_axis

__all__ = [
    "affine_transform", "map_coordinates", "rotate", "shift", "spline_filter",
    "spline_filter1d", "zoom",
]  # fmt: skip

MARGIN = 12
"""By how much SciPy extends an image for modes whose spline has no closed form."""


def _check_order(order: int, least: int = 0) -> None:
    if not least <= order <= 5:
        raise RuntimeError("spline order not supported")


def _coefficients(x: Any, order: int, axis: int, mode: str) -> Any:
    """Return the coefficients along an axis, by SciPy's matrix for unit vectors."""
    if order < 2 or not x.shape[axis]:
        return x
    matrix = scipy.ndimage.spline_filter1d(np.eye(x.shape[axis]), order, 0, mode=mode)
    return np.moveaxis(np.tensordot(x, matrix.astype(x.dtype), (axis, 1)), -1, axis)


@mirrors(scipy.ndimage.spline_filter1d)
def spline_filter1d(input: Any, order: int, axis: int, output: Any, mode: str) -> Any:
    _check_order(order)
    x = double(as_tracer(input))
    coefficients = _coefficients(x, order, axis, mode)
    return finished("spline_filter1d", coefficients, x, _complex_output(output, x))


@mirrors(scipy.ndimage.spline_filter)
def spline_filter(input: Any, order: int, output: Any, mode: str) -> Any:
    _check_order(order, 2)
    x = coefficients = double(as_tracer(input))
    for axis in range(x.ndim):
        coefficients = _coefficients(coefficients, order, axis, mode)
    return finished("spline_filter", coefficients, x, _complex_output(output, x))


def _complex_output(output: Any, x: Any) -> Any:
    if x.dtype.kind == "c" and isinstance(output, (type, str, np.dtype)):
        return np.promote_types(output, np.complex64)
    return output


# Interpolation


def _folded(c: Any, n: int, mode: str) -> Any:
    """Return coordinates along an axis of `n` elements, brought to the range of the image."""
    if mode == "grid-constant":
        return c
    if mode in ("nearest", "constant") or n == 1:
        return np.clip(c, 0, n - 1)
    if mode == "mirror":  # period 2 (n - 1), even about 0
        c = np.mod(c, 2 * (n - 1))
        return np.where(c > n - 1, 2 * (n - 1) - c, c)
    if mode in ("reflect", "grid-mirror"):  # period 2 n, even about -1/2
        c = np.mod(c + 0.5, 2 * n)
        return np.where(c > n, 2 * n - c, c) - 0.5
    if mode == "grid-wrap":
        return np.mod(c, n)
    # Of "wrap" the period is n - 1: the last element is the first.
    below, above = (n - 1) - np.mod(-c, n - 1), np.mod(c, n - 1)
    return np.where(c < 0, below, np.where(c > n - 1, above, c))


def _neighbours(places: Any, n: int, mode: str) -> Any:
    """Return where the image is read for places that may lie beyond its borders."""
    if mode in ("grid-constant", "nearest") or n == 1:
        return np.clip(places, 0, n - 1)
    if mode in ("reflect", "grid-mirror"):
        places = np.mod(places, 2 * n)
        return np.where(places >= n, 2 * n - 1 - places, places)
    if mode == "grid-wrap":
        return np.mod(places, n)
    places = np.mod(places, 2 * (n - 1))  # "constant", "wrap" and "mirror"
    return np.where(places >= n, 2 * (n - 1) - places, places)


def spline_weights(t: Any, order: int) -> list[Any]:
    """Return the B-splines with knots at the integers that are not zero in a place.

    `t`, from 0 to 1, is where it lies between the knots around it. By the recurrence in the degree of
    C. de Boor, "On calculating with B-splines", J. Approx. Theory 6, 1972.
    """
    weights = [np.ones_like(t)]
    for d in range(1, order + 1):
        rising = [(t + (d - j)) * weights[j - 1] if j else 0 for j in range(d + 1)]
        falling = [((j + 1) - t) * weights[j] if j < d else 0 for j in range(d + 1)]
        weights = [(a + b) / d for a, b in zip(rising, falling, strict=True)]
    return weights


def _interpolated(image: Any, coordinates: list[Any], order: int, mode: str, cval: Any) -> Any:
    """Return the spline with the coefficients `image`.

    There is an array of coordinates for each of the first axes; the others are channels.
    """
    if mode not in PADDING:
        raise RuntimeError("boundary mode not supported")
    d, ndim = len(coordinates), np.ndim(coordinates[0])
    channels = (np.newaxis,) * (image.ndim - d)
    indices, weights = [], []
    inside: Any = True
    known: Any = True
    for axis, (c, n) in enumerate(zip(coordinates, image.shape, strict=False)):
        if mode == "constant":
            inside = inside & (c >= 0) & (c <= n - 1)
        c = _folded(c, n, mode)
        half = 0.0 if order % 2 else 0.5
        floor = np.floor(c + half)
        # Index arrays have the axes of the coordinates, then one for the neighbours along each axis.
        first = (floor.astype(np.int64) - order // 2)[(..., *(np.newaxis,) * d)]
        places = first + np.arange(order + 1).reshape((-1, *[1] * (d - 1 - axis)))
        if mode == "grid-constant":
            known = known & (places >= 0) & (places < n)
        indices.append(_neighbours(places, n, mode))
        weights.append(np.stack(spline_weights(c + half - floor, order), -1))
    samples = image[tuple(np.broadcast_arrays(*indices))]
    if known is not True:
        samples = np.where(known[(..., *channels)], samples, cval)
    for w in weights[::-1]:
        between = (np.newaxis,) * (samples.ndim - w.ndim - len(channels))
        w = w[(*(slice(None),) * ndim, *between, slice(None), *channels)]
        samples = np.sum(samples * w, ndim + len(between))
    return samples if inside is True else np.where(inside[(..., *channels)], samples, cval)


@dataclasses.dataclass(frozen=True)
class Sampling(Group):
    """How an image is sampled between its elements: parameters of all functions that do so."""

    output: Any
    order: int
    mode: str
    cval: Any
    prefilter: bool

    def at(self, input: Any, coordinates: list[Any]) -> Any:
        """Return an image at coordinates along its first axes, in double precision."""
        order, mode = self.order, self.mode
        _check_order(order)
        x = double(as_tracer(input))
        d = len(coordinates)
        if self.prefilter and order > 1:
            if mode in ("nearest", "grid-constant"):
                margins = [(MARGIN, MARGIN)] * d + [(0, 0)] * (x.ndim - d)
                x = Border(mode, self.cval).extended(x, margins)
                coordinates = [c + MARGIN for c in coordinates]
            for axis in range(d):
                x = _coefficients(x, order, axis, mode)
        return _interpolated(x, coordinates, order, mode, self.cval)

    def finished(self, name: str, samples: Any, image: Any) -> Any:
        """Return the samples in the dtype of the image, or as `output` says."""
        if image.dtype.kind in "iu" and self.output is None:
            samples = np.trunc(samples + np.copysign(0.5, samples))  # to the nearest, as SciPy does
        return finished(name, samples, image, self.output)


@mirrors(scipy.ndimage.map_coordinates)
def map_coordinates(input: Any, coordinates: Any, sampling: Sampling) -> Any:
    image, places = strong(input), strong(coordinates)
    if places.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    if image.ndim < 1 or places.ndim < 2:
        raise RuntimeError("input and output rank must be > 0")
    if places.shape[0] != image.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    values = sampling.at(image, list(places.astype(float)))
    return sampling.finished("map_coordinates", values, image)


def _grid(shape: Any) -> list[Any]:
    """Return the coordinates of the elements of an array, one array for each axis."""
    return list(np.indices(tuple(shape), dtype=float))


@mirrors(scipy.ndimage.affine_transform)
def affine_transform(
    input: Any, matrix: Any, offset: Any, output_shape: Any, sampling: Sampling
) -> Any:
    """Differentiable in the matrix and the offset too."""
    input, a = strong(input), strong(matrix)
    shape, ndim = input.shape, input.ndim
    if output_shape is None:
        output = sampling.output
        output_shape = np.shape(output) if isinstance(output, Tracer) else shape
    if a.ndim not in (1, 2) or not a.shape[0]:
        raise RuntimeError("no proper affine matrix provided")
    if a.ndim == 2 and a.shape[1] == ndim + 1 and a.shape[0] in (ndim, ndim + 1):
        a, offset = a[:ndim, :ndim], a[:ndim, ndim]
    if a.shape[0] != ndim:
        raise RuntimeError("affine matrix has wrong number of rows")
    if a.ndim == 2 and a.shape[1] != len(output_shape):
        raise RuntimeError("affine matrix has wrong number of columns")
    shifts = per_axis(offset, ndim)
    grid = _grid(output_shape)
    if a.ndim == 1:
        places = [a[i] * grid[i] + shifts[i] for i in range(ndim)]
    else:
        places = [sum(a[i, j] * g for j, g in enumerate(grid)) + shifts[i] for i in range(ndim)]
    return sampling.finished("affine_transform", sampling.at(input, places), input)


@mirrors(scipy.ndimage.shift)
def shift(input: Any, shift: Any, sampling: Sampling) -> Any:
    """Differentiable in the shift too."""
    input = strong(input)
    shifts = per_axis(shift, input.ndim)
    places = [g - s for g, s in zip(_grid(input.shape), shifts, strict=True)]
    return sampling.finished("shift", sampling.at(input, places), input)


@mirrors(scipy.ndimage.zoom)
def zoom(input: Any, zoom: Any, sampling: Sampling, grid_mode: bool) -> Any:
    """The factors tell the shape of the result, so they are plain numbers."""
    image = strong(input)
    shape = image.shape
    factors = per_axis(zoom, len(shape))
    target = [round(n * float(f)) for n, f in zip(shape, factors, strict=True)]
    places = []
    for g, n, m in zip(_grid(target), shape, target, strict=True):
        if grid_mode:
            places.append((g + 0.5) * (n / m) - 0.5)
        else:
            places.append(g * ((n - 1) / (m - 1) if m > 1 else 1.0))
    return sampling.finished("zoom", sampling.at(image, places), image)


@mirrors(scipy.ndimage.rotate)
def rotate(input: Any, angle: Any, axes: Any, reshape: bool, sampling: Sampling) -> Any:
    """Differentiable in the angle too, with ``reshape=False``."""
    image = strong(input)
    shape = image.shape
    if len(shape) < 2:
        raise ValueError("input array should be at least 2D")
    if len(axes) != 2:
        raise ValueError("axes should contain exactly two values")
    plane = sorted(int(a) + len(shape) * (a < 0) for a in axes)
    if not all(0 <= a < len(shape) for a in plane):
        raise ValueError("invalid rotation plane specified")
    height, width = shape[plane[0]], shape[plane[1]]
    target = [height, width]
    if type(angle) is Tracer:
        if reshape:
            raise ValueError("rotate: with a traced angle, give reshape=False")
        c, s = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    else:
        c, s = scipy.special.cosdg(angle), scipy.special.sindg(angle)
        if reshape:
            corners = np.array([[c, s], [-s, c]]) @ [[0, 0, height, height], [0, width, 0, width]]
            target = [int(n) for n in np.ptp(corners, axis=1) + 0.5]
    y, x = (g - (n - 1) / 2 for g, n in zip(_grid(target), target, strict=True))
    places = [c * y + s * x + (height - 1) / 2, c * x - s * y + (width - 1) / 2]
    turned = sampling.at(np.moveaxis(image, plane, (0, 1)), places)
    return sampling.finished("rotate", np.moveaxis(turned, (0, 1), plane), image)
