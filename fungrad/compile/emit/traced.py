"""Functions of LLVM's assembly traced from Python: values with operators, conditions, loops.

A traced function has annotated parameters, `Ptr`, `I64`, ..., and runs once on values that record instructions. Variables are memory that LLVM's passes
turn into registers (`sroa`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from fungrad.compile.emit.assembly import Assembly
from fungrad.compile.emit.llvm_prelude import SIGNATURES, Table


def _operator(operation: str, type_: str = "") -> Callable[[Value, Given], Value]:
    """Return the method that adds an instruction of two operands, with a result of `type_` if given."""
    return lambda self, other: self.operate(operation, other, type_)


_ORDERS = "lt", "le", "gt", "ge"


class Value:
    """A value in code that is being written; a number of Python's beside it has its type."""

    __slots__ = ("name", "to", "type")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, to: Code, type_: str, name: str) -> None:
        self.to, self.type, self.name = to, type_, name

    def __str__(self) -> str:
        """Return its type and name, as an operand."""
        return f"{self.type} {self.name}"

    def operate(self, operation: str, other: Given, type_: str = "") -> Value:
        """Return the result of an instruction of two operands."""
        text = f"{operation} {self}, {_text(other)}"
        return Value(self.to, type_ or self.type, self.to.emit(text))

    __add__, __sub__, __mul__ = map(_operator, ("add", "sub", "mul"))
    __and__, __or__, __rshift__ = map(_operator, ("and", "or", "lshr"))
    __lt__, __le__, __gt__, __ge__ = (_operator(f"icmp u{x}", "i1") for x in _ORDERS)
    signed_less = _operator("icmp slt", "i1")
    __eq__, __ne__ = _operator("icmp eq", "i1"), _operator("icmp ne", "i1")  # type: ignore[assignment]

    def __invert__(self) -> Value:
        return self.operate("xor", True)

    @property
    def is_null(self) -> Value:
        """Whether it is no address."""
        return self == None  # noqa: E711

    def cast(self, how: str, type_: str) -> Value:
        """Return it in another type, by an instruction such as ``trunc``."""
        return Value(self.to, type_, self.to.emit(f"{how} {self} to {type_}"))

    # Addresses

    def at(self, k: Given, type_: str = "i64") -> Value:
        """Return the address of an element of an array."""
        text = f"getelementptr {type_}, {self}, i64 {_text(k)}"
        return Value(self.to, "ptr", self.to.emit(text))

    def load(self, type_: str, how: str = "") -> Value:
        """Return the content; ``monotonic`` or ``acquire`` reads it as a single operation."""
        atomic = f"load atomic {type_}, {self} {how}, align 8"
        return Value(self.to, type_, self.to.emit(atomic if how else f"load {type_}, {self}"))

    def store(self, value: Value) -> None:
        """Set the content."""
        self.to.do(f"store {value}, {self}")

    def update(self, how: str, value: Value, order: str = "acq_rel") -> Value:
        """Return the content and change it in a single operation, such as ``add``."""
        text = f"atomicrmw {how} {self}, {value} {order}"
        return Value(self.to, value.type, self.to.emit(text))

    def __getitem__(self, k: Given) -> Value:
        """Return an element of an array of addresses."""
        return self.at(k).load("ptr")

    def __setitem__(self, k: Given, value: Value) -> None:
        """Set an element of an array of addresses or of integers of 64 bits."""
        self.at(k).store(value)

    def number(self, k: Given) -> Value:
        """Return an element of an array of integers of 64 bits."""
        return self.at(k).load("i64")


Given: TypeAlias = "Value | int | None"
Ptr: TypeAlias = Value
I1: TypeAlias = Value
I32: TypeAlias = Value
I64: TypeAlias = Value


def _text(x: Given) -> str:
    if isinstance(x, Value):
        return x.name
    return "null" if x is None else str(x).lower()


class Variable:
    """A place on the stack for a value that changes."""

    def __init__(self, first: Value) -> None:
        self.type = first.type
        self.place = first.to.place(self.type)
        self.set(first)

    def get(self) -> Value:
        return self.place.load(self.type)

    def set(self, value: Value) -> None:
        self.place.store(value)


class Code(Assembly):
    """The lines of a traced function so far."""

    def __init__(self, around: Around) -> None:
        super().__init__()
        self.around = around
        self.ended = False

    # Values

    def value(self, x: Any, type_: str = "i64") -> Value:
        """Return a number of Python's, or None, as a value."""
        return Value(self, type_, _text(x))

    def symbol(self, name: str) -> Value:
        """Return the address of a function or variable of the module."""
        return Value(self, "ptr", f"@{name}")

    def place(self, type_: str) -> Value:
        """Return an address on the stack, the same each time the code is run."""
        name = self.name()
        self.allocations.append(f"  {name} = alloca {type_}")
        return Value(self, "ptr", name)

    def room(self, count: Value) -> Value:
        """Return the address of so many words on the stack."""
        return Value(self, "ptr", self.emit(f"alloca i64, {count}, align 16"))

    def field(self, x: Value, name: str) -> Value:
        """Return a field of an object of Python's."""
        offset, type_ = self.around.fields[name]
        return x.at(offset, "i8").load(type_)

    def address(self, name: str) -> Value:
        """Return an address of the table."""
        text = f"load ptr, {self.around.table.at(name)}"
        return Value(self, "ptr", self.emit(text))

    def select(self, condition: Value, x: Given, y: Value) -> Value:
        """Return one of two values."""
        text = f"select {condition}, {y.type} {_text(x)}, {y}"
        return Value(self, y.type, self.emit(text))

    # Calls

    def call(self, function: Traced | str, *given: Given) -> Value:
        """Call a traced function, or one of the table (`SIGNATURES`) by its name."""
        if isinstance(function, str):
            result, *types = SIGNATURES[function].split()
            return self.call_at(self.address(function).name, result, *self._typed(types, given))
        result, *types = types_of(function)
        return self.call_at(f"@{name_of(function)}", result, *self._typed(types, given))

    def _typed(self, types: Sequence[str], given: Sequence[Given]) -> list[Value]:
        return [
            x if isinstance(x, Value) else self.value(x, type_)
            for x, type_ in zip(given, types, strict=True)
        ]

    def call_at(self, function: str, result: str, *given: Value) -> Value:
        """Call the function at an address."""
        text = f"call {result} {function}({', '.join(map(str, given))})"
        if result != "void":
            return Value(self, result, self.emit(text))
        self.do(text)
        return self.value(None, "void")

    def of_llvm(self, result: str, name: str, *given: Value) -> Value:
        """Call an intrinsic."""
        types = ", ".join([x.type for x in given])
        self.declarations.add(f"declare {result} @llvm.{name}({types})")
        return self.call_at(f"@llvm.{name}", result, *given)

    # Control flow

    def label(self, label: str, within: bool = False) -> None:
        super().label(label, within)
        self.ended = False

    def end(self, text: str) -> None:
        """End a block."""
        if not self.ended:
            self.do(text)
        self.ended = True

    def give(self, x: Given = None) -> None:
        """Return from the function."""
        self.end(f"ret {x if isinstance(x, Value) else f'ptr {_text(x)}'}")

    @contextlib.contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Run the code added in the block if a condition holds."""
        self.count += 1
        n = self.count
        self.do(f"br {condition}, label %then{n}, label %on{n}")
        self.label(f"then{n}")
        yield
        self.end(f"br label %on{n}")
        self.label(f"on{n}")

    def chosen(
        self, condition: Value, one: Callable[[], Value], other: Callable[[], Value]
    ) -> Value:
        """Return the value of one of two pieces of code, which alone is run."""
        self.count += 1
        n, found = self.count, []
        self.do(f"br {condition}, label %then{n}, label %else{n}")
        for label, value in ((f"then{n}", one), (f"else{n}", other)):
            self.label(label)
            found.append((value(), self.block))
            self.do(f"br label %on{n}")
        self.label(f"on{n}")
        cases = ", ".join([f"[ {x.name}, %{block} ]" for x, block in found])
        return Value(self, found[0][0].type, self.emit(f"phi {found[0][0].type} {cases}"))

    @contextlib.contextmanager
    def each(self, count: Given) -> Iterator[Value]:
        """Run the code added in the block for each index from 0 up to a number."""
        with self.loop(_text(count), some=False) as index:
            yield Value(self, "i64", index)

    @contextlib.contextmanager
    def repeated(self) -> Iterator[Callable[[], None]]:
        """Run the code added in the block until it leaves by the function that is yielded."""
        self.count += 1
        n = self.count
        self.do(f"br label %again{n}")
        self.label(f"again{n}")
        yield lambda: self.end(f"br label %left{n}")
        self.end(f"br label %again{n}")
        self.label(f"left{n}")


Traced: TypeAlias = Callable[..., Any]
"""Signature: code and annotated values to the value returned, if any."""


class Around(NamedTuple):
    """Context of a module's functions: addresses, fields of Python's objects, the processor."""

    table: Table
    fields: Mapping[str, tuple[int, str]] = {}
    x86: bool = False


def name_of(function: Traced) -> str:
    """Return the name in assembly of a traced function."""
    return function.__name__.strip("_")


@functools.cache
def types_of(function: Traced) -> tuple[str, ...]:
    """Return the types of the result and of the parameters."""
    annotated = function.__annotations__
    types = [_TYPES.get(x, x.lower()) for name, x in annotated.items() if name != "to"]
    return (types[-1], *types[:-1])


_TYPES = {"None": "void"}


def definition(
    function: Traced,
    around: Around,
    how: str = "noinline",
    name: str = "",
    types: Sequence[str] = (),
) -> tuple[str, set[str]]:
    """Return a traced function in assembly, and the declarations that it needs.

    It can be called from elsewhere unless there is a word on `how` it is inlined. `types` replace those of its annotations.
    """
    result, *given = types or types_of(function)
    to = Code(around)
    parameters = [Value(to, x, f"%p{k}") for k, x in enumerate(given)]
    value = function(to, *parameters)
    to.end("ret void" if result == "void" else f"ret {value}")
    head = f"{result} @{name or name_of(function)}({', '.join(map(str, parameters))})"
    lines = [f"define {'internal ' if how else ''}{head} {how} {{", "start:"]
    return "\n".join([*lines, *to.allocations, *to.lines, "}\n"]), to.declarations


def definitions(around: Around, inner: Iterable[Traced], for_others: Iterable[Traced]) -> str:
    """Return functions, those that can be called from elsewhere last, and the declarations that they need."""
    functions = [definition(x, around) for x in inner]
    functions += [definition(x, around, "") for x in for_others]
    declared = set[str]().union(*[needed for _, needed in functions])
    return "\n".join([*sorted(declared), *[text for text, _ in functions]])
