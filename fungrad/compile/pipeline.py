"""The passes over a program, from the one that was traced to the one that is scheduled: one list.

The first passes make a smaller program of any, once. The others prepare it for a way of compiling it, before each schedule, and
the programs of its loops and branches likewise.

Design: docs/design/19-schedules.md.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from fungrad.compile.passes.accumulate import accumulate
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.passes.lowered import lowered
from fungrad.compile.passes.multiplied import multiplied
from fungrad.compile.passes.share import share
from fungrad.compile.schedule import schedule
from fungrad.compile.steps import Schedule
from fungrad.core.backend import NUMPY, Target
from fungrad.core.config import check_exprs
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive

__all__ = ["PASSES", "Pass", "Way", "after_each_pass", "prepared", "scheduled", "simplify"]


class Way(enum.Enum):
    """A way to compile a program."""

    CALLS = "calls of a library's functions"
    MESSAGES = "calls, and messages to other processes meanwhile"
    KERNELS = "kernels and routines of machine code"
    DEVICE = "kernels of a device"
    ROUTINE = "steps within one function of machine code"
    BLOCK = "steps within one block of a device's threads"


class Pass(NamedTuple):
    """A rewriting of programs.

    Attributes
    ----------
    name
        Its name, in ``jit(f).lower(x).passes`` too.
    rewrite
        The function. It returns the program itself where there is nothing to do.
    ways
        The ways of compiling that it prepares programs for; empty if it simplifies all programs.
    """

    name: str
    rewrite: Callable[[Expr], Expr]
    ways: frozenset[Way] = frozenset()


def _written_out(expr: Expr) -> Expr:
    written = lowered(expr)
    return expr if written is expr else simplify(written)


def _overlapped(expr: Expr) -> Expr:
    from fungrad.compile.passes.overlap import overlapped

    return overlapped(expr)


def _with_libraries(expr: Expr) -> Expr:
    from fungrad.compile.libraries import with_libraries

    return with_libraries(expr)


def _uncut(expr: Expr) -> Expr:
    from fungrad.compile.kernels.routine import uncut

    return uncut(expr)


def _uncut_for_devices(expr: Expr) -> Expr:
    from fungrad.compile.kernels.routine import uncut

    return uncut(expr, calls=False)


def _spelled_out(expr: Expr) -> Expr:
    from fungrad.compile.kernels.spelled import spelled_out

    return spelled_out(expr)


def _for_devices(expr: Expr) -> Expr:
    from fungrad.compile.passes.for_devices import unrolled

    return _spelled_for_devices(expr, unrolled)


def _spelled_for_devices(expr: Expr, write_out: Callable[[Expr], Expr] | None = None) -> Expr:
    from fungrad.compile.kernels.spelled import spelled_for_devices
    from fungrad.compile.passes.for_devices import numbers_repeated

    written = spelled_for_devices(expr)
    written = write_out(written) if write_out else written
    return numbers_repeated(expr if written is expr else simplify(written))


def _without_units(expr: Expr) -> Expr:
    from fungrad.compile.kernels.units import without_units

    return without_units(expr)


def _taken_apart(expr: Expr) -> Expr:
    from fungrad.compile.kernels.apart import taken_apart

    return taken_apart(expr)


def _outlined(expr: Expr) -> Expr:
    from fungrad.compile.emit.forms import has_form
    from fungrad.compile.emit.written import can_be_written
    from fungrad.compile.kernels.outline import outlined

    return outlined(expr, can_be_written, has_form, _scheduled_as_routine)[0]


def _outlined_for_devices(expr: Expr, every: bool = True) -> Expr:
    """Return `expr` with loops as one launch, and the views they read; `every`: see `can_be_block`."""
    from fungrad.compile.kernels.outline import outlined

    if not any(e.primitive.holds_programs for e in expr.equations):
        return expr
    from fungrad.compile.emit.cuda_block import can_be_block

    fits = partial(can_be_block, every=every)
    return outlined(expr, fits, _rearranges, _scheduled_as_block)[0]


def _outlined_first(expr: Expr) -> Expr:
    return _outlined_for_devices(expr, every=False)


def _rearranges(primitive: Primitive, *_: object) -> bool:
    return primitive.rearranges


def _scheduled_as_block(expr: Expr) -> Schedule:
    return scheduled(expr, way=Way.BLOCK, over=sys.maxsize)


def _scheduled_as_routine(expr: Expr) -> Schedule:
    from fungrad.compile.kernels.routine import OVER_FROM

    return scheduled(expr, way=Way.ROUTINE, over=OVER_FROM)


def _fused(expr: Expr) -> Expr:
    from fungrad.compile.kernels.fuse import fuse

    return fuse(expr)[0]


def _fused_for_devices(expr: Expr) -> Expr:
    from fungrad.compile.kernels.fuse import fuse
    from fungrad.compile.kernels.machine import DEVICE

    return fuse(expr, machine=DEVICE)[0]


def _fused_whole_for_devices(expr: Expr) -> Expr:
    from fungrad.compile.kernels.fuse import fuse
    from fungrad.compile.kernels.machine import DEVICE

    return fuse(expr, every=True, machine=DEVICE)[0]


def _fused_whole(expr: Expr) -> Expr:
    from fungrad.compile.kernels.fuse import fuse

    return fuse(expr, every=True)[0]


_ALL = frozenset(Way)
_MESSAGES, _KERNELS, _DEVICE, _ROUTINE, _BLOCK = [frozenset([x]) for x in [*Way][1:]]

PASSES = (
    Pass("multiply", multiplied),
    Pass("share", share),
    Pass("dead code", without_dead_code),
    Pass("accumulate", accumulate),
    Pass("dead code", without_dead_code),
    Pass("write out", _written_out, _ALL),
    Pass("overlap", _overlapped, _MESSAGES),
    Pass("libraries", _with_libraries, _KERNELS),
    Pass("spell out", _spelled_out, _KERNELS | _ROUTINE),
    Pass("outline loops", _outlined_first, _DEVICE),
    Pass("write out for devices", _for_devices, _DEVICE),
    Pass("spell out for devices", _spelled_for_devices, _BLOCK),
    Pass("uncut", _uncut, _ROUTINE),
    Pass("uncut for devices", _uncut_for_devices, _BLOCK),
    Pass("units", _without_units, _KERNELS | _DEVICE | _ROUTINE | _BLOCK),
    Pass("take apart", _taken_apart, _KERNELS),
    Pass("outline", _outlined, _KERNELS),
    Pass("outline the rest", _outlined_for_devices, _DEVICE),
    Pass("fuse", _fused, _KERNELS),
    Pass("fuse for devices", _fused_for_devices, _DEVICE),
    Pass("fuse whole", _fused_whole, _ROUTINE),
    Pass("fuse whole for devices", _fused_whole_for_devices, _BLOCK),
)
"""All passes, in their order. Those of kernels import their modules when they first run."""

_SIMPLIFYING = tuple([x for x in PASSES if not x.ways])
_PREPARING = {way: tuple([x for x in PASSES if way in x.ways]) for way in Way}


def simplify(expr: Expr) -> Expr:
    """Return `expr` with constants folded, common subexpressions shared and dead code removed.

    Results are the same, bit for bit but for signs of zeros.
    """
    for _, after in _after_each(_SIMPLIFYING, expr):
        expr = after
    return expr


def prepared(expr: Expr, way: Way) -> Expr:
    """Return a simplified program in the equations that are scheduled, where it is compiled in a way."""
    for _, after in _after_each(_PREPARING[way], expr):
        expr = after
    return expr


def scheduled(
    expr: Expr,
    donated: Sequence[int] = (),
    borrowed: Sequence[int] = (),
    target: Target = NUMPY,
    way: Way = Way.CALLS,
    over: int | None = None,
) -> Schedule:
    """Return the steps of a simplified program, compiled in a way; the others are as of `schedule`."""
    return schedule(expr, donated, borrowed, target, partial(prepared, way=way), over)


def after_each_pass(expr: Expr, way: Way) -> Iterator[tuple[str, Expr]]:
    """Yield the name of each pass and the program after it, from a traced program, for one way to compile."""
    return _after_each(_SIMPLIFYING + _PREPARING[way], expr)


def _after_each(passes: tuple[Pass, ...], expr: Expr) -> Iterator[tuple[str, Expr]]:
    changed = True  # since dead code was left out last
    for each in passes:
        leaves_out = each.rewrite is without_dead_code
        if leaves_out and not changed:
            continue  # there is none
        after = each.rewrite(expr)
        if after is not expr and check_exprs.get():
            after.check()
        changed = not leaves_out and (changed or after is not expr)
        expr = after
        yield each.name, expr
