"""Recording what a function does to its arguments.

A `Trace` is one run of a function. Its tracers stand for arrays; `bind` records each primitive
applied to them as an equation. Traces nest: the trace opened last has the highest level, and an
operation on tracers of several traces belongs to the highest of them; there, tracers of the others
are captured like any array the function closes over. That is all that keeps nested transforms apart.

Recording is lazy. Under `grad` and its kin the arguments have values, but nothing is computed
until Python asks for a value; then all pending equations are run once and their values kept.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import FrameType, ModuleType
from typing import Any, NoReturn

import numpy as np

from fungrad.core.backend import namespace, target_of
from fungrad.core.config import check_exprs
from fungrad.core.constants import Constants
from fungrad.core.errors import LeakedTracerError, Source, here, resolve_source
from fungrad.core.expr import Expr
from fungrad.core.float_warnings import at_users_lines
from fungrad.core.layout import Layout, layout_of
from fungrad.core.moving import Moving
from fungrad.core.nesting import evaluating, lifted, new_level, passed_over
from fungrad.core.pending import run_pending, settle
from fungrad.core.primitive import Primitive, bind
from fungrad.core.recording import Recording
from fungrad.core.snapshot import LARGE, copied, place, same_bits, snapshot
from fungrad.core.tracer import ARGUMENT, Recorder, Tracer, current_trace, innermost_trace
from fungrad.core.types import PYTHON_SCALARS, ArrayType, type_of

_own_files: set[str] = set()
"""Files of fungrad's modules, by which frames are told from the user's: faster than by the name of the module."""

_new: Callable[[type[Tracer]], Tracer] = object.__new__


class Trace(Recording):
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
        "depends_on",
        "into",
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
        "staged",
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
        super().__init__(known)
        self.label = label
        self.branch = branch
        self.into: Recorder | None = (
            None  # the trace of a branch that is open, which records instead
        )
        self.rewriting = rewriting
        self.ambient = ambient
        self.order = order
        self.bake = bake
        self.level = new_level()
        self.open = True
        self.source: Source | None = None  # stands in for the user's line while rules run
        self.depends_on = self.level  # the lowest level of which Python saw a value
        self.on_host = False  # whether the inputs are known to be NumPy's
        self.xp: ModuleType = np  # the array library of known inputs
        self.outer: Recorder | None = None  # the innermost trace when this one was opened
        self._captured: dict[Hashable, tuple[int, Any]] = {}  # -> variable, what it was captured as
        self._constants: Constants | None = None
        self._moving: Moving | None = None
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

    def recorder(self) -> Recorder:
        """Return the trace that records what is computed here: this one, or an open branch."""
        into = self.into
        if into is None or passed_over(into):
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
                if type(value) is not np.ndarray and target_of(self.xp).on_host:
                    self.xp = namespace((value,))
                if self.staged:  # within a branch, what is computed of constants may never run
                    value = lifted(value)
            self.on_host = type(value) is not Tracer and target_of(self.xp).on_host
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
        types, equations, holder = self.types, self.equations, self.turn.holder
        me = get_ident()
        try:
            if holder.setdefault(0, me) != me:
                self.turn.wait()
            first = len(types)
            self.sources[len(equations) :] = (source,)  # an interrupt may have left one too many
            if primitive.multiple_results:
                types.extend(out_types)
                outputs = tuple(range(first, len(types)))
                equations.append((primitive, inputs, outputs))
            else:
                types.append(out_types[0])
                equations.append((primitive, inputs, (first,)))
            holder.pop(0, None)
        except BaseException:
            self.turn.give_back()
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
            if not target_of(self.xp).takes_scalars and isinstance(value, (np.generic, np.ndarray)):
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
        """Run the equations that are pending; values must be known."""
        with evaluating(self), at_users_lines():
            run_pending(self)

    def settle(self, called_with: int) -> None:
        """Take the first operands of the equation recorded last for its results: nothing is computed."""
        settle(self, called_with)

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


def rebind(primitive: Primitive, operands: Sequence[Any], source: Source | None) -> Any:
    """Apply a primitive of a program that is being rewritten.

    What has no operands is recorded too: run at once, it would become a large constant.
    """
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
    with Trace(label, bake=True, rewriting=True) as trace:
        outputs = function(*[trace.new_input(t) for t in types])
        expr = trace.expr([trace.lift(x).variable for x in outputs])
    return expr.check() if check_exprs.get() else expr
