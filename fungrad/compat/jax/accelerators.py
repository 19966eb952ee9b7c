"""Names of `jax.experimental.pallas` for GPUs and TPUs: each imports, and raises when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from fungrad.compat.jax.modules import numpy as _numpy
from fungrad.compat.jax.refs import Referring
from fungrad.compat.standing_in import lacks

jnp: Any = _numpy


class Options:
    """Parameters of a compiler of kernels; they have no effect."""

    def __init__(self, *args: Any, **options: Any) -> None:
        vars(self).update(options)


def of_accelerators(module: str, names: str, globals_: dict[str, Any]) -> Callable[[str], Any]:
    """Return ``__getattr__`` for a module whose `names` are functions that explain why they cannot run."""
    known = frozenset(names.split())

    def __getattr__(name: str) -> Any:
        if name not in known:
            raise AttributeError(lacks(f"{module}.{name}", {}), name=name)

        def refused(*_: Any, **__: Any) -> NoReturn:
            raise NotImplementedError(
                f"{lacks(f'{module}.{name}', {})}: it is for kernels on GPUs or TPUs. Choose what the program has for the CPU, or "
                "write the kernel with the names of jax.experimental.pallas alone, and interpret=True"
            )

        refused.__name__ = refused.__qualname__ = name
        globals_[name] = refused
        return refused

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
