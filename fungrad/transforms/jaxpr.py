"""Programs in the form that JAX has for them: variables, equations and `Jaxpr`; and how one is run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fungrad.core.config import settings
from fungrad.core.expr import format_value
from fungrad.core.types import type_of
from fungrad.primitives.elementwise import Cast
from fungrad.transforms.arguments import as_operand, as_operands

if TYPE_CHECKING:
    from fungrad.transforms.avals import ShapedArray


class Var:
    """A variable of a `Jaxpr`.

    Examples
    --------
    >>> import fungrad as fg
    >>> fg.make_jaxpr(lambda x: 2.0 * x)(1.0).jaxpr.invars
    [a]
    """

    __slots__ = ("aval", "name")

    def __init__(self, aval: ShapedArray, name: str = "_") -> None:
        self.aval, self.name = aval, name

    def __repr__(self) -> str:
        return self.name


class DropVar(Var):
    """A variable that nobody reads.

    Examples
    --------
    >>> from fungrad.extend.core import ShapedArray
    >>> DropVar(ShapedArray((), float))
    _
    """

    __slots__ = ()


class Literal:
    """A number that is written where it is used.

    Examples
    --------
    >>> import fungrad as fg
    >>> fg.make_jaxpr(lambda x: 2.0 * x)(1.0).jaxpr.eqns[0].invars
    [2.0:float64[], a]
    """

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: ShapedArray) -> None:
        self.val, self.aval = val, aval

    def __repr__(self) -> str:
        return f"{format_value(self.val) or self.val}:{self.aval.str_short()}"


@dataclasses.dataclass(frozen=True, eq=False)
class JaxprEqn:
    """``outvars = primitive(*invars)``.

    Attributes
    ----------
    invars
        Variables and literals.
    outvars
        Variables.
    primitive : Primitive
        What is computed, with a `name` and ``bind(*operands, **params)``.
    params : dict
        Its parameters.
    effects : set
        Not empty if the call does more than compute its results.
    source_info
        Where it was recorded.

    Examples
    --------
    >>> import fungrad as fg
    >>> (equation,) = fg.make_jaxpr(lambda x: 2.0 * x)(1.0).jaxpr.eqns
    >>> equation, equation.primitive.name
    (b:float64[] = mul 2.0:float64[] a, 'mul')
    """

    invars: Sequence[Var | Literal]
    outvars: Sequence[Var]
    primitive: Any
    params: dict[str, Any]
    effects: frozenset[object] = frozenset()
    source_info: object = None
    ctx: object = None

    def replace(self, **changes: Any) -> JaxprEqn:
        """Return the same with some attributes changed."""
        return dataclasses.replace(self, **changes)

    def __repr__(self) -> str:
        left = " ".join(f"{v}:{v.aval.str_short()}" for v in self.outvars)
        params = " ".join(f"{k}={v}" for k, v in self.params.items())
        right = " ".join(
            [
                f"{self.primitive}[{params}]" if params else str(self.primitive),
                *map(str, self.invars),
            ]
        )
        return f"{left} = {right}"


class Jaxpr:
    """A program whose constants are variables: `eval_jaxpr` takes their values.

    Attributes
    ----------
    constvars, invars
        The variables of constants, and of arguments.
    outvars
        Variables and literals.
    eqns
        What is computed, in order.
    effects
        Not empty if an equation has one.

    Examples
    --------
    >>> import fungrad as fg
    >>> fg.make_jaxpr(lambda x: 2.0 * x)(1.0).jaxpr
    { lambda  ; a:float64[] . let
        b:float64[] = mul 2.0:float64[] a
      in (b,) }
    """

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Var | Literal],
        eqns: Sequence[JaxprEqn],
        effects: frozenset[object] = frozenset(),
        debug_info: object = None,
        is_high: bool = False,
    ) -> None:
        self.constvars, self.invars, self.outvars = list(constvars), list(invars), list(outvars)
        self.eqns, self.effects = list(eqns), effects
        self.debug_info, self.is_high = debug_info, is_high

    in_avals = property(lambda self: [v.aval for v in self.invars], doc="Types of the arguments.")
    out_avals = property(lambda self: [v.aval for v in self.outvars], doc="Types of the results.")

    def replace(self, **changes: Any) -> Jaxpr:
        """Return the same with some attributes changed."""
        return Jaxpr(**{**vars(self), **changes})

    def __repr__(self) -> str:
        def binders(variables: Sequence[Var]) -> str:
            return " ".join(f"{v}:{v.aval.str_short()}" for v in variables)

        lines = [f"{{ lambda {binders(self.constvars)} ; {binders(self.invars)} . let"]
        lines += [f"    {line}" for eqn in self.eqns for line in str(eqn).splitlines()]
        results = "".join(f"{v}, " for v in self.outvars)
        return "\n".join([*lines, f"  in ({results.rstrip()}) }}"])


def eval_jaxpr(
    jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True
) -> list[Any]:
    """Run a program on arrays, or record it on traced arrays.

    Parameters
    ----------
    jaxpr
        The program.
    consts
        The values of its `constvars`.
    *args
        One for each of its `invars`.
    propagate_source_info
        Accepted for JAX's sake.

    Returns
    -------
    list
        The results.

    Raises
    ------
    TypeError
        If there are too many or too few arguments or constants.

    Examples
    --------
    >>> import fungrad as fg
    >>> closed = fg.make_jaxpr(lambda x: 2.0 * x)(1.0)
    >>> eval_jaxpr(closed.jaxpr, closed.consts, 3.0)
    [np.float64(6.0)]
    """
    if len(args) != len(jaxpr.invars) or len(consts) != len(jaxpr.constvars):
        raise TypeError(
            f"eval_jaxpr: the program takes {len(jaxpr.invars)} arguments and {len(jaxpr.constvars)} constants; got "
            f"{len(args)} and {len(consts)}"
        )
    if settings.get().narrow:  # what a function computes inside may have 64 bits all the same
        consts = [
            x
            if type_of(x).dtype == v.aval.dtype
            else Cast(v.aval.dtype)(as_operand(x, recorded=True))
            for v, x in zip(jaxpr.constvars, consts, strict=True)
        ]
    values: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, as_operands(args), strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    for eqn in jaxpr.eqns:
        results = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        values.update(
            zip(eqn.outvars, results if eqn.primitive.multiple_results else [results], strict=True)
        )
    return [read(v) for v in jaxpr.outvars]


def jaxprs_in_params(params: Mapping[str, Any]) -> Iterator[Jaxpr]:
    """Yield the programs among the parameters of an equation.

    Examples
    --------
    >>> import fungrad as fg
    >>> (equation,) = fg.make_jaxpr(fg.jit(lambda x: 2.0 * x))(1.0).jaxpr.eqns
    >>> len(list(jaxprs_in_params(equation.params)))
    1
    """
    for value in params.values():
        for x in value if isinstance(value, (tuple, list)) else [value]:
            jaxpr = getattr(x, "jaxpr", x)  # of a `ClosedJaxpr`
            if isinstance(jaxpr, Jaxpr):
                yield jaxpr


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """Yield the programs that the equations of a program run.

    Examples
    --------
    >>> import fungrad as fg
    >>> len(list(subjaxprs(fg.make_jaxpr(fg.jit(lambda x: 2.0 * x))(1.0).jaxpr)))
    1
    """
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)
