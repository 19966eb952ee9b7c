"""Gradient of a traced program: computed at once at the first meeting, by a compiled program later.

Design: docs/design/14-first-gradients-and-structures.md.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.compile.bound import run_source
from fungrad.compile.evaluated import unshared
from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.cache import LRUCache
from fungrad.core.collection import no_collection
from fungrad.core.config import check_exprs, settings
from fungrad.core.errors import MissingRuleError, Source
from fungrad.core.expr import Expr
from fungrad.core.observing import observers, tell
from fungrad.core.primitive import Primitive
from fungrad.core.trace import Trace, record_expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, is_added, tangent_type
from fungrad.rewrite.at_once import gradient_at_once
from fungrad.rewrite.reverse import grad_expr, pulled
from fungrad.transforms.call import at_places, recorded, rewritten, run_on_values, values_of
from fungrad.transforms.taped import gradient_on_tape

MEMORY = 1 << 25
"""Most bytes of values for a gradient at once, which keeps all of them; a program keeps only some."""

LONG, PATIENCE = 64, 2
"""Programs longer than `LONG` have gradients computed at once `PATIENCE` times, then are compiled."""


class Gradient:
    """How the gradient is computed of functions that record the same program.

    Many of those record it only once, as Python may take another way in each call. Of them no program is made:
    cotangents are pulled back as soon as the values are computed, which takes a fraction of the time. Compiling a long program
    takes as long as some tens of that, so of one of more than `LONG` equations it is done `PATIENCE` times.

    Parameters
    ----------
    skip
        How many of the outputs, the first, are not wanted.

    Attributes
    ----------
    program
        What gives the other outputs, and then the gradient of the first; None if it has not been made yet.
    """

    def __init__(self, skip: int) -> None:
        self.skip = skip
        self.met = 0
        self.program: Program | None = None

    def first(self, trace: Trace, outputs: Sequence[int]) -> list[Any]:
        """Return the program's results for the values in `trace`, while there is no program."""
        if trace.facts.holds_rules:
            return gradient_on_tape(trace, outputs, self.skip)
        if not self.met or (self.met < PATIENCE and len(trace.equations) > LONG):
            start = time.perf_counter()
            computed = self._at_once(trace, outputs)
            if computed is not None:
                if observers:
                    tell("call", f"{trace.label} at once", start)
                self.met += 1
                return computed
        self.program = program = rewritten(trace, outputs, self._program)
        return run_on_values(trace, program)

    def _program(self, expr: Expr, done: int) -> Program:
        """Return the program of the gradient, then the results of equations that can fail and are unused."""
        wrt = range(expr.captured, len(expr.inputs))
        failing = [e.outputs for e in expr.equations[done:] if e.primitive.can_fail]
        more = [v for outputs in failing for v in outputs]
        program = grad_expr(expr, wrt, done, self.skip, more)
        if failing:
            program = _with_unused(program, [*map(len, failing)])
        return Program(program, at_once=self.met > 0)

    def _at_once(self, trace: Trace, outputs: Sequence[int]) -> list[Any] | None:
        """Return the results without a program; None if it takes one."""
        arguments = values_of(trace)
        if not _is_plain(trace, arguments):
            return None
        with at_places(trace.sources), no_collection():
            expr, done = recorded(trace, outputs, but_whole=True)
            if any(
                e.primitive.joint_jvp or e.primitive.effect or e.primitive.is_collective
                for e in expr.equations
            ):
                return None
            wrt = range(expr.captured, len(expr.inputs))
            try:
                with np.errstate(**_raising()):
                    results = gradient_at_once(expr, wrt, arguments, done, self.skip, _pulled)
            except MissingRuleError:  # which names a line where there is a trace
                return None
            except FloatingPointError:  # maybe of a value that a program does not compute
                return None
        return unshared(results, arguments)


def _with_unused(program: Expr, counts: Sequence[int]) -> Expr:
    """Keep, of the trailing outputs in groups of `counts`, one per equation that nothing else runs."""
    rest = program.outputs[len(program.outputs) - sum(counts) :]
    smaller = dataclasses.replace(program, outputs=program.outputs[: -len(rest)])
    run = {v for e in without_dead_code(smaller).equations for v in e.outputs}
    of_each = iter(rest)
    groups = [[*itertools.islice(of_each, n)] for n in counts]
    unused = [group[0] for group in groups if run.isdisjoint(group)]
    return dataclasses.replace(smaller, outputs=(*smaller.outputs, *unused))


def _raising() -> dict[Any, Any]:
    """Return NumPy's modes with an error for all that is not ignored."""
    return {kind: "raise" for kind, mode in np.geterr().items() if mode != "ignore"}


def _is_plain(trace: Trace, arguments: Sequence[Any]) -> bool:
    """Whether rules can run on the values in `trace` as they are, and all of these may be kept."""
    if check_exprs.get() or settings.get().watched:  # what is checked is a program
        return False
    if trace.outer is not None or not trace.given.target.on_host or Tracer in map(type, arguments):
        return False
    types = Counter(trace.types)
    if any(is_added(t.dtype) for t in types):  # NumPy does not promote them as rules expect
        return False
    return sum([t.nbytes * n for t, n in types.items()]) <= MEMORY


OFTEN = 32
"""Number of pullbacks by rules before a program is made of them, which costs as much time."""


class Pull:
    """How cotangents are pulled back through the equations of one primitive that are alike in all types."""

    __slots__ = ("function", "met", "reached")

    function: Callable[..., list[Any]]

    def __init__(self) -> None:
        self.met = 0
        self.reached: list[bool] = []  # once there is the function, which is made when it is

    def make(
        self,
        primitive: Primitive,
        types: Sequence[ArrayType],
        flags: Sequence[bool],
        absent: Sequence[bool],
    ) -> None:
        """Compile the rules: for operands, results and the cotangents of those that have one."""
        count, reached = len(flags), list[bool]()

        def pull(*values: Any) -> list[Any]:
            rest = iter(values)
            operands = list(itertools.islice(rest, count))
            results = list(itertools.islice(rest, len(absent)))
            cts = [None if zero else next(rest) for zero in absent]
            operand_cts = pulled(primitive, None, cts, flags, results, operands)
            reached.extend([ct is not None for ct in operand_cts])
            return [ct for ct in operand_cts if ct is not None]

        of_cts = [
            tangent_type(t) for t, zero in zip(types[count:], absent, strict=True) if not zero
        ]
        expr = record_expr("grad", pull, [*types, *of_cts])
        program = Program(expr, borrowed=range(len(expr.outputs)))
        self.function = run_source(program.source, np, calls=False)
        self.reached = reached


_pulls: LRUCache[Pull] = LRUCache(maxsize=4096)
_ONE = (False,)
"""Which cotangents are absent where there is one result."""


def _pulled(
    primitive: Primitive,
    source: Source | None,
    given: Sequence[Any],
    flags: tuple[bool, ...],
    results: Sequence[Any],
    operands: Sequence[Any],
    types: tuple[ArrayType, ...],
) -> Sequence[Any]:
    """Return the result of `pulled`, by a program if such equations have been met often."""
    absent = tuple([ct is None for ct in given]) if len(given) > 1 else _ONE
    key = (primitive, types, flags, absent)
    pull = _pulls.get(key)
    if pull is None and type(primitive).remembered and type(primitive).interned:
        _pulls.put(key, pull := Pull())
    if pull is None or pull.met < OFTEN:
        if pull is not None:
            pull.met += 1
        return pulled(primitive, source, given, flags, results, operands)
    if not pull.reached:
        pull.make(primitive, types, flags, absent)
    if absent is not _ONE:
        given = [ct for ct in given if ct is not None]
    operand_cts = pull.function(*operands, *results, *given)
    if len(operand_cts) == len(flags):
        return operand_cts
    each = iter(operand_cts)
    return [next(each) if there else None for there in pull.reached]
