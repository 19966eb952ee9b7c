"""Random straight-line programs, drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np

from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, type_of
from fungrad.primitives import elementwise as e
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.cumulative import CumSum
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice
from fungrad.primitives.joins import Concatenate
from fungrad.primitives.shaping import Broadcast, Permute, ReduceSum, Reshape
from fungrad.primitives.slices import Pad, Reverse, Slice
from fungrad.primitives.sorting import Sort

SHAPES = [(2, 3), (3, 2), (6,), (3,), (2, 3), (), (1, 3), (0, 3)]
DTYPES = [np.dtype(t) for t in (float, float, float, complex, int, bool)]
UNARY = [e.neg, e.sin, e.positive, e.stop_gradient, e.conj, e.real, e.square, e.absolute, e.imag]
BINARY = [e.add, e.sub, e.mul, e.maximum, e.less, e.equal, e.logical_and, e.complex_]
OTHERS = ["reshape", "permute", "reverse", "slice", "broadcast", "broadcast", "sum", "cumsum"]
OTHERS += ["concatenate", "pad", "update", "scatter", "gather", "dot", "select", "sort", "cast"]
OTHERS += ["power"]


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Return an array, or a NumPy scalar for shape ()."""
    if dtype.kind == "b":
        x: Any = rng.random(shape) < 0.5
    elif dtype.kind == "i":
        x = rng.integers(-3, 4, shape)
    else:
        x = rng.uniform(-1, 1, shape)
        x = x + 1j * rng.uniform(-1, 1, shape) if dtype.kind == "c" else x
        x = np.where(rng.random(shape) < 0.2, rng.choice([0.0, -0.0, 1.0], shape), x)
    return np.asarray(x, dtype)[()]


@st.composite
def programs(draw: Any, length: int = 12) -> tuple[Expr, list[Any], tuple[int, ...]]:
    """Draw a program, arguments for it and which of them are donated."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    types: list[ArrayType] = []
    arguments, constants, equations = [], {}, []

    def pick(items: Sequence[Any]) -> Any:
        return items[int(rng.integers(len(items)))]

    count = int(rng.integers(1, 4))
    for _ in range(count):
        arguments.append(values(rng, pick(SHAPES), pick(DTYPES)))
        types.append(type_of(arguments[-1]))
    for _ in range(int(rng.integers(0, 4))):
        shape = pick(SHAPES) if rng.random() < 0.3 else ()
        value = values(rng, shape, pick(DTYPES))
        if rng.random() < 0.4 and not shape:
            value = value.dtype.type(1)
        constants[len(types)] = value
        types.append(type_of(value))
    given = len(types)
    for _ in range(draw(st.integers(0, length))):
        made = (
            _elements(rng, pick, types)
            if rng.random() < 0.3
            else [_equation(rng, pick, types, given)]
        )
        for equation in made:
            if equation is None:
                break
            primitive, inputs = equation
            inputs = tuple(len(types) - 1 if v is LAST else v for v in inputs)
            try:
                results = primitive.infer(tuple(types[v] for v in inputs))
            except (TypeError, ValueError, IndexError):
                break
            outputs = tuple(range(len(types), len(types) + len(results)))
            types.extend(results)
            equations.append(Equation(primitive, inputs, outputs))
    outs = [int(rng.integers(len(types))) for _ in range(int(rng.integers(1, 4)))]
    outs += [len(types) - 1] if rng.random() < 0.8 else []
    donated = tuple(i for i in range(count) if rng.random() < 0.4)
    expr = Expr(tuple(range(count)), tuple(equations), tuple(outs), tuple(types), constants)
    return expr.check(), arguments, donated


LAST = -1
"""Stands for the result of the equation before."""


def _elements(rng: np.random.Generator, pick: Any, types: list[ArrayType]) -> list[Any]:
    """Return the equations of ``x[i]``, ``x[i] = y``, ``x[i] += y`` or ``x[1:]``, also at places that are operands."""
    arrays = [v for v, t in enumerate(types) if t.size and t.ndim]
    if not arrays:
        return []
    v = arrays[-1 - min(int(rng.geometric(0.5)) - 1, len(arrays) - 1)]
    t = types[v]
    axes = int(rng.integers(1, t.ndim + 1))  # the number of leading axes that integers index
    at = [int(rng.integers(n)) for n in t.shape[:axes]]
    start = (*at, *(0 for _ in t.shape[axes:]))
    stop = (*(i + 1 for i in at), *t.shape[axes:])
    step = (1,) * t.ndim
    rest = t.shape[axes:]
    starts = [w for w, u in enumerate(types) if not u.shape and u.dtype.kind == "i"]
    if starts and rng.random() < 0.5:
        size = int(rng.integers(1, t.shape[0] + 1))
        where = (0,), (size,), (t.shape[0] - size,)
        dropped = (0,) if size == 1 and rng.random() < 0.5 else ()
        into = DynamicUpdateSlice(*where, pick(["set", "add"]), dropped)
        read = DynamicSlice(*where, dropped), (v, pick(starts))
        write = into, (v, LAST, pick(starts))
        return [[read], [read, write], [read, (pick([e.neg, e.sin]), (LAST,)), write]][
            int(rng.integers(3))
        ]
    dropped = tuple(range(axes))
    roll = rng.random()
    if roll < 0.2:
        return [(Slice(start, stop, step), (v,)), (Reshape(rest), (LAST,))]
    if roll < 0.4:
        return [(Slice(start, stop, step, dropped), (v,))]
    values = [w for w, u in enumerate(types) if (u.shape, u.dtype) == (rest, t.dtype)]
    if not values:
        return []
    if rng.random() < 0.4:
        into = UpdateSlice(start, stop, step, pick(["set", "add"]), dropped)
        return [(into, (v, pick(values)))]
    unit = (Reshape((1,) * axes + rest), (pick(values),))
    if rng.random() < 0.5:
        return [unit, (UpdateSlice(start, stop, step, pick(["set", "add"])), (v, LAST))]
    zeros = [w for w, u in enumerate(types) if not u.shape and u.dtype == t.dtype]
    if not zeros:
        return []
    high = tuple(n - s for n, s in zip(t.shape, stop, strict=True))
    return [unit, (Pad(start, high, (0,) * t.ndim), (LAST, pick(zeros))), (e.add, (v, LAST))]


def _equation(
    rng: np.random.Generator, pick: Any, types: list[ArrayType], given: int
) -> tuple[Primitive, tuple[int, ...]] | None:
    n = len(types)
    # The recent ones more often: then programs are deep, and memory is free to be used again.
    v = n - 1 - min(int(rng.geometric(0.35)) - 1, n - 1)
    t = types[v]

    def like(shape: tuple[int, ...], dtype: np.dtype) -> int | None:
        found = [w for w, u in enumerate(types) if (u.shape, u.dtype) == (shape, dtype)]
        return pick(found) if found else None

    def indices(length: int) -> int | None:
        found = [
            w for w, u in enumerate(types[:given]) if (u.shape, u.dtype.kind) == ((length,), "i")
        ]
        return pick(found) if found else None

    def call(primitive: Primitive, *inputs: int | None) -> Any:
        return None if None in inputs else (primitive, inputs)

    roll = rng.random()
    if roll < 0.3:
        return call(pick(UNARY if t.dtype.kind == "c" else UNARY[:-1]), v)
    if roll < 0.6:
        w = like(t.shape, t.dtype)
        return call(pick(BINARY), v, w) if rng.random() < 0.5 else call(pick(BINARY), w, v)
    axis = int(rng.integers(max(t.ndim, 1)))
    last = (t.ndim - 1,)
    long = t.ndim > 0 and t.shape[0] >= 4  # indices are between -3 and 3
    match pick(OTHERS):
        case "reshape":
            shapes = [s for s in [*SHAPES, (t.size,), (1, t.size)] if np.prod(s) == t.size]
            return call(Reshape(pick(shapes)), v)
        case "permute":
            return call(Permute(tuple(int(a) for a in rng.permutation(t.ndim))), v)
        case "reverse":
            return call(Reverse(tuple(a for a in range(t.ndim) if rng.random() < 0.5)), v)
        case "slice" | "update" as kind:
            start = tuple(int(rng.integers(0, n)) if n else 0 for n in t.shape)
            stop = tuple(int(rng.integers(s, n + 1)) for s, n in zip(start, t.shape, strict=True))
            step = tuple(int(rng.integers(1, 3)) for _ in t.shape)
            taken = Slice(start, stop, step)
            if kind == "slice":
                return call(taken, v)
            updates = like(taken.infer((t,))[0].shape, t.dtype)
            return call(UpdateSlice(start, stop, step, pick(["set", "add"])), v, updates)
        case "broadcast" if t.ndim < 3:
            at = int(rng.integers(t.ndim + 1))
            return call(Broadcast((*t.shape[:at], pick([1, 2, 3]), *t.shape[at:]), (at,)), v)
        case "sum":
            return call(ReduceSum(tuple(a for a in range(t.ndim) if rng.random() < 0.5)), v)
        case "cumsum":
            return call(CumSum(axis, rng.random() < 0.5), v)
        case "concatenate":
            others = [like(t.shape, t.dtype) for _ in range(int(rng.integers(3)))]
            return call(Concatenate(axis), v, *others)
        case "pad":
            low = tuple(int(rng.integers(-1, 2)) for _ in t.shape)
            return call(Pad(low, tuple(-k for k in low), (0,) * t.ndim), v, like((), t.dtype))
        case "gather" if long:
            return call(Gather(), v, indices(pick([2, 3, 6])))
        case "scatter" if long:
            i = indices(pick([3, 6]))
            rows = None if i is None else like(types[i].shape + t.shape[1:], t.dtype)
            return call(Scatter(pick(["add", "set", "mul"])), v, rows, i)
        case "dot" if t.ndim:
            w = like(t.shape[::-1], t.dtype)
            return call(DotGeneral((last, (0,)), ((), ()), (t.ndim, t.ndim)), v, w)
        case "select":
            return call(e.select, like(t.shape, np.dtype(bool)), v, like(t.shape, t.dtype))
        case "sort":
            w = like(t.shape, np.dtype(float))
            return call(Sort(axis), v) if rng.random() < 0.5 else call(Sort(axis), v, w)
        case "cast":
            return call(e.Cast(pick(DTYPES)), v)
        case "power":
            return call(e.IntegerPower(pick([-1, 2, 3])), v)
    return None


def reference(expr: Expr, arguments: Sequence[Any]) -> list[Any]:
    """Run the program with a fresh copy of every operand, so that no two values share memory."""
    from fungrad.core.primitive import execute

    known = dict(expr.constants) | dict(zip(expr.inputs, arguments, strict=True))
    for primitive, inputs, outputs in expr.equations:
        results = execute(primitive, [np.array(known[v])[()] for v in inputs])
        results = results if primitive.multiple_results else (results,)
        for v, x in zip(outputs, results, strict=True):
            known[v] = np.array(x)[()]
    return [known[v] for v in expr.outputs]


def assert_same(
    found: Sequence[Any], expected: Sequence[Any], rtol: float = 0.0, signs: bool = True
) -> None:
    """Equal types and values; with `rtol` 0, equal bits apart from which NaN it is.

    Zeros may differ in sign if `signs` is False.
    """
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert isinstance(x, np.ndarray) == bool(np.ndim(y)), f"{type(x)} for {type(y)}"
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if rtol and y.dtype.kind in "fc":
            np.testing.assert_allclose(x, y, rtol, rtol)
            continue
        np.testing.assert_array_equal(x, y)
        if signs and y.dtype.kind in "fc":
            for part in ("real", "imag"):
                a, b = getattr(x, part), getattr(y, part)
                numbers = ~np.isnan(a)
                np.testing.assert_array_equal(np.signbit(a) & numbers, np.signbit(b) & numbers)
