"""A row of the table of plain NumPy programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TRANSFORMS = ("grad", "jit", "vmap", "jit(grad)", "hessian")
"""The columns of the table."""


@dataclass(frozen=True)
class Program:
    """A function as people write it who know NumPy and nothing of derivatives.

    Attributes
    ----------
    function
        Takes a number or an array of one axis, returns a number. It is smooth around each of its arguments.
    x
        Where it is tested.
    xs
        Three more arguments; some take branches that `x` does not.
    senseless
        Transforms, among `TRANSFORMS`, that mean nothing here, and why.
    """

    function: Callable[[Any], Any]
    x: Any
    xs: tuple[Any, Any, Any]
    senseless: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.function.__name__

    @property
    def field(self) -> str:
        """The module it is written in."""
        return self.function.__module__.rpartition(".")[2]

    @property
    def transforms(self) -> tuple[str, ...]:
        """The transforms that make sense."""
        return tuple(name for name in TRANSFORMS if name not in self.senseless)

    def arguments(self) -> list[Any]:
        """All four arguments, arrays as copies, which a program may spoil."""
        return [np.array(x, float) if np.ndim(x) else float(x) for x in (self.x, *self.xs)]
