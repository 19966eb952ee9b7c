"""The cost of `grad` per operation: a chain of 200 on ten numbers, no `jit`.

The first call is shown apart: every later one finds the differentiated program in a cache.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Call, Setting, Target, Workload

X = np.linspace(0.1, 1.0, 10)
ROUNDS = 50  # of four operations each


def chain(xp: ModuleType, x: Any) -> Any:
    y = x
    for _ in range(ROUNDS):
        y = xp.sin(y)
        y = y * x
        y = y + x
        y = y * 0.9
    return xp.sum(y)


def gradient_by_hand(xp: ModuleType, x: Any) -> Any:
    y, trail = x, []
    for _ in range(ROUNDS):
        sine = xp.sin(y)
        trail.append((y, sine))
        y = (sine * x + x) * 0.9
    into_y, into_x = xp.ones_like(x), xp.zeros_like(x)
    for y, sine in reversed(trail):
        into_y = into_y * 0.9
        into_x = into_x + into_y * sine + into_y
        into_y = into_y * x * xp.cos(y)
    return into_x + into_y


def fungrad(setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp

    return setting.call(fg.grad(lambda x: chain(fnp, x)), setting.asarray(X))


def fungrad_jit(setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp

    return setting.call(fg.jit(fg.grad(lambda x: chain(fnp, x))), setting.asarray(X))


def by_hand(setting: Setting) -> Call:
    return setting.call(gradient_by_hand, setting.xp, setting.asarray(X))


def autograd(setting: Setting) -> Call:
    ag = peers.load_autograd(setting)
    return setting.call(ag.grad(lambda x: chain(ag.numpy, x)), X)


def jax(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    return peers.jax_call(jax, jax.grad(lambda x: chain(jax.numpy, x)), X)


def jax_own_arrays(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    return peers.jax_call(jax, jax.grad(lambda x: chain(jax.numpy, x)), jax.numpy.asarray(X))


def jax_jit(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    compiled = jax.jit(jax.grad(lambda x: chain(jax.numpy, x)))
    return peers.jax_call(jax, compiled, jax.numpy.asarray(X))


WORKLOADS = [
    Workload(
        name="grad_chain",
        measures="gradient of a chain of 200 operations on 10 elements, from the second call on",
        contenders={
            "fungrad": fungrad,
            "fungrad, jit": fungrad_jit,
            "by hand": by_hand,
            "autograd": autograd,
            "jax": jax,
            "jax, own arrays": jax_own_arrays,
            "jax, jit, own arrays": jax_jit,
        },
        targets=(Target("fungrad", 1 / 2, of="autograd"),),
    )
]
