"""Registry of hooks, the functions that rewritten code calls, by name; their modules register them."""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any

__all__ = ["HOOKS", "KEY", "MODULE", "MODULE_KEY", "UNBOUND", "WRITING", "without_hook"]

MODULE = ModuleType("fungrad hooks")
"""The module of the hooks: Python finds attributes of modules fast."""

HOOKS: dict[str, Any] = vars(MODULE)
"""Functions by the names that `Statements.hook` uses; `hooks.py` fills it."""

KEY = "\0fungrad."
"""The beginning of texts that stand for objects in rewritten definitions."""

MODULE_KEY = f"{KEY}hooks"
"""The text that stands for the module of hooks."""

UNBOUND: Any = HOOKS.setdefault("UNBOUND", object())
"""The value of a variable that has none."""


def without_hook(called: ast.expr) -> ast.expr:
    """Return a called expression without the hook that may have been put around it."""
    if isinstance(called, ast.Call) and isinstance(called.func, ast.Attribute):
        owner = called.func.value
        if isinstance(owner, ast.Constant) and owner.value == MODULE_KEY:
            return called.args[0]
    return called


WRITING = frozenset(
    [
        "copyto",
        "fill_diagonal",
        "place",
        "put",
        "put_along_axis",
        "putmask",
        "save",
        "savetxt",
        "savez",
    ]
)
"""Functions of NumPy that write to their arguments, or elsewhere."""
