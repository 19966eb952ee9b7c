"""Rewriting a program into a smaller one that gives the same results, bit for bit but for signs of zeros."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fungrad.compile.passes.accumulate import accumulate
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.passes.lowered import lowered
from fungrad.compile.passes.share import share
from fungrad.core.expr import Expr

PASSES: tuple[tuple[str, Callable[[Expr], Expr]], ...] = (
    ("share", share),
    ("dead code", without_dead_code),
    ("accumulate", accumulate),
    ("dead code", without_dead_code),
)
"""What is done to a program before it is scheduled, by name and in this order. A pass returns what it leaves alone."""


def simplify(expr: Expr) -> Expr:
    """Return `expr` with constants folded, common subexpressions shared and dead code removed."""
    for _, after in after_each_pass(expr):
        expr = after
    return expr


def spelled(expr: Expr) -> Expr:
    """Return `expr` as it is to be compiled: with programs in the place of primitives that stand for one."""
    written_out = lowered(expr)
    return expr if written_out is expr else simplify(written_out)


def after_each_pass(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yield the name of each pass and the program after it."""
    changed = True  # since dead code was left out last
    for name, step in PASSES:
        leaves_out = step is without_dead_code
        if leaves_out and not changed:
            continue  # there is none
        after = step(expr)
        changed = not leaves_out and (changed or after is not expr)
        expr = after
        yield name, expr
