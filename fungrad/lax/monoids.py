"""Functions of two numbers that reductions are made by, and those among them that NumPy has."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, kind_of, type_list
from fungrad.primitives import elementwise as e
from fungrad.programs.closing import Closure, close
from fungrad.transforms.arguments import check_callable


def least(dtype: np.dtype[Any]) -> Any:
    """Return the maximum of no numbers: the least number of a dtype."""
    kind = kind_of(dtype)
    if kind in "iu":
        return np.iinfo(dtype).min
    return False if kind == "b" else -math.inf


def greatest(dtype: np.dtype[Any]) -> Any:
    """Return the minimum of no numbers: the greatest number of a dtype."""
    kind = kind_of(dtype)
    if kind in "iu":
        return np.iinfo(dtype).max
    return True if kind == "b" else math.inf


IDENTITIES: dict[Primitive, Callable[[np.dtype[Any]], Any]] = {
    e.add: lambda dtype: 0,
    e.mul: lambda dtype: 1,
    e.maximum: least,
    e.minimum: greatest,
    e.bitwise_and: lambda dtype: np.invert(dtype.type(0)),
    e.bitwise_or: lambda dtype: 0,
    e.bitwise_xor: lambda dtype: 0,
    e.logical_and: lambda dtype: True,
    e.logical_or: lambda dtype: False,
    e.logical_xor: lambda dtype: False,
}
"""The associative and commutative operations, each with its identity by dtype."""


def monoid_of(program: Program) -> Primitive | None:
    """Return the operation of `IDENTITIES` that a program of two numbers is; None if it is none."""
    expr = program.expr
    if len(expr.equations) != 1 or len(expr.inputs) != 2:
        return None
    ((primitive, inputs, outputs),) = expr.equations
    whole = outputs == expr.outputs and sorted(inputs) == sorted(expr.inputs)
    return primitive if whole and primitive in IDENTITIES else None


def closed(
    name: str,
    computation: Callable[[Any, Any], Any],
    structure: tree.TreeDef,
    types: Sequence[ArrayType],
) -> Closure:
    """Return the program of a computation with numbers; raise TypeError for wrong results."""
    check_callable(computation, f"lax.{name}: computation")
    wanted = [ArrayType((), t.dtype) for t in types]
    numbers = tree.unflatten(structure, wanted)
    closure = close(f"lax.{name}", computation, numbers, numbers)
    if closure.structure != structure or list(closure.types) != wanted:
        raise TypeError(
            f"lax.{name}: computation must return numbers like those it takes, {type_list(wanted)} in {structure}; it "
            f"returned {type_list(closure.types)} in {closure.structure}"
        )
    return closure
