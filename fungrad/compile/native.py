"""From a program to one that calls kernels, of machine code."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType

import numpy as np

from fungrad.compile.emit.python import PythonSource, python_source
from fungrad.compile.kernels import apart, fuse, outline, spelled, units  # noqa: F401 - of passes: where forks wait for it
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.libraries import Fourier
from fungrad.compile.peak import peak
from fungrad.compile.pipeline import Way, scheduled
from fungrad.compile.steps import Call, Control, Free, Schedule, within
from fungrad.compile.targets import host, host_kernels
from fungrad.core.backend import NUMPY, Target, target_of
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive

LITTLE = 1 << 22
"""Bytes that a program with kernels may take for itself, whatever it is donated."""


def schedule_with_kernels(
    expr: Expr, borrowed: Sequence[int] = (), target: Target = NUMPY
) -> tuple[Schedule, list[Fused]]:
    """Return the steps of `expr` with kernels, in loops and branches too, and these."""
    way = Way.KERNELS if target.on_host else Way.DEVICE
    steps = scheduled(expr, (), borrowed, target, way, over=0)
    return steps, [x for x in _called(steps) if isinstance(x, Fused)]


def _called(steps: Schedule) -> list[Primitive]:
    """Return the primitives that a schedule calls, in order, in loops and branches too."""
    called: dict[Primitive, None] = {}
    pending, seen = [steps], {id(steps)}
    while pending:
        current = pending.pop(0)
        for step in current.steps:
            if isinstance(step, Call):
                called[step.primitive] = None
            elif isinstance(step, Control):
                for _, part, *_ in within(step, current.types):
                    if id(part) not in seen:
                        seen.add(id(part))
                        pending.append(part)
    return [*called]


def source_with_kernels(
    expr: Expr, borrowed: Sequence[int] = (), donated: Sequence[int] = (), xp: ModuleType = np
) -> PythonSource | None:
    """Return `expr` as Python source that calls kernels and array libraries; None without kernels.

    The source never overwrites inputs, not even at the positions `donated`: functions of the library `xp` may have to compute all again from them.
    Those functions overwrite donated inputs; if the source would take more memory, the result is None.
    """
    target = target_of(xp)
    if not (host.available() if target.on_host else _device().available(xp)):
        return None
    steps, kernels = schedule_with_kernels(expr, borrowed, target)
    to_compile = [fused.kernel for fused in kernels]
    if not (kernels or any(isinstance(x, Fourier) for x in _called(steps))):
        return None
    if target.on_host and not host_kernels.can_run(to_compile):
        return None
    if (
        donated
        and (taken := peak(steps)) > LITTLE
        and taken > peak(scheduled(expr, donated, borrowed, target))
    ):
        return None
    kernels_only = all(isinstance(step, (Call, Free)) for step in steps.steps) and all(
        isinstance(x, Fused) for x in _called(steps)
    )
    if not target.on_host:
        return _on_device(xp, steps, kernels)._replace(kernels_only=kernels_only)
    for fused, function in zip(kernels, host_kernels.compile_kernels(to_compile), strict=True):
        fused.compiled(function)
    return python_source(steps)._replace(kernels_only=kernels_only)


def _device() -> ModuleType:
    """Return the module of devices, which programs on the host do not import."""
    return importlib.import_module("fungrad.compile.targets.device")


def _on_device(xp: ModuleType, steps: Schedule, kernels: Sequence[Fused]) -> PythonSource:
    """Return the source that launches kernels at the places of a plan, and for other arguments without."""
    from fungrad.compile.launches import placed, plan_for, recording_of

    launched = _device().compile_kernels(xp, [x.kernel for x in kernels])
    for fused, kernel in zip(kernels, launched, strict=True):
        fused.compiled(kernel.allocating())
    checking = python_source(steps)
    plan = plan_for(steps, [x.text for x in launched], kernels)
    given = xp, steps, kernels, launched, plan
    source = python_source(placed(*given))
    return source._replace(checking=checking, recording=recording_of(*given))
