"""Reading the user's functions: what their Python does between NumPy's calls, taken under every transform."""

from __future__ import annotations

from fungrad.reading.functions import read

__all__ = ["read"]
__dir__ = __all__.copy
