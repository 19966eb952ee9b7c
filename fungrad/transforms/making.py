"""Ways to run a jitted function for one type of arguments: as a program, for some values, by Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.compile.evaluated import unshared
from fungrad.core import tree
from fungrad.core.answers import Answers, Question
from fungrad.core.axes import open_sizes
from fungrad.core.config import check_exprs
from fungrad.core.errors import ConcretizationError, LostDerivativeError
from fungrad.core.expr import Expr
from fungrad.core.frozen import Draws
from fungrad.core.layout import Layout
from fungrad.core.mode import PROGRAM, VALUES
from fungrad.core.nesting import trace_of
from fungrad.core.reading import as_read
from fungrad.core.scipys import refusal_behind
from fungrad.core.trace import Trace
from fungrad.core.tracer import ARGUMENT, Tracer, innermost_trace, new_tracer
from fungrad.core.types import ArrayType, is_array
from fungrad.transforms.argnums import with_static
from fungrad.transforms.argument_errors import no_result
from fungrad.transforms.arguments import as_operand
from fungrad.transforms.call import output_variables
from fungrad.transforms.dtypes import weakly_typed
from fungrad.transforms.entry import Entry, NotToBeCached
from fungrad.transforms.explain import Signature

_POSITIONAL = tree.structure((0, {}))
"""Positional arguments, in place of the leaf, and no others."""


@dataclasses.dataclass(frozen=True, slots=True)
class Making:
    """A jitted function and one type of its arguments, with everything needed to run it on leaves.

    Attributes
    ----------
    fun, name, label
        The function, and what it is called.
    structure_of_call, named
        The structure of the arguments, but for the static ones; None for a tuple of leaves. Whether it has keyword arguments.
    static
        What is static: where, and values.
    types, order
        Of the leaves; the orders of the keys of dicts.
    donated
        The leaves that may be overwritten.
    """

    fun: Callable[..., Any]
    name: str
    label: str
    structure_of_call: tree.TreeDef | None
    named: bool
    static: tuple[Any, ...]
    types: Sequence[ArrayType]
    order: tree.KeyOrder
    donated: Sequence[int]

    def entry(self, layouts: Sequence[Layout]) -> Entry:
        """Return the program for all values. Raises `NotToBeCached` if it is good for this call alone."""
        with self._trace() as trace:
            inputs = self._inputs(trace, layouts)
            structure, expr, draws = self._recorded(trace, inputs)
        draws.warn(self.label)
        captured = [*trace.captures.values()]
        entry = Entry(self.name, expr, captured, self.structure(), structure, self.donated)
        entry.signature = self.signature(entry.in_structure)
        if trace.facts.reshaped and trace.facts.assigned:
            entry.layouts = tuple(layouts)
        if trace.facts.repeats:  # another transform may need the reverse of it
            entry.by_python = self.inline
        if captured or trace.facts.depends_on < trace.level:
            # The program is only good inside the traces it belongs to.
            raise NotToBeCached(entry)
        return entry

    def answered(self, leaves: Sequence[Any], layouts: Sequence[Layout]) -> Answered:
        """Return the record of the function for such values. Raises `NotForAll` if enclosing traces are used."""
        with self._trace() as trace:
            trace.given.answers = answers = Answers()
            inputs = self._inputs(trace, layouts)
            for tracer, x in zip(inputs, leaves, strict=True):
                answers.give(tracer._variable, x)
            structure, expr, draws = self._recorded(trace, inputs)
        if trace.captures or trace.facts.depends_on < trace.level:
            raise NotForAll
        laid_out = trace.facts.reshaped and trace.facts.assigned
        known = expr, answers.questions, self.structure(), structure
        return Answered(*known, laid_out, draws.made)

    def by_values(self, leaves: Sequence[Any]) -> Any:
        """Return the function's result for these leaves, computed as Python goes on."""
        with Trace(self.label, VALUES) as trace:
            trace.given.answers = Answers()
            traced = [trace.new_input(t, x) for t, x in zip(self.types, leaves, strict=True)]
            trace.given.still = frozenset(trace.inputs)
            results, structure = tree.flatten(self._called(traced))
            outputs = output_variables(trace, results, self.label)
            trace.evaluate()
            values = trace.values or {}
            computed = [values[v] for v in outputs]
            types = [trace.types[v] for v in outputs]
        arrays = [x for x in computed if type(x) is not Tracer]
        own = iter(unshared(arrays, leaves))
        computed = [x if type(x) is Tracer else next(own) for x in computed]
        return tree.unflatten(structure, list(weakly_typed(computed, types)))

    def inline(self, leaves: Sequence[Any]) -> Any:
        """Run the function as a part of the one that is being traced, whose rules then hold."""
        trace = trace_of(leaves) or innermost_trace()
        if trace is None:
            return self.by_values(leaves)
        traced = []
        for x, t in zip(leaves, self.types, strict=True):
            if type(x) is not Tracer:
                x = trace.lift(x.item() if t.weak and isinstance(x, np.generic) else as_operand(x))
            own = new_tracer(x._owner, x._variable, x._type)  # the function may assign to it
            own._memory = ARGUMENT
            traced.append(own)
        results, structure = tree.flatten(self._called(traced))
        for i, x in enumerate(results):
            if type(x) is not Tracer:
                if hasattr(type(x), "taken_elements"):  # of an array, by a mask that had no value
                    results[i] = x.taken_elements()
                    continue
                if not is_array(x):
                    raise no_result(x, self.label)
                results[i] = trace.lift(x)
        return tree.unflatten(structure, results)

    def rebuild(self, leaves: Sequence[Any]) -> Any:
        """Return positional and keyword arguments, but for the static ones."""
        structure = self.structure_of_call
        whole = tuple(leaves) if structure is None else tree.unflatten(structure, leaves)
        return whole if self.named else (whole, {})

    def signature(self, structure: tree.TreeDef) -> Signature:
        """Return the properties of calls for which programs made of this hold."""
        return Signature(structure, tuple(self.types), self.static, open_sizes(), self.order)

    def structure(self) -> tree.TreeDef:
        """Return the structure of the arguments that are not static."""
        given = self.structure_of_call
        if given is None:
            given = tree.structure((0,) * len(self.types))
        return given if self.named else _POSITIONAL.compose(given)

    def _trace(self) -> Trace:
        return Trace(self.label, PROGRAM)

    def _inputs(self, trace: Trace, layouts: Sequence[Layout]) -> list[Tracer]:
        pairs = zip(self.types, layouts, strict=True)
        return [trace.new_input(t, layout=layout) for t, layout in pairs]

    def _called(self, leaves: Sequence[Any]) -> Any:
        called = self.rebuild(leaves)
        args, kwargs = with_static(called[0], called[1], self.static)
        fun = as_read(self.fun)  # under a name: errors look up which function is called here
        return fun(*args, **kwargs)

    def _recorded(self, trace: Trace, inputs: Sequence[Tracer]) -> tuple[tree.TreeDef, Expr, Draws]:
        """Run the function on tracers; return its structure, its program, and whether it drew numbers."""
        draws = Draws(self.fun, [value for _, _, value in self.static])
        result = self._called(inputs)
        leaves, structure = tree.flatten(result)
        expr = trace.expr(output_variables(trace, leaves, self.label))
        return structure, expr.check() if check_exprs.get() else expr, draws


@dataclasses.dataclass(frozen=True, slots=True)
class Answered:
    """Record of a function whose questions were answered for some arguments.

    Attributes
    ----------
    expr
        The program: right for all arguments that give the same answers.
    questions
        What Python has asked for, in order.
    in_structure, structure
        Of the arguments and of the results.
    laid_out
        Whether it counts on how the arguments lie in memory.
    drawn
        Whether random numbers were drawn: other ones in each call.
    """

    expr: Expr
    questions: Sequence[Question]
    in_structure: tree.TreeDef
    structure: tree.TreeDef
    laid_out: bool
    drawn: bool


class NotForAll(Exception):
    """The end of a trace that would be good within another trace alone."""


def refused(error: BaseException) -> bool:
    """Whether an error was, or was caused by, a refusal to give a traced array's value."""
    seen: BaseException | None = error
    for _ in range(16):
        if seen is None:
            break
        if isinstance(seen, (ConcretizationError, LostDerivativeError)):
            return True
        seen = seen.__cause__ or seen.__context__
    return isinstance(error, Exception) and refusal_behind(error) is not None
