"""Primitives of programs, by their names in `jax.extend.core.primitives` and `jax.lax`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import fungrad.lax as lax
from fungrad.transforms.jaxprs import Own, jaxpr_as_fun, own

__all__ = ["primitives"]
__dir__ = __all__.copy

_NAMES = {"pjit": "jit", "squeeze": "reshape"}

_INERT = frozenset(["accuracy", "out_dtype", "out_sharding", "sharding", "weak_type"])
"""Parameters of JAX's equations that say nothing here."""


def _scan(
    *operands: Any,
    jaxpr: Any,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    **_: Any,
) -> list[Any]:
    function, first = jaxpr_as_fun(jaxpr), num_consts + num_carry
    consts, xs = operands[:num_consts], [*operands[first:]]

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        results = function(*consts, *carry, *x)
        return results[:num_carry], results[num_carry:]

    carry, ys = lax.scan(step, [*operands[num_consts:first]], xs, length, reverse)
    return [*carry, *ys]


def _while(
    *operands: Any, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int
) -> list[Any]:
    test, step, first = (
        jaxpr_as_fun(cond_jaxpr),
        jaxpr_as_fun(body_jaxpr),
        cond_nconsts + body_nconsts,
    )
    of_test, of_step = operands[:cond_nconsts], operands[cond_nconsts:first]
    carry = [*operands[first:]]
    return lax.while_loop(lambda xs: test(*of_test, *xs)[0], lambda xs: step(*of_step, *xs), carry)


def _cond(index: Any, *operands: Any, branches: Any, **_: Any) -> list[Any]:
    return lax.switch(index, [*map(jaxpr_as_fun, branches)], *operands)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "and": lax.bitwise_and,
    "argmax": lambda x, *, axes, index_dtype: lax.argmax(x, axes[0], index_dtype),
    "argmin": lambda x, *, axes, index_dtype: lax.argmin(x, axes[0], index_dtype),
    "cond": _cond,
    "concatenate": lambda *operands, dimension: lax.concatenate(operands, dimension),
    "dynamic_slice": lambda x, *starts, slice_sizes: lax.dynamic_slice(x, starts, slice_sizes),
    "dynamic_update_slice": lambda x, updates, *starts: lax.dynamic_update_slice(
        x, updates, starts
    ),
    "iota": lambda *, dtype, shape, dimension: lax.broadcasted_iota(dtype, shape, dimension),
    "not": lax.bitwise_not,
    "or": lax.bitwise_or,
    "scan": _scan,
    "sort": lambda *operands, **params: [*lax.sort(operands, **params)],
    "while": _while,
    "xor": lax.bitwise_xor,
}
"""Functions that `bind` calls, where they are not the namesakes in `fungrad.lax`."""


class _Primitives:
    """Finder of ``sin_p``: equal to that of equations of a `Jaxpr`; ``sin_p.bind`` calls ``lax.sin``."""

    def __repr__(self) -> str:
        return "<fungrad.extend.core.primitives>"

    def __getattr__(self, name: str) -> Own:
        if not name.endswith("_p") or name.startswith("_"):
            raise AttributeError(f"{name!r} is not the name of a primitive, as 'sin_p' is")
        short = name.removesuffix("_p")

        def call(*operands: Any, **params: Any) -> Any:
            function = _FUNCTIONS.get(short) or getattr(lax, short, None)
            if function is None:
                raise NotImplementedError(f"{name}.bind: call the function that it is a part of")
            inert = _INERT.intersection(params)
            if inert:
                inert -= inspect.signature(function).parameters.keys()
            return function(*operands, **{k: x for k, x in params.items() if k not in inert})

        equal = _NAMES.get(short, short)  # one that is bound in another way is another object
        primitive = Own(equal) if equal != short and hasattr(lax, short) else own(equal)
        primitive.function = call
        return primitive


primitives = _Primitives()
