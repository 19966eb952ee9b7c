"""Linear and quadratic equations for matrices: Sylvester, Lyapunov, Riccati.

As in SciPy, discrete Lyapunov equations and Riccati equations are solved in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from fungrad.core.types import type_list
from fungrad.numpy.dispatch import implements
from fungrad.numpy.linalg.operands import check_matrices, hermitian, numbers
from fungrad.numpy.promotion import broadcast_to
from fungrad.primitives.matrix_functions import Sylvester
from fungrad.primitives.riccati import ContinuousRiccati, DiscreteLyapunov, DiscreteRiccati
from fungrad.primitives.stacks import adjoint
from fungrad.scipy.arguments import double
from fungrad.scipy.mirrors import mirrors

__all__ = [
    "solve_continuous_are", "solve_continuous_lyapunov", "solve_discrete_are",
    "solve_discrete_lyapunov", "solve_lyapunov", "solve_sylvester",
]  # fmt: skip


def _stacked(name: str, *arrays: Any) -> list[Any]:
    """Return stacks of matrices of one dtype, broadcast against each other."""
    xs = numbers(*arrays)
    for x in xs:
        check_matrices(x)
    try:
        stack = np.broadcast_shapes(*[x.shape[:-2] for x in xs])
    except ValueError:
        raise ValueError(f"{name}: stacks {type_list([x._type for x in xs])} do not fit") from None
    return [broadcast_to(x, stack + x.shape[-2:]) for x in xs]


@implements(scipy.linalg.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    return Sylvester()(*_stacked("solve_sylvester", a, b, q))


@implements(scipy.linalg.solve_continuous_lyapunov, scipy.linalg.solve_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    x, y = _stacked("solve_continuous_lyapunov", a, q)
    if x.shape != y.shape:
        raise ValueError("Matrix a and q should have the same shape.")
    return Sylvester()(x, adjoint(x), y)


solve_lyapunov = solve_continuous_lyapunov


@implements(scipy.linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    if method not in (None, "direct", "bilinear"):
        raise ValueError(f"Unknown solver {method}")
    return DiscreteLyapunov(method)(*_stacked("solve_discrete_lyapunov", double(a), double(q)))


def _riccati(function: Any, primitive: Any) -> Any:
    """Return the public function that solves a Riccati equation."""

    @mirrors(function)
    def rule(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, balanced: bool) -> Any:
        """The derivative by `q` and `r` is that by Hermitian matrices."""
        if e is not None or s is not None or not balanced:
            raise TypeError(
                "traced Riccati equations have no `e` and no `s`, and are balanced: replace a by inv(e) @ a and b by "
                "inv(e) @ b, or a by a - b @ inv(r) @ s^H and q by q - s @ inv(r) @ s^H"
            )
        a, b, q, r = [double(x) for x in (a, b, q, r)]
        return primitive(*_stacked(primitive.name, a, b, hermitian(q), hermitian(r)))

    return rule


solve_continuous_are = _riccati(scipy.linalg.solve_continuous_are, ContinuousRiccati())
solve_discrete_are = _riccati(scipy.linalg.solve_discrete_are, DiscreteRiccati())
