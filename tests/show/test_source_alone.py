"""Modules that `to_source` writes, run in a process that fungrad cannot be imported in."""

import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy

import fungrad as fg
from fungrad import tree
from tests.programs import LOOKS_AT_VALUES, PROGRAMS, weighted
from tests.show.test_formatting import assert_lines_are_parted, check_imports
from tests.show.test_source import assert_a_module_of, assert_same

CLOSE = 1e-12
"""How far numbers may be from those of fungrad, in parts of the largest number of their array."""

RUNNER = """
import importlib, pickle, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("fungrad", "optree"):
            raise ModuleNotFoundError(f"{name} is not to be found here", name=name)

_, folder, *libraries = sys.argv
sys.meta_path.insert(0, Missing())  # an installed fungrad may be in the folder of NumPy, too
sys.path += [folder, *libraries]
for name in ("fungrad", "fungrad.numpy", "optree"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        assert "is not to be found here" in str(error)
    else:
        raise AssertionError(f"{name} can be imported")
with open(f"{folder}/given.pickle", "rb") as file:
    given = pickle.load(file)
results = {}
for module, name, args in given:
    imported = importlib.import_module(module)
    assert imported.__all__ == [name], module
    results[module] = getattr(imported, name)(*args)
loaded = [name for name in sys.modules if name.partition(".")[0] in ("fungrad", "optree")]
assert not loaded, loaded
with open(f"{folder}/results.pickle", "wb") as file:
    pickle.dump(results, file)
"""


def run_alone(folder: Path, modules: dict[str, tuple[str, str, tuple]]) -> dict[str, object]:
    """Return what the functions give; of each module there are the text, the function's name and its arguments."""
    given = [(module, name, args) for module, (_, name, args) in modules.items()]
    for module, (text, _, _) in modules.items():
        (folder / f"{module}.py").write_text(text)
    (folder / "given.pickle").write_bytes(pickle.dumps(given))
    (folder / "runner.py").write_text(RUNNER)
    libraries = {str(Path(library.__file__).parent.parent) for library in (np, scipy)}
    command = [sys.executable, "-I", "-S", "-W", "ignore", "runner.py", str(folder), *libraries]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pickle.loads((folder / "results.pickle").read_bytes())


def difference(found: object, expected: object) -> float:
    """Return how far arrays are from one another, in parts of the largest number of each."""
    assert tree.structure(found) == tree.structure(expected)
    largest = 0.0
    for x, y in zip(tree.leaves(found), map(np.asarray, tree.leaves(expected)), strict=True):
        assert (np.shape(x), x.dtype) == (y.shape, y.dtype)
        if not np.array_equal(x, y):
            largest = max(largest, np.max(np.abs(x - y)) / np.max(np.abs(y)))
            assert np.isfinite(largest)
    return largest


def test_the_gradients_of_the_network_that_reads_digits(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    path = Path(__file__).parents[2] / "examples" / "digits.py"
    spec = importlib.util.spec_from_file_location("example_digits", path)
    digits = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, digits)  # dataclasses ask for it
    spec.loader.exec_module(digits)

    images, targets, *_ = digits.load_digits()
    args = digits.init_params(), images[: digits.BATCH_SIZE], targets[: digits.BATCH_SIZE]
    function = fg.value_and_grad(digits.loss)
    text = fg.to_source(function)(*args)
    found = run_alone(tmp_path, {"network": (text, "loss", args)})["network"]
    assert [*found[1][0]] == ["weight", "bias"]
    assert min(np.abs(x).max() for x in tree.leaves(found)) > 1e-3
    for expected in (
        function(*args),
        fg.jit(function)(*args),
        digits.loss_and_gradients_by_hand(*args),
    ):
        assert difference(found, expected) < CLOSE


NAMES = [name for name in PROGRAMS if name not in LOOKS_AT_VALUES]
PARTS = 4


def test_there_are_many_programs():
    assert len(NAMES) >= 300


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_with_their_gradients(part, tmp_path, subtests):
    """They give what fungrad does, in lines with an end."""
    modules, functions = {}, {}
    for name in NAMES[part::PARTS]:
        _, _, changed, args = PROGRAMS[name]
        both = lambda *args, f=changed: (f(*args), fg.grad(weighted(f))(*args))
        try:
            text = fg.to_source(both, name=name)(*args)
            assert_a_module_of(name, text)
        except Exception:
            with subtests.test(f"{name} is written"):
                raise
        else:
            modules[f"program_{name}"] = text, name, args
            functions[f"program_{name}"] = fg.jit(both)
    found = run_alone(tmp_path, modules)
    for text, _, _ in modules.values():
        assert_lines_are_parted(text)
    if importlib.util.find_spec("ruff"):
        check_imports(*[tmp_path / f"{module}.py" for module in modules])
    for module, (_, name, args) in modules.items():
        try:
            expected = functions[module](*args)
            assert difference(found[module], expected) < CLOSE
            assert_same(found[module], expected)
        except Exception:
            with subtests.test(name):
                raise
