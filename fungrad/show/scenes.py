"""From programs to drawings."""

from __future__ import annotations

import bisect
import linecache
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from fungrad import Equation, Expr
from fungrad.core.scopes import Scope, scopes_of
from fungrad.extend import Primitive
from fungrad.extend.programs import InDerivative, Source, describe_source
from fungrad.show.folding import Unit, folded
from fungrad.show.kernels import Group, groups_of
from fungrad.show.labels import (
    counted,
    literal,
    names_in,
    place_of,
    programs_of,
    short,
    variables_of,
)
from fungrad.show.model import Frame, Node, Scene

KERNELS = 1000
"""Most equations of a program whose kernels are drawn: of more, finding them takes seconds."""
LEAST = 12
"""Nodes that a body may always have, however many there are already."""

BACKWARD = "backward pass of "


class Shown(NamedTuple):
    """A program to be drawn.

    Attributes
    ----------
    title
        What it is called.
    expr
        The program.
    inputs, outputs
        What its arguments and results are called.
    sources
        Where each equation is from.
    anchors
        Of each equation, the number of the equation that it, or what it goes back through, was; None if forward and backward pass
        are not drawn side by side.
    seeds
        The results that the last arguments are cotangents of.
    wrt
        The arguments that the last results are cotangents of.
    """

    title: str
    expr: Expr
    inputs: Sequence[str]
    outputs: Sequence[str]
    sources: Sequence[Source | None]
    anchors: Sequence[int | None] | None = None
    seeds: Sequence[int] = ()
    wrt: Sequence[int] = ()

    def is_backward(self, number: int) -> bool:
        """Whether an equation is of the backward pass."""
        source = self.sources[number]
        return isinstance(source, InDerivative) and source.backward


def scene_of(shown: Shown, most: int, depth: int, kernels: bool) -> Scene:
    """Return the scene of a program, with those that its equations run, in about so many nodes."""
    root, running = _Builder(shown, most, kernels).build()
    left = most - len(root.nodes)
    waiting = deque([(*pair, 1) for pair in running])
    while waiting:
        node, primitive, level = waiting.popleft()
        for name, expr in programs_of(primitive):
            count = len(expr.equations)
            if level > depth or (left < LEAST and count > left):
                node.note += f"{name or 'program'} of {count:,} equations, folded\n"
                continue
            inputs, outputs = names_in(primitive, name, expr)
            sources = [*expr.sources] or [None] * count
            inner = Shown(name, expr, inputs, outputs, sources)
            whole = node.kernel is not None  # the loop is part of a kernel, with all it runs
            scene, nested = _Builder(inner, max(left, LEAST), kernels and not whole).build()
            node.bodies.append(scene)
            left -= len(scene.nodes)
            waiting += [(*x, level + 1) for x in nested]
    return root


class _Builder:
    """Makes the scene of one program."""

    def __init__(self, shown: Shown, most: int, kernels: bool) -> None:
        self.shown, self.expr = shown, shown.expr
        self.scene = Scene(shown.title, beside=shown.anchors is not None)
        self.most = most
        count = len(self.expr.equations)
        few = count <= max(most, KERNELS)
        self.groups: list[Group] = groups_of(self.expr) if kernels and few else []
        self.unknown = kernels and not few
        self.kernel = {i: k for k, group in enumerate(self.groups) for i in group.members}
        self.variables = variables_of(self.expr)
        self.owner: dict[int, int] = {}  # by variable: the node that computes it
        self.node: dict[int, int] = {}  # by equation: the node that it is drawn as
        self.first: set[int] = set()  # the equations that are drawn, not folded
        self.going_back = self._going_back() if self.scene.beside else set()
        self.places = [place_of(source) for source in shown.sources]
        self.scopes = [self._scopes(number) for number in range(count)]

    def build(self) -> tuple[Scene, list[tuple[Node, Primitive]]]:
        """Return the scene, and the nodes that run programs."""
        expr, scene = self.expr, self.scene
        for v, name in zip(expr.inputs, self.shown.inputs, strict=True):
            self.owner[v] = scene.add(self._given("input", v, name))
        self.forward = [i for i in range(len(expr.equations)) if i not in self.going_back]
        units = self._units()
        for unit in units:
            self._add_unit(unit)
        if scene.beside:
            self._add_backward(units)
        self._add_edges()
        self._add_results()
        if not scene.beside:
            self._add_frames()
        running = [
            (scene.nodes[self.node[i]], expr.equations[i].primitive)
            for i in sorted(self.first)
            if programs_of(expr.equations[i].primitive)
        ]
        return scene, running

    def _going_back(self) -> set[int]:
        """Return the equations of the backward pass, and those computed for it alone."""
        backward: set[int] = set()
        read = {*self.expr.outputs}  # by the forward pass
        for number in reversed(range(len(self.expr.equations))):
            _, inputs, outputs = self.expr.equations[number]
            made_for_it = isinstance(self.shown.sources[number], InDerivative)
            if self.shown.is_backward(number) or (made_for_it and read.isdisjoint(outputs)):
                backward.add(number)
            else:
                read.update(inputs)
        return backward

    def _scopes(self, number: int) -> tuple[Scope, ...]:
        """Return the scopes of an equation; being backward is another one."""
        scopes = scopes_of(self.shown.sources[number])
        if scopes and self.shown.is_backward(number):
            return (scopes[0]._replace(name=f"{BACKWARD}{scopes[0].name}"), *scopes[1:])
        return scopes

    def _units(self) -> list[Unit]:
        count = len(self.expr.equations)
        most = self.most if count <= self.most or not self.scene.beside else self.most // 3
        operations = [self.expr.equations[i].primitive.name for i in self.forward]
        lines = [self.places[i] for i in self.forward]
        functions = [None if place is None else (place[0], place[2]) for place in lines]
        units = folded(operations, lines, functions, most, [self.scopes[i] for i in self.forward])
        if len(units) < len(self.forward):
            drawn = sum([unit.drawn for unit in units])
            together = {
                ("repetition", u.start)
                if u.period
                else (*u.why, u.start * (u.why[0] not in ("line", "function")))
                for u in units
                if u.why or u.period
            }
            several = Counter([kind.replace("repeated", "repetition") for kind, *_ in together])
            parts = [f"{n} {kind}{'s' * (n > 1)}" for kind, n in several.items()]
            there = " of the forward pass" if self.scene.beside else ""
            of = f"{self.shown.title}: " if self.shown.title else ""
            self.scene.notes.append(
                f"{of}{len(self.forward):,} equations{there} are drawn as {drawn:,} nodes; folded: {', '.join(parts)}"
                + f"; kernels are shown of {KERNELS:,} equations at most" * self.unknown
            )
        return units

    # Nodes

    def _given(self, kind: Any, v: int, name: str) -> Node:
        type_ = self.expr.types[v]
        title = f"{name}: {type_!r}"
        return Node(kind, short(name), str(type_), self.variables.get(v, ""), title)

    def _equation(self, number: int) -> int:
        """Add the node of one equation."""
        primitive, inputs, outputs = self.expr.equations[number]
        texts = [literal(self.expr, v) for v in inputs]
        name = str(primitive) if programs_of(primitive) else primitive.name
        if any(texts):
            name = f"{name}({', '.join([text or '·' for text in texts])})"
        types = [str(self.expr.types[v]) for v in outputs]
        more = f" + {len(types) - 2}" if len(types) > 2 else ""
        node = Node(
            "view" if primitive.rearranges else "equation",
            short(name),
            short(", ".join(types[:2]) + more),
            " ".join([self.variables[v] for v in outputs[:2]]),
            self._title(self.expr.equations[number], number),
            1,
            number in self.going_back or self.shown.is_backward(number),
            self.kernel.get(number),
        )
        self.first.add(number)
        self.node[number] = self.scene.add(node)
        return self.node[number]

    def _title(self, equation: Equation, number: int) -> str:
        primitive, inputs, outputs = equation
        operands = [literal(self.expr, v, 99) or self.variables[v] for v in inputs]
        left = ", ".join([f"{self.variables[v]}:{self.expr.types[v]!r}" for v in outputs[:8]])
        text = short(f"{left} = {short(str(primitive), 300)} {' '.join(operands[:8])}", 500)
        where = self.shown.sources[number]
        return text if self.places[number] is None else f"{text}\n{describe_source(where)}"

    def _add_unit(self, unit: Unit) -> None:
        numbers = self.forward[unit.start : unit.stop]
        if unit.period:
            for i, number in enumerate(numbers):
                if i < unit.period:
                    self._equation(number)
                else:
                    self.node[number] = self.node[numbers[i % unit.period]]
            rounds = len(numbers) // unit.period
            drawn = [self.node[number] for number in numbers[: unit.period]]
            title = f"one of {rounds:,} repetitions ({len(numbers):,} equations)"
            self.scene.frames.append(Frame("repeated", title, drawn, len(numbers)))
        elif len(numbers) == 1:
            self._equation(numbers[0])
        else:
            self._fold(numbers, unit.why)

    def _fold(self, numbers: Sequence[int], why: tuple[str, Any]) -> int:
        """Add one node for several equations."""
        operations = [self.expr.equations[i].primitive.name for i in numbers]
        kind, what = why
        place = self.places[numbers[0]]
        where = self.shown.sources[numbers[0]]
        name = f"equations {numbers[0]:,} to {numbers[-1]:,}"
        if kind == "repeated":
            parts = dict.fromkeys(
                [scope.name for i in numbers[:what] for scope in self.scopes[i][:1]]
            )
            of = f"{', '.join(parts)}: " if parts else ""
            name = f"{of}{len(numbers) // what:,} repetitions of {what:,} equations"
        elif kind == "scope":
            name = "/".join([scope.name for scope in what])
        elif place is not None and kind == "line":
            name = linecache.getline(place[0].co_filename, place[1]).strip() or f"line {place[1]}"
        elif place is not None and kind == "function":
            name = f"in {place[0].co_name}"
        elif kind == "backward":
            name = f"backward pass of {what}"
        title = f"{len(numbers):,} equations: {', '.join(f'{k} × {n:,}' for k, n in Counter(operations).most_common())}"
        title += "" if place is None else f"\nfirst at {describe_source(where)}"
        back = numbers[0] in self.going_back or self.shown.is_backward(numbers[0])
        kernels = {self.kernel.get(i) for i in numbers}
        kernel = next(iter(kernels)) if len(kernels) == 1 else None
        several = sorted([f"k{k + 1}" for k in kernels if k is not None])
        within = (
            f", in {', '.join(several[:3])}{', …' * (len(several) > 3)}"
            if kernel is None and several
            else ""
        )
        count = short(f"{len(numbers):,} equations: {counted(operations)}", 60) + within
        node = Node("folded", short(name), count, "", title, len(numbers), back, kernel)
        added = self.scene.add(node)
        self.node |= dict.fromkeys(numbers, added)
        return added

    def _add_backward(self, units: Sequence[Unit]) -> None:
        """Add the nodes of the backward pass, those of each unit together."""
        given = self.shown.anchors or ()
        anchors = [anchor or 0 for anchor in given]
        unit_of: dict[int, int] = {}  # by anchor
        for k, unit in enumerate(units):
            for number in self.forward[unit.start : unit.stop]:
                if given[number] is not None:  # else simplifying has made it of a constant
                    unit_of.setdefault(anchors[number], k)
        known = sorted(unit_of)
        parts: dict[int, list[int]] = {}
        for number in range(len(self.expr.equations)):
            if number in self.going_back and known:
                at = max(bisect.bisect_right(known, anchors[number]) - 1, 0)
                parts.setdefault(unit_of[known[at]], []).append(number)
        for k, numbers in parts.items():
            unit, nodes = units[k], []
            forward = self.node[self.forward[unit.start]]
            if unit.stop - unit.start > 1 and len(numbers) > 1:
                scoped = unit.why is not None and unit.why[0] == "scope"
                what = "/".join([x.name for x in unit.why[1]]) if scoped else "this"
                what = "these repetitions" if unit.period else what
                nodes = [self._fold(numbers, ("backward", what))]
            else:
                nodes = [self._equation(number) for number in numbers]
            for n in nodes:
                self.scene.nodes[n].anchor = forward
            if len(nodes) > 1:
                self.scene.frames.append(Frame("backward", "", nodes, len(nodes)))

    def _constant(self, v: int, reader: int | None) -> int:
        """Return the node of an array that is part of the program, or of a number that is a result."""
        if v not in self.owner:
            node = self._given("constant", v, literal(self.expr, v) or "constant")
            if self.scene.beside and reader is not None and self.scene.nodes[reader].backward:
                node.backward, node.anchor = True, self.scene.nodes[reader].anchor
            self.owner[v] = self.scene.add(node)
        return self.owner[v]

    # Edges, results, frames

    def _add_edges(self) -> None:
        """Add the edges: within a repetition those of the first round."""
        expr, scene = self.expr, self.scene
        made = {v: i for i, e in enumerate(expr.equations) for v in e.outputs}
        round_of = {v: f for f in scene.frames if f.kind == "repeated" for v in f.members}
        for number, (_, inputs, _) in enumerate(expr.equations):
            target = self.node[number]
            for v in inputs:
                maker = made.get(v)
                if v in expr.constants:
                    if literal(expr, v) is not None:
                        continue
                    source = self._constant(v, target)
                else:
                    source = self.owner[v] if maker is None else self.node[maker]
                frame = round_of.get(source)
                inside = frame is not None and round_of.get(target) is frame
                if source != target and (not inside or {maker, number} <= self.first):
                    scene.edges[source, target] = None
        self.owner |= {v: self.node[i] for v, i in made.items()}

    def _add_results(self) -> None:
        """Add the results; with the cotangents, where they belong."""
        expr, scene, shown = self.expr, self.scene, self.shown
        results = []
        for v, name in zip(expr.outputs, shown.outputs, strict=True):
            source = self._constant(v, None) if v in expr.constants else self.owner[v]
            node = self._given("result", v, name)
            node.variable = ""
            results.append(scene.add(node))
            scene.edges[source, results[-1]] = None
        first = len(expr.inputs) - len(shown.seeds)
        pairs = [
            (self.owner[expr.inputs[first + k]], results[i]) for k, i in enumerate(shown.seeds)
        ]
        first = len(results) - len(shown.wrt)
        pairs += [(results[first + k], self.owner[expr.inputs[i]]) for k, i in enumerate(shown.wrt)]
        for number, anchor in pairs:
            scene.nodes[number].backward, scene.nodes[number].anchor = True, anchor

    def _add_frames(self) -> None:
        for k, group in enumerate(self.groups, 1):
            nodes = dict.fromkeys([self.node[i] for i in group.members])
            alone = all(self.scene.nodes[n].equations == 1 for n in nodes)
            if len(nodes) > 1 and alone:
                self.scene.frame(Frame("kernel", f"k{k} {group.title}", [*nodes], len(nodes)))
