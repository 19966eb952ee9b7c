"""From a program to something that runs on arrays.

Design: docs/design/20-printing-python.md.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Hashable, Sequence
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from fungrad.compile.background import importing
from fungrad.compile.bound import run_source
from fungrad.compile.emit.python import PythonSource, python_source
from fungrad.compile.evaluated import evaluator, is_quick, watcher
from fungrad.compile.keeping import Keeper, users
from fungrad.compile.lines import first_place
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.pipeline import Way, scheduled, simplify
from fungrad.compile.steps import Schedule
from fungrad.compile.tiers import Function, Native, Tier, rounds
from fungrad.core.backend import Target, namespace, target_of, to_device
from fungrad.core.cached import cached_property
from fungrad.core.collection import no_collection
from fungrad.core.config import check_exprs, compilation, settings
from fungrad.core.evaluate import evaluate
from fungrad.core.expr import Expr
from fungrad.core.float_warnings import (
    at_users_lines,
)
from fungrad.core.nesting import is_of_values
from fungrad.core.observing import Span, run_observed
from fungrad.core.tracer import Tracer, new_tracer

LARGE, MUCH = 1 << 20, 1 << 24
"""Minimum size of arrays, and minimum of bytes written to them, for which computing in blocks pays."""
T = TypeVar("T")
_COMMON = frozenset([np.ndarray, np.float64, np.int64])


class Program(Keeper):
    """An `Expr` that can be called: run on arrays, recorded again on tracers.

    It is compiled, separately for NumPy and CuPy, at its first call on arrays (`at_once`) or at its second. Many
    programs of un-jitted functions with Python control flow run only once, and evaluating those takes less time than
    compiling them.

    Parameters
    ----------
    expr
        The program.
    donated
        Positions of inputs whose memory it may overwrite.
    at_once
        Whether it is compiled at its first call.
    borrowed
        Positions of outputs that the caller only reads at once: they may share memory with anything.
    jitted
        Whether the user has asked for it to be compiled.
    """

    def __init__(
        self,
        expr: Expr,
        donated: Sequence[int] = (),
        at_once: bool = False,
        borrowed: Sequence[int] = (),
        jitted: bool = False,
    ) -> None:
        self.given = expr
        self.donated = tuple(donated)
        self.borrowed = tuple(borrowed)
        self._ran = at_once
        self._jitted = jitted
        self.functions: dict[ModuleType | None, Function] = {}
        """The compiled functions, by the library of their arrays."""
        self._tiers: dict[ModuleType, Tier] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments of the constructor; loading compiles anew."""
        return Program, (self.given, self.donated, self._ran, self.borrowed, self._jitted)

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return the outputs for `arguments`, arrays or tracers, one for each input."""
        xp: ModuleType = np
        if _COMMON.issuperset(map(type, arguments)):
            if (function := self.functions.get(xp)) and not settings.get().observed:
                return function(*arguments)
        else:
            for x in arguments:
                if type(x) is Tracer:
                    with at_users_lines():
                        expr = self.needed if is_of_values(x._owner) else self.expr
                        return apart(evaluate(expr, arguments), arguments)
            xp = namespace(arguments)
            arguments = tuple(to_device(xp, arguments))
        chosen = settings.get()
        if chosen.watched:
            return watcher(self.expr)(*arguments)
        if chosen.profiled:
            return run_observed(self, xp, arguments)
        return self.function(xp)(*arguments)

    def function(self, xp: ModuleType) -> Function:
        """Return the function to run now on arrays of the library `xp`; the first run may be evaluation."""
        function = self.functions.get(xp)
        if function is None:
            if self._ran or self.axis_names or not target_of(xp).takes_scalars:
                return self._compiled_for(xp)
            self._ran = True
            function = evaluator(without_dead_code(self.given))  # which may warn, or fail
        return function

    @cached_property
    def expr(self) -> Expr:
        """The program, simplified."""
        with no_collection():
            return simplify(self.given)

    @cached_property
    def needed(self) -> Expr:
        """The program without dead code: recorded for a function that may record another one next time."""
        with no_collection():
            return without_dead_code(self.given)

    @cached_property
    def effect(self) -> bool:
        """Whether one of its equations has an effect."""
        return any(e.primitive.effect for e in self.given.equations)

    @cached_property
    def is_collective(self) -> bool:
        """Whether one of its equations is a collective."""
        return any(e.primitive.is_collective for e in self.given.equations)

    @cached_property
    def can_fail(self) -> bool:
        """Whether one of its equations raises errors that depend on values."""
        return any(e.primitive.can_fail for e in self.given.equations)

    @cached_property
    def axis_names(self) -> frozenset[Hashable]:
        """The named axes across which it works: within `vmap` it is always recorded, never run."""
        return frozenset().union(*[e.primitive.axis_names for e in self.given.equations])

    @cached_property
    def is_users(self) -> bool:
        """Whether it holds arrays, or functions of the user's."""
        if any(isinstance(x, np.ndarray) or np.ndim(x) for x in self.given.constants.values()):
            return True
        keepers, keepable = users(e.primitive for e in self.given.equations)
        return bool(keepers) or not keepable

    @property
    def schedule(self) -> Schedule:
        """The schedule for NumPy's arrays. It is not kept: compiled functions do not need it."""
        return self.scheduled(np)

    def scheduled(self, xp: ModuleType) -> Schedule:
        """Return the schedule for arrays of the library `xp`."""
        way = Way.MESSAGES if self.is_collective else Way.CALLS
        steps = scheduled(self.expr, self.donated, self.borrowed, target_of(xp), way)
        return steps.check() if check_exprs.get() else steps

    @cached_property
    def source(self) -> PythonSource:
        """The program as Python source."""
        with no_collection():
            return python_source(self.schedule)

    def compiled(self, xp: ModuleType = np) -> Function:
        """Return the function of arrays, for the array library `xp`."""
        return watcher(self.expr) if settings.get().watched else self._compiled_for(xp)

    def _compiled_for(self, xp: ModuleType) -> Function:
        # Without a lock: threads that come at once may each compile, and go on with what was done first.
        function = self.functions.get(xp)
        if function is None:
            with Span("compile", self.label):
                function = self.functions.setdefault(xp, self._compile(xp))
        return function

    def _compile(self, xp: ModuleType) -> Function:
        target = target_of(xp)
        made = (make(self, xp) for applies, make in WAYS if applies(self, target))
        return next(function for function in made if function is not None)

    def tier(self, xp: ModuleType) -> Tier:
        """Return a new tier, which decides when kernels pay for arrays of the library `xp`."""
        make = weakly(self, lambda x: x.with_kernels(xp), None)
        recall = weakly(self, lambda x: x.recalled(xp), None) if target_of(xp).on_host else None
        self._tiers[xp] = tier = Tier(make, weakly(self, spared, 0.0), self._jitted, recall)
        return tier

    def by_library(
        self, xp: ModuleType, tier: Tier, expr: Expr | None = None, calls: bool = True
    ) -> Function:
        """Return the function that calls those of the library `xp`, for this program or an equal one."""
        with no_collection():
            steps = scheduled(expr or self.expr, self.donated, self.borrowed, target_of(xp))
            source = python_source(steps)
        tier.lines, tier.loops = source.text.count("\n"), source.loops
        # Arguments that have been overwritten cannot begin anew.
        return self.bound(source, xp, rounds if self.donated else tier.rounds, calls)

    def compile_kernels(self) -> None:
        """Compile the kernels of the functions that run, if there are any, and wait for them."""
        self.compiled()
        if compilation.get() != "off":
            for tier in [*self._tiers.values()]:
                tier.compile(wait=True)

    def with_kernels(self, xp: ModuleType) -> Native | None:
        """Return the function that calls kernels on arrays of the library `xp`; None if there are none."""
        with importing:  # what few programs come to need
            from fungrad.compile.native import source_with_kernels
            from fungrad.compile.recalled import keep

        # The collector stays on: this goes on while other threads run what is the user's.
        with Span("kernels", self.label):
            code = source_with_kernels(self.expr, self.borrowed, self.donated, xp)
            if target_of(xp).on_host:
                keep(code, self.expr, self.borrowed, self.donated)
            return self._native(code, xp)

    def recalled(self, xp: ModuleType) -> Native | None:
        """Return the function that calls kernels, from disk; None if there are none; or raise `NotKept`."""
        with importing:  # what few programs come to need
            from fungrad.compile.recalled import recalled

        return self._native(recalled(self.expr, self.borrowed, self.donated), xp)

    def _native(self, code: PythonSource | None, xp: ModuleType) -> Native | None:
        return code and Native(self.bound(code, xp, rounds, False), code.loops, code.kernels_only)

    def bound(self, source: PythonSource, xp: ModuleType, *options: Any) -> Function:
        """Return the function that source of this program defines; `options` are those of `run_source`."""
        return run_source(source, xp, *options)

    @cached_property
    def label(self) -> str:
        """Its name for profiles and logs."""
        place = first_place((e.primitive, source) for e, source in self.given.located())
        name = "," if place is None else f" of {place[0].co_name},"
        return f"program{name} {len(self.given.equations):,} equations"

    @property
    def is_compiled(self) -> bool:
        """Whether it has been compiled for NumPy's arrays."""
        return np in self.functions

    @property
    def decisions(self) -> list[str]:
        """The decision about kernels, for each array library that it has run with."""
        return [tier.decision for tier in [*self._tiers.values()]]

    @property
    def has_kernels(self) -> bool:
        """Whether it calls kernels by now."""
        return any(tier.native is not None for tier in [*self._tiers.values()])


def weakly(program: Program, function: Callable[[Program], T], otherwise: T) -> Callable[[], T]:
    """Return a call of `function` on the program through a weak reference; `otherwise` once that is gone."""
    held = weakref.ref(program)

    def call() -> T:
        alive = held()
        return otherwise if alive is None else function(alive)

    return call


def later(make: Callable[[], Function], tier: Tier) -> Function:
    """Return a function of a tier, made when it is called first, which is no time in calls."""
    made: list[Function] = []

    def run(*arguments: Any) -> list[Any]:
        if not made:
            start = time.perf_counter()
            made.append(make())  # by two threads at once, it does no harm
            tier.seconds -= time.perf_counter() - start
        return made[0](*arguments)

    return run


def spared(program: Program) -> float:
    """Return the share of the time of NumPy's functions that kernels spare."""
    with importing:  # what few programs come to need
        from fungrad.compile.worth import share
    return share(program.expr)


def blocks_of(expr: Expr) -> Expr | None:
    """Return the program with its large arrays computed in blocks of rows; None if there are none."""
    if all(t.nbytes < LARGE for t in expr.types):
        return None
    with importing:  # what few programs come to need
        from fungrad.compile.loops.blocks import in_blocks

    return in_blocks(expr, LARGE, MUCH)


def _by_rules(program: Program, _: ModuleType) -> Function:
    return lambda *arguments: evaluate(program.expr, arguments)


def _without_tier(program: Program, xp: ModuleType) -> Function:
    with no_collection():
        on_host = target_of(xp).on_host
        source = program.source if on_host else python_source(program.scheduled(xp))
    return program.bound(source, xp)


def _in_segments(program: Program, xp: ModuleType) -> Function:
    with importing:  # few programs need it
        from fungrad.compile.segments import in_segments
    return in_segments(program.expr, xp, Program, run_source)


def _evaluated_first(program: Program, xp: ModuleType) -> Function:
    tier = program.tier(xp)
    tier.lines, tier.loops = len(program.given.equations), False
    library = later(lambda: program.by_library(xp, tier), tier)
    return tier.function(library, evaluate=evaluator(without_dead_code(program.given)))


def _in_blocks(program: Program, xp: ModuleType) -> Function | None:
    blocks = blocks_of(program.expr)
    if blocks is None:
        return None
    tier = program.tier(xp)
    library = later(lambda: program.by_library(xp, tier), tier)
    return tier.function(library, program.by_library(xp, tier, blocks, calls=False))


def _by_library(program: Program, xp: ModuleType) -> Function:
    tier = program.tier(xp)
    return tier.function(program.by_library(xp, tier))


def _has_no_kernels(program: Program, target: Target) -> bool:
    """Whether it stays a plain function: for effects, exchanges on a device, or the setting."""
    exchanges = program.is_collective and not target.on_host
    return exchanges or program.effect or compilation.get() == "off"


def _is_free(program: Program, target: Target) -> bool:
    """Whether it may run again from the start, and before it is compiled."""
    return target.on_host and not program.donated


_Maker = Callable[[Program, ModuleType], Function | None]
WAYS: tuple[tuple[Callable[[Program, Target], Any], _Maker], ...] = (
    (lambda p, _: p.axis_names, _by_rules),
    (_has_no_kernels, _without_tier),
    (lambda p, _: p.is_collective, _in_segments),
    (lambda p, target: _is_free(p, target) and is_quick(p.given), _evaluated_first),
    (_is_free, _in_blocks),
    (lambda *_: True, _by_library),
)
"""Ways to compile a program: the condition, and the maker, which may return None; the first is taken."""


def apart(results: list[Any], arguments: Sequence[Any]) -> list[Any]:
    """Return results with tracers that are arguments or repeated replaced by new ones.

    So an assignment to one leaves the others as they are.
    """
    seen = {id(x) for x in arguments}
    for i, x in enumerate(results):
        if type(x) is Tracer:
            if id(x) in seen:
                results[i] = new_tracer(x._owner, x._variable, x._type)
            seen.add(id(x))
    return results
