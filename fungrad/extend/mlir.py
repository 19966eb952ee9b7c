"""Lowerings of other packages' primitives: names of `jax.interpreters.mlir` and `xla`.

There is no MLIR here. A lowering made by `lower_fun` is a function of arrays, and that is run, compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fungrad.extend.core import Primitive
from fungrad.transforms.foreign import lowerings

__all__ = ["apply_primitive", "lower_fun", "register_lowering"]
__dir__ = __all__.copy


class _OfFunction(NamedTuple):
    """A lowering that is a function of arrays."""

    function: Callable[..., Any]
    multiple_results: bool

    def __call__(self, ctx: Any, *operands: Any, **params: Any) -> Any:
        raise NotImplementedError(
            "lowerings are not called: pass what lower_fun returns to register_lowering"
        )


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Any:
    """Return the lowering to a function of arrays, for `register_lowering`.

    Parameters
    ----------
    fun
        Takes operands, and the parameters by keyword. It can be traced.
    multiple_results
        Whether it returns a list of results.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad.extend.core import Primitive
    >>> twice_p = Primitive("twice")
    >>> _ = register_lowering(twice_p, lower_fun(lambda x: 2 * x, multiple_results=False))
    >>> twice_p.bind(np.ones(2))
    array([2., 2.])
    """
    return _OfFunction(fun, multiple_results)


def register_lowering(
    prim: Primitive, rule: Any, platform: str | None = None, **options: Any
) -> Any:
    """Set the lowering of a primitive for compiled programs.

    Parameters
    ----------
    prim
        The primitive.
    rule
        What `lower_fun` returns. Anything else is of no use here: what `def_impl` was given runs instead.
    platform
        Where. Only what is for all platforms or for the CPU is kept.

    Examples
    --------
    >>> import fungrad as fg
    >>> from fungrad.extend.core import Primitive
    >>> twice_p = Primitive("twice")
    >>> _ = twice_p.def_abstract_eval(lambda x: x)
    >>> _ = register_lowering(twice_p, lower_fun(lambda x: 2 * x, multiple_results=False))
    >>> fg.jit(twice_p.bind)(3.0)
    np.float64(6.0)
    """
    if isinstance(rule, _OfFunction) and platform in (None, "cpu"):
        several, function = rule.multiple_results, rule.function
        if several == prim.multiple_results:
            lowerings[prim] = function
        elif several:
            lowerings[prim] = lambda *xs, **params: function(*xs, **params)[0]
        else:
            lowerings[prim] = lambda *xs, **params: [function(*xs, **params)]
    return rule


def apply_primitive(prim: Primitive, *operands: Any, **params: Any) -> Any:
    """Return the results of a lowered primitive on arrays, for `Primitive.def_impl`.

    Examples
    --------
    >>> twice_p = Primitive("twice")
    >>> _ = register_lowering(twice_p, lower_fun(lambda x: 2 * x, multiple_results=False))
    >>> apply_primitive(twice_p, 3.0)
    6.0
    """
    if prim not in lowerings:
        raise NotImplementedError(
            f"the primitive `{prim}` has no lowering that is made by lower_fun: give it a function of arrays by def_impl"
        )
    return lowerings[prim](*operands, **params)
