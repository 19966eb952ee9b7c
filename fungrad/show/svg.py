"""Drawings as SVG."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from html import escape

from fungrad.show.arrange import LETTER, LINE, PADDING, Arranged, Box, Path, arranged, text_lines
from fungrad.show.model import Scene

MARGIN = 16.0
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

RULES = """\
.fgg text {{ font: 10.5px {font}; fill: {ink}; }}
.fgg .head {{ font-size: 13px; font-weight: bold; }}
.fgg .faint {{ fill: {faint}; }}
.fgg .page {{ fill: {page}; }}
.fgg .edge {{ fill: none; stroke: {edge}; stroke-width: 1; }}
.fgg .backward.edge {{ stroke: {back_line}; }}
.fgg .across {{ stroke: {edge}; stroke-dasharray: 3 3; stroke-opacity: .6; }}
.fgg .input {{ fill: {input}; stroke: {input_line}; }}
.fgg .constant {{ fill: {page}; stroke: {line}; stroke-dasharray: 2 2; }}
.fgg .equation {{ fill: {op}; stroke: {line}; }}
.fgg .view {{ fill: {page}; stroke: {line}; stroke-opacity: .6; }}
.fgg .folded {{ fill: {op}; stroke: {ink}; stroke-width: 2; }}
.fgg .result {{ fill: {result}; stroke: {result_line}; }}
.fgg .back {{ fill: {back}; stroke: {back_line}; }}
.fgg .stub {{ fill: {page}; stroke: {line}; stroke-opacity: .5; }}
.fgg .body {{ fill: {ink}; fill-opacity: .04; stroke: {line}; stroke-opacity: .5; }}
.fgg .frame {{ fill: {kernel}; fill-opacity: .06; stroke: {kernel}; stroke-dasharray: 5 3; }}
.fgg .repeated {{ fill: {repeat}; fill-opacity: .06; stroke: {repeat}; stroke-width: 2; }}
.fgg .beside {{ fill: none; stroke: {back_line}; stroke-opacity: .35; }}
.fgg .bar {{ fill: {kernel}; }}
.fgg .kernel {{ fill: {kernel}; }}
.fgg .repeat {{ fill: {repeat}; }}
.fgg .over {{ paint-order: stroke; stroke: {page}; stroke-width: 4px; }}
"""
LIGHT = {
    "font": FONT, "page": "#ffffff", "ink": "#1f2328", "faint": "#59636e", "line": "#818b98", "edge": "#59636e",
    "input": "#ddf4ff", "input_line": "#0969da", "op": "#f6f8fa", "result": "#dafbe1", "result_line": "#1a7f37",
    "back": "#fff1e5", "back_line": "#bc4c00", "kernel": "#8250df", "repeat": "#9a6700",
}  # fmt: skip
DARK = {
    "font": FONT, "page": "#0d1117", "ink": "#e6edf3", "faint": "#9198a1", "line": "#656c76", "edge": "#9198a1",
    "input": "#0c2d6b", "input_line": "#58a6ff", "op": "#21262d", "result": "#033a16", "result_line": "#3fb950",
    "back": "#3d1300", "back_line": "#f0883e", "kernel": "#ab7df8", "repeat": "#d29922",
}  # fmt: skip

_FRAMES = {"kernel": "frame", "repeated": "repeated", "backward": "beside"}
_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def page(name: str, rules: str, width: float, height: float, label: str, dark: bool) -> list[str]:
    """Return the first lines of a drawing: its size, the style of the class `name`, and the page."""
    style = rules.format_map(LIGHT)
    if dark:
        style += f"@media (prefers-color-scheme: dark) {{\n{rules.format_map(DARK)}}}\n"
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(label)}">',
        f"<style>\n{style}</style>",
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
    ]


def svg_of(scene: Scene, head: str, notes: Sequence[str], dark: bool = True) -> str:
    """Return the drawing of a scene with a heading; `dark` adds colours for dark mode."""
    layout = arranged(scene)
    lines = [_clean(head), *map(_clean, notes)]
    top = MARGIN + LINE * len(lines) + PADDING
    keys = list(_key(layout))
    text = max([len(head) * 8.0, *[len(x) * LETTER for x in notes], sum([w for *_, w in keys])])
    width = max(layout.width, text) + 2 * MARGIN
    height = top + layout.height + 3 * MARGIN
    parts = [
        *page("fgg", RULES, width, height, lines[0], dark),
        _text(MARGIN, MARGIN + LINE - 3, lines[0], "head"),
    ]
    parts += [
        _text(MARGIN, MARGIN + LINE * (i + 1) - 1, x, "faint") for i, x in enumerate(lines[1:], 1)
    ]
    waiting = [(layout, (MARGIN, top))]
    for one, (x, y) in waiting:  # it grows: scenes within others are drawn over them
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">')
        parts += _drawn(one)
        parts.append("</g>")
        for bodies in one.bodies.values():
            waiting += [(body, (x + dx, y + dy)) for body, (dx, dy) in bodies]
    x = MARGIN
    for kind, what, w in keys:
        box = Box(x, height - MARGIN - 11, 12, 11)
        parts += [_rectangle(box, kind), _text(x + 17, height - MARGIN - 2, what, "faint")]
        x += w
    return "\n".join([*parts, "</svg>\n"])


def _key(layout: Arranged) -> Iterator[tuple[str, str, float]]:
    """Yield the legend of the colours: class, words and width."""
    classes, frames, waiting = dict[str, None](), dict[str, None](), [layout]
    for one in waiting:
        waiting += [body for bodies in one.bodies.values() for body, _ in bodies]
        classes |= dict.fromkeys([_class(one.scene, v) for v in range(len(one.boxes))])
        frames |= dict.fromkeys([frame.kind for frame in one.scene.frames])
        if any(node.kernel is not None for node in one.scene.nodes):
            frames["kernel"] = None
    words = {
        "input": "argument", "constant": "constant", "equation": "equation", "view": "view", "folded": "folded",
        "result": "result", "back": "backward pass", "kernel": "kernel (k1, ...)", "repeated": "repeated",
    }  # fmt: skip
    for kind, what in words.items():
        if kind in classes or kind in frames:
            yield _FRAMES.get(kind, kind), what, len(what) * LETTER + 40


def _class(scene: Scene, v: int) -> str:
    node = scene.nodes[v]
    return "back" if node.backward and node.kind != "folded" else node.kind


def _drawn(one: Arranged) -> Iterator[str]:
    """Yield the elements of one scene: frames, edges, nodes."""
    scene = one.scene
    for frame, box in zip(scene.frames, one.frames, strict=True):
        yield _rectangle(box, _FRAMES[frame.kind], 8)
    for path in one.paths:
        yield f'<path class="edge {path.kind}" d="{_curve(path)}"/>'
    for frame, box in zip(scene.frames, one.frames, strict=True):
        kind = "kernel" if frame.kind == "kernel" else "repeat"
        yield _text(box.x + PADDING, box.y + LINE - 2, _clean(frame.title), f"over {kind}")
    for v, box in one.stubs:
        name = scene.nodes[v].variable or "…"
        yield "<g>" + _title(scene.nodes[v].title) + _rectangle(box, "stub", 9)
        middle = box.x + box.width / 2 - len(name[:4]) * LETTER / 2
        yield _text(middle, box.y + 12.5, _clean(name[:4]), "faint") + "</g>"
    for v, box in enumerate(one.boxes):
        yield "".join(_node(one, v, box))


def _node(one: Arranged, v: int, box: Box) -> Iterator[str]:
    node, lines = one.scene.nodes[v], text_lines(one.scene.nodes[v])
    round_ = 9 if node.kind in ("input", "result", "constant") else 3
    yield f"<g>{_title(node.title)}{_rectangle(box, _class(one.scene, v), round_)}"
    if node.kernel is not None:
        yield _rectangle(Box(box.x, box.y, 4, box.height), "bar", 2)
    tag = "" if node.kernel is None else f"k{node.kernel + 1}"
    for i, line in enumerate(lines):
        length = len(line) + (len(tag) + 2 if tag and not i else 0)
        x = box.x + PADDING if node.bodies else box.x + (box.width - length * LETTER) / 2
        if tag and not i:
            yield _text(x + (len(line) + 2) * LETTER, box.y + LINE, tag, "kernel")
        if not i and node.variable and not node.bodies:
            yield _text(x, box.y + LINE, node.variable, "faint")
            x, line = x + (len(node.variable) + 1) * LETTER, node.name
        yield _text(x, box.y + LINE * (i + 1), _clean(line), "faint" if i else "")
    for body, (x, y) in one.bodies.get(v, ()):
        inner = Box(
            x - PADDING,
            y - LINE - PADDING,
            body.width + 2 * PADDING,
            body.height + LINE + 2 * PADDING,
        )
        yield _rectangle(inner, "body", 4)
        yield _text(x, y - PADDING, _clean(body.scene.title), "faint")
    yield "</g>"


def _curve(path: Path) -> str:
    """Return the data of a path through its bends, which it passes vertically, and of its arrowhead."""
    points = path.points
    (x, y), (u, v) = points[0], points[-1]
    if path.kind == "across":
        bend = (x + u) / 2
        sign = 1 if u >= x else -1
        head = f"M{u - 5 * sign:.1f} {v - 3:.1f}L{u:.1f} {v:.1f}L{u - 5 * sign:.1f} {v + 3:.1f}"
        return f"M{x:.1f} {y:.1f}C{bend:.1f} {y:.1f} {bend:.1f} {v:.1f} {u:.1f} {v:.1f}{head}"
    data = f"M{x:.1f} {y:.1f}"
    for (a, b), (c, d) in itertools.pairwise(dict.fromkeys(points)):
        middle = (b + d) / 2
        straight = abs(a - c) < 0.05
        data += (
            f"L{c:.1f} {d:.1f}"
            if straight
            else f"C{a:.1f} {middle:.1f} {c:.1f} {middle:.1f} {c:.1f} {d:.1f}"
        )
    if path.arrow:
        back = -5 if y <= v else 5
        data += f"M{u - 3:.1f} {v + back:.1f}L{u:.1f} {v:.1f}L{u + 3:.1f} {v + back:.1f}"
    return data


def _clean(text: str) -> str:
    return _IN_XML.sub("\ufffd", text)


def _title(text: str) -> str:
    return f"<title>{escape(_clean(text))}</title>"


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    which = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{which} xml:space="preserve">{escape(text)}</text>'


def _rectangle(box: Box, kind: str, round_: float = 2) -> str:
    place = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    return f'<rect class="{kind}" {place} rx="{round_}"/>'
