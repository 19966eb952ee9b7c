"""The gradient of a program that fills an array element by element, as NumPy users write it.

JAX runs the same with ``out = out.at[i].set(v)``; autograd refuses assignment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Call, Setting, Target, Workload

X = np.linspace(0.1, 1.0, 1000)
STEPS = 200


def filled(np: Any, x: Any) -> Any:
    out = np.zeros_like(x)
    for i in range(1, STEPS):
        out[i] = x[i] * x[i - 1] + 0.5 * out[i - 1]
    return np.sum(out)


def filled_functionally(np: Any, x: Any) -> Any:
    out = np.zeros_like(x)
    for i in range(1, STEPS):
        out = out.at[i].set(x[i] * x[i - 1] + 0.5 * out[i - 1])
    return np.sum(out)


def gradient_by_hand(np: Any, x: Any) -> Any:
    into_out = np.ones_like(x)
    into_x = np.zeros_like(x)
    for i in range(STEPS - 1, 0, -1):
        g = into_out[i]
        into_out[i - 1] += 0.5 * g
        into_x[i] += g * x[i - 1]
        into_x[i - 1] += g * x[i]
    return into_x


def fungrad(setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp

    return setting.call(fg.grad(lambda x: filled(fnp, x)), setting.asarray(X))


def fungrad_jit(setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp

    return setting.call(fg.jit(fg.grad(lambda x: filled(fnp, x))), setting.asarray(X))


def by_hand(setting: Setting) -> Call:
    return setting.call(gradient_by_hand, setting.xp, setting.asarray(X))


def jax_jit(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    compiled = jax.jit(jax.grad(lambda x: filled_functionally(jax.numpy, x)))
    return peers.jax_call(jax, compiled, jax.numpy.asarray(X))


WORKLOADS = [
    Workload(
        name="in_place",
        measures=f"gradient of a loop that sets {STEPS} of 1000 elements one by one",
        contenders={
            "fungrad": fungrad,
            "fungrad, jit": fungrad_jit,
            "by hand": by_hand,
            "jax, jit, own arrays": jax_jit,
        },
        targets=(Target("fungrad, jit", 10, of="by hand"),),
    )
]
