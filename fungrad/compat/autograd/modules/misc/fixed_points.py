"""``autograd.misc.fixed_points``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.vectors import vspace
from fungrad.compat.standing_in import attributes
from fungrad.core import tree
from fungrad.core.tracer import Tracer
from fungrad.lax import custom_root

__all__ = ["fixed_point"]
__getattr__ = attributes("autograd.misc.fixed_points", ABSENT)

Step = Callable[[Any], Any]


def fixed_point(
    f: Callable[[Any], Step], a: Any, x0: Any, distance: Callable[[Any, Any], Any], tol: float
) -> Any:
    """Return the fixed point of ``f(a)``, iterated from `x0` until steps are no longer than `tol`.

    Its derivative is that of the implicit function theorem; the linear equations are solved by iteration as well.
    """

    def iterated(step: Step, x: Any) -> Any:
        x, before = step(x), x
        while distance(x, before) > tol:
            x, before = step(x), x
        return x

    def solve(residual: Step, x: Any) -> Any:
        return iterated(lambda x: tree.map(operator.add, x, residual(x)), x)

    def solve_linear(linear: Step, y: Any) -> Any:
        step = lambda x: tree.map(lambda u, v, w: u + v - w, x, linear(x), y)
        return iterated(step, vspace(y).zeros())

    if Tracer not in map(type, tree.leaves((a, x0))):
        return iterated(f(a), x0)
    return custom_root(lambda x: tree.map(operator.sub, f(a)(x), x), x0, solve, solve_linear)
