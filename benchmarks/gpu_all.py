"""One run on a card in at most ten minutes: `make gpu-all`.

Each stage writes a file of its own as it goes.

A stage that fails, or takes longer than its limit, is noted, and the next one runs.
"""

from __future__ import annotations

import datetime
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parent / "results"
TIME = 600
"""Seconds for all stages."""


class Stage(NamedTuple):
    """A command, how many seconds it may take, and settings of its environment."""

    name: str
    command: Sequence[str]
    seconds: int
    settings: Sequence[str] = ()


def stages(python: str) -> list[Stage]:
    """Return the stages, the most wanted ones first."""
    eager = ["FUNGRAD_COMPILE=eager"]
    benchmarks = [python, "-m", "benchmarks", "--backend=cupy"]
    pytest = [python, "-m", "pytest", "-q", "--backend=cupy"]
    small = ["tests/backends/test_device_kernels.py", "-k", "written or sums or many or orders"]
    return [
        Stage("facts", ["nvidia-smi", "-q"], 10),
        Stage("versions", [python, "-m", "fungrad"], 20),
        Stage("card", [python, "-m", "benchmarks.card"], 60),
        Stage("rows", [*benchmarks, "native"], 250, eager),
        Stage("launches", [python, "-m", "benchmarks.launches"], 60),
        Stage("sanitizer", ["compute-sanitizer", "--tool", "memcheck", *pytest, *small], 70),
        Stage("tests", [*pytest, "tests/backends"], 130),
    ]


def run(stage: Stage, folder: Path) -> str:
    """Run a stage, with its output in a file; return how it ended."""
    program, *options = stage.command
    if (found := shutil.which(program)) is None:
        return f"{program} is not installed"
    began = time.monotonic()
    with (folder / f"{stage.name}.txt").open("w") as file:
        try:
            done = subprocess.run(
                ["env", *stage.settings, found, *options],
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=stage.seconds,
            )
        except subprocess.TimeoutExpired:
            return f"ended after {stage.seconds} s"
    return f"exit status {done.returncode} after {time.monotonic() - began:.0f} s"


def run_all(chosen: Sequence[Stage], folder: Path) -> int:
    """Run stages one after the other; return how many there were that did not succeed."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for stage in chosen:
        ending = run(stage, folder)
        failed += not ending.startswith("exit status 0 ")
        line = f"{stage.name}: {ending}"
        print(line, flush=True)
        with (folder / "stages.txt").open("a") as file:
            file.write(f"{line}\n")
    return failed


if __name__ == "__main__":
    sys.exit(run_all(stages(sys.executable), RESULTS / f"{datetime.date.today()}-gpu"))
