"""Printing a full reduction as parts for threads, and as a reduction of their results."""

from __future__ import annotations

from collections.abc import Sequence

from fungrad.compile.emit.llvm import kernel_assembly
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
    head = [
        *_loads("operands", range(arrays)),
        *_loads("outputs", range(len(kernel.outputs))),
        f"  %room.place = getelementptr ptr, ptr %outputs, i64 {len(kernel.outputs) + 1}",
        "  %room = load ptr, ptr %room.place",
    ]
    given = [f"ptr %operands.{k}" for k in range(arrays)]
    places = _places(offsets, "partial")
    whole = ", ".join([*given, *[f"ptr %partial.{k}" for k in range(len(offsets))]])
    first = [
        *places,
        f"  %found = call i32 @{name}.parts({whole}, i64 %first, i64 %last)",
        "  ret i32 %found",
    ]
    end = list(places)
    if partial.rest is not None:
        rest = kernel_assembly(partial.rest, f"{name}.rest", inline=True)
        texts.append(rest)
        sizes = [output.type.dtype.itemsize for output in partial.rest.outputs]
        behind = [a + (count - 1) * b for a, b in zip(offsets, sizes, strict=True)]
        end += _places(behind, "behind")
        left = ", ".join([*given, *[f"ptr %behind.{k}" for k in range(len(offsets))]])
        end.append(f"  %rest = call i32 @{name}.rest({left}, i64 0, i64 {rest.parts})")
    numbers = [f"ptr %operands.{kernel.array_of(k)}" for k in partial.numbers]
    results = [f"ptr %outputs.{k}" for k in range(len(kernel.outputs))]
    all_ = ", ".join([*numbers, *[f"ptr %partial.{k}" for k in range(len(offsets))], *results])
    end += [
        f"  %found = call i32 @{name}.last({all_}, i64 0, i64 {last.parts})",
        "  ret i32 %found",
    ]
    parameters = "(ptr %operands, ptr %outputs, i64 %first, i64 %last) noinline strictfp {"
    functions = [
        "\n".join([f"define internal i32 @{full}{parameters}", *head, *body, "}"])
        for full, body in ((name, first), (f"finish{name}", end))
    ]
    text = "\n".join([*[t.text for t in texts], *functions]) + "\n"
    declarations = set[str]().union(*[t.declarations for t in texts])
    return KernelText(text, declarations, parts.parts, finishes=True), size


def _loads(group: str, numbers: Sequence[int]) -> list[str]:
    """Return the lines that load addresses of a group."""
    lines = []
    for k in numbers:
        lines.append(f"  %{group}.{k}.place = getelementptr ptr, ptr %{group}, i64 {k}")
        lines.append(f"  %{group}.{k} = load ptr, ptr %{group}.{k}.place")
    return lines


def _places(offsets: Sequence[int], name: str) -> list[str]:
    return [
        f"  %{name}.{k} = getelementptr i8, ptr %room, i64 {offset}"
        for k, offset in enumerate(offsets)
    ]
