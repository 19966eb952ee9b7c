"""Entries of a sparse Jacobian, found by running its linear program on terms.

A variable has several terms. Each gives every element one input element and one factor; the element is the sum of these products over
the terms. Primitives that move elements move inputs and factors; others compute with the factors alone. So a stencil of three points
is three terms, and a factor that is one number is never an array. A primitive without a rule ends the attempt.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.core.expr import Calling, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.trace import rebind
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import ArrayType
from fungrad.patterns.index_sets import numbered
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from fungrad.primitives.elementwise import add, div, mul, sub
from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice
from fungrad.primitives.joins import Concatenate, Roll, Stack
from fungrad.primitives.naming import Named
from fungrad.primitives.shaping import Broadcast, Rearrangement, ReduceSum
from fungrad.primitives.slices import Pad, Reverse, Slice
from fungrad.primitives.ufunc import Elementwise

MOST = 64
"""Most terms of a variable."""


class Term(NamedTuple):
    """An input for each element of a variable, -1 for none, and a factor: an array, or one number."""

    inputs: np.ndarray[Any, Any]
    factor: Any


Terms: TypeAlias = tuple[Term, ...]
"""A variable that depends linearly on the inputs. Others are arrays, or one number for equal elements."""


def through(expr: Expr, arguments: Sequence[Any]) -> list[Any] | None:
    """Return terms, or values, of the outputs of a linear program; None without a rule, or for too many."""
    known: dict[int, Any] = {v: value_of(x) for v, x in expr.constants.items()}
    known.update(zip(expr.inputs, arguments, strict=True))
    for (primitive, inputs, outputs), source in expr.located():
        operands, types = [known[v] for v in inputs], [expr.types[v] for v in inputs]
        results: Sequence[Any] | None
        if not any(type(x) is tuple for x in operands):
            results = _values(primitive, operands, types, source)
        elif isinstance(primitive, Calling):
            results = through(primitive.callee, operands)
        elif primitive.subprogram is not None:
            results = through(primitive.subprogram.expr, operands)
        else:
            terms = expanded(primitive, operands, types)
            results = None if terms is None or len(terms) > MOST else [terms]
        if results is None:
            return None
        known.update(zip(outputs, results, strict=True))
    return [known[v] for v in expr.outputs]


def array_of(x: Any, type_: ArrayType) -> Any:
    """Return a value as an array; one number is broadcast to the type, in the innermost trace."""
    if not isinstance(x, np.generic):
        return x
    trace = innermost_trace()
    x = x if trace is None else trace.lift(x)
    return Broadcast(type_.shape, tuple(range(type_.ndim)))(x) if type_.shape else x


def value_of(x: Any) -> Any:
    """Return an array, or its one number if it is a broadcast scalar: all its strides are zero."""
    if isinstance(x, np.ndarray) and x.size and not any(x.strides):
        return x[(0,) * x.ndim]
    return x


def _known(x: Any, type_: ArrayType) -> Any:
    """Return a value as an array of NumPy's."""
    return np.broadcast_to(x, type_.shape) if isinstance(x, np.generic) else x


def _values(
    primitive: Primitive, operands: Sequence[Any], types: Sequence[ArrayType], source: Any
) -> Sequence[Any]:
    """Return the results of an equation without linear operands, computed now if they are constant."""
    fixed = not (primitive.effect or primitive.axis_names or primitive.holds_programs)
    if fixed and operands and not any(type(x) is Tracer for x in operands):
        if isinstance(primitive, Elementwise) and all(isinstance(x, np.generic) for x in operands):
            return [np.asarray(primitive.impl(np, *operands))[()]]
        arrays = map(_known, operands, types)
        return [*map(value_of, primitive.as_sequence(primitive.impl(np, *arrays)))]
    results = rebind(primitive, [*map(array_of, operands, types)], source)
    return primitive.as_sequence(results)


@functools.singledispatch
def expanded(
    primitive: Primitive, operands: Sequence[Any], types: Sequence[ArrayType]
) -> Terms | None:
    """Return the terms of a primitive's result; None if it has no rule. At least one operand is terms."""
    return None


def _with(operands: Sequence[Any], types: Sequence[ArrayType], terms: Sequence[Term | None]) -> Any:
    """Return the operands with factors in place of terms, and zeros where there is no term."""
    return [
        x if type(x) is not tuple else t.dtype.type(0) if term is None else term.factor
        for x, t, term in zip(operands, types, terms, strict=True)
    ]


_LINEAR: dict[Primitive, tuple[int, ...]] = {add: (0, 1), sub: (0, 1), div: (0,)}
"""Positions of the operands in which a function is linear, for functions without `linear`."""
_NEUTRAL: dict[Primitive, int] = {mul: 1, add: 0}


@expanded.register
def _(primitive: Elementwise, operands: Sequence[Any], types: Sequence[ArrayType]) -> Terms | None:
    linear = [i for i, x in enumerate(operands) if type(x) is tuple]
    of = _LINEAR.get(primitive, primitive.linear)
    jointly = of is not None and {*linear} <= {*(of or linear)}
    if not jointly and not (primitive.multilinear and len(linear) == 1):
        return None
    found: list[list[Term | None]] = []  # terms of the same inputs are one
    for i in linear:
        for term in operands[i]:
            for same in found:
                one = next(x for x in same if x is not None)
                if same[i] is None and np.array_equal(one.inputs, term.inputs):
                    same[i] = term
                    break
            else:
                found.append([term if j == i else None for j in range(len(operands))])
    results = []
    for chosen in found:
        inputs = next(x.inputs for x in chosen if x is not None)
        factor = _computed(primitive, _with(operands, types, chosen), types)
        results.append(Term(inputs, factor))
    return tuple(results)


def _computed(primitive: Elementwise, operands: Sequence[Any], types: Sequence[ArrayType]) -> Any:
    """Return an elementwise function of arrays and numbers."""
    if all(isinstance(x, np.generic) for x in operands):
        return np.asarray(primitive.impl(np, *operands))[()]
    if primitive in _NEUTRAL:
        for x, y in (operands, operands[::-1]):
            if isinstance(x, np.generic) and x == _NEUTRAL[primitive]:
                return y
    return primitive(*map(array_of, operands, types))


@expanded.register(Rearrangement)
@expanded.register(Concatenate)
@expanded.register(Stack)
@expanded.register(Roll)
@expanded.register(Reverse)
@expanded.register(Named)
@expanded.register(Pad)
@expanded.register(UpdateSlice)
@expanded.register(Gather)
@expanded.register(Scatter)
@expanded.register(DynamicSlice)
@expanded.register(DynamicUpdateSlice)
def _(primitive: Any, operands: Sequence[Any], types: Sequence[ArrayType]) -> Terms | None:
    first = {Gather: 1, Scatter: 2, DynamicSlice: 1, DynamicUpdateSlice: 2}.get(type(primitive))
    indices = [] if first is None else [*map(_known, operands[first:], types[first:])]
    if any(type(x) is Tracer or type(x) is tuple for x in indices):
        return None
    operands, types = operands[:first], types[:first]
    kind = getattr(primitive, "kind", "set")
    if kind == "set":
        return _moved(primitive, operands, types, indices)
    if kind != "add":
        return None
    kept = operands[0] if type(operands[0]) is tuple else ()
    if type(operands[1]) is not tuple:
        return kept
    if isinstance(primitive, Scatter):
        targets = numbered(types[0].shape)[tuple(indices)]
        if np.unique(targets).size < targets.size:
            return None  # several go to one place
    into = dataclasses.replace(primitive, kind="set")
    return (*kept, *_moved(into, (types[0].dtype.type(0), operands[1]), types, indices))


def _moved(
    primitive: Any, operands: Sequence[Any], types: Sequence[ArrayType], indices: Sequence[Any]
) -> Terms:
    """Return the terms of a primitive that only moves elements; operands are joined term by term."""
    results = []
    for chosen in itertools.zip_longest(*[x if type(x) is tuple else () for x in operands]):
        places = [
            np.full(t.shape, -1) if x is None else x.inputs
            for x, t in zip(chosen, types, strict=True)
        ]
        inputs = np.asarray(primitive.impl(np, *places, *indices))
        if not (inputs >= 0).any():
            continue
        factors = [x.factor for x in chosen if x is not None]
        if all(isinstance(x, np.generic) and x == factors[0] for x in factors):
            results.append(Term(inputs, factors[0]))
            continue
        moved = [array_of(x, t) for x, t in zip(_with(operands, types, chosen), types, strict=True)]
        results.append(Term(inputs, primitive(*moved, *indices)))
    return tuple(results)


@expanded.register
def _(primitive: ReduceSum, operands: Sequence[Any], types: Sequence[ArrayType]) -> Terms | None:
    (terms,), (t,) = operands, types
    axes = sorted(primitive.axes)
    lengths = [t.shape[a] for a in axes]
    if math.prod(lengths) * len(terms) > MOST:
        return None
    parts: list[Term] = []
    for place in itertools.product(*map(range, lengths)):
        at = dict(zip(axes, place, strict=True))
        start = tuple([at.get(a, 0) for a in range(t.ndim)])
        stop = tuple([at[a] + 1 if a in at else n for a, n in enumerate(t.shape)])
        part = Slice(start, stop, (1,) * t.ndim, tuple(axes))
        parts += _moved(part, (terms,), types, ())
    return tuple(parts)


def inputs_of(types: Sequence[ArrayType]) -> list[Terms]:
    """Return the terms of the inputs themselves."""
    ends = np.cumsum([0, *[t.size for t in types]])
    return [
        (Term(numbered(t.shape, int(start)), t.dtype.type(1)),)
        for t, start in zip(types, ends, strict=False)
    ]
