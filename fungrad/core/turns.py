"""Operations that threads recording in one trace do one after the other."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from _thread import get_ident

LOOK = 1000
"""How often a thread tries to take its turn before it asks whether the one that has it has ended."""

_taking_over = threading.Lock()


class Turn(dict[int, int]):
    """Lets one thread at a time into the blocks that it encloses.

    A lock that knows whose it is: ``turn.setdefault(0, get_ident())`` takes it if it is free, and tells who has it, in one step, and
    ``turn.pop(0, None)`` gives it back; the hot path writes them out. So a thread never waits for a turn of its own. It may have kept one: an
    interrupt can come where a block begins or ends, and the thread goes on all the same if NumPy, which has asked for a number,
    drops the exception. Else it is given back where the exception passes a public function. Nothing that a user has written may run in such a block. Effects happen outside of it: the thread that has
    claimed one runs it, and others wait for that.
    """

    performing: tuple[int, int] | None = None
    """An equation with an effect, and the thread that runs it."""

    def claim(self, number: int) -> bool:
        """Whether this thread is the one to run the equation `number`, which has an effect."""
        mine = number, get_ident()
        with self:
            claimed = self.performing
            if claimed is None or claimed[0] != number or claimed == mine:
                self.performing = mine
                return True
        return has_ended(claimed[1])

    def release(self) -> None:
        """Release the claim of this thread."""
        claimed = self.performing
        if claimed is not None and claimed[1] == get_ident():
            self.performing = None

    def wait(self) -> None:
        """Take the turn after another thread's."""
        me = get_ident()
        for tried in itertools.count(1):
            other = self.setdefault(0, me)
            if other == me:
                return
            if tried % LOOK == 0 and has_ended(other):
                with _taking_over:  # else a second thread could take it from the first that does
                    if self.get(0) == other:
                        self[0] = me
                        return
            time.sleep(0)

    def give_back(self) -> None:
        """Let others in, if it is this thread's turn."""
        if self.get(0) == get_ident():
            self.pop(0, None)

    def __enter__(self) -> None:
        me = get_ident()
        try:
            if self.setdefault(0, me) != me:
                self.wait()
        except BaseException:
            self.give_back()
            raise

    def __exit__(self, *_: object) -> None:
        self.pop(0, None)


def has_ended(thread: int) -> bool:
    """Whether a thread runs no Python any more."""
    return thread not in sys._current_frames()
