"""Programs with JAX's attributes: `ClosedJaxpr`, its equations and variables; and how such are run."""

from __future__ import annotations

import dataclasses
import functools
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import primitive as core
from fungrad.core.cached import cached_property
from fungrad.core.evaluate import last_uses
from fungrad.core.expr import Expr, format_value, variable_names
from fungrad.core.mode import PROGRAM
from fungrad.core.snapshot import place
from fungrad.core.trace import Trace
from fungrad.core.types import ArrayType, type_of
from fungrad.primitives.elementwise import Cast, div, reciprocal, select
from fungrad.primitives.elementwise.elementary import IntegerPower
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.ufunc import Elementwise, Function
from fungrad.transforms import foreign
from fungrad.transforms.arguments import as_operand
from fungrad.transforms.avals import aval_of
from fungrad.transforms.called import Call
from fungrad.transforms.foreign import Foreign, Primitive
from fungrad.transforms.jaxpr import DropVar, Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr
from fungrad.transforms.jaxpr_names import NAMES, fields_of, shown_params

_NUMBERS = frozenset([bool, int, float, complex])  # of Python, whose dtypes the other operands say


class Parameters(dict[str, Any]):
    """The parameters of an equation; programs that it runs are in them as `ClosedJaxpr`."""


class Own(Primitive):
    """One of fungrad's primitives, by the name that JAX has for it.

    Of those with one name, that are alive, one is what `fungrad.extend.core.primitives` has: the first one.
    """

    multiple_results = False

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.make: _Make | None = None
        self.function: Callable[..., Any] | None = None

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Apply it: with the parameters that an equation has, or those of the function of `fungrad.lax`."""
        made = None
        if self.make is not None and _NUMBERS.isdisjoint(map(type, operands)):
            made = self.make(params)
        if made is div and type_of(operands[0]).dtype.kind in "iu":
            made = None  # JAX's quotients of integers are integers
        if made is None:
            if self.function is None:
                raise TypeError(
                    f"{self}.bind: an equation of it has other parameters than {params}"
                )
            return foreign.finished(self.function(*operands, **params))
        results = made(*_of_one_shape(made, _turned(made, operands)))
        return foreign.finished(list(results) if self.multiple_results else results)

    def __eq__(self, other: object) -> bool:
        return type(other) is Own and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return own, (self.name, self.make, self.multiple_results)


@dataclasses.dataclass(frozen=True)
class _Make:
    """Makes a primitive of the parameters of an equation; None if they are others.

    Parameters
    ----------
    kind
        The class of the primitive, or the primitive itself, if there are no parameters.
    """

    kind: Any

    def __call__(self, params: Mapping[str, Any]) -> core.Primitive | None:
        if isinstance(self.kind, core.Primitive):
            return None if params else self.kind
        if issubclass(self.kind, Call):
            return Call(params["name"], _program(params["jaxpr"]))
        fields = fields_of(self.kind.name, params)
        if self.kind is IntegerPower and fields == {"n": -1}:
            return reciprocal
        if fields.keys() != {f.name for f in dataclasses.fields(self.kind)}:
            return None
        if any(map(_closes_over_arrays, fields.values())):
            return None
        return self.kind(**{k: _program(x) for k, x in fields.items()})  # type: ignore[no-any-return]


_ALIVE: weakref.WeakValueDictionary[str, Own] = weakref.WeakValueDictionary()
_NAMING = threading.Lock()


def own(name: str, make: _Make | None = None, multiple_results: bool = False) -> Own:
    """Return the primitive of a name of JAX's."""
    with _NAMING:
        first = _ALIVE.setdefault(name, Own(name))
        if make is None or first.make == make:
            return first
        if first.make is not None:  # two of ours have that name
            first = Own(name)
        first.make, first.multiple_results = make, multiple_results
        return first


def _each(x: Any, kind: type, convert: Callable[[Any], Any]) -> Any:
    """Return a parameter with values of a kind converted: itself, or some of a tuple, such as branches."""
    if isinstance(x, tuple) and any(isinstance(y, kind) for y in x):
        return tuple([_each(y, kind, convert) for y in x])
    return convert(x) if isinstance(x, kind) else x


def _program(x: Any) -> Any:
    return _each(x, ClosedJaxpr, lambda closed: closed.program)


def _closes_over_arrays(x: Any) -> bool:
    """Whether a parameter is, or holds in a tuple, a program with captured arrays."""
    return (
        any(map(_closes_over_arrays, x))
        if isinstance(x, tuple)
        else bool(getattr(x, "captured", 0))
    )


def _closed(x: Any) -> Any:
    return _each(x, Program, ClosedJaxpr.of_program)


def _turned(primitive: core.Primitive, operands: Sequence[Any]) -> Sequence[Any]:
    """Return operands in JAX's order, of those in ours; and the way back."""
    return (operands[0], operands[2], operands[1]) if primitive is select else operands


def _of_one_shape(primitive: core.Primitive, operands: Sequence[Any]) -> list[Any]:
    """Return operands as arrays; scalars in an elementwise equation get the shape of the others."""
    arrays = [as_operand(x, recorded=True) for x in operands]
    if not isinstance(primitive, Elementwise):
        return arrays
    shapes = [type_of(x).shape for x in arrays]
    shape = max(shapes, key=len, default=())
    return [
        x if s or not shape else Broadcast(shape, tuple(range(len(shape))))(x)
        for x, s in zip(arrays, shapes, strict=True)
    ]


def _shown(primitive: core.Primitive) -> tuple[Primitive, Parameters]:
    """Return a primitive and its parameters as JAX has them."""
    if isinstance(primitive, Foreign):
        return primitive.of, Parameters(primitive.params)
    if primitive is reciprocal:
        return own("integer_pow", _Make(IntegerPower)), Parameters(y=-1)
    name = NAMES.get(primitive.name, primitive.name)
    if isinstance(primitive, Function):
        return own(name, _Make(primitive)), Parameters()
    fields = {f.name: getattr(primitive, f.name) for f in dataclasses.fields(primitive)}  # type: ignore[arg-type]
    if isinstance(primitive, Call):
        name, fields = "jit", {"name": fields["name"], "jaxpr": fields["program"]}
    params = {k: _closed(x) for k, x in shown_params(type(primitive).name, fields).items()}
    return own(name, _Make(type(primitive)), primitive.multiple_results), Parameters(params)


def as_jax(
    primitive: core.Primitive, operands: Sequence[Any]
) -> tuple[Primitive, dict[str, Any], Sequence[Any]]:
    """Return a primitive with its parameters and operands in the form that JAX has for them."""
    return *_shown(primitive), _turned(primitive, operands)


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
        with Trace("ClosedJaxpr", PROGRAM) as trace:
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
        """Return a program with the values of its captures."""
        self: ClosedJaxpr = cls.__new__(cls)
        self._become(expr, values)
        return self

    @classmethod
    def of_program(cls, program: Program) -> ClosedJaxpr:
        """Return a program that an equation runs; its captures are arguments."""
        self: ClosedJaxpr | None = vars(program).get("as_closed_jaxpr")
        if self is None:
            self = cls.of(dataclasses.replace(program.expr, captured=0))
            vars(self)["program"] = program
            vars(program)["as_closed_jaxpr"] = self  # one object: libraries key by its identity
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
        """Return the same with its program replaced by `f` of it."""
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
            arrays[v] = value  # one without axes, too: in JAX's programs it is not a number
        else:
            t = expr.types[v]
            atoms[v] = Literal(np.asarray(value, t.dtype)[()], aval_of(t))
    scalars = _scalars(expr, {*atoms})
    captured, inputs = expr.inputs[: expr.captured], expr.inputs[expr.captured :]

    def new(v: int, used: bool = True) -> Var:
        aval = aval_of(expr.types[v])
        atoms[v] = Var(aval, next(names)) if used else DropVar(aval)
        return atoms[v]  # type: ignore[no-any-return]

    arrays.update(zip(captured, values, strict=True))
    known: dict[Hashable, int] = {}  # by what it is, in the order in which the function met them
    same = {v: known.setdefault(_identity(arrays[v]), v) for v in sorted(arrays)}
    constvars, invars = [new(v) for v in known.values()], [new(v) for v in inputs]
    atoms.update({v: atoms[first] for v, first in same.items()})
    last, eqns = last_uses(expr), []
    for (primitive, ins, outs), source in expr.located():
        if outs and outs[0] in scalars:
            atoms[outs[0]] = _scalar(primitive, atoms[ins[0]], expr.types[outs[0]])
            continue
        shown, params = _shown(primitive)
        effects = frozenset([primitive.name]) if primitive.effect else frozenset()
        made = [new(v, last[v] >= 0) for v in outs]
        operands = list(_turned(primitive, [atoms[v] for v in ins]))
        eqns.append(JaxprEqn(operands, made, shown, params, effects, source))
    jaxpr = Jaxpr(
        constvars,
        invars,
        [atoms[v] for v in expr.outputs],
        eqns,
        frozenset().union(*[e.effects for e in eqns]),
    )
    return jaxpr, [arrays[v] for v in known.values()]


def _identity(x: Any) -> Hashable:
    """Return a key shared by arrays that are one array, seen several times."""
    return place(x) if type(x) is np.ndarray else id(x)


def _scalars(expr: Expr, literals: Set[int]) -> set[int]:
    """Return variables that are cast or repeated numbers, used elementwise; JAX writes their numbers."""
    numbers = set(literals)
    for primitive, ins, outs in expr.equations:
        if isinstance(primitive, (Broadcast, Cast)) and ins[0] in numbers:
            numbers.add(outs[0])
    scalars = numbers - literals - {*expr.outputs}
    for primitive, ins, outs in reversed(expr.equations):
        if isinstance(primitive, Elementwise) and primitive is not select:
            takes = not numbers.issuperset(ins) or outs[0] in scalars
        else:
            takes = bool(outs) and outs[0] in scalars
        if not takes:
            scalars.difference_update(ins)
    return scalars


def _scalar(primitive: core.Primitive, number: Literal, type_: ArrayType) -> Literal:
    if isinstance(primitive, Broadcast):
        return number
    return Literal(np.asarray(number.val).astype(type_.dtype)[()], aval_of(type_.update(shape=())))


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """Return a program as a function of arrays, which returns the list of results.

    Examples
    --------
    >>> import fungrad as fg
    >>> jaxpr_as_fun(fg.make_jaxpr(lambda x: (x, 2.0 * x))(1.0))(3.0)
    [np.float64(3.0), np.float64(6.0)]
    """
    return functools.partial(eval_jaxpr, closed_jaxpr.jaxpr, closed_jaxpr.consts)
