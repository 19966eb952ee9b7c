"""What a call of a jitted function costs before any real work: `sin(x) * 2` on next to nothing."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Call, Setting, Target, Workload


def f(xp: ModuleType, x: Any) -> Any:
    return xp.sin(x) * 2


def dispatch_of(name: str, measures: str, x: Any, targets: tuple[Target, ...] = ()) -> Workload:
    """Return the workload that calls the jitted `f` on `x`."""

    def fungrad(setting: Setting) -> Call:
        import fungrad as fg
        import fungrad.numpy as fnp

        return setting.call(fg.jit(lambda x: f(fnp, x)), setting.asarray(x))

    def by_hand(setting: Setting) -> Call:
        return setting.call(f, setting.xp, setting.asarray(x))

    def jax(setting: Setting) -> Call:
        jax = peers.load_jax(setting)
        return peers.jax_call(jax, jax.jit(lambda x: f(jax.numpy, x)), x)

    def jax_own_arrays(setting: Setting) -> Call:
        jax = peers.load_jax(setting)
        return peers.jax_call(jax, jax.jit(lambda x: f(jax.numpy, x)), jax.numpy.asarray(x))

    def jax_no_wait(setting: Setting) -> Call:
        jax = peers.load_jax(setting)
        compiled, own = jax.jit(lambda x: f(jax.numpy, x)), jax.numpy.asarray(x)
        return lambda: compiled(own)

    return Workload(
        name=name,
        measures=measures,
        contenders={
            "fungrad": fungrad,
            "by hand": by_hand,
            "jax": jax,
            "jax, own arrays": jax_own_arrays,
            "jax, own arrays, not waited for": jax_no_wait,
        },
        targets=targets,
    )


WORKLOADS = [
    dispatch_of(
        "jit_dispatch_10",
        "a call of jit(sin(x) * 2) on 10 elements",
        np.linspace(0.1, 1.0, 10),
        targets=(
            Target("fungrad", 5e-6),
            Target("fungrad", 1, of="jax"),
            Target("fungrad", 1, of="jax, own arrays"),
        ),
    ),
    dispatch_of(
        "jit_dispatch_scalar",
        "a call of jit(sin(x) * 2) on a NumPy scalar",
        np.float64(0.5),
    ),
]
