"""Entries of a sparse matrix of derivatives: from terms, or from the products of a colouring."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import fungrad.numpy as fnp
from fungrad.compile.keeping import keep
from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.cache import LRUCache
from fungrad.core.expr import Expr
from fungrad.core.nesting import trace_of
from fungrad.core.trace import record_expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import is_half, type_of
from fungrad.numpy.at import at
from fungrad.patterns.plans import Plan, residuals_of
from fungrad.patterns.terms import Terms, inputs_of, through, value_of
from fungrad.scipy.sparse.arrays import SparseArray
from fungrad.transforms.autodiff import linear_transpose
from fungrad.transforms.linear import Derivative
from fungrad.transforms.vmap import vmap

_programs: LRUCache[list[Program]] = LRUCache(maxsize=512)


class Way(NamedTuple):
    """The options of a call: `mode` and `chunk_size` as the user gave them."""

    format: str
    mode: str
    chunk_size: Any


def matrix(plan: Plan, push: Derivative, chosen: Any, value: Any, way: Way, proven: bool) -> Any:
    """Return the matrix of the linear function `push`; `proven` says that the pattern has all entries."""
    pattern, format = plan.pattern, way.format
    program = None
    if way.mode == "auto" and way.chunk_size is None and pattern.nnz:
        program = _program(plan, push, format, proven)
    if program is not None:
        (data,) = program(*push._residuals)
    else:
        data = _products(plan, push, chosen, value, way.chunk_size)[plan.places(format)]
    if is_half(data.dtype):  # of which SciPy has no sparse arrays
        data = data.astype(np.float32)
    structure = plan.structure(format)
    if type(data) is Tracer:
        return SparseArray(data, structure, format)
    if format == "coo":
        return sp.coo_array((data, (structure.rows.copy(), structure.cols.copy())), pattern.shape)
    made = sp.csr_array if format == "csr" else sp.csc_array
    _, indices, ends = structure.by_rows if format == "csr" else structure.by_columns
    return made((data, indices.copy(), ends.copy()), shape=pattern.shape)


def _products(plan: Plan, push: Derivative, chosen: Any, value: Any, chunk_size: Any) -> Any:
    """Return the products of `push`, or its transpose, with the vectors of all colours in one array."""
    products: list[Any] = []
    trace = trace_of(tree.leaves(push))
    for backward, vectors in enumerate((chosen, value)):
        count = plan.colouring.counts[backward]
        if not count:
            continue
        leaves, structure = tree.flatten(vectors)
        seeds: list[Any] = plan.seeds(bool(backward), tuple(map(type_of, leaves)))
        if (
            trace is not None
        ):  # run at once, what is made of constants alone would be as large as the products
            seeds = [trace.lift(seed) for seed in seeds]
        apply: Any = (lambda ct: linear_transpose(push, chosen)(ct)[0]) if backward else push
        found = tree.leaves(vmap(apply, chunk_size=chunk_size)(tree.unflatten(structure, seeds)))
        parts = [x.reshape((count, x.size // count)) for x in found]
        products.append((parts[0] if len(parts) == 1 else fnp.concatenate(parts, 1)).reshape(-1))
    if not products:
        dtype = np.result_type(*[type_of(x).dtype for x in tree.leaves((chosen, value))])
        return np.zeros(0, dtype)
    return products[0] if len(products) == 1 else fnp.concatenate(products)


def _program(plan: Plan, push: Derivative, format: str, proven: bool) -> Program | None:
    """Return the program from residuals to entries; None if products take less, or rules are missing."""
    linear, numbers = push._how.program, _numbers(push)

    def build() -> list[Program]:
        types = linear.expr.input_types
        count = len(push._residuals)

        def entries(*given: Any) -> list[Any]:
            known = [numbers.get(i, plan.constants.get(i, x)) for i, x in enumerate(given)]
            found = through(linear.expr, [*known, *inputs_of(types[count:])])
            data = None if found is None else _joined(plan, push, found, format, proven)
            return [] if data is None else [data]

        expr = record_expr("sparse_jacobian", entries, types[:count])
        fewest = int(np.diff(plan.pattern.indptr).max())  # products that any colouring takes
        most = fewest * _elements(linear.expr) + 4 * plan.pattern.nnz
        # The user calls it again and again: it is worth kernels as a jitted function is.
        return [Program(expr, jitted=True)] if expr.outputs and _elements(expr) <= most else []

    known = tuple([(i, x.tobytes()) for i, x in numbers.items()])
    key = (linear, "entries", plan, format, proven, known)
    made = keep(_programs, key, (linear,), build, lambda _: 1.0)
    return made[0] if made else None


def _elements(expr: Expr) -> int:
    """Return how many elements a program computes."""
    return sum([expr.types[v].size for e in expr.equations for v in e.outputs])


def _numbers(push: Derivative) -> dict[int, Any]:
    """Return the residuals that are constants of a traced program, and have equal elements, as numbers.

    Others may have other values in the next call.
    """
    pairs = enumerate(zip(push._residuals, residuals_of(push), strict=True))
    constants = [(i, value_of(x)) for i, (kept, x) in pairs if type(kept) is Tracer]
    return {i: x for i, x in constants if isinstance(x, np.generic)}


def _joined(
    plan: Plan, push: Derivative, found: list[Terms | Any], format: str, proven: bool
) -> Any:
    """Return the entries of the terms of all results, in the order of a format.

    None if the pattern lacks some of them, and is not `proven`.
    """
    ends = np.cumsum([0, *[t.size for t in push._how.results[1]]])
    terms = [
        (ends[i], term.inputs.reshape(-1), term.factor)
        for i, result in zip(push._how.moving, found, strict=True)
        for term in (result if type(result) is tuple else ())
    ]
    arrays = {id(x): x for _, _, x in terms if not isinstance(x, np.generic)}
    sizes = [math.prod(x.shape) for x in arrays.values()]
    starts = dict(zip(arrays, np.cumsum([0, *sizes]), strict=False))
    zero = push._how.results[1][0].dtype.type(0)
    numbers = {zero.tobytes(): zero}
    n, keys = plan.pattern.shape[1], plan.structure("csr").flat
    cells, taken = np.full(len(keys), sum(sizes)), np.zeros(len(keys), bool)
    more = [(np.arange(0), np.arange(0))]  # further terms of entries that have one
    for start, inputs, factor in terms:
        rows = np.flatnonzero(inputs >= 0)
        wanted = (start + rows) * n + inputs[rows]
        entries = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        there = keys[entries] == wanted
        if not (proven or there.all()):
            return None
        rows, entries = rows[there], entries[there]
        if isinstance(factor, np.generic):
            numbers.setdefault(factor.tobytes(), factor)
            place = [*numbers].index(factor.tobytes())
            cell = np.full(rows.size, sum(sizes) + place)
        else:
            cell = starts[id(factor)] + rows
        new = ~taken[entries]
        cells[entries[new]], taken[entries[new]] = cell[new], True
        more.append((entries[~new], cell[~new]))
    order = plan.order(format)
    places = np.arange(len(keys)) if order is None else np.argsort(order)
    flat = fnp.concatenate(
        [*[x.reshape(-1) for x in arrays.values()], np.array([*numbers.values()])]
    )
    data = flat[_small(cells if order is None else cells[order])]
    entries, others = [np.concatenate(x) for x in zip(*more, strict=True)]
    return at(data)[_small(places[entries])].add(flat[_small(others)]) if entries.size else data


def _small(indices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return indices in 32 bits, if these suffice: they are read with each entry."""
    fits = indices.max(initial=0) <= np.iinfo(np.int32).max
    return indices.astype(np.int32) if fits else indices
