"""Layered layout of a graph: ranks by longest paths, orders by barycentres, isotonic places.

The method is that of Sugiyama, Tagawa and Toda (1981). Each node has a rank. An edge over several ranks has a bend in
each of those between. Nodes of a rank are put in the order of their neighbours. Edges of one node share their bends,
and one over many ranks ends in a stub that names where it comes from.

Design: docs/design/36-showing-programs.md.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

FAR = 14
"""Ranks that an edge may go over; longer ones end in a stub."""
GAP = 16.0
"""Between neighbours of a rank."""
THIN = 7.0
"""Between bends."""
ROOM = 28.0
"""Between the ends of edges, at most."""
RISE = 26.0
"""Between ranks."""
ASIDE, INWARD = 0.05, 0.15
"""Weights of neighbours off the longest paths, and of the page's middle; others have 1."""
SWEEPS = 10
"""How often nodes are put in the order of their neighbours, down and up."""

Point = tuple[float, float]


class Edge(NamedTuple):
    """From a node to another; offsets say where it begins and ends, from their middles."""

    source: int
    target: int
    begins: float = 0.0
    ends: float | None = None  # None: where there is room


class Stub(NamedTuple):
    """Stand-in for the source of a long edge near its targets: upper left corner, width and height."""

    source: int
    corner: Point
    size: tuple[float, float]


class Layered:
    """The layout of a graph.

    Parameters
    ----------
    sizes
        Width and height of each node.
    edges
        Between nodes; they may go in circles, and then some go up.
    first, last
        Nodes of the first and of the last rank.
    ranks
        The rank of each node, if they are known.
    kept
        Whether nodes of the first rank, and those of the last one, are in the order given.
    upward
        Whether edges are given from what reads to what computes: the picture of what flows upwards.
    far
        How many ranks an edge may go over before it ends in a stub; None if any.
    stub
        The size of stubs.

    Attributes
    ----------
    corners
        The upper left corner of each node.
    paths
        The bends of each edge, from its begin to its end.
    stubs
        What is drawn besides.
    width, height
        Of all of it.
    """

    def __init__(
        self,
        sizes: Sequence[tuple[float, float]],
        edges: Sequence[Edge],
        first: Sequence[int] = (),
        last: Sequence[int] = (),
        ranks: Sequence[int] | None = None,
        kept: tuple[bool, bool] = (False, False),
        upward: bool = False,
        far: int | None = FAR,
        stub: tuple[float, float] = (34.0, 18.0),
    ) -> None:
        self.sizes, self.edges = list(sizes), list(edges)
        self.count = len(sizes)
        self.rank = [*ranks] if ranks else _ranks(self.count, edges, {*first}, {*last})
        self.kept = [[*x] for x, keep in zip((first, last), kept, strict=True) if keep and x]
        self.upward, self.far = upward, far
        self.stub_of: dict[tuple[int, int], int] = {}  # by the node it stands for and the rank
        self.links: list[tuple[int, int, float, float]] = []  # between neighbouring ranks
        self.chains: list[list[int]] = []  # of each edge: the nodes and bends it goes through
        self._cut(stub)
        self._order()
        self._place()

    def _cut(self, stub: tuple[float, float]) -> None:
        """Cut edges at every rank; nodes from `count` on are stubs and bends."""
        bends: dict[tuple[int, float, int], int] = {}
        seen: set[tuple[int, int, float, float]] = set()
        ends = [self._ends(edge, stub) for edge in self.edges]
        self.bends_from = len(self.rank)
        for edge, (start, stop) in zip(self.edges, ends, strict=True):
            offset = edge.begins if start == edge.source else 0.0
            chain = [start]
            for rank in range(self.rank[start] + 1, self.rank[stop]):
                bend = (start, offset, rank)
                if bend not in bends:
                    bends[bend] = len(self.rank)
                    self.rank.append(rank)
                    self.sizes.append((0.0, 0.0))
                chain.append(bends[bend])
            chain.append(stop)
            for u, v in itertools.pairwise(chain):
                end = (edge.ends or 0.0) if v == edge.target else 0.0
                link = (u, v, offset if u == start else 0.0, end)
                if link not in seen and self.rank[u] < self.rank[v]:
                    seen.add(link)
                    self.links.append(link)
            self.chains.append(chain)

    def _ends(self, edge: Edge, stub: tuple[float, float]) -> tuple[int, int]:
        """Return the nodes of an edge as drawn: a stub stands for a source that is far away."""
        u, v = edge.source, edge.target
        if self.far is None or self.rank[v] - self.rank[u] <= self.far:
            return u, v
        key = (v, self.rank[u] + 1) if self.upward else (u, self.rank[v] - 1)
        if key not in self.stub_of:
            self.stub_of[key] = len(self.rank)
            self.rank.append(key[1])
            self.sizes.append(stub)
        return (u, self.stub_of[key]) if self.upward else (self.stub_of[key], v)

    def _order(self) -> None:
        """Order the nodes of each rank by their neighbours, keeping the order of fewest crossings."""
        layers: dict[int, list[int]] = defaultdict(list)
        for node in _depth_first(len(self.rank), self.links):
            layers[self.rank[node]].append(node)
        ranks = sorted(layers)
        above: dict[int, list[tuple[int, float]]] = defaultdict(list)
        below: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for u, v, begins, ends in self.links:
            below[u].append((v, ends / max(self.sizes[v][0], 1.0)))
            above[v].append((u, begins / max(self.sizes[u][0], 1.0)))
        place = [0.0] * len(self.rank)
        for kept in self.kept:
            _put_in_order(layers[self.rank[kept[0]]], kept)
        for rank in ranks:
            for i, node in enumerate(layers[rank]):
                place[node] = i
        best, fewest = {r: list(layers[r]) for r in ranks}, self._crossings(place)
        for sweep in range(SWEEPS):
            near = below if sweep % 2 else above
            for rank in reversed(ranks) if sweep % 2 else ranks:
                middles: dict[int, float] = {}
                for node in layers[rank]:
                    at = [place[v] + offset for v, offset in near[node]]
                    middles[node] = sum(at) / len(at) if at else place[node]
                layers[rank].sort(key=middles.__getitem__)
                for kept in self.kept:
                    if self.rank[kept[0]] == rank:
                        _put_in_order(layers[rank], kept)
                for i, node in enumerate(layers[rank]):
                    place[node] = i
            crossings = self._crossings(place)
            if crossings < fewest:
                best, fewest = {r: list(layers[r]) for r in ranks}, crossings
            if not crossings:
                break
        self.layers = best

    def _crossings(self, place: Sequence[float]) -> int:
        """Return how many pairs of links cross."""
        ends: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for u, v, begins, finish in self.links:
            ends[self.rank[u]].append((place[u] + 1e-4 * begins, place[v] + 1e-4 * finish))
        total = 0
        for pairs in ends.values():
            known: list[float] = []
            for _, end in sorted(pairs):
                total += len(known) - bisect.bisect_right(known, end)
                bisect.insort(known, end)
        return total

    def _place(self) -> None:
        """Give the nodes of each rank their places: near their neighbours, in order, with gaps."""
        x = [0.0] * len(self.rank)
        near: dict[bool, dict[int, list[tuple[int, float, float]]]] = {
            True: defaultdict(list),
            False: defaultdict(list),
        }
        before, after = self._lengths()
        longest_before, longest_after = dict[int, int](), dict[int, int]()
        for u, v, *_ in self.links:
            longest_before[v] = max(longest_before.get(v, 0), before[u])
            longest_after[u] = max(longest_after.get(u, 0), after[v])
        for u, v, begins, ends in self.links:
            straight = 1.0 + 3.0 * ((u >= self.bends_from) + (v >= self.bends_from))
            weight = straight if 2 * before[u] >= longest_before[v] else ASIDE
            near[True][v].append((u, begins - ends, weight))
            weight = straight if 2 * after[v] >= longest_after[u] else ASIDE
            near[False][u].append((v, ends - begins, weight))
        ranks = sorted(self.layers)
        steps = {rank: self._steps(self.layers[rank]) for rank in ranks}
        for rank in ranks:
            for node, step in zip(self.layers[rank], steps[rank], strict=True):
                x[node] = step - steps[rank][-1] / 2
        for sweep in range(SWEEPS):
            down = not sweep % 2
            sides = (True, False) if sweep >= SWEEPS - 2 else (down,)
            for rank in ranks if down else reversed(ranks):
                nodes, wanted, weights = self.layers[rank], [], []
                for node in nodes:
                    at = [(x[v] + d, w) for side in sides for v, d, w in near[side].get(node, ())]
                    at = [*at, (0.0, INWARD)] if at else [(x[node], INWARD)]
                    weight = sum([w for _, w in at])
                    wanted.append(sum([a * w for a, w in at]) / weight)
                    weights.append(weight * before[node] * after[node])  # long paths are straight
                shifted = [a - s for a, s in zip(wanted, steps[rank], strict=True)]
                ascending = _ascending(shifted, weights)
                for node, a, step in zip(nodes, ascending, steps[rank], strict=True):
                    x[node] = a + step
        left = min([x[v] - self.sizes[v][0] / 2 for v in range(len(x))], default=0.0)
        self.x = [a - left for a in x]
        self.width = max([a + self.sizes[v][0] / 2 for v, a in enumerate(self.x)], default=0.0)
        self.heights = {r: max([self.sizes[v][1] for v in self.layers[r]]) for r in ranks}

    def _lengths(self) -> tuple[list[int], list[int]]:
        """Return of each node how long the longest path to it is, and that from it."""
        before, after = [1] * len(self.rank), [1] * len(self.rank)
        links = sorted(self.links, key=lambda link: self.rank[link[0]])
        for u, v, *_ in links:
            before[v] = max(before[v], before[u] + 1)
        for u, v, *_ in reversed(links):
            after[u] = max(after[u], after[v] + 1)
        return before, after

    def _steps(self, nodes: Sequence[int]) -> list[float]:
        """Return the middles of nodes that are as near to each other as they may be."""
        middles, last = [], None
        for node in nodes:
            gap = THIN if node >= self.bends_from else GAP
            if last is None:
                middles.append(0.0)
            else:
                apart = (self.sizes[last][0] + self.sizes[node][0]) / 2
                middles.append(
                    middles[-1] + apart + (gap + (THIN if last >= self.bends_from else GAP)) / 2
                )
            last = node
        return middles

    def stand(self, tops: dict[int, float] | None = None) -> None:
        """Give each rank its height on the page, one below the other or at the `tops` given."""
        if tops is None:
            tops, y = {}, 0.0
            for rank in sorted(self.heights):
                tops[rank] = y
                y += self.heights[rank] + (RISE if self.heights[rank] else RISE / 2)
        self.tops = tops
        self.height = max([tops[r] + h for r, h in self.heights.items()], default=0.0)
        middles = [tops[r] + self.heights[r] / 2 for r in self.rank]
        self.corners = [
            (self.x[v] - w / 2, middles[v] - h / 2) for v, (w, h) in enumerate(self.sizes)
        ]
        self.stubs = [Stub(u, self.corners[i], self.sizes[i]) for (u, _), i in self.stub_of.items()]
        self.paths = self._paths()

    def _paths(self) -> list[list[Point]]:
        entering: dict[int, list[int]] = defaultdict(list)
        for number, edge in enumerate(self.edges):
            if edge.ends is None:
                entering[edge.target].append(number)
        ends: dict[int, float] = {i: e.ends for i, e in enumerate(self.edges) if e.ends is not None}
        for node, numbers in entering.items():  # where they come from, from left to right
            numbers.sort(key=lambda i: self.x[self.chains[i][-2]])
            room = min(self.sizes[node][0] * 0.6, ROOM * len(numbers))
            for i, number in enumerate(numbers):
                ends[number] = room * ((i + 0.5) / len(numbers) - 0.5) if len(numbers) > 1 else 0.0
        paths = []
        for number, (edge, chain) in enumerate(zip(self.edges, self.chains, strict=True)):
            first, *bends, last = chain
            begin = self.x[first] + (edge.begins if first == edge.source else 0.0)
            end = self.x[last] + (ends[number] if last == edge.target else 0.0)
            # In each rank an edge goes straight down: nothing else is in its way.
            across = [(begin, first), *[(self.x[bend], bend) for bend in bends], (end, last)]
            points = []
            for x, v in across:
                top = self.tops[self.rank[v]]
                points += [(x, top), (x, top + self.heights[self.rank[v]])]
            points[0] = begin, self.corners[first][1] + self.sizes[first][1]
            points[-1] = end, self.corners[last][1]
            paths.append(points)
        return paths


def _ranks(
    count: int, edges: Sequence[Edge], first: Collection[int], last: Collection[int]
) -> list[int]:
    """Return the rank of each node: that of the longest path to it, later if that makes edges shorter."""
    below: list[list[int]] = [[] for _ in range(count)]
    above: list[list[int]] = [[] for _ in range(count)]
    for u, v in dict.fromkeys([(e.source, e.target) for e in edges if e.source != e.target]):
        below[u].append(v)
        above[v].append(u)
    missing = [len(x) for x in above]
    ready = [v for v in range(count) if not missing[v]][::-1]
    order: list[int] = []
    placed = [False] * count
    following = iter(range(count))
    while len(order) < count:
        if not ready:  # a circle: go on with the first node that is left
            ready.append(next(v for v in following if not placed[v]))
        u = ready.pop()
        if placed[u]:
            continue
        placed[u] = True
        order.append(u)
        for v in below[u]:
            missing[v] -= 1
            if not missing[v]:
                ready.append(v)
    number = {v: i for i, v in enumerate(order)}
    rank = [0] * count
    for v in order:
        rank[v] = max([rank[u] + 1 for u in above[v] if number[u] < number[v]], default=0)
    for u in reversed(order):
        later = [rank[v] - 1 for v in below[u] if number[v] > number[u]]
        if later and len(above[u]) <= len(later) and u not in first:
            rank[u] = max(rank[u], min(later))
    bottom = max([rank[v] + 1 for v in range(count) if v not in last], default=0)
    for v in last:
        rank[v] = bottom
    return rank


def _put_in_order(layer: list[int], nodes: Sequence[int]) -> None:
    """Put some nodes of a layer, in their places among the others, in the order given."""
    which, following = {*nodes}, iter(nodes)
    layer[:] = [next(following) if v in which else v for v in layer]


def _depth_first(count: int, links: Sequence[tuple[int, int, float, float]]) -> list[int]:
    """Return the nodes, each as close behind its neighbours as possible."""
    near: list[list[int]] = [[] for _ in range(count)]
    for u, v, *_ in links:
        near[u].append(v)
        near[v].append(u)
    visited: dict[int, None] = {}
    for start in range(count):
        pending = [start]
        while pending:
            node = pending.pop()
            if node not in visited:
                visited[node] = None
                pending += near[node][::-1]
    return [*visited]


def _ascending(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the ascending numbers of least weighted squared differences, by averaging neighbours."""
    blocks: list[list[float]] = []  # mean, weight, how many
    for value, weight in zip(values, weights, strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, w, n = blocks.pop()
            other = blocks[-1]
            total = other[1] + w
            blocks[-1] = [(other[0] * other[1] + mean * w) / total, total, other[2] + n]
    return [mean for mean, _, n in blocks for _ in range(int(n))]
