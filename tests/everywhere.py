"""``python tests/everywhere.py``: run the tests with every Python there is, each with the newest libraries.

    python tests/everywhere.py 3.14 3.14t 3.11-oldest   # these rows alone
    python tests/everywhere.py --list                   # what would be run, with which interpreter

An environment of its own is made for each, .venv-3.13 and so on, and the output goes to build/. Interpreters are
looked for on the PATH and where pyenv, uv and CPython's own `make install` put them; the environment variable
PYTHONS names others. One that is not found is named in the table, and is no failure, unless it was asked for by
name. A row that fails does not keep the others from being run; the exit status is 0 if all that were run passed.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORKERS = os.environ.get("WORKERS") or str(os.cpu_count() or 2)
PLACES = (
    "~/.pyenv/versions/*/bin/python",
    "~/.local/share/uv/python/*/bin/python",
    "/opt/*/bin/python3.*",
    "/usr/local/bin/python3.*",
)
LIBRARIES = ("numpy", "scipy", "optree")
PROBE = """
import json, sys, sysconfig
from importlib import metadata
free = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(["%d.%d" % sys.version_info[:2] + free, list(sys.version_info[:3]), found]))
"""


@dataclass(frozen=True)
class Row:
    """An interpreter, what is installed for it, and what is run."""

    version: str
    install: tuple[str, ...] = ("-e", ".[test]")
    tests: tuple[str, ...] = ("--nbmake", "tests", "fungrad", "notebooks")
    libraries: str = "newest"

    @property
    def name(self) -> str:
        return self.version if self.libraries == "newest" else f"{self.version}-{self.libraries}"


BASIC = ("tests/core", "tests/transforms", "tests/test_hygiene.py")
OLDEST = ("numpy==2.1.*", "scipy==1.15.*", "optree==0.14.*")
# Of the packages that the tests need not all are made for free-threaded Python.
FEW = ("pytest", "pytest-xdist", "hypothesis", "mpmath", "ml_dtypes", "cloudpickle", "joblib")
ROWS = (
    Row("3.11", ("-e", ".", *OLDEST, *FEW), BASIC, "oldest"),
    *[Row(version) for version in ("3.11", "3.12", "3.13", "3.14")],
    *[Row(version, ("-e", ".", *FEW), BASIC) for version in ("3.13t", "3.14t")],
)


def ask(python: str) -> tuple[str, list[int], dict[str, str]] | None:
    """Return the version of an interpreter, "3.13t" if it is free-threaded, and those of its libraries."""
    try:
        answer = subprocess.run(
            [python, "-c", PROBE, *LIBRARIES],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        version, exact, found = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return version, exact, found


def interpreters() -> dict[str, str]:
    """Return the newest interpreter of each version."""
    found: dict[str, tuple[list[int], str]] = {}
    candidates = [sys.executable, *os.environ.get("PYTHONS", "").split()]
    candidates += [p for row in ROWS if (p := shutil.which(f"python{row.version}"))]
    candidates += [p for place in PLACES for p in glob.glob(os.path.expanduser(place))]
    for python in dict.fromkeys(candidates):
        if not python.endswith("-config") and (told := ask(python)) is not None:
            version, exact, _ = told
            if version not in found or exact > found[version][0]:
                found[version] = exact, python
    return {version: python for version, (_, python) in found.items()}


def environment(row: Row, python: str) -> str:
    """Make the environment of a row, or bring it up to date; return its interpreter."""
    folder = ROOT / f".venv-{row.name}"
    inside, stamp = str(folder / "bin" / "python"), folder / ".installed"
    if not os.path.exists(inside):
        stamp.unlink(missing_ok=True)
        subprocess.run([python, "-m", "venv", folder], check=True)
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        pip = [inside, "-m", "pip", "install", "--quiet", "--upgrade", "--prefer-binary"]
        subprocess.run([*pip, *row.install], cwd=ROOT, check=True)
        stamp.touch()
    return inside


def run_pytest(row: Row, inside: str, log: Path) -> int:
    """Run the tests of a row; return what pytest ends with."""
    log.parent.mkdir(exist_ok=True)
    settings = {**os.environ, "PYTHON_GIL": "0"} if row.version.endswith("t") else dict(os.environ)
    pytest = [inside, "-m", "pytest", "-q", "-n", WORKERS, "--dist", "worksteal", *row.tests]
    with log.open("w", encoding="utf-8") as file:
        return subprocess.run(pytest, cwd=ROOT, env=settings, stdout=file, stderr=file).returncode


def counts_in(text: str) -> tuple[int, int]:
    """Return how many tests have passed, and how many have not, by the last line of pytest's output."""
    last = ["", *text.strip().splitlines()][-1]
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", last)}
    return counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)


def run(row: Row, python: str) -> tuple[str, bool]:
    """Run the tests of a row; return its line of the table, and whether all is well."""
    start = time.monotonic()
    try:
        inside = environment(row, python)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{row.name:<12} no environment: {error}", False
    log = ROOT / "build" / f"test-{row.name}.log"
    code = run_pytest(row, inside, log)
    text = log.read_text("utf-8", errors="replace")
    for line in re.findall(r"^(?:FAILED|ERROR) .*", text, re.MULTILINE):
        print(line, flush=True)
    _, exact, found = ask(inside) or ("", [], {})
    columns = [".".join(map(str, exact)), *[found.get(name, "?") for name in LIBRARIES]]
    columns += [*map(str, counts_in(text)), f"{time.monotonic() - start:.0f} s"]
    ended = "" if code in (0, 1) else f"  pytest ended with {code}, see {log.relative_to(ROOT)}"
    return f"{row.name:<12}{''.join(f'{column:>9}' for column in columns)}{ended}", code == 0


HEAD = f"{'row':<12}" + "".join(
    f"{x:>9}" for x in ("Python", *LIBRARIES, "passed", "failed", "time")
)


def main(arguments: Sequence[str]) -> int:
    names = [name for name in arguments if name != "--list"]
    unknown = set(names) - {row.name for row in ROWS}
    if unknown:
        print(f"no such row: {', '.join(sorted(unknown))}. There are", *[row.name for row in ROWS])
        return 2
    rows = [row for row in ROWS if not names or row.name in names]
    found = interpreters()
    if "--list" in arguments:
        for row in rows:
            print(f"{row.name:<12}{found.get(row.version, 'not found'):<50}{' '.join(row.tests)}")
        return 0
    lines, well = [], True
    try:
        for row in rows:
            if row.version in found:
                print(f"{row.name}: {found[row.version]}", flush=True)
                line, good = run(row, found[row.version])
            else:
                line, good = f"{row.name:<12} no such interpreter is found", row.name not in names
            lines.append(line)
            well = well and good
    finally:  # also of what Ctrl-C leaves
        print("", HEAD, *lines, sep="\n", flush=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
