"""Write the tables of docs/distributed_results.md of what is equal and of faults: `python -m tests.distributed.table [equality] [faults]`.

Each runs the programs that the tests run; without a name, both are written. FUNGRAD_COMPILE must be off: kernels round otherwise.
"""

import os
import pickle
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ["FUNGRAD_COMPILE"] = (
    "off"  # kernels, where they come in one of two programs, round otherwise
)

import numpy as np

from benchmarks.tables import markdown
from tests.distributed.cases import COLLECTIVES, computed, names, transforms
from tests.distributed.faults import FAULTS, GO_ON, said
from tests.distributed.launch import launch

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "distributed_results.md"
COUNTS = (1, 2, 4)
TRANSFORMS = [name for name, _ in transforms("psum", lambda x: x)]
SAME = -1.0


def difference(found: Any, expected: Any) -> float:
    """Return `SAME` if all bits are, else the greatest difference, relative to the largest element."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        raise ValueError(f"{found.dtype}{found.shape} beside {expected.dtype}{expected.shape}")
    if found.tobytes() == expected.tobytes():
        return SAME
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def cell(found: Sequence[Sequence[float]]) -> str:
    """Return what a table says of the differences on some meshes, by numbers of processes: the greatest for each number."""
    texts = ["=" if max(of) == SAME else f"{max(of):.0e}" for of in found if of]
    return ", ".join(texts if len({*texts}) > 1 else texts[:1])


def equality() -> str:
    """Compute all on one, two and four processes, and by `vmap` in this one."""
    if os.environ.get("FUNGRAD_COMPILE") != "off":
        raise SystemExit("the table is of what NumPy computes: set FUNGRAD_COMPILE=off")
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for count in COUNTS:
            path = Path(folder, str(count))
            ended = launch(count, "-m", "tests.distributed.cases", str(path))
            if ended.returncode:
                raise RuntimeError(ended.stderr)
            runs.append(pickle.loads(path.read_bytes())[1])
    expected = {key: computed(*key, vmap=True) for key in names()}
    rows = []
    for name in COLLECTIVES:
        keys = [key for key in names() if key[1] == name]
        cells = [
            cell(
                [
                    [difference(run[k][t], expected[k][t]) for k in keys if t in expected[k]]
                    for run in runs
                ]
            )
            for t in TRANSFORMS
        ]
        rows.append([f"`{name}`", *cells])
    return markdown(["", *(f"`{t}`" for t in TRANSFORMS)], rows)


def told(text: str, process: int) -> tuple[str, float]:
    """Return the error that a process has ended with, and after how many seconds."""
    text = text.replace(f"{ROOT}{os.sep}", "")
    seconds = re.search(r"failed after ([\d.]+) s", text)
    error = re.search(
        r"^(?:[\w.]*\.)?(\w+Error: .*(?:\n  process [01] at .*)*)", text, re.MULTILINE
    )
    if seconds is None or error is None:
        raise ValueError(f"process {process} did not fail, but said: {text}")
    return error[1], float(seconds[1])


def fault(program: Callable[..., None], count: int = 4) -> list[str]:
    """Return the row of a fault, by injecting it into the second of some processes."""
    with tempfile.TemporaryDirectory() as folder:
        _, texts = said(program.__name__, Path(folder), count)
    what = [f"`{program.__name__}`", str(program.__doc__)]
    if program in GO_ON:
        if {*texts} != {"went on\n"}:
            raise ValueError(f"{program.__name__}: {texts}")
        return [*what, "all went on", ""]
    found = [told(text, i) for i, text in enumerate(texts) if i != 1]
    kinds = {error.partition(":")[0] for error, _ in found}
    if len(kinds) > 1:
        raise ValueError(f"{program.__name__}: {found}")
    lines = [f"`{line.strip()}`" for line in found[0][0].splitlines()]
    return [*what, "<br>".join(lines), f"{max(seconds for _, seconds in found):.1f}"]


def faults() -> str:
    """Inject all faults."""
    heads = ["", "what the second of four processes does", "what the other three get", "seconds"]
    return markdown(heads, [fault(program) for program in (*FAULTS, *GO_ON)], left=3)


TABLES: dict[str, Callable[[], str]] = {"equality": equality, "faults": faults}


def between(name: str) -> tuple[str, str]:
    """Return the lines of the page between which a table stands."""
    return f"<!-- {name}, by tests/distributed/table.py -->\n", f"\n<!-- end of {name} -->"


def stored(name: str) -> list[list[str]]:
    """Return the cells of a table as the page has it, heads first."""
    begin, end = between(name)
    text = PAGE.read_text("utf-8").partition(begin)[2].partition(end)[0].strip()
    head, _, *rows = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines()]
    return [head, *rows]


def main(*chosen: str) -> None:
    """Write the tables that are named, or both."""
    for name in chosen or TABLES:
        table = TABLES[name]()
        begin, end = between(name)
        before, _, rest = PAGE.read_text("utf-8").partition(begin)
        _, _, after = rest.partition(end)
        PAGE.write_text(f"{before}{begin}\n{table}{end}{after}", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
