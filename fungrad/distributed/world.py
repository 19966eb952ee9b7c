"""The processes that run a program together, and how one waits for the others."""

from __future__ import annotations

import atexit
import os
import pickle
import platform
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from fungrad import FungradError
from fungrad.compile.tiers import Tier
from fungrad.extend.packages import api_boundary

PATIENCE = 60.0
"""Seconds after which a waiting process gives up, unless `initialize` sets another time."""

SPINS = 2000
"""How often a message is asked for before others are given the core."""
LOOK, LOOKS = 0.25, 4
"""Seconds between looks after other processes, and looks that must miss one before an error."""
GRACE = 5.0
"""Seconds that a process which has failed gives the others to say why they end."""
ENDED = "its program has ended"
ON_THE_WAY = 0.3
"""Seconds after which a message of a process that has ended will not come any more."""
FAREWELL = 7
"""The tag of the message by which a process says that it comes to no more collectives."""
PAUSE = 5e-4
"""Seconds between looks after the messages that are under way while others things are computed."""

_LAUNCHED = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
"""Environment variables of MPI launchers with the number of processes."""


class DistributedError(FungradError):
    """Processes did not meet where they should have: one has ended, waits elsewhere, or took too long.

    Examples
    --------
    >>> import fungrad as fg
    >>> issubclass(fg.distributed.DistributedError, fg.FungradError)
    True
    """


class Meeting(Protocol):
    """Work begun by several processes together, which goes on as their messages arrive."""

    members: tuple[int, ...]

    def poke(self) -> None:
        """Go on as far as is possible without waiting."""

    def wait(self) -> None:
        """Wait until it is done, or has failed."""


class World:
    """The processes, by their indices; `comm` is mpi4py's communicator of all, for us alone."""

    def __init__(self, comm: Any, timeout: float) -> None:
        self.comm, self.timeout = comm, timeout
        self.index, self.count = comm.Get_rank(), comm.Get_size()
        self.using = threading.RLock()
        self.pid = os.getpid()
        self.where: list[tuple[str, int]] = comm.allgather((platform.node(), self.pid))
        # By processes: the communicators of these alone, and which of their meetings were the last to have them.
        self.groups: dict[tuple[int, ...], deque[tuple[Any, Meeting | None]]] = {}
        self.under_way: list[Meeting] = []
        self.devices: Any = None  # what it has of NCCL, if it has met with arrays on a device
        self._aside: threading.Thread | None = None
        self._called = threading.Event()
        self._leaving = False
        # By process: why it comes to no more collectives, and when one of this machine was seen to have ended.
        self.left: dict[int, str] = {}
        self.ended: dict[int, float] = {}
        self.broken: str | None = None
        # Messages that nobody waits for any more, with their buffers.
        self.abandoned: list[Any] = []
        self.farewells: list[Any] = []

    def wait(
        self,
        request: Any,
        members: Sequence[int],
        what: Callable[[], str],
        kept: Any,
        own: Meeting | None = None,
    ) -> None:
        """Wait until a message among some processes is through; raise if it cannot be. `kept` are its buffers.

        Meanwhile meetings go on, but for the message's own.
        """
        done = False
        try:
            for _ in range(SPINS):
                if request.Test():
                    done = True
                    return
                self._poke(own)
            begun = time.monotonic()
            look, pause, gone = begun + LOOK, 0.0, 0
            while not request.Test():
                time.sleep(pause)
                self._poke(own)
                now = time.monotonic()
                pause = 0.0 if now - begun < 0.01 else min(1e-3, pause + 1e-5)
                if now > look:
                    gone = gone + 1 if self._have_left(members) else 0
                    if gone > LOOKS:  # what they sent before may be on the way
                        raise self._failure(f"waits {what()}, and {self._have_left(members)}")
                    look = now + LOOK
                if now - begun > self.timeout:
                    raise self._failure(
                        f"waited {self.timeout:g} s for the other processes {what()}; each has to come to the same collectives. "
                        "fungrad.distributed.initialize(timeout=...) has it wait longer"
                    )
            done = True
        finally:
            if not done:
                self.give_up((request, kept), what())

    def _poke(self, but: Meeting | None = None) -> None:
        for meeting in [*self.under_way]:
            if meeting is not but:
                meeting.poke()

    def go_on_aside(self) -> None:
        """Have the messages that are under way go on while this thread computes."""
        if self._aside is None and self.mpi().Query_thread() >= self.mpi().THREAD_SERIALIZED:
            self._aside = threading.Thread(
                target=self._run_aside, name="fungrad messages", daemon=True
            )
            self._aside.start()
        self._called.set()

    def _run_aside(self) -> None:
        while not self._leaving:
            self._called.wait()
            with self.using:
                if self.broken is None and not self._leaving:
                    self._poke()
                if self.broken is not None or not self.under_way:
                    self._called.clear()
            time.sleep(PAUSE)

    def _have_left(self, members: Sequence[int]) -> str:
        """Return which of some processes come to no more collectives, and why; "" if all do.

        Those that have left because others had are named only where it is not known which these were.
        """
        self._hear()
        gone = [(i, self.left[i]) for i in members if i in self.left]
        first = [(i, why) for i, why in gone if not why.startswith(f"{DistributedError.__name__}:")]
        return "; ".join([f"process {i} comes to no more: {why}" for i, why in first or gone])

    def _hear(self) -> None:
        """Take up which processes have left, and which have been killed."""
        status = self.mpi().Status()
        while self.comm.Iprobe(tag=FAREWELL, status=status):
            process = status.Get_source()
            buffer = bytearray(status.Get_count(self.mpi().BYTE))
            self.comm.Recv([buffer, self.mpi().BYTE], source=process, tag=FAREWELL)
            self.left[process] = pickle.loads(bytes(buffer))
        host, _ = self.where[self.index]
        for process, (other, pid) in enumerate(self.where):
            if process in self.left or other != host or _runs(pid):
                continue
            # Its farewell may be on the way.
            if time.monotonic() - self.ended.setdefault(process, time.monotonic()) > ON_THE_WAY:
                self.left[process] = f"it has been killed (process id {pid})"

    def give_up(self, kept: Any, what: str) -> None:
        """Meet no more, since a message is not waited for; its buffers are kept."""
        self.abandoned.append(kept)
        self.broken = self.broken or f"process {self.index} was interrupted {what}"

    def _failure(self, text: str) -> DistributedError:
        self.broken = text = f"process {self.index} {text}"
        return DistributedError(text)

    def check(self) -> None:
        """Raise if there can be no more messages."""
        if os.getpid() != self.pid:
            raise DistributedError(
                "a process that was forked has no part in collectives: only those that the launcher started do"
            )
        if self.broken is not None:
            raise DistributedError(
                f"processes do not meet any more, since an earlier collective failed: {self.broken}"
            )

    def leave(self) -> None:
        """Tell the others that this process comes to no more collectives, and wait until they say so too.

        MPI's own end waits for the others as well, but for ever: where one has failed it is not gone through.
        """
        self._leaving = True
        self._called.set()
        if self._aside is not None:
            self._aside.join()
        why = pickle.dumps(_uncaught[0] if _uncaught else self.broken or ENDED)
        for process in range(self.count):
            if process != self.index:
                buffer = [bytearray(why), self.mpi().BYTE]
                self.farewells.append((self.comm.Isend(buffer, process, FAREWELL), buffer))
        failed = bool(_uncaught or self.broken or self.abandoned)
        deadline = time.monotonic() + GRACE
        while len(self.left) < self.count - 1 and not (failed and time.monotonic() > deadline):
            time.sleep(0.005)
            self._hear()
            failed = failed or any(text != ENDED for text in [*self.left.values()])
        if failed:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)
        for request, _ in self.farewells:
            request.Wait()
        if self.devices is not None:
            self.devices.leave()

    @staticmethod
    def mpi() -> Any:
        from mpi4py import MPI

        return MPI


_uncaught: list[str] = []
_world: list[World] = []
_starting = threading.Lock()


def _runs(pid: int) -> bool:
    """Whether a process of this machine is there and no zombie."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's, or there is no /proc
        return True


def world() -> World | None:
    """Return the processes that run this program; None if it is this one alone."""
    return _world[0] if _world else None


@api_boundary
def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    timeout: float = PATIENCE,
) -> None:
    """Join the other processes that an MPI launcher started, by ``mpiexec -n 4 python program.py`` say.

    Started without a launcher, a program is one process, and this does nothing. To be called once, before anything else of
    fungrad, by all processes; later calls set the timeout alone.

    Parameters
    ----------
    coordinator_address
        Must be None: MPI finds the processes.
    num_processes, process_id
        Checked, if they are given, against what MPI says.
    timeout
        Seconds that a process waits for the others in a collective before it raises.

    Raises
    ------
    ImportError
        If a launcher has started several processes, and mpi4py is not installed.
    ValueError
        If an argument is not as MPI has it.

    Examples
    --------
    >>> initialize()
    >>> process_count()
    1
    """
    if coordinator_address is not None:
        raise ValueError(
            f"distributed.initialize: coordinator_address must be None, got {coordinator_address!r}: MPI finds the processes"
        )
    with _starting:
        if not _world:
            comm = _communicator()
            if comm is not None:
                _world.append(World(comm, timeout))
                Tier.in_step = True
                _say_what_ends_it()
                _stay_when_others_die()
                atexit.register(_world[0].leave)
    for process in _world:
        process.timeout = timeout
    for argument, given, actual in (
        ("num_processes", num_processes, process_count()),
        ("process_id", process_id, process_index()),
    ):
        if given is not None and given != actual:
            raise ValueError(
                f"distributed.initialize: {argument} is {given}, but MPI has started this as {actual}; leave it out"
            )


def launched() -> bool:
    """Whether a launcher says that it has started several processes."""
    return any(os.environ.get(name, "1") != "1" for name in _LAUNCHED)


def _communicator() -> Any:
    """Return a communicator of all processes, for us alone; None if there is one process."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # mpi4py, or the library of MPI, is not there
        if not launched():
            return None
        raise ImportError(
            f"several processes were started, but mpi4py cannot be imported ({error}): pip install 'fungrad[mpi]'"
        ) from error
    return MPI.COMM_WORLD.Dup() if MPI.COMM_WORLD.Get_size() > 1 else None


def _say_what_ends_it() -> None:
    """Keep the message for other processes about an error that ends the program."""
    before = sys.excepthook

    def hook(kind: Any, error: Any, traceback: Any) -> None:
        said = str(error).splitlines()
        _uncaught.append(f"{kind.__name__}: {said[0]}" if said else kind.__name__)
        before(kind, error, traceback)

    sys.excepthook = hook


def _stay_when_others_die() -> None:
    """Ignore the signal by which MPICH's launcher tells of a killed process, if it does not end all."""
    main = threading.current_thread() is threading.main_thread()
    if main and hasattr(signal, "SIGUSR1") and signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # which stays until the very end


def process_index(backend: str | None = None) -> int:
    """Return which of the processes this is, from 0. `backend` is accepted for JAX's sake.

    Examples
    --------
    >>> process_index()
    0
    """
    processes = world()
    return 0 if processes is None else processes.index


def process_count(backend: str | None = None) -> int:
    """Return how many processes run the program together. `backend` is accepted for JAX's sake.

    Examples
    --------
    >>> process_count()
    1
    """
    processes = world()
    return 1 if processes is None else processes.count
