"""Refusals of functions with SciPy's signatures, and results that are partly unknown."""

from __future__ import annotations

from typing import Any

__all__ = ["Unknown", "refuse"]


def refuse(function: str, advice: dict[str, str], given: dict[str, Any]) -> None:
    """Raise a TypeError for the first of some arguments that is given, with the advice for it."""
    for name, x in given.items():
        if x is not None and x is not False and not (isinstance(x, int) and x == 0):
            raise TypeError(
                f"{function}: {name} cannot be used where something is traced: {advice[name]}"
            )


class Unknown(dict[str, Any]):
    """A solver's report as a dictionary; missing entries are unknown for traced values."""

    def __init__(self, function: str, **known: Any) -> None:
        super().__init__(known)
        self._function = function

    def __missing__(self, key: str) -> Any:
        raise KeyError(
            f"{self._function}: {key!r} is not known where something is traced; there is {sorted(self)}"
        )
