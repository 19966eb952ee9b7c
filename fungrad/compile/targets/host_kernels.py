"""Kernels compiled for the host: written as LLVM's assembly, and made into functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fungrad.compile.emit import llvm, llvm_call, llvm_prelude
from fungrad.compile.emit.llvm_partial import partial_assembly
from fungrad.compile.emit.llvm_recycling import LEAST
from fungrad.compile.emit.llvm_threads import share_of
from fungrad.compile.emit.writer import KernelText
from fungrad.compile.emit.written import routine_assembly
from fungrad.compile.kernels.fused import Block
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.partial import in_parts
from fungrad.compile.kernels.routine import Routine
from fungrad.compile.processor import has_halves
from fungrad.compile.targets import host, recycling


def can_run(kernels: Sequence[Block]) -> bool:
    """Whether there are a compiler, and instructions of the processor for all that kernels do."""
    if not host.available():
        return False
    return has_halves() or not any(" half" in assembly(kernel)[0] for kernel in kernels)


def assembly(kernel: Block) -> tuple[str, llvm_prelude.Table]:
    """Return the assembly of a kernel and of its Python function, and the addresses used."""
    table, most = llvm_prelude.Table(llvm_prelude.IN_ALL), host.threads()

    def share(parts: int, copies: bool) -> int:
        return share_of(kernel, parts, most, copies)

    text, workspace = _written(kernel, "kernel", share)
    each = share(text.parts, workspace > 0)
    least = LEAST if recycling.recycles() else None
    parts = [
        llvm_prelude.declarations(text.declarations),
        llvm_call.glue(text, table),
        text.text,
        llvm_call.call_assembly(kernel, text, host.CALLED, table, workspace, each, most, least),
    ]
    return "\n".join([*parts, table.definition()]), table


def _written(kernel: Block, name: str, share: Callable[[int, bool], int]) -> tuple[KernelText, int]:
    """Return a kernel or a routine as LLVM's assembly, and how much memory it is to be given."""
    if isinstance(kernel, Kernel):
        if (partial := in_parts(kernel)) is not None:
            return partial_assembly(kernel, partial, name)
        return llvm.kernel_assembly(kernel, name), 0
    if isinstance(kernel, Routine):
        return routine_assembly(kernel.steps, share)
    raise TypeError(f"{kernel!r} is neither a kernel nor a routine")


def compile_kernels(kernels: Sequence[Block]) -> list[Callable[..., Any]]:
    """Return functions that run kernels on arrays: operands in, a result out, or a tuple of several.

    Each is compiled by itself, so that nobody has to wait long for the compiler, and equal ones once.
    """
    functions = []
    host.give_back()
    for kernel in kernels:
        text, table = assembly(kernel)
        functions.append(host.function_of(text, [*table.places]))
    host.give_back()
    return functions
