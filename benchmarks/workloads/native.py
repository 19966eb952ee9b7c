"""Jitted programs beside jitted JAX: the same text for both, and for NumPy and autograd where they can run it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import optree

from benchmarks import peers
from benchmarks.native import Row, arrays, elementwise, learning, plain, science, value
from benchmarks.runner import JITTED, JITTED_JAX
from benchmarks.workload import Call, LeftOut, Setting, Workload


def program(row: Row, library: Any, np: ModuleType, lax: Any) -> Callable[..., Any]:
    """Return the transformed program, under one library."""
    return row.transform(library)(lambda *args: row.f(np, lax, *args))


def fungrad(row: Row, setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp
    from fungrad import lax

    # Imported when they are first named; JAX imports all of its own at once.
    for module in (fg, fnp, lax):
        for name in module.__all__:
            getattr(module, name)
    args = optree.tree_map(setting.asarray, row.args())
    return setting.call(fg.jit(program(row, fg, fnp, lax)), *args)


def jax(row: Row, setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    args = optree.tree_map(jax.numpy.asarray, row.args())
    return peers.jax_call(jax, jax.jit(program(row, jax, jax.numpy, jax.lax)), *args)


def by_hand(row: Row, setting: Setting) -> Call:
    f = row.by_hand
    if f is not None:
        setting.numpy_only("what is written by hand")
    else:
        if row.transform is not value or not row.numpy:
            raise LeftOut("nobody has written it")
        package = "scipy" if setting.backend == "numpy" else "cupyx.scipy"
        special = importlib.import_module(f"{package}.special")
        f = program(row, None, setting.xp, plain.Lax(setting.xp, special))
    return setting.call(f, *optree.tree_map(setting.asarray, row.args()))


def autograd(row: Row, setting: Setting) -> Call:
    ag = peers.load_autograd(setting)
    if row.transform is value:
        raise LeftOut("there is no derivative")
    if not row.autograd:
        raise LeftOut("autograd cannot run it in single precision")
    from autograd.scipy import special

    return partial(program(row, ag, ag.numpy, plain.Lax(ag.numpy, special)), *row.args())


def workload(row: Row) -> Workload:
    """Return the comparison of one program."""
    contenders = {JITTED: fungrad, JITTED_JAX: jax, "by hand": by_hand, "autograd": autograd}
    return Workload(
        name=f"native_{row.name}",
        measures=row.measures,
        contenders={name: partial(make, row) for name, make in contenders.items()},
        rtol=row.rtol,
        blas_threads=row.blas_threads,
        rounds=21,
        rest=0.05 if row.blas_threads is None else 0.0,
    )


ROWS = [row for module in (elementwise, learning, science, arrays) for row in module.ROWS]
WORKLOADS = [workload(row) for row in ROWS]
