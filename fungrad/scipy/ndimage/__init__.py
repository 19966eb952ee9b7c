"""`scipy.ndimage` for traced arrays: filters, interpolation, and transformations of images.

Each function is SciPy's own on plain arrays. `map_coordinates` is differentiable in the image and in the
coordinates, `affine_transform`, `shift` and `rotate` in their parameters, `gaussian_filter` in sigma.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.scipy import ndimage
>>> image = np.arange(12.0).reshape(3, 4) ** 2
>>> def brightness(place):
...     return ndimage.map_coordinates(image, place[:, None], order=1)[0]
>>> brightness(np.array([0.5, 1.5])), fg.grad(brightness)(np.array([0.5, 1.5]))
(np.float64(16.5), array([28., 7.]))
"""

from __future__ import annotations

from typing import Any

import scipy.ndimage

from fungrad.scipy.names import missing_name
from fungrad.scipy.ndimage.filters import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    laplace,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from fungrad.scipy.ndimage.interpolation import (
    affine_transform,
    map_coordinates,
    rotate,
    shift,
    spline_filter,
    spline_filter1d,
    zoom,
)

__all__ = [
    "affine_transform",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "laplace",
    "map_coordinates",
    "prewitt",
    "rotate",
    "shift",
    "sobel",
    "spline_filter",
    "spline_filter1d",
    "uniform_filter",
    "uniform_filter1d",
    "zoom",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    raise missing_name(scipy.ndimage, name, __all__)
