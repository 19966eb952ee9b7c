"""Processor time of compiling, by the length of a program: each stage, in a process of its own, nothing kept on disk.

    python -m benchmarks.compiling [lengths...]

The program is the gradient of a chain of `sin(x) * 1.01` on ten numbers. Below the table stands the time of a million additions in
Python, by which loads and machines can be compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LENGTHS = (2, 20, 200, 2_000)
"""Rounds of the chain; its gradient has some six equations for each."""
STAGES = ("tracing", "NumPy source", "grouping", "assembly", "LLVM")


def stages(rounds: int) -> dict[str, float]:
    """Return the number of equations of a program, and the seconds of a processor of each stage."""
    import numpy as np

    import fungrad as fg
    from fungrad.compile.lower import Program
    from fungrad.compile.native import schedule_with_kernels
    from fungrad.compile.targets import host, host_kernels

    @fg.as_written  # else it would be a loop of the program
    def chain(x: Any) -> Any:
        for _ in range(rounds):
            x = np.sin(x) * 1.01
        return np.sum(x)

    def taken(stage: str, compute: Callable[[], Any]) -> Any:
        before = time.process_time()
        result = compute()
        found[stage] = time.process_time() - before
        return result

    found: dict[str, float] = {}
    x = np.linspace(0, 1, 10)
    program = lambda f: Program(fg.jit(fg.grad(f)).lower(x).expr, at_once=True)
    short = program(lambda x: np.sum(np.sin(x) * 1.01))
    short.compile_kernels()  # with imports, and what is made once a process
    whole = taken(STAGES[0], lambda: program(chain))
    taken(STAGES[1], lambda: whole.compiled())
    _, fused = taken(STAGES[2], lambda: schedule_with_kernels(whole.expr))
    texts = taken(STAGES[3], lambda: [host_kernels.assembly(k.kernel)[0] for k in fused])
    taken(STAGES[4], lambda: [host.machine_code(text) for text in texts])
    return {"equations": len(whole.expr.equations), **found}


def in_a_process(rounds: int) -> dict[str, float]:
    """Return the stages of a program in a process of its own."""
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks.compiling", "--run", str(rounds)],
        env={**os.environ, "FUNGRAD_CACHE_DIR": "off"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main(arguments: list[str]) -> None:
    """Print the table."""
    if arguments[:1] == ["--run"]:
        print(json.dumps(stages(int(arguments[1]))))
        return
    print(f"| equations | {' | '.join(STAGES)} | all, for an equation |")
    print(f"|{' ---: |' * (len(STAGES) + 2)}")
    for rounds in map(int, arguments or LENGTHS):
        found = in_a_process(rounds)
        n = found.pop("equations")
        cells = [f"{1e3 * x:,.1f} ms" for x in found.values()]
        print(
            f"| {n:,.0f} | {' | '.join(cells)} | {1e6 * sum(found.values()) / n:,.0f} us |",
            flush=True,
        )
    start, total = time.process_time(), 0
    for i in range(1_000_000):
        total += i
    print(f"\nA million additions: {1e3 * (time.process_time() - start):.0f} ms")


if __name__ == "__main__":
    main(sys.argv[1:])
