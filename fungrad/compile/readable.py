"""The text of compiled programs, for people to read."""

from __future__ import annotations

from fungrad.compile.emit.python import PythonSource
from fungrad.core.primitive import Primitive


def readable(source: PythonSource) -> str:
    """Return the text of `source`, followed by the called programs as comments."""
    texts = [source.text]
    pending = [(name, value) for name, value in reversed(source.bindings.items())]
    while pending:
        name, value = pending.pop()
        primitive = getattr(value, "__self__", None)
        if not isinstance(primitive, Primitive):
            continue
        for part, program in primitive.parts.items():
            inner = program.source
            lines = [f"{name}: {part} of {primitive}", *inner.text.splitlines()]
            texts.append("".join(f"# {line}\n" for line in lines))
            pending += [(f"{name}.{n}", v) for n, v in reversed(inner.bindings.items())]
    return "\n".join(texts)
