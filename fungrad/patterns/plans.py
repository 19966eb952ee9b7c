"""Plans: entries of a sparse matrix of derivatives, and products that give them, kept by program."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from fungrad.compile.keeping import keep
from fungrad.core.cache import LRUCache
from fungrad.core.errors import places
from fungrad.core.expr import Expr
from fungrad.core.nesting import is_of_values
from fungrad.core.state import holding
from fungrad.core.tracer import Tracer, resolve
from fungrad.core.types import ArrayType
from fungrad.patterns.colouring import Colouring, apart_from_neighbours, colouring
from fungrad.patterns.index_sets import LARGEST, TooDense, identity, stacked
from fungrad.patterns.walk import Known, Walk
from fungrad.programs.analysis import reaches
from fungrad.programs.rules.backward import CustomTangent
from fungrad.rewrite.transpose import transpose_expr
from fungrad.scipy.sparse.structure import Structure
from fungrad.transforms.linear import Derivative

_plans: LRUCache[list[Any]] = LRUCache(maxsize=512)


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """A pattern, a boolean matrix in CSR format without duplicates, and how its entries are had."""

    pattern: Any
    mode: str
    symmetric: bool
    constants: Mapping[int, Any] = dataclasses.field(default_factory=dict)
    """Values that the derivative keeps on which the pattern depends, by their numbers."""

    @functools.cached_property
    def colouring(self) -> Colouring:
        """Which columns and rows share a product."""
        return colouring(self.pattern, self.mode, self.symmetric)

    @functools.cached_property
    def neighbour_colours(self) -> np.ndarray[Any, Any]:
        """Colours of columns such that no entry off the diagonal joins two of one colour."""
        return apart_from_neighbours(self.pattern)

    @functools.cached_property
    def _by_rows(self) -> Structure:
        rows = np.repeat(np.arange(self.pattern.shape[0]), np.diff(self.pattern.indptr))
        return Structure(self.pattern.shape, rows, self.pattern.indices)

    @functools.cached_property
    def _by_columns(self) -> Structure:
        rows, order = self._by_rows, self.order("csc")
        if order is None:
            return rows
        return Structure(rows.shape, rows.rows[order], rows.cols[order])

    def structure(self, format: str) -> Structure:
        """Return the rows and columns of the entries in the order of a format."""
        return self._by_columns if format == "csc" else self._by_rows

    def order(self, format: str) -> np.ndarray[Any, Any] | None:
        """Return which entries of CSR a format has one after the other; None for all as they are."""
        return self._by_rows.by_columns[0] if format == "csc" else None

    def places(self, format: str) -> np.ndarray[Any, Any]:
        """Return where the entries are in the products, in the order of a format."""
        places, order = self.colouring.places, self.order(format)
        return places if order is None else places[order]

    @functools.cache  # noqa: B019 - plans are few, and each is asked for few types
    def seeds(self, backward: bool, types: tuple[ArrayType, ...]) -> list[np.ndarray[Any, Any]]:
        """Return, for leaves of some types, the vectors of ones and zeros of all colours along axis 0."""
        colours = self.colouring.rows if backward else self.colouring.columns
        count, start, seeds = self.colouring.counts[backward], 0, []
        for t in types:
            of_leaf = colours[start : start + t.size]
            seed = (of_leaf == np.arange(count)[:, None]).astype(t.dtype)
            seed.setflags(write=False)
            seeds.append(seed.reshape(count, *t.shape))
            start += t.size
        return seeds


def plan_for(push: Derivative, mode: str, symmetric: bool) -> Plan:
    """Return the plan for a derivative that `linearize` gave.

    Where the pattern depends on constants, such as arrays of indices, it is good for equal ones alone.
    """
    program, residuals = push._how.program, residuals_of(push)
    key = (program, "sparse", mode, symmetric)
    known: list[Any] = keep(_plans, key, (program,), list, lambda _: 1.0)
    for constants, plan in known:
        if all(_same(residuals[i], value) for i, value in constants.items()):
            return plan  # type: ignore[no-any-return]
    pattern, constants = detected(push)
    if mode == "auto" and not symmetric and has_no_forward_mode(push):
        mode = "rows"
    if symmetric:
        pattern = pattern + pattern.T
    pattern.sort_indices()
    plan = Plan(pattern, mode, symmetric, constants)
    known.insert(0, (constants, plan))
    del known[8:]
    return plan


def _same(x: Any, value: Any) -> bool:
    return x is value or (
        type(x) is not Tracer and np.shape(x) == np.shape(value) and bool(np.all(x == value))
    )


def detected(push: Derivative) -> tuple[Any, dict[int, Any]]:
    """Return the pattern of a derivative, and the values it keeps on which that depends."""
    how, residuals = push._how, residuals_of(push)
    (_, sources), (_, targets) = how.arguments, how.results
    n, m = (sum(t.size for t in types if t.inexact) for types in (sources, targets))
    walk, expr = Walk(), how.program.expr
    reverse = has_no_forward_mode(push)
    if reverse:
        expr = transpose_expr(expr, len(residuals))
    fixed = _fixed(push, residuals)
    known = [
        Known(value=np.asarray(x), origins=frozenset([i])) if i in fixed else Known()
        for i, x in enumerate(residuals)
    ]
    with holding(places, how.sources):
        found = walk.through(expr, [*known, *_inputs(expr.input_types[len(residuals) :])])
    if reverse:
        from_moving = _stacked(found, [t for t in sources if t.inexact], m)
        pattern = _spread(from_moving.T, how.moving, targets)
    else:
        pattern = _spread(_stacked(found, expr.output_types, n), how.moving, targets)
    pattern = sp.csr_array(pattern, dtype=bool)
    if pattern.nnz > LARGEST:
        raise TooDense
    return pattern, {i: np.array(residuals[i]) for i in walk.consulted}


def has_no_forward_mode(push: Derivative) -> bool:
    """Whether the derivative is defined by its transpose alone, as that of a custom_vjp function."""
    return any(isinstance(p, CustomTangent) for p in _primitives(push._how.program.expr))


def _inputs(types: Sequence[ArrayType]) -> Iterator[Known]:
    """Yield a `Known` for each input, whose elements each depend on themselves."""
    total, start = sum(t.size for t in types), 0
    for t in types:
        yield Known(identity(t.size, total, start))
        start += t.size


def _stacked(found: Sequence[Known], types: Sequence[ArrayType], columns: int) -> Any:
    """Return the sets of all results as one matrix."""
    sets = stacked([x.sets for x in found], [t.size for t in types])
    rows = sum(t.size for t in types)
    return sp.csr_array((rows, columns), dtype=bool) if sets is None else sets


def _spread(found: Any, moving: Sequence[int], targets: Sequence[ArrayType]) -> Any:
    """Return the rows of results that depend on the arguments, among those of all results."""
    if list(moving) == list(range(len(targets))):
        return found
    ends = np.cumsum([0, *[t.size for t in targets]])
    rows = np.concatenate([np.arange(0), *[np.arange(ends[i], ends[i + 1]) for i in moving]])
    relation = (np.ones(rows.size, bool), (rows, np.arange(rows.size)))
    return sp.csr_array(relation, shape=(ends[-1], rows.size), dtype=bool) @ found


def residuals_of(push: Derivative) -> list[Any]:
    """Return the values that a derivative keeps; constants of a traced program are arrays."""
    return [
        x if type(x) is not Tracer or is_of_values(x._owner) else resolve(x)
        for x in push._residuals
    ]


def _fixed(push: Derivative, residuals: Sequence[Any]) -> frozenset[int]:
    """Return which of the values kept no argument can change, as far as they have values."""
    how = push._how
    if how.made_by is None:
        return frozenset()
    program, captured = how.made_by
    expr = program.expr
    flags = [i >= captured for i in range(len(expr.inputs))]
    of_residuals = reaches(expr, flags)[len(expr.outputs) - len(residuals) :]
    pairs = enumerate(zip(residuals, of_residuals, strict=True))
    return frozenset([i for i, (x, moves) in pairs if not moves and type(x) is not Tracer])


def _primitives(expr: Expr) -> Iterator[Any]:
    """Yield the primitives of a program and of the programs that these run."""
    for primitive, _, _ in expr.equations:
        yield primitive
        parts: Mapping[str, Any] = primitive.parts
        for part in parts.values():
            yield from _primitives(part.expr)
