"""Values of which equal instances are the same object, so that `is` and the default hash suffice.

Types and primitives are compared on every recorded equation and are part of every cache key.
Interning them makes both as cheap as Python offers. Instances are held weakly, so nothing here
grows without bound; a bounded strong cache in front keeps construction of recent ones fast.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import weakref
from typing import Any

_instances: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()
_lock = threading.Lock()


@functools.lru_cache(maxsize=1 << 14, typed=True)
def _construct(cls: type, /, *args: Any, **kwargs: Any) -> Any:
    new = type.__call__(cls, *args, **kwargs)
    values = tuple(getattr(new, field.name) for field in dataclasses.fields(new))
    key = (cls, values, tuple(map(type, values)))  # 1, 1.0 and True are different parameters
    with _lock:
        return _instances.setdefault(key, new)


class Interned(type):
    """Metaclass of frozen dataclasses whose fields are hashable: one instance per value."""

    interned = True
    """A class that sets this to False has instances as any other class has."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return (
            _construct(cls, *args, **kwargs)
            if cls.interned
            else type.__call__(cls, *args, **kwargs)
        )


class InternedValue(metaclass=Interned):
    """Base class of interned dataclasses: a copied or unpickled instance is the same one."""

    def __reduce__(self) -> tuple[Any, ...]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return type(self), tuple(getattr(self, field.name) for field in fields if field.init)
