"""Write the table of libraries in docs/coming_from_jax.md: ``python -m tests.ecosystem.table [RESULTS] [LIBRARY ...]``.

RESULTS is a folder in which what has been run is kept and taken from; by default all is run anew.
"""

import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np

from tests.ecosystem.compare import (
    GAPS,
    HERE,
    LIBRARIES,
    differences,
    is_installed,
    outcome,
    read,
    tolerance,
)

PAGE = HERE.parent.parent / "docs" / "coming_from_jax.md"
BEGIN, END = "<!-- libraries, by tests/ecosystem/table.py -->", "<!-- end of libraries -->"
HEAD = """\
| library | version | agree | largest difference | JAX: import, first, second run (s) | fungrad (s) | what differs or does not run |
|---|---|---|---|---|---|---|"""


def row(library, folder):
    """Return the row of a library."""
    path = HERE / "programs" / f"{library}.py"
    jax, fungrad = (
        read(path, by, folder) or outcome(path, by, folder) for by in ("jax", "fungrad")
    )
    found = differences(fungrad, jax)
    agree = [
        p for p, d in found.items() if not isinstance(d, str) and d <= tolerance(library, p, jax)
    ]
    largest = max([found[p] for p in agree], default=np.nan)
    seconds = ", ".join
    of = lambda side, i: f"{sum(side.report[p]['seconds'][i] for p in agree):.1f}"
    times = [
        seconds([f"{side.report['']['seconds'][0]:.1f}", of(side, 0), of(side, 1)])
        for side in (jax, fungrad)
    ]
    why = {p: GAPS[64].get(f"{library}.{p}", "") for p in found if p not in agree}
    others = "; ".join(f"`{p}`: {reason}".removesuffix(": ") for p, reason in why.items())
    version = metadata.version(LIBRARIES[library])
    counts = f"{len(agree)} of {len(found)}"
    name = library.replace("_", " ")
    return f"| {name} | {version} | {counts} | {largest:.0e} | {times[0]} | {times[1]} | {others} |"


def main(folder, *libraries):
    rows = [row(x, folder) for x in libraries or LIBRARIES if is_installed(x)]
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = "\n".join([BEGIN, "", HEAD, *rows, "", END])
    PAGE.write_text(before + table + after, "utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as own:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else own), *sys.argv[2:])
