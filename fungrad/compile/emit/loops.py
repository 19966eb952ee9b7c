"""Printing loops as Python functions with the loop inside of them.

Calling a function for each step would cost a third of what a step on small arrays takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from fungrad.compile.emit.pieces import Definition, Line, define, safe_names, targets
from fungrad.compile.steps import Schedule, While

ROUNDS = "_rounds"
"""Global that gives a loop its rounds (`compile.tiers.rounds`)."""

Inline: TypeAlias = Callable[[Schedule, Sequence[str], Iterator[str]], tuple[list[Line], list[str]]]
"""Signature: a schedule, names of its inputs and fresh names to lines and expressions of results."""


def loop_function(
    name: str, body: Schedule, constants: int, carries: int, inline: Inline
) -> Definition:
    """Return the function that runs a body once for each row of arrays."""
    fresh = safe_names()
    names = [next(fresh) for _ in body.inputs]
    carried, rows = names[constants : constants + carries], names[constants + carries :]
    stored = [f"_out{i}" for i in range(len(body.results) - carries)]
    given = ((names[:constants], "_constants"), (carried, "_carries"), (stored, "_results"))
    lines = [Line(f"{targets(own)} = {value}") for own, value in given if own]
    step, returned = inline(body, names, fresh)
    step += [Line(f"{a}[_step] = {y}") for a, y in zip(stored, returned[carries:], strict=True)]
    step += _handing_on(carried, returned[:carries])
    lines.append(Line(f"for {targets(['_step', *rows])} in zip({ROUNDS}(_n), *_rows):"))
    lines += _indented(step)
    lines.append(Line(_ending(carried, body, constants)))
    return define(name, ("_constants", "_carries", "_rows", "_results", "_n"), lines)


def while_function(name: str, step: While, inline: Inline) -> Definition:
    """Return the function that runs a body for as long as a condition holds."""
    fresh = safe_names()
    tested, constants, carried = [
        [next(fresh) for _ in group] for group in (step.tested, step.constants, step.carries)
    ]
    given = ((tested, "_tested"), (constants, "_constants"), (carried, "_carries"))
    lines = [Line(f"{targets(own)} = {value}") for own, value in given if own]
    test, (going,) = inline(step.condition, [*tested, *carried], fresh)
    ending = _ending(carried, step.body, len(step.body.inputs) - len(carried))
    before, computed = inline(step.before, constants, fresh)
    more = [x if x.isidentifier() else next(fresh) for x in computed]
    before += [Line(f"{a} = {x}") for a, x in zip(more, computed, strict=True) if a != x]
    body, returned = inline(step.body, [*constants, *more, *carried], fresh)
    body += [*_handing_on(carried, returned), *test]
    lines += [*test, Line(f"if not {going}:"), Line(f"    {ending}"), *before]
    lines += [Line(f"for _ in {ROUNDS}():"), *_indented(body)]
    lines += [Line(f"    if not {going}:"), Line(f"        {ending}")]
    return define(name, ("_tested", "_constants", "_carries"), lines)


def _ending(carried: Sequence[str], body: Schedule, first: int) -> str:
    """Return the statement that returns the last carries, in C order; the body's first is `first`."""
    returned = []
    for name, register in zip(carried, body.inputs[first:], strict=False):
        several = len(body.types[register].shape) > 1
        returned.append(f"np.ascontiguousarray({name})" if several else name)
    return f"return [{', '.join(returned)}]"


def _handing_on(carried: Sequence[str], returned: Sequence[str]) -> list[Line]:
    """Return the line that makes a step's results the carries of the next."""
    changed = [(a, b) for a, b in zip(carried, returned, strict=True) if a != b]
    if not changed:
        return []
    changing, values = zip(*changed, strict=True)
    return [Line(f"{', '.join(changing)} = {', '.join(values)}")]


def _indented(lines: Sequence[Line]) -> list[Line]:
    return [x._replace(text=f"    {x.text}") for x in lines or [Line("pass")]]
