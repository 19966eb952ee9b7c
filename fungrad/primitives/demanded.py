"""Selections of the demanded elements of a cotangent, with a filler elsewhere (`rewrite/demand.py`)."""

from __future__ import annotations

from fungrad.primitives.elementwise import Function, select
from fungrad.primitives.elementwise.arithmetic import select_dtype
from fungrad.primitives.ufunc import elementwise


def _choice(name: str) -> Function:
    return elementwise(
        name,
        function="where",
        dtype=select_dtype,
        linear=(1, 2),
        transposes=select.transposes,
        total=True,
    )


# With NaN, and with zero after it. To compilers both are `select`.
void, kept = _choice("void"), _choice("kept")
