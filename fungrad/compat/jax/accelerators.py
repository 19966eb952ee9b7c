"""Names of JAX for GPUs, TPUs and XLA: each can be imported, and raises when it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from fungrad.compat.jax.modules import numpy as _numpy
from fungrad.compat.jax.refs import Referring
from fungrad.compat.standing_in import lacks

jnp: Any = _numpy


class Options:
    """Parameters of a compiler of kernels; they have no effect."""

    def __init__(self, *args: Any, **options: Any) -> None:
        vars(self).update(options)


_KERNELS = (
    "it is for kernels on GPUs or TPUs. Choose what the program has for the CPU, or write the kernel with the names of "
    "jax.experimental.pallas alone, and interpret=True"
)


def _refusing(name: str, message: str, is_class: bool) -> Any:
    """Return a class or a function that raises when it is called."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(message)

    refused.__name__ = refused.__qualname__ = name
    return type(name, (), {"__init__": refused}) if is_class else refused


def importable(
    module: str, names: Iterable[str], globals_: dict[str, Any], why: str = _KERNELS
) -> Callable[[str], Any]:
    """Return ``__getattr__`` for a module whose `names` can be imported; calling one is an error.

    A name that begins with a capital letter is a class, for annotations and for `isinstance`.
    """
    known = frozenset(names)

    def __getattr__(name: str) -> Any:
        missing = lacks(f"{module}.{name}", {})
        if name not in known:
            raise AttributeError(missing, name=name)
        made = globals_[name] = _refusing(name, f"{missing}: {why}", name[0].isupper())
        return made

    globals_["__dir__"] = lambda: sorted({*globals_, *known})
    return __getattr__


def load(
    ref: Referring,
    *,
    mask: Any = None,
    other: Any = None,
    cache_modifier: Any = None,
    eviction_policy: Any = None,
    volatile: bool = False,
) -> Any:
    """Return the array of a reference; where a mask is false, `other`, or 0."""
    x = ref[...]
    return (
        x
        if mask is None
        else jnp.where(mask, x, jnp.asarray(0 if other is None else other, x.dtype))
    )


def store(ref: Referring, val: Any, *, mask: Any = None, eviction_policy: Any = None) -> None:
    """Replace elements of the array of a reference, where a mask is true."""
    ref[...] = val if mask is None else jnp.where(mask, val, ref[...])
