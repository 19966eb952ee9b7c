"""Filters of images: sliding sums of products, in any number of dimensions.

An image is continued at its borders by a mode of SciPy's. The work is done in the dtype of the image,
or in double precision for integers; the result has the dtype of the image.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.ndimage
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from fungrad.core.tracer import Tracer
from fungrad.numpy.promotion import as_tracer, cast, strong
from fungrad.numpy.selecting import value_needed
from fungrad.numpy.storing import store, writable_out
from fungrad.primitives.elementwise import real_dtype
from fungrad.primitives.filters import Correlate, reversed_tail
from fungrad.scipy.mirrors import Group, mirrors

__all__ = [
    "convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter",
    "gaussian_filter1d", "laplace", "prewitt", "sobel", "uniform_filter", "uniform_filter1d",
]  # fmt: skip

PADDING = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}
"""For each mode of SciPy, that of `numpy.pad`."""


def finished(name: str, result: Any, like: Any, output: Any) -> Any:
    """Return a result in the dtype of the image, or as `output`, a dtype or a traced array, says."""
    dtype = like.dtype
    if result.dtype.kind == "c":
        dtype = np.promote_types(dtype, np.complex64)
    if output is None:
        return cast(result, dtype)
    if isinstance(output, (type, str, np.dtype)):
        return cast(result, np.dtype(output))
    target = writable_out(name, output)
    return store(target, cast(result, target.dtype), exactly=True)


def per_axis(value: Any, count: int) -> list[Any]:
    """Return one value for each of `count` axes."""
    if not isinstance(value, (list, tuple)) and (
        isinstance(value, str) or value is None or not np.ndim(value)
    ):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return values


@dataclasses.dataclass(frozen=True)
class Border(Group):
    """How an image is continued beyond its borders; `mode` and `cval` may be sequences, one for each axis."""

    mode: Any
    cval: Any

    def extended(self, x: Any, margins: Sequence[tuple[int, int]]) -> Any:
        """Return an image continued beyond its borders."""
        if self.mode not in PADDING:
            raise RuntimeError("boundary mode not supported")
        padding = PADDING[self.mode]
        constant = {"constant_values": self.cval} if padding == "constant" else {}
        return np.pad(x, margins, padding, **constant)  # type: ignore[call-overload]

    def along(self, count: int) -> list[Border]:
        """Return the borders of each of `count` axes."""
        return [Border(mode, self.cval) for mode in per_axis(self.mode, count)]


def _operands(input: Any, weights: Any) -> tuple[Any, Any]:
    image, taps = as_tracer(input), as_tracer(weights)
    dtype = image.dtype if image.dtype.kind in "fc" else np.dtype(float)
    if taps.dtype.kind == "c":
        dtype = np.promote_types(dtype, np.complex64)
    elif dtype.kind == "c":
        taps = cast(taps, real_dtype(dtype))
    return cast(image, dtype), cast(taps, dtype)


def _slid(x: Any, taps: Any, border: Border, origins: Sequence[int]) -> Any:
    """Return the sums of products of `taps` with their surroundings, along the last axes of `x`."""
    margins = [(0, 0)] * (x.ndim - taps.ndim)
    for n, origin in zip(taps.shape, origins, strict=True):
        if not 0 <= n // 2 + origin < n:
            raise ValueError(
                "Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= (len(weights)-1) // 2"
            )
        margins.append((n // 2 + origin, n - n // 2 - 1 - origin))
    if not x.size or not taps.ndim:
        return x * taps if x.size else x
    x = border.extended(x, margins)
    batch = x.shape[: x.ndim - taps.ndim]
    return Correlate(taps.ndim)(x, np.broadcast_to(taps, (*batch, *taps.shape)))


def _mirrored(taps: Any, origins: Sequence[int]) -> tuple[Any, list[int]]:
    """Return the weights and origins of the correlation that equals a convolution."""
    shifted = [-o - (n % 2 == 0) for o, n in zip(origins, taps.shape, strict=True)]
    return reversed_tail(taps, taps.ndim), shifted


def _along(
    input: Any, weights: Any, axis: int, border: Border, origin: int = 0, convolution: bool = False
) -> Any:
    if np.ndim(weights) != 1 or not len(weights):
        raise RuntimeError("no filter weights given")
    return _over(input, weights, border, origin, (axis,), convolution)


def _sliding_along(function: Any, convolution: bool) -> Any:
    @mirrors(function)
    def rule(input: Any, weights: Any, axis: int, output: Any, border: Border, origin: int) -> Any:
        filtered = _along(input, weights, axis, border, origin, convolution)
        return finished(function.__name__, filtered, strong(input), output)

    return rule


correlate1d = _sliding_along(scipy.ndimage.correlate1d, False)
convolve1d = _sliding_along(scipy.ndimage.convolve1d, True)


def _over(
    input: Any, weights: Any, border: Border, origin: Any, axes: Any, convolution: bool
) -> Any:
    if not isinstance(border.mode, str):
        raise RuntimeError("A sequence of modes is not supported")
    x, taps = _operands(input, weights)
    which = _checked_axes(axes, x.ndim)
    if taps.ndim != len(which) or not taps.size:
        raise RuntimeError(f"weights.ndim ({taps.ndim}) must match len(axes) ({len(which)})")
    origins = per_axis(origin, taps.ndim)
    if len(which) < x.ndim:  # SciPy's axes of the weights are in order whatever that of `axes`
        order = sorted(range(len(which)), key=which.__getitem__)
        which, origins = tuple(which[i] for i in order), [origins[i] for i in order]
    if convolution:
        taps, origins = _mirrored(taps, origins)
    elif taps.dtype.kind == "c":
        taps = np.conjugate(taps)
    last = tuple(range(-len(which), 0))
    return np.moveaxis(_slid(np.moveaxis(x, which, last), taps, border, origins), last, which)


def _checked_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)) if axes is None else normalize_axis_tuple(axes, ndim)


def _sliding(function: Any, convolution: bool) -> Any:
    @mirrors(function)
    def rule(input: Any, weights: Any, output: Any, border: Border, origin: Any, axes: Any) -> Any:
        filtered = _over(input, weights, border, origin, axes, convolution)
        return finished(function.__name__, filtered, strong(input), output)

    return rule


correlate = _sliding(scipy.ndimage.correlate, False)
convolve = _sliding(scipy.ndimage.convolve, True)


# Filters of one axis after the other. Between two axes SciPy keeps the dtype of the result.


def _axis_by_axis(name: str, input: Any, output: Any, steps: Sequence[Callable[[Any], Any]]) -> Any:
    image = strong(input)
    x = as_tracer(image)
    for step in steps:
        x = finished(name, step(x), x, None)
    return finished(name, x, image, output)


@mirrors(scipy.ndimage.uniform_filter1d)
def uniform_filter1d(
    input: Any, size: int, axis: int, output: Any, border: Border, origin: int
) -> Any:
    filtered = _uniform(input, size, axis, border, origin)
    return finished("uniform_filter1d", filtered, strong(input), output)


def _uniform(x: Any, size: int, axis: int, border: Border, origin: int) -> Any:
    if size < 1:
        raise RuntimeError("incorrect filter size")
    return _along(x, np.full(size, 1 / size), axis, border, origin)


@mirrors(scipy.ndimage.uniform_filter)
def uniform_filter(
    input: Any, size: Any, output: Any, border: Border, origin: Any, axes: Any
) -> Any:
    which = _checked_axes(axes, strong(input).ndim)
    count = len(which)
    settings = per_axis(size, count), border.along(count), per_axis(origin, count)
    steps = [
        lambda x, axis=axis, n=n, b=b, o=o: _uniform(x, int(n), axis, b, o)
        for axis, n, b, o in zip(which, *settings, strict=True)
        if n > 1
    ]
    return _axis_by_axis("uniform_filter", input, output, steps)


def gaussian_weights(sigma: Any, order: int, radius: int) -> Any:
    """Return samples of the derivative of that order of a Gaussian, whose own samples sum to 1.

    The derivative is a polynomial times the Gaussian exp(-x^2 / (2 sigma^2)), and that of q is q' - x q / sigma^2.
    """
    if order < 0:
        raise ValueError("order must be non-negative")
    x = np.arange(-radius, radius + 1)
    bell = np.exp(-0.5 / (sigma * sigma) * x**2)
    bell = bell / np.sum(bell)
    q: list[Any] = [1.0]  # coefficients, lowest power first
    for _ in range(order):
        slopes = [(k + 1) * c for k, c in enumerate(q[1:])] + [0.0, 0.0]
        falls = [0.0] + [c / (sigma * sigma) for c in q]
        q = [a - b for a, b in zip(slopes, falls, strict=True)]
    return sum(c * x**k for k, c in enumerate(q)) * bell


def _radius(sigma: Any, truncate: float, radius: Any) -> int:
    if radius is None:
        if type(sigma) is Tracer:
            advice = "Give radius, the number of elements to either side that the filter takes."
            radius = cast(np.trunc(np.add(np.multiply(sigma, truncate), 0.5)), np.dtype(int))
            return int(
                value_needed(
                    radius, "gaussian_filter", advice, "takes so many elements as sigma says"
                )
            )
        return int(truncate * float(sigma) + 0.5)
    if not isinstance(radius, (int, np.integer)) or radius < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    return operator.index(radius)


@mirrors(scipy.ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int,
    order: int,
    output: Any,
    border: Border,
    truncate: float,
    radius: int | None,
) -> Any:
    """Differentiable in `sigma` too, at the radius that its value has, unless `radius` is given."""
    filtered = _gaussian(input, sigma, axis, order, border, _radius(sigma, truncate, radius))
    return finished("gaussian_filter1d", filtered, strong(input), output)


def _gaussian(x: Any, sigma: Any, axis: int, order: int, border: Border, radius: int) -> Any:
    return _along(x, gaussian_weights(sigma, order, radius)[::-1], axis, border)


@mirrors(scipy.ndimage.gaussian_filter)
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any,
    output: Any,
    border: Border,
    truncate: float,
    radius: Any,
    axes: Any,
) -> Any:
    """Differentiable in `sigma` too, at the radius that its value has, unless `radius` is given."""
    which = _checked_axes(axes, strong(input).ndim)
    count = len(which)
    settings = (per_axis(value, count) for value in (sigma, order, radius))
    steps = [
        lambda x, axis=axis, b=b, s=s, k=k, r=r: _gaussian(
            x, s, axis, k, b, _radius(s, truncate, r)
        )
        for axis, b, s, k, r in zip(which, border.along(count), *settings, strict=True)
        if type(s) is Tracer or s > 1e-15
    ]
    return _axis_by_axis("gaussian_filter", input, output, steps)


def _edges(function: Any, smooth: list[int]) -> Any:
    """Return a filter: differences along one axis, smoothed along the others."""

    @mirrors(function)
    def rule(input: Any, axis: int, output: Any, border: Border) -> Any:
        ndim = strong(input).ndim
        axis, borders = normalize_axis_index(axis, ndim), border.along(ndim)
        others = [(a, smooth) for a in range(ndim) if a != axis]
        steps = [
            lambda x, a=a, taps=taps: _along(x, np.array(taps), a, borders[a])
            for a, taps in [(axis, [-1, 0, 1]), *others]
        ]
        return _axis_by_axis(function.__name__, input, output, steps)

    return rule


sobel = _edges(scipy.ndimage.sobel, [1, 2, 1])
prewitt = _edges(scipy.ndimage.prewitt, [1, 1, 1])


@mirrors(scipy.ndimage.laplace)
def laplace(input: Any, output: Any, border: Border, axes: Any) -> Any:
    image = as_tracer(input)
    which = _checked_axes(axes, image.ndim)
    laplacian = image if not which else 0
    for axis, b in zip(which, border.along(len(which)), strict=True):
        laplacian = laplacian + finished(
            "laplace", _along(image, np.array([1, -2, 1]), axis, b), image, None
        )
    return finished("laplace", laplacian, image, output)
