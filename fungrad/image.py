"""Images of other sizes: the names of `jax.image`.

Along each axis the result is a matrix times the image: a row of it has the weights of the elements that one element of the
result is made of. They are a kernel's values at the distances, divided by their sum.

>>> import numpy as np
>>> import fungrad as fg
>>> resize(np.array([[0.0, 4.0]]), (2, 4), "linear")
array([[0., 1., 3., 4.],
       [0., 1., 3., 4.]])
>>> fg.grad(lambda x: resize(x, (4,), "linear")[1])(np.array([0.0, 4.0]))
array([0.75, 0.25])
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.extend.packages import Glossary, tell_missing
from fungrad.extend.precision import array, computing_dtype, converted, floating_dtype
from fungrad.typing import Array

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
__dir__ = __all__.copy
tell_missing(globals())

LEAST_SUM = 1000 * float(np.finfo(np.float32).eps)
"""Weights whose sum is not larger are zero: none of the image is near."""


class ResizeMethod(enum.Enum):
    """Interpolation between the elements of an image; functions take it by name as well.

    ========================  =================================================================================
    `NEAREST`                 the nearest element; ``"nearest"``
    `LINEAR`                  a triangle's; ``"linear"``, ``"bilinear"``, ``"trilinear"``, ``"triangle"``
    `LANCZOS3`, `LANCZOS5`    a windowed sinc's, of radius 3 or 5; ``"lanczos3"``, ``"lanczos5"``
    `CUBIC`                   a cubic spline's with a = -1/2 (R. G. Keys, "Cubic convolution interpolation for
                              digital image processing", IEEE Transactions on Acoustics, Speech, and Signal
                              Processing 29, 1981); ``"cubic"``, ``"bicubic"``, ``"tricubic"``
    `CUBIC_PYTORCH`           PyTorch's: without antialiasing a = -3/4, and beyond the edges there are more of
                              the elements there; ``"cubic-pytorch"``, ``"bicubic-pytorch"``
    `AREA`                    the mean over the area of the new element; ``"area"``
    ========================  =================================================================================

    Examples
    --------
    >>> ResizeMethod.from_string("bicubic")
    <ResizeMethod.CUBIC: 4>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method of a name.

        Raises
        ------
        ValueError
            If there is none of that name.

        Examples
        --------
        >>> ResizeMethod.from_string("linear")
        <ResizeMethod.LINEAR: 1>
        """
        if s not in _NAMES:
            raise ValueError(f"unknown resize method {s!r}; there are {', '.join(_NAMES)}")
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}

Kernel = Callable[[Any], Any]
"""The weight of an element at a distance, which is not negative."""


def _lanczos(radius: int) -> Kernel:
    return lambda x: fnp.where(x > radius, 0.0, fnp.sinc(x) * fnp.sinc(x / radius))


def _cubic(a: float) -> Kernel:
    """Return the kernel of cubic convolution with slope `a` at distance 1."""

    def kernel(x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return fnp.where(x < 1, near, fnp.where(x < 2, far, 0.0))

    return kernel


_KERNELS: dict[ResizeMethod, Kernel] = {
    ResizeMethod.LINEAR: lambda x: fnp.maximum(0.0, 1 - x),
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.75),
}
_BEYOND = 2
"""Radius of PyTorch's cubic interpolation, in elements beyond each edge."""


def _weights(
    size: int, count: int, scale: Any, shift: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """Return the weights, shape ``(count, size)``, of an axis' elements in each of `count` new ones.

    A place x of the image is at ``x * scale + shift`` of the result; an element's centre is half a unit behind its index.
    """
    dtype = fnp.result_type(scale, shift)
    beyond = 0
    if method is ResizeMethod.CUBIC_PYTORCH:
        method, beyond = (ResizeMethod.CUBIC, 0) if antialias else (method, _BEYOND)
    unit = 1 / scale  # the length of a new element, in old ones
    news = fnp.arange(count, dtype=dtype)
    olds = fnp.arange(-beyond, size + beyond, dtype=dtype)
    centres = (news + 0.5) * unit - shift * unit - 0.5
    if method is ResizeMethod.AREA:
        begins = (news * unit - shift * unit)[:, None]
        overlap = fnp.minimum(begins + unit, olds + 1) - fnp.maximum(begins, olds)
        weights = fnp.maximum(0.0, overlap)
    else:
        distances = fnp.abs(centres[:, None] - olds)
        weights = _KERNELS[method](distances / fnp.maximum(unit, 1.0) if antialias else distances)
    if beyond:
        weights = _at_edges(weights, beyond)
    sums = fnp.sum(weights, axis=1, keepdims=True)
    there = fnp.abs(sums) > LEAST_SUM
    if not beyond:
        there = there & ((centres >= -0.5) & (centres <= size - 0.5))[:, None]
    return fnp.where(there, weights / fnp.where(there, sums, 1.0), 0.0)


def _at_edges(weights: Any, beyond: int) -> Any:
    """Return weights with those of so many elements beyond each edge added to those at the edges."""
    if weights.shape[1] == 2 * beyond + 1:
        return fnp.sum(weights, axis=1, keepdims=True)
    first = fnp.sum(weights[:, : beyond + 1], axis=1, keepdims=True)
    last = fnp.sum(weights[:, -beyond - 1 :], axis=1, keepdims=True)
    return fnp.concatenate([first, weights[:, beyond + 1 : -beyond - 1], last], axis=1)


def _resampled(image: Any, weights: dict[int, Any]) -> Any:
    """Return the image times a matrix along each of some axes; first those that get shorter most."""
    dtype = image.dtype
    inner = converted(image, computing_dtype(dtype))
    for axis in sorted(weights, key=lambda d: weights[d].shape[0] / max(1, weights[d].shape[1])):
        matrix = converted(weights[axis], inner.dtype)
        inner = fnp.moveaxis(fnp.tensordot(inner, matrix, (axis, 1)), -1, axis)
    return converted(inner, dtype)


def _nearest(image: Any, shape: tuple[int, ...]) -> Any:
    for axis, (size, count) in enumerate(zip(image.shape, shape, strict=True)):
        if size != count:
            image = fnp.take(image, (2 * np.arange(count) + 1) * size // (2 * count), axis=axis)
    return image


def _checked(function: str, image: Any, shape: Any, method: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape of the result as integers, and the method."""
    lengths = tuple(map(operator.index, shape))
    if len(lengths) != len(image.shape):
        raise ValueError(
            f"{function}: shape has a length for each axis of the image, got {lengths} for an image of shape {image.shape}"
        )
    for axis, (size, count) in enumerate(zip(image.shape, lengths, strict=True)):
        if count < 0 or (count and not size):
            raise ValueError(
                f"{function}: an axis of {size} elements (axis {axis}) cannot have {count}; got shape {lengths} for an image "
                f"of shape {image.shape}"
            )
    if isinstance(method, str):
        method = ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise TypeError(f"{function}: method is a ResizeMethod or the name of one, got {method!r}")
    return lengths, method


_GLOSSARY = Glossary(
    {
        "image": "An array of numbers.",
        "shape": "The shape of the result: a length for each axis of the image, also those that stay as they are.",
        "method": "The method, as a `ResizeMethod` or by name.",
        "antialias": "Whether, where the result has fewer elements than the image, each is made of as many as it stands for.",
        "precision": "Makes no difference: NumPy computes in the precision of the operands.",
    },
    raises={
        "shape": ("ValueError", "If there is not one length for each axis, or one cannot be."),
        "method": ("ValueError", "If there is no method of that name."),
    },
    imports={"np": "import numpy as np"},
)


@_GLOSSARY.public
def resize(
    image: Array,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: object = None,
) -> Array:
    """Return an image in another size.

    Returns
    -------
    array
        Of that shape and the image's dtype; but that integers become floating-point numbers with all methods but the nearest.

    Examples
    --------
    >>> resize(np.array([1, 2, 3, 4]), (2,), "linear")
    array([1.71428571, 3.28571429])
    >>> resize(np.array([1, 2]), (4,), "nearest")
    array([1, 1, 2, 2])
    """
    image = array(image)
    lengths, how = _checked("resize", image, shape, method)
    if how is ResizeMethod.NEAREST:
        return _nearest(image, lengths)
    image = converted(image, floating_dtype(image))
    weights = {
        axis: _weights(size, count, np.float64(count / size), np.float64(0), how, antialias)
        if count
        else np.zeros((0, size))
        for axis, (size, count) in enumerate(zip(image.shape, lengths, strict=True))
        if size != count
    }
    return _resampled(image, weights)


@_GLOSSARY.public
def scale_and_translate(
    image: Array,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: object = None,
) -> Array:
    """Return an image, scaled and moved: x along an axis goes to ``x * scale + translation``.

    The centre of element i is at i + 1/2. Where there is no image, the result is 0. It is differentiable in the image, in
    `scale` and in `translation`.

    Parameters
    ----------
    spatial_dims : Sequence[int]
        The axes that are scaled and moved, K of them; along others `shape` is that of the image.
    scale, translation : array_like
        Of shape ``(K,)``: by how much, along each of `spatial_dims`.

    Returns
    -------
    array
        Of that shape and the image's dtype, or float64 of integers.

    Raises
    ------
    ValueError
        If `shape` has not one length for each axis, or changes one that is not scaled; if `scale` or `translation` are not of shape ``(K,)``;
        if the method is the nearest, or unknown.

    Examples
    --------
    >>> scale_and_translate(np.array([1.0, 2.0, 4.0]), (3,), (0,), np.array([1.0]), np.array([0.5]), "linear")
    array([1. , 1.5, 3. ])
    """
    image = array(image)
    lengths, how = _checked("scale_and_translate", image, shape, method)
    if how is ResizeMethod.NEAREST:
        raise ValueError("scale_and_translate: there is no nearest method here; resize has it")
    axes = [range(len(lengths))[operator.index(d)] for d in spatial_dims]
    factors, shifts = fnp.asarray(scale), fnp.asarray(translation)
    for name, given in (("scale", factors), ("translation", shifts)):
        if fnp.shape(given) != (len(axes),):
            raise ValueError(
                f"scale_and_translate: {name} has a number for each of the {len(axes)} axes of spatial_dims, got shape "
                f"{fnp.shape(given)}"
            )
    kept = [d for d in range(len(lengths)) if d not in axes]
    if any(lengths[d] != image.shape[d] for d in kept) or len({*axes}) < len(axes):
        raise ValueError(
            f"scale_and_translate: spatial_dims names each axis that changes, once; got {tuple(spatial_dims)} to make shape "
            f"{lengths} of {image.shape}"
        )
    dtype = computing_dtype(floating_dtype(factors, shifts))
    factors, shifts = converted(factors, dtype), converted(shifts, dtype)
    weights = {
        d: _weights(image.shape[d], lengths[d], factors[i], shifts[i], how, antialias)
        for i, d in enumerate(axes)
    }
    return _resampled(converted(image, floating_dtype(image)), weights)
