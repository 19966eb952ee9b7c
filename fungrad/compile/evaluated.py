"""Programs evaluated equation by equation: those that run once, or are watched, are not compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fungrad.core.backend import as_result
from fungrad.core.evaluate import evaluate
from fungrad.core.expr import Expr
from fungrad.core.float_warnings import at_users_lines
from fungrad.core.tracer import Tracer, new_tracer
from fungrad.core.watch import Watch

MANY = 64
"""Equations of a program evaluated at its first calls; fewer are compiled quickly enough."""
SMALL = 1 << 16
"""Bytes of its arrays, at most: of larger ones, it matters that compiled programs compute in place."""


def is_quick(expr: Expr) -> bool:
    """Whether a program can be evaluated for now: long, with small arrays, no loops and no branches."""
    return (
        len(expr.equations) >= MANY
        and all(t.nbytes <= SMALL for t in expr.types)
        and not any(e.primitive.holds_programs for e in expr.equations)
    )


def evaluator(expr: Expr, watch: Watch | None = None) -> Callable[..., list[Any]]:
    """Return the function that evaluates `expr`, with results that share no memory with anything."""

    def run(*arguments: Any) -> list[Any]:
        with at_users_lines():
            results = evaluate(expr, arguments, watch)
        return unshared(results, [*arguments, *expr.constants.values()])

    return run


def unshared(results: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return `results` with copies of those that may share memory with one another, or with `others`."""
    own: list[Any] = []
    known = {id(x) for x in others}
    for x in results:
        if type(x) is Tracer:  # elements may be assigned to, which changes what it stands for
            x = new_tracer(x._owner, x._variable, x._type)
        elif getattr(x, "ndim", 0) == 0:
            x = as_result(x)
        elif x.base is not None or not getattr(x.flags, "writeable", True) or id(x) in known:
            x = x.copy()
        own.append(x)
        known.add(id(x))
    return own


def watcher(expr: Expr) -> Callable[..., list[Any]]:
    """Return the function that evaluates `expr` and reports a NaN, say, where the settings ask for it."""

    def run(*arguments: Any) -> list[Any]:
        watch = Watch()
        results = evaluator(expr, watch)(*arguments)
        watch.conclude(expr.outputs)
        return results

    return run
