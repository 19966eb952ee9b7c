"""Iterative linear solvers for SciPy's operators of Python functions, which are traced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from scipy.sparse.linalg import LinearOperator

from fungrad.compat.numpy.reaching import holds
from fungrad.scipy.sparse import linalg

__all__ = ["bicgstab", "cg", "gmres"]


def _product(operator: Any) -> Any:
    """Return an operator's product function, if it holds traced values; else the operator.

    SciPy's `matvec` makes a NumPy array of its argument first. Other operators may call compiled code, and stay opaque.
    """
    if isinstance(operator, LinearOperator) and holds(operator):
        return operator._matvec
    return operator


def _taking_operators(solve: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(solve)
    def solution(A: Any, b: Any, *args: Any, M: Any = None, **kwargs: Any) -> Any:
        return solve(_product(A), b, *args, M=_product(M), **kwargs)

    return solution


bicgstab, cg, gmres = [_taking_operators(f) for f in (linalg.bicgstab, linalg.cg, linalg.gmres)]
