"""What functions that were read call beside what is written in them, by name; the modules that have them say so."""

from __future__ import annotations

from typing import Any

__all__ = ["HOOKS", "UNBOUND"]

HOOKS: dict[str, Any] = {}
"""Functions by the names that `Statements.hook` uses; `hooks.py` fills it."""

UNBOUND: Any = object()
"""The value of a variable that has none."""
