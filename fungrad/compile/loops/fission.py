"""Running the steps of a loop: what does not depend on the carries is computed for many steps at once.

A step on small arrays costs what calling NumPy costs. Of most loops, and of all that are derivatives of loops,
only a part has to be done step by step: the chain from carry to next carry. Here the body is cut in three:
what comes *before* that chain depends on constants and rows alone, what comes *after* it feeds no carry, but
results and running sums. These two are vectorised over chunks of steps (loop distribution and strip-mining; see
e.g. Allen and Kennedy, Optimizing Compilers for Modern Architectures, 2001, chapters 2 and 5), as `vmap` would.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from fungrad.compile.loops.body import Loop
from fungrad.compile.loops.collapse import collapse
from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.errors import MissingRuleError
from fungrad.core.expr import Equation, Expr
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

FIXED, ROW, CARRY = range(3)
"""What a variable depends on: constants alone; rows too; carries too."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cut:
    """A body in parts, and where the variables that pass between them come from.

    All parts take `fixed` first: the constants, and what `prelude` computes of them alone.
    """

    prelude: Program
    before: Expr
    """From the rows to `computed`, which the other parts need."""
    computed: tuple[int, ...]
    chain: Loop
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
    sums: tuple[int, ...]
    """Positions of the carries that are sums."""
    types: Sequence[ArrayType]
    chunk: int
    """How many steps to take at once."""


def is_sequential(primitive: Primitive) -> bool:
    """Whether a primitive is run step by step: it has effects, may fail, or chooses what to run."""
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
    invariant = [v for n in parts[FIXED] for v in body.equations[n].outputs]
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
        prelude=Program(_part(body, parts[FIXED], body.inputs[:c], invariant), at_once=True),
        before=_part(body, parts[ROW], [*fixed, *rows], computed),
        computed=tuple(computed),
        chain=Loop(of_chain, len(chain_fixed), len(stepped)),
        chain_fixed=tuple(chain_fixed),
        chain_in=tuple(chain_in),
        chain_out=tuple(chain_out),
        after=_part(body, parts[CARRY], [*fixed, *after_in], results),
        after_in=tuple(after_in),
        rows=rows,
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
    sources = body.sources or [None] * len(body.equations)
    kept: list[Equation] = [body.equations[n] for n in numbers]
    return without_dead_code(
        dataclasses.replace(
            body,
            equations=tuple(kept),
            sources=tuple([sources[n] for n in numbers]),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            captured=0,
        )
    )


def on_chunk(part: Expr, fixed: int, size: int, sums: int) -> Program:
    """Return `part` for `size` steps at once; the last `sums` outputs are summed over them."""
    types = part.input_types
    batched = [t.update(shape=(size, *t.shape)) for t in types[fixed:]]
    flags = [False] * fixed + [True] * len(batched)
    rows = len(part.outputs) - sums

    def run(*arguments: Any) -> list[Any]:
        columns = zip(*push_batch(part, size, arguments, flags), strict=True)
        outputs = [expand(size, x, b) for x, b in columns]
        return outputs[:rows] + [ReduceSum((0,))(x) for x in outputs[rows:]]

    expr = record_expr("scan", run, [*types[:fixed], *batched])
    return Program(expr, at_once=True, borrowed=range(len(part.outputs)))


class Plan:
    """How a loop of `n` steps is run in chunks: the parts, for each length that a chunk has."""

    def __init__(self, parts: Cut, n: int) -> None:
        self.parts = parts
        size = min(parts.chunk, n)
        self.bounds = [(i, min(i + size, n)) for i in range(0, n, size)]
        fixed = len(parts.before.inputs) - len(parts.rows)
        lengths = {stop - start for start, stop in self.bounds}
        self.before = {m: on_chunk(parts.before, fixed, m, 0) for m in lengths}
        self.after = {m: on_chunk(parts.after, fixed, m, len(parts.sums)) for m in lengths}

    def run(
        self,
        xp: Any,
        consts: Sequence[Any],
        carries: Sequence[Any],
        xs: Sequence[Any],
        results: Sequence[Any],
        reverse: bool,
    ) -> list[Any]:
        """Run the loop: write the stacked `results` and return the last carries.

        The carries are the loop's own, and may be overwritten.
        """
        parts = self.parts
        steps = parts.chain.steps(xp)
        fixed = [*consts, *parts.prelude(*consts)]
        chain_fixed = [fixed[i] for i in parts.chain_fixed]
        last = list(carries)
        sums = set(parts.sums)
        chained = [i for i in range(len(last)) if i not in sums]
        state = [last[i] for i in chained]
        for start, stop in reversed(self.bounds) if reverse else self.bounds:
            size = stop - start
            values = dict(zip(parts.rows, [x[start:stop] for x in xs], strict=True))
            before = self.before[size].compiled(xp)(*fixed, *values.values())
            values.update(zip(parts.computed, before, strict=True))
            taken = [values[v] for v in parts.chain_in]
            types = [parts.types[v] for v in parts.chain_out]
            given = [xp.empty((size, *t.shape), t.dtype) for t in types]
            values.update(zip(parts.chain_out, given, strict=True))
            if reverse:
                taken, given = [[x[::-1] for x in arrays] for arrays in (taken, given)]
            if state or given:
                state = steps(chain_fixed, state, taken, given, size)
            after = self.after[size].compiled(xp)(*fixed, *[values[v] for v in parts.after_in])
            for array, y in zip(results, after):
                array[start:stop] = y
            for i, total in zip(parts.sums, after[len(results) :], strict=True):
                last[i] = last[i] + total
        for i, x in zip(chained, state, strict=True):
            last[i] = x
        return last


def plan(body: Program, c: int, k: int, n: int, tangent: bool = False) -> Plan | None:
    """Return how to run a loop in chunks; None if it is better run step by step.

    `tangent` says that the loop is a derivative, linear in its carries.
    """
    if n < FEWEST:
        return None
    parts = cut(collapse(body.expr, c, k) if tangent else body.expr, c, k)
    if parts is None:
        return None
    try:
        return Plan(parts, n)
    except MissingRuleError:  # a primitive that cannot be vectorised
        return None
