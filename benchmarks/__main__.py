"""The command: `python -m benchmarks [names...] [--quick] [--json PATH] [--chart PATH] [--memory] [--busy] [--backend cupy]`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from benchmarks import chart, report
from benchmarks.runner import Result, WrongAnswer, run, run_isolated
from benchmarks.timing import QUICK, Effort
from benchmarks.workload import Setting, Workload
from benchmarks.workloads import all_workloads


def main(argv: Sequence[str] | None = None) -> int:
    """Run the workloads asked for; return 1 if one failed or any answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="workloads, or how their names begin (all)")
    parser.add_argument("--quick", action="store_true", help="see that all runs; do not quote it")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the result here")
    parser.add_argument("--chart", type=Path, metavar="PATH", help="also draw the summary here")
    parser.add_argument("--list", action="store_true", help="say what there is and stop")
    parser.add_argument("--memory", action="store_true", help="peaks of memory, time until native")
    parser.add_argument("--no-times", action="store_true", help="with --memory: nothing but that")
    parser.add_argument("--busy", action="store_true", help="fungrad and JAX beside a busy core")
    parser.add_argument("--backend", choices=("numpy", "cupy"), default="numpy")
    options = parser.parse_args(argv)
    if options.chart is not None and importlib.util.find_spec("matplotlib") is None:
        parser.error("--chart needs matplotlib")
    if options.no_times and (options.busy or not options.memory):
        parser.error("--no-times needs --memory, and leaves nothing of --busy")

    workloads = choose(all_workloads(), options.names)
    if options.list:
        width = max(len(workload.name) for workload in workloads)
        for workload in workloads:
            print(f"{workload.name:{width}}  {workload.measures}")
        return 0

    os.environ["FUNGRAD_CACHE_DIR"] = "off"  # kernels are made as for the first time
    setting = Setting(options.backend)
    effort = QUICK if options.quick else Effort()
    results, failed = [], False
    for workload in workloads:
        try:
            measured = not options.no_times
            result = run(workload, setting, effort, options.busy) if measured else Result(workload)
            if options.memory and options.backend == "numpy":
                run_isolated(workload, result)
        except WrongAnswer as error:
            failed = True
            print(f"WRONG ANSWER in {error}\n", flush=True)
        except Exception:
            failed = True  # the others are still worth measuring
            print(f"## {workload.name}: FAILED\n\n{traceback.format_exc()}", flush=True)
        else:
            results.append(result)
            print(report.table(result), flush=True)
    for text in (report.summary(results), report.shared_machine(results), report.memory(results)):
        if text:
            print(text)
    if options.json is not None:
        found = report.as_json(results, setting, options.quick)
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.chart is not None and (ratios := report.ratios(results)):
        chart.draw(ratios, options.chart)
    return int(failed)


def choose(workloads: Sequence[Workload], names: Sequence[str]) -> list[Workload]:
    """Return the workloads whose name begins with one of `names`, or all of them."""
    for name in names:
        if not any(workload.name.startswith(name) for workload in workloads):
            known = ", ".join(workload.name for workload in workloads)
            sys.exit(f"no workload is called {name!r}; there are: {known}")
    if not names:
        return list(workloads)
    return [w for w in workloads if any(w.name.startswith(name) for name in names)]


if __name__ == "__main__":
    sys.exit(main())
