"""The overhead of `grad` alone: ten numbers, two operations, no `jit`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Call, Setting, Target, Workload

X = np.linspace(0.1, 1.0, 10)


def f(xp: ModuleType, x: Any) -> Any:
    return xp.sum(xp.sin(x) * x)


def fungrad(setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp

    return setting.call(fg.grad(lambda x: f(fnp, x)), setting.asarray(X))


def fungrad_jit(setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp

    return setting.call(fg.jit(fg.grad(lambda x: f(fnp, x))), setting.asarray(X))


def by_hand(setting: Setting) -> Call:
    xp = setting.xp
    return setting.call(lambda x: xp.cos(x) * x + xp.sin(x), setting.asarray(X))


def autograd(setting: Setting) -> Call:
    ag = peers.load_autograd(setting)
    return setting.call(ag.grad(lambda x: f(ag.numpy, x)), X)


def jax(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    return peers.jax_call(jax, jax.grad(lambda x: f(jax.numpy, x)), X)


def jax_own_arrays(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    return peers.jax_call(jax, jax.grad(lambda x: f(jax.numpy, x)), jax.numpy.asarray(X))


def jax_jit(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    return peers.jax_call(jax, jax.jit(jax.grad(lambda x: f(jax.numpy, x))), X)


def jax_jit_own_arrays(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    compiled = jax.jit(jax.grad(lambda x: f(jax.numpy, x)))
    return peers.jax_call(jax, compiled, jax.numpy.asarray(X))


WORKLOADS = [
    Workload(
        name="grad_small",
        measures="gradient of sum(sin(x) * x) on 10 elements",
        contenders={
            "fungrad": fungrad,
            "fungrad, jit": fungrad_jit,
            "by hand": by_hand,
            "autograd": autograd,
            "jax": jax,
            "jax, own arrays": jax_own_arrays,
            "jax, jit": jax_jit,
            "jax, jit, own arrays": jax_jit_own_arrays,
        },
        targets=(
            Target("fungrad", 1 / 2, of="autograd"),
            Target("fungrad", 1 / 30, of="jax"),
            Target("fungrad", 1 / 30, of="jax, own arrays"),
        ),
    )
]
