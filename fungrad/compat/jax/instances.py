"""Names that modules written for JAX are given: an `isinstance` and a `type` of their own.

Arrays here are of a subclass of NumPy's, and Python asks the bases of their class alone. So modules whose source speaks of jax
and of ndarray get an `isinstance` of their own, by a finder in front of `sys.meta_path`. Those that ask for the type of an
array get a `type` of their own. For those that read ``jnp.__dict__`` and the like, the names in it are made.
"""

from __future__ import annotations

import builtins
import re
import sys
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np

from fungrad.compat.jax.array import Array, Weak
from fungrad.compat.standing_in import PROGRAM, fill
from fungrad.core.kept import Kept

_OURS = frozenset([Array, Weak, Kept])
_WORDS = (b"ndarray", b"isinstance", b"jax")
_OF_ARRAYS = re.compile(rb"\btype\((?:jnp|jax\.numpy)\.")
_OF_NAMES = re.compile(rb"\b(?:j\w*|lax)(?:\.\w+)*\.__dict__|\bvars\((?:j\w*|lax)(?:\.\w+)*\)")
_NAMESPACES = "jax.numpy jax.numpy.fft jax.numpy.linalg jax.lax jax.scipy.linalg jax.scipy.special"
_isinstance, _type = builtins.isinstance, builtins.type


def isinstance(obj: Any, class_or_tuple: Any, /) -> bool:
    """Return whether an object is of a class or one of several; a `jax.Array` is none of NumPy's arrays."""
    if _type(obj) not in _OURS or class_or_tuple is Array:
        return _isinstance(obj, class_or_tuple)
    if _type(class_or_tuple) is tuple:
        return any(isinstance(obj, c) for c in class_or_tuple)
    if _type(class_or_tuple) is types.UnionType:
        return any(isinstance(obj, c) for c in class_or_tuple.__args__)
    return class_or_tuple is not np.ndarray and _isinstance(obj, class_or_tuple)


class _OneClass(builtins.type):
    """Metaclass of the `type` that modules get: weak arrays are of the class `Array`, as in JAX."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = _type(*args, **kwargs)
        return Array if made is Weak and len(args) == 1 else made

    def __instancecheck__(cls, instance: Any) -> bool:
        return _isinstance(instance, _type)


class type(builtins.type, metaclass=_OneClass):
    """Python's `type`, in modules that ask for the type of an array."""

    __class_getitem__: Any = classmethod(types.GenericAlias)


class _Loader:
    """Loader that puts names into a module before another loader runs it."""

    def __init__(self, inner: Any, names: Sequence[str]) -> None:
        self.inner, self.names = inner, names

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def create_module(self, spec: ModuleSpec) -> Any:
        return self.inner.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self.inner
        for name in self.names:
            setattr(module, name, globals()[name])
        self.inner.exec_module(module)


class InstanceFinder:
    """Finder in front of the others, which gives modules written for JAX these names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """Return the spec of a module, by the other finders."""
        others = [f for f in sys.meta_path if f is not self and hasattr(f, "find_spec")]
        spec = next((s for f in others if (s := f.find_spec(name, path, target))), None)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        if names := _asked_for(name, spec):
            spec.loader = _Loader(spec.loader, names)  # type: ignore[assignment]
        return spec


def _asked_for(name: str, spec: ModuleSpec) -> list[str]:
    """Return the names that a module is given; fill the namespaces that it reads."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("fungrad", "jax", "numpy", "scipy"):
        return []
    if spec.origin is None or not spec.origin.endswith(".py"):
        return []
    try:
        source = Path(spec.origin).read_bytes()
    except OSError:
        return []
    if b"jax" not in source:
        return []
    if _OF_NAMES.search(source):
        fill(_NAMESPACES.split())
    names = ["isinstance"] if all(word in source for word in _WORDS) else []
    return [*names, "type"] if _OF_ARRAYS.search(source) else names


def set_up() -> None:
    """Answer in the program itself, and in modules that are imported from here on."""
    sys.meta_path.insert(0, InstanceFinder())
    PROGRAM["isinstance"] = isinstance
    vars(sys.modules["__main__"]).setdefault("isinstance", isinstance)
