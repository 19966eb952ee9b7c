"""Walk a new user's path from nothing, in an empty environment, and time its steps.

python tools/first_steps.py                # install what this repository has
python tools/first_steps.py fungrad.whl    # or a wheel
python tools/first_steps.py --write        # and put the table into docs/first_steps.md

Installing depends on the connection, and all of it on the machine: the table says on which it was.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "first_steps.md"
PATTERN = r"(<!-- seconds -->\n).*?(<!-- end of seconds -->)"


def blocks() -> dict[str, str]:
    """Return the programs of the page, by the heading that each is under."""
    text = PAGE.read_text("utf-8")
    return dict(re.findall(r"^## (.*?)\n.*?^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


SESSION = """
import json, sys, time
names, seconds = {"__name__": "__main__"}, []
for text in json.loads(sys.argv[1]):
    start = time.perf_counter()
    exec(text, names)
    seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""
"""Runs the programs it is given one after another, as a person does in one session."""


def walk(package: str) -> list[tuple[str, float]]:
    """Return the steps with their seconds, outside of the repository."""
    steps = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

        def run(*command: str) -> str:
            options = {"cwd": folder, "env": environment, "check": True}
            return subprocess.run(command, stdout=subprocess.PIPE, text=True, **options).stdout

        python = f"{folder}/venv/{'Scripts' if os.name == 'nt' else 'bin'}/python"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for name, command in {
            "an empty environment": [sys.executable, "-m", "venv", "venv"],
            "install fungrad, NumPy, SciPy and optree": [*install, package],
            "install matplotlib": [*install, "matplotlib"],
        }.items():
            start = time.perf_counter()
            run(*command)
            steps.append((name, time.perf_counter() - start))
        programs = blocks()
        printed = run(python, "-c", SESSION, json.dumps(list(programs.values())))
        return [*steps, *zip(programs, json.loads(printed.splitlines()[-1]), strict=True)]


def table(steps: list[tuple[str, float]]) -> str:
    """Return the steps as a table, with the sum and where it was measured."""
    total = sum(seconds for _, seconds in steps)
    rows = [
        f"| {name[0].lower()}{name[1:]} | {seconds:.2f} |"
        for name, seconds in [*steps, ("all", total)]
    ]
    where = f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    load = f" under a load of {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return "\n".join(["| step | seconds |", "|---|---:|", *rows, "", f"Measured {where},{load}."])


def main() -> None:
    """Print the table, and write it if asked to."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    text = table(walk(str(Path(arguments[0]).resolve()) if arguments else str(ROOT)))
    print(text)
    if "--write" in sys.argv:
        page = PAGE.read_text("utf-8")
        PAGE.write_text(
            re.sub(PATTERN, lambda m: f"{m[1]}{text}\n{m[2]}", page, flags=re.DOTALL), "utf-8"
        )


if __name__ == "__main__":
    main()
