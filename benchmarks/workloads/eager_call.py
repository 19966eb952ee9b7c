"""What a function of `fungrad.numpy` costs on plain arrays, with no transform around it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Call, Setting, Target, Workload

X = np.linspace(0.1, 1.0, 10)
CALLS = 1000


def seconds_per_call(function: Callable[[Any], Any], x: Any) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        function(x)
    return (time.perf_counter() - start) / CALLS


def fungrad(setting: Setting) -> Call:
    import fungrad.numpy as fnp

    x = setting.asarray(X)
    return lambda: seconds_per_call(fnp.sin, x)


def numpy(setting: Setting) -> Call:
    x = setting.asarray(X)
    return lambda: seconds_per_call(setting.xp.sin, x)


def difference(setting: Setting) -> Call:
    import fungrad.numpy as fnp

    x = setting.asarray(X)
    return lambda: seconds_per_call(fnp.sin, x) - seconds_per_call(setting.xp.sin, x)


def autograd(setting: Setting) -> Call:
    ag = peers.load_autograd(setting)
    return lambda: seconds_per_call(ag.numpy.sin, X)


def jax_own_arrays(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    x = jax.numpy.asarray(X)
    return lambda: seconds_per_call(jax.numpy.sin, x)


WORKLOADS = [
    Workload(
        name="eager_call",
        measures="sin of 10 elements outside of any transform",
        contenders={
            "fungrad": fungrad,
            "numpy": numpy,
            "fungrad less numpy": difference,
            "autograd": autograd,
            "jax, own arrays": jax_own_arrays,
        },
        targets=(Target("fungrad less numpy", 0.3e-6),),
        self_timed=True,
    )
]
