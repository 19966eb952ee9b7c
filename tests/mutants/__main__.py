"""``python -m tests.mutants [NAMES...] [--write]``: plant small mistakes in fungrad, one at a time, and see that tests catch them.

    python -m tests.mutants                       # all
    python -m tests.mutants sin-derivative-sign   # one of them; `random*` are all whose names begin so
    python -m tests.mutants --write               # all, and write docs/mutants.md
    python -m tests.mutants --named               # all, by the tests that the table names alone
    python -m tests.mutants --list                # their names, and what they are

The mistakes stand in `table.py`. Each is planted in a copy of the files that git has or would add, and tests are run on that, up to the
first that fails: first those that the table names, then, if none of these does, all of `make test`. Only tests that run on any day count. A mistake
that no test catches, a survivor, makes the exit status 1, and so does a test that fails without the mistake.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import tiers
from tests.mutants.row import Mutant
from tests.mutants.table import MUTANTS

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "mutants.md"

DAILY: tuple[str, ...] = ("--tier=daily",)
"""The options of pytest that choose the tests of a day, as `make test` does."""

QUIET = ("-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider")
WATCH = ("-p", "tests.mutants.watch")
ALONE = tuple(f"--ignore={name}" for name in tiers.ALONE)
"""What waits for other processes, which `make test` leaves to `make test-distributed`."""
EVERYTHING = (*ALONE, "--nbmake", "tests", "fungrad", "notebooks")

OF_TESTS = "tests/mutants/watch.py"
"""A file without tests, whose folder makes pytest know the options of tests/conftest.py, also for doctests of fungrad."""

LIMITS = (300.0, 7200.0)
"""How many seconds the named tests may take, and all of them. What takes longer is caught: it hangs."""


@dataclass(frozen=True)
class Run:
    """What came of running tests on a copy."""

    caught: str
    """The test that failed, or what else happened; "" if all passed."""
    test: str
    """The name of that test alone, if there is one."""
    seconds: float
    output: str = ""


def files() -> list[str]:
    """Return the files that git has or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def copied(folder: Path) -> Path:
    """Copy the repository into a folder, in a folder named fungrad, and return that."""
    copy = folder / "fungrad"
    for name in files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    return copy


def put(path: Path, text: str) -> None:
    """Write a module, and remove what Python has compiled of it: within a second, one of the same length would pass for that."""
    path.write_text(text, "utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink(missing_ok=True)


def run(copy: Path, arguments: Sequence[str], limit: float) -> Run:
    """Run pytest on a copy, in a process group of its own and with no compiled kernels kept from before."""
    with tempfile.TemporaryDirectory() as own:
        log = Path(own, "log")
        env = os.environ | {
            "PYTHONPATH": str(copy),
            "FUNGRAD_CACHE_DIR": str(Path(own, "kernels")),
            "FUNGRAD_MUTANTS_LOG": str(log),
        }
        command = [sys.executable, "-m", "pytest", *QUIET, *WATCH, *arguments]
        start = time.perf_counter()
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command, cwd=copy, env=env, stdout=output, stderr=output, start_new_session=True
            )
            try:
                status: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                end(process)
            seconds = time.perf_counter() - start
            output.seek(0)
            text = output.read().decode(errors="replace")
        lines = (
            [line.split(" ", 1) for line in log.read_text("utf-8").splitlines()]
            if log.exists()
            else []
        )
        return judged(status, lines, seconds, text)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError):  # all have ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def judged(status: int | None, lines: Sequence[Sequence[str]], seconds: float, text: str) -> Run:
    """Return what an exit status means, None being the end of time, beside the tests that have begun and failed."""
    failed = [name for word, name in lines if word == "fail"]
    begun = [name for word, name in lines if word == "begin"]
    if failed:
        return Run(failed[0], failed[0], seconds)
    at = begun[-1] if begun else ""
    if status is None:
        return Run(f"time limit, {at or 'before the first test'}", at, seconds)
    if status < 0 or status > 5:
        return Run(f"died ({status}), {at or 'before the first test'}", at, seconds)
    if status in (0, 5):  # all passed, or none was one of the day
        return Run("", "", seconds)
    return Run(f"pytest ended with {status}", "", seconds, text)


def examine(mutant: Mutant, copy: Path, named: bool = False) -> Run:
    """Plant a mistake in a copy, run tests on it, those that the table names alone if `named`, and take the mistake out again."""
    path = copy / mutant.file
    source = path.read_text("utf-8")
    put(path, mutant.planted(source))
    try:
        first = run(copy, (*DAILY, *mutant.tests, OF_TESTS), LIMITS[0])
        if first.caught or named:
            return first
        workers = os.environ.get("WORKERS") or str(os.cpu_count() or 2)
        parallel = ("-n", workers, "--dist", "worksteal")
        second = run(copy, (*DAILY, *parallel, *EVERYTHING), LIMITS[1])
        return Run(second.caught, second.test, first.seconds + second.seconds, second.output)
    finally:
        put(path, source)


def chosen(names: Sequence[str]) -> list[Mutant]:
    """Return the mutants of such names, which may be patterns; all if there are none."""
    for name in names:
        if not any(fnmatch.fnmatch(m.name, name) for m in MUTANTS):
            raise SystemExit(f"no such mutant: {name}; --list shows all")
    return [m for m in MUTANTS if not names or any(fnmatch.fnmatch(m.name, n) for n in names)]


def page(found: Iterable[tuple[Mutant, Run]]) -> str:
    """Return the text of docs/mutants.md."""
    rows = [
        f"| `{m.name}` | {m.what} (`{m.file}`) | {caught_by(r)} | {r.seconds:.0f} |"
        for m, r in found
    ]
    return "\n".join(
        [
            "# Planted mistakes",
            "",
            f"`make mutants` plants {len(rows)} small mistakes in fungrad, one at a time, in a copy of the repository, and runs tests on it up to the first that fails: those",
            "that are likely to catch it, and then all of `make test`. So it is known what the tests catch, and that this stays so when tests are made faster. The mistakes stand in `tests/mutants/`.",
            "",
            "| mutant | the mistake | caught by | s |",
            "| --- | --- | --- | ---: |",
            *rows,
            "",
        ]
    )


def caught_by(run: Run) -> str:
    return f"`{run.caught.replace('|', chr(92) + '|')}`" if run.caught else "nothing: it survived"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.mutants", description="plant mistakes")
    parser.add_argument(
        "names", nargs="*", help="which mutants, by name or pattern; all if none is named"
    )
    parser.add_argument(
        "--write", action="store_true", help="write docs/mutants.md, of all mutants"
    )
    parser.add_argument(
        "--named", action="store_true", help="run the tests that the table names alone"
    )
    parser.add_argument("--list", action="store_true", help="list the mutants and run nothing")
    options = parser.parse_args(arguments)
    mutants = chosen(options.names)
    if options.write and options.names:
        parser.error("--write is for all mutants: name none")
    if options.list:
        for m in mutants:
            print(f"{m.name:34} {m.file}: {m.what}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the tests end too
    found = []
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        for m in mutants:
            outcome = examine(m, copy, options.named)
            found.append((m, outcome))
            print(
                f"{m.name:34} {outcome.caught or 'SURVIVED'}  {outcome.seconds:.1f} s", flush=True
            )
            if outcome.output:
                print(outcome.output[-2000:])
        # A test that fails by itself would catch anything.
        tests = dict.fromkeys(r.test for _, r in found if r.test)
        sound = run(copy, (*tests, OF_TESTS), LIMITS[1]) if tests else None
    survivors = [m.name for m, r in found if not r.caught]
    doubtful = [m.name for m, r in found if r.output]
    print(f"\n{len(found) - len(survivors)} of {len(found)} caught")
    if survivors:
        print(f"survived: {', '.join(survivors)}")
    if doubtful:
        print(f"pytest could not run tests: {', '.join(doubtful)}")
    if sound is not None and sound.caught:
        print(f"fails without a mistake too: {sound.caught}\n{sound.output[-2000:]}")
    if options.write:
        PAGE.write_text(page(found), "utf-8")
    return int(bool(survivors or doubtful or (sound is not None and sound.caught)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
