"""Primitives in JAX's form for interpreters; those with a rule of their own as two functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import fungrad
from fungrad.compat.jax.interpreted_spellings import Handed
from fungrad.extend import linear_util
from fungrad.extend.primitives import primitives
from fungrad.programs.rules.custom_jvp import CustomJVP
from fungrad.programs.rules.rules import is_zero, run_rule, zero_like
from fungrad.transforms.foreign import Primitive
from fungrad.transforms.jaxprs import Own, as_jax

_INLINED = {"inline": False, "donated_invars": (), "keep_unused": False}
"""Parameters of JAX's `jit` that interpreters read, and that fungrad's has not."""


class _CustomJvpCall(Primitive):
    """`custom_jvp_call` with its functions as arguments, or as parameters `subfuns`."""

    multiple_results = True

    def bind(self, *operands: Any, **params: Any) -> list[Any]:
        if "subfuns" not in params:
            operands, params = operands[2:], {**params, "subfuns": operands[:2]}
        fun, jvp = params["subfuns"]
        called = fungrad.custom_jvp(lambda *xs: [*fun.call_wrapped(*xs)])

        def rule(primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
            results = [*jvp.call_wrapped(*primals, *tangents)]
            n = len(results) // 2
            return results[:n], results[n:]

        called.defjvp(rule, symbolic_zeros=params.get("symbolic_zeros", False))
        return called(*operands)  # type: ignore[no-any-return]


custom_jvp_call_p = _CustomJvpCall("custom_jvp_call")


def process(of: Any, primitive: Any, operands: Sequence[Any], given: Sequence[Any]) -> Any:
    """Hand a primitive to an interpreter; `operands` are `given` as the library's tracers."""
    if isinstance(primitive, Handed):
        shown = getattr(primitives, primitive.primitive)
        return of.process_primitive(shown, given, primitive.params)
    if isinstance(primitive, CustomJVP):
        return _custom_jvp(of, primitive, operands, given)
    shown, params, given = as_jax(primitive, given)
    if isinstance(shown, Own) and shown.function is None:
        getattr(primitives, f"{shown.name}_p")  # which gives it one, for operands that are numbers
    if shown.name == "jit":
        params.update(_INLINED)
    return of.process_primitive(shown, given, params)


def _custom_jvp(of: Any, call: CustomJVP, operands: Sequence[Any], given: Sequence[Any]) -> Any:
    of_function, of_rule, _ = call.split(operands)
    arguments = call.split(given)[2]

    def fun(*primals: Any) -> list[Any]:
        return [*run_rule(call.function.expr, [*of_function, *primals])]

    def jvp(*both: Any) -> list[Any]:
        n = len(arguments)
        moving = [None if is_zero(t) else t for t in both[n:]]
        captured = (*of_function, *of_rule)
        results, tangents = call.push(
            ((None,) * len(captured) + tuple(moving)), (*captured, *both[:n]), None, True
        )
        pairs = zip(results, tangents, strict=True)
        return [*results, *[zero_like(x, False) if t is None else t for x, t in pairs]]

    return of.process_custom_jvp_call(
        custom_jvp_call_p,
        linear_util.wrap_init(fun),
        linear_util.wrap_init(jvp),
        arguments,
        symbolic_zeros=False,
    )
