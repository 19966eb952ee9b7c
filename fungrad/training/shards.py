"""The folder of a checkpoint that several processes have written: a shard of each, and an index.

Each shard is a checkpoint of a list of arrays, with a name that no other has. The index, a checkpoint too, says what the tree
is, which shards there are, by size and SHA-256, and where in them the parts of each array are. It takes the place of the one before
when all shards are on the disk; those that it does not name are removed after that. So the folder holds the checkpoint before or the
new one, whoever is killed meanwhile. Readers need not be as many as the writers: each takes what is its own from wherever it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import secrets
from typing import Any

import numpy as np

from fungrad.distributed import process_count, process_index
from fungrad.sharding import Mesh
from fungrad.sharding.parts import Shaped, whole_shape
from fungrad.training.archive import write
from fungrad.training.meeting import together
from fungrad.training.pieces import INDEX, KEY, NAME, Outline, Piece, Runs, runs_of
from fungrad.training.replacing import replacing, sync
from fungrad.training.structure import Known, Parts, host, take_apart


@dataclasses.dataclass
class _Plan:
    """Assignment of arrays to writers."""

    nodes: list[Any]
    paths: list[str]
    pieces: list[list[Piece]]
    holders: list[list[list[int]]]
    """By array, for each piece: the processes that have it."""
    shards: list[list[int]]
    """By process: arrays to write its part of."""

    def index(self, names: list[str], written: list[Any]) -> str:
        """Return the text of the index."""
        pieces = [[dataclasses.astuple(p) for p in of] for of in self.pieces]
        shards = [[name, *about] for name, about in zip(names, written, strict=True)]
        return json.dumps({"nodes": self.nodes, "pieces": pieces, "shards": shards})


def _planned(parts: Parts, mesh: Mesh, specs: Any) -> _Plan:
    placed = Outline(parts.nodes, Known(parts.named.values())).placed(specs, "save")
    shapes = [
        whole_shape("save", spec, mesh, path, Shaped(x.dtype.name, x.shape))
        for x, (path, spec) in zip(parts.arrays, placed, strict=True)
    ]
    count = process_count()
    groups: dict[Any, dict[Runs, list[int]]] = {}
    plan = _Plan([], [path for path, _ in placed], [], [], [[] for _ in range(count)])
    load = [0] * count
    for i, (x, shape, (_, spec)) in enumerate(zip(parts.arrays, shapes, placed, strict=True)):
        if (spec, shape) not in groups:
            having = groups[spec, shape] = {}
            for process in range(count):
                having.setdefault(runs_of(mesh, spec, shape, process), []).append(process)
        plan.pieces.append([])
        plan.holders.append([])
        for runs, holders in groups[spec, shape].items():
            writer = min(holders, key=lambda p: (load[p], p))
            load[writer] += x.nbytes
            plan.pieces[i].append(Piece(writer, len(plan.shards[writer]), runs))
            plan.holders[i].append(holders)
            plan.shards[writer].append(i)
    left = iter(shapes)
    for node in parts.nodes:
        is_array = type(node) is list and node[0] in ("array", "scalar")
        plan.nodes.append([*node[:2], list(next(left))] if is_array else node)
    return plan


def save_shards(folder: str, tree: Any, mesh: Mesh, specs: Any) -> None:
    """Write this process's part of a tree, together with all others."""
    plan: Any = None
    arrays: list[Any] = []

    def begin() -> Any:
        nonlocal plan
        parts = take_apart(tree)
        plan = _planned(parts, mesh, specs)
        arrays[:] = map(host, parts.arrays)
        marks = [
            _mark(x) if any(len(h) > 1 for h in holders) else ""
            for x, holders in zip(arrays, plan.holders, strict=True)
        ]
        _make_folder(folder)
        what = json.dumps([plan.nodes, [dataclasses.astuple(p) for of in plan.pieces for p in of]])
        return [secrets.token_hex(8), hashlib.sha256(what.encode()).hexdigest(), marks]

    begun = together("save", begin)
    _check_alike(begun, plan)
    names = [f"{begun[0][0]}-{process}.shard" for process in range(process_count())]
    own = [arrays[i] for i in plan.shards[process_index()]]

    def write_own() -> Any:
        path = os.path.join(folder, names[process_index()])
        with replacing(path) as file:
            digest = write(file, take_apart(own).nodes, own)
            return [file.seek(0, os.SEEK_END), digest]

    written = together("save", write_own)

    def write_index() -> None:
        if process_index() == 0:
            text = plan.index(names, written)
            with replacing(os.path.join(folder, INDEX)) as file:
                write(file, take_apart({KEY: text}).nodes, [])
            _remove_others(folder, names)

    together("save", write_index)


def _mark(x: np.ndarray[Any, Any]) -> str:
    flat = np.ascontiguousarray(x).reshape(-1)
    data: Any = flat.view(np.uint8) if flat.nbytes else b""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _make_folder(folder: str) -> None:
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)
        sync(os.path.dirname(os.path.abspath(folder)))


def _check_alike(begun: list[Any], plan: _Plan) -> None:
    """Raise unless all processes have the same tree, and equal copies of shared parts."""
    for process, (_, what, _) in enumerate(begun):
        if what != begun[0][1]:
            raise ValueError(
                f"save: process {process} has another tree than process 0, or another mesh or specs: structure, dtypes, shapes of parts and what is "
                "no array must be the same in all"
            )
    for i, pieces in enumerate(plan.holders):
        for first, *others in pieces:
            for process in others:
                if begun[process][2][i] != begun[first][2][i]:
                    raise ValueError(
                        f"save: {plan.paths[i]} is not the same in processes {first} and {process}, which should both have it; say in "
                        "specs how it is divided"
                    )


def _remove_others(folder: str, names: list[str]) -> None:
    """Remove the shards that the index does not name."""
    for name in {*os.listdir(folder)}.difference(names):
        if NAME.fullmatch(name):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))
