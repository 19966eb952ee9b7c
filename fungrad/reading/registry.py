"""Registry of hooks, the functions that rewritten code calls, by name; their modules register them."""

from __future__ import annotations

from typing import Any

__all__ = ["HOOKS", "UNBOUND"]

HOOKS: dict[str, Any] = {}
"""Functions by the names that `Statements.hook` uses; `hooks.py` fills it."""

UNBOUND: Any = object()
"""The value of a variable that has none."""
