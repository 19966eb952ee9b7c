"""Fission of loops: the part that does not depend on the carries is computed for many steps at once.

A step on small arrays costs what calling NumPy costs. Of most loops, and of all that are derivatives of loops,
only a part has to be done step by step: the chain from carry to next carry. Here the body is cut in three:
what comes *before* that chain depends on constants and rows alone, what comes *after* it feeds no carry, but
results and running sums. These two are vectorised over chunks of steps (loop distribution and strip-mining; see
e.g. Allen and Kennedy, Optimizing Compilers for Modern Architectures, 2001, chapters 2 and 5), as `vmap` would.

Design: docs/design/21-loops-in-schedules.md.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from fungrad.compile.loops.collapse import collapse
from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.pipeline import Way, prepared
from fungrad.compile.steps import Rows
from fungrad.core.errors import MissingRuleError
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import add
from fungrad.primitives.shaping import ReduceSum, expand
from fungrad.rewrite.batch import push_batch

MAX_CHUNK_BYTES = 1 << 20
"""The memory that the vectorised parts may take: about a cache's."""

FEWEST = 16
"""Steps in a chunk from which cutting a body pays."""

LoopOf: TypeAlias = Callable[[Program, tuple[int, int], int, bool], Primitive]
"""Maker of an uncut loop from a body, counts of constants and carries, a length and `reverse`."""

FIXED, ROW, CARRY = range(3)
"""Dependence of a variable: on constants alone, on rows too, on carries too."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cut:
    """A body in parts, and where the variables that pass between them come from.

    All parts take `fixed` first: the constants, and what `prelude` computes of them alone.
    """

    prelude: Program
    before: Expr
    """From the rows to `computed`, which the other parts need."""
    computed: tuple[int, ...]
    chain: Program
    """From the carries that are no sums, and `chain_in`, to the next carries, and `chain_out`."""
    chain_fixed: tuple[int, ...]
    """Which of `fixed` it takes."""
    chain_in: tuple[int, ...]
    chain_out: tuple[int, ...]
    after: Expr
    """From `after_in` to the rows of the results and the terms of the sums."""
    after_in: tuple[int, ...]
    rows: tuple[int, ...]
    """The variables of the rows that the body takes."""
    carries: tuple[int, ...]
    """The variables of the carries that it takes."""
    sums: tuple[int, ...]
    """Positions of the carries that are sums."""
    types: Sequence[ArrayType]
    chunk: int
    """How many steps to take at once."""


def is_sequential(primitive: Primitive) -> bool:
    """Whether a primitive is run step by step: it has effects, may fail, or holds programs."""
    return primitive.effect or primitive.can_fail or primitive.holds_programs


def cut(body: Expr, c: int, k: int) -> Cut | None:
    """Cut the body of a loop with `c` constants and `k` carries; None if that would not pay."""
    carries, rows = body.inputs[c : c + k], body.inputs[c + k :]
    level = dict.fromkeys((*body.constants, *body.inputs[:c]), FIXED)
    level |= dict.fromkeys(rows, ROW) | dict.fromkeys(carries, CARRY)
    for primitive, inputs, outputs in body.equations:
        highest = max([level[v] for v in inputs], default=FIXED)
        level |= dict.fromkeys(outputs, CARRY if is_sequential(primitive) else highest)
    sums = _sums(body, c, k)
    chained = [i for i in range(k) if i not in sums]
    chain = _chain(body, level, [body.outputs[i] for i in chained])
    adds = {body.outputs[i] for i in sums}
    parts: dict[int, list[int]] = {FIXED: [], ROW: [], CARRY: []}
    for number, equation in enumerate(body.equations):
        if number not in chain and equation.outputs[0] not in adds:
            parts[level[equation.outputs[0]]].append(number)
    made = [v for n in (*parts[ROW], *parts[CARRY]) for v in body.equations[n].outputs]
    size = sum(body.types[v].nbytes for v in made)
    if not size or MAX_CHUNK_BYTES // size < FEWEST:
        return None

    results = [*body.outputs[k:], *sums.values()]
    used_after = _used(body, parts[CARRY], results)
    next_carries = [body.outputs[i] for i in chained]
    used_in_chain = dict.fromkeys(_used(body, chain, next_carries))
    used_before = _used(body, parts[ROW], ())
    read = {*used_before, *used_in_chain, *used_after}
    invariant = [v for n in parts[FIXED] for v in body.equations[n].outputs if v in read]
    fixed = (*body.inputs[:c], *invariant)
    made_after = set(itertools.chain(*[body.equations[n].outputs for n in parts[CARRY]]))
    after_in = [v for v in used_after if level[v] != FIXED and v not in made_after]
    chain_in = [v for v in used_in_chain if level[v] == ROW]
    chain_out = [v for v in after_in if level[v] == CARRY]
    given = set(rows)
    computed = [v for v in {*after_in, *chain_in} if level[v] == ROW and v not in given]
    chain_fixed = [i for i, v in enumerate(fixed) if v in used_in_chain]
    stepped = [carries[i] for i in chained]
    of_chain = _part(
        body,
        sorted(chain),
        [*[fixed[i] for i in chain_fixed], *stepped, *chain_in],
        [*next_carries, *chain_out],
    )
    return Cut(
        prelude=Program(_part(body, parts[FIXED], body.inputs[:c], invariant)),
        before=_part(body, parts[ROW], [*fixed, *rows], computed),
        computed=tuple(computed),
        chain=Program(of_chain),
        chain_fixed=tuple(chain_fixed),
        chain_in=tuple(chain_in),
        chain_out=tuple(chain_out),
        after=_part(body, parts[CARRY], [*fixed, *after_in], results),
        after_in=tuple(after_in),
        rows=rows,
        carries=carries,
        sums=tuple(sums),
        types=body.types,
        chunk=MAX_CHUNK_BYTES // size,
    )


def _sums(body: Expr, c: int, k: int) -> dict[int, int]:
    """Return the carries that are only added to: their positions and the terms."""
    uses = Counter(v for e in body.equations for v in e.inputs)
    uses.update(body.outputs)
    made = {e.outputs[0]: e for e in body.equations if e.primitive is add}
    sums = {}
    for i, (before, after) in enumerate(zip(body.inputs[c : c + k], body.outputs[:k], strict=True)):
        if after in made and uses[before] == 1 and uses[after] == 1:
            terms = made[after].inputs
            if before in terms:
                sums[i] = terms[1 - terms.index(before)]
    return sums


def _chain(body: Expr, level: dict[int, int], roots: Iterable[int]) -> set[int]:
    """Return the numbers of the equations from carries to `roots`, and of the sequential ones."""
    needed = set(roots)
    chain = set()
    for number in reversed(range(len(body.equations))):
        primitive, inputs, outputs = body.equations[number]
        if is_sequential(primitive) or (
            any(v in needed for v in outputs) and level[outputs[0]] == CARRY
        ):
            chain.add(number)
            needed.update(inputs)
    return chain


def _used(body: Expr, numbers: Iterable[int], outputs: Iterable[int]) -> list[int]:
    """Return the variables that these equations read or that are returned, each once."""
    read = itertools.chain(*[body.equations[n].inputs for n in sorted(numbers)])
    return [v for v in dict.fromkeys((*read, *outputs)) if v not in body.constants]


def _part(
    body: Expr, numbers: Iterable[int], inputs: Sequence[int], outputs: Sequence[int]
) -> Expr:
    located = list(body.located())
    part = body.with_equations(
        [located[n] for n in numbers], inputs=tuple(inputs), outputs=tuple(outputs), captured=0
    )
    return without_dead_code(part)


def of_chunk(parts: Cut, size: int, reverse: bool, loop_of: LoopOf) -> Program:
    """Return the body of the loop over chunks of `size` steps, which takes the rows of a chunk at once.

    It takes `fixed`, then all carries, then blocks of rows; it returns the next carries and blocks of the rows of results.
    """
    types, carries = parts.types, parts.carries
    fixed = len(parts.before.inputs) - len(parts.rows)
    sums = set(parts.sums)
    chained = [i for i in range(len(carries)) if i not in sums]
    counts = len(parts.chain_fixed), len(chained)
    chain = loop_of(parts.chain, counts, size, reverse)

    def run(*arguments: Any) -> list[Any]:
        constants, given = arguments[:fixed], arguments[fixed : fixed + len(carries)]
        rows = arguments[fixed + len(carries) :]

        def at_once(part: Expr, taken: Sequence[Any]) -> list[Any]:
            flags = [False] * fixed + [True] * len(taken)
            columns = zip(*push_batch(part, size, [*constants, *taken], flags), strict=True)
            return [expand(size, x, b) for x, b in columns]

        values = dict(zip(parts.rows, rows, strict=True))
        values |= zip(parts.computed, at_once(parts.before, rows), strict=True)
        stepped: Sequence[Any] = ()
        if chained or parts.chain_out or chain.effect:
            state = [given[i] for i in chained]
            taken = [values[v] for v in parts.chain_in]
            stepped = chain(*[constants[i] for i in parts.chain_fixed], *state, *taken)
        values |= zip(parts.chain_out, stepped[len(chained) :], strict=True)
        outputs = at_once(parts.after, [values[v] for v in parts.after_in])
        terms = outputs[len(outputs) - len(parts.sums) :]
        last = dict(zip(chained, stepped, strict=False))
        last |= {
            i: add(given[i], ReduceSum((0,))(x)) for i, x in zip(parts.sums, terms, strict=True)
        }
        return [*[last[i] for i in range(len(carries))], *outputs[: len(outputs) - len(terms)]]

    blocks = [types[v].update(shape=(size, *types[v].shape)) for v in parts.rows]
    taken = [*parts.before.input_types[:fixed], *[types[v] for v in carries], *blocks]
    return Program(record_expr("scan", run, taken))


class Plan(NamedTuple):
    """Plan of running a loop: a program of its constants, run before it, and bodies for spans of rows.

    Bodies take the constants, the results of that program, the carries and the rows.
    """

    before: Program | None
    spans: tuple[tuple[Rows, Program], ...]


def one_span(body: Program, n: int, reverse: bool) -> Plan:
    """Return how a loop is run step by step."""
    return Plan(None, ((Rows(0, n, reverse=reverse), body),) if n else ())


def plan(
    body: Program, counts: tuple[int, int], n: int, reverse: bool, tangent: bool, loop_of: LoopOf
) -> Plan:
    """Return how a loop of `n` steps with as many constants and carries as `counts` says is run.

    `tangent` says that it is a derivative, linear in its carries.
    """
    whole = one_span(body, n, reverse)
    if n < FEWEST:
        return whole
    expr = prepared(body.expr, Way.CALLS)
    parts = cut(collapse(expr, *counts) if tangent else expr, *counts)
    if parts is None:
        return whole
    size = min(parts.chunk, n)
    end = n - n % size
    bounds = [(0, end, size)] + ([(end, n, n - end)] if end < n else [])
    try:
        spans = [
            (Rows(start, stop, block, reverse), of_chunk(parts, block, reverse, loop_of))
            for start, stop, block in bounds
        ]
    except MissingRuleError:  # a primitive that cannot be vectorised
        return whole
    return Plan(parts.prelude, tuple(reversed(spans) if reverse else spans))
