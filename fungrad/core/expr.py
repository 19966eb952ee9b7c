"""The program that tracing records and transforms rewrite, and how it is shown to people.

Design: docs/design/09-programs-are-integers.md.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fungrad.core.cached import as_html, cached_property
from fungrad.core.errors import ExprError, Source
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, type_of


class Equation(NamedTuple):
    """`outputs = primitive(*inputs)`; inputs and outputs are variables.

    Examples
    --------
    >>> import fungrad as fg
    >>> fg.make_expr(lambda x: x * x)(1.0).equations[0]
    Equation(primitive=multiply, inputs=(0, 0), outputs=(1,))
    """

    primitive: Primitive
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


as_equation: Callable[[tuple[Any, ...]], Equation] = functools.partial(tuple.__new__, Equation)
"""Make an `Equation` of a tuple of three, several times as fast as a call of the class does."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Expr:
    """A pure function in static single assignment form.

    A variable is an index into `types`. It is defined once: as an input, as a constant or by an
    equation that comes before its uses.

    Attributes
    ----------
    inputs
        The variables the function takes; the first `captured` of them stand for arrays the traced
        function closed over.
    equations
        What is computed, in order.
    outputs
        The variables returned.
    types
        The type of every variable.
    constants
        The values of variables that are the same in every call.
    captured
        How many leading inputs are captured arrays.
    sources
        Where each equation was recorded, for error messages; as long as `equations`.

    Examples
    --------
    >>> import fungrad as fg
    >>> fg.make_expr(lambda x: x * x + x)(1.0)
    { lambda a:float64[]* .
      b:float64[]* = multiply a a
      c:float64[]* = add b a
      return (c,) }
    """

    inputs: tuple[int, ...]
    equations: Sequence[Equation]
    outputs: tuple[int, ...]
    types: Sequence[ArrayType]
    constants: Mapping[int, Any] = dataclasses.field(default_factory=dict)
    captured: int = 0
    sources: Sequence[Source | None] = ()

    @classmethod
    def of(
        cls, primitive: Primitive, types: Sequence[ArrayType], source: Source | None = None
    ) -> Expr:
        """Return the program of one equation, on operands of `types`."""
        variables = [*types, *primitive.infer(tuple(types))]
        inputs, outputs = tuple(range(len(types))), tuple(range(len(types), len(variables)))
        equation = Equation(primitive, inputs, outputs)
        return cls(inputs, (equation,), outputs, variables, sources=(source,))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the places in the user's code, which are of this process."""
        unknown = (None,) * len(self.equations)
        program = (self.inputs, tuple(self.equations), self.outputs, tuple(self.types))
        return Expr, (*program, dict(self.constants), self.captured, unknown)

    @cached_property
    def input_types(self) -> tuple[ArrayType, ...]:
        """The types of `inputs`."""
        return tuple([self.types[v] for v in self.inputs])

    @cached_property
    def output_types(self) -> tuple[ArrayType, ...]:
        """The types of `outputs`."""
        return tuple([self.types[v] for v in self.outputs])

    def located(self) -> Iterator[tuple[Equation, Source | None]]:
        """Iterate over the equations with their sources."""
        sources = self.sources or [None] * len(self.equations)
        return zip(self.equations, sources, strict=True)

    def with_equations(
        self, located: Iterable[tuple[Equation, Source | None]], **changes: Any
    ) -> Expr:
        """Return the program with other equations, given with their sources, and other `changes`."""
        equations, sources = tuple(zip(*located, strict=True)) or ((), ())
        return dataclasses.replace(self, equations=equations, sources=sources, **changes)

    def check(self) -> Expr:
        """Return self if well formed.

        Raises
        ------
        ExprError
            If a variable is used before its definition or defined twice, or if the type of an
            equation's output is not what its primitive's `abstract_eval` gives.
        """
        defined = set(self.constants) | set(self.inputs)
        if len(self.constants) + len(self.inputs) != len(defined):
            raise ExprError("an input or a constant is defined twice")
        for v, value in self.constants.items():
            kept, actual = self.types[v], type_of(value)
            if (kept.shape, kept.dtype) != (actual.shape, actual.dtype):
                raise ExprError(f"constant {v} has type {actual} but is declared {kept}")
        if self.sources and len(self.sources) != len(self.equations):
            raise ExprError("sources and equations differ in length")
        for number, (primitive, inputs, outputs) in enumerate(self.equations):
            undefined = [v for v in inputs if v not in defined]
            if undefined:
                fault = f"variables {undefined} are used before their definition"
                raise ExprError(f"equation {number}, {primitive}: {fault}")
            expected = primitive.infer(tuple([self.types[v] for v in inputs]))
            types = tuple([self.types[v] for v in outputs])
            if expected != types:
                fault = f"outputs have types {types}, its rule gives {expected}"
                raise ExprError(f"equation {number}, {primitive}: {fault}")
            if len(set(outputs)) < len(outputs) or not defined.isdisjoint(outputs):
                raise ExprError(f"equation {number}, {primitive}: an output is defined twice")
            defined.update(outputs)
        missing = [v for v in self.outputs if v not in defined]
        if missing:
            raise ExprError(f"the outputs {missing} are never defined")
        return self

    def __str__(self) -> str:
        """Show the program, one equation a line."""
        return format_expr(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html.get()(self)  # type: ignore[no-any-return]


class Calling(Primitive):
    """A primitive that calls a program, which rewriting may put in its place.

    Examples
    --------
    >>> import fungrad as fg
    >>> (equation,) = fg.make_expr(fg.jit(lambda x: x + 1))(2.0).equations
    >>> isinstance(equation.primitive, Calling), len(equation.primitive.callee.equations)
    (True, 1)
    """

    whole: ClassVar[bool] = False
    """Whether a gradient computed at once keeps the call, and pulls a cotangent through it by `cut`."""

    @property
    def callee(self) -> Expr:
        """The program, itself free of calls."""
        raise NotImplementedError

    def cut(self, flags: Sequence[bool]) -> Cut:
        """Return the call, and the program that pulls a cotangent of its result back to operands in `flags`."""
        raise NotImplementedError


class Cut(NamedTuple):
    """A call that is differentiated as a whole.

    Attributes
    ----------
    forward
        From the operands to the result and, after it, what `backward` needs of the computation.
    backward
        From some operands, what `forward` has kept and the cotangent of the result to cotangents of operands; None if
        none has one.
    needed
        The positions of the operands that it takes.
    reached
        Of each operand, whether it is given a cotangent.
    """

    forward: Primitive
    backward: Primitive | None
    needed: Sequence[int]
    reached: Sequence[bool]


def variable_names() -> Iterator[str]:
    """Yield a, b, ..., z, aa, ab, ...

    Examples
    --------
    >>> [*itertools.islice(variable_names(), 3)]
    ['a', 'b', 'c']
    """
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_lowercase, repeat=length):
            yield "".join(letters)


def format_value(value: Any) -> str | None:
    """Return a scalar as Python would write it; None for an array.

    Examples
    --------
    >>> format_value(np.float32(2)), format_value(np.ones(2))
    ('2.0', None)
    """
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        value = value.item()
    return repr(value) if isinstance(value, (bool, int, float, complex)) else None


def format_expr(expr: Expr) -> str:
    """Return the text of `expr`: inputs (captured arrays before the `;`), equations, outputs.

    Scalar constants are written where they are used. A type that ends in `*` is weak. The programs that
    an equation runs stand below it.
    """
    fresh = variable_names()
    names: dict[int, str] = {}
    arrays = []
    for v, value in expr.constants.items():
        text = format_value(value)
        if text is None:
            text = next(fresh)
            arrays.append(f"  {text}:{expr.types[v]!r} = constant")
        names[v] = text

    def binder(v: int) -> str:
        if v not in names:
            names[v] = next(fresh)
        return f"{names[v]}:{expr.types[v]!r}"

    captured = [binder(v) for v in expr.inputs[: expr.captured]]
    inputs = [binder(v) for v in expr.inputs[expr.captured :]]
    head = " ".join([*captured, *([";"] if captured else []), *inputs])
    lines = [f"{{ lambda {head} ."] if head else ["{ lambda ."]
    lines += arrays
    for primitive, ins, outs in expr.equations:
        left = " ".join(binder(v) for v in outs)
        right = " ".join([str(primitive), *(names[v] for v in ins)])
        lines.append(f"  {left} = {right}" if outs else f"  {right}")
        for name, program in primitive.parts.items():
            head, *rest = format_expr(program.expr).splitlines()
            lines += [f"      {name}: {head}", *[f"      {line}" for line in rest]]
    results = ", ".join(names[v] for v in expr.outputs)
    lines.append(f"  return ({results}{',' if len(expr.outputs) == 1 else ''}) }}")
    return "\n".join(lines)
