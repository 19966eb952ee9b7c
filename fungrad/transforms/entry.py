"""A jitted function for one type of arguments."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Hashable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.cache import LRUCache
from fungrad.core.config import settings
from fungrad.core.evaluate import evaluate, inline
from fungrad.core.expr import Expr
from fungrad.core.layout import Layout
from fungrad.core.nesting import stage
from fungrad.core.primitive import bind
from fungrad.core.tracer import Tracer, current_trace, innermost_trace
from fungrad.transforms.argnums import strongly
from fungrad.transforms.call import as_operand, weakly_typed
from fungrad.transforms.called import Call
from fungrad.transforms.donation import may_overwrite
from fungrad.transforms.explain import Signature

_TRACERS = frozenset([Tracer])


class Entry:
    """A function compiled for one type of arguments."""

    def __init__(
        self,
        name: str,
        expr: Expr,
        captured: list[Any],
        in_structure: Any,
        structure: Any,
        donated: Sequence[int],
    ) -> None:
        self.traced = expr
        self.in_types = expr.input_types[expr.captured :]
        self.in_structure = in_structure
        self.signature: Signature
        self.layouts: tuple[Layout, ...] | None = (
            None  # of the arguments it is good for, if that is not all
        )
        self.by_python: Callable[[Sequence[Any]], Any] | None = None
        """Runs the function as a part of one that is traced, where its program has no reverse mode."""
        self.captured = captured  # tracers of enclosing traces: the leading inputs
        self.structure = structure
        flat = inline(expr)
        if settings.get().inexact_algebra:
            from fungrad.compile.inexact import inexact

            self.traced = flat = inexact(flat)
        self.program = Program(flat, at_once=True, jitted=True)
        self.donated = tuple(donated)
        self.donating = Program(flat, self.donated, at_once=True, jitted=True) if donated else None
        self.program.label = label = f"jit({name})"
        if self.donating is not None:
            self.donating.label = label
        self.call = Call(name, self.program)
        self.single = structure is tree.LEAF
        self.effect = self.program.effect
        weak = settings.get().jax_types and any(t.weak for t in flat.output_types)
        self.weak = (
            flat.output_types if weak else None
        )  # of JAX's results the dtypes may give way, too

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the traced program; it is compiled anew where it is loaded."""
        parts = (self.call.name, self.traced, self.captured, self.in_structure, self.structure)
        signature = self.signature._replace(static=tuple(strongly(self.signature.static)))
        return Entry, (*parts, self.donated), {"signature": signature, "layouts": self.layouts}

    def run(self, leaves: Sequence[Any], inlined: bool) -> Any:
        """Return the results for the leaves of the arguments."""
        traced = self.captured or not _TRACERS.isdisjoint(map(type, leaves))
        if traced and self.by_python is not None:
            return self.by_python(leaves)
        if traced or (self.effect and innermost_trace() is not None):
            operands = [*self.captured, *[as_operand(x) for x in leaves]]
            if traced:  # Python numbers are weak in the program, so they are where it is recorded
                weak = [False] * len(self.captured) + [t.weak for t in self.in_types]
                operands = [
                    x.item() if w and isinstance(x, np.generic) else x
                    for x, w in zip(operands, weak, strict=True)
                ]
            if inlined or self.program.axis_names:
                outs: Sequence[Any] = evaluate(self.program.expr, operands)
            else:
                outs = bind(self.call, operands)
        elif current_trace.get() is not None and (trace := stage()) is not None:
            outs = trace.record(self.call, [as_operand(x) for x in leaves])
        else:
            overwrites = self.donating is not None and may_overwrite(leaves, self.donated)
            program = self.donating if overwrites else self.program
            return self.finished(program(*leaves))  # type: ignore[misc]
        return outs[0] if self.single else tree.unflatten(self.structure, outs)

    def finished(self, outs: Sequence[Any]) -> Any:
        """Return the program's results as the function returns them."""
        if self.weak is not None:
            outs = weakly_typed(outs, self.weak)
        return outs[0] if self.single else tree.unflatten(self.structure, outs)


def device_library(operands: Sequence[Any]) -> ModuleType | None:
    """Return the library of a device that all operands are arrays of; None if they are not."""
    cupy = sys.modules.get("cupy")
    array = getattr(cupy, "ndarray", None)
    return cupy if array is not None and {array}.issuperset(map(type, operands)) else None


class NotToBeCached(Exception):
    """Carries an entry past the cache."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry


class Programs(LRUCache[Any]):
    """Compiled programs of a function, by the types of its arguments.

    Parameters
    ----------
    maxsize
        How many to keep.
    plain
        Whether arrays and numbers find their program by their types alone.
    """

    def __init__(self, maxsize: int, plain: bool = True) -> None:
        super().__init__(maxsize)
        self.plain = plain
        self.traced = 0  # how many programs have been made


def forget(programs: weakref.ref[Programs], key: Hashable) -> None:
    """Drop a program, if the programs are still there."""
    if (alive := programs()) is not None:
        alive.discard(key)
