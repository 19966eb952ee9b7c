"""Draw the packages in their layers, and which imports which, into ARCHITECTURE.md.

python tools/layers.py          # write the drawing
python tools/layers.py --check  # fail if it is not current
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests import test_layers as layers  # noqa: E402

PAGE = ROOT / "ARCHITECTURE.md"
MARKS = re.compile(r"(<!-- layers -->\n).*?(<!-- end of layers -->)", re.DOTALL)
PUBLIC, TOP, ABOVE = "public modules", "fungrad itself", "on fungrad"
HOLDS = {
    "core": "programs, tracing, primitives' base, errors, settings",
    "primitives": "every operation with its rules",
    "rewrite": "tangents, transposes, gradients, batches, Taylor",
    "compile": "simplification, schedules, source, kernels",
    "transforms": "grad, jvp, vjp, vmap, jit, ...",
    "programs": "loops, branches, custom rules, solvers",
    "numpy": "NumPy's functions on tracers, assignment, views",
    PUBLIC: "lax, scipy, random, tree, debug, ...",
    TOP: "the public names",
    ABOVE: "extend, nn, optim, training, show, sharding, ...",
    "compat": "stand-ins for jax, autograd, numpy",
    "reading": "the user's source",
}
"""What each row of the drawing holds, from the ground up."""


def row_of(module: str) -> str:
    """Return the row of the drawing that a module belongs to."""
    package = module.split(".")[1] if "." in module else TOP
    if layers.LAYERS.get(package) == layers.ABOVE:
        return ABOVE
    return package if package in HOLDS or package == TOP else PUBLIC


def imports() -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Count the files of each row, and those of one row that import from another."""
    files = layers.modules(ROOT)
    sizes = Counter(map(row_of, files))
    found: Counter[tuple[str, str]] = Counter()
    for module in files:
        reached = {
            row_of(name)
            for _, name in layers.imported(module, files, lazy=True)
            if (module, name) not in layers.EXCEPTIONS
        }
        found.update((row_of(module), row) for row in reached if row != row_of(module))
    return sizes, found


def share(part: int, whole: int) -> str:
    """Return the sign of how many files of a row import from another."""
    return "●" if 2 * part > whole else "○" if part else "·"


def drawing() -> str:
    """Return the rows from the top down, with the rows that each imports from."""
    sizes, found = imports()
    rows = list(HOLDS)
    heads = {PUBLIC: "publ", TOP: "top", ABOVE: "on"}
    columns = [row for row in rows if any(found[other, row] for other in rows)]
    lines = [
        f"layer package           {''.join(f'{heads.get(row, row)[:4]:>5}' for row in columns)}"
    ]
    for row in reversed(rows):
        number = {TOP: layers.TOP, ABOVE: layers.ABOVE}.get(row) or layers.LAYERS.get(
            row, layers.PUBLIC
        )
        signs = (
            "■" if row == column else share(found[row, column], sizes[row]) for column in columns
        )
        cells = "".join(f"{sign:>5}" for sign in signs)
        lines.append(f"{number:>3}   {row:<16}  {cells}   {HOLDS[row]}")
    return "```text\n" + "\n".join(line.rstrip() for line in lines) + "\n```\n"


def main() -> int:
    """Write the drawing, or with `--check` tell whether it is current."""
    old = PAGE.read_text("utf-8")
    new = MARKS.sub(lambda match: f"{match[1]}{drawing()}{match[2]}", old)
    if "--check" in sys.argv[1:]:
        if new != old:
            print("the layers of ARCHITECTURE.md are not current: python tools/layers.py")
        return int(new != old)
    PAGE.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
