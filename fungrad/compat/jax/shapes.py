"""Shapes, and JAX's messages for those that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape that arrays of some shapes are broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={[*shapes]}") from None
