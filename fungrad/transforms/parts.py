"""A program cut at its guards: each part computes its guard's operand, and the last one the results.

What no guard needs is computed in the last part, so little is computed in vain where a guard does not hold, and most of a program stays in
one piece for the compiler. Nothing is moved before a guard that stood behind it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from fungrad.compile.evaluated import unshared
from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.errors import Source
from fungrad.core.expr import Equation, Expr
from fungrad.primitives.shaping import Broadcast
from fungrad.transforms.guard import Failed, Guard, key_of


class Part(NamedTuple):
    """A part's program, if there is anything to run, with the places that it reads, makes and releases.

    `asked` is the place of what the guard compares.
    """

    program: Program | None
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dying: tuple[int, ...]
    guard: Guard | None
    asked: int


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """Parts of a program, in order, and places for handed-on values: arguments first, then constants.

    Attributes
    ----------
    parts
        The parts.
    constants
        What some part or the caller is given.
    room
        How many places there are after these.
    outputs
        The places of the results.
    own
        Whether each result is an array of its own as it comes, and neither an argument nor a constant.
    """

    parts: tuple[Part, ...]
    constants: tuple[Any, ...]
    room: int
    outputs: tuple[int, ...]
    own: bool

    def run(self, arguments: Sequence[Any], checked: bool) -> list[Any] | Failed:
        """Return the results, or which guard did not hold; without `checked` all do."""
        values = [*arguments, *self.constants, *[None] * self.room]
        for number, (program, inputs, outputs, dying, guard, asked) in enumerate(self.parts):
            if program is not None:
                results = program(*[values[v] for v in inputs])
                for v, x in zip(outputs, results, strict=True):
                    values[v] = x
            if guard is not None and checked:
                found = key_of(values[asked], guard.seen_as)
                if found != guard.expected:
                    return Failed(number, found)
            for v in dying:
                values[v] = None
        results = [values[v] for v in self.outputs]
        return results if self.own else unshared(results, [*arguments, *self.constants])


def in_parts(expr: Expr, programs: dict[Hashable, Program]) -> Parts | None:
    """Return the parts of a program; None if it has effects, which the next variant would repeat.

    `programs` keeps those of parts by what they compute: rounds of a loop, and what variants have in common, are compiled once.
    """
    expr = without_dead_code(expr)
    for primitive, _, _ in expr.equations:
        if primitive.is_collective or primitive.axis_names:
            return None
        if primitive.effect and not isinstance(primitive, Guard):
            return None
    later = {*expr.outputs}  # what is read after the part
    parts: list[Part] = []
    fixed = {*expr.inputs, *expr.constants}
    for numbers, guard, asked in reversed([*_cut(expr)]):
        equations = [expr.equations[n] for n in numbers]
        made = {v for e in equations for v in e.outputs}
        read = {v for e in equations for v in e.inputs} - made
        wanted = later | ({asked} if guard is not None else set())
        outputs = tuple(sorted(made & wanted))
        inputs = tuple(sorted(read - expr.constants.keys()))
        dying = tuple(sorted((read | {*outputs} | (wanted - later)) - later - fixed))
        program = None
        if outputs:
            own = [
                i for i, v in enumerate(inputs) if v in dying and v != asked and expr.types[v].shape
            ]
            part, key = _alone(expr, numbers, inputs, outputs)
            key = (key, *own)
            program = programs.setdefault(key, Program(part, donated=own, jitted=True))
        parts.append(Part(program, inputs, outputs, dying, guard, asked))
        later |= read | wanted
    return _placed(expr, parts[::-1])


def _placed(expr: Expr, parts: Sequence[Part]) -> Parts:
    """Return parts with places in the stead of variables."""
    given = {*expr.outputs, *[part.asked for part in parts]}
    constants = [v for v in expr.constants if v in given]
    made = [v for part in parts for v in part.outputs]
    order = [*expr.inputs, *constants, *made]
    place = {v: i for i, v in enumerate(order)}

    def placed(variables: Sequence[int]) -> tuple[int, ...]:
        return tuple([place[v] for v in variables])

    return Parts(
        tuple(
            [
                Part(
                    p.program,
                    placed(p.inputs),
                    placed(p.outputs),
                    placed(p.dying),
                    p.guard,
                    place.get(p.asked, -1),
                )
                for p in parts
            ]
        ),
        tuple([expr.constants[v] for v in constants]),
        len(made),
        placed(expr.outputs),
        len({*expr.outputs}) == len(expr.outputs) and {*expr.outputs} <= {*made},
    )


def _cut(expr: Expr) -> Iterator[tuple[list[int], Guard | None, int]]:
    """Yield the numbers of the equations of each part, with its guard and the variable that this compares.

    Parts broadcast for themselves what they read: between two, an array would be as large as what it is broadcast to.
    """
    makers = {v: n for n, e in enumerate(expr.equations) for v in e.outputs}
    done: set[int] = set()
    for primitive, inputs, _ in expr.equations:
        if isinstance(primitive, Guard):
            numbers = _needed(expr, makers, inputs, done)
            done.update(
                [n for n in numbers if not isinstance(expr.equations[n].primitive, Broadcast)]
            )
            yield numbers, primitive, inputs[0]
    yield _needed(expr, makers, expr.outputs, done), None, -1


def _needed(
    expr: Expr, makers: dict[int, int], variables: Sequence[int], done: AbstractSet[int]
) -> list[int]:
    """Return the numbers of the equations that variables need and that have not been `done`."""
    found: set[int] = set()
    pending = [*variables]
    while pending:
        number = makers.get(pending.pop(), -1)
        if number >= 0 and number not in found and number not in done:
            found.add(number)
            pending += expr.equations[number].inputs
    return sorted(found)


def _alone(
    expr: Expr, numbers: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]
) -> tuple[Expr, Hashable]:
    """Return some equations as a program, and a key that is equal for equal ones at the same lines."""
    equations = [expr.equations[n] for n in numbers]
    sources = tuple([expr.sources[n] for n in numbers])
    made = {v for e in equations for v in e.outputs}
    read = dict.fromkeys(v for e in equations for v in e.inputs)
    constants = [v for v in read if v in expr.constants and v not in made]
    order = [*inputs, *constants, *[v for e in equations for v in e.outputs]]
    names = {v: i for i, v in enumerate(order)}
    renamed = tuple(
        [
            Equation(p, tuple([names[v] for v in ins]), tuple([names[v] for v in outs]))
            for p, ins, outs in equations
        ]
    )
    part = Expr(
        inputs=tuple(range(len(inputs))),
        equations=renamed,
        outputs=tuple([names[v] for v in outputs]),
        types=tuple([expr.types[v] for v in order]),
        constants={names[v]: expr.constants[v] for v in constants},
        sources=sources,
    )
    held = tuple([_identity(x) for x in part.constants.values()])
    return part, (renamed, part.types, part.inputs, part.outputs, held, tuple(map(_place, sources)))


def _identity(constant: Any) -> Hashable:
    """Return a key for a constant: its bits, or its identity while a program holds it."""
    return id(constant) if constant.ndim else constant.tobytes()


def _place(source: Source | None) -> Hashable:
    """Return a key for a place, good for as long as a program holds it."""
    return (id(source[0]), source[1]) if type(source) is tuple else id(source)
