"""How far apart two ways of rounding may bring the results of a program: measured, by rounding at random.

A program is run equation by equation, and each result moved up or down by some units in the last place (J. Vignes, "A
stochastic arithmetic for reliable scientific computation", 1993; D. S. Parker, "Monte Carlo arithmetic", 1997). What
must not be rounded in two ways is not moved: what only moves or compares numbers, and operations that IEEE 754 rounds
correctly, as long as their operands are known exactly.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from fungrad.compile.flow import Choice, Repeat, Until
from fungrad.core.backend import NUMPY
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.cumulative import CumSum, LinearRecurrence
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.indexing import Scatter, Update
from fungrad.primitives.lengths import RootMeanSquare
from fungrad.primitives.reductions import ReduceProd
from fungrad.primitives.shaping import ReduceSum
from fungrad.primitives.stacks import OfMatrices
from fungrad.primitives.ufunc import Elementwise

OPERATION = 1.0
"""Units in the last place by which two roundings of an operation can be apart."""
FUNCTION = 2.0
"""Those by which a kernel's elementary function may be wrong."""
FACTOR = 4.0
"""How much further than that each result is moved."""

EXACT = frozenset(
    [
        "negative",
        "absolute",
        "fabs",
        "sign",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "copysign",
        "conjugate",
        "real",
        "imag",
        "positive",
        "where",
        "select",
        "stop_gradient",
        "lent",
        "complex",
        "zeros_like",
        "ones_like",
        "fmod",
        "clip",
        "frexp",
        "signbit",
        "asarray",
    ]
)
"""Functions of NumPy, and primitives, that round nothing."""
CORRECT = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "true_divide",
        "sqrt",
        "square",
        "reciprocal",
        "ldexp",
        "remainder",
        "floor_divide",
    ]
)
"""Those that are rounded correctly, or as an operation of that kind is."""
OF_COMPLEX = EXACT - {"absolute"}
SUMS = {"add", "subtract"}
WIDE = {"f2": "f8", "f4": "f8", "f8": "g", "c8": "c16", "c16": "G"}

JUMP = 1 + 1 / 64
"""How much further than its distance from the furthest a result may be: where a function jumps (``(3 * x) % x``), what is moved
by several units lands as many away from the edge, and what is right lies on the edge."""


def _erfc(x: Any) -> Any:
    """Return erfc(x); SciPy squares and rounds x before it takes e^(-x^2), which is up to 500 units in the last place off."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return scipy.special.erfc(x)
    wide = np.exp(-np.square(x.astype("g"))) * scipy.special.erfcx(np.abs(x).astype("f8"))
    return np.where(x > 1.0, wide.astype(x.dtype), scipy.special.erfc(x))[()]


def _expit(x: Any) -> Any:
    """Return 1 / (1 + e^-x); SciPy gives 0 where e^-x overflows, though the result has some digits left there."""
    x = np.asarray(x)
    wide = WIDE.get(x.dtype.str[1:], x.dtype)
    return scipy.special.expit(x.astype(wide)).astype(x.dtype)[()]


PRECISE = {"erfc": _erfc, "expit": _expit}
"""In place of library functions that are further off than a kernel's may be."""


class Value(NamedTuple):
    """An array, and whether it has the same bits however the program is rounded."""

    array: Any
    exact: bool


def spread(
    expr: Expr, arguments: Sequence[Any], runs: int, seed: int
) -> list[tuple[Any, Any, bool]]:
    """Return of each output: what it is, how far it may be from that, and whether it must be equal.

    Of booleans and integers the distance is infinite where they may differ.
    """
    given = [Value(x, True) for x in arguments]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        center = Rounded(None).run(expr, given)
        # Equal numbers are rounded alike, and errors of functions can be of one sign.
        rngs = [np.random.default_rng((seed, i)) for i in range(runs)]
        moved = [_moved(expr, given, rng, i % 2 == 0) for i, rng in enumerate(rngs)]
        found = []
        for k, (x, exact) in enumerate(center):
            distances = [np.inf if run is None else _distance(x, run[k].array) for run in moved]
            exact = exact and all(run is not None and run[k].exact for run in moved)
            apart = JUMP * functools.reduce(np.maximum, distances, 0.0) if not exact else 0.0
            found.append((x, apart, exact))
    return found


def _moved(
    expr: Expr, given: list[Value], rng: np.random.Generator, alike: bool
) -> list[Value] | None:
    """Return the outputs of a program that is rounded at random; None if it then fails, as of an index that is out of range."""
    try:
        return Rounded(rng, alike).run(expr, given)
    except (IndexError, np.linalg.LinAlgError):
        return None


def _distance(x: Any, y: Any) -> Any:
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "fc":
        return np.where(x == y, 0.0, np.inf)
    wide = WIDE[x.dtype.str[1:]]
    apart = np.abs(x.astype(wide) - y.astype(wide)).astype(float)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


class Rounded:
    """Runs programs with results that are moved at random; without random numbers, with sums that are precise."""

    target = NUMPY  # to primitives this is a namespace of NumPy's functions

    def __init__(self, rng: np.random.Generator | None, alike: bool = False) -> None:
        self.rng = rng
        self.alike = alike  # whether all elements of a result are moved in the same way

    def __getattr__(self, name: str) -> Any:
        """Return a function of NumPy's with results that are moved."""
        function = getattr(np, name)
        if name in EXACT or not isinstance(function, np.ufunc):
            return function
        ulps = OPERATION if name in CORRECT else FUNCTION
        if name in ("logaddexp", "logaddexp2"):  # a sum, of which an operand is a summand
            return lambda x, y: self.moved(
                function(x, y), ulps, np.maximum(np.abs(x), np.abs(y)) + np.abs(function(x, y))
            )
        return lambda *operands, **more: self.moved(function(*operands, **more), ulps)

    def moved(self, x: Any, ulps: float, size: Any = None) -> Any:
        """Return floating-point numbers, each moved by so many units in the last place of itself, or of another number."""
        x = np.asarray(x)
        if self.rng is None or x.dtype.kind not in "fc" or not ulps:
            return x[()]
        of = np.finfo(x.dtype)
        unit = np.maximum(np.abs(x if size is None else size) * of.eps, of.smallest_subnormal)
        distance = FACTOR * ulps * self._signs(x.shape)
        if x.dtype.kind == "c":
            distance = distance + 1j * FACTOR * ulps * self._signs(x.shape)
        wide = WIDE[x.dtype.str[1:]] if x.dtype.itemsize < 8 else x.dtype
        there = (x.astype(wide) + distance * unit).astype(x.dtype)
        return np.where(np.isfinite(x) & np.isfinite(there), there, x)[()]

    def _signs(self, shape: tuple[int, ...]) -> Any:
        assert self.rng is not None
        number = self.rng.uniform(-0.5, 0.5, () if self.alike else shape)
        return number + np.copysign(0.5, number)

    def run(self, expr: Expr, arguments: Sequence[Value]) -> list[Value]:
        """Return the outputs of a program."""
        values = {v: Value(x, True) for v, x in expr.constants.items()}
        values |= dict(zip(expr.inputs, arguments, strict=True))
        for primitive, inputs, outputs in expr.equations:
            types = [expr.types[v] for v in outputs]
            found = self.computed(primitive, [values[v] for v in inputs], types)
            values |= dict(zip(outputs, found, strict=True))
        return [values[v] for v in expr.outputs]

    def computed(
        self, primitive: Primitive, operands: list[Value], types: list[ArrayType]
    ) -> list[Value]:
        """Return the results of an equation, which have these types."""
        flow = primitive.uncut.control_flow if primitive.holds_programs else None
        if flow is not None:
            return self._flow(flow, operands, types)
        for part in ("function", "program"):  # rules of one's own, checkpoints
            if part in primitive.parts:
                return self.run(primitive.parts[part].expr, operands)
        arrays, exact = [x.array for x in operands], all(x.exact for x in operands)
        if isinstance(primitive, OfMatrices):
            n = float(max([max(np.shape(x)[-2:], default=1) for x in arrays], default=1))
            arrays = [self.moved(x, n) for x in arrays]
            found = primitive.as_sequence(primitive.impl(np, *arrays))
            return [Value(self.moved(x, FUNCTION), False) for x in found]
        if isinstance(primitive, Elementwise):
            return [self._element(primitive, arrays, exact)]
        summands = _summands(primitive, arrays)
        if summands is None:
            found = primitive.as_sequence(primitive.impl(np, *arrays))
            ulps = math.sqrt(np.size(arrays[0])) if isinstance(primitive, ReduceProd) else 0.0
            return [Value(self.moved(x, ulps), exact and not ulps) for x in found]
        dtype = np.asarray(arrays[0]).dtype
        if dtype.kind not in "fc":
            return [Value(primitive.impl(np, *arrays), exact)]
        return [self._sum(primitive, arrays, summands, dtype)]

    def _element(self, primitive: Elementwise, arrays: list[Any], exact: bool) -> Value:
        correct = primitive.name in CORRECT or isinstance(primitive, Cast)
        if any(np.asarray(x).dtype.kind == "c" for x in arrays):  # NumPy's own loops differ
            known = primitive.name in OF_COMPLEX or (exact and primitive.name in SUMS)
        else:
            known = primitive.name in EXACT or (exact and correct)
        if known:
            return Value(primitive.impl(np, *arrays), exact)
        precise = PRECISE.get(primitive.name)
        found = primitive.impl(self, *arrays) if precise is None else precise(*arrays)
        if primitive.name not in CORRECT:
            found = self.moved(found, OPERATION if isinstance(primitive, Cast) else FUNCTION)
        return Value(found, exact and np.asarray(found).dtype.kind not in "fc")

    def _sum(self, primitive: Primitive, arrays: list[Any], summands: float, dtype: Any) -> Value:
        """Return a sum as precise as can be; its error is in proportion to the sum of magnitudes."""
        wide = np.dtype(WIDE[dtype.str[1:]])
        real = np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype

        def of(change: Any) -> Any:
            return [change(x) if np.asarray(x).dtype == dtype else x for x in arrays]

        total = np.asarray(primitive.impl(np, *of(lambda x: np.asarray(x).astype(wide)[()])))
        sizes = primitive.impl(np, *of(lambda x: np.abs(x).astype(real)))
        ulps = math.sqrt(summands) / 2 + 1
        if isinstance(primitive, (ReduceSum, RootMeanSquare)):
            # Columns are added in order, and many equal numbers round to one side: of arrays in C order NumPy does so too.
            in_order = primitive.impl(
                np, *of(lambda x: np.ascontiguousarray(x).reshape(np.shape(x)))
            )
            sizes = sizes + np.nan_to_num(np.abs(in_order - total) / (ulps * np.finfo(real).eps))
        found = self.moved(total.astype(dtype), ulps, sizes)
        return Value(found, False)

    # Programs within programs

    def _flow(self, flow: Any, operands: list[Value], types: list[ArrayType]) -> list[Value]:
        match flow:
            case Choice():
                which = int(operands[0].array)
                found = self.run(flow.branches[which], operands[1:])
                return [x._replace(exact=x.exact and operands[0].exact) for x in found]
            case Repeat():
                return self._repeat(flow, operands, types)
            case Until():
                return self._until(flow, operands)
        raise TypeError(flow)

    def _repeat(self, flow: Repeat, operands: list[Value], types: list[ArrayType]) -> list[Value]:
        c, k = flow.counts
        constants, carries, taken = operands[:c], operands[c : c + k], operands[c + k :]
        if flow.before is not None:
            constants = [*constants, *self.run(flow.before, constants)]
        filled = [Value(np.empty(t.shape, t.dtype), True) for t in types[k:]]
        for rows, body in flow.spans:
            sources = [rows.of(x.array) for x in taken]
            targets = [rows.of(x.array) for x in filled]
            for i in range(rows.rounds):
                row = [Value(x[i], v.exact) for x, v in zip(sources, taken, strict=True)]
                found = self.run(body, [*constants, *carries, *row])
                carries = found[:k]
                for number, y in enumerate(found[k:]):
                    targets[number][i] = y.array
                    exact = filled[number].exact and y.exact
                    filled[number] = filled[number]._replace(exact=exact)
        return [*carries, *filled]

    def _until(self, flow: Until, operands: list[Value]) -> list[Value]:
        a, b = flow.counts
        tested, constants, carries = operands[:a], operands[a : a + b], operands[a + b :]
        while True:
            (going,) = self.run(flow.condition, [*tested, *carries])
            if not going.array:
                return [x._replace(exact=x.exact and going.exact) for x in carries]
            carries = self.run(flow.body, [*constants, *carries])


def _summands(primitive: Primitive, arrays: list[Any]) -> float | None:
    """Return how many numbers each of the results is a sum of; None if they are no sums."""
    match primitive:
        case RootMeanSquare():
            shape = np.shape(arrays[0])
            return float(len(arrays) * np.prod([shape[a] for a in primitive.axes]))
        case ReduceSum():
            return float(np.prod([np.shape(arrays[0])[a] for a in primitive.axes]))
        case CumSum():
            return float(np.shape(arrays[0])[primitive.axis])
        case LinearRecurrence():  # of products, of which the library makes others than kernels do
            return 2.0 * np.shape(arrays[0])[primitive.axis]
        case DotGeneral():
            return float(np.prod([np.shape(arrays[0])[a] for a in primitive.contracting[0]]))
        case Scatter() | Update():
            return float(np.size(arrays[1])) if primitive.kind in ("add", "mul") else None
    return None
