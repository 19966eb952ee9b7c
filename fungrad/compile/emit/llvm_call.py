"""Printing the functions that Python calls with NumPy arrays, as LLVM's assembly for the runtime."""

from __future__ import annotations

from fungrad.compile.emit.llvm_arrays import RECYCLING
from fungrad.compile.emit.llvm_prelude import Table, from_runtime
from fungrad.compile.emit.llvm_threads import threads_for
from fungrad.compile.emit.writer import KernelText
from fungrad.compile.kernels.fused import Function

RELEASED_FROM = 1 << 14
"""Operations on elements from which other threads of Python may run meanwhile."""


def call_assembly(
    kernel: Function,
    text: KernelText,
    name: str,
    table: Table,
    workspace: int = 0,
    share: int = 1,
    most: int = 1,
    least: int | None = None,
) -> str:
    """Return the definition of `name`, a METH_FASTCALL function that runs ``@kernel``.

    That is given the bytes of `workspace`. Of `most` threads as many as are worth it take a `share` of its parts each time. Results of `least`
    bytes and more are in memory that is used again.
    """
    threads = threads_for(kernel, text.parts, most)
    released = kernel.work >= RELEASED_FROM
    operands, results = kernel.operand_types, kernel.output_types
    about = [len(operands), len(results), workspace, int(released), text.parts, share, threads]
    for k, type_ in enumerate(operands):
        scalar = table[f"scalar {type_.dtype.name}"]
        pythons = {"float64": "float", "complex128": "complex"}.get(type_.dtype.name)
        python = table[pythons] if pythons else scalar
        any_order, told_apart = k not in kernel.followed, k in kernel.told_apart
        flags = any_order | told_apart << 1
        about += [scalar, python, table[f"dtype {type_.dtype.name}"], flags]
        about += [len(type_.shape), *type_.shape]
    for k, type_ in enumerate(results):
        over = kernel.over.get(k, -1) + 1
        recycled = least is not None and not over and type_.shape and type_.nbytes >= least
        handler = table[RECYCLING] + 1 if recycled else 0
        about += [over, table[f"dtype {type_.dtype.name}"], handler]
        about += [len(type_.shape), *type_.shape]
    function = "@kernel"
    lines = []
    if threads == 1:  # LLVM then knows which parts it is to do
        function = "@all"
        lines = [
            "define internal i32 @all(ptr %operands, ptr %outputs, i64 %first, i64 %last) {",
            f"  %code = call i32 @kernel(ptr %operands, ptr %outputs, i64 0, i64 {text.parts})",
            "  ret i32 %code",
            "}",
        ]
    finish = "@finishkernel" if text.finishes else "null"
    given = f"ptr @table, ptr @about, ptr {function}, ptr {finish}, ptr %arguments"
    numbers = ", ".join([f"i64 {n}" for n in about])
    lines += [
        f"@about = private constant [{len(about)} x i64] [{numbers}], align 8",
        f"define ptr @{name}(ptr %self, ptr %arguments, i64 %count) {{",
        f"  %function = call ptr @address(i64 {table[from_runtime('call')]})",
        f"  %result = call ptr %function({given})",
        "  ret ptr %result",
        "}",
    ]
    return "\n".join(lines) + "\n"
