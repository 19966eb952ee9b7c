"""Choices between elements of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.core.types import ArrayType, is_key
from fungrad.lax.glossary import public, public_like
from fungrad.lax.operands import array_type_of, brought_to, common_dtype, described, own_result
from fungrad.primitives import elementwise as e


@public
def clamp(min: Any, x: Any, max: Any) -> Any:
    """Return `x`, limited to the range from `min` to `max`.

    Parameters
    ----------
    min, max
        Bounds of the dtype of `x` and of its shape, or without axes.
    x
        Array or number, integer or floating-point.

    Returns
    -------
    array
        Of the shape and dtype of `x`; `max` where `min` is above it. An element at a bound shares the
        derivative with it in halves, so derivatives sum to one (in JAX all are 0 there).

    Raises
    ------
    TypeError
        If dtypes or shapes differ.

    Examples
    --------
    >>> lax.clamp(0.0, np.array([-1.0, 0.5, 3.0]), 1.0)
    array([0. , 0.5, 1. ])
    """
    names, arguments = ("min", "x", "max"), (min, x, max)
    types = [array_type_of("clamp", n, v) for n, v in zip(names, arguments, strict=True)]
    dtype = common_dtype("clamp", "iuf", types, names)
    shape = types[1].shape
    if any(t.shape not in ((), shape) for t in types):
        raise TypeError(
            f"lax.clamp takes bounds of the shape of x or without axes, got {described(types, names)}. Use "
            "fungrad.numpy.clip, which broadcasts."
        )
    return e.clamp(*brought_to(arguments, [dtype] * 3, shape))


def _cases(function: str, which: ArrayType, cases: Sequence[Any]) -> list[ArrayType]:
    """Return the types of the cases; raise TypeError if they do not agree."""
    names = [f"case {i}" for i in range(len(cases))]
    types = [array_type_of(function, n, x) for n, x in zip(names, cases, strict=True)]
    if len({t.shape for t in types}) > 1 or which.shape not in ((), types[0].shape):
        raise TypeError(
            f"lax.{function} takes cases of one shape and a choice of that shape or without axes, got "
            f"{described([which, *types], ['choice', *names])}. Broadcast them, or use fungrad.numpy.where."
        )
    return types


def _choose(function: str, which: Any, cases: Sequence[Any]) -> Any:
    which_type = array_type_of(function, "the choice", which)
    types = _cases(function, which_type, cases)
    names = [f"case {i}" for i in range(len(cases))]
    kinds = "V" if is_key(types[0].dtype) else "biufc"
    dtype, shape = common_dtype(function, kinds, types, names), types[0].shape
    dtypes = [which_type.dtype, *[dtype] * len(cases)]
    which, *cases = brought_to([which, *cases], dtypes, shape)
    chosen = cases[0]
    for number, case in enumerate(cases[1:], 1):
        # By comparison, so that the last case is taken for what is beyond, and the first below 0.
        later = which if dtypes[0].kind == "b" else which >= number
        chosen = e.select(later, case, chosen)
    return own_result(chosen)


@public
def select_n(which: Any, *cases: Any) -> Any:
    """Return for each element that of one of several arrays.

    Parameters
    ----------
    which
        Booleans (False takes the first of two cases, True the second) or integers, the number of the case;
        of the shape of the cases or without axes. Numbers out of range take the nearest case.
    *cases
        Arrays of one shape and dtype.

    Returns
    -------
    array
        Of the shape and dtype of the cases.

    Raises
    ------
    TypeError
        If `which` holds neither booleans nor integers, or cases differ in shape or dtype.

    Examples
    --------
    >>> lax.select_n(np.array([0, 2, 1]), np.zeros(3), np.ones(3), np.full(3, 2.0))
    array([0., 2., 1.])
    """
    type_ = array_type_of("select_n", "which", which)
    if not cases:
        raise ValueError("lax.select_n needs a case")
    if type_.dtype.kind not in "biu":
        raise TypeError(f"lax.select_n: which holds booleans or integers, got {type_}")
    if type_.dtype.kind == "b" and len(cases) > 2:
        raise TypeError(
            f"lax.select_n: booleans choose among two cases, got {len(cases)}; give which as integers"
        )
    return _choose("select_n", which, cases)


@public_like(select_n)
def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Return the elements of one array where a condition holds, and else those of another.

    Parameters
    ----------
    pred
        Booleans, of the shape of the cases or without axes.
    on_true, on_false
        Arrays of one shape and dtype.

    Raises
    ------
    TypeError
        If `pred` does not hold booleans, or cases differ in shape or dtype.

    Examples
    --------
    >>> lax.select(np.array([True, False]), np.array([1, 2]), np.array([3, 4]))
    array([1, 4])
    """
    type_ = array_type_of("select", "pred", pred)
    if type_.dtype.kind != "b":
        raise TypeError(
            f"lax.select: pred holds booleans, got {type_}; compare it with lax.ne(pred, 0)"
        )
    return _choose("select", pred, (on_false, on_true))
