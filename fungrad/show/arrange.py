"""Placement of a drawing: scenes within scenes, frames around nodes, and edges through them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fungrad.show.layout import FAR, RISE, Edge, Layered, Point
from fungrad.show.model import Frame, Node, Scene

LETTER, LINE, PADDING = 6.3, 15.0, 8.0
"""Of text, of 10.5 pixels: the width of a letter, the height of a line, and the space around it."""
LARGE = 10
"""Nodes from which on a frame has the arguments and results in it that nothing else has to do with."""
BETWEEN = 56.0
"""Between the forward and the backward pass."""


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, x: float, y: float) -> Box:
        """Return it elsewhere."""
        return self._replace(x=self.x + x, y=self.y + y)


class Path(NamedTuple):
    """An edge, or a part of one: its bends, from where it begins; `arrow` says whether it ends at a node."""

    ends: tuple[int, int]
    points: Sequence[Point]
    arrow: bool
    kind: str = ""


@dataclasses.dataclass(eq=False)
class Arranged:
    """A scene and where its parts are, from its upper left corner.

    Attributes
    ----------
    boxes
        Of each node.
    frames
        Of each frame.
    paths
        The edges.
    stubs
        Beside long edges: which node they stand for.
    bodies
        By node: the scenes in it, and where they are in its box.
    """

    scene: Scene
    boxes: list[Box]
    frames: list[Box]
    paths: list[Path]
    stubs: list[tuple[int, Box]]
    bodies: dict[int, list[tuple[Arranged, Point]]]
    width: float = 0.0
    height: float = 0.0


def text_lines(node: Node) -> list[str]:
    """Return the lines of text in a node."""
    name = f"{node.variable} {node.name}" if node.variable and not node.bodies else node.name
    lines = [name] + ([node.type] if node.type else [])
    return lines + node.note.splitlines()


def arranged(scene: Scene) -> Arranged:
    """Return the layout of a scene, and of all in it."""
    order = [scene]
    for one in order:  # it grows
        order += [body for node in one.nodes for body in node.bodies]
    layouts: dict[int, Arranged] = {}
    for one in reversed(order):
        layouts[id(one)] = _Arrangement(one, layouts).arranged()
    return layouts[id(scene)]


def _node_size(node: Node, layouts: dict[int, Arranged]) -> tuple[float, float]:
    lines = text_lines(node)
    longest = max([len(lines[0]) + 4 * (node.kernel is not None), *map(len, lines)])
    width = longest * LETTER + 2 * PADDING
    height = len(lines) * LINE + PADDING
    if node.bodies:
        inner = [layouts[id(body)] for body in node.bodies]
        width = max(width, sum([x.width + 3 * PADDING for x in inner]) + PADDING)
        height += max([x.height for x in inner]) + LINE + 3 * PADDING
    return width, height


def _guests(scene: Scene, frame: Frame) -> list[int]:
    """Return arguments and results to draw in a large frame, because nothing outside uses them."""
    if len(frame.members) < LARGE:
        return []
    inside = {*frame.members}
    near: dict[int, list[int]] = {}
    for u, v in scene.edges:
        near.setdefault(u, []).append(v)
        near.setdefault(v, []).append(u)
    ends = [v for v, node in enumerate(scene.nodes) if not node.equations]
    return [v for v in ends if v in near and inside.issuperset(near[v])]


class _Part(NamedTuple):
    """A node, or a frame, as it is laid out among others: its number, or that of the frame."""

    number: int
    framed: bool


class _Framed:
    """Contents of a frame: its nodes, and places above and below where edges pass through."""

    def __init__(self, scene: Scene, frame: Frame, sizes: Sequence[tuple[float, float]]) -> None:
        self.members = [*frame.members, *_guests(scene, frame)]
        place = {v: i for i, v in enumerate(self.members)}
        upward = self.upward = _side(scene, self.members[0])
        edges: list[Edge] = []
        self.ends: list[tuple[int, int]] = []  # of each edge, in the scene
        self.enter: dict[int, int] = {}  # by the node outside
        self.leave: dict[int, int] = {}  # by the node inside
        own = [sizes[v] for v in self.members]
        links = [(v, u) if upward else (u, v) for u, v in scene.edges]
        for u, v in links:
            if v in place and u not in place and _side(scene, u) == _side(scene, v):
                if u not in self.enter:
                    self.enter[u] = len(own)
                    own.append((0.0, 0.0))
                edges.append(Edge(self.enter[u], place[v]))
                self.ends.append((u, v))
            elif u in place and v not in place and _side(scene, u) == _side(scene, v):
                if u not in self.leave:
                    self.leave[u] = len(own)
                    own.append((0.0, 0.0))
                    edges.append(Edge(place[u], self.leave[u]))
                    self.ends.append((u, -1))
            elif u in place and v in place:
                edges.append(Edge(place[u], place[v]))
                self.ends.append((u, v))
        self.sizes, self.edges, self.title = own, edges, frame.title
        self.lay_out([*self.enter.values()], [*self.leave.values()], (False, False))

    def lay_out(self, enter: Sequence[int], leave: Sequence[int], kept: tuple[bool, bool]) -> None:
        """Lay out the nodes; with `kept`, the edges from and to outside go through in the order given."""
        far = None if self.upward else FAR
        self.layered = Layered(self.sizes, self.edges, enter, leave, kept=kept, far=far)
        self.layered.stand()
        self.head = LINE + 4 if self.title else 0.0
        self.width = max(self.layered.width, len(self.title) * LETTER) + 2 * PADDING
        self.height = self.layered.height + self.head + PADDING
        self.left = (self.width - self.layered.width) / 2

    def offset(self, port: int) -> float:
        """Return where an edge goes through, from the middle."""
        return self.layered.x[port] + self.left - self.width / 2

    def is_cut(self, edge: int) -> bool:
        """Whether an edge begins at a stub."""
        return self.layered.chains[edge][0] != self.edges[edge].source

    def is_entered(self, u: int) -> bool:
        """Whether an edge from a node outside goes on to a node."""
        return any(v == u and not self.is_cut(i) for i, (v, _) in enumerate(self.ends))


def _side(scene: Scene, v: int) -> bool:
    return scene.beside and scene.nodes[v].backward


class _Arrangement:
    def __init__(self, scene: Scene, layouts: dict[int, Arranged]) -> None:
        self.scene, self.layouts = scene, layouts
        self.sizes = [_node_size(node, layouts) for node in scene.nodes]
        self.framed = [_Framed(scene, frame, self.sizes) for frame in scene.frames]
        self.frame_of = {v: k for k, framed in enumerate(self.framed) for v in framed.members}
        self.out = Arranged(
            scene,
            [Box(0, 0, 0, 0)] * len(scene.nodes),
            [Box(0, 0, 0, 0)] * len(scene.frames),
            [],
            [],
            {},
        )

    def arranged(self) -> Arranged:
        out = self.out
        if self.scene.beside:
            self._side_by_side()
        else:
            parts, layered, ends = self._layered(False)
            layered.stand()
            self._take(parts, layered, ends, 0.0, False)
            out.width, out.height = layered.width, layered.height
        for v, node in enumerate(self.scene.nodes):
            if node.bodies:
                box = out.boxes[v]
                x, y = (
                    box.x + 2 * PADDING,
                    box.y + len(text_lines(node)) * LINE + LINE + 2 * PADDING,
                )
                out.bodies[v] = []
                for body in node.bodies:
                    inner = self.layouts[id(body)]
                    out.bodies[v].append((inner, (x, y)))
                    x += inner.width + 3 * PADDING
        return out

    def _layered(
        self, side: bool, ranks: dict[_Part, int] | None = None, again: bool = True
    ) -> tuple[list[_Part], Layered, list[tuple[int, int]]]:
        """Lay out one side; return its nodes and frames, and the nodes of each edge."""
        scene = self.scene
        parts = dict.fromkeys(
            [self._part(v) for v in range(len(scene.nodes)) if _side(scene, v) == side]
        )
        number = {part: i for i, part in enumerate(parts)}
        sizes = [
            (self.framed[p.number].width, self.framed[p.number].height)
            if p.framed
            else self.sizes[p.number]
            for p in parts
        ]
        edges: list[Edge] = []
        ends: list[tuple[int, int]] = []
        known = set()
        for u, v in scene.edges:
            if _side(scene, u) != side or _side(scene, v) != side:
                continue
            u, v = (v, u) if side else (u, v)
            a, b = self._part(u), self._part(v)
            key = u, b if b.framed else v
            if a == b or key in known:
                continue
            known.add(key)
            begins, finish = 0.0, None
            if a.framed:
                begins = self.framed[a.number].offset(self.framed[a.number].leave[u])
            if b.framed:
                finish = self.framed[b.number].offset(self.framed[b.number].enter[u])
            edges.append(Edge(number[a], number[b], begins, finish))
            ends.append((u, v))
        given = None if ranks is None else [ranks[p] for p in parts]
        layered = Layered(sizes, edges, ranks=given, upward=side)
        if again and self._reordered([*parts], layered, ends):
            return self._layered(side, ranks, False)
        return [*parts], layered, ends

    def _reordered(
        self, parts: Sequence[_Part], layered: Layered, ends: Sequence[tuple[int, int]]
    ) -> bool:
        """Have edges go through frames in the order in which they come; return whether there are such."""
        frames = {p.number for p in parts if p.framed}
        come: dict[int, dict[int, float]] = {k: {} for k in frames}
        go: dict[int, dict[int, float]] = {k: {} for k in frames}
        for (u, _), edge, chain in zip(ends, layered.edges, layered.chains, strict=True):
            a, b = parts[edge.source], parts[edge.target]
            if b.framed:
                come[b.number][self.framed[b.number].enter[u]] = layered.x[chain[-2]]
            if a.framed:
                go[a.number][self.framed[a.number].leave[u]] = layered.x[chain[1]]
        for k in frames:
            enter, leave = (
                sorted(come[k], key=come[k].__getitem__),
                sorted(go[k], key=go[k].__getitem__),
            )
            several = len({*come[k].values()}) > 1, len({*go[k].values()}) > 1
            self.framed[k].lay_out(enter, leave, several)
        return bool(frames)

    def _part(self, v: int) -> _Part:
        frame = self.frame_of.get(v)
        return _Part(v, False) if frame is None else _Part(frame, True)

    def _take(
        self,
        parts: Sequence[_Part],
        layered: Layered,
        ends: Sequence[tuple[int, int]],
        x: float,
        up: bool,
    ) -> None:
        """Note where everything of one side is."""
        out = self.out
        for i, part in enumerate(parts):
            left, top = layered.corners[i]
            width, height = layered.sizes[i]
            box = Box(left + x, top, width, height)
            if part.framed:
                out.frames[part.number] = box
                self._take_framed(self.framed[part.number], box, up)
            else:
                out.boxes[part.number] = box
        for (u, v), path in zip(ends, layered.paths, strict=True):
            part = self._part(v)
            if part.framed and not self.framed[part.number].is_entered(u):
                continue  # there are stubs in the frame
            points = [(a + x, b) for a, b in path]
            self._add_path((u, v), points, not self._part(v).framed, not self._part(u).framed, up)
        number = {}  # of stubs: the node in the scene
        for edge, pair in zip(layered.edges, ends, strict=True):
            number[edge.target if up else edge.source] = pair[up]
        for source, (left, top), size in layered.stubs:
            out.stubs.append((number[source], Box(left + x, top, *size)))

    def _take_framed(self, framed: _Framed, frame: Box, up: bool) -> None:
        x, y = frame.x + framed.left, frame.y + framed.head
        layered = framed.layered
        for i, v in enumerate(framed.members):
            (left, top), (width, height) = layered.corners[i], layered.sizes[i]
            self.out.boxes[v] = Box(left + x, top + y, width, height)
        for i, ((u, v), path) in enumerate(zip(framed.ends, layered.paths, strict=True)):
            points = [(a + x, b + y) for a, b in path]
            if u not in framed.members and not framed.is_cut(i):
                points = [(points[0][0], frame.y), *points]
            if v < 0:
                points = [*points, (points[-1][0], frame.y + frame.height)]
            self._add_path((u, v), points, v >= 0, u in framed.members, up)
        outside = {port: u for u, port in framed.enter.items()}
        for source, (left, top), size in layered.stubs:
            known = source < len(framed.members)
            of = framed.members[source] if known else outside[source]
            self.out.stubs.append((of, Box(left + x, top + y, *size)))

    def _add_path(
        self, ends: tuple[int, int], points: list[Point], arrow: bool, begins: bool, up: bool
    ) -> None:
        u, v = ends
        if up:  # it was laid out the other way round
            self.out.paths.append(Path((v, u), points[::-1], begins, "backward"))
        else:
            self.out.paths.append(Path((u, v), points, arrow))

    def _side_by_side(self) -> None:
        """Lay out the backward pass on the right, each part at the height of its forward part."""
        out, scene = self.out, self.scene
        parts, left, ends = self._layered(False)
        rank = {part: left.rank[i] for i, part in enumerate(parts)}
        ranks: dict[_Part, int] = {}
        for v, node in enumerate(scene.nodes):
            if _side(scene, v):
                anchor = rank[self._part(node.anchor)] if node.anchor is not None else 0
                ranks.setdefault(self._part(v), anchor)
        others, right, right_ends = self._layered(True, ranks)
        tops, y = {}, 0.0
        for r in sorted({*left.heights, *right.heights}):
            height = max(left.heights.get(r, 0.0), right.heights.get(r, 0.0))
            tops[r], left_height = y, height
            y += left_height + RISE
            for one in (left, right):
                if r in one.heights:
                    one.heights[r] = height
        for one in (left, right):
            one.stand(tops)
        x = left.width + BETWEEN
        self._take(parts, left, ends, 0.0, False)
        self._take(others, right, right_ends, x, True)
        out.paths += self._across()
        out.width, out.height = x + right.width, max(left.height, right.height)

    def _across(self) -> Iterator[Path]:
        """Yield the edges from the forward pass to the backward pass."""
        for u, v in self.scene.edges:
            if _side(self.scene, u) != _side(self.scene, v):
                a, b = self.out.boxes[u], self.out.boxes[v]
                points = [(a.x + a.width, a.y + a.height / 2), (b.x, b.y + b.height / 2)]
                if _side(self.scene, u):
                    points = [(a.x, a.y + a.height / 2), (b.x + b.width, b.y + b.height / 2)]
                yield Path((u, v), points, True, "across")
