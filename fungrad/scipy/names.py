"""What the modules that mirror SciPy's say of names they do not have."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from fungrad.numpy.exclusions import unknown_name


def mirror_of(
    mirrored: ModuleType, names: list[str]
) -> tuple[Callable[[], list[str]], Callable[[str], Any]]:
    """Return the `__dir__` and the `__getattr__` of the mirror of a module of SciPy's that has these names."""
    module = f"fungrad.{mirrored.__name__}"

    def missing(name: str) -> Any:
        if name in mirrored.__all__:
            raise AttributeError(
                f"{module} has no {name!r}; {mirrored.__name__}.{name} works on plain arrays, outside of transformed "
                "functions"
            )
        raise unknown_name(module, name, names)

    return lambda: sorted(names), missing
