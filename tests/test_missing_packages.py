"""Where packages of the `test` extra are not installed, their tests are skipped by name, and all others are collected."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = {"pytest", "hypothesis"}
"""What tests/conftest.py itself needs, beside what fungrad does."""
MODULES = {
    "array-api-compat": ["array_api_compat"],
    "array-api-strict": ["array_api_strict"],
    "cloudpickle": ["cloudpickle"],
    "ipykernel": ["ipykernel", "IPython"],
    "llvmlite": ["llvmlite"],
    "matplotlib": ["matplotlib", "PIL"],
    "ml_dtypes": ["ml_dtypes"],
    "mpmath": ["mpmath"],
    "nbmake": ["nbmake", "nbclient", "nbformat"],
    "pytest-xdist": ["xdist"],
    "resvg-py": ["resvg_py"],
    "rich": ["rich"],
    "scikit-learn": ["sklearn", "joblib"],
    "tqdm": ["tqdm"],
}
"""The modules of each package, with those that come with it alone."""


def packages(extra: str) -> set[str]:
    """Return the packages of an extra, and of those that it names."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    found = set()
    for requirement in extras[extra]:
        name, others = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()
        found |= {x for other in others.split(",") for x in packages(other)} if others else {name}
    return found


def test_every_package_of_the_extra_is_hidden_or_needed():
    assert packages("test") == {*MODULES} | NEEDED


def test_without_them_nothing_fails_to_be_collected():
    """What is left out is printed: `pytest -rP tests/test_missing_packages.py` shows it.

    Modules that are no tests are collected too, as doctests of theirs would be, and no assertions are rewritten, which takes
    most of the time.
    """
    hidden = [name for names in MODULES.values() for name in names]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tests.without", "--collect-only", "-q", "-s"),
            "-ra",
            *("-p", "no:nbmake", "-p", "no:xdist", "-p", "no:cacheprovider"),
            *("-o", "addopts=--import-mode=importlib", "-o", "python_files=*.py", "--assert=plain"),
            *("tests", "--ignore=tests/peers"),  # whose libraries need some of these
        ],
        cwd=ROOT,
        env=os.environ | {"HIDDEN": ",".join(hidden)},
        capture_output=True,
        text=True,
    )
    print(done.stdout)
    assert done.returncode == 5, done.stdout[-10_000:] + done.stderr  # no tests, and no errors
    assert "ERROR" not in done.stdout
    assert "tests/compile/test_narrow.py" in done.stdout
    assert "tests/nn/test_nn.py::test_dtypes_are_kept needs ml_dtypes (some)" in done.stdout
