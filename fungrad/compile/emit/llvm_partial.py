"""Printing a full reduction as parts for threads, and as a reduction of their results."""

from __future__ import annotations

from collections.abc import Sequence

from fungrad.compile.emit.llvm import kernel_assembly
from fungrad.compile.emit.llvm_prelude import Table
from fungrad.compile.emit.traced import I32, I64, Around, Code, Ptr, Value, definition
from fungrad.compile.emit.writer import KernelText
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.partial import Partial

ALIGNED = 64


def partial_assembly(kernel: Kernel, partial: Partial, name: str) -> tuple[KernelText, int]:
    """Return a kernel in parts as LLVM's assembly, and the bytes needed for their results.

    The function `name` does parts, and ``@finish<name>``, once all are done, what is left.
    """
    parts = kernel_assembly(partial.parts, f"{name}.parts", inline=True)
    last = kernel_assembly(partial.last, f"{name}.last", inline=True)
    texts = [parts, last]
    count = partial.last.space[0]
    offsets, size = [], 0
    for output in partial.parts.outputs:
        offsets.append(size)
        size += -(-count * output.type.dtype.itemsize // ALIGNED) * ALIGNED
    arrays = len(kernel.operand_types)
    behind = []
    if partial.rest is not None:
        rest = kernel_assembly(partial.rest, f"{name}.rest", inline=True)
        texts.append(rest)
        sizes = [output.type.dtype.itemsize for output in partial.rest.outputs]
        behind = [a + (count - 1) * b for a, b in zip(offsets, sizes, strict=True)]

    def places(to: Code, outputs: Value, offsets: Sequence[int]) -> list[Value]:
        room = outputs[len(kernel.outputs) + 1]
        return [room.at(offset, "i8") for offset in offsets]

    def first(to: Code, operands: Ptr, outputs: Ptr, first: I64, last: I64) -> I32:
        given = [operands[k] for k in range(arrays)]
        given += places(to, outputs, offsets)
        return to.call_at(f"@{name}.parts", "i32", *given, first, last)

    def end(to: Code, operands: Ptr, outputs: Ptr, first: I64, last_: I64) -> I32:
        zero = to.value(0)
        if behind:
            given = [operands[k] for k in range(arrays)]
            given += places(to, outputs, behind)
            to.call_at(f"@{name}.rest", "i32", *given, zero, to.value(rest.parts))
        given = [operands[kernel.array_of(k)] for k in partial.numbers]
        given += places(to, outputs, offsets)
        given += [outputs[k] for k in range(len(kernel.outputs))]
        return to.call_at(f"@{name}.last", "i32", *given, zero, to.value(last.parts))

    around, how = Around(Table()), "noinline strictfp"
    functions = [
        definition(body, around, how, full)[0]
        for full, body in ((name, first), (f"finish{name}", end))
    ]
    text = "\n".join([*[t.text for t in texts], *functions]) + "\n"
    declarations = set[str]().union(*[t.declarations for t in texts])
    return KernelText(text, declarations, parts.parts, finishes=True), size
