"""The workloads. A module here is found by itself: it only has to define `WORKLOADS`."""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks.workload import Workload


def all_workloads() -> list[Workload]:
    """Return the workloads of every module in this folder, in the order of the modules' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return [workload for module in modules for workload in module.WORKLOADS]
