"""Run the examples, each in a process of its own, and print what they reached as a table.

python examples                          # all of them
python examples beam rocket              # these two
python examples --pictures docs/pictures # and draw
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from outcome import row

FOLDER = Path(__file__).parent
NO_EXAMPLES = ("__init__", "__main__", "outcome", "tasks")
LIMIT_S = 120


def run(path: Path, options: list[str]) -> bool:
    """Run one example and print its rows of the table; return whether it reached what it must."""
    start = time.perf_counter()
    command = [sys.executable, str(path), *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        print(row(path.stem, "not finished in time", "", "", f"> {LIMIT_S}"), flush=True)
        return False
    seconds = f"{time.perf_counter() - start:.1f}"
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    print(*rows or [row(path.stem, "no result", "", "", seconds)], sep="\n", flush=True)
    if done.returncode:
        print(f"{path.stem} failed:\n{done.stdout}{done.stderr}", file=sys.stderr)
    return done.returncode == 0 and bool(rows)


def main() -> int:
    """Run those that are named, or all; return 0 if all reached what they must."""
    known = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in NO_EXAMPLES)
    parser = argparse.ArgumentParser(prog="python examples", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="where to draw the results")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"there is no example {', '.join(unknown)}; there are {', '.join(known)}")
    print(row("name", "metric", "reached", "required", "seconds"))
    print(row("-" * 20, "-" * 52, "-" * 9, "-" * 15, "-" * 7), flush=True)
    reached = []
    for name in options.names or known:
        picture = options.pictures and options.pictures / f"{name}.png"
        reached.append(run(FOLDER / f"{name}.py", ["--picture", str(picture)] if picture else []))
    print(f"{sum(reached)} of {len(reached)} reached what they must")
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
