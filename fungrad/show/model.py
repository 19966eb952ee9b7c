"""Model of a drawing: nodes, edges, and frames around some nodes."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Literal

Kind = Literal["input", "constant", "equation", "view", "folded", "result"]


@dataclasses.dataclass(eq=False)
class Node:
    """An argument, a constant, an equation or several, or a result.

    Attributes
    ----------
    kind
        Which of these; a "view" is an equation that computes nothing, as a reshape.
    name
        The primitive, or the name of the user's.
    type
        Shape and dtype.
    variable
        What the printed program calls it.
    title
        All there is to say: parameters, types, the user's line.
    equations
        How many equations it stands for.
    backward
        Whether it is of the backward pass.
    kernel
        The number of the kernel that it is part of.
    anchor
        Of a node of the backward pass that is drawn beside the forward one: the node there that it belongs to.
    bodies
        The programs that it runs.
    note
        Which of them are not drawn.
    """

    kind: Kind
    name: str
    type: str = ""
    variable: str = ""
    title: str = ""
    equations: int = 0
    backward: bool = False
    kernel: int | None = None
    anchor: int | None = None
    bodies: list[Scene] = dataclasses.field(default_factory=list)
    note: str = ""


@dataclasses.dataclass(eq=False)
class Frame:
    """A rectangle around nodes: a kernel, a repeated body, or the way back through one equation.

    `equations` says for how many they stand.
    """

    kind: Literal["kernel", "repeated", "backward"]
    title: str
    members: Sequence[int]
    equations: int


@dataclasses.dataclass(eq=False)
class Scene:
    """A program as it is drawn.

    Attributes
    ----------
    title
        What it is to the equation that runs it.
    nodes
        By number.
    edges
        Pairs of numbers of nodes, each once; from what computes to what reads.
    frames
        No node is in two of them.
    beside
        Whether nodes of the backward pass are drawn on the right, at the height of what they go back through.
    notes
        What has been folded.
    """

    title: str
    nodes: list[Node] = dataclasses.field(default_factory=list)
    edges: dict[tuple[int, int], None] = dataclasses.field(default_factory=dict)
    frames: list[Frame] = dataclasses.field(default_factory=list)
    beside: bool = False
    notes: list[str] = dataclasses.field(default_factory=list)

    def add(self, node: Node) -> int:
        """Add a node; return its number."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def frame(self, frame: Frame) -> bool:
        """Add a frame, if no edge would then go round in a circle; return whether it has been added."""
        taken = {v for other in self.frames for v in other.members}
        if not taken.isdisjoint(frame.members):
            return False
        self.frames.append(frame)
        if self._goes_round():
            self.frames.pop()
            return False
        return True

    def _goes_round(self) -> bool:
        """Whether frames, taken as one node each, depend on themselves."""
        part = list(range(len(self.nodes)))
        for number, frame in enumerate(self.frames):
            for v in frame.members:
                part[v] = -1 - number
        missing = Counter(dict.fromkeys(part, 0))
        below: dict[int, list[int]] = {p: [] for p in part}
        for u, v in self.edges:
            if part[u] != part[v]:
                below[part[u]].append(part[v])
                missing[part[v]] += 1
        ready = [p for p, n in missing.items() if not n]
        for p in ready:
            for q in below[p]:
                missing[q] -= 1
                if not missing[q]:
                    ready.append(q)
        return len(ready) < len(missing)
