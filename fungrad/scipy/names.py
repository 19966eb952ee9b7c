"""Names of the modules that mirror SciPy's, and advice on missing ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from fungrad.numpy.elsewhere import unknown_name


def mirror_of(
    mirrored: ModuleType, namespace: Mapping[str, Any], *more: str
) -> tuple[list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """Return the `__all__`, `__dir__` and `__getattr__` of a mirror of a SciPy module with these globals.

    It has those of SciPy's names that are there, and `more` that not every version of SciPy has.
    """
    module = f"fungrad.{mirrored.__name__}"
    available = {name for name in mirrored.__all__ if name in namespace}
    names = sorted({x for x in available if not isinstance(namespace[x], ModuleType)}.union(more))

    def missing(name: str) -> Any:
        if name in mirrored.__all__:
            raise AttributeError(
                f"{module} has no {name!r}; {mirrored.__name__}.{name} works on plain arrays, so call it outside of "
                "transformed functions; within one, call it by fungrad.pure_callback, with its derivative by fungrad.custom_jvp"
            )
        raise unknown_name(module, name, names)

    return names, lambda: names, missing
