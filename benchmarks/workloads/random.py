"""Random numbers of a key: a million of them, and the few of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Call, Setting, Target, Workload

MILLION = (1_000_000,)
Draw = Callable[[Any, Any], Any]
"""Takes a library's module of random numbers and a key."""


def uniform(random: Any, key: Any) -> Any:
    return random.uniform(key, MILLION, np.float32)


def normal(random: Any, key: Any) -> Any:
    return random.normal(key, MILLION, np.float32)


def normal_double(random: Any, key: Any) -> Any:
    return random.normal(key, MILLION, np.float64)


def gamma(random: Any, key: Any) -> Any:
    return random.gamma(key, 2.5, (100_000,), np.float64)


def step(random: Any, key: Any) -> Any:
    """Split a key and draw a few numbers, as a step of an algorithm does."""
    key, other = random.split(key)
    return random.normal(other, (10,), np.float64)


def fungrad_jit(draw: Draw) -> Callable[[Setting], Call]:
    def factory(setting: Setting) -> Call:
        setting.numpy_only("a typed key")
        import fungrad as fg
        from fungrad import random

        return setting.call(fg.jit(lambda key: draw(random, key)), random.key(0))

    return factory


def fungrad_plain(draw: Draw) -> Callable[[Setting], Call]:
    def factory(setting: Setting) -> Call:
        setting.numpy_only("a typed key")
        from fungrad import random

        return setting.call(draw, random, random.key(0))

    return factory


def jax_jit(draw: Draw) -> Callable[[Setting], Call]:
    def factory(setting: Setting) -> Call:
        jax = peers.load_jax(setting)
        function = jax.jit(lambda key: draw(jax.random, key))
        return peers.jax_call(jax, function, jax.random.key(0))

    return factory


def workload(
    name: str, measures: str, draw: Draw, rtol: float, targets: tuple[Target, ...] = ()
) -> Workload:
    contenders = {
        "fungrad, jit": fungrad_jit(draw),
        "fungrad": fungrad_plain(draw),
        "jax, jit, own arrays": jax_jit(draw),
    }
    return Workload(f"random_{name}", measures, contenders, targets, rtol)


FASTER = (Target("fungrad, jit", 1, of="jax, jit, own arrays"),)

WORKLOADS = [
    workload("uniform", "a million uniform numbers of float32", uniform, 0.0, FASTER),
    workload("normal", "a million normal numbers of float32", normal, 1e-6, FASTER),
    workload("normal_double", "a million normal numbers of float64", normal_double, 1e-13),
    workload("gamma", "100,000 numbers of the gamma distribution, of float64", gamma, 1e-9),
    workload("step", "a key split, and ten normal numbers of float64", step, 1e-9),
]
