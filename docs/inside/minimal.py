"""fungrad in 400 lines: trace, linearize, transpose, batch and compile functions of NumPy arrays.

The package with its own names, and little else: nine primitives of one result each, no pytrees, no assignment to
elements, no reading of source. Tests run the examples. Brackets name the files that do the same in full.

    f --trace--> Expr --rewrite--> Expr --compile--> function --run--> arrays
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

Function = Callable[..., Any]
Values = Sequence[Any]
LEVELS = itertools.count()

# 1. Programs [core/types.py, core/expr.py]
# A program is a list of equations in single static assignment form: variables are integers, and each is set once. A
# variable has a type and no value. An equation applies a primitive, which is an operation that has rules.


class ArrayType(NamedTuple):
    """Shape and dtype of an array."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class Equation(NamedTuple):
    """One step of a program: result = primitive(*operands)."""

    primitive: Primitive
    operands: tuple[int, ...]
    result: int


@dataclass(frozen=True)
class Expr:
    """A program. Inputs, results and outputs are variables, which index `types`."""

    inputs: tuple[int, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[int, ...]
    types: tuple[ArrayType, ...]

    def __str__(self) -> str:
        typed = lambda v: f"v{v}:{self.types[v]}"
        lines = [f"{{ lambda {' '.join(map(typed, self.inputs))} ."]
        for primitive, operands, result in self.equations:
            lines.append(f"  {typed(result)} = {primitive} {' '.join(f'v{v}' for v in operands)}")
        return "\n".join([*lines, f"  return ({', '.join(f'v{v}' for v in self.outputs)}) }}"])


# 2. Tracing [core/tracer.py, core/trace.py, core/primitive.py]
# Running a function on tracers records its program. `bind` is the only way anything is computed: it computes if no
# operand is a tracer, and else records an equation in the trace of the highest level among the operands. Arrays, and
# tracers of other traces, are captured there: they become inputs of the program.
# An inner trace has the higher level. So an equation is in the inner trace exactly if it depends on an inner tracer.


class Trace:
    """A program that is being recorded. Given `values` of the inputs, Python may ask for values."""

    def __init__(self, types: Iterable[ArrayType], values: Values = ()) -> None:
        self.level = next(LEVELS)
        self.types = list(types)
        self.inputs = tuple(range(len(self.types)))
        self.equations: list[Equation] = []
        self.captured: dict[int, tuple[int, Any]] = {}  # by id: the variable and the value
        self.values = dict(zip(self.inputs, values))

    def variable_of(self, x: Any) -> int:
        if isinstance(x, Tracer) and x.trace is self:
            return x.variable
        if id(x) not in self.captured:
            self.captured[id(x)] = len(self.types), x
            self.values[len(self.types)] = x
            self.types.append(type_of(x))
        return self.captured[id(x)][0]

    def record(self, primitive: Primitive, operands: Values) -> Tracer:
        variables = tuple(map(self.variable_of, operands))
        self.equations.append(Equation(primitive, variables, len(self.types)))
        self.types.append(primitive.abstract_eval(*(self.types[v] for v in variables)))
        return Tracer(self, len(self.types) - 1)

    def evaluate(self, variable: int) -> Any:
        if not self.values.keys() >= {*self.inputs}:
            raise TypeError("Python asks for a traced value, which is not known here.")
        for primitive, operands, result in self.equations:
            if result not in self.values:
                self.values[result] = bind(primitive, *(self.values[v] for v in operands))
        return self.values[variable]

    def expr_of(self, *outputs: Any) -> tuple[Expr, list[Any]]:
        out = tuple(map(self.variable_of, outputs))
        variables, values = zip(*self.captured.values()) if self.captured else ((), ())
        inputs = (*variables, *self.inputs)
        return Expr(inputs, tuple(self.equations), out, tuple(self.types)), list(values)


class Tracer:
    """A variable of a trace in the place of an array. NumPy's functions and operators take it."""

    def __init__(self, trace: Trace, variable: int) -> None:
        self.trace, self.variable = trace, variable
        self.shape, self.dtype = trace.types[variable]

    __array_ufunc__ = lambda self, ufunc, method, *operands: FUNCTIONS[ufunc](*operands)

    __array_function__ = lambda self, function, types, xs, named: FUNCTIONS[function](*xs, **named)
    __bool__ = lambda self: bool(self.trace.evaluate(self.variable))
    __neg__ = lambda x: np.negative(x)
    __add__ = __radd__ = lambda x, y: np.add(x, y)
    __mul__ = __rmul__ = lambda x, y: np.multiply(x, y)
    __sub__, __rsub__ = (lambda x, y: np.add(x, -y)), (lambda x, y: np.add(-x, y))
    __gt__, __lt__ = (lambda x, y: np.greater(x, y)), (lambda x, y: np.greater(y, x))


def bind(primitive: Primitive, *operands: Any) -> Any:
    """Compute a primitive, or record it in the innermost trace that an operand belongs to."""
    traces = [x.trace for x in operands if isinstance(x, Tracer)]
    innermost = max(traces, key=lambda trace: trace.level, default=None)
    return innermost.record(primitive, operands) if innermost else primitive.impl(*operands)


def type_of(x: Any) -> ArrayType:
    """Return the type of an array, number or tracer."""
    x = x if hasattr(x, "dtype") else np.asarray(x)
    return ArrayType(x.shape, x.dtype)


def trace(f: Function, types: Iterable[ArrayType], values: Values = ()) -> tuple[Expr, list[Any]]:
    """Return the program of f, whose first inputs are the captured values, and these values.

    >>> print(trace(lambda x: np.sum(np.sin(x) * x), [ArrayType((3,), np.dtype(float))])[0])
    { lambda v0:float64[3] .
      v1:float64[3] = sin v0
      v2:float64[3] = multiply v1 v0
      v3:float64[] = ReduceSum[axes=(0,)] v2
      return (v3) }
    """
    opened = Trace(types, values)
    return opened.expr_of(f(*(Tracer(opened, v) for v in opened.inputs)))


# 3. Primitives [core/primitive.py, primitives/, numpy/ufuncs.py]
# A primitive is declared once, with all its rules. `impl` is the result on arrays, `abstract_eval` its type, `jvp` its
# tangent, from tangents (None is zero), result and operands. `transpose` takes the cotangent of the result to those of
# the linear operands, which are None. In `batch`, operands may have a batch axis, always axis 0. `source` is printed by
# `jit`. Rules are written with NumPy's functions, so they can be traced, and derivatives have derivatives.


class Primitive:
    """An operation with rules. Its fields are its parameters. Linear ones of one operand need no `jvp`."""

    __str__ = lambda self: f"{type(self).__name__}[axes={self.axes}]"
    moved = property(lambda self: tuple(a + 1 for a in self.axes))
    jvp = lambda self, tangents, out, x: bind(self, *tangents)


@dataclass(frozen=True)
class Elementwise(Primitive):
    """A ufunc, its partial derivatives and, where it is linear, its transpose."""

    ufunc: np.ufunc
    partials: tuple[Function, ...] = ()
    transpose: Function | None = None

    __str__ = lambda self: self.ufunc.__name__
    impl = lambda self, *operands: self.ufunc(*operands)

    def abstract_eval(self, *types: ArrayType) -> ArrayType:
        dtypes = self.ufunc.resolve_dtypes((*(t.dtype for t in types), None))
        return ArrayType(types[0].shape, dtypes[-1])

    def jvp(self, tangents: Values, out: Any, *operands: Any) -> Any:
        terms = [d(t, out, *operands) for t, d in zip(tangents, self.partials) if t is not None]
        return sum(terms[1:], terms[0]) if terms else None

    def batch(self, n: int, is_batched: Sequence[bool], *operands: Any) -> Any:
        shape = type_of(operands[is_batched.index(True)]).shape
        return bind(self, *(repeat(x, shape) for x in operands))

    source = lambda self, *operands: f"np.{self}({', '.join(operands)})"


@dataclass(frozen=True)
class ReduceSum(Primitive):
    """Sum along axes of an operand of a shape. It is linear and transposes to `Broadcast`."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    impl = lambda self, x: np.sum(x, self.axes)

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x._replace(shape=tuple(n for a, n in enumerate(x.shape) if a not in self.axes))

    transpose = lambda self, ct, x: [bind(Broadcast(self.shape, self.axes), ct)]
    batch = lambda self, n, _, x: bind(ReduceSum((n, *self.shape), self.moved), x)
    source = lambda self, x: f"np.sum({x}, {self.axes})"


@dataclass(frozen=True)
class Broadcast(Primitive):
    """Repeat along new axes: the result has a shape, in which `axes` are new. Transposes to `ReduceSum`."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    impl = lambda self, x: np.broadcast_to(np.expand_dims(x, self.axes), self.shape)
    abstract_eval = lambda self, x: x._replace(shape=self.shape)
    transpose = lambda self, ct, x: [bind(ReduceSum(self.shape, self.axes), ct)]
    batch = lambda self, n, _, x: bind(Broadcast((n, *self.shape), self.moved), x)
    source = lambda self, x: f"np.broadcast_to(np.expand_dims({x}, {self.axes}), {self.shape})"


of_product = lambda ct, x, y: (ct * y, None) if x is None else (None, x * ct)
TABLE = [
    Elementwise(np.add, (lambda t, *_: t,) * 2, lambda ct, x, y: (ct, ct)),
    Elementwise(np.negative, (lambda t, *_: -t,), lambda ct, x: (-ct,)),
    Elementwise(np.multiply, (lambda t, _, x, y: t * y, lambda t, _, x, y: x * t), of_product),
    Elementwise(np.sin, (lambda t, out, x: t * np.cos(x),)),
    Elementwise(np.cos, (lambda t, out, x: -t * np.sin(x),)),
    Elementwise(np.exp, (lambda t, out, x: t * out,)),
    Elementwise(np.greater),
]


def repeat(x: Any, shape: tuple[int, ...]) -> Any:
    """Return x repeated along the leading axes that it lacks."""
    new = len(shape) - len(type_of(x).shape)
    assert type_of(x).shape == shape[new:], "axes of length 1 are not repeated here"
    return bind(Broadcast(shape, tuple(range(new))), x) if new else x


def elementwise(primitive: Elementwise, *operands: Any) -> Any:
    """Apply a primitive to operands of shapes that NumPy broadcasts."""
    shape = np.broadcast_shapes(*(type_of(x).shape for x in operands))
    return bind(primitive, *(repeat(x, shape) for x in operands))


def reduce_sum(x: Tracer, axis: int | None = None) -> Any:
    """Return the sum along an axis, or along all."""
    axes = tuple(range(len(x.shape))) if axis is None else (axis % len(x.shape),)
    return bind(ReduceSum(x.shape, axes), x)


FUNCTIONS = {row.ufunc: partial(elementwise, row) for row in TABLE} | {np.sum: reduce_sum}

# 4. Linearize and transpose [rewrite/linearize.py, rewrite/transpose.py, transforms/grad.py]
# Forward mode runs the equations and, beside them, their tangents. For reverse mode the tangents have a trace of their
# own. An equation is recorded there exactly if it depends on a tangent, and the primal values that it needs are
# captured: the residuals are the captures. The recorded program is linear; run backwards, it gives the gradient.


def push_forward(expr: Expr, primals: Values, tangents: Values) -> tuple[Any, Any]:
    """Run a program, on arrays or tracers; return the output and its tangent. None is a zero tangent."""
    env = dict(zip(expr.inputs, zip(primals, tangents)))
    for primitive, operands, result in expr.equations:
        xs, ts = zip(*(env[v] for v in operands))
        out = bind(primitive, *xs)
        env[result] = out, None if all(t is None for t in ts) else primitive.jvp(ts, out, *xs)
    return env[expr.outputs[0]]


def pull_back(linear: Expr, residuals: Values, ct: Any) -> list[Any]:
    """Return the cotangents of the linear inputs, which are those after the residuals."""
    known = dict(zip(linear.inputs, residuals))
    cts = {linear.outputs[0]: ct}
    for primitive, operands, result in reversed(linear.equations):
        if result in cts:
            found = primitive.transpose(cts.pop(result), *(known.get(v) for v in operands))
            for v, x in zip(operands, found):
                if v not in known:
                    cts[v] = cts[v] + x if v in cts else x
    types = {v: linear.types[v] for v in linear.inputs[len(residuals) :]}
    return [cts[v] if v in cts else np.zeros(*types[v]) for v in types]


def jvp(f: Function, primals: Values, tangents: Values) -> tuple[Any, Any]:
    """Return f(*primals) and its tangent, None if that is zero."""
    expr, captured = trace(f, map(type_of, primals), primals)
    return push_forward(expr, [*captured, *primals], [*[None] * len(captured), *tangents])


def vjp(f: Function, *primals: Any) -> tuple[Any, Callable[[Any], list[Any]]]:
    """Return f(*primals) and the function from a cotangent of it to those of the arguments."""
    opened = Trace(map(type_of, primals))
    out, t = jvp(f, primals, [Tracer(opened, v) for v in opened.inputs])
    linear, residuals = opened.expr_of(0.0 if t is None else t)
    return out, lambda ct: pull_back(linear, residuals, ct)


def grad(f: Function) -> Function:
    """Return the gradient of f by its first argument, as a function.

    >>> grad(lambda x: np.sum(np.sin(x) * x))(np.array([0.0, 1.0, 2.0])).round(3)
    array([0.   , 1.382, 0.077])
    >>> [float(grad(lambda x: x * x if x > 0 else -x)(x)) for x in (3.0, -3.0)]  # Python's `if`
    [6.0, -1.0]
    """
    return lambda x, *args: vjp(lambda x: f(x, *args), x)[1](1.0)[0]


# 5. Batch [rewrite/batch.py, transforms/vmap.py]
# A program runs on operands of which some have a batch axis. Equations without such an operand run as they are.


def vmap(f: Function) -> Function:
    """Return f mapped over axis 0 of all its arguments. Captured values have no batch axis.

    >>> vmap(grad(lambda x: np.sum(x * x)))(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[2.0, 4.0], [6.0, 8.0]]
    """

    def mapped(*args: Any) -> Any:
        types = [type_of(x) for x in args]
        size = types[0].shape[0]
        expr, captured = trace(f, [ArrayType(t.shape[1:], t.dtype) for t in types])
        flags = [False] * len(captured) + [True] * len(args)
        env = dict(zip(expr.inputs, zip([*captured, *args], flags)))
        for primitive, operands, result in expr.equations:
            xs, which = zip(*(env[v] for v in operands))
            out = primitive.batch(size, which, *xs) if any(which) else bind(primitive, *xs)
            env[result] = out, any(which)
        out, batched = env[expr.outputs[0]]
        return out if batched else repeat(out, (size, *type_of(out).shape))

    return mapped


# 6. Compile [compile/passes/share.py, compile/emit/python.py, transforms/jit.py]
# `jit` traces a function once for all arguments of the same types, computes equal equations once, leaves out unused
# ones, and prints the rest as NumPy source, which Python compiles.


def simplify(expr: Expr) -> Expr:
    """Return an equal program without repeated or unused equations."""
    first, same, kept = {}, {v: v for v in expr.inputs}, []
    for primitive, operands, result in expr.equations:
        operands = tuple(same[v] for v in operands)
        same[result] = first.setdefault((primitive, operands), result)
        kept += [Equation(primitive, operands, result)] if same[result] == result else []
    outputs = tuple(same[v] for v in expr.outputs)
    needed = set(outputs)
    for _, operands, result in reversed(kept):
        needed |= set(operands) if result in needed else set()
    return Expr(expr.inputs, tuple(e for e in kept if e.result in needed), outputs, expr.types)


def source(expr: Expr) -> str:
    """Return a program as a Python function of NumPy's functions.

    >>> gradient = grad(lambda x: np.sum(np.sin(x) * x))
    >>> print(source(simplify(trace(gradient, [ArrayType((3,), np.dtype(float))])[0])))
    def program(v5, v0):
        v1 = np.sin(v0)
        v2 = np.cos(v0)
        v6 = np.multiply(v1, v5)
        v7 = np.multiply(v5, v0)
        v8 = np.multiply(v7, v2)
        v9 = np.add(v6, v8)
        return v9
    """
    lines = [f"def program({', '.join(f'v{v}' for v in expr.inputs)}):"]
    for primitive, operands, result in expr.equations:
        lines.append(f"    v{result} = {primitive.source(*(f'v{v}' for v in operands))}")
    return "\n".join([*lines, f"    return v{expr.outputs[0]}"])


def jit(f: Function) -> Function:
    """Return f as a function that is traced once for all arguments of the same types, and compiled.

    >>> jit(vmap(grad(lambda x: np.sin(x) * x)))(np.array([0.0, 1.0, 2.0])).round(3)
    array([0.   , 1.382, 0.077])
    """
    programs: dict[tuple[ArrayType, ...], Function] = {}

    def jitted(*args: Any) -> Any:
        types = tuple(map(type_of, args))
        if types not in programs or any(isinstance(x, Tracer) for x in args):
            expr, captured = trace(f, types)
            if any(isinstance(x, Tracer) for x in [*captured, *args]):  # only good in their traces
                return push_forward(expr, [*captured, *args], [None] * len(expr.inputs))[0]
            exec(source(simplify(expr)), module := {"np": np})
            programs[types] = partial(module["program"], *captured)
        return programs[types](*args)

    return jitted
