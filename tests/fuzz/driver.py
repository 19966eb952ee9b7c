"""Run campaigns: ``python -m tests.fuzz [campaign ...] [--seed N] [--programs N]``.

Without --programs the campaigns share FUZZ_S seconds (600). Each works on consecutive seeds from --seed on, in
WORKERS processes. A failing program is shrunk and written as a test to tests/fuzz/found/; the exit status is
then 1.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import importlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz.campaign import Mismatch, ready_test, shrink

CAMPAIGNS = ["programs", "in_place", "transforms", "special", "interrupts"]
FOUND = Path(__file__).parent / "found"
CPU_SECONDS = 120
"""How long one program may compute before that is a mismatch."""
EXAMPLES = 3
"""How many programs of a kind of mismatch are shrunk and written."""


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
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    program = None
    try:
        program = campaign.generate(seed)
        mismatch = campaign.check(program)
        if mismatch is None:
            return None
        signal.setitimer(signal.ITIMER_PROF, 0)
        if known.get(mismatch.kind, 0) < EXAMPLES:
            program = shrink(campaign, program, mismatch)
            mismatch = campaign.check(program) or mismatch
    except Exception as error:
        mismatch = Mismatch(f"crash, {type(error).__name__}", traceback.format_exc())
    except TooSlow:
        mismatch = Mismatch("slow", f"more than {CPU_SECONDS} s\n{traceback.format_exc()}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Failure(seed, mismatch, ready_test(campaign, seed, program, mismatch))


def work(name: str, start: int, stop: int, until: float, at: Any, send: Connection) -> None:
    """Run the programs of seeds until a time, in a process of its own; send what fails, then the seed to go on with."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    faulthandler.enable()
    warnings.simplefilter("error")
    campaign = importlib.import_module(f"tests.fuzz.{name}")
    kinds: collections.Counter[str] = collections.Counter()
    seed = start
    while seed < stop and time.time() < until:
        at.value = seed
        failure = attempt(campaign, seed, kinds)
        seed += 1
        if failure is not None:
            kinds[failure.mismatch.kind] += 1
            send.send(failure)
            if failure.mismatch.fatal:
                break
    send.send(seed)
    send.close()
    os._exit(0)  # threads that wait for ever may be left


class Process:
    """A process that works on seeds."""

    def __init__(self, name: str, start: int, stop: int, until: float) -> None:
        self.stop = stop
        self.at = _fork.Value("q", start, lock=False)
        self.receive, send = _fork.Pipe(duplex=False)
        self.process = _fork.Process(target=work, args=(name, start, stop, until, self.at, send))
        self.process.start()
        send.close()

    def message(self) -> Failure | int:
        """Return a failure, or the seed to go on with."""
        try:
            found: Failure | int = self.receive.recv()
        except EOFError:
            self.process.join()
            seed = int(self.at.value)
            death = Mismatch(
                "the process died", f"its exit code is {self.process.exitcode}", fatal=True
            )
            self.at.value = seed + 1
            return Failure(seed, death, "")
        if isinstance(found, int):
            self.process.join()
        return found


_fork = multiprocessing.get_context("fork")


def campaign_of(name: str, args: argparse.Namespace, seconds: float) -> list[Failure]:
    """Run one campaign and print what it did; return what fails."""
    campaign = importlib.import_module(f"tests.fuzz.{name}")
    getattr(campaign, "prepare", lambda: None)()
    begin, until = time.time(), time.time() + (seconds if args.programs is None else 1e9)
    last = args.seed + args.programs if args.programs is not None else sys.maxsize
    chunk = args.chunk or getattr(campaign, "CHUNK", 1000)
    done, failures = 0, []
    following = args.seed
    again: list[tuple[int, int]] = []
    running: dict[Connection, tuple[Process, int]] = {}
    while True:
        while len(running) < args.workers and time.time() < until:
            if again:
                start, stop = again.pop()
            elif following < last:
                start, stop = following, min(following + chunk, last)
                following = stop
            else:
                break
            process = Process(name, start, stop, until)
            running[process.receive] = process, start
        if not running:
            break
        for connection in multiprocessing.connection.wait(list(running)):
            process, start = running[connection]
            found = process.message()
            if isinstance(found, Failure):
                failures.append(found)
                report(name, found, args)
                if found.mismatch.kind != "the process died":
                    continue
                found = found.seed + 1
            del running[connection]
            done += found - start
            if found < process.stop and time.time() < until:
                again.append((found, process.stop))
    took = time.time() - begin
    print(
        f"{name}: {done} programs, seeds from {args.seed} to {following - 1}, "
        f"{len(failures)} mismatches, {took:.0f} s, {done / took:.0f} a second",
        flush=True,
    )
    kinds: dict[str, list[int]] = {}
    for failure in failures:
        kinds.setdefault(failure.mismatch.kind, []).append(failure.seed)
    for kind, seeds in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"    {len(seeds)} x {kind}, first at seed {min(seeds)}", flush=True)
    return failures


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
    parser.add_argument(
        "--workers", type=int, default=int(os.environ.get("WORKERS") or os.cpu_count() or 1)
    )
    args = parser.parse_args()
    names = args.campaigns or CAMPAIGNS
    unknown = set(names) - set(CAMPAIGNS)
    if unknown:
        parser.error(f"there is no campaign {', '.join(sorted(unknown))}")
    seconds = float(os.environ.get("FUZZ_S") or 600) / len(names)
    failures = [failure for name in names for failure in campaign_of(name, args, seconds)]
    return 1 if failures else 0
