"""Recording of a function's operations on its arguments.

A `Trace` is one run of a function. Its tracers stand for arrays; `bind` records each primitive
applied to them as an equation. Traces nest: the trace opened last has the highest level. An operation on tracers of
several traces belongs to the highest of them. There, tracers of the others are captured like any array the function
closes over. That is all that keeps nested transforms apart.

Recording is lazy. Under `grad` and its kin the arguments have values, but nothing is computed
until Python asks for a value; then all pending equations are run once and their values kept.

Design: docs/design/04-one-tracer-and-levels.md.
"""

from __future__ import annotations

import itertools
import sys
import time
from _thread import get_ident
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from fungrad.core.backend import namespace, target_of
from fungrad.core.capturing import Capturing
from fungrad.core.config import check_exprs
from fungrad.core.errors import Again, Source, resolve_source
from fungrad.core.expr import Expr
from fungrad.core.float_warnings import at_users_lines
from fungrad.core.frames import is_caught_below, own_files, users_files, users_frame
from fungrad.core.layout import Layout, layout_of
from fungrad.core.mode import NOTHING, RULES, TYPES, Facts, Given, Mode
from fungrad.core.mode import PROGRAM as PROGRAM
from fungrad.core.moving import Moving
from fungrad.core.nesting import evaluating, leaked, lifted, new_level, passed_over
from fungrad.core.observing import observers, tell
from fungrad.core.pending import earlier_failure, run_pending, settle, try_last
from fungrad.core.primitive import Primitive, bind
from fungrad.core.recorder import CLOSED, Recorder
from fungrad.core.recording import Lookups
from fungrad.core.snapshot import snapshot
from fungrad.core.tracer import ARGUMENT, Tracer, current_trace, innermost_trace, new_tracer
from fungrad.core.turns import Turn
from fungrad.core.types import ArrayType


class Trace(Capturing):
    """One run of a function on tracers.

    Parameters
    ----------
    label
        What is running, for error messages: ``jit(loss)``.
    mode
        What it is for.

    Attributes
    ----------
    level
        Its number; inner traces have higher ones.
    outer
        The innermost trace when this one was opened.
    into
        Redirect target: an open branch trace, `CLOSED`, or None to record here.
    source
        The place in place of the user's line, while rules run.
    """

    __slots__ = (
        "into",
        "level",
        "outer",
        "source",
    )

    def __init__(self, label: str, mode: Mode = TYPES) -> None:
        self.label = label
        self.mode = mode
        self.types = []
        self.equations = []
        self.sources = []
        self.inputs = []
        self.captures = {}
        self.constants = {} if mode.bake else NOTHING
        self.values = {} if mode.with_values else None
        self.known = []
        self.turn = Turn()
        self.facts = Facts()
        self.given = Given()
        self.lookups = Lookups()
        self.level = new_level()
        self.outer: Recorder | None = None
        self.into: Recorder | None = None
        self.source: Source | None = None

    def __enter__(self) -> Trace:
        mode = self.mode
        outer = current_trace.get()
        if outer is not None:
            self.outer = outer = innermost_trace()
        if mode.ambient:
            current_trace.set(self)
        if mode.runs_all:
            self.facts.opener = id(sys._getframe(1))
        if observers:
            self.facts.started = time.perf_counter()
        if outer is not None and not mode.rewriting:
            self._look_outwards(outer)
        return self

    def _look_outwards(self, outer: Recorder | None) -> None:
        """Take up facts of the enclosing traces, and record in their place if this is a branch."""
        if outer is not None and outer.mode.staged:
            self.mode = self.mode._replace(staged=True)
        self.facts.sizes = sizes = {}
        while outer is not None:
            sizes[outer.level] = len(outer.types)
            if self.mode.branch and outer.into is None:
                outer.into = self
            outer = outer.outer

    def __exit__(self, _: object, error: BaseException | None, traceback: object) -> None:
        if started := self.facts.started:
            kind = "rewrite" if self.mode.rewriting else "trace"
            tell(kind, self.label, started, equations=len(self.equations))
        facts = self.facts
        earlier = earlier_failure(self, error) if facts.late or facts.failed else None
        self.close()
        current_trace.set(self.outer)
        if earlier is not None:
            raise earlier

    def close(self) -> None:
        """Record no more. It may be called any number of times."""
        self.into = CLOSED
        outer = self.outer
        if outer is not None:
            outer.facts.join(self.facts)
        while self.mode.branch and outer is not None:
            if outer.into is self:
                outer.into = None
            outer = outer.outer

    def recorder(self) -> Recorder:
        """Return the trace that records the current computation: this one, or an open branch."""
        into = self.into
        if into is None or into is CLOSED or passed_over(into):
            return self
        return into.recorder()

    def new_input(self, type_: ArrayType, value: Any = None, layout: Layout = "C") -> Tracer:
        """Return the tracer of a new input with its known `value`, and its `layout` in memory."""
        v = len(self.types)
        if len(type_.shape) > 1:
            layout = layout if value is None else layout_of(value)
            if layout != "C":
                self.given.layouts = {**self.given.layouts, v: layout}
        self.types.append(type_)
        self.inputs.append(v)
        if self.values is not None:
            given = self.given
            if type(value) is not Tracer:
                value = snapshot(value)
                if type(value) is not np.ndarray and given.target.on_host:
                    given.xp = namespace((value,))
                    given.target = target_of(given.xp)
                if self.mode.staged:  # within a branch, what is computed of constants may never run
                    value = lifted(value)
            elif value._owner.into is CLOSED:
                value = value._owner.kept(value)
            else:  # of an enclosing trace, where it may be assigned to before its value here is read
                value = new_tracer(value._owner, value._variable, value._type)
            given.on_host = type(value) is not Tracer and given.target.on_host
            self.values[v] = value
        result = Tracer()  # as `new_tracer` does
        result._owner = self
        result._variable = v
        result._type = type_
        result._memory = ARGUMENT
        return result

    def record(
        self, primitive: Primitive, operands: Sequence[Any], source: Source | None = None
    ) -> Any:
        """Append the equation that applies `primitive`, capturing operands; return its results' tracers."""
        if self.into is not None:
            if self.into is CLOSED:
                self.raise_leaked(operands)
            if (recorder := self.recorder()) is not self:
                return recorder.record(primitive, operands, source)
        variables, types = [], []
        for x in operands:
            if type(x) is Tracer and x._owner is self:
                variables.append(x._variable)
                types.append(x._type)
            else:
                v = self.capture(x)
                variables.append(v)
                types.append(self.types[v])
        inputs, out_types = tuple(variables), primitive.infer(tuple(types))
        if primitive.multiple_results:
            result: Any = self._extend_by_several(primitive, inputs, out_types, source)
        else:
            result = self.extend(primitive, inputs, out_types, source)
        if self.values is not None and (primitive.can_fail or primitive.effect):
            frame = self.facts.opener
            if primitive.effect or not frame or is_caught_below(frame):
                try_last(self)
            else:
                self.facts.late |= {len(self.types) - 1}
        return result

    def extend(
        self,
        primitive: Primitive,
        inputs: tuple[int, ...],
        out_types: tuple[ArrayType, ...],
        source: Source | None = None,
    ) -> Tracer:
        """Append the equation of `primitive` on variables of this trace; return the tracer of its result.

        The caller knows the type of the result, that `into` is None, and that the primitive neither fails nor has an
        effect. Nearly every operation on tracers ends here, hence the plain style.
        """
        if source is None and (source := self.source) is None:
            frame: FrameType = sys._getframe(1)
            try:
                files = own_files
                while frame.f_code.co_filename in files:
                    frame = frame.f_back  # type: ignore[assignment]
                if frame.f_code.co_filename not in users_files:
                    frame = users_frame(frame)  # type: ignore[assignment]
                source = frame.f_code, frame.f_lasti
            except AttributeError:  # of None: there is no frame of the user's
                pass
        elif not self.mode.rewriting and type(source) is not tuple:
            source = resolve_source(source)
        types, equations, turn = self.types, self.equations, self.turn
        me = get_ident()
        try:
            if turn.setdefault(0, me) != me:
                turn.wait()
            variable = len(types)
            if len(self.sources) > len(equations):  # an interrupt has left one too many
                del self.sources[len(equations) :]
            self.sources.append(source)
            types += out_types
            equations.append((primitive, inputs, (variable,)))
            turn.pop(0, None)
        except BaseException:
            turn.give_back()
            raise
        result = Tracer()  # as `new_tracer` does
        result._owner = self
        result._variable = variable
        result._type = out_types[0]
        result._memory = None
        return result

    def _extend_by_several(
        self,
        primitive: Primitive,
        inputs: tuple[int, ...],
        out_types: tuple[ArrayType, ...],
        source: Source | None,
    ) -> tuple[Tracer, ...]:
        """Append an equation that may have several results, or none."""
        if source is None and (source := self.source) is None:
            frame = users_frame(sys._getframe())
            source = frame and (frame.f_code, frame.f_lasti)
        elif not self.mode.rewriting:
            source = resolve_source(source)
        with self.turn:
            first = len(self.types)
            self.sources[len(self.equations) :] = (source,)
            self.types += out_types
            outputs = tuple(range(first, len(self.types)))
            self.equations.append((primitive, inputs, outputs))
        return tuple(map(new_tracer, itertools.repeat(self), outputs, out_types))

    def uniform(self, value: Any, type_: ArrayType, strides: tuple[int, ...]) -> Tracer:
        """Return a new input of `type_` whose elements all are `value`, a 0-d array.

        The array takes no memory: its strides are zero.
        """
        array = np.ndarray(type_.shape, type_.dtype, value, 0, strides)
        return new_tracer(self, self.add_input(type_, array), type_)

    def has_tangent(self, variable: int, by_this: bool = False) -> bool:
        """Whether an open transform, or with `by_this` this one, may differentiate a variable."""
        with self.turn:
            if self.lookups.moving is None:
                self.lookups.moving = Moving()
            return self.lookups.moving.has(self, variable, by_this)  # type: ignore[no-any-return]

    def lift(self, value: Any) -> Tracer:
        """Return `value` as a tracer of this trace, or of the branch that records instead."""
        if type(value) is Tracer and value._owner is self:
            return value
        if self.into is not None and (recorder := self.recorder()) is not self:
            return recorder.lift(value)  # type: ignore[no-any-return]
        v = self.capture(value)
        return new_tracer(self, v, self.types[v])

    def expr_of(self, results: Iterable[Any]) -> Expr:
        """Return the recorded program of `results`, which are tracers of this trace or captured."""
        return self.expr([self.lift(x)._variable for x in results])

    def evaluate(self) -> None:
        """Run the equations that are pending; values must be known."""
        if len(self.known) < len(self.equations):
            with evaluating(self), at_users_lines():
                run_pending(self)

    def settle(self, called_with: int) -> None:
        """Take the first operands of the equation recorded last for its results: nothing is computed."""
        settle(self, called_with)

    def raise_leaked(self, operands: Sequence[Any]) -> NoReturn:
        """Raise for the use of tracers of this trace after it was closed; constants among them become arrays."""
        mine = [x for x in operands if type(x) is Tracer and x._owner is self]
        if sum([self.keeps(x) for x in mine]):  # all of them, not only the first
            raise Again("constants have become arrays")
        raise leaked(self, operands)


def rebind(primitive: Primitive, operands: Sequence[Any], source: Source | None) -> Any:
    """Apply a primitive of a rewritten program; one without operands is recorded, too."""
    trace = current_trace.get()
    if operands or trace is None:
        return bind(primitive, operands, source)
    return trace.record(primitive, operands, source)


def record_expr(
    label: str, function: Callable[..., Sequence[Any]], types: Iterable[ArrayType]
) -> Expr:
    """Return the program of `function`, which takes tracers of `types` and returns a sequence.

    This is how a transform turns a program into another: it runs the old one's rules under a fresh
    trace. Arrays made on the way become constants; tracers of other traces that the function closes
    over become leading inputs.
    """
    with Trace(label, RULES) as trace:
        outputs = function(*[trace.new_input(t) for t in types])
        expr = trace.expr_of(outputs)
    return expr.check() if check_exprs.get() else expr
