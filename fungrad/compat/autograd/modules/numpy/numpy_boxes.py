"""``autograd.numpy.numpy_boxes``."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.boxes import MAPPINGS, VJPNode, new_box
from fungrad.compat.autograd.modules.builtins import SequenceBox
from fungrad.compat.autograd.modules.tracer import Box
from fungrad.compat.standing_in import attributes
from fungrad.core.tracer import Tracer

__all__ = ["ArrayBox", "SequenceBox", "Tracer"]
__getattr__ = attributes("autograd.numpy.numpy_boxes", ABSENT)


_SCALARS = [np.float64, np.float32, np.float16, np.complex64, np.complex128]


class ArrayBox(Box):
    """Stand-in for a differentiated array."""

    def __new__(cls, value: Any, trace: Any = None, node: Any = None) -> Any:
        """Return a box outside of transforms, as `new_box` does."""
        return new_box(value, trace, VJPNode() if node is None else node)


Box.types.add(ArrayBox)
MAPPINGS.update(dict.fromkeys([np.ndarray, float, complex, *_SCALARS], ArrayBox))
