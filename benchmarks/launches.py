"""Counts of launches of the native rows on a GPU: `python -m benchmarks.launches`, without one.

Launches and other steps are those of the program itself: a loop that is left in it is one step, however many rounds it has.
"""

from __future__ import annotations

from typing import Any

import fungrad
import fungrad.numpy as fnp
from benchmarks.native import arrays, elementwise, learning, science
from benchmarks.workloads.native import program
from fungrad import lax

MODULES = (elementwise, learning, science, arrays)


def counts(row: Any) -> tuple[int, int, int | str, int, int]:
    """Return launches, other steps and nodes of a row, and bytes of its arena and of its small results."""
    function = fungrad.jit(program(row, fungrad, fnp, lax))
    launches = function.lower(*row.args()).launches
    others = sum(isinstance(x, str) for x in launches.entries)
    plan = launches.plan
    nodes = "no graph" if launches.nodes is None else launches.nodes
    return len(launches.entries) - others, others, nodes, plan.arena, plan.results


def main() -> None:
    """Print the table."""
    print("| row | launches | other steps | nodes | arena, bytes | small results, bytes |")
    print("| --- | --- | --- | --- | --- | --- |")
    for module in MODULES:
        for row in module.ROWS:
            print(f"| {row.name} | {' | '.join(map(str, counts(row)))} |", flush=True)


if __name__ == "__main__":
    main()
