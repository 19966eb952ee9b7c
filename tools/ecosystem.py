"""Run a library's own tests by JAX and by fungrad, and print what passes beside each other.

    python tools/ecosystem.py SUITE [what pytest takes: -k PATTERN, -x, ...]
    python tools/ecosystem.py --install

The second installs the libraries of `make test-ecosystem`, each by itself if they cannot be installed together, and says which are
left out; their tests are skipped.

SUITE is a file or folder of tests, such as `tests` in a checkout of equinox or optax; the library, JAX and pytest are installed
in the Python that runs this. Tests that pass by JAX alone are listed, with the last line of their errors.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
BY = {"JAX": [], "fungrad": ["-p", "fungrad.compat.jax"]}


def outcomes(suite, options, arguments):
    """Run pytest; return for each test "passed", "skipped" or "failed", and the last line of what it said."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        command += [suite, f"--junitxml={report}", *arguments]
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not report.exists():
            raise SystemExit(f"{' '.join(command)}:\n{done.stdout[-3000:]}")
        return {f"{x.get('classname')}::{x.get('name')}": _outcome(x) for x in _cases(report)}


def _cases(report):
    return ElementTree.parse(report).iter("testcase")


def _outcome(case):
    for child in case:
        if child.tag in ("failure", "error"):
            lines = (child.get("message") or child.text or "").strip().splitlines()
            return "failed", lines[0] if lines else ""
        if child.tag == "skipped":
            return "skipped", ""
    return "passed", ""


def main(suite, *arguments):
    """Run and print."""
    found = {by: outcomes(suite, options, arguments) for by, options in BY.items()}
    print(f"{'':8}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for by, tests in found.items():
        counts = Counter(outcome for outcome, _ in tests.values())
        print(f"{by:8}" + "".join(f"{counts[x]:>8}" for x in ("passed", "failed", "skipped")))
    nothing = ("missing", "")
    for test, (outcome, _) in found["JAX"].items():
        here, why = found["fungrad"].get(test, nothing)
        if outcome == "passed" and here != "passed":
            print(f"{here}: {test}: {why[:200]}")


def install(pip=(sys.executable, "-m", "pip", "install", "--quiet")):
    """Install the libraries; return those that cannot be. Without JAX or autograd there is nothing to compare with: an error."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = project["optional-dependencies"]["ecosystem"]
    if not subprocess.run([*pip, *wanted], check=False).returncode:
        return []
    failed = [x for x in wanted if subprocess.run([*pip, x], check=False).returncode]
    if {"jax", "jaxlib", "autograd"} & {x.partition(">")[0] for x in failed}:
        raise SystemExit(
            f"not installed: {', '.join(failed)}; JAX and autograd are what fungrad is compared with"
        )
    print(f"not installed, and left out: {', '.join(failed)}")
    return failed


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    if sys.argv[1] == "--install":
        raise SystemExit(0 if not install() else 3)
    main(*sys.argv[1:])
