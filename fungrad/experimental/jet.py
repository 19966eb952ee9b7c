"""Taylor mode, as in `jax.experimental.jet`.

>>> from fungrad.experimental.jet import jet
>>> value, (slope, curvature) = jet(lambda x: x * x, (3.0,), ([1.0, 0.0],))
>>> print(value, slope, curvature)
9.0 6.0 2.0
"""

from fungrad.transforms.jet import jet as jet

__all__ = ["jet"]
__dir__ = __all__.copy
