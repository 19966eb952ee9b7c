"""Checkpoints of several processes: `python -m tests.distributed.checkpoints NAME FOLDER`."""

import os
import re
import signal
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from fungrad import distributed, optim, random, training
from fungrad.sharding import PartitionSpec, make_mesh, to_global, to_local
from fungrad.training import archive, shards
from fungrad.training.structure import take_apart

P = PartitionSpec
GRID, FLAT = make_mesh((2, 2), ("i", "j")), make_mesh((4,), ("i",))


class Pair(NamedTuple):
    x: object
    y: object


def tree(shift=0.0):
    """Return what is saved, whole."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    w = np.arange(96.0).reshape(8, 12) + shift
    return {
        "w": {"rows": w, "columns": w.astype("f4"), "both": 1j * w, "crosswise": w + 1, "whole": w},
        "order": np.asfortranarray(w),
        "little": Pair(w.astype(ml_dtypes.bfloat16), w.astype(np.int8)),
        "keys": random.split(random.key(3), 8),
        "records": np.array([(i, 0.5 * i) for i in range(4)], [("a", "i2"), ("b", "f8")]),
        "text": np.array(["one", "two", "three", "four"]),
        "empty": np.zeros((0, 4)),
        "none": np.zeros((3, 0)),
        "scalars": [np.float32(shift), np.array(2.5), 7, -0.0, "name", None, (1 << 80, b"\0")],
        "opt": optim.adam(0.1).init({"w": w}),
    }


SPECS = {
    "w": {
        "rows": P("i"),
        "columns": P(None, "j"),
        "both": P("i", "j"),
        "crosswise": P(("j", "i")),
        "whole": P(),
    },
    "order": P(None, "i"),
    "little": Pair(P("i"), P(("i", "j"))),
    "keys": P("j"),
    "records": P("i"),
    "text": P("i"),
    "empty": P("i"),
    "none": P(None, "j"),
    "scalars": P(),
    "opt": P(),
}
OTHERS = {
    **{name: P() for name in SPECS},
    "w": P(None, "i"),
    "little": Pair(P("i"), P()),
    "keys": P("i"),
    "empty": P(None, "i"),
}
"""For the other mesh."""


def same(found, expected):
    """Raise unless two trees have the same types, bits and orders."""
    found, expected = parts_of(found), parts_of(expected)
    assert found[0] == expected[0]
    for a, b in zip(found[1], expected[1], strict=True):
        assert (type(a), a.dtype, a.shape) == (type(b), b.dtype, b.shape)
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
        assert np.asarray(a).flags.fnc == np.asarray(b).flags.fnc


def parts_of(tree):
    parts = take_apart(tree)
    return parts.nodes, parts.arrays


def local(whole, mesh, specs):
    found = to_local(whole, mesh, specs)
    found["order"] = np.asfortranarray(found["order"])  # as it is where it is not divided
    return found


def write(folder):
    for shift in (0.0, 1.0):
        training.save(folder, local(tree(shift), GRID, SPECS), mesh=GRID, specs=SPECS)


def read(folder):
    """All that were written, by any number of processes."""
    for path in sorted(Path(folder).iterdir()):
        for mesh, specs in ((GRID, SPECS), (FLAT, OTHERS)):
            expected = local(tree(1.0), mesh, specs)
            same(training.load(path, types=[Pair], mesh=mesh, specs=specs), expected)
            same(training.load(path, expected, mesh=mesh, specs=specs), expected)
        same(training.load(path, types=[Pair]), tree(1.0))  # each by itself
        numbers = {"w", "little", "keys", "empty", "scalars"}
        some, specs = ({k: t[k] for k in numbers} for t in (tree(1.0), SPECS))
        same(to_global(to_local(some, GRID, specs), GRID, specs), some)
        print(path.name)


def killed_in_its_shard(folder):
    """The second process is killed in the middle of its file."""
    if distributed.process_index() == 1:
        archive._write_array = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    training.save(folder, local(tree(2.0), GRID, SPECS), mesh=GRID, specs=SPECS)


def killed_before_the_index(folder):
    """The first process is killed when all shards are there."""
    if distributed.process_index() == 0:
        shards._Plan.index = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    training.save(folder, local(tree(2.0), GRID, SPECS), mesh=GRID, specs=SPECS)


def failures(folder):
    """Errors that all processes have, after which they go on."""
    second = distributed.process_index() == 1
    flat = make_mesh((distributed.process_count(),), ("i",))
    refused(folder, "['a'] is not the same in processes 0 and 1", {"a": np.full(2, second)}, flat)
    refused(folder, "process 1 has another tree than process 0", {"a": 1.0 + second}, flat)
    refused(folder, "process 1 has another tree", {"a": np.ones(2 + second)}, flat, P("i"))
    words = "the tree has, at ['a'], 'object'" if second else "process 1 has failed: TypeError: the"
    refused(folder, words, {"a": object() if second else 1}, flat)
    disk_full(folder, second, flat)
    same(training.load(folder, types=[Pair]), tree(1.0))
    print("went on")


def disk_full(folder, second, mesh):
    before = archive._write_array

    def full(*_):
        raise OSError(28, "No space left on device")

    archive._write_array = full if second else before
    words = "No space left" if second else "process 1 has failed: OSError: [Errno 28] No space"
    refused(folder, words, np.ones(4), mesh, P("i"))
    archive._write_array = before


def refused(folder, words, data, mesh, specs=None):
    with pytest.raises(Exception, match=re.escape(words)):
        training.save(folder, data, mesh=mesh, specs=specs)


if __name__ == "__main__":
    distributed.initialize(timeout=60)
    from tests.distributed import checkpoints  # whose classes are not those of __main__

    getattr(checkpoints, sys.argv[1])(sys.argv[2])
