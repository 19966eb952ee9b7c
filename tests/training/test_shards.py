"""Checkpoints in shards, by one process that has all places: damages, mistakes, and what is left of the one before."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fungrad import training
from fungrad.sharding import PartitionSpec as P
from fungrad.sharding import make_mesh
from fungrad.training import archive, pieces, shards
from fungrad.training.structure import take_apart

ROOT = Path(__file__).parents[2]
MESH = make_mesh((2, 2), ("i", "j"))
TREE = {"w": np.arange(32.0).reshape(8, 4), "n": [3, "text"], "b": np.float32(2)}
SPECS = {"w": P("i", "j"), "n": P(), "b": P()}


@pytest.fixture
def folder(tmp_path):
    """A folder with a checkpoint, of which the index is named ``index``."""
    found = tmp_path / "run"
    training.save(found, TREE, mesh=MESH, specs=SPECS)
    return found


def shard(folder):
    (found,) = folder.glob("*.shard")
    return found


def index(folder):
    return json.loads(training.load(folder / "index")[pieces.KEY])


def with_index(folder, found):
    """Write an index with the right digest, as somebody can make who means harm."""
    text = found if isinstance(found, str) else json.dumps(found)
    training.save(folder / "index", {pieces.KEY: text})


def is_error(folder, match="."):
    with pytest.raises(training.CheckpointError, match=match) as error:
        training.load(folder)
    assert str(error.value).startswith(f"{folder} ")


def test_it_is_what_was_saved_and_the_shard_is_a_checkpoint(folder):
    for found in (training.load(folder), training.load(folder, TREE, mesh=MESH, specs=SPECS)):
        assert repr(found) == repr(TREE)
        assert found["w"].flags.writeable
    assert [x.shape for x in training.load(shard(folder))] == [(8, 4), ()]
    training.save(folder, {"a": 1}, mesh=MESH)
    assert training.load(folder) == {"a": 1}


# Damaged


def test_truncated(folder):
    for path in (folder / "index", shard(folder)):
        content = path.read_bytes()
        for n in range(0, len(content), 97):
            path.write_bytes(content[:n])
            is_error(folder)
        path.write_bytes(content)
    training.load(folder)


def test_bits(folder):
    for path in (folder / "index", shard(folder)):
        content = bytearray(path.read_bytes())
        for i in range(0, len(content), 7):
            content[i] ^= 1 << i % 8
            path.write_bytes(content)
            is_error(folder)
            content[i] ^= 1 << i % 8
        path.write_bytes(content)
    training.load(folder)


def test_missing(folder):
    name = shard(folder)
    content = name.read_bytes()
    name.unlink()
    is_error(folder, f"lacks its shard {name.name}, one of 1: all of them have to be in one folder")
    name.write_bytes(content)
    (folder / "index").unlink()
    with pytest.raises(FileNotFoundError):
        training.load(folder)


def test_shard_of_another_checkpoint(folder, tmp_path):
    training.save(tmp_path / "other", {**TREE, "w": TREE["w"] + 1}, mesh=MESH, specs=SPECS)
    shard(folder).write_bytes(shard(tmp_path / "other").read_bytes())
    is_error(folder, "that is not the one of its index")


def test_index_is_another_checkpoint(folder):
    training.save(folder / "index", TREE)
    is_error(folder, "another checkpoint in the place of its index")


HOSTILE = {
    "no json": lambda f: "{",
    "no dict": lambda f: [],
    "another key": lambda f: {**f, "more": 1},
    "a path": lambda f: {**f, "shards": [["../run/index", *f["shards"][0][1:]]]},
    "sizes that are none": lambda f: {**f, "shards": [[f["shards"][0][0], "1", ""]]},
    "huge": lambda f: replaced(f, "[8, 4]", "[80000000, 4]"),
    "huge in both": lambda f: replaced(f, "[8, 4]", "[80000000, 4]", "[0, 8]", "[0, 80000000]"),
    "negative": lambda f: replaced(f, "[0, 8]", "[-8, 8]"),
    "beyond": lambda f: replaced(f, "[0, 8]", "[4, 8]"),
    "triple": lambda f: replaced(f, "[0, 8]", "[0, 8, 0]"),
    "no number": lambda f: replaced(f, "[0, 8]", "[0, 8.0]"),
    "shard": lambda f: replaced(f, "[0, 0, [[[0", "[7, 0, [[[0"),
    "member": lambda f: replaced(f, "[0, 0, [[[0", "[0, 7, [[[0"),
    "other member": lambda f: replaced(f, "[0, 0, [[[0", "[0, 1, [[[0"),
    "dtype": lambda f: replaced(f, "float64", "int64"),
    "transposed": lambda f: replaced(f, "[8, 4]", "[4, 8]"),
    "nodes": lambda f: {**f, "nodes": f["nodes"][:-1]},
}


def replaced(found, *pairs):
    text = json.dumps(found)
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("name", HOSTILE)
def test_made_up(folder, name):
    with_index(folder, index(folder))
    training.load(folder)
    with_index(folder, HOSTILE[name](index(folder)))
    is_error(folder)


# Mistakes


@pytest.mark.parametrize(
    ("tree", "specs", "error", "words"),
    [
        (TREE, {**SPECS, "b": P("i")}, TypeError, r"\['b'\] is divided by .*, and is no array with axes"),
        (TREE, {**SPECS, "w": P("k")}, ValueError, "'k' is no axis of Mesh"),
        (TREE, {"w": P()}, ValueError, "save: specs"),
        (TREE, "i", TypeError, "specs must be a PartitionSpec or a tree of them, got 'i'"),
        (np.ones((3, 4)), P("i"), ValueError, r"save: axis 0 of the tree, of type float64\[3,4\], .* pad it to 4"),
        (np.ones(4), P("i", "j"), ValueError, r"is for 2 axes or more, but the tree is of type float64\[4\]"),
        ({"a": [object()]}, None, TypeError, r"the tree has, at \['a'\]\[0\]"),
    ],
)  # fmt: skip
def test_what_cannot_be_saved(folder, tree, specs, error, words):
    before = sorted(os.listdir(folder))
    with pytest.raises(error, match=words):
        training.save(folder, tree, mesh=MESH, specs=specs)
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("one_file", [False, True])
def test_what_cannot_be_divided(folder, tmp_path, one_file):
    path = folder
    if one_file:
        path = tmp_path / "file"
        training.save(path, TREE)
    for specs, words in (
        (P(("i", "j")), "is for 1 axes or more|is no array"),
        ({**SPECS, "w": P(None, "k")}, "'k' is no axis"),
        ({**SPECS, "w": P("i", None, "j")}, "is for 3 axes or more"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            training.load(path, mesh=MESH, specs=specs)
    wide = make_mesh((3,), ("i",))
    words = r"load: axis 0 of \['w'\], of type float64\[8,4\], cannot be divided into 3 equal parts"
    with pytest.raises(ValueError, match=words):
        training.load(path, mesh=wide, specs={**SPECS, "w": P("i")})


def test_specs_need_a_mesh(folder):
    with pytest.raises(TypeError, match=r"save: specs .* pass mesh="):
        training.save(folder, TREE, specs=SPECS)
    with pytest.raises(TypeError, match=r"load: specs .* pass mesh="):
        training.load(folder, specs=SPECS)


def test_like(folder):
    with pytest.raises(training.CheckpointError, match=r"has float64\[8,4\] at \['w'\]"):
        training.load(folder, {**TREE, "w": np.ones(3)}, mesh=MESH, specs=SPECS)


def test_folders_and_files_are_not_taken_for_each_other(folder, tmp_path):
    with pytest.raises(OSError, match="no file that can be replaced"):
        training.save(folder, TREE)
    training.save(tmp_path / "file", TREE)
    with pytest.raises(OSError, match="file"):
        training.save(tmp_path / "file", TREE, mesh=MESH)
    assert repr(training.load(tmp_path / "file", mesh=MESH, specs=SPECS)) == repr(TREE)


# Interrupted


def test_the_one_before_stays_when_writing_fails(folder, monkeypatch):
    for module, name, b in (
        (archive, "_write_array", 2),
        (shards, "write", 2),
        (shards, "_remove_others", 9),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                training.save(folder, {**TREE, "b": np.float32(9)}, mesh=MESH, specs=SPECS)
        assert training.load(folder)["b"] == b
    training.save(folder, TREE, mesh=MESH, specs=SPECS)
    assert len(os.listdir(folder)) == 2


KILLED = """
import itertools, os, signal, sys
import numpy as np
from fungrad import training
from fungrad.sharding import PartitionSpec as P, make_mesh
mesh = make_mesh((4,), ("i",))
for step in itertools.count(1):
    training.save(sys.argv[1], {"step": step, "w": np.full(50_000, step)}, mesh=mesh, specs={"step": P(), "w": P("i")})
    print(step, flush=True)
"""


def test_killed_at_any_time(tmp_path):
    """Whoever reads then has what was saved last, or what was being saved."""
    folder = tmp_path / "run"
    for wait in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for _ in range(5 + wait):
            last = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        rest = process.communicate()[0].split()
        last = int(rest[-1]) if rest else last
        found = training.load(folder)
        assert found["step"] in (last, last + 1)
        np.testing.assert_array_equal(found["w"], np.full(50_000, found["step"]))


def test_index_is_a_checkpoint_of_text(folder):
    assert take_apart(training.load(folder / "index")).arrays == []
