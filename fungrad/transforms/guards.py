"""Programs that hold for some values, and the guards that tell: so `jit` goes Python's way.

Where a jitted function asks for a value (``if x > 0``), it is traced for the arguments at hand (`core/answers.py`), which gives a *variant*: a
program, cut at its questions. Each part computes what one question needs, and a guard compares what comes with the answer that the program was
made for. Nothing behind a guard runs before it holds, so nothing of a way that is not taken warns or fails. Where one does not, the value that came leads to the variant to try
next: variants are the leaves of a tree, whose branches are questions. What is asked for more values than are worth a program is run by Python.

Design: docs/design/03-guards-and-lanes.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

from fungrad.compile.lower import Program
from fungrad.core.config import settings
from fungrad.core.layout import Layout, layout_of
from fungrad.core.nesting import stage
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.transforms.entry import Entry, NotToBeCached
from fungrad.transforms.guard import Failed, Key, key_of, with_guards
from fungrad.transforms.making import Making, NotForAll, refused
from fungrad.transforms.notes import note_variant, warn_of_many
from fungrad.transforms.parts import Parts, in_parts

MOST = 8
"""Variants for one type of arguments. Who asks for more values than that has Python compute."""

Tree: TypeAlias = "dict[Key, Any]"
"""A question of a tree, with another question or a variant for each answer."""


class Variant(Entry):
    """A jitted function compiled for one type of arguments and some values.

    Attributes
    ----------
    owner
        All variants for these types.
    answers
        The values that were asked for and the user's lines, in order.
    keys
        What the values are compared by.
    branches
        The questions on the way to it, in the tree of its owner.
    """

    owner: Guarded
    answers: tuple[tuple[Any, Any], ...]
    keys: tuple[Key, ...]
    branches: tuple[Tree, ...]
    parts: (
        Parts | None
    )  # None if it cannot be run again: it has effects, or has drawn random numbers

    def run(self, leaves: Sequence[Any], inlined: bool, _: Any = None) -> Any:
        """Return the results for leaves of arguments; other values lead to another variant."""
        return self.owner.run(leaves, inlined, first=self)

    def tried(self, leaves: Sequence[Any], checked: bool = True) -> Any:
        """Return the results, or that a guard has `Failed`; nothing is `checked` of arguments it was made for."""
        assert self.parts is not None  # or it would not have been kept
        outs = self.parts.run(leaves, checked)
        return outs if type(outs) is Failed else self.finished(outs)


class Guarded:
    """A jitted function that asks for values, for one type of arguments.

    It stands among the programs of the function, and takes calls as an `Entry` does. Its state is a tree of dicts and
    a list, each changed in one step, so neither threads nor interrupts leave it in disorder. It has at most `MOST`
    variants, except for those that threads add at once.
    """

    layouts: tuple[Layout, ...] | None = None

    def __init__(self, making: Making) -> None:
        self.making = making
        self.signature = making.signature(making.structure())
        self.variants: list[Variant] = []
        self.python = (
            False  # whether Python runs all calls: a program would do what has an effect again
        )
        self._laid_out = False  # whether a variant counts on how arguments lie in memory
        self._roots: dict[tuple[Layout, ...] | None, Tree] = {}
        self._last: dict[tuple[Layout, ...] | None, Variant] = {}
        self.warned: set[Any] = (
            set()
        )  # the lines of which it has been said that they ask for too many values
        self._programs: dict[Hashable, Program] = {}  # of parts; rounds of a loop have one

    @property
    def program(self) -> Guarded:
        """The object that is compiled: itself."""
        return self

    def compiled(self) -> None:
        """Do nothing: variants are compiled as they come."""

    def run(
        self, leaves: Sequence[Any], inlined: bool, _: Any = None, first: Variant | None = None
    ) -> Any:
        """Return the results for leaves of arguments, trying `first`, or else the last call's variant, first."""
        if not settings.get().reading:
            return self._unguarded(leaves).run(leaves, inlined)
        if Tracer in map(type, leaves) or stage() is not None:
            return self.making.inline(leaves)
        if self.python:
            return self._by_python(leaves)
        if first is not None and first.parts is not None:
            results = first.tried(leaves)
            if type(results) is not Failed:
                return results
        layouts = tuple(map(layout_of, leaves)) if self._laid_out else None
        variant = self._last.get(layouts) or self._last.get(None)
        failed = None
        for _ in range(2 * MOST):
            if variant is None:
                break
            results = variant.tried(leaves)
            if type(results) is not Failed:
                self._last[layouts] = variant
                return results
            failed = results._replace(variant=variant)
            variant = _any_of(variant.branches[failed.number].get(failed.found))
        return self._anew(leaves, failed)

    def variant_for(self, leaves: Sequence[Any]) -> Entry:
        """Return a program for such values, to look at; raise the refusal if some leaves are types alone."""
        if not (settings.get().reading and all(map(_has_value, leaves))):
            return self._unguarded(leaves)
        return self._made(leaves)

    def _unguarded(self, leaves: Sequence[Any]) -> Entry:
        """Return the program for all values; usually raises, because there is none."""
        try:
            return self.making.entry(list(map(layout_of, leaves)))
        except NotToBeCached as caught:
            return caught.entry

    def _anew(self, leaves: Sequence[Any], failed: Failed | None) -> Any:
        """Return the results for values for which there is no variant: make one, if there may be another."""
        if len(self.variants) >= MOST:
            if failed is not None:
                warn_of_many(self, failed)
            return self._by_python(leaves)
        variant, asks = None, False
        try:
            variant = self._made(leaves)
        except NotForAll:
            return self.making.inline(leaves)
        except Exception as error:
            asks = refused(error)
        if variant is None or variant.parts is None:
            # Python raises what is to be raised, after what comes before it.
            self.python = self.python or variant is not None
            results = self._by_python(leaves)
            self.python = self.python or asks
            return results
        self._keep(variant, failed)
        note_variant(self, variant)
        return variant.tried(leaves, checked=False)

    def _by_python(self, leaves: Sequence[Any]) -> Any:
        if (
            innermost_trace() is not None
        ):  # where an effect is to be recorded, and what is closed over may be of it
            return self.making.inline(leaves)
        return self.making.by_values(leaves)

    def _made(self, leaves: Sequence[Any]) -> Variant:
        """Return the variant for such values."""
        layouts = tuple(map(layout_of, leaves))
        answered = self.making.answered(leaves, layouts)
        questions = answered.questions
        keys = tuple([key_of(q.value, q.seen_as) for q in questions])
        expr = with_guards(answered.expr, questions, keys)
        variant = Variant(self.making.name, expr, [], answered.in_structure, answered.structure, ())
        variant.owner = self
        variant.signature = self.signature._replace(structure=answered.in_structure)
        variant.answers = tuple([(q.source, q.value) for q in questions])
        variant.keys = keys
        variant.branches = ()  # until it is kept
        if answered.laid_out:
            variant.layouts = layouts
        variant.parts = None
        if not answered.drawn:
            variant.parts = in_parts(variant.program.given, self._programs)
        return variant

    def _keep(self, variant: Variant, failed: Failed | None) -> None:
        """Add a variant to the tree, unless another thread has added one for these values."""
        if variant.layouts is not None:
            self._laid_out = True
        node: Any = self._roots.setdefault(variant.layouts, {})
        branches: list[Tree] = []
        misplaced = False
        for number, key in enumerate(variant.keys):
            branches.append(node)
            last = number == len(variant.keys) - 1
            node = node.setdefault(key, variant if last else {})
            if misplaced := last is not (type(node) is Variant):
                break  # it has asked for something else than before: it depends on more than its arguments
        variant.branches = (*branches, *[{} for _ in variant.keys[len(branches) :]])
        new = node is variant or misplaced or not variant.keys
        if new or _answers_otherwise(variant, failed):
            self.variants.append(variant)
        self._last[variant.layouts] = variant


def _answers_otherwise(variant: Variant, failed: Failed | None) -> bool:
    """Whether a program's answer differs from Python's for equal arguments, by a kernel's rounding.

    Such a variant counts, though it may be there already: so many calls are traced, and then Python runs them.
    """
    if failed is None or failed.number >= len(variant.keys):
        return failed is not None
    return variant.keys[failed.number] != failed.found


def _any_of(node: Any) -> Variant | None:
    """Return a variant of a part of the tree; None if there is none."""
    while type(node) is dict:
        node = next(iter(node.copy().values()), None)
    return node  # type: ignore[no-any-return]


def _has_value(x: Any) -> bool:
    """Whether a leaf of the arguments is an array, and neither traced nor a type that stands for one."""
    return not type(x).__module__.startswith("fungrad.")
