"""``autograd.numpy.numpy_boxes``."""

from __future__ import annotations

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.modules.builtins import SequenceBox
from fungrad.compat.autograd.modules.tracer import Box
from fungrad.compat.standing_in import attributes
from fungrad.core.tracer import Tracer

__all__ = ["ArrayBox", "SequenceBox", "Tracer"]
__getattr__ = attributes("autograd.numpy.numpy_boxes", ABSENT)


class ArrayBox(Box):
    """Stand-in for a differentiated array."""
