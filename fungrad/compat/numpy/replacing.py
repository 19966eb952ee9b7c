"""Exchange of functions for stand-ins and back, in their module and wherever they were imported."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any

__all__ = ["Replacement", "replacement"]

Place = tuple[Any, str, Any]

_MISSING: Any = object()  # a method that a class inherits


class Replacement:
    """Stand-ins for functions, while it is on; several threads may switch it on in turn."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._times = 0
        self._places: list[tuple[Any, str, Any, Any]] = []  # owner, name, original, stand-in

    def on(self, made: Callable[[], Iterable[Place]]) -> bool:
        """Put the stand-ins of `made`, (owner, name, stand-in), in place; return whether it was off."""
        self._times += 1
        if self._times == 1:
            self.add(made())
        return self._times == 1

    def add(self, made: Iterable[Place], everywhere: bool = True) -> None:
        """Replace more, while it is on; `everywhere`: also where others have imported it by name."""
        places = [(x, name, vars(x).get(name, _MISSING), new) for x, name, new in made]
        with self._lock:  # not held while `made` imports modules
            if self._times:
                self._places += places
                for owner, name, _, new in places:
                    setattr(owner, name, new)
                if everywhere:
                    self._exchange({id(old): new for _, _, old, new in places})

    def off(self) -> bool | None:
        """Put everything back if this is the last switch-off; return whether it was, or None if not on."""
        with self._lock:
            if not self._times:
                return None
            self._times -= 1
            if self._times:
                return False
            for owner, name, old, _ in reversed(self._places):
                if old is not _MISSING:
                    setattr(owner, name, old)
                elif name in vars(owner):
                    delattr(owner, name)
            self._exchange({id(new): old for _, _, old, new in self._places})
            self._places.clear()
            return True

    def original(self, x: Any) -> Any:
        """Return the original of a stand-in; other objects unchanged."""
        found = [old for _, _, old, new in [*self._places] if new is x and old is not _MISSING]
        return found[0] if found else x

    def _exchange(self, instead: dict[int, Any]) -> None:
        """Exchange functions in the modules that have imported them by name."""
        for module in sys.modules.copy().values():
            if not isinstance(module, ModuleType) or not _takes_stand_ins(module):
                continue
            names = vars(module)
            for name, value in names.copy().items():
                new = instead.get(id(value))
                if new is not None and names.get(name) is value:
                    names[name] = new


def _takes_stand_ins(module: ModuleType) -> bool:
    """Whether a module's imported functions are exchanged: not in NumPy, fungrad or compiled code."""
    package = module.__name__.partition(".")[0]
    file = getattr(module, "__file__", None) or ""
    return package not in ("numpy", "fungrad") and not file.endswith(tuple(EXTENSION_SUFFIXES))


replacement = Replacement()
"""Stand-ins put in place by `fungrad.compat.numpy.install` and `tracing`."""
