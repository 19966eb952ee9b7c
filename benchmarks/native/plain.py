"""The loops and functions of `lax` as one writes them without it: Python's loops on arrays."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import optree


class Lax:
    """What the programs use of `lax`, for a library that has none.

    Parameters
    ----------
    np : module
        NumPy, CuPy or autograd's NumPy.
    special : module
        The functions of `scipy.special` that go with it.
    """

    def __init__(self, np: ModuleType, special: ModuleType) -> None:
        self.np = np
        self.erf = special.erf

    def scan(self, f: Callable[..., Any], carry: Any, xs: Any) -> tuple[Any, Any]:
        outputs = []
        for i in range(len(optree.tree_leaves(xs)[0])):
            carry, y = f(carry, optree.tree_map(lambda x, i=i: x[i], xs))
            outputs.append(y)
        return carry, optree.tree_map(lambda *ys: self.np.stack(ys), *outputs)

    def fori_loop(self, low: int, high: int, body: Callable[..., Any], carry: Any) -> Any:
        for i in range(low, high):
            carry = body(i, carry)
        return carry
