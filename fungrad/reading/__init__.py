"""Reading: rewriting the user's functions so that their Python, not only NumPy's calls, can be traced."""

from __future__ import annotations

from fungrad.core.reading import provide_reasons
from fungrad.reading import hooks as _hooks  # noqa: F401 - it fills the registry
from fungrad.reading.functions import read
from fungrad.reading.leaving import why_not_read

__all__ = ["read"]
__dir__ = __all__.copy

provide_reasons(why_not_read)
