"""Loops inside `jit`: a recurrence and its gradient, and a loop under `vmap` with lanes that end apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Call, Setting, Target, Workload

STEPS, UNITS = 1000, 10
RNG = np.random.default_rng(0)
W = RNG.normal(size=(UNITS, UNITS)) / 4
XS = RNG.normal(size=(STEPS, UNITS))
C = np.linspace(-2.0, 0.5, 60) + 1j * np.linspace(-1.1, 1.1, 60)[:, None]


def recurrence(np: Any, lax: Any, w: Any, xs: Any) -> Any:
    """An Elman network: the state goes through tanh at each step."""
    start = np.zeros(UNITS)
    last, states = lax.scan(lambda c, x: (np.tanh(w @ c + x), c), start, xs)
    return np.sum(last) + np.mean(states**2)


def by_hand(w: Any, xs: Any) -> Any:
    c = np.zeros(UNITS)
    states = np.empty((len(xs), UNITS))
    for i, x in enumerate(xs):
        states[i] = c
        c = np.tanh(w @ c + x)
    return c.sum() + np.mean(states**2)


def gradient_by_hand(w: Any, xs: Any) -> Any:
    states = np.empty((len(xs) + 1, UNITS))
    states[0] = 0
    for i, x in enumerate(xs):
        states[i + 1] = np.tanh(w @ states[i] + x)
    slopes = 1 - states[1:] ** 2
    terms = states[:-1] * (2 / (len(xs) * UNITS))
    cts = np.empty((len(xs), UNITS))
    ct = np.ones(UNITS)
    for i in range(len(xs) - 1, -1, -1):
        cts[i] = ct * slopes[i]
        ct = cts[i] @ w + terms[i]
    return cts.T @ states[:-1]


def escape(lax: Any, c: Any) -> Any:
    """Count the steps until z -> z * z + c leaves a disc."""
    return lax.while_loop(
        lambda s: (abs(s[0]) < 2) & (s[1] < 50), lambda s: (s[0] * s[0] + c, s[1] + 1), (c * 0, 0)
    )[1]


def escape_by_hand(c: Any) -> Any:
    z, count = np.zeros_like(c), np.zeros(c.shape, int)
    while (running := (abs(z) < 2) & (count < 50)).any():
        z = np.where(running, z * z + c, z)
        count += running
    return count


def jitted(setting: Setting, transform: Any) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp
    from fungrad import lax

    compiled = fg.jit(transform(fg)(lambda w, xs: recurrence(fnp, lax, w, xs)))
    return setting.call(compiled, setting.asarray(W), setting.asarray(XS))


def in_jax(setting: Setting, transform: Any) -> Call:
    jax = peers.load_jax(setting)
    compiled = jax.jit(transform(jax)(lambda w, xs: recurrence(jax.numpy, jax.lax, w, xs)))
    return peers.jax_call(jax, compiled, jax.numpy.asarray(W), jax.numpy.asarray(XS))


def loop_alone(setting: Setting) -> Call:
    """Run the recurrence without its gradient; answer with that, so that the answers agree."""
    run = jitted(setting, value)
    answer = jitted(setting, gradient)()

    def call() -> Any:
        run()
        return answer

    return call


def mandelbrot(setting: Setting) -> Call:
    import fungrad as fg
    from fungrad import lax

    f = fg.jit(fg.vmap(fg.vmap(lambda c: escape(lax, c))))
    return setting.call(f, setting.asarray(C))


def mandelbrot_in_jax(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    f = jax.jit(jax.vmap(jax.vmap(lambda c: escape(jax.lax, c))))
    return peers.jax_call(jax, f, jax.numpy.asarray(C))


def value(library: Any) -> Any:
    return lambda f: f


def gradient(library: Any) -> Any:
    return library.grad


WORKLOADS = [
    Workload(
        name="scan",
        measures=f"a recurrence of {STEPS} steps on {UNITS} numbers",
        contenders={
            "fungrad, jit": lambda setting: jitted(setting, value),
            "by hand": lambda setting: setting.call(by_hand, W, XS),
            "jax, jit, own arrays": lambda setting: in_jax(setting, value),
        },
        targets=(Target("fungrad, jit", 2, of="by hand"),),
    ),
    Workload(
        name="scan_gradient",
        measures="its gradient",
        contenders={
            "fungrad, jit": lambda setting: jitted(setting, gradient),
            "the loop itself": loop_alone,
            "by hand": lambda setting: setting.call(gradient_by_hand, W, XS),
            "jax, jit, own arrays": lambda setting: in_jax(setting, gradient),
        },
        targets=(
            Target("fungrad, jit", 3, of="the loop itself"),
            Target("fungrad, jit", 2, of="by hand"),
        ),
    ),
    Workload(
        name="while_vmap",
        measures="60 x 60 points of the Mandelbrot set by a while_loop under vmap",
        contenders={
            "fungrad, jit": mandelbrot,
            "by hand": lambda setting: setting.call(escape_by_hand, C),
            "jax, jit, own arrays": mandelbrot_in_jax,
        },
        targets=(Target("fungrad, jit", 3, of="by hand"),),
    ),
]
