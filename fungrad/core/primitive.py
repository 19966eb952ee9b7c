"""Primitive operations: one class with everything fungrad knows of each, and their application."""

from __future__ import annotations

import contextvars
import dataclasses
import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from fungrad.core.annotations import annotated
from fungrad.core.axes import home
from fungrad.core.backend import as_result, with_library
from fungrad.core.errors import MissingRuleError, Source, describe_source
from fungrad.core.float_warnings import float_modes, modes_with_calls, runs_equation
from fungrad.core.interned import InternedValue, interned_dataclass, interned_family
from fungrad.core.nesting import GivenUp, tentative
from fungrad.core.recorder import Recorder
from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.core.types import Linear as Linear

primitive = interned_dataclass
"""Make a subclass of `Primitive` a frozen dataclass; its fields are the static parameters."""

family = interned_family
"""Declare the parameters that several primitives have in common; the class is none itself."""


@functools.lru_cache(maxsize=1 << 14)
def infer(primitive: Primitive, types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
    """Return the types of the results of a primitive, remembered from earlier calls."""
    return tuple(primitive.as_sequence(primitive.abstract_eval(*types)))


class Primitive(InternedValue):
    """An operation the transforms know. Subclasses are declared with `@primitive`.

    Fields are static (axes, shapes, modes) and hashable. Operands are arrays, in the order of the call. Rules run on tracers: they compute
    with other primitives and with operators, and never look at a value. One that a primitive does not define raises `MissingRuleError` when used.
    """

    name: str
    """How the primitive is shown; by default the class name in snake case."""

    multiple_results: ClassVar[bool] = False
    """Whether the rules take and return tuples of results."""

    differentiable: ClassVar[bool] = True
    """False if every tangent is zero (comparisons, rounding, index computations)."""

    linear: ClassVar[tuple[int, ...] | None] = None
    """Operands, () for all, in which it is jointly linear: `jvp` is it, of tangents; others have none."""

    multilinear: ClassVar[bool] = False
    """Whether the primitive is linear in each operand separately, like a product. `jvp` is derived."""

    can_fail: ClassVar[bool] = False
    """Whether `impl` raises errors by values. Where these are known, it runs while a user could catch."""

    warns: ClassVar[bool] = True
    """Whether NumPy may warn of the numbers that `impl` computes. Not if it only moves or compares them."""

    view: ClassVar[bool] = False
    """Whether the result of `impl` may share memory with an operand."""

    rearranges: ClassVar[bool] = False
    """Whether the result is a view of elements of its one operand, each in one place or in several."""

    total: ClassVar[bool | Literal["real"]] = False
    """Whether finite operands neither warn nor fail, but for overflows; "real" if only real ones."""

    divides: ClassVar[bool] = False
    """Whether the second operand is a divisor, which should not be zero."""

    on_scalars: ClassVar[str | None] = None
    """Python's expression for it, ``{} + {}``, if equal on NumPy's real scalars."""

    takes_elements: ClassVar[bool] = False
    """Whether the result has elements of the first operand; `add_to_taken` adds the cotangent to theirs."""

    forwards_result: ClassVar[bool] = False
    """Identity that forwards a precomputed result; error messages mention only that result."""

    spelled_on_device: ClassVar[bool] = True
    """Whether `expression` computes on CuPy arrays as `impl` does."""

    replayable: ClassVar[bool] = True
    """Whether a graph of CUDA's may replay it: its function keeps no memory of a device between calls."""

    native: ClassVar[Any] = None
    """A function of NumPy arrays alone for the results, which compiled code calls in place of `impl`."""

    axis_names: frozenset[Hashable] = frozenset()
    """The named axes across which it works: see `core/axes.py`."""

    is_collective: bool = False
    """Whether it is a collective of calls or processes: computed in its turn, and once."""

    effect: ClassVar[bool] = False
    """Whether a call does more than compute, such as printing: it is neither dropped nor shared."""

    holds_programs: ClassVar[bool] = False
    """Whether it runs programs, and decides by values which of them or how often."""

    remembered: ClassVar[bool] = True
    """Whether recent instances are kept after their last program. Those with fields of the user's are not."""

    joint_jvp: ClassVar[bool] = False
    """Whether forward mode is stated by `push`, results and tangents jointly, instead of `jvp`."""

    def __init_subclass__(cls) -> None:
        """Give the class its name in snake case."""
        cls.remembered &= cls.__module__.startswith("fungrad.")  # others' fields may hold anything
        if not cls.remembered and cls.infer is infer:
            cls.infer = infer.__wrapped__
        if "name" not in cls.__dict__ and "name" not in annotated(cls):
            words = "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__)
            cls.name = words.lstrip("_")

    def __call__(self, *operands: Any) -> Any:
        """Apply to arrays (at once) or tracers (recorded)."""
        return bind(self, operands)

    infer: ClassVar[Callable[[Any, tuple[ArrayType, ...]], tuple[ArrayType, ...]]] = infer
    """A method from operand types to result types, remembered from earlier calls."""

    @property
    def parts(self) -> Mapping[str, Any]:
        """The programs that the primitive runs, by their roles, for people to read."""
        return {}

    @property
    def uncut(self) -> Primitive:
        """The same, but its steps are not cut into parts that run for many steps at once."""
        return self

    @property
    def control_flow(self) -> Any:
        """How it runs its programs, for the compiler: see `compile/flow.py`. None if it decides itself."""
        return None

    @property
    def subprogram(self) -> Any:
        """The program that it runs once, compiled by itself; None if there is none, or it decides itself."""
        return None

    def abstract_eval(self, *types: ArrayType) -> Any:
        """Return the type of the result (a tuple of types with `multiple_results`)."""
        raise self.missing("abstract_eval")

    def impl(self, xp: Any, *operands: Any) -> Any:
        """Compute the result with the functions of `xp`, which is `numpy` or `cupy`."""
        raise self.missing("impl")

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        """Return the tangent of the result `out`, or None if it is zero.

        `tangents` holds None for an operand whose tangent is zero; at least one is not None. The
        operands in which the primitive is `linear` have all their tangents, or none.
        """
        if not self.differentiable:
            return (None,) * len(out) if self.multiple_results else None
        if self.multilinear:
            tangent = None
            for i, t in enumerate(tangents):
                if t is not None:
                    term = bind(self, (*operands[:i], t, *operands[i + 1 :]))
                    tangent = term if tangent is None else tangent + term
            return tangent
        if self.linear is not None:
            which = self.linear or range(len(operands))
            return self(*[tangents[i] if i in which else x for i, x in enumerate(operands)])
        raise self.missing("jvp")

    def push(
        self,
        tangents: tuple[Any, ...],
        operands: tuple[Any, ...],
        known: Sequence[Any] | None,
        joint: bool,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the results and their tangents, where these are computed together.

        For primitives that hold programs, with `multiple_results`. The returned tangents are linear in `tangents`. With `joint`
        false these belong to a trace of their own, so their primal residuals have to be computed apart from them.
        `known` holds the results of `saving`, or else those of the primitive, where they have been computed already.
        """
        raise self.missing("jvp")

    def push_series(
        self, paths: Sequence[Sequence[Any]], order: int, rerun: bool
    ) -> Sequence[Sequence[Any]] | None:
        """Return the Taylor coefficients of the results up to `order`; None to get them from `push`.

        `paths` are those of the operands: all coefficients (None is zero), or that of order 0 alone of those that rest.
        The same goes for what is returned. In a `rerun` nothing has an effect: there was a first run.
        """
        return None

    @property
    def saving(self) -> Primitive | None:
        """The primitive with these results and, after them, the residuals of `push`.

        Where values are known it is run in place of this one. None if there is nothing to save.
        """
        return None

    def pull(
        self, ct: Any, flags: Sequence[bool], out: Any, operands: Sequence[Any]
    ) -> Sequence[Any] | None:
        """Return the cotangents of the operands in `flags`, given that of the only result `out`.

        For the others there may be anything. None stands for a cotangent that is zero, and in place of all of them if
        they are to be found by `jvp` and `transpose`.
        """
        if type(self).jvp is not Primitive.jvp:
            return None
        standing = [
            Linear(tangent_type(type_of(x))) if moves else x
            for x, moves in zip(operands, flags, strict=True)
        ]
        if self.multilinear:
            cotangents: list[Any] = [None] * len(flags)
            for i in range(len(flags) - 1, -1, -1):  # in the order in which a sum is transposed
                if flags[i]:
                    others = (*operands[:i], standing[i], *operands[i + 1 :])
                    cotangents[i] = self.transpose(ct, *others)[i]
            return cotangents
        linear = self.linear
        if linear is None or (linear and not any(flags[i] for i in linear)):
            return None
        return self.transpose(ct, *standing)

    def add_to_taken(self, total: Any, ct: Any, *others: Any) -> None:
        """Add a cotangent of the result, in place, to the first operand's, if this `takes_elements`."""
        raise self.missing("transpose")

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        """Return the cotangents of the operands, given that of the result.

        Operands that the call is linear in are `Linear`; the others are arrays and get None. None is
        also the zero cotangent. With `multiple_results`, `ct` is a tuple which may hold None.
        """
        raise self.missing("transpose")

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        """Return the result for a batch of `size` calls at once, the batch along its axis 0.

        Where `batched` is True the operand has the batch as its axis 0; at least one has. So have those of several
        results that `varies` marks.
        """
        raise self.missing("batch")

    def varies(self, batched: tuple[bool, ...], exactly: bool = False) -> Sequence[bool] | None:
        """Return which of the results of `batch` have a batch axis; None if all have.

        With `exactly`: only results whose values can differ across the batch; some have its axis and are constant along it.
        """
        return None

    def tangent_mask(self, perturbed: Sequence[bool]) -> Sequence[bool] | None:
        """Return which results may have a tangent if the operands in `perturbed` have one; None if all may.

        A custom rule may give a tangent even to a result that does not depend on these operands.
        """
        return None

    def pruned(self, used: Sequence[bool]) -> tuple[Primitive, Sequence[int], Sequence[int]] | None:
        """Return the primitive that computes the results in `used`; None if this one is as good.

        With it come the positions of the operands it takes and of the results it gives. It takes no operand on which
        its results do not depend.
        """
        return None

    def expression(self, *names: str) -> str | None:
        """Return NumPy source (`np` is the module) for a call; None to call `impl` instead."""
        return None

    def call_into(self, out: str, *names: str) -> str | None:
        """Return NumPy source that computes into the array `out`; None if that is not possible."""
        return None

    def assignment(self, *names: str) -> str | None:
        """Return the NumPy statement that turns the first operand, which dies, into the result; or None."""
        return None

    def missing(self, rule: str) -> MissingRuleError:
        """Return the error for a rule that the primitive lacks, for operands such as these."""
        from fungrad.core.location import place_of_use  # for errors

        what = {
            "abstract_eval": "be traced",
            "impl": "be run",
            "jvp": "be differentiated",
            "transpose": "be transposed: it is not linear in what it is differentiated by",
            "batch": "be vectorised by vmap",
        }[rule]
        by = {"jvp": "custom_jvp", "batch": "custom_batching.custom_vmap"}.get(rule)
        advice = f". Give the function that uses it a rule, with fungrad.{by}" if by else ""
        return MissingRuleError(
            f"the primitive `{self.name}` has no `{rule}` rule for such operands, so it cannot {what}; "
            f"it was used at {place_of_use()}{advice}"
        )

    def as_sequence(self, results: Any) -> Sequence[Any]:
        """Return the output of a rule, a tuple or a single result, as a sequence."""
        return results if self.multiple_results else (results,)

    def from_sequence(self, results: Sequence[Any]) -> Any:
        """Return a sequence of results as rules take and give them."""
        return tuple(results) if self.multiple_results else results[0]

    def __repr__(self) -> str:
        """Show as `name[field=value, ...]`, without fields that have their default."""
        fields = [f for f in dataclasses.fields(self) if f.name != "name" and f.repr]  # type: ignore[arg-type]
        values = [(f, getattr(self, f.name)) for f in fields]
        params = ", ".join(
            f"{f.name}={x}" for f, x in values if f.default is dataclasses.MISSING or x != f.default
        )
        return f"{self.name}[{params}]" if params else self.name


def bind(primitive: Primitive, operands: Sequence[Any], source: Source | None = None) -> Any:
    """Apply a primitive: at once to arrays, by recording an equation to tracers."""
    top = None
    for x in operands:
        if type(x) is Tracer:
            trace = x._owner
            if trace is not top and (top is None or trace.level > top.level):
                top = trace
    if primitive.axis_names:
        top = home(primitive.axis_names, top)
    if primitive.effect:
        return perform(primitive, operands, source, top)
    if top is None:
        return run(primitive, operands, source)
    return top.record(primitive, operands, source)


def perform(
    primitive: Primitive, operands: Sequence[Any], source: Source | None, top: Recorder | None
) -> Any:
    """Apply a primitive with an effect in the order in which the user's Python runs.

    Inside of a trace without values it is recorded there, whatever its operands are, and happens when that is run. A trace
    with values records it only if an operand is of that trace, and then runs it at once. `top` is the operands' highest.
    """
    if tentative.get():
        raise GivenUp
    trace = current_trace.get()
    while trace is not None and trace.values is not None:
        if any(type(x) is Tracer and x._owner is trace for x in operands):
            break
        trace = trace.outer
    if top is not None and (trace is None or top.level > trace.level):
        trace = top
    if trace is None:
        return run(primitive, operands, source)
    return trace.record(primitive, operands, source)


def run(primitive: Primitive, operands: Sequence[Any], source: Source | None) -> Any:
    """Apply a primitive: to arrays, with NumPy's warnings at the user's line, else as `bind` does."""
    if Tracer in map(type, operands):
        return bind(primitive, operands, source)
    warns = source is None and not primitive.effect
    if warns and (modes := modes_with_calls()) is not float_modes.get():
        context = contextvars.copy_context()  # of its own, which needs no restoring
        context.run(float_modes.set, modes)
        return context.run(execute, primitive, operands)
    return execute(primitive, operands, source)


def note_place(error: Exception, primitive: Primitive, source: Source) -> None:
    """Leave on an error that a primitive raised a note with the line that recorded it."""
    error.add_note(f"raised by `{primitive}`, from {describe_source(source)}")


def execute(primitive: Primitive, operands: Sequence[Any], source: Source | None = None) -> Any:
    """Run a primitive on arrays of their own library."""
    xp, *operands = with_library(operands)
    return compute(primitive, source, xp, operands)


@runs_equation
def compute(primitive: Primitive, source: Source | None, xp: Any, operands: Sequence[Any]) -> Any:
    """Run a primitive on arrays of the library `xp`; 0-d NumPy results become scalars, as NumPy gives."""
    try:
        result = primitive.impl(xp, *operands)
    except Exception as error:
        if source is not None:
            note_place(error, primitive, source)
        raise
    if primitive.multiple_results:
        return tuple([as_result(x) for x in result])
    return result[()] if type(result) is np.ndarray and not result.ndim else result
