"""``autograd.numpy.numpy_jvps``."""

from __future__ import annotations

from typing import Any

import fungrad.numpy as fnp
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.standing_in import attributes

__all__ = ["broadcast"]
__getattr__ = attributes("autograd.numpy.numpy_jvps", ABSENT)


def broadcast(x: Any, target: Any) -> Any:
    """Return `x` with the shape of `target`."""
    return fnp.broadcast_to(x, target.shape)
