"""How objects that hold arrays print themselves: with the types of these, not their elements."""

from __future__ import annotations

from typing import Any

from fungrad.core.types import type_of


def summary(name: str, **parts: Any) -> str:
    """Return ``name(part=..., ...)``; arrays are told by their types.

    Examples
    --------
    >>> import numpy as np
    >>> summary("BSpline", t=np.zeros(8), k=3, grid=(np.zeros(2),))
    'BSpline(t=float64[8], k=3, grid=(float64[2],))'
    """
    return f"{name}({', '.join(f'{part}={_told(value)}' for part, value in parts.items())})"


def _told(value: Any) -> str:
    if isinstance(value, tuple) and type(value) is tuple:
        items = ", ".join(map(_told, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    return str(type_of(value)) if getattr(value, "shape", ()) else repr(value)
