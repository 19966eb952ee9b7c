"""Drawings in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from fungrad.show.arrange import text_lines
from fungrad.show.model import Scene

_SHAPES = {"input": "ellipse", "result": "ellipse", "constant": "plaintext", "folded": "box3d"}


def dot_of(scene: Scene, head: str) -> str:
    """Return a scene as a graph of Graphviz: scenes within nodes, and frames, are clusters."""
    lines = [f"digraph {_quoted(head)} {{", "  node [shape=box, fontname=monospace];"]
    waiting = [(scene, "n", "")]
    for one, name, title in waiting:  # it grows
        if title:
            lines += [f"  subgraph {_quoted(f'cluster_{name}')} {{", f"  label={_quoted(title)};"]
        lines += _statements(one, name)
        if title:
            lines.append("  }")
        for v, node in enumerate(one.nodes):
            for k, body in enumerate(node.bodies):
                inner = f"{name}{v}_{k}_"
                waiting.append((body, inner, f"{node.name} {body.title}"))
                if body.nodes:
                    lines.append(
                        f"  {_quoted(f'{name}{v}')} -> {_quoted(f'{inner}0')} [style=dotted];"
                    )
    return "\n".join([*lines, "}", ""])


def _statements(scene: Scene, name: str) -> Iterator[str]:
    for v, node in enumerate(scene.nodes):
        label = "\n".join(text_lines(node))
        shape = f", shape={_SHAPES[node.kind]}" if node.kind in _SHAPES else ""
        colour = ", color=chocolate" if node.backward else ""
        tip = f", tooltip={_quoted(node.title)}"
        yield f"  {_quoted(f'{name}{v}')} [label={_quoted(label)}{shape}{colour}{tip}];"
    for k, frame in enumerate(scene.frames):
        yield f"  subgraph {_quoted(f'cluster_{name}f{k}')} {{ label={_quoted(frame.title)}; style=dashed;"
        yield f"    {' '.join(_quoted(f'{name}{v}') + ';' for v in frame.members)} }}"
    for u, v in scene.edges:
        yield f"  {_quoted(f'{name}{u}')} -> {_quoted(f'{name}{v}')};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
