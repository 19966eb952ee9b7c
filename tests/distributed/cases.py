"""Functions of parts, one for each collective, under each transform; what any number of processes must agree on.

`python -m tests.distributed.cases FILE` computes all and writes what the first process has; `cases FILE rows` the group `rows` alone. With
`cupy`, it does so on arrays of the stand-in for CuPy, which a stand-in for NCCL sends from one to another.
"""

import hashlib
import itertools
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import distributed, lax
from fungrad.sharding import Mesh, PartitionSpec, make_mesh, shard_map
from tests.backends import nccl_on_host
from tests.backends.fake_cupy import make_stand_in
from tests.distributed.training import WAYS

P = PartitionSpec


def _shift(axis):
    n = lax.axis_size(axis)
    return [(i, i + 1) for i in range(n - 1)]


def _rotated(axis):
    n = lax.axis_size(axis)
    return [(i + 1) % n for i in range(n)]


def _blocks(x, axis):
    return fnp.stack([x * (k + 1) for k in range(lax.axis_size(axis))])


Case = Callable[..., Any]
ALONE: dict[str, Case] = {
    "psum": lambda x, a: x * lax.psum(x * x, a),
    "psum_numbers": lambda x, a: x * lax.psum(2.5, a) + lax.psum(np.arange(3.0), a),
    "pmean": lambda x, a: x - lax.pmean(x, a),
    "pmax": lambda x, a: x * lax.pmax(x, a),
    "pmin": lambda x, a: fnp.sin(x) * lax.pmin(x, a),
    "all_gather": lambda x, a: x * fnp.sum(fnp.cos(lax.all_gather(x, a)), 0),
    "all_gather_tiled": lambda x, a: x * fnp.sum(lax.all_gather(x, a, axis=1, tiled=True) ** 2),
    "psum_scatter": lambda x, a: x * lax.psum_scatter(_blocks(fnp.sin(x), a), a),
    "psum_scatter_tiled": lambda x, a: (
        x * fnp.sum(lax.psum_scatter(fnp.concatenate([*_blocks(x * x, a)]), a, tiled=True), 0)
    ),
    "all_to_all": lambda x, a: x * fnp.sum(lax.all_to_all(_blocks(x * x, a), a, 0, 0), 0),
    "pswapaxes": lambda x, a: x + fnp.sum(lax.pswapaxes(_blocks(fnp.exp(x), a), a, 0), 0),
    "ppermute": lambda x, a: x * lax.ppermute(fnp.cos(x), a, _shift(a)),
    "pshuffle": lambda x, a: x * lax.pshuffle(fnp.tanh(x), a, _rotated(a)),
    "pbroadcast": lambda x, a: x * lax.pbroadcast(x, a, 1),
    "axis_index": lambda x, a: x * (1.0 + lax.axis_index(a)),
}
"""Each collective by itself, across axes `a`."""

COMPOSED: dict[str, Case] = {
    "scan": lambda x, a: lax.scan(
        lambda c, _: (c * 0.5 + lax.pmean(fnp.sin(c), a), c), x, None, length=3
    )[0],
    "fori_loop": lambda x, a: lax.fori_loop(0, 3, lambda i, c: c - 0.1 * lax.pmax(c * i, a), x),
    "while_loop": lambda x, a: lax.while_loop(
        lambda c: lax.psum(fnp.sum(c * c), a) > 2.0, lambda c: c * 0.5, x
    ),
    "cond": lambda x, a: lax.cond(
        lax.psum(fnp.sum(x), a) > 0.0, lambda c: lax.psum(c, a) * c, lambda c: lax.pmax(c, a) + c, x
    ),
    "checkpoint": lambda x, a: fg.checkpoint(lambda c: fnp.sin(c * lax.psum(fnp.sin(c), a)))(x),
    "jit_within": lambda x, a: fg.jit(lambda c: c * lax.psum(fnp.tanh(c), a))(x),
    "vmap_within": lambda x, a: fg.vmap(lambda c: c * lax.psum(fnp.sum(c) * c, a))(x),
    "grad_within": lambda x, a: fg.grad(lambda c: fnp.sum(fnp.sin(c) * lax.psum(c, a)))(x),
}


def _in_scan(f: Case) -> Case:
    step = lambda c, x, a: (0.5 * fnp.tanh(f(c, a)) + 0.1 * x, c)
    return lambda x, a: lax.scan(lambda c, x: step(c, x, a), x, fnp.stack([x, 2.0 * x]))[0]


def _in_cond(f: Case) -> Case:
    half = lambda c, a: f(0.5 * c, a) + c
    pick = lambda x, a: lax.psum(fnp.sum(x), a) > 0.0
    return lambda x, a: lax.cond(pick(x, a), lambda c: f(c, a), lambda c: half(c, a), x)


def _in_checkpoint(f: Case) -> Case:
    return lambda x, a: fg.checkpoint(lambda c: fnp.sin(f(fnp.cos(c), a)))(x)


WITHIN = {"scan": _in_scan, "cond": _in_cond, "checkpoint": _in_checkpoint}
NESTED = {
    f"{name} in {within}": put(f) for name, f in ALONE.items() for within, put in WITHIN.items()
}
COLLECTIVES = ALONE | COMPOSED | NESTED
NO_REVERSE = {"while_loop"}
"""Loops whose length is not known."""


def transforms(name: str, f: Callable[..., Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield what is computed of a function of whole arrays, by name."""
    loss = lambda x: fnp.sum(fnp.sin(f(x)))
    yield "value", f
    yield "jit", fg.jit(f)
    yield "jvp", lambda x: fg.jvp(f, (x,), (fnp.cos(x),))[1]
    yield "vmap", lambda x: fg.vmap(f)(fnp.stack([x, 0.5 * x]))
    if name not in NO_REVERSE:
        yield "grad", fg.grad(loss)
        yield "jit_grad", fg.jit(fg.grad(loss))
        yield "hvp", lambda x: fg.grad(lambda y: fnp.sum(fg.grad(loss)(y) * fnp.cos(y)))(x)
        yield "vmap_grad", lambda x: fg.vmap(fg.grad(loss))(fnp.stack([x, 0.5 * x]))


def meshes() -> dict[str, tuple[Mesh, Any, PartitionSpec]]:
    """Return meshes, the axis that collectives work across, and how an argument is divided."""
    flat, grid = make_mesh((4,), ("i",)), make_mesh((4, 2), ("i", "j"))
    return {
        "flat": (flat, "i", P("i")),
        "rows": (grid, "i", P("i", None)),
        "columns": (grid, "j", P(None, "j")),
        "both": (grid, ("i", "j"), P(("i", "j"))),
    }


ARGUMENT = np.random.default_rng(0).normal(size=(8, 6))
SINGLE = ("ppermute", "pshuffle")
"""Those that work across one axis alone."""
NESTED_ON = "rows"
"""The mesh of those within loops, branches and checkpoints."""


def names() -> list[tuple[str, str]]:
    """Return meshes and collectives that go together."""
    pairs = itertools.product(meshes(), ALONE | COMPOSED)
    plain = [(m, c) for m, c in pairs if not (m == "both" and c in SINGLE)]
    return plain + [(NESTED_ON, c) for c in NESTED]


TRAINING = "training"
GROUPS = (*meshes(), "nested", TRAINING)
"""What is computed at once: those by themselves on one mesh, those within loops, branches and checkpoints, and the ways to train."""


def of_group(group: str) -> list[tuple[str, str]]:
    """Return the names of a group."""
    if group == TRAINING:
        return [(TRAINING, name) for name in WAYS]
    return [(m, c) for m, c in names() if group == ("nested" if c in NESTED else m)]


def by_vmap(mesh_name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of whole arrays that `f` is under `vmap(axis_name=)`, by itself: what `shard_map` must agree with."""
    if mesh_name == "columns":
        mapped = fg.vmap(f, axis_name="j")
        return lambda x: fnp.concatenate([*mapped(fnp.stack(fnp.split(x, 2, 1)))], 1)
    parts = (4, 2, 1, -1) if mesh_name == "both" else (4, 2, -1)
    mapped = fg.vmap(f, axis_name="j") if mesh_name == "both" else f
    mapped = fg.vmap(mapped, axis_name="i")
    return lambda x: fnp.reshape(mapped(fnp.reshape(x, parts)), x.shape)


def computed(mesh_name: str, name: str, *, vmap: bool = False, cupy: Any = None) -> dict[str, Any]:
    """Return what each transform gives for a collective on a mesh, or under `vmap` alone; on arrays of `cupy`, if it is given."""
    mesh, axis, spec = meshes()[mesh_name]
    f = lambda x: COLLECTIVES[name](x, axis)
    x = ARGUMENT[:, :3] if name.startswith("psum_numbers") and mesh_name != "columns" else ARGUMENT
    if vmap:
        mapped = by_vmap(mesh_name, f)
    else:
        mapped = shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec)
    if cupy is not None:
        return {t: g(cupy.asarray(x)).get() for t, g in transforms(name, mapped)}
    return {t: np.asarray(g(x)) for t, g in transforms(name, mapped)}


def main(path: str, *options: str) -> None:
    """Compute what the options name, or all of it."""
    distributed.initialize(timeout=60)
    cupy = None
    if "cupy" in options:
        sys.modules["cupy"] = cupy = make_stand_in()
        sys.modules["cupy.cuda.nccl"] = nccl_on_host.installed_in(cupy)
    groups = [group for group in GROUPS if group in options] or GROUPS
    found = {
        key: WAYS[key[1]]() if key[0] == TRAINING else computed(*key, cupy=cupy)
        for group in groups
        for key in of_group(group)
    }
    data = pickle.dumps([x.tobytes() for of in found.values() for x in of.values()])
    mesh = make_mesh((distributed.process_count(),), ("process",))
    marks = np.frombuffer(hashlib.blake2b(data, digest_size=8).digest(), np.uint64)
    shard_map(lambda m: m, mesh=mesh, in_specs=P(), out_specs=P())(marks)  # all have the same
    if distributed.process_index() == 0:
        with open(path, "wb") as file:
            pickle.dump((distributed.process_count(), found, nccl_on_host.counts), file)


if __name__ == "__main__":
    main(*sys.argv[1:])
