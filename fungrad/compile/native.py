"""From a program to one that calls kernels, of machine code."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from fungrad.compile.emit.forms import has_form
from fungrad.compile.emit.python import PythonSource, python_source
from fungrad.compile.emit.written import can_be_written
from fungrad.compile.kernels.apart import taken_apart
from fungrad.compile.kernels.fuse import fuse
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.machine import DEVICE
from fungrad.compile.kernels.outline import outlined
from fungrad.compile.kernels.spelled import spelled_out
from fungrad.compile.kernels.units import without_units
from fungrad.compile.libraries import Fourier, with_libraries
from fungrad.compile.peak import peak
from fungrad.compile.schedule import schedule
from fungrad.compile.steps import Call, Control, Free, Schedule, within
from fungrad.compile.targets import device, host
from fungrad.core.backend import NUMPY, Target, target_of
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive

LITTLE = 1 << 22
"""Bytes that a program with kernels may take for itself, whatever it is donated."""


def prepared(expr: Expr) -> Expr:
    """Return `expr` in the equations that kernels are made of."""
    return taken_apart(without_units(spelled_out(with_libraries(expr))))


def with_kernels(expr: Expr) -> Expr:
    """Return what has been `prepared` with routines and kernels in place of what they compute."""
    return fuse(outlined(expr, can_be_written, has_form)[0])[0]


def with_kernels_of_devices(expr: Expr) -> Expr:
    """Return `expr` with kernels in place of what they compute on a device."""
    return fuse(without_units(expr), machine=DEVICE)[0]


def schedule_with_kernels(
    expr: Expr, borrowed: Sequence[int] = (), target: Target = NUMPY
) -> tuple[Schedule, list[Fused]]:
    """Return the steps of `expr` with kernels, in loops and branches too, and these."""

    def on_host(expr: Expr) -> Expr:
        return with_kernels(prepared(expr))

    prepare = on_host if target.on_host else with_kernels_of_devices
    steps = schedule(expr, (), borrowed, target, prepare, over=0)
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
    """Return `expr` as Python source that calls compiled kernels, and the libraries that serve it best; None if there are none to be had.

    It leaves inputs at the positions `donated` as they are too: functions of the library `xp` may have to compute all of it again. So
    there is none if it takes more memory than they do, which overwrite them.
    """
    target = target_of(xp)
    if not (host.available() if target.on_host else device.available(xp)):
        return None
    steps, kernels = schedule_with_kernels(expr, borrowed, target)
    to_compile = [fused.kernel for fused in kernels]
    if not (kernels or any(isinstance(x, Fourier) for x in _called(steps))):
        return None
    if target.on_host and not host.can_run(to_compile):
        return None
    if (
        donated
        and (taken := peak(steps)) > LITTLE
        and taken > peak(schedule(expr, donated, borrowed, target))
    ):
        return None
    if target.on_host:
        functions = host.compile_kernels(to_compile)
    else:
        functions = device.compile_kernels(xp, [x for x in to_compile if isinstance(x, Kernel)])
    for fused, function in zip(kernels, functions, strict=True):
        fused.compiled(function)
    alone = all(isinstance(step, (Call, Free)) for step in steps.steps) and all(
        isinstance(x, Fused) for x in _called(steps)
    )
    return python_source(steps)._replace(alone=alone)
