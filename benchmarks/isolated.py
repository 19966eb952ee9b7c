"""What one contender takes in a process of its own: memory at its peak, and the time until it runs machine code.

The peak is that of resident memory during one call, over what the process had before it: arguments and what was compiled do not count,
results do. Linux tells it (`VmHWM`, reset through /proc/self/clear_refs); elsewhere it is left out. glibc is told to give back at
once what is freed, so that a call cannot hide in what the one before has left.

    python -m benchmarks.isolated WORKLOAD CONTENDER
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.workload import Call, LeftOut, Setting, Workload

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
LONGEST = 20.0
"""Seconds after which there is no machine code to come."""
WARMING = 3
"""Calls before the one that is measured, the first of which compiles."""


@dataclass(frozen=True)
class Isolated:
    """What one contender took.

    Attributes
    ----------
    peak : int or None
        Bytes of resident memory over the base, at the most; None where the system does not tell.
    until_native : float or None
        Seconds from the first of many calls, one after the other, until the next one has its kernels; None if there are none.
    compiling : float or None
        Seconds of a processor that making the kernels took.
    meanwhile : float or None
        How many times longer a call lasts while kernels are made, in the mean, than the median of those before.
    """

    peak: int | None
    until_native: float | None
    compiling: float | None
    meanwhile: float | None


def measure(workload: Workload, contender: str, compiled: bool = True) -> Isolated:
    """Measure a contender in a process of its own, fungrad's with kernels only if `compiled`."""
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    if not compiled:
        environment["FUNGRAD_COMPILE"] = "off"
    command = [sys.executable, "-m", __name__, workload.name, contender]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{workload.name}, {contender}:\n{done.stderr}")
    return Isolated(**json.loads(done.stdout.splitlines()[-1]))


def measured_here(call: Call) -> Isolated:
    """Measure a call that this process has not made yet."""
    until, compiling, meanwhile = until_native(call)
    for _ in range(WARMING):
        call()
    return Isolated(peak_of(call), until, compiling, meanwhile)


def until_native(call: Call) -> tuple[float | None, float | None, float | None]:
    """Return what `Isolated` says of compiling: of many calls, one after the other, until their kernels are there."""
    from fungrad.compile.background import BACKGROUND
    from fungrad.compile.budget import BUDGET
    from fungrad.compile.tiers import CALLS, Tier

    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    tiers = [x for x in gc.get_objects() if isinstance(x, Tier)]
    took, alone, beside = 0.0, list[float](), list[float]()
    while not any(tier.native is not None for tier in tiers):
        if took > LONGEST or not (BACKGROUND.busy or any(tier.make for tier in tiers)):
            return None, BUDGET.spent or None, None
        busy, before = BACKGROUND.busy, time.perf_counter()
        call()
        (beside if busy else alone).append(time.perf_counter() - before)
        took = time.perf_counter() - start
    BACKGROUND.wait()
    slower = statistics.mean(beside) / statistics.median(alone) if alone and beside else None
    return took, BUDGET.spent, slower


def peak_of(call: Call) -> int | None:
    """Return how many bytes of memory a call takes over what there is before it."""
    if not CLEAR.exists():
        return None
    from fungrad.compile.targets import recycling

    gc.collect()
    recycling.give_back()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
    CLEAR.write_text("5")
    base = _status("VmRSS")
    answer = call()
    peak = _status("VmHWM") - base
    del answer
    return max(peak, 0)


def _status(name: str) -> int:
    """Return a number of bytes that Linux tells of this process."""
    line = next(x for x in STATUS.read_text().splitlines() if x.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def main() -> int:
    """Print what a contender of a workload takes."""
    from benchmarks.runner import limited_blas
    from benchmarks.workloads import all_workloads

    name, contender = sys.argv[1:]
    workload = next(w for w in all_workloads() if w.name == name)
    with limited_blas(workload.blas_threads):
        try:
            call = workload.contenders[contender](Setting())
        except LeftOut as reason:
            sys.exit(str(reason))
        print(json.dumps(vars(measured_here(call))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
