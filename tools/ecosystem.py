"""Run a library's own tests by JAX and by fungrad, and print what passes beside each other.

    python tools/ecosystem.py [--limit SECONDS] SUITE [what pytest takes: -k PATTERN, -x, ...]
    python tools/ecosystem.py --install

The second installs the libraries of `make test-ecosystem`, each by itself if they cannot be installed together, and says which are
left out; their tests are skipped.

SUITE is a file or folder of tests, such as `tests` in a checkout of equinox or optax, or what `--pyargs` finds; the library, JAX and
pytest are installed in the Python that runs this. Of a run that takes longer than the limit, 1,800 s by default, the tests that were done
by then count. Tests that pass by JAX alone are listed, with the first line of their errors, and those lines by how often they occur.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BY = {"JAX": [], "fungrad": ["-p", "fungrad.compat.jax"]}
LIMIT = 1800.0
PLUGIN = "reports_as_they_come"
REPORTER = """
import json, os

FILE = open(os.environ["REPORTS"], "a", buffering=1)

def pytest_runtest_logreport(report):
    if report.when == "call" or not report.passed:
        FILE.write(json.dumps([report.nodeid, report.outcome, why(report)]) + chr(10))

def pytest_collectreport(report):
    if report.failed:
        FILE.write(json.dumps([report.nodeid, "failed", why(report)]) + chr(10))

def why(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else str(report.longrepr)) if report.failed else ""
"""
"""The plugin that writes down each test when it is done: the report that pytest itself writes comes at the end."""


def outcomes(suite, options, arguments, limit=LIMIT):
    """Run pytest; return for each test "passed", "skipped" or "failed", with its message, and whether the run ended by itself."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{PLUGIN}.py").write_text(REPORTER, "utf-8")
        reports, output = Path(folder) / "reports", Path(folder) / "output"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        command += ["--continue-on-collection-errors"]
        command += ["-p", PLUGIN, suite, *arguments]
        path = os.pathsep.join([folder, str(ROOT), os.environ.get("PYTHONPATH", "")])
        with output.open("wb") as file:
            try:
                subprocess.run(
                    command,
                    env=os.environ | {"PYTHONPATH": path, "REPORTS": str(reports)},
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    timeout=limit,
                    check=False,
                )
                ended = True
            except subprocess.TimeoutExpired:
                ended = False
        found = {}
        for line in reports.read_text("utf-8").splitlines() if reports.exists() else ():
            test, outcome, why = json.loads(line)
            if found.get(test, ("",))[0] != "failed":  # a teardown that fails fails the test
                found[test] = outcome, (why.strip().splitlines() or [""])[0]
        if not found and ended:
            said = output.read_text("utf-8", errors="replace")
            raise SystemExit(f"{' '.join(command)}:\n{said[-3000:]}")
        return found, ended


def main(suite, *arguments, limit=LIMIT):
    """Run and print."""
    runs = {by: outcomes(suite, options, arguments, limit) for by, options in BY.items()}
    print(f"{'':8}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for by, (tests, ended) in runs.items():
        counts = Counter(outcome for outcome, _ in tests.values())
        row = "".join(f"{counts[x]:>8}" for x in ("passed", "failed", "skipped"))
        print(f"{by:8}{row}" + ("" if ended else f"  ended after {limit:g} s"))
    nothing = ("not run", "")
    passed = [test for test, (outcome, _) in runs["JAX"][0].items() if outcome == "passed"]
    here = {test: runs["fungrad"][0].get(test, nothing) for test in passed}
    both = sum(outcome == "passed" for outcome, _ in here.values())
    print(f"of {len(passed)} that pass by JAX, {both} pass by fungrad")
    others = {test: x for test, x in here.items() if x[0] != "passed"}
    for test, (outcome, why) in others.items():
        print(f"{outcome}: {test}: {why[:200]}")
    causes = Counter(
        re.sub(r"[0-9.e+-]*[0-9][0-9.e+-]*", "#", why)[:120] for _, why in others.values()
    )
    for cause, times in causes.most_common(20):
        print(f"{times:>6} {cause}")


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
    if sys.argv[1] == "--limit":
        main(*sys.argv[3:], limit=float(sys.argv[2]))
    else:
        main(*sys.argv[1:])
