"""KeyboardInterrupt at every instruction of a call, one at a time, and by signals.

The calls are those of the table in `scenarios`, every instruction in turn, and random programs of the other
campaigns, at random instructions. After each interrupt the state must be as it was before, and after a few of
them the same call must work, in this thread and in another.
"""

from __future__ import annotations

import bisect
import collections
import contextvars
import functools
import gc
import itertools
import math
import random
import sys
import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from tests.fuzz import clean, language, transforms
from tests.fuzz.campaign import Mismatch
from tests.fuzz.cut import Cut, Place, cut_at, functions
from tests.fuzz.language import Program as Program
from tests.fuzz.random_calls import RandomCall, draw_call, made
from tests.fuzz.scenarios import SCENARIOS
from tests.fuzz.transforms import Stack as Stack

AT_ONCE = 16
"""How many interrupts of a call there are before it has to work again."""
FUNCTIONS = 8000
"""How many functions a random program enters in all its calls together, about; what takes long is cut off less often."""
SIGNALS = 16
"""One in so many interrupts is a signal."""
ALIKE = 4
"""How many interrupts there are at one instruction of a function with the same caller, of a call from the table; one
where the call enters more than `MANY` functions."""
MANY = 500
CHUNK = 3000
RATED = "interrupts"
BITS = True  # what a call gives is compared bit for bit

BLOCKS = ("checking", "debug_nans", "disable_jit")
"""Calls in a block, which an interrupt where it ends itself ends when the traceback is let go, not before."""

tally: collections.Counter[str] = collections.Counter()
"""How many interrupts there were, and how many of them came as a signal."""


class Interrupts(NamedTuple):
    """A program of this campaign: a call and where it is cut off, one after the other."""

    call: str | RandomCall
    """One of the table, by its name, or a random one."""
    places: tuple[Place, ...]


class Warm:
    """A call that has been made often enough that it takes the same way each time."""

    def __init__(self, call: str | RandomCall) -> None:
        self.call, self.arrays = SCENARIOS[call]() if isinstance(call, str) else made(call)
        with warnings.catch_warnings():
            # As in `check`: the calls to come have to give the same.
            warnings.simplefilter("ignore")
            for _ in range(4):
                self.expected = self.call()
        self.copies = [x.copy() for x in self.arrays]
        start = time.perf_counter()
        self.call()
        self.microseconds = int(1e6 * (time.perf_counter() - start)) + 1
        self.let_go = call in BLOCKS
        self.rounded = not isinstance(call, str)  # those of the table have no kernels to come
        self.visited = 0

    @functools.cached_property
    def places(self) -> list[Place]:
        """All instructions, but only the first few of those that are alike."""
        seen: collections.Counter[object] = collections.Counter()
        found = []
        calls = functions(self.call, instructions=True)
        most = 1 if len(calls) > MANY else ALIKE
        for entered in calls:
            for i, offset in enumerate(entered.offsets):
                seen[key := (entered.code, entered.caller, offset)] += 1
                if seen[key] <= most:
                    found.append(Place(entered.number, i))
        return found

    def signal(self, rng: random.Random) -> Place:
        """Return a time at which a signal may come."""
        return Place(-1, rng.randrange(1, 2 * self.microseconds))


_table: dict[str, Warm] = {}
_last: dict[RandomCall, Warm] = {}


def warm(call: str | RandomCall) -> Warm:
    """Return a call, warmed up; those of the table are kept, and the last random one."""
    gc.set_threshold(1 << 30)  # finalizers would run now and then, and calls not be the same
    if isinstance(call, str):
        if call not in _table:
            _table[call] = Warm(call)
        return _table[call]
    if call not in _last:
        _last.clear()
        gc.collect()
        _last[call] = Warm(call)
    return _last[call]


@functools.cache
def groups() -> tuple[list[str], list[int]]:
    """Return the calls of the table and, after each, how many programs there are so far."""
    names = list(SCENARIOS)
    counts = [-(-len(warm(name).places) // (AT_ONCE - 1)) for name in names]
    return names, list(itertools.accumulate(counts))


def prepare() -> None:
    """Warm the calls of the table up."""
    groups()
    gc.collect()
    gc.freeze()


def generate(seed: int) -> Interrupts:
    """Return the interrupts of a seed: even ones walk through the table, odd ones are random programs."""
    rng = random.Random(seed)
    return _of_table(seed // 2, rng) if seed % 2 == 0 else _of_random_program(rng)


def _of_table(number: int, rng: random.Random) -> Interrupts:
    """Return the interrupts of a number: so many consecutive ones as there are visit all places."""
    names, ends = groups()
    n = ends[-1]
    step = next(k for k in itertools.count(int(0.618 * n)) if math.gcd(k, n) == 1)
    group = number * step % n
    which = bisect.bisect_right(ends, group)
    first, stop = ends[which - 1] if which else 0, ends[which]
    state = warm(names[which])
    places = state.places[group - first :: stop - first]
    return Interrupts(names[which], (*places, state.signal(rng)))


def _of_random_program(rng: random.Random) -> Interrupts:
    call = draw_call(rng)
    state = warm(call)
    entered = functions(state.call, instructions=False)
    by_code: dict[object, list[int]] = {}
    for one in entered:
        by_code.setdefault(one.code, []).append(one.number)
    lengths = {one.number: len(one.code.co_code) // 2 for one in entered}
    places = []
    for _ in range(AT_ONCE * min(max(FUNCTIONS // (len(entered) + 1), 1), 16)):
        if not entered or rng.randrange(SIGNALS) == 0:
            places.append(state.signal(rng))
            continue
        # Half of them anywhere, the others in a function which is as likely if it is rarely called.
        often = rng.random() < 0.5
        number = (
            rng.choice(entered).number if often else rng.choice(rng.choice([*by_code.values()]))
        )
        places.append(Place(number, rng.randrange(lengths[number])))
    return Interrupts(call, tuple(places))


def check(program: Interrupts) -> Mismatch | None:
    """Cut a call off; return what is then not as it was."""
    state = warm(program.call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(0, len(program.places), AT_ONCE):
            places = program.places[i : i + AT_ONCE]
            mismatch = contextvars.copy_context().run(_checked, state, places)
            if mismatch is not None:  # its arrays may be spoilt
                _table.pop(str(program.call), None)
                _last.clear()
                return mismatch
    state.visited += len(program.places)
    if state.visited > 2048:
        state.visited = 0
        gc.collect()
    return None


def _checked(state: Warm, places: tuple[Place, ...]) -> Mismatch | None:
    """Cut a call off at some places, then make it again."""
    before = clean.Surroundings()
    at = "nowhere"
    for place in places:
        cut = cut_at(place)
        trouble = _interrupted(cut, state, before)
        if cut.raised is not None:
            tally["interrupts"] += 1
            tally["of them by signals"] += place.frame < 0
            at = cut.place
        if trouble is not None:
            return _mismatch(trouble, at)
    trouble = clean.works(state.call, state.expected, state.rounded) or before.changed()
    return None if trouble is None else _mismatch(trouble, at)


def _mismatch(trouble: clean.Dirt, at: str) -> Mismatch:
    text = f"after an interrupt at {at}\n{trouble[1]}"
    return Mismatch(trouble[0], text, fatal=trouble[0] == clean.LOCKED)


def _interrupted(cut: Cut, state: Warm, before: clean.Surroundings) -> clean.Dirt | None:
    """Cut a call off once; return what is wrong right afterwards."""
    ignored: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, ignored.append
    trouble: clean.Dirt | None = None
    caught: BaseException | None = None
    try:
        result = cut.run(state.call)
        ignored += [cut.raised] * cut.dropped_by_numpy
        if cut.raised is not None and not ignored:
            trouble = "the interrupt is lost", "the call returned"
        elif not (ignored or clean.same(result, state.expected, state.rounded)):
            trouble = "a call not cut off is wrong", f"{result} and not {state.expected}"
    except BaseException as error:
        caught = error
        if not isinstance(error, KeyboardInterrupt):
            trouble = f"it arrives as {type(error).__name__}", str(error)
        elif error is not cut.raised:
            trouble = "it is another interrupt", repr(error)
    finally:
        sys.unraisablehook = hook
    if caught is not None and not state.let_go:
        trouble = trouble or before.changed() or clean.spoilt(state.arrays, state.copies)
    if caught is not None:
        caught.__traceback__ = None  # which held what was cut off
    return trouble or before.changed() or clean.spoilt(state.arrays, state.copies)


def smaller(program: Interrupts) -> Iterator[Interrupts]:
    """Yield fewer interrupts of the same call."""
    places = program.places
    if len(places) > 1:
        for place in places:
            yield program._replace(places=(place,))
        for half in (places[: len(places) // 2], places[len(places) // 2 :]):
            yield program._replace(places=half)


def readable(program: Interrupts) -> str:
    """Return the random program."""
    if isinstance(program.call, str):
        return program.call
    of = transforms if isinstance(program.call.program, Stack) else language
    return f"{of.readable(program.call.program)}\ncalled as {program.call.way}"
