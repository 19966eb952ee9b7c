"""Meetings of processes: the messages of each, and its progress until it has to wait.

What a collective does is a generator of messages, which stops where it has to wait for one. So it is the same whether somebody waits
at once, or computes in the meantime and waits where the results are read.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import sys
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.core.frames import users_frame
from fungrad.core.primitive import execute
from fungrad.distributed.carriers import ByMPI, Carrier, Messages, as_bytes, digest
from fungrad.distributed.nccl import OnDevice, are_apart, devices
from fungrad.distributed.world import DistributedError, World
from fungrad.extend.backend import namespace, on_host, to_host
from fungrad.extend.types import type_of
from fungrad.primitives.ranks import differ

HELLO = 8
"""First tag of messages by which a process announces the first meeting of a group."""
TURNS = 4
"""How many meetings of a group can be under way at a time."""
SAID = 2000
"""Bytes in which each process tells the others its place in the program."""
ALONG = 48
"""Most bytes of an operand that is sent along with the first message."""


class Meeting:
    """Collectives in progress among `members`.

    The types of the arrays are equal in all of them, and so is `way`, a number that stands for the branches by which the
    program came here. The n-th meeting of a group has the communicator n modulo `TURNS` in each member, so that messages of
    several meetings in progress do not mix.
    """

    def __init__(
        self,
        world: World,
        members: tuple[int, ...],
        collectives: Sequence[Any],
        arrays: Sequence[Any],
        rule: Callable[..., Messages[Any]],
        way: int,
    ) -> None:
        self.world, self.members = world, members
        self.size, self.place = len(members), members.index(world.index)
        self.collective = collectives[0]
        self._text = "; ".join(
            [_described(c, type_of(x)) for c, x in zip(collectives, arrays, strict=True)]
        )
        self._at = _line()
        self._way = way
        self.done = False
        self._computed: Any = None
        self._along: tuple[Any, Any] = (None, None)  # an operand that came along, and those of all
        self._error: Exception | None = None
        self._warned: set[str] = set()
        self.by_mpi = ByMPI(self._turn(), self.size)
        self.xp = namespace(arrays)
        self.device, arrays = self._on_device(arrays)
        self._messages = self._all(rule, arrays)
        self._context = contextvars.copy_context()
        self._waits_for: tuple[Any, Any] = (None, None)
        self._go_on()

    def _turn(self) -> Any:
        """Return the meeting's communicator, which others used before; members meet in one order."""
        self.world.check()
        groups = self.world.groups
        if self.members not in groups:
            groups[self.members] = deque([(c, None) for c in self._communicators()])
        turns = groups[self.members]
        comm, last = turns[0]
        if last is not None:
            last.wait()
        turns.rotate(-1)
        turns[-1] = (comm, self)
        self.world.under_way.append(self)
        return comm

    def _communicators(self) -> list[Any]:
        """Return communicators of the members, waiting until all are there (MPI's functions wait for ever)."""
        world, base = self.world, self.world.comm
        if self.size < world.count:
            tag = HELLO + (zlib.crc32(repr(self.members).encode()) & 0x3FFF)
            for process in self.members:
                if process != world.index:
                    sent, got = bytearray(1), bytearray(1)
                    there = [base.Isend(sent, process, tag), base.Irecv(got, process, tag)]
                    for request in there:
                        self._wait_for(request, (sent, got))
            base = base.Create_group(base.Get_group().Incl(self.members), tag)
        communicators = []
        for _ in range(TURNS):
            comm, request = base.Idup()
            self._wait_for(request, (base, comm))
            communicators.append(comm)
        return communicators

    def _wait_for(self, request: Any, kept: Any) -> None:
        self.world.wait(request, self.members, lambda: f"at {self._where()}", kept, self)

    def _on_device(self, arrays: Sequence[Any]) -> tuple[OnDevice | None, Sequence[Any]]:
        """Return the meeting's device side, if there may be one, and the arrays: else they use the host."""
        if on_host(arrays):
            return None, [np.asarray(x) for x in arrays]
        arrays = [self.xp.asarray(x) for x in arrays]
        having = devices(self.world, self.xp)
        if having is None:
            return None, [to_host(x) for x in arrays]
        return OnDevice(having, self, arrays[0].data.device_id), arrays

    def _all(self, rule: Callable[..., Messages[Any]], arrays: Sequence[Any]) -> Messages[Any]:
        marks = yield from self._agree(arrays)
        if self.device is not None:
            yield from self.device.turn()
        if self.device is not None and are_apart(marks):
            yield from self.device.join(self.members, self.place, marks, self.by_mpi)
        else:
            self.xp, arrays = np, [to_host(x) for x in arrays]
        return (yield from rule(self, *arrays))

    def _go_on(self) -> None:
        """Go on to the next message that has to be waited for."""
        try:
            with self.device.used() if self.device is not None else contextlib.nullcontext():
                self._waits_for = self._context.run(next, self._messages)
        except StopIteration as end:
            self._computed = end.value
            self._end()
        except Exception as error:
            self._error = error
            self._end()
        except BaseException as error:  # its frames hold buffers that may still be sent
            self.world.give_up(error, f"at {self._where()}")
            raise

    def _end(self) -> None:
        self.done = True
        self._waits_for = (None, None)
        self.world.under_way.remove(self)

    def poke(self) -> None:
        """Go on as far as is possible without waiting."""
        while not self.done and self._waits_for[0].Test():
            self._go_on()

    def wait(self) -> None:
        """Wait until it is done, or has failed."""
        while not self.done:
            self.world.check()
            request, kept = self._waits_for
            self._wait_for(request, kept)
            self._go_on()

    def results(self) -> Any:
        """Wait for the results and hand them over; raise, or warn, as computing them has."""
        self.wait()
        if self._error is not None:
            raise self._error
        for kind in self._warned:
            np.add.reduce(WARN[kind])  # NumPy warns by the `errstate` of the user's line
        computed, self._computed = (
            self._computed,
            None,
        )  # the group keeps this meeting until the communicator's next turn
        return computed if self.device is None else self.device.handed_over(computed)

    def _where(self) -> str:
        return f"{self._text}, {self._at}"

    def carrier(self, x: Any) -> Carrier:
        """Return the carrier of an array: MPI, or the device's own if all members' devices can communicate."""
        return self.by_mpi if self.device is None or on_host((x,)) else self.device

    def gather(self, x: Any) -> Messages[Any]:
        """Return the arrays of all processes, each like `x`, stacked."""
        own, stacked = self._along
        return stacked if x is own else (yield from self.carrier(x).gather(x))

    def reduced(self, stacked: Any, by: type) -> Any:
        """Return a reduction along axis 0."""
        with self.warned_later():
            reduction = execute(by((0,)), [stacked])
        return np.asarray(reduction) if on_host((reduction,)) else reduction

    def warned_later(self) -> contextlib.AbstractContextManager[Any]:
        """Keep NumPy's warnings until somebody waits for the results."""
        return np.errstate(all="call", call=lambda kind, _: self._warned.add(kind))

    def _agree(self, arrays: Sequence[Any]) -> Messages[tuple[int, ...]]:
        """Return the devices of all, by marks; raise unless all have come to equal collectives."""
        mine = np.zeros(3 + ALONG // 8, np.uint64)
        mark = 0 if self.device is None else self.device.mark
        mine[:3] = _number(self._text), mark, self._way
        alone = len(arrays) == 1 and self.device is None
        along = arrays[0] if alone and arrays[0].nbytes <= ALONG else None
        if along is not None:
            mine[3:].view(np.uint8)[: along.nbytes] = as_bytes(np.ascontiguousarray(along))
        said_by = yield from self.gather(mine)
        if (said_by[:, 0] == mine[0]).all():
            if (said_by[:, 2] != mine[2]).any():
                raise differ(self.collective.axis)
            if along is not None:
                came = said_by[:, 3:].view(np.uint8)[:, : along.nbytes].copy()
                self._along = along, came.view(along.dtype).reshape(self.size, *along.shape)
            return tuple(said_by[:, 1].tolist())
        said = np.zeros(SAID, np.uint8)
        text = self._where().encode()[-SAID:]
        said[: len(text)] = np.frombuffer(text, np.uint8)
        texts = [
            bytes(t).rstrip(b"\0").decode(errors="replace") for t in (yield from self.gather(said))
        ]
        lines = [f"  process {i} at {t}" for i, t in zip(self.members, texts, strict=True)]
        raise DistributedError(
            "processes have come to different collectives, each has to come to the same in the same order:\n"
            + "\n".join(lines)
        )


WARN: dict[str, list[float]] = {
    "overflow": [float(np.finfo("f8").max)] * 2,
    "invalid value": [np.inf, -np.inf],
}
"""Numbers whose sum warns, by the warning that a sum gave."""


@functools.lru_cache(maxsize=1024)
def _number(text: str) -> int:
    return int.from_bytes(digest(text), "little")


@functools.lru_cache(maxsize=1024)
def _described(collective: Any, of: Any) -> str:
    return f"{collective!r} of {of}"


def _line() -> str:
    """Return where the user's code is."""
    frame = users_frame(sys._getframe())
    return (
        f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "an unknown line"
    )
