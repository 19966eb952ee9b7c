"""Printing a schedule as a Python function of straight-line NumPy calls.

The function has no dispatch, which running the schedule step by step has, and small constants are literals. Bodies of loops
and branches are printed as functions of their own, beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.emit import pieces
from fungrad.compile.emit.loops import loop_function, while_function
from fungrad.compile.emit.pieces import (
    Definition,
    Line,
    Listing,
    Origin,
    lay_out,
    safe_names,
    targets,
)
from fungrad.compile.steps import (
    Assign,
    Branch,
    Call,
    Control,
    Copy,
    Empty,
    Free,
    Into,
    Loop,
    Operand,
    Rows,
    Run,
    Schedule,
    Step,
    While,
)
from fungrad.core.primitive import Primitive
from fungrad.core.types import is_half
from fungrad.primitives.elementwise import Cast, select
from fungrad.primitives.joins import Stack
from fungrad.primitives.shaping import ReduceSum
from fungrad.primitives.ufunc import Elementwise, broadcasts


class PythonSource(NamedTuple):
    """A program as Python source.

    Attributes
    ----------
    functions
        The definition of a function ``program``, after those of the functions that it calls.
    bindings
        Names in the source, and the constants and primitives that they stand for.
    loops
        Whether the source has loops.
    kernels_only
        Whether only kernels are called. They record floating-point errors themselves, so NumPy's need not be watched.
    checking
        For a program on a device, the source that takes arguments in any memory order, and asks for each.
    recording
        How it is captured as a graph, if it can be (`targets/graph.py`).
    """

    functions: tuple[Definition, ...]
    bindings: dict[str, Any]
    loops: bool = False
    kernels_only: bool = False
    checking: PythonSource | None = None
    recording: Any = None

    @property
    def text(self) -> str:
        """The source of all functions."""
        return "\n\n".join([f.text for f in self.functions])


def python_source(schedule: Schedule, length: int | None = None) -> PythonSource:
    """Return a schedule as Python source, in pieces of `length` lines (`lay_out`)."""
    module = _Module()
    module.define(lay_out(_Printer(schedule, module).listing(), length))
    return module.source()


def python_lines(schedule: Schedule) -> Listing:
    """Return a schedule, of no loops and branches, as straight-line Python."""
    return _Printer(schedule, _Module()).listing()


class _Module:
    """Functions printed so far, and their references."""

    def __init__(self) -> None:
        self.bindings: dict[str, Any] = {}
        self.primitives: dict[Primitive, str] = {}
        self.functions: list[Definition] = []
        self.named: dict[
            tuple[Any, ...], str
        ] = {}  # kind and identity of what is printed -> name of its function
        self.scalars: dict[
            tuple[int, int], str
        ] = {}  # schedule and register of a constant -> its name

    def define(self, functions: Sequence[Definition]) -> None:
        self.functions += functions

    def source(self) -> PythonSource:
        loops = any(kind in ("loop", "while") for kind, *_ in self.named)
        return PythonSource(tuple(self.functions), self.bindings, loops)

    def function(self, schedule: Schedule) -> str:
        """Return the name of the function of a schedule."""
        key = ("run", id(schedule))
        return self._once(key, lambda name: lay_out(_Printer(schedule, self).listing(), name=name))

    def function_of_loop(self, step: Loop) -> str:
        """Return the name of the function of a loop."""
        constants, carries = len(step.constants), len(step.carries)
        key = ("loop", id(step.body), constants, carries)
        return self._once(
            key, lambda name: (loop_function(name, step.body, constants, carries, self.inline),)
        )

    def function_of_while(self, step: While) -> str:
        """Return the name of the function of a loop with a condition."""
        key = ("while", id(step.condition), id(step.before), id(step.body))
        return self._once(key, lambda name: (while_function(name, step, self.inline),))

    def _once(self, key: tuple[Any, ...], make: Callable[[str], Sequence[Definition]]) -> str:
        """Return the name of the text printed for `key`, which begins with its kind; `make` prints it."""
        if key not in self.named:
            name = self.named[key] = f"_{key[0]}{len(self.named)}"
            self.define(make(name))
        return self.named[key]

    def inline(
        self, schedule: Schedule, inputs: Sequence[str], fresh: Iterator[str]
    ) -> tuple[list[Line], list[str]]:
        """Return the lines that run a schedule on `inputs`, and expressions for its results.

        A schedule longer than `pieces.PIECE` steps becomes a function, which the one line calls.
        """
        if len(schedule.steps) <= pieces.PIECE:
            listing = _Printer(schedule, self, fresh, inputs).listing()
            return list(listing.body), list(listing.results)
        name, results = self.function(schedule), [next(fresh) for _ in schedule.results]
        call = f"{name}({', '.join(inputs)})"
        return [Line(f"{targets(results)} = {call}" if results else call)], results


class _Printer:
    """Printer of one schedule; inputs have the names `inputs`, if any, and others `fresh` ones."""

    def __init__(
        self,
        schedule: Schedule,
        module: _Module,
        fresh: Iterator[str] | None = None,
        inputs: Sequence[str] | None = None,
    ) -> None:
        self.schedule = schedule
        self.module = module
        self.bindings = module.bindings
        self.fresh = fresh or safe_names()
        self.names: dict[int, str] = dict(zip(schedule.inputs, inputs or (), strict=bool(inputs)))
        self.body: list[Line] = []
        self.in_order = ""  # the name of what tells whether inputs lie in C order

    def listing(self) -> Listing:
        schedule = self.schedule
        parameters = [self._name(r) for r in schedule.inputs]
        for r, value in schedule.constants.items():
            self.names[r] = self._constant(value)
        self._see_order()
        for step in schedule.steps:
            self._print(step)
        results = [self._result(*result) for result in schedule.results]
        read = self._locals([r for r, _ in schedule.results])
        return Listing(tuple(parameters), self.body, tuple(results), read, self.bindings)

    def _see_order(self) -> None:
        """Print the test whether inputs lie in C order, if a step asks."""
        asked = {v for step in self.schedule.steps if isinstance(step, Into) for v in step.in_order}
        if asked:
            names = tuple([self._name(r) for r in self.schedule.inputs if r in asked])
            self.in_order = next(self.fresh)
            text = " and ".join([f"{name}.flags.c_contiguous" for name in names])
            self._line(f"{self.in_order} = {text}", None, names, (self.in_order,))

    def _print(self, step: Step) -> None:
        match step:
            case Free():
                names = tuple(map(self._name, step.registers))
                self._line(f"del {', '.join(names)}", None, names)
            case Copy():
                self._copy(step)
            case Empty():
                for r in step.registers:
                    type_, name = self.schedule.types[r], self._name(r)
                    text = f"{name} = np.empty({type_.shape}, {self._dtype(type_.dtype)})"
                    self._line(text, None, (), (name,))
            case Run() | Branch() | Loop() | While():
                self._control(step)
            case Call() | Into() | Assign():
                self._operation(step)

    def _operation(self, step: Call | Into | Assign) -> None:
        """Print a step that computes one equation."""
        primitive = step.primitive
        reads = self._locals([operand.register for operand in step.operands])
        origin = primitive, step.source
        if isinstance(step, Assign):
            statement = primitive.assignment(*[self._name(r) for r, _ in step.operands])
            assert statement is not None
            self._line(statement, origin, reads)
            return
        operands = self._operands(primitive, step.operands)
        if isinstance(step, Into):
            name = out = self._name(step.register)
            if step.in_order:  # else NumPy allocates the result, and chooses its memory order
                reads, out = (*reads, self.in_order), f"{name} if {self.in_order} else None"
            self._line(f"{name} = {primitive.call_into(out, *operands)}", origin, reads, (name,))
            return
        text = self._call(step, operands)
        writes = tuple(map(self._name, step.results))
        comma = "," if primitive.multiple_results and len(writes) == 1 else ""
        target = f"{', '.join(writes)}{comma} = " if writes else ""
        self._line(f"{target}{text}", origin, reads, writes)

    def _control(self, step: Control) -> None:
        """Print a step that runs other schedules, as a call of their functions."""
        bound, lists = self._bound, self._list
        match step:
            case Run():
                operands = ", ".join(map(bound, step.operands))
                text = f"{self.module.function(step.body)}({operands})"
                read, written = step.operands, step.results
            case Branch():
                functions = targets([self.module.function(branch) for branch in step.branches])
                operands = ", ".join(map(bound, step.operands))
                text = f"({functions})[int({bound(step.which)})]({operands})"
                read, written = (step.which, *step.operands), step.results
            case Loop():
                name = self.module.function_of_loop(step)
                taken, filled = [
                    f"[{', '.join([self._rows(step.rows, r) for r in group])}]"
                    for group in (step.taken, step.filled)
                ]
                groups = [lists(step.constants), lists(step.carries), taken, filled]
                text = f"{name}({', '.join(groups)}, {step.rows.rounds})"
                read = (*step.constants, *step.carries, *step.taken, *step.filled)
                written = step.carries
            case While():
                name = self.module.function_of_while(step)
                groups = [lists(step.tested), lists(step.constants), lists(step.carries)]
                text = f"{name}({', '.join(groups)})"
                read, written = (*step.tested, *step.constants, *step.carries), step.carries
        reads, writes = self._locals(read), tuple(map(self._name, written))
        target = f"{targets(writes)} = " if writes else ""
        self._line(f"{target}{text}", (step.primitive, step.source), reads, writes)

    def _copy(self, step: Copy) -> None:
        name, reads = self._name(step.register), self._locals((step.operand,))
        scalar = self.schedule.target.scalars and not self.schedule.types[step.register].shape
        text = f"{name} = np.array({self._bound(step.operand)}){'[()]' if scalar else ''}"
        self._line(text, None, reads, (name,))

    def _rows(self, rows: Rows, register: int) -> str:
        """Return the view whose rows are read or filled by a loop's rounds."""
        name, shape = self._bound(register), self.schedule.types[register].shape
        if (rows.start, rows.stop) != (0, shape[0]):
            name = f"{name}[{rows.start}:{rows.stop}]"
        if rows.block is not None:
            name = f"{name}.reshape({(rows.rounds, rows.block, *shape[1:])})"
        return f"{name}[::-1]" if rows.reverse else name

    def _list(self, registers: Sequence[int]) -> str:
        return f"[{', '.join(map(self._bound, registers))}]"

    def _dtype(self, dtype: np.dtype[Any]) -> str:
        """Return a dtype as source."""
        if dtype.kind in "biufc":
            return repr(dtype.name)
        name = f"dtype{len(self.bindings)}"
        self.bindings[name] = dtype
        return name

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
            if (
                kind != "c" or primitive.dtype.kind in "bc"
            ):  # else `astype` warns of lost imaginary parts
                return f"{operands[0]}.astype({primitive.dtype.name!r})"
        text = self._on_scalars(step, operands)
        types = [self.schedule.types[operand.register] for operand in step.operands]
        spelled = primitive.spelled_on_device or self.schedule.target.on_host
        # `np.array` would stack matrices in C order, where `np.stack` follows them; `np.sum` of half precision rounds more.
        needs_impl = (isinstance(primitive, Stack) and types[0].ndim > 1) or (
            isinstance(primitive, ReduceSum) and is_half(types[0].dtype)
        )
        if text is None and spelled and not needs_impl:
            text = primitive.expression(*operands)
        if text is None:
            name = self.module.primitives.get(primitive)
            if name is None:
                name = f"{primitive.name}{len(self.bindings)}"
                self.module.primitives[primitive] = name
                self.bindings[name] = primitive.native or primitive.impl
            given = operands if primitive.native else ["np", *operands]
            text = f"{name}({', '.join(given)})"
        return f"{text}.copy()" if step.copied else text

    def _on_scalars(self, step: Call, operands: list[str]) -> str | None:
        """Return an operation on scalars as a Python operator, if it can be one.

        NumPy runs it ten times faster than a ufunc.
        Operands must be real: integer scalars warn of an overflow, where arrays do not. Comparisons cannot overflow.
        """
        primitive, schedule = step.primitive, self.schedule
        if primitive.on_scalars is None or not schedule.target.scalars:
            return None
        registers = [operand.register for operand in step.operands]
        if any(schedule.types[r].shape for r in registers):
            return None
        kinds = {schedule.types[r].dtype.kind for r in registers}
        compares = isinstance(primitive, Elementwise) and primitive.compares
        if kinds - {"b"} != {"f"} and not (compares and kinds <= {"i", "u", "f"}):
            return None
        if all(r in schedule.constants for r in registers):
            return None  # an operation on literals would give a number of Python's
        if primitive is select:
            # The conditional expression returns an operand: a literal is bound to an array, and a 0-d view becomes a scalar.
            operands = [self._bound(r) for r in registers]
            return f"({primitive.on_scalars.format(*operands)})[()]"
        return primitive.on_scalars.format(*operands)

    def _operands(self, primitive: Primitive, operands: Sequence[Operand]) -> list[str]:
        """Return operands as source. Only functions that broadcast are given literals in place of arrays."""
        name = self._name if broadcasts(primitive) else self._bound
        texts = [
            name(r) if shape is None else f"{name(r)}.reshape({shape})" for r, shape in operands
        ]
        if primitive is select and not self.schedule.target.scalars and operands[0].shape is None:
            texts[0] = self._bound(operands[0].register)  # CuPy's `where` takes arrays to choose by
        return texts

    def _result(self, register: int, copied: bool) -> str:
        """Return a result as source: 0-d arrays as scalars."""
        name = self._bound(register)
        if not self.schedule.types[register].shape and self.schedule.target.scalars:
            return f"{name}[()]"
        return f"{name}.copy()" if copied else name

    def _name(self, register: int) -> str:
        if register not in self.names:
            self.names[register] = next(self.fresh)
        return self.names[register]

    def _locals(self, registers: Sequence[int]) -> tuple[str, ...]:
        """Return the names of `registers` that are local variables, not constants."""
        constants = self.schedule.constants
        return tuple([self.names[r] for r in registers if r not in constants])

    def _constant(self, value: Any) -> str:
        if isinstance(value, np.generic) and value.dtype.char in "?ld" and np.isfinite(value):
            return repr(value.item())
        name = f"constant{len(self.bindings)}"
        self.bindings[name] = value
        return name

    def _bound(self, register: int) -> str:
        """Return a name for a register; `_name` gives some constants as literals, which here get a name."""
        constants, name = self.schedule.constants, self._name(register)
        if register not in constants or name in self.bindings:
            return name
        known = self.module.scalars.get((id(self.schedule), register))
        if known is None:
            known = f"scalar{register}"
            if known in self.bindings:
                known += f"_{len(self.bindings)}"
            self.module.scalars[id(self.schedule), register] = known
            self.bindings[known] = constants[register]
        return known
