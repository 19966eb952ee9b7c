"""Interpreters of libraries: their subclasses of `jax.core.Trace` and `jax.core.Tracer`.

A library's tracer is made as the library says, and stays with the interpreter's `Interpreted`, a trace of fungrad's. Functions are
given a tracer of that trace in its place, which shows the other's class and attributes. A primitive applied to it is not recorded:
it is handed to `process_primitive`, by JAX's name and with JAX's parameters, and the result is what that returns.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from fungrad.compat.jax.constants import AT_ONCE
from fungrad.compat.jax.crossing import leave
from fungrad.compat.jax.interpreted_rules import process
from fungrad.compat.jax.interpreted_spellings import Handed, spelling
from fungrad.core.recorder import Recorder
from fungrad.core.state import holding
from fungrad.core.trace import Trace as OwnTrace
from fungrad.core.tracer import Tracer as OwnTracer
from fungrad.core.tracer import current_trace, innermost_trace, new_tracer
from fungrad.core.types import ArrayType, array_type, type_of


class Trace:
    """Base of interpreters, whose `process_primitive` is called for each primitive on their tracers."""

    __slots__ = ("__weakref__", "_invalidated", "_recorder", "_weakref", "requires_low")

    _recorder: Interpreted | None

    def __new__(cls, *_: Any, **__: Any) -> Any:
        made = super().__new__(cls)
        made._recorder = None  # some libraries do not call `__init__`
        return made

    def __init__(self) -> None:
        self._invalidated = False
        self._weakref = weakref.ref(self)
        self.requires_low = True

    def stage_value(self, val: Any) -> Any:
        """Return a value as a tracer of this interpreter."""
        raise NotImplementedError("must override")

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: Any, /) -> Any:
        """Return the result of a primitive, or the list of results."""
        raise NotImplementedError("must override")

    def process_custom_jvp_call(self, primitive: Any, *_: Any, **__: Any) -> NoReturn:
        """Raise: functions with a rule of their own need a method of the interpreter's."""
        raise NotImplementedError(
            f"{type(self)} must override process_custom_jvp_call to handle custom_jvp primitives"
        )

    def process_custom_vjp_call(self, primitive: Any, *_: Any, **__: Any) -> NoReturn:
        """Likewise."""
        raise NotImplementedError(
            f"{type(self)} must override process_custom_vjp_call to handle custom_vjp primitives"
        )

    def invalidate(self) -> None:
        """Note that the interpreter is not used any more."""
        self._invalidated = True

    def is_valid(self) -> bool:
        """Return whether it may be used."""
        return not self._invalidated

    def full_raise(self, x: Any) -> Any:
        """Return the value: which interpreter an operation belongs to depends on the operands."""
        return x

    @property
    def main(self) -> Any:
        """The tag of the interpreter."""
        return getattr(self, "tag", None)

    def __repr__(self) -> str:
        return type(self).__name__


class TraceTag:
    """A key that distinguishes interpreters."""


class Enclosing(Trace):
    """The functions around an interpreter: they compute primitives, or record them."""

    __slots__ = ("recorder",)

    def __init__(self, recorder: Recorder | None) -> None:
        super().__init__()
        self.recorder = recorder

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: Any, /) -> Any:
        with set_current_trace(self):
            return primitive.bind(*tracers, **params)


eval_trace = Enclosing(None)


class _OfTracers(type):
    """Makes fungrad's tracers instances; those of interpreters also of the library's own class."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        return recorder_of(made._trace).stand_in(made)

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = type(instance)
        if kind is not OwnTracer:
            return issubclass(kind, cls)
        return cls is Tracer or isinstance(library_tracer(instance), cls)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return super().__subclasscheck__(subclass) or (cls is Tracer and subclass is OwnTracer)


class Tracer(metaclass=_OfTracers):
    """The base of the tracers of interpreters; their types are `aval`."""

    __slots__ = ("__weakref__", "_line_info", "_trace")

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        of_tracers: Any = OwnTracer
        of_tracers.__getattr__ = _attribute

    def full_lower(self) -> Any:
        """Return the value without the interpreter, where it needs none."""
        return self

    def __jax_array__(self) -> Any:
        return recorder_of(self._trace).stand_in(self)


def _attribute(tracer: OwnTracer, name: str) -> Any:
    """Return an attribute that a library's tracer has, and fungrad's tracers have not."""
    found = library_tracer(tracer)
    if found is None or name[:2] == "__":
        raise AttributeError(f"'Tracer' object has no attribute {name!r}")
    return getattr(found, name)


def library_tracer(x: OwnTracer) -> Any:
    """Return the library's tracer that one of fungrad's stands for; None if there is none."""
    owner = x._owner
    return owner.held.get(x._variable) if isinstance(owner, Interpreted) else None


def full_lower(val: Any) -> Any:
    """Return a value without the interpreters that need not see it."""
    if type(val) is OwnTracer:
        found = library_tracer(val)
        return val if found is None else found.full_lower()
    return val.full_lower() if isinstance(val, Tracer) else val


class Interpreted(OwnTrace):
    """The trace of a library's interpreter `of`: nothing is recorded in it.

    Attributes
    ----------
    held
        The library's tracers, by variable.
    """

    __slots__ = ("held", "of")

    def __init__(self, of: Trace) -> None:
        super().__init__(type(of).__name__)
        self.of = of
        self.held: dict[int, Any] = {}
        self.outer = innermost_trace()
        self._look_outwards(self.outer)

    def stand_in(self, tracer: Any) -> OwnTracer:
        """Return a tracer of this trace for one of the library's."""
        aval = tracer.aval
        type_ = array_type(
            tuple(aval.shape), np.dtype(aval.dtype), bool(getattr(aval, "weak_type", False))
        )
        variable = len(self.types)
        self.types.append(type_)
        self.held[variable] = tracer
        return new_tracer(self, variable, type_)

    def record(self, primitive: Any, operands: Sequence[Any], source: Any = None) -> Any:
        if self.into is not None and (recorder := self.recorder()) is not self:
            return recorder.record(primitive, operands, source)
        spell = spelling(primitive)
        found = NotImplemented if spell is None else spell(primitive, *map(self.lift, operands))
        if isinstance(found, Handed):
            result = self._processed(found, found.operands, False)
            return result if found.finish is None else found.finish(result)
        if found is not NotImplemented:
            return found
        return self._processed(primitive, operands, primitive.multiple_results)

    def _processed(self, primitive: Any, operands: Sequence[Any], several: bool) -> Any:
        given = [self.as_the_librarys(x) for x in operands]
        with holding(current_trace, self.outer):
            results = process(self.of, primitive, operands, given)
        return tuple(map(self.result, results)) if several else self.result(results)

    def as_the_librarys(self, x: Any) -> Any:
        """Return an operand as the interpreter is given it."""
        if type(x) is not OwnTracer:
            return leave(x)
        if x._owner is not self:
            return x
        v = x._variable
        return self.held[v] if v in self.held else leave(self.captures[v])

    def extend(
        self,
        primitive: Any,
        inputs: tuple[int, ...],
        out_types: tuple[ArrayType, ...],
        source: Any = None,
    ) -> Any:
        return self.record(primitive, [new_tracer(self, v, self.types[v]) for v in inputs], source)

    def result(self, x: Any) -> OwnTracer:
        """Return a result of an interpreter's as a traced array: itself if it is one."""
        if type(x) is OwnTracer:
            return x
        return self.stand_in(x) if isinstance(x, Tracer) else self.lift(x)

    def lift(self, value: Any) -> Any:
        if type(value) is OwnTracer and value._owner is self:
            return value
        if self.into is not None and (recorder := self.recorder()) is not self:
            return recorder.lift(value)
        return self._staged(value, type_of(value))

    def _staged(self, value: Any, type_: ArrayType) -> OwnTracer:
        """Return a tracer of this trace for a value: the interpreter's, if it makes any."""
        try:
            staged: OwnTracer = self.of.stage_value(leave(value))
        except NotImplementedError:
            return new_tracer(self, super().add_input(type_, value), type_)
        staged._type = self.types[staged._variable] = type_
        return staged

    def capture(self, value: Any) -> int:
        return self.lift(value)._variable  # type: ignore[no-any-return]

    def add_input(self, type_: ArrayType, value: Any, constant: bool = False) -> int:
        return self._staged(value, type_)._variable

    def constant(self, variable: int, ask: bool = False) -> Any:
        value = None if variable in self.held else self.captures[variable]
        return None if type(value) is OwnTracer else value

    def has_tangent(self, variable: int, by_this: bool = False) -> bool:
        return not by_this

    def maker(self, variable: int) -> tuple[Any, tuple[int, ...]]:
        return None, ()

    def origin(self, variable: int) -> str:
        return f"it is of the interpreter {self.label}"


AT_ONCE.add(Interpreted)


def recorder_of(trace: Trace) -> Interpreted:
    """Return fungrad's trace for an interpreter, which hands it primitives."""
    if trace._recorder is None:
        trace._recorder = Interpreted(trace)
    return trace._recorder


class set_current_trace(holding[Any]):
    """Context in which an interpreter, or an `Enclosing`, is the innermost one."""

    def __init__(self, trace: Trace | None, check_leaks: bool = False) -> None:
        own = trace is None or isinstance(trace, Enclosing)
        recorder = getattr(trace, "recorder", None) if own else recorder_of(trace)  # type: ignore[arg-type]
        super().__init__(current_trace, recorder)
        self._given = trace

    def __enter__(self) -> Any:
        super().__enter__()
        return self._given


class take_current_trace:
    """Context that gives the innermost interpreter; one of fungrad's own is an `Enclosing`."""

    def __enter__(self) -> Trace:
        trace = innermost_trace()
        if trace is None:
            return eval_trace
        return trace.of if isinstance(trace, Interpreted) else Enclosing(trace)

    def __exit__(self, *_: object) -> None: ...


def find_cur_trace() -> Trace:
    """Return the innermost interpreter."""
    return take_current_trace().__enter__()
