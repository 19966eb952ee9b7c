"""``autograd.core``."""

from __future__ import annotations

import functools
from typing import Any

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.boxes import JVPNode, VJPNode, backward_pass, getval, isbox
from fungrad.compat.autograd.defining import (
    SparseObject,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
)
from fungrad.compat.autograd.derivatives import make_jvp, make_vjp
from fungrad.compat.autograd.modules.util import func, subval, toposort
from fungrad.compat.autograd.modules.wrap_util import wraps
from fungrad.compat.autograd.rules import primitive as plain_primitive
from fungrad.compat.autograd.vectors import VSpace, vspace
from fungrad.compat.standing_in import attributes

__all__ = [
    "JVPNode", "SparseObject", "VJPNode", "VSpace", "backward_pass", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums",
    "defvjp", "defvjp_argnum", "defvjp_argnums", "func", "getval", "identity_jvp", "identity_vjp", "isbox", "make_jvp",
    "make_vjp", "primitive", "primitive_with_deprecation_warnings", "subval", "sum_outgrads", "toposort", "vspace", "wraps",
]  # fmt: skip

__getattr__ = attributes("autograd.core", ABSENT)


def identity_vjp(argnums: Any, *args: Any) -> Any:
    """Return the pullback of the identity."""
    return lambda g: g


def identity_jvp(g: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the tangent of the identity."""
    return g


def sum_outgrads(gs: Any) -> Any:
    """Return the sum of vectors."""
    vectors = [g.dense() if isinstance(g, SparseObject) else g for g in gs]
    return functools.reduce(vspace(vectors[0]).add, vectors)


def primitive_with_deprecation_warnings(f_raw: Any) -> Any:
    """Return `primitive` of a function, with the methods that defined derivatives before `defvjp`."""
    wrapped = plain_primitive(f_raw)
    makers: dict[int, Any] = {}

    def define(argnum: int, maker: Any) -> None:
        makers[argnum] = maker
        defvjp(wrapped, *makers.values(), argnums=list(makers))

    def defgrad(gradfun: Any, argnum: int = 0) -> None:
        define(argnum, gradfun)

    def of_spaces(vjpmaker: Any, argnum: int = 0) -> None:
        def maker(ans: Any, *args: Any, **kwargs: Any) -> Any:
            return lambda g: vjpmaker(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)

        define(argnum, maker)

    def defvjp_is_zero(argnums: Any = (0,)) -> None:
        for i in argnums:
            define(i, None)

    wrapped.defgrad, wrapped.defvjp, wrapped.defvjp_is_zero = defgrad, of_spaces, defvjp_is_zero
    return wrapped


primitive = primitive_with_deprecation_warnings
