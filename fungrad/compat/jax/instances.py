"""`isinstance(x, numpy.ndarray)` in programs for JAX, whose arrays are no instances of NumPy's class.

Arrays here are of a subclass of NumPy's, and Python asks the bases of their class alone. So modules whose source speaks of jax
and of ndarray get an `isinstance` of their own, by a finder in front of `sys.meta_path`.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np

from fungrad.compat.jax.array import Array, Weak
from fungrad.compat.standing_in import PROGRAM
from fungrad.core.kept import Kept

_OURS = frozenset([Array, Weak, Kept])
_WORDS = (b"ndarray", b"isinstance", b"jax")
_isinstance = builtins.isinstance


def isinstance(obj: Any, class_or_tuple: Any, /) -> bool:
    """Return whether an object is of a class or one of several; a `jax.Array` is none of NumPy's arrays."""
    if type(obj) not in _OURS or class_or_tuple is Array:
        return _isinstance(obj, class_or_tuple)
    if type(class_or_tuple) is tuple:
        return any(isinstance(obj, c) for c in class_or_tuple)
    if type(class_or_tuple) is types.UnionType:
        return any(isinstance(obj, c) for c in class_or_tuple.__args__)
    return class_or_tuple is not np.ndarray and _isinstance(obj, class_or_tuple)


class _Loader:
    """Loader that puts `isinstance` into a module before another loader runs it."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def create_module(self, spec: ModuleSpec) -> Any:
        return self.inner.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self.inner
        module.isinstance = isinstance
        self.inner.exec_module(module)


class InstanceFinder:
    """Finder in front of the others, which gives modules written for JAX an `isinstance` of their own."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """Return the spec of a module, by the other finders."""
        others = [f for f in sys.meta_path if f is not self and hasattr(f, "find_spec")]
        spec = next((s for f in others if (s := f.find_spec(name, path, target))), None)
        if spec is not None and hasattr(spec.loader, "exec_module") and _is_for_jax(name, spec):
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


def _is_for_jax(name: str, spec: ModuleSpec) -> bool:
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("fungrad", "jax", "numpy", "scipy"):
        return False
    if spec.origin is None or not spec.origin.endswith(".py"):
        return False
    try:
        source = Path(spec.origin).read_bytes()
    except OSError:
        return False
    return all(word in source for word in _WORDS)


def set_up() -> None:
    """Answer in the program itself, and in modules that are imported from here on."""
    sys.meta_path.insert(0, InstanceFinder())
    PROGRAM["isinstance"] = isinstance
    vars(sys.modules["__main__"]).setdefault("isinstance", isinstance)
