"""Random generators that a function makes without a seed, or gives one first, found in its bytecode."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import dis

MAKERS = frozenset(
    [
        "MT19937",
        "PCG64",
        "PCG64DXSM",
        "Philox",
        "Random",
        "RandomState",
        "SFC64",
        "SeedSequence",
        "default_rng",
    ]
)
"""Makers of generators, or of their bits, of NumPy and Python; without arguments the seed is unknown."""


def instructions_in(code: CodeType) -> Iterator[tuple[int, dis.Instruction]]:
    """Yield the instructions of a function and of those written inside it, with line numbers."""
    import dis  # few functions are looked into

    pending = [code]
    while pending:
        code = pending.pop(0)
        pending += [x for x in code.co_consts if type(x) is CodeType]
        line = code.co_firstlineno
        for x in dis.get_instructions(code):
            if x.positions is not None and x.positions.lineno is not None:
                line = x.positions.lineno
            yield line, x


@functools.lru_cache(maxsize=256)
def made_without_seed(code: CodeType) -> tuple[tuple[int, str], ...]:
    r"""Return lines and names of such calls in `code` and in the functions written inside it.

    >>> made_without_seed(compile("x = random.default_rng(0)\ny = random.default_rng()", "", "exec"))
    ((2, 'default_rng'),)
    """
    calls, named = [], ""
    for line, x in instructions_in(code):
        if x.opname == "CALL" and x.argval == 0 and named:
            calls.append((line, named))
        if x.opname not in ("PUSH_NULL", "PRECALL"):  # which come between the name and the call
            named = x.argval if x.opname.startswith("LOAD_") and x.argval in MAKERS else ""
    return tuple(calls)


@functools.lru_cache(maxsize=256)
def seeds_first(code: CodeType, name: str) -> bool:
    r"""Whether a function gives the generator `name` a constant seed before anything else, in each call.

    >>> seeds_first(compile("random.seed(0)\nx = random.random()", "", "exec"), "random")
    True
    """
    import dis

    between = ("PUSH_NULL", "PRECALL", "EXTENDED_ARG")
    steps = [x for x in dis.get_instructions(code) if x.opname not in between]
    at = [i for i, x in enumerate(steps) if x.opname.startswith("LOAD_") and x.argval == name]
    bare = {
        steps[i].opname in ("LOAD_ATTR", "LOAD_METHOD") for i in at if i - 1 not in at
    }  # not of `random.random`
    if len(bare) != 1:  # there may be Python's and NumPy's
        return False
    first = at[0]
    if any(x.opcode in dis.hasjrel or x.opcode in dis.hasjabs for x in steps[:first]):
        return False
    following = [(x.opname, x.argval) for x in steps[first + 1 : first + 4]]
    match following:
        case [(_, "seed"), ("LOAD_CONST" | "LOAD_SMALL_INT", seed), ("CALL", 1)]:
            return seed is not None
    return False
