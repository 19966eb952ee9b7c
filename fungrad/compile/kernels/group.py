"""Equations that are to be one kernel."""

from __future__ import annotations

from fungrad.core.types import Shape


class Group:
    """Equations for one kernel: their numbers, the index space, and the axes that they reduce."""

    __slots__ = ("axes", "cuts", "members", "nodes", "open", "operations", "space")

    def __init__(self, space: Shape) -> None:
        self.space = space
        self.axes: tuple[int, ...] | None = None  # no reduction has come so far
        self.members: list[int] = []
        self.operations = 0
        self.nodes = 0
        self.cuts: frozenset[int] = frozenset()  # of the last axis
        self.open = True

    @property
    def kept(self) -> list[int]:
        """The axes that reductions do not go along."""
        return [a for a in range(len(self.space)) if a not in (self.axes or ())]

    def holds(self, shape: Shape) -> bool:
        """Whether it computes results of this shape."""
        rows = self.axes is not None and shape == tuple([self.space[a] for a in self.kept])
        return shape == self.space or rows
