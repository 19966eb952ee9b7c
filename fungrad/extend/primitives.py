"""Primitives of programs, by their names in `jax.extend.core.primitives` and `jax.lax`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import fungrad.lax as lax
from fungrad.transforms.jaxprs import Own, own

__all__ = ["primitives"]
__dir__ = __all__.copy

_NAMES = {"pjit": "jit", "squeeze": "reshape"}

_INERT = frozenset(["accuracy", "out_dtype", "out_sharding", "sharding", "weak_type"])
"""Parameters of JAX's equations that say nothing here."""

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "and": lax.bitwise_and,
    "argmax": lambda x, *, axes, index_dtype: lax.argmax(x, axes[0], index_dtype),
    "argmin": lambda x, *, axes, index_dtype: lax.argmin(x, axes[0], index_dtype),
    "concatenate": lambda *operands, dimension: lax.concatenate(operands, dimension),
    "iota": lambda *, dtype, shape, dimension: lax.broadcasted_iota(dtype, shape, dimension),
    "not": lax.bitwise_not,
    "or": lax.bitwise_or,
    "sort": lambda *operands, **params: [*lax.sort(operands, **params)],
    "xor": lax.bitwise_xor,
}
"""Functions that `bind` calls, where they are not the namesakes in `fungrad.lax`."""


class _Primitives:
    """Finder of ``sin_p``: equal to that of equations of a `Jaxpr`; ``sin_p.bind`` calls ``lax.sin``."""

    def __repr__(self) -> str:
        return "<fungrad.extend.core.primitives>"

    def __getattr__(self, name: str) -> Own:
        if not name.endswith("_p") or name.startswith("_"):
            raise AttributeError(f"{name!r} is not the name of a primitive, as 'sin_p' is")
        short = name.removesuffix("_p")

        def call(*operands: Any, **params: Any) -> Any:
            function = _FUNCTIONS.get(short) or getattr(lax, short, None)
            if function is None:
                raise NotImplementedError(f"{name}.bind: call the function that it is a part of")
            inert = _INERT.intersection(params)
            if inert:
                inert -= inspect.signature(function).parameters.keys()
            return function(*operands, **{k: x for k, x in params.items() if k not in inert})

        primitive = own(_NAMES.get(short, short))
        primitive.function = call
        return primitive


primitives = _Primitives()
