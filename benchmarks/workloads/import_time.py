"""What `import` costs a program that has imported NumPy already, each time in a new process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.workload import Call, LeftOut, Setting, Target, Workload

ROOT = Path(__file__).parents[2]

SCRIPT = """
import time
{before}
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def seconds_to_import(module: str, before: str, compiled: bool = True) -> float:
    """Start a Python that runs `before`, and return how long its import of `module` took; if it is not `compiled`, by Python's compiler, too."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compile once, as installed packages do
    if not compiled:
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": os.devnull}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(ROOT), environment.get("PYTHONPATH")])
    )
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(module=module, before=before)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return float(answer.stdout)


def import_of(
    module: str, before: str = "import numpy", compiled: bool = True
) -> Callable[[Setting], Call]:
    """Return the contender that imports `module` after `before`."""

    def factory(setting: Setting) -> Call:
        if importlib.util.find_spec(module) is None:
            raise LeftOut(f"{module} is not installed")
        return lambda: seconds_to_import(module, before, compiled)

    return factory


WORKLOADS = [
    Workload(
        name="import_time",
        measures="import in a new process, after `import numpy`",
        contenders={
            "fungrad": import_of("fungrad"),
            "fungrad.numpy": import_of("fungrad.numpy"),
            "fungrad, without bytecode": import_of("fungrad", compiled=False),
            "autograd": import_of("autograd"),
            "jax": import_of("jax"),
            "numpy itself": import_of("numpy", before=""),
        },
        targets=(Target("fungrad", 0.060),),
        self_timed=True,
    )
]
