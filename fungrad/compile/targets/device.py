"""Kernels on devices: compiled by NVIDIA's compiler, through CuPy, and called with arrays of CuPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from fungrad.compile.emit.cuda import cuda_text
from fungrad.compile.emit.cuda_form import CudaText
from fungrad.compile.emit.cuda_types import prelude
from fungrad.compile.fallback import Elsewhere, Refused, Rerun, Unfit
from fungrad.compile.kernels.kernel import Kernel

OPTIONS = ("--std=c++17", "--fmad=false")
"""Options of the compiler: products and sums are rounded separately, as on the host."""


def available(xp: ModuleType) -> bool:
    """Whether the library `xp` compiles for NVIDIA's devices: no kernel has been tried on another."""
    return not xp.cuda.runtime.is_hip


def compile_kernels(xp: ModuleType, kernels: Sequence[Kernel]) -> list[Callable[..., Any]]:
    """Return functions that run kernels on arrays of the library `xp`: one result, or a tuple.

    All are compiled together, equal ones once.
    """
    named: dict[str, CudaText] = {}
    texts = []
    for kernel in kernels:
        plain = cuda_text(kernel, "kernel").text
        if plain not in named:
            named[plain] = cuda_text(kernel, f"kernel{len(named)}")
        texts.append(named[plain])
    text = "\n".join([x.text for x in named.values()])
    module = xp.RawModule(code=prelude(text) + text, options=OPTIONS)
    return [_function(xp, module, *pair) for pair in zip(kernels, texts, strict=True)]


def _function(xp: ModuleType, module: Any, kernel: Kernel, text: CudaText) -> Callable[..., Any]:
    """Return the function that checks arguments, allocates results and runs a kernel.

    Where an argument is not as it should be, or the device runs no such kernel, it raises a `Rerun`: all is computed by CuPy's functions then.
    """
    array, count, current = xp.ndarray, len(kernel.operand_types), xp.cuda.runtime.getDevice
    kept = {*kernel.followed, *kernel.over.values()}
    expected = [(t.shape, t.dtype, k in kept) for k, t in enumerate(kernel.operand_types)]
    made = [
        (k, t.shape, t.dtype) for k, t in enumerate(kernel.output_types) if k not in kernel.over
    ]
    over, outputs = dict(kernel.over), range(len(kernel.outputs))
    launches = [
        (module.get_function(name), (blocks,), (threads,))
        for name, blocks, threads in text.launches
    ]

    def call(*operands: Any) -> Any:
        given, here = [*operands], current()
        for k, (x, (shape, dtype, fixed)) in enumerate(zip(operands, expected, strict=True)):
            if type(x) is not array or x.shape != shape or x.dtype != dtype:
                raise Rerun
            if x.data.device_id != here:
                raise Elsewhere
            if not x.flags.c_contiguous:
                if fixed:  # who reads the results would see it
                    raise Unfit
                given[k] = xp.ascontiguousarray(x)
        for _, shape, dtype in made:
            given.append(array(shape, dtype))
        fresh = given[count:]
        if text.scratch:
            given.append(xp.empty(text.scratch // 8))
        try:
            for function, blocks, threads in launches:
                function(blocks, threads, tuple(given))
        except RuntimeError:  # an error of CUDA's: too many registers, say
            raise Refused from None
        if not over:
            return fresh[0] if len(fresh) == 1 else tuple(fresh)
        new = iter(fresh)
        results = [given[over[k]] if k in over else next(new) for k in outputs]
        return results[0] if len(results) == 1 else tuple(results)

    return call
