"""Reductions over axes, positions of extrema, and cumulative operations.

Where elements tie for a maximum or minimum, they share the derivative equally.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.core.primitive import Primitive
from fungrad.core.types import is_half, type_of
from fungrad.lax.checks import axes_of, axis_of, no_such_option
from fungrad.lax.glossary import public
from fungrad.lax.monoids import greatest, least
from fungrad.lax.operands import ANY, BITS, FLOAT, NUMBER, ORDERED, aligned, brought_to, words_of
from fungrad.primitives import bits
from fungrad.primitives import cumulative as c
from fungrad.primitives import elementwise as e
from fungrad.primitives import reductions as r
from fungrad.primitives.shaping import ReduceSum

Function = Callable[..., Any]


def _extremum(primitive: Callable[..., Primitive], identity: Function) -> Function:
    """Return the reduction by an extremum: of no elements it is the identity."""

    def rule(x: Any, axes: tuple[int, ...]) -> Any:
        type_ = type_of(x)
        if 0 not in [type_.shape[a] for a in axes]:
            return primitive(axes)(x)
        return of_none(x, axes, type_.dtype.type(identity(type_.dtype)))

    return rule


def of_none(x: Any, axes: tuple[int, ...], start: Any) -> Any:
    """Return a number for each sum of no elements, on the device where these would be."""
    zeros = ReduceSum(axes)(x)
    type_ = type_of(zeros)
    return e.add(*brought_to((start, zeros), [type_.dtype] * 2, type_.shape))


def _logical(
    of_booleans: Callable[..., Primitive], of_integers: Callable[..., Primitive]
) -> Function:
    def rule(x: Any, axes: tuple[int, ...]) -> Any:
        return (of_booleans if type_of(x).dtype == bool else of_integers)(axes)(x)

    return rule


_sum: Function = lambda x, axes: ReduceSum(axes)(x)
_product: Function = lambda x, axes: r.ReduceProd(axes)(x)
_maximum = _extremum(r.ReduceMax, least)
_minimum = _extremum(r.ReduceMin, greatest)
_and = _logical(r.ReduceAnd, bits.BitwiseAnd)
_or = _logical(r.ReduceOr, bits.BitwiseOr)
_xor = _logical(r.ReduceXor, bits.BitwiseXor)


def _reduction(name: str, rule: Function, kinds: str, value: str, example: str) -> Function:
    """Return the public function of a reduction over axes; the example is ``call -> result``."""

    def function(operand: Any, axes: Sequence[int]) -> Any:
        (x,) = aligned(name, kinds, (operand,), ("operand",))
        return rule(x, axes_of(name, "axes", axes, type_of(x).ndim))

    return _named(function, name, kinds, value, example)


def _named(
    function: Function,
    name: str,
    kinds: str,
    value: str,
    example: str,
    dtype: str = "the dtype of `operand`",
) -> Function:
    """Return `function` with its name and documentation."""
    call, _, result = example.partition(" -> ")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return {value}.\n\nParameters\n----------\noperand\n    Array, {words_of(kinds)}.\n\n"
        f"Returns\n-------\narray\n    Of {dtype}.\n\n"
        "Raises\n------\nTypeError\n    If the dtype is another.\n\n"
        f"Examples\n--------\n>>> lax.{call}\n{result}"
    )
    return public(function)


@public
def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: None = None) -> Any:
    """Return the sum over axes.

    Parameters
    ----------
    operand
        Array, integer, floating-point or complex.

    Returns
    -------
    array
        Of the dtype of `operand`.

    Raises
    ------
    TypeError
        If `operand` is boolean.
    ValueError
        If it has no such axis.

    Examples
    --------
    >>> lax.reduce_sum(np.ones((2, 3)), (0,))
    array([2., 2., 2.])
    """
    no_such_option("reduce_sum", out_sharding=out_sharding)
    (x,) = aligned("reduce_sum", NUMBER, (operand,), ("operand",))
    return _sum(x, axes_of("reduce_sum", "axes", axes, type_of(x).ndim))


reduce_prod = _reduction(
    "reduce_prod",
    _product,
    NUMBER,
    "the product over axes",
    "reduce_prod(np.array([2, 3, 4]), (0,)) -> np.int64(24)",
)
reduce_max = _reduction(
    "reduce_max",
    _maximum,
    ANY,
    "the maximum over axes; of no elements, the least number there is",
    "reduce_max(np.array([[1, 5], [4, 2]]), (1,)) -> array([5, 4])",
)
reduce_min = _reduction(
    "reduce_min",
    _minimum,
    ANY,
    "the minimum over axes; of no elements, the greatest number there is",
    "reduce_min(np.array([[1, 5], [4, 2]]), (1,)) -> array([1, 2])",
)
reduce_and = _reduction(
    "reduce_and",
    _and,
    BITS,
    "the bitwise ``and`` over axes",
    "reduce_and(np.array([6, 3]), (0,)) -> np.int64(2)",
)
reduce_or = _reduction(
    "reduce_or",
    _or,
    BITS,
    "the bitwise ``or`` over axes",
    "reduce_or(np.array([6, 3]), (0,)) -> np.int64(7)",
)
reduce_xor = _reduction(
    "reduce_xor",
    _xor,
    BITS,
    "the bitwise exclusive ``or`` over axes",
    "reduce_xor(np.array([6, 3]), (0,)) -> np.int64(5)",
)

# By name, for reductions by any function

REDUCTIONS: dict[Primitive, Function] = {
    e.add: _sum,
    e.mul: _product,
    e.maximum: _maximum,
    e.minimum: _minimum,
    e.bitwise_and: _and,
    e.bitwise_or: _or,
    e.bitwise_xor: _xor,
    e.logical_and: _and,
    e.logical_or: _or,
    e.logical_xor: _xor,
}
"""For each operation of `IDENTITIES`, the reduction by it."""


# Positions


def _position(name: str, primitive: Callable[[int], Primitive], what: str) -> Function:
    def function(operand: Any, axis: int, index_dtype: Any) -> Any:
        (x,) = aligned(name, ORDERED, (operand,), ("operand",))
        type_ = type_of(x)
        number = axis_of(name, "axis", axis, type_.ndim)
        dtype = np.dtype(index_dtype)
        if dtype.kind not in "iu":
            raise TypeError(f"lax.{name}: index_dtype is a dtype of integers, got {dtype}")
        if not type_.shape[number]:
            raise ValueError(f"lax.{name}: {type_} has no elements along axis {number}")
        return e.Cast(dtype)(primitive(number)(x))

    return _named(
        function,
        name,
        ORDERED,
        f"the position of the {what} along an axis: the first one, or that of the first NaN",
        f"{name}(np.array([[1, 5], [4, 2]]), 1, np.int32) -> "
        + ("array([1, 0], dtype=int32)" if what == "maximum" else "array([0, 1], dtype=int32)"),
        "dtype `index_dtype`",
    )


argmax = _position("argmax", r.ArgMax, "maximum")
argmin = _position("argmin", r.ArgMin, "minimum")

# Cumulative operations


def _cumulative(
    name: str, primitive: Callable[[int, bool], Primitive], kinds: str, value: str, example: str
) -> Function:
    """Return the public function; short numbers that round are computed in float32, and rounded once."""
    rounds = value not in ("maximum", "minimum")

    def function(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
        (x,) = aligned(name, kinds, (operand,), ("operand",))
        type_ = type_of(x)
        made = primitive(axis_of(name, "axis", axis, type_.ndim), operator.truth(reverse))
        if is_half(type_.dtype) and rounds:
            return e.Cast(type_.dtype)(made(e.Cast(np.dtype(np.float32))(x)))
        return made(x)

    return _named(
        function,
        name,
        kinds,
        f"the {value} of all elements up to each along an axis",
        f"{name}({example}",
    )


cumsum = _cumulative("cumsum", c.CumSum, NUMBER, "sum", "np.array([1, 2, 3])) -> array([1, 3, 6])")
cumprod = _cumulative(
    "cumprod",
    c.CumProd,
    NUMBER,
    "product",
    "np.array([1, 2, 3]), reverse=True) -> array([6, 6, 3])",
)
cummax = _cumulative(
    "cummax", c.CumMax, NUMBER, "maximum", "np.array([1, 3, 2])) -> array([1, 3, 3])"
)
cummin = _cumulative(
    "cummin", c.CumMin, NUMBER, "minimum", "np.array([3, 1, 2])) -> array([3, 1, 1])"
)
cumlogsumexp = _cumulative(
    "cumlogsumexp",
    c.CumLogSumExp,
    FLOAT,
    "logarithm of the sum of exponentials",
    "np.zeros(2)) -> array([0.        , 0.69314718])",
)
