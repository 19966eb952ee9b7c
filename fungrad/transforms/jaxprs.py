"""Programs with JAX's attributes: `ClosedJaxpr`, its equations and variables; and how such are run."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import primitive as core
from fungrad.core.cached import cached_property
from fungrad.core.evaluate import last_uses
from fungrad.core.expr import Expr, format_value, variable_names
from fungrad.core.trace import Trace
from fungrad.primitives.ufunc import Function
from fungrad.transforms.avals import aval_of
from fungrad.transforms.call import as_operand
from fungrad.transforms.called import Call
from fungrad.transforms.foreign import Foreign, Primitive
from fungrad.transforms.jaxpr import DropVar, Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr

NAMES: Mapping[str, str] = {
    **{f"arc{f}": f"a{f}" for f in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    **{f"bitwise_{f}": f for f in ("and", "or", "xor")},
    **{f"logical_{f}": f for f in ("and", "or", "xor", "not")},
    "absolute": "abs", "add": "add", "arctan2": "atan2", "argsort": "sort", "broadcast": "broadcast_in_dim",
    "cast": "convert_element_type", "conjugate": "conj", "convolution": "conv_general_dilated",
    "divide": "div", "dynamic_slice": "dynamic_slice",
    "equal": "eq", "greater": "gt", "greater_equal": "ge", "invert": "not", "isfinite": "is_finite",
    "left_shift": "shift_left", "less": "lt", "less_equal": "le", "maximum": "max", "minimum": "min",
    "multiply": "mul", "negative": "neg", "not_equal": "ne", "p_max": "pmax", "p_min": "pmin",
    "p_permute": "ppermute", "p_sum": "psum", "permute": "transpose", "population_count": "population_count",
    "power": "pow", "remainder": "rem", "reverse": "rev", "right_shift": "shift_right_arithmetic",
    "rint": "round", "select": "select_n", "subtract": "sub",
}  # fmt: skip
"""JAX's names of primitives, where they are others than ours."""


class Parameters(dict[str, Any]):
    """The parameters of an equation; programs that it runs are in them as `ClosedJaxpr`."""


class Own(Primitive):
    """One of fungrad's primitives, by the name that JAX has for it."""

    multiple_results = False

    def __init__(
        self, name: str, make: Callable[..., core.Primitive], multiple_results: bool
    ) -> None:
        super().__init__(name)
        self.make, self.multiple_results = make, multiple_results

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Apply it."""
        made = self.make(
            **{k: v.program if isinstance(v, ClosedJaxpr) else v for k, v in params.items()}
        )
        results = core.bind(made, [as_operand(x, recorded=True) for x in operands])
        return list(results) if self.multiple_results else results

    def __eq__(self, other: object) -> bool:
        return type(other) is Own and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def _shown(primitive: core.Primitive) -> tuple[Primitive, Parameters]:
    """Return a primitive and its parameters as JAX has them."""
    if isinstance(primitive, Foreign):
        return primitive.of, Parameters(primitive.params)
    name = NAMES.get(primitive.name, primitive.name)
    if isinstance(primitive, Function):
        return Own(name, _Same(primitive), False), Parameters()
    fields = {f.name: getattr(primitive, f.name) for f in dataclasses.fields(primitive)}  # type: ignore[arg-type]
    if isinstance(primitive, Call):
        name, fields = "jit", {"name": fields["name"], "jaxpr": fields["program"]}
        make: Callable[..., core.Primitive] = _called
    else:
        make = type(primitive)
    params = {
        k: ClosedJaxpr.of_program(x) if isinstance(x, Program) else x for k, x in fields.items()
    }
    return Own(name, make, primitive.multiple_results), Parameters(params)


def _called(name: str, jaxpr: Program) -> Call:
    return Call(name, jaxpr)


@dataclasses.dataclass(frozen=True)
class _Same:
    """What returns one primitive, that needs no parameters."""

    primitive: core.Primitive

    def __call__(self) -> core.Primitive:
        return self.primitive


class ClosedJaxpr(Expr):
    """A program with the values of its constants; an `Expr` that has JAX's attributes as well.

    Parameters
    ----------
    jaxpr
        A `Jaxpr`.
    consts
        The values of its `constvars`.

    Attributes
    ----------
    jaxpr : Jaxpr
        The program whose constants are variables.
    consts : list
        Their values: arrays, and what is traced by the functions around.
    eqns : list of JaxprEqn
        What is computed.
    in_avals, out_avals : list of ShapedArray
        Types of arguments and results.
    effects : set
        Not empty if an equation has one.

    Examples
    --------
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> closed = fg.make_jaxpr(lambda x: fnp.sin(x) * x)(fg.ShapeDtypeStruct((3,), float))
    >>> closed.in_avals, [eqn.primitive.name for eqn in closed.eqns]
    ([ShapedArray(float64[3])], ['sin', 'mul'])
    """

    _values: Sequence[Any]

    def __new__(cls, *parts: Any, **fields: Any) -> Any:
        """Make a plain `Expr` of its fields: they are given where one is changed."""
        return Expr(**fields) if "types" in fields else super().__new__(cls)

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
        with Trace("ClosedJaxpr", bake=True) as trace:
            inputs = [trace.new_input(v.aval.type) for v in jaxpr.invars]
            results = eval_jaxpr(jaxpr, consts, *inputs)
            expr = trace.expr_of(results)
        self._become(expr, [*trace.captures.values()])
        vars(self).update(jaxpr=jaxpr, consts=list(consts))

    def _become(self, expr: Expr, values: Sequence[Any]) -> None:
        vars(self).update(
            {f.name: getattr(expr, f.name) for f in dataclasses.fields(expr)}, _values=values
        )

    @classmethod
    def of(cls, expr: Expr, values: Sequence[Any] = ()) -> ClosedJaxpr:
        """Return a program with the values of what it has captured."""
        self: ClosedJaxpr = cls.__new__(cls)
        self._become(expr, values)
        return self

    @classmethod
    def of_program(cls, program: Program) -> ClosedJaxpr:
        """Return a program that an equation runs; it takes what it has captured as arguments."""
        self = cls.of(dataclasses.replace(program.expr, captured=0))
        vars(self)["program"] = program
        return self

    @cached_property
    def program(self) -> Program:
        """The same, to be called."""
        return Program(Expr(**{f.name: getattr(self, f.name) for f in dataclasses.fields(Expr)}))

    @cached_property
    def _parts(self) -> tuple[Jaxpr, list[Any]]:
        return _taken_apart(self, self._values)

    @cached_property
    def jaxpr(self) -> Jaxpr:
        """The program whose constants are variables."""
        return self._parts[0]

    @cached_property
    def consts(self) -> list[Any]:
        """The values of these."""
        return self._parts[1]

    literals = property(lambda self: self.consts, doc="As `consts`.")
    eqns = property(lambda self: self.jaxpr.eqns, doc="What is computed.")
    effects = property(lambda self: self.jaxpr.effects, doc="Not empty if an equation has one.")
    in_avals = property(lambda self: self.jaxpr.in_avals, doc="Types of the arguments.")
    out_avals = property(lambda self: self.jaxpr.out_avals, doc="Types of the results.")
    is_high = False

    def replace(
        self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None
    ) -> ClosedJaxpr:
        """Return the same with another program or other constants."""
        return ClosedJaxpr(
            self.jaxpr if jaxpr is None else jaxpr, self.consts if consts is None else consts
        )

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """Return the same with what `f` makes of its program."""
        return self.replace(jaxpr=f(self.jaxpr))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the places in the user's code."""
        make, fields = super().__reduce__()
        return ClosedJaxpr.of, (make(*fields), self._values)


def _taken_apart(expr: Expr, values: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
    names = variable_names()
    atoms: dict[int, Any] = {}
    arrays: dict[int, Any] = {}
    for v, value in expr.constants.items():
        if isinstance(value, np.ndarray) or format_value(value) is None:
            arrays[v] = value
        else:
            t = expr.types[v]
            atoms[v] = Literal(np.asarray(value, t.dtype)[()], aval_of(t))
    captured, inputs = expr.inputs[: expr.captured], expr.inputs[expr.captured :]

    def new(v: int, used: bool = True) -> Var:
        aval = aval_of(expr.types[v])
        atoms[v] = Var(aval, next(names)) if used else DropVar(aval)
        return atoms[v]  # type: ignore[no-any-return]

    arrays.update(zip(captured, values, strict=True))
    known = sorted(arrays)  # in the order in which the function met them
    constvars, invars = [new(v) for v in known], [new(v) for v in inputs]
    last, eqns = last_uses(expr), []
    for (primitive, ins, outs), source in expr.located():
        shown, params = _shown(primitive)
        effects = frozenset([primitive.name]) if primitive.effect else frozenset()
        made = [new(v, last[v] >= 0) for v in outs]
        eqns.append(JaxprEqn([atoms[v] for v in ins], made, shown, params, effects, source))
    jaxpr = Jaxpr(
        constvars,
        invars,
        [atoms[v] for v in expr.outputs],
        eqns,
        frozenset().union(*[e.effects for e in eqns]),
    )
    return jaxpr, [arrays[v] for v in known]


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """Return a program as a function of arrays, which returns the list of results.

    Examples
    --------
    >>> import fungrad as fg
    >>> jaxpr_as_fun(fg.make_jaxpr(lambda x: (x, 2.0 * x))(1.0))(3.0)
    [np.float64(3.0), np.float64(6.0)]
    """
    return functools.partial(eval_jaxpr, closed_jaxpr.jaxpr, closed_jaxpr.consts)
