"""A table of plain NumPy programs, as scientists, engineers and students write them; one module for each field.

The modules know nothing of fungrad: they import NumPy, SciPy and the standard library. Their functions branch on values, loop until
something has converged, fill arrays that `np.zeros` made, and call `math`, as the programs of public repositories do.
`python -m tests.reading.programs` prints which transforms take which of them.
"""

import importlib
from pathlib import Path

from tests.reading.programs.program import TRANSFORMS, Program

OTHERS = {"__init__", "__main__", "checks", "differences", "program", "running"}
"""The modules that hold no programs."""
FIELDS = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in OTHERS)
PROGRAMS: tuple[Program, ...] = tuple(
    program
    for name in FIELDS
    for program in importlib.import_module(f"tests.reading.programs.{name}").PROGRAMS
)

__all__ = ["FIELDS", "PROGRAMS", "TRANSFORMS", "Program"]
