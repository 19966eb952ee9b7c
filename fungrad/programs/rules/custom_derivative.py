"""Calls of functions with a custom derivative: the common part of `custom_jvp` and `custom_vjp`.

Where the arguments have values (under `grad`, `vjp`, `jvp`), the rule is run at the call, on the values one
level down: these are arrays, or tracers of an enclosing transform. So rules may look at values like any
Python, and every order of derivative is a call of the function one level further down. What comes of it is
recorded as one equation, `AtValues`: results that are known, and a tangent that is linear.

Where they have none (under `jit` and `vmap`, in the body of a loop), the function is traced at the call to a
program, with what it closes over as operands. Its rule is left `Lazy`, to be traced when a tangent is asked for, unless that
would be too late: see `rule_tracing.py`.

Design: docs/design/29-custom-rules.md.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fungrad.core import tree
from fungrad.core.config import settings
from fungrad.core.errors import api_boundary
from fungrad.core.float_warnings import at_users_lines
from fungrad.core.moving import may_move
from fungrad.core.nesting import trace_of
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.recorder import Recorder
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import ArrayType, is_array, tangent_type, type_of
from fungrad.programs.closing import OfPrograms, Values, record, shared
from fungrad.programs.pushing import Pushed
from fungrad.programs.rules.rule_tracing import (
    Lazy,
    TracedRule,
    check_not_running,
    closed_over,
    kept_with,
    rule_at_call,
    running_rule,
)
from fungrad.programs.rules.rules import OfFunction, for_outputs
from fungrad.programs.rules.sites import CustomFunction, Results, Site, is_operand, top_trace
from fungrad.programs.watching import look_at
from fungrad.transforms.arguments import name_of


class CustomDerivative(CustomFunction):
    """Base of functions with a derivative rule."""

    primitive: ClassVar[type[OfFunction]]
    """That of a call whose arguments have no values."""

    once: ClassVar[bool]
    """Whether, with values, the rule serves first derivatives only: for series the call becomes a program."""

    symbolic_zeros = False

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; where it is differentiated, by its rule."""
        args = self.without_derivatives(self.positional(args, kwargs))
        trace = top_trace([x for i, x in enumerate(args) if i not in self.nondiff_argnums])
        if trace is None:
            result = self.fun(*args)
            enclosing = top_trace([x for x in tree.leaves(result) if may_move(x)])
            if enclosing is not None:
                # It closes over traced arrays; it is recorded, so that a derivative by these is an error.
                return self._as_program(enclosing, args)
            look_at(self.label, self.fun, args, result)
            return result
        moving = trace.values is not None and any(map(_moved_by(trace), tree.leaves(args)))
        if trace.values is None or (moving and self.once and trace.mode.order > 1):
            return self._as_program(trace, args)
        with at_users_lines():  # it is computed now
            return self._by_rule(trace, args) if moving else self._below(trace, args)

    @abc.abstractmethod
    def without_derivatives(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, those in `nondiff_argnums` without derivatives."""

    @abc.abstractmethod
    def run_rule(self, site: Site, values: Values) -> tuple[Any, Values, Values, tree.TreeDef]:
        """Run the rule on the values of the operands.

        It returns the rule of `AtValues`, the leaves of the result, what the rule holds on to, and the structure of the
        result.
        """

    @abc.abstractmethod
    def trace_rule(self, site: Site, function: Results) -> TracedRule:
        """Trace the rule for a call; return it and its captures.

        `function` says what the function returns; the results of the rule must be of these types.
        """

    def _below(self, trace: Recorder, args: tuple[Any, ...]) -> Any:
        """Return the result of a call that `trace` does not differentiate: of its arguments' values."""
        site, operands = self._site(trace, args)
        result = self(*site.call(site.arguments(values_below(trace, operands))))
        return tree.map(lambda x: trace.lift(x) if is_array(x) else x, result)

    def _by_rule(self, trace: Recorder, args: tuple[Any, ...]) -> Any:
        """Run the rule on the values that the arguments have in `trace`."""
        check_not_running(self, trace)
        site, operands = self._site(trace, args)
        values = values_below(trace, operands)
        with running_rule(self, trace):
            rule, outs, consts, structure = self.run_rule(site, values)
        outs, consts = ([_value_for(trace, x) for x in xs] for xs in (outs, consts))
        # What closes over tracers of a trace within this one belongs there.
        tracers = [x for x in (*outs, *consts) if type(x) is Tracer]
        above = trace_of([x for x in tracers if x._owner.level > trace.level])
        if above is not None:
            return self._as_program(above, args)
        trace.evaluate()
        watched = settings.get().watched
        call = shared(AtValues, name_of(self.fun), rule, len(outs), len(consts), watched)
        results = trace.record(call, [*outs, *consts, *operands])
        # Nothing is to be computed, and in an enclosing trace this would be no equation at all.
        trace.settle(len(operands))
        return tree.unflatten(structure, results)

    def _site(self, trace: Recorder, args: tuple[Any, ...]) -> tuple[Site, list[Any]]:
        return self.site(args, lambda x: type(x) is Tracer and x._owner is trace, _moved_by(trace))

    def _as_program(self, trace: Recorder, args: tuple[Any, ...]) -> Any:
        """Record the call with the function and its rule as programs."""
        site, operands = self.site(args, is_operand, may_move)
        closed = self.closed(site)
        function = (closed.types, closed.structure)
        rule: Any = Lazy(self, site, function, kept_with(trace))
        captured: Values = ()
        if rule_at_call([getattr(self, name) for name in self.rules], trace, operands):
            with running_rule(self, trace):
                rule, captured = self.trace_rule(site, function)
        counts = (len(closed.captured), len(captured))
        call = shared(self.primitive, name_of(self.fun), closed.program, rule, counts)
        outs = record(call, [*closed.captured, *captured, *operands])
        return tree.unflatten(closed.structure, outs)


def _moved_by(trace: Recorder) -> Any:
    """Return the test for values that `trace` itself may differentiate by."""
    return lambda x: (
        type(x) is Tracer and x._owner is trace and trace.has_tangent(x._variable, True)
    )


def _value_for(trace: Recorder, x: Any) -> Any:
    """Return `x`, or its array if it was made in a trace within `trace` and has no tangent."""
    if type(x) is not Tracer or x._owner.level <= trace.level or may_move(x):
        return x
    value = known_value(x)
    return x if value is None else value


def values_below(trace: Recorder, operands: Sequence[Tracer]) -> list[Any]:
    """Return the values, one level down, of tracers of `trace`, which has values.

    Arrays become read-only: the trace itself goes on with them.
    """
    trace.evaluate()
    known: Any = trace.values
    return [read_only(known[x._variable]) for x in operands]


def read_only(value: Any) -> Any:
    """Return `value`; nobody writes to it from here on, if it is an array."""
    if type(value) is np.ndarray:
        value.flags.writeable = False
    return value


@primitive
class OfRule(Primitive):
    """The operand: a value that a rule has computed at its call, shown as such in searches for NaNs."""

    called: str

    linear = (0,)
    forwards_result = True

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x

    def impl(self, xp: Any, x: Any) -> Any:
        return xp.array(x)

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        return (ct,)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return self(x)


@primitive
class AtValues(OfPrograms):
    """Results of a function that its rule has computed from values, with tangents that are linear.

    The operands are the results, then what `rule` holds on to, then the arguments of the function.
    Its results are known when it is recorded, so only its tangents are ever computed.
    """

    called: str
    rule: Any
    outs: int
    consts: int
    watched: bool

    joint_jvp = True
    effect = False  # what the rule prints of tangents, it prints where these are computed
    can_fail = False  # and it fails there

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return tuple(map(tangent_type, types[: self.outs]))

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        return operands[: self.outs]

    def push(self, tangents: Values, operands: Values, known: Values | None, joint: bool) -> Pushed:
        n = self.outs + self.consts
        if any(t is not None for t in tangents[:n]):
            raise TypeError(closed_over(self.called))
        outs = operands[: self.outs] if known is None else known[: self.outs]
        types = [type_of(x) for x in operands[n:]]
        consts = operands[self.outs : n]
        if self.watched:  # else a NaN among them would be one that the user has given
            consts = tuple([OfRule(f"rule of {self.called}")(x) for x in consts])
        pushed = self.rule.tangents(consts, tangents[n:], types)
        return outs, for_outputs(pushed, [type_of(x) for x in outs])
