"""When the rule of a function is traced, for a call whose arguments have no values.

It is traced when a tangent is asked for: a function that is not differentiated does not run its rule. Exceptions are in
`rule_at_call`. A rule that calls its own function would be traced for ever; below the depth to which the open
transforms can differentiate it is left for later in any case.
"""

from __future__ import annotations

import collections
import contextvars
import dataclasses
import functools
from collections.abc import Iterator, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.core.axes import open_axes
from fungrad.core.cached import cached_property
from fungrad.core.errors import ConcretizationError, LeakedTracerError, here
from fungrad.core.location import place_of_use
from fungrad.core.moving import may_move
from fungrad.core.recorder import Recorder
from fungrad.core.state import holding, state_variable
from fungrad.core.tracer import Tracer
from fungrad.programs.rules.sites import Results, Site
from fungrad.transforms.arguments import name_of

TracedRule: TypeAlias = tuple[Any, tuple[Any, ...]]
"""A rule and its captures."""

_depth = state_variable("depth", 0)


_Call = tuple[Any, Any]
_running: contextvars.ContextVar[tuple[_Call, ...]] = state_variable("running_rules", ())


def running_rule(owner: Any, trace: Recorder) -> holding[tuple[_Call, ...]]:
    """Context in which the rule of `owner` is run for a call that is recorded in `trace`."""
    return holding(_running, (*_running.get(), (owner, trace)))


def check_not_running(owner: Any, trace: Recorder) -> None:
    """Raise an error if the rule of `owner` is being run for a call in `trace`.

    It gets what tracers of `trace` stand for, so it calls the function with one only if it closes over it.
    """
    if any(o is owner and t is trace for o, t in _running.get()):
        raise LeakedTracerError(
            f"at {here()}\nthe rule of `{name_of(owner.fun)}`, which is run under `{trace.label}`, calls the function "
            "with a tracer of that, for which the rule would be run again, and so for ever. It closes over that "
            "tracer, or has it of a global or an attribute: pass it as an argument instead."
        )


def tracing_rule() -> holding[int]:
    """Context in which a rule is traced, perhaps because of a call in another rule."""
    return holding(_depth, _depth.get() + 1)


def rule_at_call(rules: Sequence[Any], trace: Recorder, operands: Sequence[Any]) -> bool:
    """Whether the rule of a call that is recorded in `trace` has to be traced at once.

    It has to if it closes over tracers, which become operands of the call, or may work across named axes that are open
    now. Else it does where an open transform will differentiate the call in this very run of the program. Programs
    are kept, and values that the rule reads, such as globals, may differ in the next run. A jitted function is kept
    in any case.
    """
    if _deep_enough(trace):
        return False
    first = next((t for t in _outwards(trace) if t.mode.bake or t.values is not None), None)
    if first is not None and not first.mode.bake and any(map(may_move, operands)):
        return True
    return bool(open_axes()) or any(map(reaches_tracer, rules))


def kept_with(trace: Recorder) -> int:
    """Return the level of the trace whose program is kept with equations of `trace`; 0 if none is."""
    return next((outer.level for outer in _outwards(trace) if outer.mode.bake), 0)


def _outwards(trace: Recorder | None) -> Iterator[Recorder]:
    """Iterate over a trace and those that it is within."""
    while trace is not None:
        yield trace
        trace = trace.outer


def _deep_enough(trace: Recorder) -> bool:
    """Whether no transform can differentiate a call in `trace` as often as rules are nested.

    Those that can are open around it and have values. What is recorded can still be differentiated more often
    later, if it becomes part of a jitted function.
    """
    count = sum(outer.values is not None for outer in _outwards(trace))
    return _depth.get() >= max(count, 1)


def reaches_tracer(function: Any) -> bool:
    """Whether a function closes over a tracer, also through other functions, containers and attributes."""
    pending, seen = collections.deque([function]), set[int]()
    while pending and len(seen) < _SEARCHED:
        x = pending.popleft()
        if type(x) is Tracer:
            return True
        if id(x) in seen or isinstance(x, _OPAQUE):
            continue
        seen.add(id(x))
        if isinstance(x, (tuple, list, set, frozenset)):
            pending += x
        elif isinstance(x, dict):
            pending += x.values()
        elif isinstance(x, FunctionType):
            pending += [c.cell_contents for c in x.__closure__ or () if _is_filled(c)]
            pending += [x.__defaults__, x.__kwdefaults__]
        elif isinstance(x, functools.partial):
            pending += [x.func, x.args, x.keywords]
        elif isinstance(x, MethodType):
            pending += [x.__self__, x.__func__]
        else:
            pending.append(getattr(x, "__dict__", None))
    return False


_SEARCHED = 300
"""How many objects a function is searched for tracers."""

_OPAQUE = (type, ModuleType, np.ndarray, np.generic, str, bytes, int, float, complex, type(None))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


@dataclasses.dataclass(frozen=True)
class Lazy:
    """A rule to be traced when a tangent is asked for. Those of equal calls in one trace are equal.

    A function that is jitted anew has its rule traced anew.
    """

    owner: Any
    """The function whose rule it is."""
    site: Site
    """The call that it is the rule of."""
    function: Results
    """Types and structure of the function's result."""
    trace: int
    """The level of the trace with whose program it is kept; 0 if there is none."""
    maps: tuple[tuple[int, tuple[bool, ...]], ...] = ()
    """The batches it is mapped over: for each the size, and which of the operands of the call are batched."""

    @cached_property
    def _rules(self) -> dict[tuple[bool, ...], TracedRule]:
        return {}

    def rule_for(self, perturbed: Sequence[bool]) -> TracedRule:
        """Return the rule, for tangents of the operands in `perturbed`, and the arrays that it closes over."""
        if not self.owner.symbolic_zeros:  # then it does not want to know
            perturbed = [True] * len(perturbed)
        key = tuple(perturbed)
        rule = self._rules.get(key)
        if rule is None:
            rule = self._rules[key] = self._trace_rule(key)
        return rule

    def _trace_rule(self, perturbed: tuple[bool, ...]) -> TracedRule:
        site = dataclasses.replace(self.site, perturbed=perturbed)
        rule, captured = self.owner.trace_rule(site, self.function)
        if isinstance(rule, Unusable):
            rule.rule_for(perturbed)
        if any(type(x) is Tracer for x in captured):
            raise TypeError(closed_over(name_of(self.owner.fun)))
        for size, batched in self.maps:
            rule = rule.of_batch(size, (False,) * len(captured), batched)
        return rule, captured

    def of_batch(self, size: int, _: Sequence[bool], batched: Sequence[bool]) -> Lazy:
        """Return the rule of a batch of calls."""
        maps = (*self.maps, (size, tuple(batched)))
        return dataclasses.replace(self, maps=maps)


class Unusable(NamedTuple):
    """A rule that could not be traced, because it asks for values that nothing has here."""

    message: str

    def rule_for(self, perturbed: Sequence[bool]) -> TracedRule:
        """Raise the error: now the rule is needed."""
        raise ConcretizationError(self.message)

    def of_batch(self, size: int, _: Sequence[bool], batched: Sequence[bool]) -> Unusable:
        """Return the rule of a batch of calls: this."""
        return self


def closed_over(name: str) -> str:
    """Return the message for a derivative by a capture of a function or its rule."""
    return (
        f"the rule of `{name}` gives derivatives with respect to its arguments alone, but `{name}` or its rule also uses a "
        f"traced value from outside, which is being differentiated; `{name}` was called at {place_of_use()}. Pass that value as "
        "an argument too (fungrad.closure_convert does so for a function that closes over it); or, if it is a constant here, "
        "close over fungrad.stop_gradient(value)."
    )
