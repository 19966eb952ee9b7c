"""Which tests run: all of them, those of a day, or a quarter of those that are left.

Three rules choose the tests of a day, ``--tier=daily``:

- A test is *slow* if it takes more than half a second or starts a process. `tests/slow.txt` lists these, as measured by
  ``make durations``; none of them is a test of the day.
- A test function of more than `FEW` cases is a *grid*. Each day runs its first case and one in seven of the others, chosen by a
  hash of their names, so a week runs all of them.
- A grid with the marker `whole` runs all cases each day, slow ones too: the tables of rules and of compositions.
- Tests that compare with other libraries, in tests/peers, are of no day, nor are those of `ALONE`.

``--rest=1/4`` runs the first quarter of all other tests, chosen by a hash of their names too. Those of no day are chosen by files,
whose tests share what takes long: what JAX compiles, and what processes have written. `tests/files.txt` has the seconds of these
files, by which the parts are alike. ``--tier=quick`` runs fewer cases of grids. Without an option, everything runs that is asked for.
"""

from __future__ import annotations

import datetime
import functools
import sys
import time
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

FEW = 12
"""Cases up to which a test function is no grid."""
DAYS = 7
"""Days in which all cases of grids run."""
LIMIT = 0.5
"""Seconds from which on a test is slow."""
QUICK = 20
"""One in so many cases of a grid, or of a table that is `whole`, runs in the quick tier."""
PEERS = "tests/peers/"
ALONE = tuple(
    f"tests/distributed/test_{name}.py"
    for name in ("checkpoints", "devices", "faults", "learning", "ranks", "tasks")
)
"""Files whose tests start processes that wait for one another: `make test-distributed` runs them, and no other command does."""
ROOT = Path(__file__).parent.parent
SLOW = Path(__file__).parent / "slow.txt"
SECONDS = Path(__file__).parent / "files.txt"
USUAL = 10.0
"""Seconds that a file is taken to need if they were not measured."""
PROCESSES = ("subprocess.Popen", "os.fork", "os.posix_spawn")
"""Events of Python's audit that tell that a process starts."""


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption(
        "--tier",
        choices=["quick", "daily", "whole"],
        default="whole",
        help="which tests run (default: whole)",
    )
    group.addoption(
        "--rest",
        metavar="K/N",
        type=_part,
        help="run the K-th of N parts of the tests that are not daily",
    )
    group.addoption(
        "--day",
        type=int,
        default=None,
        help=f"the day whose sample runs, 0 to {DAYS - 1} (default: today's)",
    )
    group.addoption("--measure", metavar="FILE", help="write how long tests take to FILE")
    group.addoption(
        "--measure-files",
        metavar="FILE",
        help="write to FILE how long files take that are divided as wholes",
    )


def _part(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise ValueError(f"{text!r} is not K/N with 1 <= K <= N")
    return int(part) - 1, int(parts)


def of_name(name: str, salt: str = "") -> int:
    """Return a hash of a test's name, the same in all processes."""
    return zlib.crc32(f"{salt}{name}".encode())


def read_slow(path: Path) -> frozenset[str]:
    """Return the names of the slow tests and fixtures."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return frozenset(line.split(maxsplit=1)[1] for line in lines if line and line[0] != "#")


def shared_fixtures(info: Any) -> list[str]:
    """Return the names, as in `tests/slow.txt`, of the fixtures of a test that others share."""
    return [
        f"{fixture.baseid}::{name} (fixture)"
        for name, fixtures in info.name2fixturedefs.items()
        for fixture in fixtures
        if fixture.scope != "function"
    ]


def of_no_day(name: str) -> bool:
    """Whether a test is in a file that is divided as a whole."""
    return name.startswith((PEERS, *ALONE))


def read_seconds(path: Path) -> dict[str, float]:
    """Return the seconds of files that are divided as wholes."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    pairs = [line.split(maxsplit=1) for line in lines if line and line[0] != "#"]
    return {name: float(seconds) for seconds, name in pairs}


def write_seconds(path: Path, measured: dict[str, float]) -> None:
    """Write the seconds of tests, summed by files; those of files that did not run stay."""
    sums: dict[str, float] = {}
    for name, took in measured.items():
        if of_no_day(name):
            file = name.partition("::")[0]
            sums[file] = sums.get(file, 0.0) + took
    found = {k: v for k, v in read_seconds(path).items() if (ROOT / k).exists()} | sums
    head = (
        "# Seconds of the files that are divided as wholes; written by `make durations-of-files`."
    )
    lines = [f"{found[name]:.0f} {name}" for name in sorted(found)]
    path.write_text("\n".join([head, *lines, ""]), "utf-8")


def shares(seconds: dict[str, float], parts: int) -> dict[str, int]:
    """Return which part each file is in: the file of most seconds left goes to the part of the fewest."""
    totals, found = [0.0] * parts, {}
    for name in sorted(seconds, key=lambda name: (-seconds[name], name)):
        found[name] = totals.index(min(totals))
        totals[found[name]] += seconds[name]
    return found


@functools.cache
def parts_of_files(parts: int) -> dict[str, int]:
    """Return which part each file is in that is divided as a whole: those of tests/peers, and those of `ALONE`."""
    known = read_seconds(SECONDS)
    peers = [f"{PEERS}{path.name}" for path in (ROOT / PEERS).glob("test_*.py")]
    return {
        name: part
        for files in (peers, ALONE)
        for name, part in shares({name: known.get(name, USUAL) for name in files}, parts).items()
    }


class Selection:
    """Chooses the tests that run. Cases of grids are left out before pytest makes items of them, which takes it a millisecond each."""

    def __init__(self, config: pytest.Config) -> None:
        self.tier, self.rest = config.getoption("--tier"), config.getoption("--rest")
        self.runs_all = self.tier == "whole" and self.rest is None
        asked = config.getoption("--day")
        if hasattr(config, "workerinput"):  # it may have started after midnight
            asked = config.workerinput["day"]
        today = datetime.datetime.now(datetime.UTC).date().toordinal()
        self.day = (today if asked is None else asked) % DAYS
        self.slow = read_slow(SLOW)
        self.cases: dict[str, set[str]] = {}
        """Names of the cases that run, of each grid."""
        self.unmade = 0
        """Number of cases that pytest makes no items of."""

    def pytest_report_header(self) -> str:
        if self.runs_all:
            return "tests: all"
        what = f"rest {self.rest[0] + 1}/{self.rest[1]}" if self.rest else self.tier
        return f"tests: {what}, with the sample of day {self.day} of {DAYS} (--day={self.day} runs the same again)"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.unmade:
            terminalreporter.line(f"{self.unmade} cases of grids were left out")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist the day."""
        node.workerinput["day"] = self.day

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Learn from a worker of xdist how many cases were left out."""
        self.unmade = getattr(node, "workeroutput", {}).get("unmade", self.unmade)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["unmade"] = self.unmade

    def runs(self, name: str, daily: bool) -> bool:
        """Whether a test runs that is one of the day, or is not."""
        if self.rest is None:
            return daily
        part, parts = self.rest
        if of_no_day(name):
            return parts_of_files(parts)[name.partition("::")[0]] == part
        return not daily and of_name(name, "rest") % parts == part

    def is_slow(self, name: str, info: Any = None) -> bool:
        """Whether a test, or a fixture that it shares with others, is in the list."""
        shared = () if info is None else shared_fixtures(info)
        return name in self.slow or not self.slow.isdisjoint(shared)

    def is_candidate(self, name: str, slow: bool) -> bool:
        """Whether a test can be one of the day."""
        return not slow and not of_no_day(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> Generator[None, None, None]:
        """Leave out cases of grids; one is left, since pytest calls a function that has no cases without arguments."""
        yield
        calls, definition = metafunc._calls, metafunc.definition
        if self.runs_all or len(calls) <= FEW:
            return
        whole = definition.get_closest_marker("whole") is not None
        one_in, part = (QUICK, 0) if self.tier == "quick" else (1 if whole else DAYS, self.day)
        kept = []
        for k, call in enumerate(calls):
            name = f"{definition.nodeid}[{call.id}]"
            is_sampled = k == 0 or of_name(name) % one_in == part % one_in
            slow = self.is_slow(name, definition._fixtureinfo)
            left_out = slow and not (whole and self.tier != "quick")
            if self.runs(name, is_sampled and self.is_candidate(name, left_out)):
                kept.append((name, call))
        self.cases[definition.nodeid] = {name for name, _ in kept}
        self.unmade += len(calls) - max(len(kept), 1)
        metafunc._calls = [call for _, call in kept] or calls[:1]

    @pytest.hookimpl(tryfirst=True)  # before -m, which may ask for the marker
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Mark the slow tests, and leave out all other tests that do not run."""
        chosen, others = [], []
        for item in items:
            slow = self.is_slow(item.nodeid, getattr(item, "_fixtureinfo", None))
            if slow:
                item.add_marker(pytest.mark.slow)
            cases = self.cases.get(item.nodeid.partition("[")[0])
            if self.runs_all:
                runs = True
            elif cases is None:
                runs = self.runs(item.nodeid, self.is_candidate(item.nodeid, slow))
            else:
                runs = item.nodeid in cases
            (chosen if runs else others).append(item)
        config.hook.pytest_deselected(items=others)
        items[:] = chosen


class Measurement:
    """Writes which tests and shared fixtures are slow: the time of a test is without that of the fixtures that it shares."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.seconds: dict[str, float] = {}
        self.starting: set[str] = set()
        self.started = 0
        self.shared = 0.0, 0
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: Any) -> None:
        self.started += event in PROCESSES

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        before, started = time.perf_counter(), self.started
        result = yield
        if fixturedef.scope != "function":
            name = f"{fixturedef.baseid}::{fixturedef.argname} (fixture)"
            took, starts = time.perf_counter() - before, self.started - started
            self._note(name, took, starts)
            self.shared = self.shared[0] + took, self.shared[1] + starts
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: Any
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        took, starts = self.shared
        self._note(item.nodeid, call.duration - took, self.started - starts)
        self.shared, self.started = (0.0, 0), 0
        return report

    def _note(self, name: str, seconds: float, starts: int) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        if starts:
            self.starting.add(name)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["measured"] = self.seconds, sorted(self.starting)
        else:
            self._write()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of xdist has measured."""
        seconds, starting = getattr(node, "workeroutput", {}).get("measured", ({}, []))
        for name, took in seconds.items():
            self.seconds[name] = max(took, self.seconds.get(name, 0.0))
        self.starting.update(starting)

    def _write(self) -> None:
        if path := self.config.getoption("--measure-files"):
            write_seconds(Path(path), self.seconds)
        if not (path := self.config.getoption("--measure")):
            return
        slow = {n for n, took in self.seconds.items() if took > LIMIT} | self.starting
        lines = [f"{self.seconds[name]:.1f} {name}" for name in sorted(slow)]
        head = "# Tests that take more than half a second or start a process, and their seconds; written by `make durations`."
        Path(path).write_text("\n".join([head, *lines, ""]), "utf-8")


def configure(config: pytest.Config) -> None:
    """Have the options of the command line count."""
    config.pluginmanager.register(Selection(config), "tiers")
    if config.getoption("--measure") or config.getoption("--measure-files"):
        config.pluginmanager.register(Measurement(config), "measurement")
