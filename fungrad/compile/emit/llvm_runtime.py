"""The runtime that every call of machine code goes through, compiled once.

`call` is what Python's calls end up in. It reads what `llvm_call` says of a program's operands and results: it checks what it is given (class, dtype,
shape), copies what does not lie in C order, makes the results, and runs a kernel. If an argument does not fit, or a
floating-point error has come up, it raises `Rerun`, or `Unfit`, which is one. NumPy's functions then compute the
same, and warn or raise as the user has asked them to.
"""

from __future__ import annotations

from collections.abc import Mapping

from fungrad.compile.emit.llvm_arrays import ARRAYS, empty, operand, raised, recycled, release
from fungrad.compile.emit.llvm_prelude import HEAD, STOPPED, Table
from fungrad.compile.emit.llvm_threads import RUNNING, WAITING, raised_flags, run
from fungrad.compile.emit.traced import I32, I64, Around, Code, Ptr, Value, Variable, definitions

FUNCTIONS = ("call", "interrupted")
"""Functions for others to call."""


def _interrupted(to: Code, context: Ptr) -> I32:
    """Return whether a loop must end: 1 for a warning, `STOPPED` for an exception."""
    with to.when(raised_flags(to) != 0):
        to.end("ret i32 1")
    state = context.load("ptr")
    with to.when(~state.is_null):
        to.call("PyEval_RestoreThread", state)
    found = to.call("PyErr_CheckSignals")
    with to.when(~state.is_null):
        context.store(to.call("PyEval_SaveThread"))
    return to.select(found != 0, STOPPED, to.value(0, "i32"))


def _call(to: Code, table: Ptr, about: Ptr, kernel: Ptr, finish: Ptr, arguments: Ptr) -> Ptr:
    """Return the result of a kernel, or a tuple of several."""
    count, results, size, released = [about.number(k) for k in range(4)]
    both, lets, needs = count + results, released != 0, size != 0
    owned, operands, outputs = [to.room(n) for n in (both, count, results + 2)]
    numbers, values, state = to.room(results + results), to.room(results), to.place("ptr")
    to.of_llvm("void", "memset.p0.i64", owned, to.value(0, "i8"), both * 8, to.value(False, "i1"))
    state.store(to.value(None, "ptr"))
    outputs[results] = state
    room = outputs.at(results + 1)

    def fail() -> None:
        to.give(to.call(_failed, owned, both))

    place = Variable(about.at(len(HEAD)))
    with to.each(count) as k:
        taken = _taken(to, table, place, arguments[k], owned.at(k))
        operands[k] = taken
        with to.when(taken.is_null):
            fail()
    first = place.get()
    with to.each(results) as k:
        found = _made(to, table, place, operands, numbers.at(k + k), owned.at(count + k))
        outputs[k] = found
        with to.when(found.is_null):
            fail()
    with to.when(needs):
        room.store(to.call("PyMem_RawMalloc", size))
        with to.when(room.load("ptr").is_null):
            to.call(raised, to.address("Rerun"))
            fail()
    with to.when(lets):
        state.store(to.call("PyEval_SaveThread"))
    errors = to.call(run, kernel, finish, operands, outputs, about)
    with to.when(lets):
        to.call("PyEval_RestoreThread", state.load("ptr"))
    with to.when(needs):
        to.call("PyMem_RawFree", room.load("ptr"))
    with to.when(errors != 0):
        with to.when(errors < STOPPED):
            to.call(raised, to.address("Rerun"))
        fail()
    place.set(first)
    with to.each(results) as k:
        values[k] = _given(to, table, place, numbers.at(k + k), owned, count + k)
    to.call(release, owned, count)
    with to.when(results == 1):
        to.give(values[0])
    return to.call(_several, values, results)


def _failed(to: Code, owned: Ptr, count: I64) -> Ptr:
    """Drop references and return no address."""
    to.call(release, owned, count)
    return to.value(None, "ptr")


def _taken(to: Code, table: Value, place: Variable, x: Value, owned: Value) -> Value:
    """Return the address of an operand's elements, and go on to the description of the next."""
    about = place.get()
    scalar, python, dtype = [table[about.number(k)] for k in range(3)]
    flags, axes, shape = about.number(3), about.number(4), about.at(5)
    any_order, told_apart = (flags & 1) != 0, (flags & 2) != 0
    place.set(shape.at(axes))
    return to.call(operand, x, scalar, python, dtype, axes, shape, any_order, told_apart, owned)


def _made(
    to: Code, table: Value, place: Variable, operands: Value, number: Value, owned: Value
) -> Value:
    """Return the address of a result's elements, and go on to the description of the next."""
    about = place.get()
    over, recycles, axes, shape = about.number(0), about.number(2), about.number(3), about.at(4)
    place.set(shape.at(axes))

    def new() -> Value:
        given = axes.cast("trunc", "i32"), shape, table[about.number(1)]
        made = to.chosen(
            recycles != 0,
            lambda: to.call(recycled, *given, table[recycles - 1]),
            lambda: to.call(empty, *given),
        )
        owned[0] = made
        return to.chosen(made.is_null, lambda: made, lambda: to.field(made, "data"))

    def own() -> Value:
        return to.chosen(axes == 0, lambda: number, new)

    return to.chosen(over == 0, own, lambda: operands[over - 1])


def _given(
    to: Code, table: Value, place: Variable, number: Value, owned: Value, own: Value
) -> Value:
    """Return a result, a number or an array, and go on to the description of the next."""
    about = place.get()
    over, axes = about.number(0), about.number(3)
    place.set(about.at(axes + 4))

    def moved() -> Value:
        slot = owned.at(to.select(over == 0, own, over - 1))
        array = slot.load("ptr")
        slot.store(to.value(None, "ptr"))
        return array

    def wrapped() -> Value:
        return to.call("PyArray_Scalar", number, table[about.number(1)], None)

    return to.chosen(axes == 0, wrapped, moved)


def _several(to: Code, values: Ptr, results: I64) -> Ptr:
    """Return a tuple of results; no address if one is missing."""
    made = to.call("PyTuple_New", results)
    with to.when(made.is_null):
        to.give(to.call(_failed, values, results))
    whole = Variable(to.value(True, "i1"))
    with to.each(results) as k:
        value = values[k]
        to.call("PyTuple_SetItem", made, k, value)
        whole.set(whole.get() & ~value.is_null)
    with to.when(~whole.get()):
        to.call("Py_DecRef", made)
        to.give()
    return made


def runtime_assembly(fields: Mapping[str, tuple[int, str]], x86: bool) -> tuple[str, Table]:
    """Return the functions `FUNCTIONS` and their addresses; `fields` are those of Python's objects."""
    table = Table()
    inner = (*ARRAYS, *RUNNING, _failed, _several)
    text = definitions(Around(table, fields, x86), inner, (_interrupted, _call))
    return f"@{WAITING} = global i64 0, align 64\n{text}{table.definition()}", table
