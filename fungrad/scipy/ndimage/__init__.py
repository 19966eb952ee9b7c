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

import scipy.ndimage

from fungrad.scipy.names import mirror_of
from fungrad.scipy.ndimage.filters import *
from fungrad.scipy.ndimage.interpolation import *

__all__, __dir__, __getattr__ = mirror_of(scipy.ndimage, globals())
