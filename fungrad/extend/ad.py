"""Derivatives of primitives of other packages: the names of `jax.interpreters.ad`.

`primitive_jvps`, `primitive_transposes` : dict
    For each `fungrad.extend.core.Primitive` its rule. ``jvp(primals, tangents, **params)`` returns results and their tangents;
    ``transpose(cts, *operands, **params)`` the cotangents of operands. A tangent or cotangent that is zero is a `Zero`, and an
    operand that a cotangent is asked for is an `UndefinedPrimal`. In what is returned, None is zero too.
`deflinear`, `deflinear2`, `defbilinear`, `defjvp`, `defjvp2`, `defjvp_zero`
    Set the rules of common kinds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fungrad import Tracer
from fungrad import jvp as jvp
from fungrad import linearize as linearize
from fungrad import vjp as vjp
from fungrad.extend.core import Primitive, ShapedArray
from fungrad.transforms.avals import UndefinedPrimal, Zero
from fungrad.transforms.foreign import primitive_jvps, primitive_transposes
from fungrad.typing import Array, ArrayLike

__all__ = [
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "defjvp_zero",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "jvp",
    "linearize",
    "primitive_jvps",
    "primitive_transposes",
    "reducing_transposes",
    "vjp",
    "zeros_like_aval",
]
__dir__ = __all__.copy

Rule = Callable[..., Any]

JVPTracer = Tracer
reducing_transposes: dict[Primitive, Rule] = {}
"""Accepted, and not used."""


def is_undefined_primal(x: object) -> bool:
    """Whether `x` stands for an operand that a cotangent is asked for.

    Examples
    --------
    >>> from fungrad.extend.core import ShapedArray
    >>> is_undefined_primal(UndefinedPrimal(ShapedArray((), float))), is_undefined_primal(1.0)
    (True, False)
    """
    return type(x) is UndefinedPrimal


def instantiate_zeros(tangent: ArrayLike | Zero) -> Any:
    """Return a tangent, as an array if it is a `Zero`.

    Examples
    --------
    >>> from fungrad.extend.core import ShapedArray
    >>> instantiate_zeros(Zero(ShapedArray((2,), float)))
    array([0., 0.])
    """
    return tangent.instantiate() if isinstance(tangent, Zero) else tangent


def zeros_like_aval(aval: ShapedArray) -> Any:
    """Return zeros of a type.

    Examples
    --------
    >>> from fungrad.extend.core import ShapedArray
    >>> zeros_like_aval(ShapedArray((2,), float))
    array([0., 0.])
    """
    return Zero(aval).instantiate()


def add_jaxvals(x: Array, y: Array) -> Any:
    """Return the sum of two arrays.

    Examples
    --------
    >>> add_jaxvals(1.0, 2.0)
    3.0
    """
    return x + y


def add_tangents(x: Array | Zero, y: Array | Zero) -> Any:
    """Return the sum of two tangents, or of a tangent and a `Zero`.

    Examples
    --------
    >>> from fungrad.extend.core import ShapedArray
    >>> add_tangents(Zero(ShapedArray((), float)), 2.0), add_tangents(1.0, 2.0)
    (2.0, 3.0)
    """
    if isinstance(x, Zero):
        return y
    return x if isinstance(y, Zero) else x + y


def get_primitive_transpose(p: Primitive) -> Rule:
    """Return the transpose rule of a primitive.

    Examples
    --------
    >>> twice_p = Primitive("twice")
    >>> deflinear(twice_p, lambda ct: [2 * ct])
    >>> get_primitive_transpose(twice_p)(3.0)
    [6.0]
    """
    try:
        return primitive_transposes[p]
    except KeyError:
        raise NotImplementedError(
            f"the primitive `{p}` has no rule in primitive_transposes"
        ) from None


def _linear_jvp(primitive: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    out = primitive.bind(*primals, **params)
    if all(isinstance(t, Zero) for t in tangents):
        zeros = [Zero.from_primal_value(x) for x in (out if primitive.multiple_results else [out])]
        return out, zeros if primitive.multiple_results else zeros[0]
    return out, primitive.bind(*map(instantiate_zeros, tangents), **params)


def _linear_transpose(rule: Rule, with_operands: bool, cts: Any, *args: Any, **params: Any) -> Any:
    if isinstance(cts, Zero):
        return [None] * len(args)
    return rule(cts, *args, **params) if with_operands else rule(cts, **params)


def deflinear(primitive: Primitive, transpose_rule: Rule) -> None:
    """Declare a primitive linear; ``transpose_rule(ct, **params)`` returns the cotangents of its operands.

    Examples
    --------
    >>> import fungrad as fg
    >>> twice_p = Primitive("twice")
    >>> _ = twice_p.def_impl(lambda x: 2 * x), twice_p.def_abstract_eval(lambda x: x)
    >>> deflinear(twice_p, lambda ct: [2 * ct])
    >>> fg.grad(twice_p.bind)(3.0)
    np.float64(2.0)
    """
    _deflinear(primitive, transpose_rule, False)


def deflinear2(primitive: Primitive, transpose_rule: Rule) -> None:
    """Declare a primitive linear; ``transpose_rule(ct, *operands, **params)`` returns their cotangents.

    Examples
    --------
    >>> import fungrad as fg
    >>> scale_p = Primitive("scale")
    >>> _ = scale_p.def_impl(lambda x, *, by: by * x), scale_p.def_abstract_eval(lambda x, *, by: x)
    >>> deflinear2(scale_p, lambda ct, x, *, by: [by * ct])
    >>> fg.grad(lambda x: scale_p.bind(x, by=5.0))(3.0)
    np.float64(5.0)
    """
    _deflinear(primitive, transpose_rule, True)


def _deflinear(primitive: Primitive, rule: Rule, with_operands: bool) -> None:
    primitive_jvps[primitive] = functools.partial(_linear_jvp, primitive)
    primitive_transposes[primitive] = functools.partial(_linear_transpose, rule, with_operands)


def defbilinear(prim: Primitive, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Declare a primitive linear in each of two operands.

    ``lhs_rule(ct, x, y, **params)`` returns the cotangent of the first, x being an `UndefinedPrimal`, and `rhs_rule` that of the second.

    Examples
    --------
    >>> import fungrad as fg
    >>> product_p = Primitive("product")
    >>> _ = product_p.def_impl(lambda x, y: x * y), product_p.def_abstract_eval(lambda x, y: x)
    >>> defbilinear(product_p, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
    >>> fg.grad(product_p.bind, argnums=(0, 1))(3.0, 4.0)
    (np.float64(4.0), np.float64(3.0))
    """

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> Any:
        if isinstance(ct, Zero):
            return None, None
        if is_undefined_primal(x):
            return lhs_rule(ct, x, y, **params), None
        return None, rhs_rule(ct, x, y, **params)

    defjvp(
        prim,
        lambda t, x, y, **params: prim.bind(t, y, **params),
        lambda t, x, y, **params: prim.bind(x, t, **params),
    )
    primitive_transposes[prim] = transpose


def _sum_of_jvps(
    rules: tuple[Rule | None, ...],
    given_out: bool,
    primitive: Primitive,
    primals: Any,
    tangents: Any,
    **params: Any,
) -> Any:
    out = primitive.bind(*primals, **params)
    first = (out,) if given_out else ()
    terms = [
        rule(t, *first, *primals, **params)
        for rule, t in zip(rules, tangents, strict=True)
        if rule is not None and not isinstance(t, Zero)
    ]
    return out, functools.reduce(add_tangents, terms, Zero.from_primal_value(out))


def defjvp(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Set each operand's contribution to the tangent of the result: ``rule(t, *operands, **params)``.

    Examples
    --------
    >>> import fungrad as fg
    >>> square_p = Primitive("square")
    >>> _ = square_p.def_impl(lambda x: x * x), square_p.def_abstract_eval(lambda x: x)
    >>> defjvp(square_p, lambda t, x: 2 * x * t)
    >>> fg.grad(square_p.bind)(3.0)
    np.float64(6.0)
    """
    primitive_jvps[primitive] = functools.partial(_sum_of_jvps, jvprules, False, primitive)


def defjvp2(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Like `defjvp`, of rules that take the result too: ``rule(t, result, *operands, **params)``.

    Examples
    --------
    >>> import fungrad as fg
    >>> root_p = Primitive("root")
    >>> _ = root_p.def_impl(lambda x: x**0.5), root_p.def_abstract_eval(lambda x: x)
    >>> defjvp2(root_p, lambda t, root, x: t / (2 * root))
    >>> fg.grad(root_p.bind)(4.0)
    np.float64(0.25)
    """
    primitive_jvps[primitive] = functools.partial(_sum_of_jvps, jvprules, True, primitive)


def defjvp_zero(primitive: Primitive) -> None:
    """Declare that all tangents of a primitive are zero.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> whole_p = Primitive("whole")
    >>> _ = whole_p.def_impl(np.floor), whole_p.def_abstract_eval(lambda x: x)
    >>> defjvp_zero(whole_p)
    >>> fg.grad(whole_p.bind)(1.7)
    np.float64(0.0)
    """

    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        return out, Zero.from_primal_value(out)

    primitive_jvps[primitive] = rule
