"""A jitted function for one type of arguments."""

from __future__ import annotations

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
from fungrad.transforms.called import Call
from fungrad.transforms.donation import may_overwrite
from fungrad.transforms.dtypes import weakly_typed
from fungrad.transforms.explain import Signature


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
        self.special = bool(captured or donated or self.effect)
        weak = settings.get().jax_types and any(t.weak for t in flat.output_types)
        self.weak = (
            flat.output_types if weak else None
        )  # of JAX's results the dtypes may give way, too
        self.plain = self.single and not weak

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the traced program; it is compiled anew where it is loaded."""
        parts = (self.call.name, self.traced, self.captured, self.in_structure, self.structure)
        signature = self.signature._replace(static=tuple(strongly(self.signature.static)))
        return Entry, (*parts, self.donated), {"signature": signature, "layouts": self.layouts}

    def run(self, leaves: Sequence[Any], inlined: bool, library: ModuleType | None = None) -> Any:
        """Return the results for the leaves of the arguments, all arrays of `library` if it is given."""
        if library is None and Tracer in map(type, leaves):
            return self._recorded(leaves, inlined, True)
        run: Callable[..., Any] = self.program.functions.get(library) or self.program
        if self.special or current_trace.get() is not None:
            if self.captured or (self.effect and innermost_trace() is not None):
                return self._recorded(leaves, inlined, bool(self.captured))
            if (trace := stage()) is not None:
                return self._together(trace.record(self.call, leaves))
            if self.donating is not None and may_overwrite(leaves, self.donated):
                run = self.donating
        outs = run(*leaves)
        return outs[0] if self.plain else self.finished(outs)

    def _recorded(self, leaves: Sequence[Any], inlined: bool, traced: bool) -> Any:
        """Return the results of a call that another trace records; `traced` ones depend on its tracers."""
        if traced and self.by_python is not None:
            return self.by_python(leaves)
        if traced:  # Python numbers are weak in the program, so they are where it is recorded
            leaves = [
                x.item() if t.weak and isinstance(x, np.generic) else x
                for x, t in zip(leaves, self.in_types, strict=True)
            ]
        if inlined or self.program.axis_names:
            return self._together(evaluate(self.program.expr, [*self.captured, *leaves]))
        return self._together(bind(self.call, [*self.captured, *leaves]))

    def finished(self, outs: Sequence[Any]) -> Any:
        """Return the program's results as the function returns them."""
        return self._together(outs if self.weak is None else weakly_typed(outs, self.weak))

    def _together(self, outs: Sequence[Any]) -> Any:
        return outs[0] if self.single else tree.unflatten(self.structure, outs)


class NotToBeCached(Exception):
    """Carries an entry past the cache."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry


class Programs(LRUCache[Any]):
    """Compiled programs of a function, by the types of its arguments."""

    def __init__(self, maxsize: int) -> None:
        super().__init__(maxsize)
        self.traced = 0  # how many programs have been made


def forget(programs: weakref.ref[Programs], key: Hashable) -> None:
    """Drop a program, if the programs are still there."""
    if (alive := programs()) is not None:
        alive.discard(key)
