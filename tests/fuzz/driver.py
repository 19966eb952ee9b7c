"""Run campaigns: ``python -m tests.fuzz [campaign ...] [--seed N] [--programs N] [--counts FILE]``.

Without --programs the campaigns share FUZZ_S seconds (600). Each works on consecutive seeds from --seed on, in
WORKERS processes, and prints its counts as it goes on; ended by SIGTERM or Ctrl-C it prints them once more. A
failing program is shrunk and written as a test to tests/fuzz/found/; the exit status is then 1. With a file for the
counts, a run leaves out the seeds that earlier ones have done.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import gc
import importlib
import importlib.util
import math
import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from fungrad.compile import tiers
from tests.fuzz.campaign import Mismatch, ready_test, shrink
from tests.fuzz.counts import Counts

CAMPAIGNS = [
    "programs",
    "in_place",
    "loops",
    "transforms",
    "native",
    "stress",
    "special",
    "interrupts",
    "with_jax",
]
PEERS = Path(os.environ.get("PEERS_VENV") or ".venv-peers") / "bin" / "python"
"""The Python of a campaign that needs what this one lacks."""
FOUND = Path(__file__).parent / "found"
CPU_SECONDS = 120
"""How long one program may compute before that is a mismatch."""
EXAMPLES = 3
"""How many programs of a kind of mismatch are shrunk and written."""
REPORT_SECONDS = 15
"""How often a campaign prints its counts."""
SEND_SECONDS = 3
"""How often a process sends its counts."""


Tally = collections.Counter[str]
"""What a campaign counts beside programs, such as interrupts; a module of this folder may have one."""


class Failure(NamedTuple):
    """A seed whose program fails."""

    seed: int
    mismatch: Mismatch
    test: str


class TooSlow(BaseException):
    """A program computes for longer than `CPU_SECONDS`."""


def _too_slow(*_: Any) -> None:
    raise TooSlow


def attempt(campaign: Any, seed: int, known: Mapping[str, int] = {}) -> Failure | None:
    """Run the program of a seed; shrink it if its kind of mismatch is not known well."""
    signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, getattr(campaign, "CPU_SECONDS", CPU_SECONDS))
    program = None
    try:
        program = campaign.generate(seed)
        mismatch = campaign.check(program)
        if mismatch is None:
            return None
        signal.setitimer(signal.ITIMER_PROF, 0)
        if known.get(mismatch.kind, 0) < EXAMPLES:
            tally: Tally = getattr(campaign, "tally", collections.Counter())
            before = tally.copy()
            program = shrink(campaign, program, mismatch)
            mismatch = campaign.check(program) or mismatch
            tally.clear()  # of what shrinking has counted
            tally.update(before)
    except Exception as error:
        mismatch = Mismatch(f"crash, {type(error).__name__}", traceback.format_exc())
    except TooSlow:
        mismatch = Mismatch("slow", f"more than {CPU_SECONDS} s\n{traceback.format_exc()}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Failure(seed, mismatch, ready_test(campaign, seed, program, mismatch))


class Done(NamedTuple):
    """What a process has done since it last said so."""

    seed: int
    """The seed to go on with."""
    tally: Tally
    ended: bool


def work(name: str, start: int, stop: int, until: float, at: Any, send: Connection) -> None:
    """Run the programs of seeds until a time, in a process of its own; send what fails and what is done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    faulthandler.enable()
    gc.freeze()  # what is imported: each collection would go through it
    gc.set_threshold(100_000, 50, 50)
    warnings.simplefilter("error")
    campaign = importlib.import_module(f"tests.fuzz.{name}")
    if getattr(campaign, "BITS", False):  # kernels come at any time, and round otherwise
        tiers.CALLS, tiers.LONG = sys.maxsize, math.inf
    tally: Tally = getattr(campaign, "tally", collections.Counter())
    tally.clear()
    kinds: collections.Counter[str] = collections.Counter()
    seed, sent = start, time.time()
    while seed < stop and time.time() < until:
        at.value = seed
        failure = attempt(campaign, seed, kinds)
        seed += 1
        if failure is not None:
            kinds[failure.mismatch.kind] += 1
            send.send(failure)
            if failure.mismatch.fatal:
                break
        if time.time() > sent + SEND_SECONDS:
            send.send(Done(seed, tally.copy(), False))
            tally.clear()
            sent = time.time()
    send.send(Done(seed, tally.copy(), True))
    send.close()
    os._exit(0)  # threads that wait for ever may be left


class Process:
    """A process that works on seeds."""

    def __init__(self, name: str, start: int, stop: int, until: float) -> None:
        self.seed, self.stop = start, stop
        self.at = _fork.Value("q", start, lock=False)
        self.receive, send = _fork.Pipe(duplex=False)
        self.process = _fork.Process(target=work, args=(name, start, stop, until, self.at, send))
        self.process.start()
        send.close()

    def message(self) -> Failure | Done:
        """Return a failure, or what is done."""
        try:
            found: Failure | Done = self.receive.recv()
        except EOFError:
            self.process.join()
            death = Mismatch(
                "the process died", f"its exit code is {self.process.exitcode}", fatal=True
            )
            return Failure(int(self.at.value), death, "")
        if isinstance(found, Done) and found.ended:
            self.process.join()
        return found


_fork = multiprocessing.get_context("fork")


class Run:
    """One campaign: its processes, and what they have done so far."""

    def __init__(self, name: str, args: argparse.Namespace, seconds: float) -> None:
        self.name, self.args = name, args
        self.campaign = importlib.import_module(f"tests.fuzz.{name}")
        self.begin = self.told = time.time()
        self.until = self.begin + (seconds if args.programs is None else 1e9)
        self.failures: list[Failure] = []
        self.done, self.tally = 0, collections.Counter[str]()
        self.following = args.seed
        self.running: dict[Connection, Process] = {}
        self.kept = Counts(name, args.counts)

    def go(self) -> None:
        """Work until the time is over or all programs are done."""
        args = self.args
        getattr(self.campaign, "prepare", lambda: None)()
        last = args.seed + args.programs if args.programs is not None else sys.maxsize
        chunk = args.chunk or getattr(self.campaign, "CHUNK", 1000)
        again: list[tuple[int, int]] = []
        while True:
            while len(self.running) < args.workers and time.time() < self.until:
                if again:
                    start, stop = again.pop()
                elif self.following < last:
                    stop = min(self.following + chunk, last)
                    start, stop = self.kept.left(self.following, stop)
                    self.following = stop
                    if start == stop:
                        continue
                else:
                    break
                process = Process(self.name, start, stop, self.until)
                self.running[process.receive] = process
            if not self.running:
                break
            wait = max(0.0, self.told + REPORT_SECONDS - time.time())
            for connection in multiprocessing.connection.wait(list(self.running), wait):
                assert isinstance(connection, Connection)
                if left := self.listen(connection):
                    again.append(left)
            if time.time() >= self.told + REPORT_SECONDS:
                self.told = time.time()
                self.kept.save()
                print(self.counts(), flush=True)

    def listen(self, connection: Connection) -> tuple[int, int] | None:
        """Take a message; return the seeds that an ended process has left."""
        process = self.running[connection]
        found = process.message()
        if isinstance(found, Failure):
            self.failures.append(found)
            self.kept.failed(found.seed, found.mismatch.kind)
            report(self.name, found, self.args)
            if found.mismatch.kind != "the process died":
                return None
            found = Done(found.seed + 1, collections.Counter(), True)
        self.done += found.seed - process.seed
        self.tally += found.tally
        self.kept.add(process.seed, found.seed, found.tally)
        process.seed = found.seed
        if not found.ended:
            return None
        del self.running[connection]
        if found.seed < process.stop and time.time() < self.until:
            return found.seed, process.stop
        return None

    def end(self) -> None:
        """End what still runs; print what has been done."""
        for process in self.running.values():
            process.process.kill()
        self.kept.save()
        print(self.counts(), flush=True)
        kinds: dict[str, list[int]] = {}
        for failure in self.failures:
            kinds.setdefault(failure.mismatch.kind, []).append(failure.seed)
        for kind, seeds in sorted(kinds.items(), key=lambda item: -len(item[1])):
            print(f"    {len(seeds)} x {kind}, first at seed {min(seeds)}", flush=True)

    def counts(self) -> str:
        """Say in one line what has been done."""
        took = time.time() - self.begin
        line = f"{self.name}: {self.done} programs, seeds from {self.args.seed} to {self.following - 1}"
        line += "".join(f", {n} {what}" for what, n in sorted(self.tally.items()))
        line += f", {len(self.failures)} mismatches, {took:.0f} s"
        each = {"programs": self.done, **self.tally}
        rated = getattr(self.campaign, "RATED", "programs")
        return f"{line}, {each.get(rated, 0) / max(took, 1e-9):.0f} {rated} a second"


def elsewhere(name: str, args: argparse.Namespace, seconds: float) -> int:
    """Run a campaign by the peers' Python, which has what this one lacks; return its exit status."""
    needs = importlib.import_module(f"tests.fuzz.{name}").NEEDS
    if not PEERS.exists() or subprocess.call([PEERS, "-c", f"import {needs}"]):
        print(f"{name}: skipped, there is no {PEERS} with {needs}: `make environments` makes it")
        return 0
    command = [PEERS, "-m", "tests.fuzz", name, f"--seed={args.seed}", f"--workers={args.workers}"]
    command += [] if args.programs is None else [f"--programs={args.programs}"]
    command += [] if args.chunk is None else [f"--chunk={args.chunk}"]
    process = subprocess.Popen(command, env=os.environ | {"FUZZ_S": str(seconds)})
    try:
        return process.wait()
    except BaseException:
        process.terminate()
        raise
    finally:
        process.wait()


def lacking(name: str) -> bool:
    """Whether this Python lacks what a campaign needs."""
    needs = getattr(importlib.import_module(f"tests.fuzz.{name}"), "NEEDS", "numpy")
    return importlib.util.find_spec(needs) is None


class Stopped(BaseException):
    """The signal SIGTERM."""


def _stop(*_: Any) -> None:
    raise Stopped


_written: dict[tuple[str, str], int] = {}


def report(name: str, failure: Failure, args: argparse.Namespace) -> None:
    """Print a failure and write its test, for the first ones of each kind."""
    seen = _written[name, failure.mismatch.kind] = (
        _written.get((name, failure.mismatch.kind), 0) + 1
    )
    if seen > EXAMPLES:
        return
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"test_{name}_{failure.seed}.py"
    path.write_text(failure.test, "utf-8")
    print(f"{name}: seed {failure.seed}: {failure.mismatch}\n    -> {path}", flush=True)


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("campaigns", nargs="*", metavar="campaign", help=", ".join(CAMPAIGNS))
    parser.add_argument("--seed", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--programs", type=int, help="how many of each campaign, whatever the time")
    parser.add_argument("--chunk", type=int, help="how many programs a process runs")
    parser.add_argument("--counts", help="the file that counts of several runs add up in")
    parser.add_argument(
        "--workers", type=int, default=int(os.environ.get("WORKERS") or os.cpu_count() or 1)
    )
    args = parser.parse_args()
    names = args.campaigns or CAMPAIGNS
    unknown = set(names) - set(CAMPAIGNS)
    if unknown:
        parser.error(f"there is no campaign {', '.join(sorted(unknown))}")
    seconds = float(os.environ.get("FUZZ_S") or 600) / len(names)
    signal.signal(signal.SIGTERM, _stop)
    failed = False
    for name in names:
        run = None
        try:
            if lacking(name):
                failed |= elsewhere(name, args, seconds) != 0
                continue
            run = Run(name, args, seconds)
            run.go()
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        except Stopped:
            return 128 + signal.SIGTERM
        finally:
            if run is not None:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                run.end()
                signal.signal(signal.SIGTERM, _stop)
                failed |= bool(run.failures)
    return 1 if failed else 0
