"""An allocator of NumPy's that uses the memory of large arrays again.

What is freed is kept, up to a bound, for the next array of about that size: new memory has to be cleared by the system, which takes longer than
many a kernel. The system is told that it may take back what is kept of large ones (MADV_FREE); of smaller ones less is kept, for that would take as long as
clearing them. No locks: blocks go into slots, and out of them, by single operations of the processor, so threads and forks find them whole.

A block has its size before it, in a head of its own, so it does not matter what an array says of its size when it is freed.
"""

from __future__ import annotations

from fungrad.compile.emit.llvm_prelude import Table
from fungrad.compile.emit.traced import (
    I32,
    I64,
    Around,
    Code,
    Ptr,
    Traced,
    Value,
    Variable,
    definitions,
)

LEAST = 1 << 18
"""Bytes from which arrays are kept."""
LARGE = 1 << 22
"""Bytes from which the system is told, and NumPy asks for large pages."""
MOST, MOST_UNTOLD = 1 << 28, 1 << 26
"""Most bytes kept at once, and most bytes kept without telling the system."""
SLOTS = 64
HEAD = 64
PAGE = 1 << 12
LARGE_PAGES, TAKEN_BACK = 14, 8
"""Linux's MADV_HUGEPAGE and MADV_FREE."""
HANDLER, GIVE_BACK, KEPT, TABLE = "handler", "give_back", "kept", "table"
"""Names for others: the handler, the function that frees kept memory, its size, the address table."""


def _advise(to: Code, block: Ptr, size: I64, how: I32) -> None:
    """Tell the system about the pages of a block behind its head."""
    first = block.cast("ptrtoint", "i64")
    page = (first + (HEAD + PAGE - 1)) & -PAGE
    length = ((first + size) & -PAGE) - page
    to.call("madvise", page.cast("inttoptr", "ptr"), length, how)


def _drop(to: Code, block: Value, size: Value) -> None:
    """Free a block that has been counted."""
    to.symbol(KEPT).update("sub", size)
    to.call("free", block)


def _swapped(slot: Value, block: Value) -> Value:
    """Whether a block has been put into a slot, because that was empty."""
    to, pair = slot.to, "{ ptr, i1 }"
    found = to.emit(f"cmpxchg {slot}, ptr null, {block} acq_rel acquire")
    return Value(to, "i1", to.emit(f"extractvalue {pair} {found}, 1"))


def _taken(to: Code, size: I64) -> Ptr:
    """Return a kept block of that size, or not much more; if there is none, no address."""
    limit, none = size + (size >> 3), to.value(None, "ptr")
    with to.each(SLOTS) as k:
        slot = to.symbol("slots").at(k)
        with to.when(~slot.load("ptr", "monotonic").is_null):
            block = slot.update("xchg", none)
            with to.when(~block.is_null):
                has = block.load("i64")
                with to.when((has >= size) & (has <= limit)):
                    to.symbol(KEPT).update("sub", has)
                    to.give(block)
                with to.when(~_swapped(slot, block)):
                    _drop(to, block, has)
    return none


def _give_back(to: Code) -> None:
    """Free all that is kept."""
    with to.each(SLOTS) as k:
        block = to.symbol("slots").at(k).update("xchg", to.value(None, "ptr"))
        with to.when(~block.is_null):
            _drop(to, block, block.load("i64"))


def _block(to: Code, size: I64) -> Ptr:
    """Return a block with its head; no address if there is no memory."""
    with to.when(size >= LEAST):
        old = to.call(_taken, size)
        with to.when(~old.is_null):
            to.give(old)
    whole = size + HEAD
    with to.when(whole < size):
        to.give()
    new = Variable(to.call("malloc", whole))
    with to.when(new.get().is_null):
        to.call(_give_back)
        new.set(to.call("malloc", whole))
        with to.when(new.get().is_null):
            to.give()
    new.get().store(size)
    with to.when(size >= LARGE):
        to.call(_advise, new.get(), whole, LARGE_PAGES)
    return new.get()


def _new(to: Code, context: Ptr, size: I64) -> Ptr:
    """Be NumPy's malloc."""
    block = to.call(_block, size)
    return to.select(block.is_null, None, block.at(HEAD, "i8"))


def _zeros(to: Code, context: Ptr, count: I64, each: I64) -> Ptr:
    """Be NumPy's calloc."""
    pair = to.of_llvm("{ i64, i1 }", "umul.with.overflow.i64", count, each)
    with to.when(Value(to, "i1", to.emit(f"extractvalue {pair}, 1"))):
        to.give()
    size = Value(to, "i64", to.emit(f"extractvalue {pair}, 0"))
    data = to.call(_new, context, size)
    with to.when(~data.is_null):
        zero = to.value(0, "i8"), size, to.value(False, "i1")
        to.of_llvm("void", "memset.p0.i64", data, *zero)
    return data


def _resized(to: Code, context: Ptr, data: Ptr, size: I64) -> Ptr:
    """Be NumPy's realloc."""
    new = to.call(_new, context, size)
    with to.when(~(new.is_null | data.is_null)):
        has = data.at(-HEAD, "i8").load("i64")
        count = to.of_llvm("i64", "umin.i64", has, size)
        to.of_llvm("void", "memcpy.p0.p0.i64", new, data, count, to.value(False, "i1"))
        to.call(_freed, context, data, has)
    return new


def _freed(to: Code, context: Ptr, data: Ptr, size: I64) -> None:
    """Be NumPy's free."""
    with to.when(data.is_null):
        to.end("ret void")
    block = data.at(-HEAD, "i8")
    has = block.load("i64")
    with to.when((has >= LEAST) & (has <= MOST)):
        now, large = to.symbol(KEPT).update("add", has) + has, has >= LARGE
        with to.when(now <= to.select(large, MOST, to.value(MOST_UNTOLD))):
            with to.when(large):
                to.call(_advise, block, has + HEAD, TAKEN_BACK)
            with to.each(SLOTS) as k, to.when(_swapped(to.symbol("slots").at(k), block)):
                to.end("ret void")
        to.symbol(KEPT).update("sub", has)
    to.call("free", block)


ALLOCATOR: tuple[Traced, ...] = (_advise, _taken, _block, _new, _zeros, _resized, _freed)


def recycling_assembly() -> tuple[str, Table]:
    """Return the allocator and its addresses."""
    table = Table()
    text = definitions(Around(table), ALLOCATOR, [_give_back])
    name = "fungrad" + "\\00" * (127 - len("fungrad"))
    functions = "ptr null, ptr @new, ptr @zeros, ptr @resized, ptr @freed"
    variables = [
        f"@slots = internal global [{SLOTS} x ptr] zeroinitializer, align 64",
        f"@{KEPT} = global i64 0, align 64",
        f"@{HANDLER} = global {{ [127 x i8], i8, ptr, ptr, ptr, ptr, ptr }} "
        f'{{ [127 x i8] c"{name}", i8 1, {functions} }}, align 64',
    ]
    return "\n".join([*variables, text, table.definition()]), table
