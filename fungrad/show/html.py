"""Programs, jitted functions and tracers in notebooks: types, the user's lines, loops to unfold."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad import Equation, Expr, Tracer
from fungrad.core.tracer import known_value
from fungrad.extend import Primitive
from fungrad.extend.programs import InDerivative, describe_source, format_value, variable_names
from fungrad.show.tables import STYLE, counted, safely

if TYPE_CHECKING:
    from fungrad.extend.programs import Jitted

FIRST = 100
"""Equations that stand open; those after them are folded."""
MOST = 2000
"""Equations that are written at all, of one program."""
WIDEST = 120
"""Characters of parameters and of the user's lines that are shown."""


def _span(kind: str, text: str, title: str = "") -> str:
    about = f" title='{html.escape(title)}'" if title else ""
    return f"<span class='{kind}'{about}>{html.escape(text)}</span>"


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


class _Writer:
    """Writes one program."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.fresh = variable_names()
        self.names: dict[int, str] = {}
        self.arrays: list[str] = []
        for v, value in expr.constants.items():
            text = format_value(value)
            if text is None:
                self.arrays.append(f"  {self.binder(v)} = constant")
            else:
                self.names[v] = _span("num", text)

    def binder(self, v: int) -> str:
        """Return a variable with its type."""
        if v not in self.names:
            self.names[v] = next(self.fresh)
        return f"{self.names[v]}:{_span('type', repr(self.expr.types[v]))}"

    def head(self) -> str:
        captured = [self.binder(v) for v in self.expr.inputs[: self.expr.captured]]
        inputs = [self.binder(v) for v in self.expr.inputs[self.expr.captured :]]
        return " ".join(["{ lambda", *captured, *([";"] if captured else []), *inputs, "."])

    def foot(self) -> str:
        results = ", ".join([self.names[v] for v in self.expr.outputs])
        return f"  return ({results}{',' if len(self.expr.outputs) == 1 else ''}) }}"

    def equation(self, equation: Equation, source: Any) -> tuple[str, str]:
        """Return the line of an equation, and the block to unfold below it."""
        primitive, inputs, outputs = equation
        left = " ".join([self.binder(v) for v in outputs])
        name, bracket, parameters = str(primitive).partition("[")
        right = _span("op", name) + _span("dim", _cut(bracket + parameters), bracket + parameters)
        operands = " ".join([self.names[v] for v in inputs])
        place = describe_source(source)
        if isinstance(source, InDerivative) or place != "an unknown line":
            operands += "  " + _span("dim", "# " + _cut(place), place)
        return f"  {left} = {right} {operands}" if outputs else f"  {right} {operands}", _parts(
            primitive
        )


def _parts(primitive: Primitive) -> str:
    """Return the programs of an equation, each to be unfolded."""
    details = []
    for name, program in primitive.parts.items():
        size = counted(len(program.expr.equations), "equation")
        summary = _span("dim", f"{name}: {size}")
        inner = expression(program.expr)
        details.append(f"<details><summary>{summary}</summary>{inner}</details>")
    return "".join(details)


def expression(expr: Expr) -> str:
    """Return a program as HTML, without the style; later equations are folded, then only counted."""
    writer = _Writer(expr)
    start = "\n".join([writer.head(), *writer.arrays])
    written = [writer.equation(*located) for located in itertools.islice(expr.located(), MOST)]
    left = len(expr.equations) - len(written)
    text = f"<pre>{start}</pre>{_block(written[:FIRST])}"
    if len(written) > FIRST or left:
        more = f"{len(expr.equations) - FIRST:,} more equations"
        beyond = [(f"  … {left:,} more are not shown: print(expr) has all", "")] if left else []
        text += f"<details><summary>{more}</summary>{_block([*written[FIRST:], *beyond])}</details>"
    for v in expr.outputs:
        writer.binder(v)  # of what is not shown
    return f"{text}<pre>{writer.foot()}</pre>"


def _block(lines: Sequence[tuple[str, str]]) -> str:
    """Return lines, some with a block below them."""
    return "".join(_pieces(lines))


def _pieces(lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    plain: list[str] = []
    for line, below in lines:
        plain.append(line)
        if below:
            yield f"<pre>{chr(10).join(plain)}</pre><div style='margin-left:2em'>{below}</div>"
            plain = []
    if plain:
        yield f"<pre>{chr(10).join(plain)}</pre>"


def _shown(inner: str) -> str:
    return f"{STYLE}<div class='fungrad'>{inner}</div>"


def of_expr(expr: Expr) -> str:
    """Return a program as a notebook shows it."""
    return safely(lambda: _shown(expression(expr)), expr)


def of_jitted(jitted: Jitted) -> str:
    """Return a jitted function for a notebook: its compiled types, to be unfolded."""

    def show() -> str:
        entries = jitted.programs.values()
        info = jitted.cache_info()
        known = counted(info.hits, "call")
        head = (
            f"{_span('op', f'jit({jitted.name})')} "
            f"{_span('dim', f'{len(entries)} of at most {info.maxsize} programs, {known} by a known one')}"
        )
        programs = []
        for entry in entries:
            types = ", ".join(map(str, entry.in_types)) or "no arrays"
            static = "".join(f", {where}={value!r}" for where, _, value in entry.signature.static)
            size = _span("dim", counted(len(entry.traced.equations), "equation"))
            summary = f"{_span('type', _cut(types + static), types + static)} {size}"
            inner = expression(entry.traced)
            programs.append(f"<details><summary>{summary}</summary>{inner}</details>")
        return _shown(head + "".join(programs))

    return safely(show, jitted)


def of_tracer(tracer: Tracer) -> str:
    """Return a tracer for a notebook: type, trace, value if any, and the line that made it."""

    def show() -> str:
        owner = tracer._owner
        head = f"{_span('op', 'Tracer')} {_span('type', str(tracer._type))} of {_span('dim', owner.label)}"
        place = owner.origin(tracer._variable)
        made = f"<div>{_span('dim', _cut(place), place)}</div>"
        if not owner.open:
            return _shown(f"{head}, {_span('bad', 'which has returned')}{made}")
        value = known_value(tracer)
        if value is None:
            without = _span("dim", "it has no value, as the function is traced once for all")
            return _shown(f"{head}: {without}{made}")
        with np.printoptions(threshold=200, edgeitems=3):
            return _shown(f"{head}<pre>{html.escape(str(value))}</pre>{made}")

    return safely(show, tracer)


def as_html(value: Expr | Tracer | Jitted) -> str:
    """Return a program, a tracer or a jitted function as a notebook shows it."""
    if isinstance(value, Expr):
        return of_expr(value)
    return of_tracer(value) if isinstance(value, Tracer) else of_jitted(value)
