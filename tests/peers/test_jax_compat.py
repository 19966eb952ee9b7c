"""Programs in cells give with `fungrad.compat.jax` what they give with JAX; the names of JAX are as they are listed."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

from tests.peers import jax_names
from tests.peers.jax_cells import recording

ROOT = Path(__file__).parents[2]


def results(folder, name, *before, parts=()):
    """Return what the cells give in a process of its own, run by Python with the options `before`."""
    file = folder / name
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, *before, "-m", "tests.peers.jax_cells", str(file), *parts]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pickle.loads(file.read_bytes())


def check(found, wanted, where):
    """Compare types, dtypes, shapes and values."""
    if isinstance(wanted, np.ndarray):
        assert isinstance(found, np.ndarray), f"{where}: {found!r} is no array"
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), where
        if wanted.dtype.kind in "fc":
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6, err_msg=where)
        else:
            np.testing.assert_array_equal(found, wanted, err_msg=where)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for i, (x, y) in enumerate(zip(found, wanted, strict=True)):
            check(x, y, f"{where}[{i}]")
    elif isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), where
        for name in wanted:
            check(found[name], wanted[name], f"{where}[{name!r}]")
    else:
        assert (type(found), found) == (type(wanted), wanted), where


def test_cells(tmp_path):
    wanted = recording.recorded() or results(tmp_path, "jax")
    found = results(tmp_path, "fungrad", "-m", "fungrad.compat.jax")
    assert found.keys() == wanted.keys()
    assert len(wanted) >= 100
    failed = []
    for name in wanted:
        assert not str(wanted[name]).startswith("Traceback"), (name, wanted[name])
        try:
            check(found[name], wanted[name], name)
        except AssertionError as error:
            failed.append(f"{error}\n{found[name] if isinstance(found[name], str) else ''}")
    assert not failed, "\n".join(failed)


def test_results_are_recorded_as_jax_gives_them(tmp_path):
    """Of one part: all of them take two minutes, which another version of JAX or other cells have to take."""
    given = results(tmp_path, "jax", parts=["weakness"])
    found = recording.from_json(json.loads(json.dumps(recording.as_json(given))))
    check(found, given, "as JSON")
    if (kept := recording.recorded()) is not None:
        check({name: kept[name] for name in given}, given, "recorded")


def test_names_are_those_of_jax():
    command = [sys.executable, "-W", "ignore", "-m", "tests.peers.jax_names", "--print"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == jax_names.FILE.read_text("utf-8"), done.stderr


@pytest.mark.parametrize("program", ["jax_references.py", "jax_pallas.py"])
def test_programs_hold_for_jax(program):
    """What tests/compat asserts of references and kernels, but for what is marked as fungrad's own."""
    environment = {**os.environ, "JAX_ENABLE_X64": "0", "JAX_PLATFORMS": "cpu"}
    file = str(ROOT / "tests/compat" / program)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.splitlines()[-1].split()[0]) >= 7, done.stdout
