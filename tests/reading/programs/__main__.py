"""Print which transforms take which of the plain NumPy programs.

    python -m tests.reading.programs [--only TRANSFORM] [--dict] [PROGRAM or FIELD ...]

First each cell that does not pass, with the start of its error, then how often errors come, the slowest cells, and counts in each column. `--dict` prints the cells as entries of
a dict, as tests/reading/test_programs.py holds them. `--only plain` holds the programs themselves against what the table promises.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter

# As tests/conftest.py: programs are not compiled to kernels, and LAPACK has one thread.
os.environ.setdefault("FUNGRAD_COMPILE", "off")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.reading.programs import TRANSFORMS
from tests.reading.programs.running import Cell, table

WIDTH = 200
"""How much of a message is printed."""
OUTCOMES = ("passes", "refused", "warned", "wrong", "time limit", "crash", "senseless")


def print_counts(cells: list[Cell], transforms: tuple[str, ...]) -> None:
    """Print how many cells of each column came to what."""
    counts = Counter((cell.transform, cell.outcome) for cell in cells)
    print(f"\n{'':12}" + "".join(f"{outcome:>12}" for outcome in OUTCOMES))
    for transform in transforms:
        row = "".join(f"{counts[transform, outcome]:12}" for outcome in OUTCOMES)
        print(f"{transform:12}{row}")


def print_causes(cells: list[Cell]) -> None:
    """Print messages by how often they come, without names of functions and types."""
    causes = Counter(re.sub(r"\w+(\[.*?\]|\(\w+\))", "...", cell.reason)[:WIDTH] for cell in cells)
    print()
    for reason, count in causes.most_common(40):
        print(f"{count:5}  {reason}")


def print_slow(cells: list[Cell]) -> None:
    """Print the cells that took longest."""
    print()
    for cell in sorted(cells, key=lambda cell: -cell.seconds)[:10]:
        print(f"{cell.seconds:5.1f} s  {cell.name}, {cell.transform}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.reading.programs")
    parser.add_argument("names", nargs="*", metavar="PROGRAM or FIELD")
    parser.add_argument("--only", action="append", choices=["plain", *TRANSFORMS])
    parser.add_argument("--dict", action="store_true", help="print entries of a dict of failures")
    options = parser.parse_args()
    transforms = tuple(options.only or TRANSFORMS)
    cells = []
    for cell in table(options.names, transforms):
        cells.append(cell)
        if cell.outcome in ("passes", "senseless"):
            continue
        reason = cell.reason[:WIDTH]
        if options.dict:
            print(f"    ({cell.name!r}, {cell.transform!r}): {reason!r},", flush=True)
        else:
            print(
                f"{cell.name}, {cell.transform}: {cell.outcome} {cell.place}\n    {reason}",
                flush=True,
            )
    if not options.dict:
        print_causes([cell for cell in cells if cell.outcome not in ("passes", "senseless")])
        print_slow(cells)
        print_counts(cells, transforms)


if __name__ == "__main__":
    main()
