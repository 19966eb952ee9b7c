"""Names that users give to intermediate results."""

from __future__ import annotations

from typing import Any

from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType


@primitive
class Named(Primitive):
    """The operand itself, with a `label` for rules about saving. Its tangent has no label."""

    label: str

    linear = (0,)
    view = True

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x

    def impl(self, xp: Any, x: Any) -> Any:
        return x

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        return tangents[0]

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        return (ct,)

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        return self(*operands)

    def expression(self, *names: str) -> str | None:
        return names[0]
