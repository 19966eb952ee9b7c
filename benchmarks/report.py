"""What is printed and what is kept: the table, the JSON, and where the numbers come from."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.isolated import Isolated
from benchmarks.runner import JITTED, JITTED_JAX, Result
from benchmarks.timing import Timing
from benchmarks.workload import Setting, Target

LIBRARIES = (
    *("fungrad", "numpy", "scipy", "optree", "llvmlite"),
    *("cupy", "cupy-cuda12x", "cupy-cuda13x"),
    *("jax", "jaxlib", "autograd", "scikit-learn"),
)
SLOWEST = 2.5
"""How many times longer a program may take beside a busy core."""
SOONER = 10
"""How many times sooner than JAX's a first call is to be."""
BY_HAND = "by hand"
MOST_MEMORY = 1.1
"""How many times JAX's memory a program may take."""


def table(result: Result) -> str:
    """Return the result as a Markdown table with its targets below it."""
    lines = [f"## {result.workload.name}: {result.workload.measures}", ""]
    if result.timings or result.isolated:
        lines += _table_lines(result)
    for name, reason in result.left_out.items():
        lines.append(f"- left out: {name} ({reason})")
    for target, measured, met in result.targets():
        said = describe(target, measured, result.workload.unit)
        lines.append(f"- {said}: {'met' if met else 'MISSED'}")
    return "\n".join(lines) + "\n"


def _table_lines(result: Result) -> list[str]:
    unit = result.workload.unit
    heads = ["contender"]
    rows = [[name] for name in dict.fromkeys([*result.timings, *result.isolated])]

    def column(head: str, cell: Callable[[str], str]) -> None:
        """Add a column, unless it is empty."""
        cells = [cell(row[0]) for row in rows]
        if any(cells):
            heads.append(head)
            for row, text in zip(rows, cells, strict=True):
                row.append(text)

    def timed(show: Callable[[Timing], str]) -> Callable[[str], str]:
        return lambda name: show(result.timings[name]) if name in result.timings else ""

    column("median", timed(lambda timing: quantity(timing.median, unit)))
    column("min", timed(lambda timing: quantity(timing.least, unit)))
    column("spread", timed(lambda timing: f"{timing.spread:.0%}"))
    if result.timings:
        ratio = f"/ {result.reference}"
        column(ratio, lambda name: times(result.ratio(name)) if name in result.timings else "")
    column("first call", timed(lambda t: "" if t.first is None else duration(t.first)))
    column("busy / quiet", lambda name: _if_any(result.slowdown(name), times))
    isolated = result.isolated
    column("peak memory", lambda name: _if_any(_isolated(isolated, name, "peak"), _bytes))
    column(
        "until native", lambda name: _if_any(_isolated(isolated, name, "until_native"), duration)
    )
    column("compiling", lambda name: _if_any(_isolated(isolated, name, "compiling"), duration))
    column("meanwhile", lambda name: _if_any(_isolated(isolated, name, "meanwhile"), times))
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = (
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join([first, *rest])} |"

    dashes = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return [line(heads), line(dashes), *map(line, rows), ""]


def _if_any(value: float | None, show: Callable[[float], str]) -> str:
    return "" if value is None else show(value)


def _bytes(value: float) -> str:
    return quantity(value, "bytes")


def _isolated(isolated: Mapping[str, Isolated], name: str, what: str) -> float | None:
    return getattr(isolated[name], what) if name in isolated else None


def ratios(
    results: Sequence[Result], of: str = "median", contender: str = JITTED
) -> dict[str, float]:
    """Return how many times longer jitted JAX takes than a contender, by workload."""
    return {
        result.workload.name: getattr(theirs, of) / getattr(ours, of)
        for result in results
        if (ours := result.timings.get(contender)) and (theirs := result.timings.get(JITTED_JAX))
    }


def summary(results: Sequence[Result], worst: int = 10) -> str:
    """Return how jitted programs compare with JAX's on the whole, and the `worst` of them."""
    found = ratios(results)
    if not found:
        return ""
    mean = statistics.geometric_mean(found.values())
    first = ratios(results, "first")
    faster = sum(ratio > 1 for ratio in found.values())
    ranking = sorted(found.items(), key=lambda item: item[1])[:worst]
    late = sorted((ratio, name) for name, ratio in first.items() if ratio < SOONER)
    by_hand = ratios(results, "first", BY_HAND)
    lines = [
        f"## {JITTED_JAX} / {JITTED}: {times(mean)} in the geometric mean of {len(found)} workloads",
        "",
        f"- fungrad is faster in {faster} of them",
        f"- the {len(ranking)} smallest:",
        *(f"  - {name}: {times(ratio)}" for name, ratio in ranking),
        f"- first calls: {times(statistics.geometric_mean(first.values()))}",
        f"- {len(late)} first calls are less than {SOONER} times sooner, as is NumPy's in the second column:",
        *(f"  - {name}: {times(x)}, {_if_any(by_hand.get(name), times)}" for x, name in late),
    ]
    return "\n".join(lines) + "\n"


def shared_machine(results: Sequence[Result]) -> str:
    """Return which programs lose most beside a busy core."""
    found = {r.workload.name: r.slowdown(JITTED) for r in results if r.busy}
    ranking = sorted(((x, name) for name, x in found.items() if x is not None), reverse=True)
    if not ranking:
        return ""
    late = sum(x > SLOWEST for x, _ in ranking)
    theirs = {r.workload.name: r.slowdown(JITTED_JAX) for r in results}
    lines = [
        f"## beside a busy core: {late} of {len(ranking)} take over {SLOWEST} times as long",
        "",
    ]
    for x, name in ranking[:10]:
        lines.append(f"- {name}: {times(x)} ({JITTED_JAX}: {_if_any(theirs[name], times)})")
    return "\n".join(lines) + "\n"


def memory(results: Sequence[Result]) -> str:
    """Return which programs take more memory than JAX's."""
    found = []
    for result in results:
        ours, theirs = (_isolated(result.isolated, name, "peak") for name in (JITTED, JITTED_JAX))
        if ours is not None and theirs is not None:
            found.append((ours / max(theirs, 1), ours, theirs, result.workload.name))
    if not found:
        return ""
    over = [x for x in sorted(found, reverse=True) if x[0] > MOST_MEMORY and x[1] - x[2] > 1e6]
    lines = [
        f"## peak memory: {len(over)} of {len(found)} over {MOST_MEMORY} times JAX's, by a megabyte or more",
        "",
    ]
    lines += [f"- {name}: {_bytes(ours)}, JAX {_bytes(theirs)}" for _, ours, theirs, name in over]
    return "\n".join(lines) + "\n"


def duration(seconds: float) -> str:
    """Return a time with three digits and a unit a person can read."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 999.5 * size else f"{seconds:.0f} s"
    return f"{seconds * 1e9:.0f} ns"


def quantity(value: float, unit: str) -> str:
    """Return what was measured with a unit: a time, a size, a number of things."""
    if unit == "seconds":
        return duration(value)
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if unit == "bytes" and value >= size:
            return f"{value / size:.3g} {prefix}B"
    return f"{value:.0f} {unit}"


def times(ratio: float) -> str:
    """Return a ratio with two digits or more after the point where it needs them."""
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def describe(target: Target, measured: float, unit: str = "seconds") -> str:
    """Return what was promised and what was measured, as a sentence."""
    if target.of is None:
        limit, found = (quantity(value, unit) for value in (target.limit, measured))
        return f"{target.contender} takes at most {limit}: {found}"
    if target.limit > 1:
        promise = f"{target.contender} takes at most {target.limit:g} times what {target.of} takes"
        return f"{promise}: {times(measured)} times"
    better = "faster" if unit == "seconds" else "smaller"
    by = f"{better} than" if target.limit == 1 else f"at least {1 / target.limit:g}x {better} than"
    return f"{target.contender} is {by} {target.of}: {times(1 / measured)}x"


def as_json(results: Sequence[Result], setting: Setting, quick: bool) -> dict[str, Any]:
    """Return everything measured, with the machine it was measured on, for `json.dump`."""
    return {
        "environment": environment(setting),
        "backend": setting.backend,
        "quick": quick,
        "workloads": [_workload_as_json(result) for result in results],
    }


def _workload_as_json(result: Result) -> dict[str, Any]:
    return {
        "name": result.workload.name,
        "measures": result.workload.measures,
        "blas_threads": result.workload.blas_threads,
        result.workload.unit: {
            name: {
                "median": timing.median,
                "min": timing.least,
                "spread": timing.spread,
                "ratio": result.ratio(name),
                "first_call": timing.first,
                "loops": timing.loops,
                "rounds": len(timing.samples),
            }
            for name, timing in result.timings.items()
        },
        "busy": {name: timing.median for name, timing in result.busy.items()},
        "isolated": {name: vars(found) for name, found in result.isolated.items()},
        "left_out": result.left_out,
        "targets": [
            {
                "contender": target.contender,
                "of": target.of,
                "limit": target.limit,
                "measured": measured,
                "met": met,
            }
            for target, measured, met in result.targets()
        ],
    }


def environment(setting: Setting) -> dict[str, Any]:
    """Describe the machine and the software, with nothing in it that names the machine."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_model(),
        "cores": available_cores(),
        "device": device_name(setting),
        "threads": {
            name: os.environ[name]
            for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
            if name in os.environ
        },
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return the version of each library that is installed."""
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """Return the commit that is measured, with `-dirty` where the tree has been changed since."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, cwd=Path(__file__).parent, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip() or None


def cpu_model() -> str:
    """Return the name of the processor."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def available_cores() -> int | None:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def device_name(setting: Setting) -> str:
    """Return the name of the device that the arrays live on."""
    if setting.backend == "numpy":
        return cpu_model()
    properties = setting.xp.cuda.runtime.getDeviceProperties(0)
    return str(properties["name"].decode())
