"""Derivatives of all orders along a path, in one run: Taylor mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.errors import api_boundary
from fungrad.core.expr import Expr
from fungrad.core.mode import VALUES
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, float0
from fungrad.rewrite.taylor import jet_expr
from fungrad.transforms.arguments import argument_type, check_callable, name_of
from fungrad.transforms.autodiff import Traced
from fungrad.transforms.call import rewrite, run_on_values
from fungrad.transforms.linear import check_directions

HIGHEST_ORDER = 170
"""The highest order whose factorial is a float64."""


@api_boundary
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Any],
    factorial_scaled: bool = True,
) -> tuple[Any, Any]:
    """Evaluate `fun` and its derivatives along a path, of all orders up to that of the path (Taylor mode).

    If x(t) is a path with the derivatives x(0) = x, x'(0) = x1, x''(0) = x2, ..., then
    ``jet(fun, (x,), ([x1, x2, ...],))`` returns those of ``fun(x(t))``. Along the straight line ``[v, 0, 0, ...]`` they
    are the derivatives of `fun` in the direction v. The work grows with the square of the
    order for most functions, where that of nested `jvp` doubles with each order.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them.
    primals
        Its arguments, a tuple or list: the start of the path.
    series
        The derivatives of the path. For each argument a list or tuple of arrays of the shape and dtype of
        the argument, first that of order 1. For an argument that is a pytree, the same tree with a
        list in place of each leaf. All lists have one length, which is the order. Integers and booleans
        rest: theirs are zeros or of dtype ``float0``.
    factorial_scaled
        Whether `series` and the result hold derivatives. If not, they are Taylor coefficients: derivatives divided
        by the factorial of their order.

    Returns
    -------
    tuple
        The result of `fun`, and the same tree with a list of derivatives in place of each leaf.

    Raises
    ------
    TypeError
        If a derivative has not the shape and dtype of what it belongs to, or the series of an integer
        is not zero.
    ValueError
        If the lists differ in length.

    Examples
    --------
    The derivatives of (2 + t)^3 at t = 0:

    >>> import fungrad as fg
    >>> from fungrad.experimental.jet import jet
    >>> value, (first, second, third) = jet(lambda x: x ** 3, (2.0,), ([1.0, 0.0, 0.0],))
    >>> print(value, first, second, third)
    8.0 12.0 12.0 6.0
    """
    check_callable(fun, "jet")
    label = f"jet({name_of(fun)})"
    for what, x in (("primals", primals), ("series", series)):
        if not isinstance(x, (tuple, list)):
            raise TypeError(f"{label}: {what} must be a tuple or list, not {type(x).__name__}")
    parts, order = _series_of_leaves(primals, series, label)
    if factorial_scaled and order > HIGHEST_ORDER:
        raise ValueError(
            f"{label}: the series have order {order}, and factorials beyond that of {HIGHEST_ORDER} overflow; pass "
            "Taylor coefficients, with factorial_scaled=False"
        )
    with Trace(label, VALUES._replace(order=order)) as trace:
        traced = Traced(trace, label, fun, primals, False)
        by_order = []
        for k, terms in enumerate(zip(*parts, strict=True), 1):
            what = f"{label}: the derivative of order {k} of leaf"
            rested = [
                x if t.inexact else _at_rest(x, t, f"{what} {i}")
                for i, (x, t) in enumerate(zip(terms, traced.types, strict=True))
            ]
            by_order.append(check_directions(rested, traced.types, traced.structure, what))
        moved = [x for part in zip(*by_order, strict=True) for x in part]

        def build(expr: Expr, done: int) -> Program:
            return Program(jet_expr(expr, traced.wrt(expr), order, factorial_scaled, done))

        program = rewrite(trace, traced.variables, ("jet", order, factorial_scaled), build)
    computed = run_on_values(trace, program, *moved)
    outputs, _, rest = traced.finish(computed)
    coefficients = iter(rest)
    out_series = [
        [next(coefficients) if t.inexact else np.zeros(t.shape, float0) for _ in range(order)]
        for t in traced.out_types
    ]
    return outputs, tree.unflatten(traced.out_structure, out_series)


def _series_of_leaves(
    primals: Sequence[Any], series: Sequence[Any], label: str
) -> tuple[list[Any], int]:
    """Return the series of each leaf of the arguments, and their length."""
    if len(primals) != len(series):
        raise ValueError(
            f"{label}: there must be one series for each argument; got {len(primals)} primals and "
            f"{len(series)} series"
        )
    structure = tree.structure(tuple(primals))
    given: Any = tuple(series)
    parts: list[Any]
    try:
        parts = structure.flatten_up_to(given)
    except ValueError:
        parts = [None]
    if not all(isinstance(part, (tuple, list)) for part in parts):
        raise TypeError(
            f"{label}: series must have the structure of the primals, {structure}, with a list of derivatives in "
            f"place of each leaf; got {tree.structure(given)}"
        )
    orders = sorted({len(part) for part in parts})
    if len(orders) > 1:
        raise ValueError(
            f"{label}: all series must have one length, got the lengths {[len(part) for part in parts]}; fill up "
            "the shorter ones with zeros"
        )
    return parts, orders[0] if orders else 0


def _at_rest(x: Any, type_: ArrayType, what: str) -> Any:
    """Return the derivative of an integer or a boolean, which must be zero."""
    given = argument_type(x, what)
    zero = given.dtype == float0 or (type(x) is not Tracer and not np.any(x))
    if given.shape != type_.shape or not zero:
        raise TypeError(
            f"{what} has type {given}, but belongs to a value of type {type_}, which has no derivative: it must be "
            f"zero, of the same shape; pass np.zeros({type_.shape}, fungrad.float0)"
        )
    return np.zeros(type_.shape, float0)
