"""Printing a schedule as a Python function of straight-line NumPy calls.

What the function saves over running the schedule step by step: no dispatch, and small constants are literals.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.emit.pieces import Definition, Line, Listing, Origin, define, lay_out, targets
from fungrad.compile.schedule import Assign, Call, Free, Into, Operand, Schedule, Step
from fungrad.core.expr import variable_names
from fungrad.core.primitive import Primitive
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.ufunc import broadcasts


class PythonSource(NamedTuple):
    """A program as Python source.

    Attributes
    ----------
    functions
        The definition of a function ``program``, and before it of those that it calls.
    bindings
        The constants and primitives that they refer to, by name.
    """

    functions: tuple[Definition, ...]
    bindings: dict[str, Any]

    @property
    def text(self) -> str:
        """The source of all functions."""
        return "\n\n".join([f.text for f in self.functions])


def python_source(schedule: Schedule, length: int | None = None) -> PythonSource:
    """Return a schedule as Python source, in pieces of `length` lines (`lay_out`)."""
    listing = python_lines(schedule)
    return PythonSource(lay_out(listing, length), listing.bindings)


def python_lines(schedule: Schedule) -> Listing:
    """Return a schedule as straight-line Python."""
    return _Printer(schedule).listing()


def loop_source(listing: Listing, constants: int, carries: int) -> PythonSource:
    """Return the function that runs a program for each row of arrays, handing on carries.

    The first parameters of the program are `constants`, then come `carries`, then rows; its first results are the
    carries.
    """
    names, returned = listing.parameters, listing.results
    carried = names[constants : constants + carries]
    stored = [f"_out{i}" for i in range(len(returned) - carries)]
    given = ((names[:constants], "_constants"), (carried, "_carries"), (stored, "_results"))
    lines = [Line(f"{targets(names)} = {value}") for names, value in given if names]
    body = list(listing.body)
    body += [Line(f"{a}[_step] = {y}") for a, y in zip(stored, returned[carries:], strict=True)]
    changed = [(a, b) for a, b in zip(carried, returned) if a != b]
    if changed:
        changing, values = zip(*changed)
        body.append(Line(f"{', '.join(changing)} = {', '.join(values)}"))
    rows = targets(["_step", *names[constants + carries :]])
    lines.append(Line(f"for {rows} in zip(range(_n), *_rows):"))
    lines += [x._replace(text=f"    {x.text}") for x in body or [Line("pass")]]
    lines.append(Line(f"return [{', '.join(carried)}]"))
    parameters = ("_constants", "_carries", "_rows", "_results", "_n")
    return PythonSource((define("program", parameters, lines),), listing.bindings)


class _Printer:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.bindings: dict[str, Any] = {}
        self.primitives: dict[Primitive, str] = {}
        self.names: dict[int, str] = {}
        self.fresh = _safe_names()
        self.body: list[Line] = []

    def listing(self) -> Listing:
        schedule = self.schedule
        parameters = [self._name(r) for r in schedule.inputs]
        for r, value in schedule.constants.items():
            self.names[r] = self._constant(value)
        for step in schedule.steps:
            self._print(step)
        results = [self._result(*result) for result in schedule.results]
        read = self._locals([Operand(r) for r, _ in schedule.results])
        return Listing(tuple(parameters), self.body, tuple(results), read, self.bindings)

    def _print(self, step: Step) -> None:
        if isinstance(step, Free):
            names = tuple(map(self._name, step.registers))
            self._line(f"del {', '.join(names)}", None, names)
            return
        primitive, reads = step.primitive, self._locals(step.operands)
        origin = primitive, step.source
        if isinstance(step, Assign):
            statement = primitive.assignment(*[self._name(r) for r, _ in step.operands])
            assert statement is not None
            self._line(statement, origin, reads)
            return
        operands = self._operands(primitive, step.operands)
        if isinstance(step, Into):
            out = self._name(step.register)
            self._line(f"{out} = {primitive.call_into(out, *operands)}", origin, reads, (out,))
            return
        text = self._call(step, operands)
        writes = tuple(map(self._name, step.results))
        comma = "," if primitive.multiple_results and len(writes) == 1 else ""
        target = f"{', '.join(writes)}{comma} = " if writes else ""
        self._line(f"{target}{text}", origin, reads, writes)

    def _line(
        self,
        text: str,
        origin: Origin | None,
        reads: tuple[str, ...],
        writes: tuple[str, ...] = (),
    ) -> None:
        self.body.append(Line(text, origin, reads, writes))

    def _call(self, step: Call, operands: list[str]) -> str:
        primitive = step.primitive
        if isinstance(primitive, Cast):
            kind = self.schedule.types[step.operands[0].register].dtype.kind
            if kind != "c" or primitive.dtype.kind in "bc":
                return f"{operands[0]}.astype({primitive.dtype.name!r})"
        text = self._on_scalars(step, operands) or primitive.expression(*operands)
        if text is None:
            name = self.primitives.get(primitive)
            if name is None:
                name = self.primitives[primitive] = f"{primitive.name}{len(self.bindings)}"
                self.bindings[name] = primitive.impl
            text = f"{name}({', '.join(['np', *operands])})"
        return f"{text}.copy()" if step.copied else text

    def _on_scalars(self, step: Call, operands: list[str]) -> str | None:
        """Return an operation on scalars as Python's, which NumPy runs ten times faster than a ufunc.

        Of real numbers only: for integers, scalars warn of an overflow and arrays do not.
        """
        if step.primitive.infix is None:
            return None
        type_ = self.schedule.types[step.results[0]]
        if type_.shape or type_.dtype.kind != "f":
            return None
        if all(operand.register in self.schedule.constants for operand in step.operands):
            return None  # of literals it would be no NumPy scalar
        return f" {step.primitive.infix} ".join(operands)

    def _operands(self, primitive: Primitive, operands: Sequence[Operand]) -> list[str]:
        """Return operands as source. Only NumPy's functions take literals for arrays."""
        name = self._name if broadcasts(primitive) else self._bound
        return [
            name(r) if shape is None else f"{name(r)}.reshape({shape})" for r, shape in operands
        ]

    def _result(self, register: int, copied: bool) -> str:
        """Return a result as source: 0-d arrays as scalars."""
        name = self._bound(register)
        if not self.schedule.types[register].shape and self.schedule.scalars:
            return f"{name}[()]"
        return f"{name}.copy()" if copied else name

    def _name(self, register: int) -> str:
        if register not in self.names:
            self.names[register] = next(self.fresh)
        return self.names[register]

    def _locals(self, operands: Sequence[Operand]) -> tuple[str, ...]:
        """Return the local variables that a line mentions that reads `operands`."""
        constants = self.schedule.constants
        return tuple([self.names[r] for r, _ in operands if r not in constants])

    def _constant(self, value: Any) -> str:
        if isinstance(value, np.generic) and value.dtype.char in "?ld" and np.isfinite(value):
            return repr(value.item())
        name = f"constant{len(self.bindings)}"
        self.bindings[name] = value
        return name

    def _bound(self, register: int) -> str:
        """Return the name of a constant that may be written as a literal elsewhere."""
        constants, name = self.schedule.constants, self._name(register)
        if register in constants and name not in self.bindings:
            name = f"scalar{register}"
            self.bindings[name] = constants[register]
        return name


def _safe_names() -> Iterator[str]:
    for name in variable_names():
        if not keyword.iskeyword(name) and name != "np":
            yield name
