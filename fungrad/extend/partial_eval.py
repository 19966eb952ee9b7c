"""Tracing of what is not known: names of `jax.interpreters.partial_eval` that packages use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import type_of
from fungrad.transforms.avals import aval_of
from fungrad.transforms.call import output_variables
from fungrad.transforms.jaxpr import Jaxpr
from fungrad.transforms.jaxprs import ClosedJaxpr

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
"""The three are accepted, and not used: what is not needed is left out as the types of primitives tell."""


class PartialVal(NamedTuple):
    """A type and None, of what is not known; None and a value, of what is.

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
        """Return what stands for an array of some type."""
        return PartialVal(aval, None)

    @staticmethod
    def known(value: Any) -> PartialVal:
        """Return what stands for a value."""
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
    """Run a function of which some arguments are not known; return the program of what depends on them.

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
    with Trace("partial_eval", bake=True) as trace:
        args = [x if aval is None else trace.new_input(type_of(aval)) for aval, x in pvals]
        results = list(call(*args))
        if not instantiate:
            results = [_known_or_traced(x) for x in results]
        # What is traced outside alone is as good as known here.
        depends = [instantiate or (type(x) is Tracer and x.owner is trace) for x in results]
        unknown = [x for x, own in zip(results, depends, strict=True) if own]
        expr = trace.expr(output_variables(trace, unknown, "partial_eval"))
        closed = ClosedJaxpr.of(expr, [*trace.captures.values()])
    outs = [
        PartialVal.unknown(aval_of(type_of(x))) if own else PartialVal.known(x)
        for x, own in zip(results, depends, strict=True)
    ]
    return closed.jaxpr, outs, closed.consts


def _known_or_traced(x: Any) -> Any:
    if type(x) is not Tracer:
        return x
    value = known_value(x)
    return x if value is None else value


def trace_to_jaxpr_dynamic(
    fun: Any, in_avals: Sequence[Any], **options: Any
) -> tuple[Jaxpr, list[Any], list[Any]]:
    """Return the program of a function for arguments of some types, the types of its results, and the values of its constants.

    Examples
    --------
    >>> from fungrad.extend.core import ShapedArray
    >>> jaxpr, types, consts = trace_to_jaxpr_dynamic(lambda x: [2.0 * x], [ShapedArray((), float)])
    >>> types
    [ShapedArray(float64[])]
    """
    jaxpr, outs, consts = trace_to_jaxpr_nounits(fun, [(aval, None) for aval in in_avals], True)
    return jaxpr, [p.aval for p in outs], consts
