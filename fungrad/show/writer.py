"""Writing a program as lines of a Python function: nested expressions, NumPy's broadcasts."""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad import Equation, Expr
from fungrad.compile.flow import Choice, Repeat, Until
from fungrad.compile.steps import Rows
from fungrad.extend import Primitive
from fungrad.extend.backend import to_host
from fungrad.extend.operations import Broadcast, Function, Reshape, numpy_ufunc
from fungrad.extend.programs import Calling, format_value, simplify
from fungrad.programs.rules.recomputation import Checkpoint
from fungrad.show.bundle import Bundle, Unprintable
from fungrad.show.forms import ATOM, Text, dtype, elementwise, general, operator_of
from fungrad.show.libraries import NUMPY, Library

WITHIN = 48
"""How many characters an expression has at most that is written within another one."""

ELEMENTS = 32
"""How many elements a constant array has at most that is written as a list."""

ROW = 88
"""How many characters of a packed array, or of names, a line has."""


class Writer:
    """Functions written so far, and their needs."""

    def __init__(self, library: Library = NUMPY) -> None:
        self.bundle = Bundle(library)
        self.constants: dict[str, str] = {}  # the name of each text
        self.functions: list[str] = []

    def constant(self, value: Any) -> str:
        """Return the name of an array that stands above the functions."""
        text = self._array(to_host(value))
        return self.constants.setdefault(text, f"CONSTANT{len(self.constants)}")

    def _array(self, x: np.ndarray[Any, Any]) -> str:
        kind, numbers = dtype(x.dtype, self.bundle), x.dtype.kind in "biuf"
        if x.size and numbers and bool((x == x.flat[0]).all()) and np.isfinite(x.flat[0]):
            return f"np.full({x.shape}, {x.flat[0].item()!r}, {kind})"
        if x.ndim == 1 and x.dtype.kind in "iu" and np.array_equal(x, np.arange(len(x))):
            return f"np.arange({len(x)}, dtype={kind})"
        if x.size <= ELEMENTS and numbers and bool(np.isfinite(x).all()):
            shaped = "" if x.size else f".reshape({x.shape})"
            return f"np.array({x.tolist()}, {kind}){shaped}"
        if x.dtype.kind not in "biufc":
            raise Unprintable(f"a constant has the dtype {x.dtype}")
        text = base64.b85encode(zlib.compress(np.ascontiguousarray(x).tobytes(), 9)).decode()
        pieces = [repr(text[i : i + ROW]) for i in range(0, len(text), ROW)]
        return f"{self.bundle.plain('packed')}({' '.join(pieces)}, {kind}, {x.shape})"

    def function(self, expr: Expr, name: str) -> str:
        """Write the function of a program that another one runs; return its name."""
        name = f"_{name}{len(self.functions)}"
        self.functions.append("")  # its place, before those that call it
        place = len(self.functions) - 1
        body = Body(self, expr, {})
        parameters = ", ".join([body.names[v] for v in expr.inputs])
        results = ", ".join([x.text for x in body.results()])
        self.functions[place] = define(
            f"{name}({parameters})", [*body.lines, f"return [{results}]"]
        )
        return name


class Body:
    """The lines of one program."""

    def __init__(self, writer: Writer, expr: Expr, names: dict[int, str]) -> None:
        self.writer = writer
        self.expr = expr
        self.names = {v: f"x{i}" for i, v in enumerate(expr.inputs)} | names
        self.lines: list[str] = []
        self._given = {*self.names.values()}
        self._waiting: dict[int, Text] = {}  # expressions that may be written where they are used
        self._spread: dict[int, Equation] = {}  # broadcasts that NumPy may do by itself
        read = Counter(v for e in expr.equations for v in e.inputs)
        read.update(expr.outputs)
        self._read = read
        self._reshaped: dict[int, tuple[Text, tuple[int, ...]]] = {}
        self._defined = 0

    def results(self) -> list[Text]:
        """Write all equations; return the results. `lines` then has the rest to write before them."""
        for equation in self.expr.equations:
            self._equation(equation)
        return [self.use(v, 0) for v in self.expr.outputs]

    def _equation(self, equation: Equation) -> None:
        primitive, inputs, outputs = equation
        if isinstance(primitive, Broadcast):
            self._spread[outputs[0]] = equation
        elif isinstance(primitive, Reshape):
            self._reshape(inputs[0], outputs[0])
        elif isinstance(primitive, Function):
            self._define(outputs[0], self._elementwise(primitive, inputs, outputs[0]))
        elif primitive.control_flow is not None:
            self._control(primitive, inputs, outputs)
        elif isinstance(primitive, (Calling, Checkpoint)):
            callee = primitive.callee if isinstance(primitive, Calling) else primitive.program.expr
            function = self.writer.function(simplify(callee), "call")
            self._assign(outputs, f"{function}({', '.join(map(self._atom, inputs))})")
        elif primitive.holds_programs or primitive.effect:
            raise Unprintable(f"{primitive.name} runs functions that are no arrays' alone")
        else:
            types = [self.expr.types[v] for v in inputs]
            atoms = list(map(self._atom, inputs))
            operation = general(primitive, types, atoms, self.writer.bundle)
            if self._repeats(operation, inputs, atoms):
                atoms = list(map(self._atom, inputs))
                operation = general(primitive, types, atoms, self.writer.bundle)
            if primitive.multiple_results:
                self._assign(outputs, operation.text)
            else:
                self._define(outputs[0], operation)

    def _reshape(self, v: int, output: int) -> None:
        """Write a reshape of the first array in a chain of reshapes."""
        shape, waiting = self.expr.types[output].shape, v in self._waiting
        first = self._reshaped.get(v) if waiting or v not in self.names else None
        if first is None:
            first = Text(self._atom(v)), self.expr.types[v].shape
        else:
            self._waiting.pop(v, None)
        text, before = self._reshaped[output] = first
        self._define(output, text if shape == before else Text(f"{text.text}.reshape({shape})"))

    def _elementwise(self, function: Function, inputs: Sequence[int], output: int) -> Text:
        shape = self.expr.types[output].shape
        whole = [v for v in inputs if v not in self._spread and v not in self.expr.constants]
        lazy = numpy_ufunc(function.function) is not None and any(
            self.expr.types[v].shape == shape for v in whole
        )
        texts = []
        for v in inputs:
            if lazy and v in self._spread and v not in self.names:
                texts.append(self._stretched(self._spread[v]))
            else:
                # of operators alone, literals take the dtype of the others
                plain = bool(whole) and (operator_of(function) is not None or lazy)
                texts.append(self.use(v, 0, literal=plain))
        operation = elementwise(function, texts, self.writer.bundle)
        if self._repeats(operation, inputs, [x.text for x in texts]):
            given = zip(inputs, texts, strict=True)
            texts = [Text(self.names[v]) if self._is_named(v) else x for v, x in given]
            operation = elementwise(function, texts, self.writer.bundle)
        return operation

    def _is_named(self, v: int) -> bool:
        return v in self.names and v not in self.expr.constants and v not in self._spread

    def _repeats(self, operation: Text, inputs: Sequence[int], texts: Sequence[str]) -> bool:
        """Whether the text of an operation has one of an operand, which is given a name now, several times."""
        repeated = {
            v: text
            for v, text in zip(inputs, texts, strict=True)
            if not text.isidentifier() and operation.text.count(text) > 1
            if v not in self.expr.constants and v not in self._spread and v not in self.names
        }
        for v, text in repeated.items():
            self._name(v, Text(text))
        return bool(repeated)

    def _stretched(self, equation: Equation) -> Text:
        """Return the operand of a broadcast as NumPy stretches it by itself."""
        broadcast, (v,), (output,) = equation
        assert isinstance(broadcast, Broadcast)
        if v in self.expr.constants:
            return self.use(v, 0, literal=not self.expr.types[v].shape)
        x = self._atom(v, once=self._read[output] == 1)
        if broadcast.leading:
            return Text(x)
        kept = ["None" if i in broadcast.axes else ":" for i in range(len(broadcast.shape))]
        while kept[0] == "None":
            kept.pop(0)
        return Text(f"{x}[{', '.join(kept)}]")

    def _broadcast(
        self, primitive: Primitive, inputs: Sequence[int], outputs: Sequence[int]
    ) -> str:
        (v,), type_ = inputs, self.expr.types[outputs[0]]
        if v not in self.expr.constants or self.expr.types[v].shape:
            return str(primitive.expression(self._atom(v, once=self._read[outputs[0]] == 1)))
        text = self.use(v, 0, literal=True).text
        return f"np.full({type_.shape}, {text}, {dtype(type_.dtype, self.writer.bundle)})"

    def _atom(self, v: int, once: bool = True) -> str:
        if not once and v in self._waiting:  # it is used again
            self._name(v, self._waiting.pop(v))
        return self.use(v, ATOM).text

    def use(self, v: int, strength: int, literal: bool = False) -> Text:
        """Return a variable's text for an operator of binding `strength`."""
        known = v in self.names and not (literal and not self.expr.types[v].shape)
        if v in self.expr.constants and not known:
            return self._constant(v, literal)
        if v in self._spread and v not in self.names:
            self._name(v, Text(self._broadcast(*self._spread[v])))
        waiting = self._waiting.pop(v, None)
        if waiting is not None:
            if waiting.strength >= strength:
                return waiting
            self._name(v, waiting)
        return Text(self.names[v])

    def _constant(self, v: int, literal: bool) -> Text:
        value, kind = self.expr.constants[v], self.expr.types[v].dtype
        text = format_value(value) if kind.kind in "biufc" else None
        number = literal or self.writer.bundle.library.target.scalars
        if text is None or not number or self.expr.types[v].shape:
            self.names[v] = self.writer.constant(value)
            return Text(self.names[v])
        if kind.kind == "f":
            text = str(to_host(value)[()])  # with the digits that tell its precision
        if kind.kind == "c" and not np.isfinite(value):
            text = f"complex({str(complex(to_host(value)[()]))!r})"
        if text.strip("-") in ("inf", "nan"):
            return Text(
                f"{'-' * text.startswith('-')}np.{text.strip('-')}"
                if literal
                else f"np.{kind.name}({text!r})"
            )
        if literal:
            return Text(text, ATOM if text[0] != "-" else ATOM - 2)
        return Text(f"np.{'bool_' if kind.kind == 'b' else kind.name}({text})")

    def _define(self, v: int, text: Text) -> None:
        """Let an expression stand for a variable, or give that a name if it is long or read twice."""
        if self._read[v] == 1 and len(text.text) <= WITHIN:
            self._waiting[v] = text
        else:
            self._name(v, text)

    def _name(self, v: int, text: Text) -> None:
        self._assign((v,), text.text, one=True)

    def _assign(self, outputs: Sequence[int], text: str, one: bool = False) -> None:
        for v in outputs:
            self.names[v] = self._fresh("v")
        names = [self.names[v] for v in outputs]
        targets = names[0] if one else targets_of(names)
        types = ", ".join([repr(self.expr.types[v]).rstrip("*") for v in outputs])
        line = f"{targets} = {text}" if outputs else text
        self.lines.append(f"{line}  # {types}")

    def _fresh(self, prefix: str) -> str:
        """Return a name that neither an argument nor another variable has."""
        self._defined += 1
        while (name := f"{prefix}{self._defined}") in self._given:
            self._defined += 1
        return name

    def _control(self, primitive: Primitive, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        flow, write = primitive.control_flow, self.writer.function
        names = [*map(self._atom, inputs)]
        match flow:
            case Choice(branches):
                functions = ", ".join([write(branch, "branch") for branch in branches])
                which, *rest = names
                text = f"({functions},)[int({which})]({', '.join(rest)})"
                self._assign(outputs, text)
            case Until((tested, fixed), condition, body):
                text = ", ".join(
                    [
                        write(condition, "condition"),
                        write(body, "body"),
                        _list(names[:tested]),
                        _list(names[tested : tested + fixed]),
                        _list(names[tested + fixed :]),
                    ]
                )
                self._assign(outputs, f"{self.writer.bundle.plain('until')}({text})")
            case Repeat():
                self._repeat(flow, names, inputs, outputs)
            case _:
                raise Unprintable(f"{primitive.name} is run in a way of its own")

    def _repeat(
        self, flow: Repeat, names: list[str], inputs: Sequence[int], outputs: Sequence[int]
    ) -> None:
        c, k = flow.counts
        constants, carries, rows = names[:c], names[c : c + k], names[c + k :]
        if flow.before is not None:
            made = [self._fresh("once") for _ in flow.before.outputs]
            function = self.writer.function(flow.before, "before")
            self.lines.append(f"{_list(made)} = {function}({', '.join(constants)})")
            constants = [*constants, *made]
        filled = outputs[k:]
        for v in filled:
            type_ = self.expr.types[v]
            text = f"np.empty({type_.shape}, {dtype(type_.dtype, self.writer.bundle)})"
            self._name(v, Text(text))
        stored = [self.names[v] for v in filled]
        for span, body in flow.spans:
            function = self.writer.function(body, "step")
            lengths = [self.expr.types[v].shape[0] for v in (*inputs[c + k :], *filled)]
            views = [
                _view(span, name, n) for name, n in zip((*rows, *stored), lengths, strict=True)
            ]
            given = (constants, carries, views[: len(rows)], views[len(rows) :])
            text = ", ".join([function, *map(_list, given), str(span.rounds)])
            call = f"{self.writer.bundle.plain('repeat')}({text})"
            if not k:
                self.lines.append(call)
                continue
            carries = [self._fresh("carry") for _ in range(k)]
            self.lines.append(f"{_list(carries)} = {call}")
        for v, name in zip(outputs[:k], carries, strict=True):
            self.names[v] = name


def define(signature: str, lines: Sequence[str]) -> str:
    """Return the definition of a function, each statement in one line."""
    return "\n".join([f"def {signature}:", *[f"    {line}" for line in lines]]) + "\n"


def targets_of(names: Sequence[str]) -> str:
    """Return names as the targets of an assignment, in brackets where they are one or many."""
    targets = ", ".join(names)
    return (
        f"({names[0]},)" if len(names) == 1 else f"({targets})" if len(targets) > ROW else targets
    )


def _view(rows: Rows, name: str, length: int) -> str:
    """Return the rows of an array that a loop takes or fills."""
    view = name if (rows.start, rows.stop) == (0, length) else f"{name}[{rows.start}:{rows.stop}]"
    if rows.block is not None:
        view = f"{view}.reshape({rows.rounds}, {rows.block}, *{name}.shape[1:])"
    return f"{view}[::-1]" if rows.reverse else view


def _list(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"
