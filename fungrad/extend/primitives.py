"""The primitives that programs show, by the names that `jax.extend.core.primitives` and `jax.lax` have for them."""

from __future__ import annotations

from typing import Any

import fungrad.lax as lax
from fungrad.transforms.jaxprs import Own

__all__ = ["primitives"]
__dir__ = __all__.copy

_NAMES = {
    "axis_index": "axis_index", "cholesky": "cholesky", "custom_jvp_call": "custom_jvp_call",
    "custom_vjp_call": "custom_vjp_call", "pjit": "jit", "remat": "checkpoint", "squeeze": "reshape",
}  # fmt: skip


class _Primitives:
    """Looks up ``sin_p``: equal to what the equations of a `Jaxpr` have, and ``sin_p.bind`` calls ``lax.sin``."""

    def __repr__(self) -> str:
        return "<fungrad.extend.core.primitives>"

    def __getattr__(self, name: str) -> Own:
        if not name.endswith("_p") or name.startswith("_"):
            raise AttributeError(f"{name!r} is not the name of a primitive, as 'sin_p' is")
        short = name.removesuffix("_p")

        def call(*operands: Any, **params: Any) -> Any:
            function = getattr(lax, short, None)
            if function is None:
                raise NotImplementedError(f"{name}.bind: call the function that it is a part of")
            return function(*operands, **params)

        own = Own(_NAMES.get(short, short), call, False)
        own.bind = call  # type: ignore[method-assign]
        return own


primitives = _Primitives()
