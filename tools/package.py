"""Build wheel and sdist into dist/, look into both, and use the wheel where nothing else of this repository is.

python tools/package.py
"""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
IN_SDIST = (
    "README.md",
    "LICENSE",
    "pyproject.toml",
    "Makefile",
    "fungrad/py.typed",
    "pytest_fungrad.py",
    "tests/conftest.py",
)
IN_SDIST += (
    "docs/conf.py",
    "docs/pictures/fluid.png",
    "examples/beam.py",
    "benchmarks/results/README.md",
)
BESIDE = {"pytest_fungrad.py", "fungrad/errors.md"}
"""What the wheel has that is not so in the folder of the package."""
TESTS = ("tests/test_layers.py", "tests/core/test_expr.py", "tests/transforms/test_grad.py")
"""Tests that are run in what the sdist unpacks to."""

PROGRAM = """
import doctest, importlib.util, pathlib, runpy, sys
import numpy as np
import fungrad as fg
import fungrad.numpy as fnp

assert pathlib.Path(sys.prefix) in pathlib.Path(fg.__file__).parents, fg.__file__
f = lambda x: fnp.sum(fnp.sin(x) * x)
x = np.arange(3.0)
assert np.allclose(fg.grad(f)(x), np.cos(x) * x + np.sin(x))
assert np.allclose(fg.jit(fg.vmap(fg.grad(f)))(x[:, None]), fg.grad(f)(x)[:, None])
assert doctest.testmod(fg).attempted
for name in ("grad", "jit", "vmap"):
    module = importlib.import_module(f"fungrad.transforms.{name}")
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted and not found.failed, (name, found)
if importlib.util.find_spec("fungrad.__main__"):
    sys.argv[1:] = []
    runpy.run_module("fungrad", run_name="__main__")
"""

WITH_PLUGIN = """
import fungrad as fg
import fungrad.numpy as fnp
import pytest


@pytest.mark.no_nans
def test_no_nans():
    fg.jit(fnp.log)(-1.0)


def test_snapshot(expr_snapshot):
    expr_snapshot(fg.make_expr(fnp.sin)(1.0))
"""
"""Tests of somebody who has installed the wheel and pytest: the plugin is there by its entry point. The first must fail."""


def build() -> tuple[Path, Path]:
    """Return a new wheel, made of a new sdist, and that."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], check=True)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def check_wheel(path: Path) -> None:
    """Fail if the wheel lacks a file of the package, has others, or describes itself by links that lead nowhere."""
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        description = email.message_from_bytes(wheel.read(metadata)).get_payload()
    wanted = {
        str(file.relative_to(ROOT).as_posix())
        for file in (ROOT / "fungrad").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    wanted |= BESIDE
    found = {name for name in names if not name.startswith(Path(metadata).parent.name)}
    if found != wanted:
        sys.exit(
            f"the wheel has {sorted(found - wanted)} too many and lacks {sorted(wanted - found)}"
        )
    if dead := re.findall(r"<img[^>]*>|\]\((?!https?:)[^)]*\)", description):
        sys.exit(f"the wheel's description has links that lead nowhere: {dead}")


def check_sdist(path: Path, folder: Path) -> None:
    """Fail if the sdist lacks something, or its tests fail where it is unpacked."""
    with tarfile.open(path) as sdist:
        sdist.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    names = {file.relative_to(unpacked).as_posix() for file in unpacked.rglob("*")}
    missing = [name for name in (*IN_SDIST, *TESTS) if name not in names]
    made = [
        name
        for name in names
        if "__pycache__" in name or "docs/_build" in name or "docs/generated" in name
    ]
    if missing or made:
        sys.exit(f"the sdist lacks {missing}, and has files that are made: {made}")
    run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TESTS],
        unpacked,
        PYTHONPATH=".",
    )


def check_plugin(python: str, folder: Path) -> None:
    """Fail unless pytest, installed beside the wheel, has the plugin without being told of it."""
    install("pytest", python, folder)
    (folder / "test_it.py").write_text(WITH_PLUGIN, encoding="utf-8")
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    run([*pytest, "--update-snapshots", "-k", "snapshot"], folder)
    done = subprocess.run(pytest, cwd=folder, env=_clean(), capture_output=True, text=True)
    if "1 failed, 1 passed" not in done.stdout or "FloatingPointError" not in done.stdout:
        sys.exit(f"the plugin does not do what it should where it is installed:\n{done.stdout}")


def install(what: str, python: str, folder: Path) -> None:
    """Install something for a Python."""
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, what], folder)


def run(command: list[str], folder: Path, **variables: str) -> None:
    """Run a command in a folder, where Python finds nothing of this repository."""
    subprocess.run(command, cwd=folder, env={**_clean(), **variables}, check=True)


def _clean() -> dict[str, str]:
    """Return the environment without what makes Python or pytest find this repository, or options of its tests."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTEST_ADDOPTS")}


def main() -> None:
    """Build and check everything."""
    wheel, sdist = build()
    check_wheel(wheel)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sdist").mkdir()
        check_sdist(sdist, folder / "sdist")
        run([sys.executable, "-m", "venv", "venv"], folder)
        python = str(folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python")
        install(str(wheel), python, folder)
        run([python, "-W", "error", "-c", PROGRAM], folder)
        check_plugin(python, folder)
    print(f"{wheel.name} and {sdist.name} are fit to be given away")


if __name__ == "__main__":
    main()
