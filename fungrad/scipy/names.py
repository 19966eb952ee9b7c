"""What the modules that mirror SciPy's say of names they do not have."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from fungrad.numpy.exclusions import unknown_name


def missing_name(mirrored: ModuleType, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for a name that is not among those `known` to the mirror of a module of SciPy's."""
    module = f"fungrad.{mirrored.__name__}"
    if name in mirrored.__all__:
        return AttributeError(
            f"{module} has no {name!r}; {mirrored.__name__}.{name} works on plain arrays, outside of transformed "
            "functions"
        )
    return unknown_name(module, name, known)
