"""``python tests/everywhere.py``: run the tests with every Python there is, each with the newest libraries.

An environment of its own is made for each, .venv-3.13 and so on, and the output goes to build/. Interpreters are
looked for on the PATH and where pyenv, uv and CPython's own `make install` put them; the environment variable
PYTHONS names others. One that is not found is named in the table, and is no failure.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
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
    folder = ROOT / f".venv-{row.version}{'' if row.libraries == 'newest' else '-' + row.libraries}"
    inside, stamp = str(folder / "bin" / "python"), folder / ".installed"
    if not os.path.exists(inside):
        subprocess.run([python, "-m", "venv", folder], check=True)
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        pip = [inside, "-m", "pip", "install", "--quiet", "--upgrade", "--prefer-binary"]
        subprocess.run([*pip, *row.install], cwd=ROOT, check=True)
        stamp.touch()
    return inside


def run(row: Row, python: str) -> tuple[str, bool]:
    """Run the tests of a row; return what to say of it, and whether all is well."""
    start = time.monotonic()
    try:
        inside = environment(row, python)
    except subprocess.CalledProcessError as error:
        return f"{'no environment: ' + str(error.cmd[-1]):>40}", False
    told = ask(inside)
    versions = "".join(f"{(told[2] if told else {}).get(name, '?'):>9}" for name in LIBRARIES)
    log = ROOT / "build" / f"test-{row.version}-{row.libraries}.log"
    log.parent.mkdir(exist_ok=True)
    settings = {**os.environ, "PYTHON_GIL": "0"} if row.version.endswith("t") else dict(os.environ)
    with log.open("w", encoding="utf-8") as file:
        pytest = [inside, "-m", "pytest", "-q", "-n", WORKERS, "--dist", "worksteal", *row.tests]
        code = subprocess.run(pytest, cwd=ROOT, env=settings, stdout=file, stderr=file).returncode
    text = log.read_text("utf-8", errors="replace")
    for line in re.findall(r"^(?:FAILED|ERROR) .*", text, re.MULTILINE):
        print(line, flush=True)
    last = ["", *text.strip().splitlines()][-1]
    counts = {word: number for number, word in re.findall(r"(\d+) (passed|failed|error)", last)}
    failed = int(counts.get("failed", 0)) + int(counts.get("error", 0))
    shown = f"{counts.get('passed', 0):>8}{failed:>8}{time.monotonic() - start:>7.0f} s"
    ended = "" if code in (0, 1) else f"  pytest ended with {code}, see {log.relative_to(ROOT)}"
    return f"{versions}{shown}{ended}", code == 0


def main() -> int:
    found = interpreters()
    lines, well = [], True
    for row in ROWS:
        name = f"{row.version:<7}{row.libraries:<8}"
        if row.version in found:
            print(
                f"Python {row.version}, {row.libraries} libraries: {found[row.version]}", flush=True
            )
            text, good = run(row, found[row.version])
            well = well and good
        else:
            text = "  not found"
        lines.append(name + text)
    head = "".join(f"{name:>9}" for name in LIBRARIES)
    print(f"\n{'Python':<15}{head}{'passed':>8}{'failed':>8}{'time':>9}")
    print("\n".join(lines))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
