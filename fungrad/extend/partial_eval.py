"""Tracing of unknown values: names of `jax.interpreters.partial_eval` that packages use."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fungrad import Expr, Tracer
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.trace import PROGRAM, Trace
from fungrad.extend.core import ClosedJaxpr, Jaxpr
from fungrad.extend.programs import evaluate
from fungrad.extend.types import type_of
from fungrad.transforms.avals import aval_of
from fungrad.transforms.call import output_variables

__all__ = [
    "DynamicJaxprTracer",
    "JaxprTracer",
    "PartialVal",
    "custom_partial_eval_rules",
    "dce_rules",
    "partial_eval_jaxpr_custom_rules",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]
__dir__ = __all__.copy

JaxprTracer = DynamicJaxprTracer = Tracer
custom_partial_eval_rules: dict[Any, Any] = {}
dce_rules: dict[Any, Any] = {}
partial_eval_jaxpr_custom_rules: dict[Any, Any] = {}
"""The three are accepted and unused: dead code follows from the types of primitives."""


class PartialVal(NamedTuple):
    """A type and None, if unknown; None and a value, if known.

    Examples
    --------
    >>> from fungrad.extend.core import ShapedArray
    >>> PartialVal.known(3.0), PartialVal.unknown(ShapedArray((), float)).is_known()
    (PartialVal(aval=None, value=3.0), False)
    """

    aval: Any
    value: Any

    @staticmethod
    def unknown(aval: Any) -> PartialVal:
        """Return the stand-in for an array of some type."""
        return PartialVal(aval, None)

    @staticmethod
    def known(value: Any) -> PartialVal:
        """Return the stand-in for a value."""
        return PartialVal(None, value)

    def is_known(self) -> bool:
        """Whether it has a value."""
        return self.aval is None

    def get_known(self) -> Any:
        """Return the value, None if it has none."""
        return self.value

    def get_aval(self) -> Any:
        """Return the type."""
        return aval_of(type_of(self.value)) if self.aval is None else self.aval


def trace_to_jaxpr_nounits(
    fun: Any, pvals: Sequence[tuple[Any, Any]], instantiate: bool = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Run a function with unknown arguments; return the program of everything that depends on them.

    Parameters
    ----------
    fun
        A `fungrad.extend.linear_util.WrappedFun`, or a function, that returns a list.
    pvals
        Of each argument its type and None, or None and its value.
    instantiate
        Whether all results are of the program.

    Returns
    -------
    jaxpr : Jaxpr
        From the arguments that are not known to the results that are not.
    out_pvals : list of PartialVal
        The types and values of results.
    consts : list
        The values of the constants of `jaxpr`.

    Examples
    --------
    >>> from fungrad.extend.core import ShapedArray, eval_jaxpr
    >>> unknown, known = PartialVal.unknown(ShapedArray((), float)), PartialVal.known(3.0)
    >>> jaxpr, results, consts = trace_to_jaxpr_nounits(lambda x, y: [x * y, y + 1], [unknown, known])
    >>> [result.is_known() for result in results], eval_jaxpr(jaxpr, consts, 10.0)
    ([False, True], [np.float64(30.0)])
    """
    call: Callable[..., Any] = getattr(fun, "call_wrapped", fun)
    with Trace("partial_eval", PROGRAM) as trace:
        args = [x if aval is None else trace.new_input(type_of(aval)) for aval, x in pvals]
        results = list(call(*args))
        # What is traced outside alone is as good as known here.
        recorded = [instantiate or (type(x) is Tracer and x._owner is trace) for x in results]
        unknown = [x for x, own in zip(results, recorded, strict=True) if own]
        variables = output_variables(trace, unknown, "partial_eval")
        types = [aval_of(trace.types[v]) for v in variables]
        expr = trace.expr(variables)
    captured = [*trace.captures.values()]
    outside = {} if instantiate else _computed_outside(expr, captured)
    kept = tuple([v for v in variables if v not in outside])
    closed = ClosedJaxpr.of(dataclasses.replace(expr, outputs=kept), captured)
    traced = iter(zip(variables, types, strict=True))
    outs = []
    for x, own in zip(results, recorded, strict=True):
        if not own:
            outs.append(PartialVal.known(x))
            continue
        variable, aval = next(traced)
        known = variable in outside
        outs.append(PartialVal.known(outside[variable]) if known else PartialVal.unknown(aval))
    return closed.jaxpr, outs, closed.consts


def _computed_outside(expr: Expr, captured: Sequence[Any]) -> dict[int, Any]:
    """Return the outputs that depend on no input, computed from captured values, traced if these are."""
    inside = set(expr.inputs[expr.captured :])
    free = []
    for equation, source in expr.located():
        if equation.primitive.effect or not inside.isdisjoint(equation.inputs):
            inside.update(equation.outputs)
        else:
            free.append((equation, source))
    outside = tuple(dict.fromkeys([v for v in expr.outputs if v not in inside]))
    inputs = expr.inputs[: expr.captured]
    program = without_dead_code(expr.with_equations(free, inputs=inputs, outputs=outside))
    return dict(zip(outside, evaluate(program, captured), strict=True))


def trace_to_jaxpr_dynamic(
    fun: Any, in_avals: Sequence[Any], **options: Any
) -> tuple[Jaxpr, list[Any], list[Any]]:
    """Return the program of a function for types, the types of its results, and its constants.

    Examples
    --------
    >>> from fungrad.extend.core import ShapedArray
    >>> jaxpr, types, consts = trace_to_jaxpr_dynamic(lambda x: [2.0 * x], [ShapedArray((), float)])
    >>> types
    [ShapedArray(float64[])]
    """
    jaxpr, outs, consts = trace_to_jaxpr_nounits(fun, [(aval, None) for aval in in_avals], True)
    return jaxpr, [p.aval for p in outs], consts
