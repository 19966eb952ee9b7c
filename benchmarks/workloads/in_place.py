"""Gradients of programs that assign to an array element by element, as NumPy users write them.

JAX runs the same with ``out = out.at[i].set(v)`` and, where the loops are nested, `fori_loop`; autograd refuses assignment.
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


N, SWEEPS = 100, 2
GRID = np.sin(np.arange(float(N * N))).reshape(N, N)


def swept(a: Any) -> Any:
    a = a.copy()
    for _ in range(SWEEPS):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
    return np.sum(a * a)


def gradient_of_sweeps_by_hand(np: Any, a: Any) -> Any:
    a = a.copy()
    for _ in range(SWEEPS):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
    into = 2 * a
    for _ in range(SWEEPS):
        for i in range(N - 2, 0, -1):
            for j in range(N - 2, 0, -1):
                g, into[i, j] = into[i, j] / 4, 0.0
                into[i - 1, j] += g
                into[i + 1, j] += g
                into[i, j - 1] += g
                into[i, j + 1] += g
    return into


def fungrad_sweeps(setting: Setting) -> Call:
    import fungrad as fg

    return setting.call(fg.grad(swept), setting.asarray(GRID))


def fungrad_sweeps_jit(setting: Setting) -> Call:
    import fungrad as fg

    return setting.call(fg.jit(fg.grad(swept)), setting.asarray(GRID))


def sweeps_by_hand(setting: Setting) -> Call:
    return setting.call(gradient_of_sweeps_by_hand, setting.xp, setting.asarray(GRID))


def jax_sweeps_jit(setting: Setting) -> Call:
    jax = peers.load_jax(setting)

    def column(j: Any, state: Any) -> Any:
        a, i = state
        mean = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
        return a.at[i, j].set(mean), i

    def row(i: Any, a: Any) -> Any:
        return jax.lax.fori_loop(1, N - 1, column, (a, i))[0]

    def loss(a: Any) -> Any:
        a = jax.lax.fori_loop(0, SWEEPS, lambda _, a: jax.lax.fori_loop(1, N - 1, row, a), a)
        return jax.numpy.sum(a * a)

    return peers.jax_call(jax, jax.jit(jax.grad(loss)), jax.numpy.asarray(GRID))


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
    ),
    Workload(
        name="gauss_seidel",
        measures=f"gradient of {SWEEPS} sweeps over the elements of a grid of {N} by {N}, each set in place",
        contenders={
            "fungrad": fungrad_sweeps,
            "fungrad, jit": fungrad_sweeps_jit,
            "by hand": sweeps_by_hand,
            "jax, jit, own arrays": jax_sweeps_jit,
        },
        targets=(
            Target("fungrad, jit", 0.1, of="by hand"),
            Target("fungrad, jit", 0.1, of="jax, jit, own arrays"),
        ),
    ),
]
