"""Memory of a tracer: its base, its views, and the order of its elements."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from fungrad.core.layout import Layout, is_ordinary, layout_of, of_elementwise
from fungrad.core.tracer import ARGUMENT, Tracer


class View(NamedTuple):
    """A view's base and steps.

    Attributes
    ----------
    root
        The array that is viewed; itself no view.
    steps
        What makes the view of the root, each step applied to the result of the one before.
    writable
        Whether NumPy lets one write through the view.
    layout
        How its elements lie.
    flat
        Whether it is ``x.flat``, of which parts are copies.
    perhaps
        Whether it may be a copy as well: how the elements of what it was made of lie is not known.
    """

    root: Tracer
    steps: tuple[Any, ...]  # for `steps.py`, which stands above
    writable: bool
    layout: Layout
    flat: bool = False
    perhaps: bool = False


class Views:
    """Weak references to the views of a root, and how its own elements lie.

    `perhaps` tells whether some of them may be copies.
    """

    __slots__ = ("crowded", "layout", "perhaps", "references")

    def __init__(self, layout: Layout = "C") -> None:
        self.layout = layout
        self.perhaps = False
        self.references: list[weakref.ref[Tracer]] = []
        self.crowded = 16

    def add(self, view: Tracer) -> None:
        """Take up a view."""
        if len(self.references) >= self.crowded:
            self.references = [r for r in self.references if r() is not None]
            self.crowded = 2 * len(self.references) + 16
        self.references.append(weakref.ref(view))


def lies_in_order(x: Any) -> bool:
    """Whether the axes of an operand lie one in the other as in C order, as nearly always."""
    if type(x) is Tracer:
        memory = x._memory
        if (
            memory is None
            or len(x._type.shape) < 2
            or (memory is ARGUMENT and not x._owner.given.layouts)
        ):
            return True
        return is_ordinary(x._type.shape, layout_of(x))
    return type(x) in _NUMBERS or layout_of(x) == "C"


_NUMBERS = (float, int)


def like(result: Tracer, operands: Sequence[Any]) -> Tracer:
    """Return the result of an elementwise function, which lies as NumPy lays out that of such operands."""
    if len(result._type.shape) > 1:
        for x in operands:
            if not lies_in_order(x):
                given = [(x.shape, layout_of(x)) for x in operands if getattr(x, "ndim", 0)]
                result._memory = Views(of_elementwise(tuple(given)))
                break
    return result


def elementwise(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of an elementwise function, whose results lie as NumPy lays them out."""

    @functools.wraps(rule)
    def function(*operands: Any) -> Any:
        result = rule(*operands)
        for part in result if type(result) is tuple else (result,):
            like(part, operands)
        return result

    return function


def all_in_order(operands: Iterable[Any]) -> bool:
    """Whether the axes of all operands, also of those in lists, lie as in C order."""
    return all(
        all_in_order(x) if type(x) is list or type(x) is tuple else lies_in_order(x)
        for x in operands
    )


ELEMENTWISE = frozenset(["astype", "clip", "fix", "isclose", "isneginf", "isposinf", "where"])
"""Functions with the layout of the elementwise functions that they are made of here."""

DENSE = frozenset(
    ["compress", "corrcoef", "cov", "dot", "inner", "outer", "repeat", "take", "tensordot"]
)
"""Functions whose results NumPy lays out in C order always."""

STACKED = frozenset(["matmul", "matvec", "vecmat"])
"""Functions whose results lie in C order but for their leading axes, if there are several."""

TURNING = frozenset(
    [
        *("apply_along_axis", "cross", "delete", "nanmedian", "nanpercentile", "nanquantile"),
        "unique",
    ]
)
"""Functions whose results NumPy may lay out in another order, though the operands lie in C order."""


def settle(name: str, result: Any, operands: tuple[Any, ...], lies: bool = False) -> None:
    """Set the layout of a function's arrays where NumPy does not lay them out in C order."""
    if type(result) is not Tracer:
        if isinstance(result, (list, tuple)):
            for part in result:
                settle(name, part, operands, lies)
        return
    if len(result._type.shape) < 2:
        return
    memory = result._memory
    name = name.lstrip("_")
    if type(memory) is View or (lies and memory is not None) or name in ELEMENTWISE:
        return
    dense = name in DENSE or (name in STACKED and len(result._type.shape) < 4)
    if name in TURNING or not (dense or all_in_order(operands)):
        result._memory = Views(None)
    elif type(memory) is Views and not memory.references:
        result._memory = Views()
