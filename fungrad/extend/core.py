"""Programs and primitives as JAX has them: the names of `jax.core` and `jax.extend.core`.

`ClosedJaxpr` is what `fungrad.make_jaxpr` returns, `Primitive` what other packages declare operations by. Their
derivatives and batching rules are set in `fungrad.extend.ad` and `fungrad.extend.batching`, and what computes them in
`fungrad.extend.mlir`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike

from fungrad import ConcretizationError, Expr, Tracer, float0
from fungrad import ensure_compile_time_eval as ensure_compile_time_eval
from fungrad.core.errors import Explained
from fungrad.core.tracer import innermost_trace, needed_value
from fungrad.extend.primitives import primitives
from fungrad.extend.programs import variable_names
from fungrad.extend.types import is_array, kind_of
from fungrad.transforms.avals import AbstractValue, ShapedArray, mapped_aval, typeof, unmapped_aval
from fungrad.transforms.foreign import CallPrimitive, Primitive
from fungrad.transforms.jaxpr import (
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    eval_jaxpr,
    jaxprs_in_params,
    subjaxprs,
)
from fungrad.transforms.jaxprs import ClosedJaxpr, jaxpr_as_fun

__all__ = [
    "AbstractToken",
    "AbstractValue",
    "CallPrimitive",
    "ClosedJaxpr",
    "DropVar",
    "Effect",
    "Effects",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Token",
    "Tracer",
    "Var",
    "abstract_token",
    "array_types",
    "check_jaxpr",
    "concrete_or_error",
    "ensure_compile_time_eval",
    "eval_jaxpr",
    "find_top_trace",
    "gensym",
    "get_aval",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "max_dim",
    "min_dim",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "subjaxprs",
    "trace_state_clean",
    "unmapped_aval",
    "valid_jaxtype",
]
__dir__ = __all__.copy

if TYPE_CHECKING:
    from fungrad.core import primitive as core
    from fungrad.core.recorder import Recorder

T = TypeVar("T")

get_aval = typeof
array_types = {np.ndarray, np.generic}
Effects = frozenset
no_effects: frozenset[object] = frozenset()
max_dim, min_dim = max, min


class Effect:
    """Base class of effects of calls, beyond computing results.

    Examples
    --------
    >>> Effect()
    Effect()
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class JaxprTypeError(Explained, TypeError):
    """A program that is not well formed.

    Examples
    --------
    >>> import fungrad as fg
    >>> jaxpr = fg.make_jaxpr(lambda x: 2.0 * x)(1.0).jaxpr
    >>> try:
    ...     check_jaxpr(jaxpr.replace(invars=[]))
    ... except JaxprTypeError as error:
    ...     print(error)
    mul: the variables [a] are used before their definition
    More: python -m fungrad explain JaxprTypeError
    """


class AbstractToken(AbstractValue):
    """The type of a `Token`.

    Examples
    --------
    >>> abstract_token, isinstance(abstract_token, AbstractValue)
    (AbstractToken(), True)
    """


class Token:
    """Stands for the order of effects, which is that of the program here.

    Examples
    --------
    >>> Token()
    Token()
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __init__(self, buf: object = None) -> None:
        self.buf = buf


abstract_token = AbstractToken()


def new_jaxpr_eqn(
    invars: Iterable[Var | Literal],
    outvars: Iterable[Var],
    primitive: Primitive | core.Primitive,
    params: Mapping[str, Any],
    effects: Iterable[object],
    source_info: object = None,
    ctx: object = None,
) -> JaxprEqn:
    """Return an equation of a `Jaxpr`.

    Examples
    --------
    >>> from fungrad.extend.core import primitives
    >>> x, y = Var(ShapedArray((), float), "x"), Var(ShapedArray((), float), "y")
    >>> new_jaxpr_eqn([x], [y], primitives.sin_p, {}, no_effects)
    y:float64[] = sin x
    """
    return JaxprEqn(
        list(invars), list(outvars), primitive, dict(params), frozenset(effects), source_info, ctx
    )


def gensym(suffix: str = "") -> Callable[[ShapedArray], Var]:
    """Return a function that makes variables of types, each with a name of its own.

    Examples
    --------
    >>> new = gensym()
    >>> new(ShapedArray((), float)), new(ShapedArray((), float))
    (a, b)
    """
    names = variable_names()
    return lambda aval: Var(aval, next(names) + suffix)


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Raise an error where a variable is used before its definition.

    Examples
    --------
    >>> import fungrad as fg
    >>> check_jaxpr(fg.make_jaxpr(lambda x: 2 * x)(1.0).jaxpr)
    """
    if isinstance(jaxpr, Expr):
        jaxpr.check()
        return

    known: set[Var] = {*jaxpr.constvars, *jaxpr.invars}

    def check(atoms: Iterable[Var | Literal], where: str) -> None:
        missing = [v for v in atoms if not isinstance(v, Literal) and v not in known]
        if missing:
            raise JaxprTypeError(
                f"{where}: the variables {missing} are used before their definition"
            )

    for eqn in jaxpr.eqns:
        check(eqn.invars, str(eqn.primitive))
        known.update(eqn.outvars)
    check(jaxpr.outvars, "the results")


@overload
def concrete_or_error(force: Callable[[Any], T], val: object, context: str = "") -> T: ...


@overload
def concrete_or_error(force: None, val: T, context: str = "") -> T: ...


def concrete_or_error(force: Callable[[Any], T] | None, val: object, context: str = "") -> object:
    """Return a value, converted by `force`; raise an error for a tracer without one.

    Examples
    --------
    >>> concrete_or_error(int, np.float64(2.0))
    2
    """
    value = needed_value(val) if type(val) is Tracer else val
    if value is None:
        message = f"a value is needed, and a tracer of type {typeof(val)} has none: pass it in static_argnums, or compute it outside."
        raise ConcretizationError(f"{message} {context}".rstrip())
    return value if force is None else force(value)


def valid_jaxtype(x: object) -> bool:
    """Whether `x` is an array or a number.

    Examples
    --------
    >>> valid_jaxtype(1.0), valid_jaxtype("1")
    (True, False)
    """
    return is_array(x)


def primal_dtype_to_tangent_dtype(primal_dtype: DTypeLike) -> np.dtype[Any]:
    """Return the dtype of tangents: `float0` for integers and booleans.

    Examples
    --------
    >>> primal_dtype_to_tangent_dtype(np.dtype(np.float32))
    dtype('float32')
    """
    dtype = np.dtype(primal_dtype)
    return dtype if kind_of(dtype) in "fc" else float0


def trace_state_clean() -> bool:
    """Whether no function is being traced.

    Examples
    --------
    >>> trace_state_clean()
    True
    """
    return innermost_trace() is None


def find_top_trace(operands: object = ()) -> Recorder | None:
    """Return the trace of the function that is being traced, the innermost; None if there is none.

    Examples
    --------
    >>> find_top_trace() is None
    True
    """
    return innermost_trace()


def get_opaque_trace_state(convention: object = None) -> object:
    """Return an object that is equal as long as the same functions are being traced.

    Examples
    --------
    >>> get_opaque_trace_state() == get_opaque_trace_state()
    True
    """
    return innermost_trace()


def nonempty_axis_env() -> bool:
    """Whether a named axis is open.

    Examples
    --------
    >>> import fungrad as fg
    >>> nonempty_axis_env(), fg.vmap(lambda x: x * nonempty_axis_env(), axis_name="i")(np.ones(2))
    (False, array([1., 1.]))
    """
    from fungrad.core.axes import open_axes

    return bool(open_axes())
