"""Programs for people to read: what a function is, as NumPy source.

>>> import numpy as np
>>> import fungrad as fg
>>> text = fg.to_source(fg.grad(lambda x: np.sum(np.sin(x))))(np.ones(3))
>>> "np.cos(x)" in text
True
"""

from fungrad.show.source import to_source

__all__ = ["to_source"]
