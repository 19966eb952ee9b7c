"""Functions with custom derivative rules, and the arguments of these rules."""

from __future__ import annotations

from typing import Any

from fungrad.core.tree import map as tree_map
from fungrad.numpy.names import tell_missing
from fungrad.programs.rules.closures import closure_convert, custom_gradient
from fungrad.programs.rules.custom_jvp import custom_jvp
from fungrad.programs.rules.custom_vjp import CustomVJPPrimal, custom_vjp
from fungrad.programs.rules.linear_call import linear_call
from fungrad.programs.rules.rules import SymbolicZero, zero_like

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]
__dir__ = __all__.copy
tell_missing(globals())


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangent of a value.

    Parameters
    ----------
    val
        An array, a number, a tracer, or a pytree of them.
    symbolic_zeros
        Whether to return a `SymbolicZero` instead of an array.

    Returns
    -------
    array or pytree
        Zeros of the shape and dtype of each, or of dtype `float0` for integers and booleans.

    Examples
    --------
    >>> import numpy as np
    >>> zero_from_primal(np.ones(2))
    array([0., 0.])
    """
    return tree_map(lambda x: zero_like(x, symbolic_zeros), val)


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return a tree of `CustomVJPPrimal` as the tree of their values.

    Parameters
    ----------
    tree
        What forward rules with ``symbolic_zeros=True`` get.

    Returns
    -------
    pytree
        The values.

    Examples
    --------
    >>> custom_vjp_primal_tree_values({"w": CustomVJPPrimal(1.0, True)})
    {'w': 1.0}
    """
    return tree_map(lambda x: x.value, tree)
