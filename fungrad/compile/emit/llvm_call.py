"""Functions that Python calls with NumPy arrays, and functions that kernels call."""

from __future__ import annotations

import functools

from fungrad.compile.emit.function import outside
from fungrad.compile.emit.llvm_arrays import RECYCLING
from fungrad.compile.emit.llvm_prelude import IN_ALL, INTERRUPTED, SIGNATURES, Table
from fungrad.compile.emit.llvm_threads import threads_for
from fungrad.compile.emit.reductions import sums_assembly
from fungrad.compile.emit.traced import I32, I64, Around, Code, Ptr, Value, definition
from fungrad.compile.emit.writer import KernelText
from fungrad.compile.kernels.fused import Block

RELEASED_FROM = 1 << 14
"""Operations on elements from which other threads of Python may run meanwhile."""


def call_assembly(
    kernel: Block,
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

    numbers = ", ".join([f"i64 {n}" for n in about])
    constant = f"@about = private constant [{len(about)} x i64] [{numbers}], align 8\n"
    return constant + _called(name, text.finishes)


@functools.cache
def _called(name: str, finishes: bool) -> str:
    """Return the function of Python's calls, the same for all kernels."""

    def called(to: Code, self: Ptr, arguments: Ptr, count: I64) -> Ptr:
        finish = Value(to, "ptr", "@finishkernel" if finishes else "null")
        given = [to.symbol(x) for x in ("table", "about", "kernel")]
        return to.call("runtime call", *given, finish, arguments)

    return definition(called, Around(Table(IN_ALL)), "", name)[0]


def glue(text: KernelText, table: Table) -> str:
    """Return the functions that a kernel calls: `INTERRUPTED`, LAPACK's, products, sums in pairs."""
    functions = [_interrupted()] if f"{INTERRUPTED}(" in text.text else []
    for name in sorted(text.calls):
        called = lambda to, *given, name=name: to.call(name, *given)
        types = SIGNATURES[name].split()
        functions.append(definition(called, Around(table), name=outside(name), types=types)[0])
    functions += [sums_assembly(x) for x in ("float", "double") if f"@push_{x}(" in text.text]
    return "".join(functions)


@functools.cache
def _interrupted() -> str:
    def interrupted(to: Code, context: Ptr) -> I32:
        return to.call("runtime interrupted", context)

    return definition(interrupted, Around(Table(IN_ALL)))[0]
