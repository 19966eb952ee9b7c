"""Where the tasks of an example run: in this process, on two workers of Dask, or on two of Ray.

A task is a call of a function, transformed or not, with one argument. Both libraries pickle the function once for each worker, where
a jitted one is compiled once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Run = Callable[[Callable[[Any], Any], list[Any]], list[Any]]
"""Calls a function with each argument of a list, and returns the results."""


@contextmanager
def here() -> Iterator[Run]:
    """One after the other, in this process."""
    yield lambda f, arguments: [f(x) for x in arguments]


@contextmanager
def dask() -> Iterator[Run]:
    """On a cluster of Dask; a `Client` of another address runs them on many machines."""
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield lambda f, arguments: client.gather(client.map(f, arguments, pure=False))


@contextmanager
def ray() -> Iterator[Run]:
    """On Ray, of this machine alone; without the line about clusters ``init(address=...)`` runs them on many."""
    # Read when Ray is imported: without clusters of many machines it listens to this one alone.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

    def run(f: Callable[[Any], Any], arguments: list[Any]) -> list[Any]:
        task = ray.remote(lambda x: f(x))
        return ray.get([task.remote(x) for x in arguments])

    try:
        yield run
    finally:
        ray.shutdown()


WAYS = {"here": here, "dask": dask, "ray": ray}
