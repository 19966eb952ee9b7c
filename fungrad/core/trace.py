"""Recording what a function does to its arguments: tracers, traces and `bind`.

A `Trace` is one run of a function. Its tracers stand for arrays; `bind` records each primitive
applied to them as an equation. Traces nest: the trace opened last has the highest level, and an
operation on tracers of several traces belongs to the highest of them; there, tracers of the others
are captured like any array the function closes over. That is all that keeps nested transforms apart.

Recording is lazy. Under `grad` and its kin the arguments have values, but nothing is computed
until Python asks for a value; then all pending equations are run once and their values kept.
"""

from __future__ import annotations

import bisect
import contextvars
import functools
import itertools
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from fungrad.core.axes import home
from fungrad.core.backend import execute, namespace
from fungrad.core.config import check_exprs, settings
from fungrad.core.constants import Constants
from fungrad.core.errors import LeakedTracerError, Source, describe_source, here, resolve_source
from fungrad.core.expr import Expr, as_equation
from fungrad.core.float_warnings import at_users_lines, float_modes, modes_with_calls
from fungrad.core.layout import Layout, layout_of
from fungrad.core.moving import Moving
from fungrad.core.snapshot import LARGE, copied, place, same_bits, snapshot
from fungrad.core.state import holding, innermost_trace, state_variable
from fungrad.core.tracer import ARGUMENT, Tracer
from fungrad.core.tracer import current_trace as current_trace
from fungrad.core.turns import FREE, Turn
from fungrad.core.types import PYTHON_SCALARS, ArrayType, type_of
from fungrad.core.watch import Watch

if TYPE_CHECKING:
    from fungrad.core.primitive import Primitive

_own_files: set[str] = set()
"""Files of fungrad's modules, by which frames are told from the user's: faster than by the name of the module."""

_new: Callable[[type[Tracer]], Tracer] = object.__new__
_levels = itertools.count(1)  # never reused, so a later trace is always above an earlier one

_evaluating = state_variable("evaluating", (sys.maxsize, sys.maxsize))
"""The level of the trace that is being evaluated, and one between those of the traces opened before and since.

Branches that were opened after that trace, but before its evaluation, do not record what this computes. Others do: those
of functions that are called back from it, and of the threads and tasks that these start, which keep its value for good.
"""


@functools.lru_cache(maxsize=1 << 14)
def infer(primitive: Primitive, types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
    """Return the types of the results of a primitive, remembered from earlier calls."""
    result = primitive.abstract_eval(*types)
    return result if primitive.multiple_results else (result,)


class Trace:
    """One run of a function on tracers.

    Parameters
    ----------
    label
        What is running, for error messages: ``jit(loss)``.
    known
        Whether the inputs have values, so that values can be asked for.
    bake
        Whether captured arrays become constants of the program instead of inputs to it.
    rewriting
        Whether rules are run on the equations of another trace, and not a user's function.
    ambient
        Whether values made from nothing are recorded here while the trace is the innermost.
    order
        How often what is recorded will be differentiated, if it will be.
    branch
        Whether this is a function that may not be run, a branch or the body of a loop: what it computes of
        tracers of enclosing traces or of constants alone is recorded here too, since it must not be computed for another.
    """

    __slots__ = (
        "_captured",
        "_constants",
        "_moving",
        "ambient",
        "assigned",
        "bake",
        "branch",
        "captures",
        "constants",
        "depends_on",
        "equations",
        "inputs",
        "into",
        "known",
        "label",
        "layouts",
        "level",
        "on_host",
        "open",
        "order",
        "outer",
        "reshaped",
        "rewriting",
        "sizes",
        "source",
        "sources",
        "staged",
        "still",
        "turn",
        "types",
        "values",
        "xp",
    )

    def __init__(
        self,
        label: str,
        *,
        known: bool = False,
        bake: bool = False,
        rewriting: bool = False,
        ambient: bool = True,
        order: int = 1,
        branch: bool = False,
    ) -> None:
        self.label = label
        self.branch = branch
        self.into: Trace | None = None  # the trace of a branch that is open, which records instead
        self.rewriting = rewriting
        self.ambient = ambient
        self.order = order
        self.bake = bake
        self.level = next(_levels)
        self.open = True
        self.turn = Turn()  # of the threads that record here
        self.types: list[ArrayType] = []
        self.equations: list[tuple[Primitive, tuple[int, ...], tuple[int, ...]]] = []
        self.sources: list[Source | None] = []
        self.source: Source | None = None  # stands in for the user's line while rules run
        self.inputs: list[int] = []
        self.captures: list[tuple[int, Any]] = []
        self.constants: dict[int, Any] = {}
        self.values: dict[int, Any] | None = {} if known else None
        self.depends_on = self.level  # the lowest level of which Python saw a value
        self.on_host = False  # whether the inputs are known to be NumPy's
        self.xp: ModuleType = np  # the array library of known inputs
        # Of each equation evaluated: how many it stands for, those inside calls counted, and their results.
        self.known: list[tuple[int, list[Any]]] = []
        self.outer: Trace | None = None  # the innermost trace when this one was opened
        self._captured: dict[Hashable, tuple[int, Any]] = {}  # -> variable, what it was captured as
        self._constants: Constants | None = None
        self._moving: Moving | None = None
        self.still: set[int] = set()  # inputs made of what has no tangent
        self.staged = False  # whether this is traced within a branch: what it records may never run
        self.layouts: dict[int, Layout] = {}  # of the inputs that do not lie in C order
        self.reshaped = False  # whether something was made that is a view, or a copy, as the layout of an array decides
        self.assigned = False  # whether elements were assigned to
        self.sizes: dict[int, int] = {}  # how many variables enclosing traces had at the start

    def __enter__(self) -> Trace:
        self.outer = innermost_trace()
        if self.ambient:
            current_trace.set(self)
        outer = None if self.rewriting else self.outer
        self.staged = self.branch or (outer is not None and outer.staged)
        while outer is not None:
            self.sizes[outer.level] = len(outer.types)
            if self.branch and outer.into is None:
                outer.into = self
            outer = outer.outer
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        current_trace.set(self.outer)

    def close(self) -> None:
        """Record no more. It may be called any number of times."""
        self.open = False
        outer = self.outer
        if outer is not None:
            outer.depends_on = min(outer.depends_on, self.depends_on)
            outer.reshaped |= self.reshaped
            outer.assigned |= self.assigned
        while self.branch and outer is not None:
            if outer.into is self:
                outer.into = None
            outer = outer.outer

    @property
    def done(self) -> int:
        """How many equations have been evaluated."""
        return len(self.known)

    def recorder(self) -> Trace:
        """Return the trace that records what is computed here: this one, or an open branch."""
        into = self.into
        if into is None or _passed_over(into):
            return self
        return into.recorder()

    def new_input(self, type_: ArrayType, value: Any = None, layout: Layout = "C") -> Tracer:
        """Return the tracer of a new input; `value` is what it is known to be, `layout` how its elements lie."""
        v = len(self.types)
        if len(type_.shape) > 1:
            layout = layout if value is None else layout_of(value)
            if layout != "C":
                self.layouts[v] = layout
        self.types.append(type_)
        self.inputs.append(v)
        if self.values is not None:
            if type(value) is not Tracer:
                value = snapshot(value)
                if self.xp is np and type(value) is not np.ndarray:
                    self.xp = namespace((value,))
                if self.staged:  # within a branch, what is computed of constants may never run
                    value = lifted(value)
            self.on_host = self.xp is np and type(value) is not Tracer
            self.values[v] = value
        tracer = Tracer(self, v, type_)
        tracer.memory = ARGUMENT
        return tracer

    def record(
        self, primitive: Primitive, operands: Sequence[Any], source: Source | None = None
    ) -> Any:
        """Append the equation that applies `primitive` and return the tracers of its results."""
        if not self.open:
            self.raise_leaked(operands)
        if self.into is not None and (recorder := self.recorder()) is not self:
            return recorder.record(primitive, operands, source)
        # This is the hot path of every un-jitted transform; hence the plain style.
        if (
            len(operands) == 2
            and type(x := operands[0]) is type(y := operands[1]) is Tracer
            and x.owner is y.owner is self
        ):
            inputs: tuple[int, ...] = (x.variable, y.variable)
            out_types = primitive.infer((x.type, y.type))
        else:
            variables, in_types = [], []
            for x in operands:
                if type(x) is Tracer and x.owner is self:
                    variables.append(x.variable)
                    in_types.append(x.type)
                else:
                    v = self.capture(x)
                    variables.append(v)
                    in_types.append(self.types[v])
            inputs = tuple(variables)
            out_types = primitive.infer(tuple(in_types))
        if source is None and (source := self.source) is None:
            frame: FrameType | None = sys._getframe(2)  # of whoever called `bind`
            while frame is not None:
                file = frame.f_code.co_filename
                if file not in _own_files:
                    if str(frame.f_globals.get("__name__"))[:8] != "fungrad.":
                        break
                    if file[:1] != "<":
                        _own_files.add(file)
                frame = frame.f_back
            source = frame and (frame.f_code, frame.f_lasti)
        elif not self.rewriting and type(source) is not tuple:
            source = resolve_source(source)
        types, equations, free = self.types, self.equations, self.turn.free
        try:
            free.pop()
        except IndexError:
            self.turn.wait()
        try:
            first = len(types)
            self.sources[len(equations) :] = (source,)  # an interrupt may have left one too many
            if primitive.multiple_results:
                types.extend(out_types)
                outputs = tuple(range(first, len(types)))
                equations.append((primitive, inputs, outputs))
            else:
                types.append(out_types[0])
                equations.append((primitive, inputs, (first,)))
            free.append(True)
        except BaseException:
            free[:] = FREE
            raise
        if primitive.multiple_results:
            result: Any = tuple([Tracer(self, v, types[v]) for v in outputs])
        else:
            result = _new(Tracer)  # a call of the class takes twice as long
            result.owner = self
            result.variable = first
            result.type = out_types[0]
            result.memory = None
        if self.values is not None and (primitive.can_fail or primitive.effect):
            self._try()
        return result

    def _try(self) -> None:
        """Evaluate up to the equation recorded last; forget that one if it fails."""
        try:
            self.evaluate()
        except Exception:
            with self.turn:
                if self.done == len(self.equations) - 1:
                    _, _, outputs = self.equations.pop()
                    self.sources.pop()
                    del self.types[len(self.types) - len(outputs) :]
            raise

    def capture(self, value: Any) -> int:
        """Return the variable that stands for `value`, an array or a tracer of another trace."""
        if type(value) is Tracer:
            # An array may be assigned to later: what is captured of a tracer is its present variable.
            key: Hashable = (value.owner.level, value.variable)
            known = self._captured.get(key)
            if known is not None:
                return known[0]
            if not value.owner.open:
                value.owner.raise_leaked((value,))
            type_ = value.type
            value = Tracer(value.owner, value.variable, type_)
        else:
            type_ = type_of(value)
            key = None
            if type(value) in PYTHON_SCALARS:
                value = np.asarray(value)[()]
            if self.xp is not np and isinstance(value, (np.generic, np.ndarray)):
                value = self.xp.asarray(value)
            elif not isinstance(value, np.generic) and not self.rewriting:
                if value.nbytes >= LARGE:
                    key = place(value)
                    known = self._captured.get(key)
                    if known is not None and same_bits(known[1], value):
                        return known[0]
                # A program that constants are baked into outlives the trace, and who promises anything now.
                value = copied(value) if self.bake else snapshot(value)
        with self.turn:
            v = len(self.types)
            self.types.append(type_)
            if self.bake and type(value) is not Tracer:
                self.constants[v] = value
            else:
                if self.values is not None:
                    self.values[v] = value
                self.captures.append((v, value))
        if key is not None:
            self._captured[key] = (v, value)
        return v

    def uniform(self, value: Any, type_: ArrayType, strides: tuple[int, ...]) -> Tracer:
        """Return a new input of `type_` whose elements all are `value`, a 0-d array.

        The array takes no memory: its strides are zero.
        """
        array = np.ndarray(type_.shape, type_.dtype, value, 0, strides)
        with self.turn:
            v = len(self.types)
            self.types.append(type_)
            self.captures.append((v, array))
            self.values[v] = array  # type: ignore[index]
        return Tracer(self, v, type_)

    def constant(self, variable: int) -> Any:
        """Return the value of a variable that depends on no input, though these have none; else None."""
        if self._constants is None:
            self._constants = Constants()
        return self._constants.value(self, variable)

    def moves(self, variable: int, by_this: bool = False) -> bool:
        """Whether a transform that is open may differentiate by what a variable is made of; `by_this`: this one."""
        if self._moving is None:
            self._moving = Moving()
        with self.turn:
            return self._moving.has(self, variable, by_this)

    def lift(self, value: Any) -> Tracer:
        """Return `value` as a tracer of this trace, or of the branch that records instead."""
        if type(value) is Tracer and value.owner is self:
            return value
        if self.into is not None and (recorder := self.recorder()) is not self:
            return recorder.lift(value)
        v = self.capture(value)
        return Tracer(self, v, self.types[v])

    def evaluate(self) -> None:
        """Run the equations that are pending; values must be known.

        The results of equations inside calls are kept too, so that a transform which puts them in the
        place of the call finds them known.
        """
        with holding(_evaluating, (self.level, next(_levels))), at_users_lines():
            while (number := len(self.known)) < len(self.equations):
                if self.equations[number][0].effect and not self.turn.claim(number):
                    time.sleep(0.001)
                    continue
                try:
                    evaluated = self._evaluated(number)
                except BaseException:
                    self.turn.performing = None
                    raise
                # Another thread may have been faster.
                self.known[number : number + 1] = (evaluated,)

    def _evaluated(self, number: int) -> tuple[int, list[Any]]:
        """Run an equation; return how many it stands for, and their results."""
        values = self.values
        assert values is not None
        watch = Watch() if settings.get().watched else None
        primitive, inputs, outputs = equation = self.equations[number]
        source = self.sources[number]
        program = primitive.callee
        if program is None:
            operands = [values[v] for v in inputs]
            known = list(_saved(primitive, operands, source))
            results = known
            if watch is not None:
                watch.see(0, equation, source, operands, known)
                watch.conclude(outputs)
        else:
            known = []
            own = dict(zip(program.inputs, [values[v] for v in inputs], strict=True))
            own.update(program.constants)
            for n, (step, of_step) in enumerate(program.located()):
                operands = [own[v] for v in step.inputs]
                found = _saved(step.primitive, operands, of_step)
                own.update(zip(step.outputs, found, strict=False))
                known += found
                if watch is not None:
                    watch.see(n, step, of_step, operands, found)
            if watch is not None:
                watch.conclude(program.outputs)
            results = [own[v] for v in program.outputs]
        values.update(zip(outputs, results, strict=False))
        return 1 if program is None else len(program.equations), known

    def computed(self, number: int, operands: Sequence[Any]) -> Sequence[Any]:
        """Return the results of an equation for these operands: computed now, and not recorded."""
        primitive = self.equations[number][0]
        with holding(current_trace, None), at_users_lines():
            results = bind(primitive, operands, self.sources[number])
        return results if primitive.multiple_results else (results,)

    def structure(self, outputs: Sequence[int]) -> Hashable:
        """Return a key that is equal for traces that recorded the same program.

        Captured arrays and the values of scalars are not part of it: they are inputs.
        """
        leading = [v for v, _ in self.captures]
        leading += self.inputs
        types = self.types
        return (
            tuple(self.equations),
            len(self.captures),
            tuple(leading),
            tuple([types[v] for v in leading]),
            tuple(outputs),
            self.done,
        )

    def expr(self, outputs: Sequence[int]) -> Expr:
        """Return what was recorded as a program; captured arrays are its leading inputs."""
        leading = tuple([v for v, _ in self.captures])
        return Expr(
            inputs=leading + tuple(self.inputs),
            equations=tuple(map(as_equation, self.equations)),
            outputs=tuple(outputs),
            types=tuple(self.types),
            constants=self.constants,
            captured=len(leading),
            sources=tuple(self.sources),
        )

    def maker(self, variable: int) -> tuple[Primitive | None, tuple[int, ...]]:
        """Return the primitive that made a variable, and of what; None if it is no equation's only result."""
        equations = self.equations
        n = len(equations)

        def first(i: int) -> int:  # equations without results stand where the next with one does
            while i < n and not equations[i][2]:
                i += 1
            return equations[i][2][0] if i < n else len(self.types)

        i = bisect.bisect_right(range(n), variable, key=first) - 1
        if i < 0 or equations[i][2] != (variable,):
            return None, ()
        return equations[i][:2]

    def origin(self, variable: int) -> str:
        """Say where a variable was made."""
        made = zip(self.equations, self.sources, strict=True)
        maker = next((source for e, source in made if variable in e[2]), None)
        if maker is None:
            return "it is one of the function's arguments"
        return f"it was computed at {describe_source(maker)}"

    def raise_leaked(self, operands: Sequence[Any]) -> NoReturn:
        """Raise the error for the use of a tracer of this trace after it was closed."""
        mine = [x for x in operands if type(x) is Tracer and x.owner is self]
        culprit = min(mine, key=lambda x: x.variable)  # later ones were made just now
        origin = self.origin(culprit.variable)
        raise LeakedTracerError(
            f"at {here()}\na tracer of type {culprit.type} is used after `{self.label}` has "
            f"returned; {origin}. The traced function must have stored it somewhere outside, such as "
            "a global, an attribute or a list. Return the value from the function instead (with "
            "has_aux=True if it is not the result)."
        )


def bind(primitive: Primitive, operands: Sequence[Any], source: Source | None = None) -> Any:
    """Apply a primitive: at once to arrays, by recording an equation to tracers."""
    top = None
    for x in operands:
        if type(x) is Tracer:
            trace = x.owner
            if trace is not top and (top is None or trace.level > top.level):
                top = trace
    if primitive.axis_names:
        top = home(primitive.axis_names, top)
    if primitive.effect:
        return perform(primitive, operands, source, top)
    if top is None:
        return run(primitive, operands, source)
    return top.record(primitive, operands, source)


def stage() -> Trace | None:
    """Return the trace that records what is computed of constants; None if it is computed at once.

    It is recorded within branches, which may never run. Traces with values take no part: they run what they record.
    """
    trace = without_values()
    if trace is None or not trace.staged or _passed_over(trace):
        return None
    return trace


def _passed_over(branch: Trace) -> bool:
    """Whether what is computed now is of an evaluation that an open branch is not part of."""
    evaluated, since = _evaluating.get()
    return evaluated < branch.level < since


def lifted(value: Any) -> Any:
    """Return an array as a tracer, where constants are staged; a tracer stays of its own trace."""
    trace = None if type(value) is Tracer else stage()
    return value if trace is None else trace.lift(value)


def without_values() -> Trace | None:
    """Return the innermost open trace that has no values."""
    trace = innermost_trace()
    while trace is not None and trace.values is not None:
        trace = trace.outer
    return trace


def perform(
    primitive: Primitive, operands: Sequence[Any], source: Source | None, top: Trace | None
) -> Any:
    """Apply a primitive with an effect in the order in which the user's Python runs.

    Inside of a trace without values it is recorded there, whatever its operands are, and happens when
    that is run. A trace with values records it only if an operand is of that trace, and then runs it
    at once. `top` is the highest trace of the operands.
    """
    trace = current_trace.get()
    while trace is not None and trace.values is not None:
        if any(type(x) is Tracer and x.owner is trace for x in operands):
            break
        trace = trace.outer
    if top is not None and (trace is None or top.level > trace.level):
        trace = top
    if trace is None:
        return run(primitive, operands, source)
    return trace.record(primitive, operands, source)


def _saved(primitive: Primitive, operands: Sequence[Any], source: Source | None) -> Sequence[Any]:
    """Return the results of a primitive as a sequence, followed by what its derivative will need."""
    results = bind(primitive.saving or primitive, operands, source)
    return results if primitive.multiple_results else (results,)


def rebind(primitive: Primitive, operands: Sequence[Any], source: Source | None) -> Any:
    """Apply a primitive of a program that is being rewritten.

    What has no operands is recorded too: run at once, it would become a large constant.
    """
    trace = current_trace.get()
    if operands or trace is None:
        return bind(primitive, operands, source)
    return trace.record(primitive, operands, source)


def trace_of(operands: Sequence[Any]) -> Trace | None:
    """Return the trace in which an operation on `operands` is recorded; None for arrays.

    Raises `LeakedTracerError` if that trace is closed.
    """
    top = None
    for x in operands:
        if type(x) is Tracer and (top is None or x.owner.level > top.level):
            top = x.owner
    if top is not None and not top.open:
        top.raise_leaked(operands)
    return None if top is None else top.recorder()


def run(primitive: Primitive, operands: Sequence[Any], source: Source | None) -> Any:
    """Apply a primitive; an error it raises on values names the line that recorded it."""
    if Tracer in map(type, operands):
        return bind(primitive, operands, source)
    try:
        if (
            source is None
            and not primitive.effect
            and (modes := modes_with_calls()) is not float_modes.get()
        ):
            return contextvars.copy_context().run(_execute, modes, primitive, operands)
        return execute(primitive, operands)
    except Exception as error:
        if source is not None:
            note_place(error, primitive, source)
        raise


def note_place(error: Exception, primitive: Primitive, source: Source) -> None:
    """Leave on an error that a primitive raised a note with the line that recorded it."""
    error.add_note(f"raised by `{primitive}`, from {describe_source(source)}")


def _execute(modes: Any, primitive: Primitive, operands: Sequence[Any]) -> Any:
    """Run a primitive; for a context of its own, of which nothing has to be put back."""
    float_modes.set(modes)
    return execute(primitive, operands)


def record_expr(
    label: str, function: Callable[..., Sequence[Any]], types: Iterable[ArrayType]
) -> Expr:
    """Return the program of `function`, which takes tracers of `types` and returns a sequence.

    This is how a transform turns a program into another: it runs the old one's rules under a fresh
    trace. Arrays made on the way become constants; tracers of other traces that the function closes
    over become leading inputs.
    """
    with Trace(label, bake=True, rewriting=True) as trace:
        outputs = function(*[trace.new_input(t) for t in types])
        expr = trace.expr([trace.lift(x).variable for x in outputs])
    return expr.check() if check_exprs.get() else expr
