"""The grid of functions and transforms in docs/numpy.md, and what runs its cells.

    python -m tests.numpy.grid

writes the page. A cell is a call (tests/numpy/calls.py) under a transform; tests/numpy/test_grid.py runs
each one, so what the page says holds.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import fungrad as fg
from fungrad.core import tree
from fungrad.numpy.exclusions import REASONS
from tests.backends.fake_cupy import make_module
from tests.numpy.calls import MODULES, TYPES, aliases, calls, functions
from tests.numpy.checker import Call, Case

PAGE = Path(__file__).parents[2] / "docs" / "numpy.md"
CELLS = ("eager", "jit", "jvp", "vjp", "vmap", "cupy")

GAPS: dict[tuple[str, str], str] = {}
"""For each cell that does not work, why."""

for _cell in ("jvp", "vjp"):
    GAPS["nextafter", _cell] = (
        "a step to the next number, which differences cannot show; its derivative is taken to be 0"
    )

GAPS["spacing", "cupy"] = "CuPy has no such function"

NOTES: dict[tuple[str, str], str] = {}
"""For each cell that works under a condition, the condition."""

for _cell in ("jit", "vmap"):
    for _name in (
        *("argwhere", "compress", "extract", "flatnonzero", "intersect1d", "nonzero", "setdiff1d"),
        *("setxor1d", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse"),
        "unique_values",
    ):
        NOTES[_name, _cell] = "with `size=`"
    NOTES["where", _cell] = "with `size=`, where the condition alone is given"
    NOTES["bincount", _cell] = "with `length=`"
    NOTES["roots", _cell] = "with `strip_zeros=False`"
    NOTES["repeat", _cell] = "with `total_repeat_length=`, where the repeats are traced"
    NOTES["real_if_close", _cell] = "for real arrays"
    NOTES["polymul", _cell] = NOTES["polydiv", _cell] = "leading zeros are not left out"
    NOTES["delete", _cell] = "at places that are not traced, or one that is"
    NOTES["ix_", _cell] = "of integers"
    for _name in ("histogram", "histogram_bin_edges"):
        NOTES[_name, _cell] = "with a number of bins or edges, not a rule for them"
NOTES["arange", "jit"] = "with ends that are not traced"


def call_of(case: Case) -> Call:
    """Return a call as a function of its arrays."""
    return Call(case.functions()[0], case.args, case.kwargs, case.static)


def _has_derivative(case: Case, declared: bool = True) -> bool:
    """Whether the result of a call has derivatives by its arrays; by those `declared` to have, if asked."""
    with np.errstate(all="ignore"):
        expected = case.functions()[1](*case.args, **case.kwargs)
    return bool(call_of(case).moving(case.diff_argnums if declared else None, expected))


SUITS: dict[str, Callable[[Case], bool]] = {
    "eager": lambda case: True,
    "jit": lambda case: case.jit,
    "jvp": _has_derivative,
    "vjp": _has_derivative,
    "vmap": lambda case: case.vmap and bool(call_of(case).traced),
    "cupy": lambda case: bool(call_of(case).traced),
}
"""For each column, whether it can be shown by a call."""

COULD: dict[str, Callable[[Case], bool]] = {
    "jvp": lambda case: _has_derivative(case, declared=False),
    "vjp": lambda case: _has_derivative(case, declared=False),
    "vmap": lambda case: bool(call_of(case).traced),
    "cupy": lambda case: bool(call_of(case).traced),
    "jit": lambda case: True,
}
"""For all columns but the first, whether a call would suit if it worked; else it does not apply."""


def case_of(name: str, cell: str) -> Case | None:
    """Return the call a cell is shown by; None if there is none."""
    found = calls()[aliases().get(name, name)]
    return next((case for case in found if SUITS[cell](case)), None)


def state(name: str, cell: str) -> str:
    """Return "works", "gap" or "none" (the column does not apply to the function)."""
    if (name, cell) in GAPS:
        return "gap"
    if case_of(name, cell) is not None:
        return "works"
    could = COULD[cell]
    if any(could(case) for case in calls()[aliases().get(name, name)]):
        raise LookupError(f"no call shows {name} under {cell}: add one, or a reason to GAPS")
    return "none"


def run(name: str, cell: str, backend: str = "numpy") -> None:
    """Run a cell; raise if it does not work."""
    case = case_of(name, cell)
    if (name, cell) in GAPS:  # run what would be shown
        case = next(c for c in calls()[name] if COULD[cell](c) and not SUITS[cell](c))
        case = dataclasses.replace(case, jit=True, vmap=True, diff_argnums=None)
    elif case is None:
        raise LookupError(f"{cell} does not apply to {name}")
    if cell == "cupy":
        _run_on_cupy(case, backend)
    else:
        case.check((cell,))


def _run_on_cupy(case: Case, backend: str) -> None:
    """Run a call on arrays of CuPy, or of the stand-in for it."""
    if backend == "cupy":
        import cupy

        _compare_on(cupy, case)
        return
    module = make_module()
    with mock.patch.dict(sys.modules, {"cupy": module}):
        _compare_on(module, case)


def _compare_on(cupy: Any, case: Case) -> None:
    call = call_of(case)
    expected = case.functions()[1](*case.args, **case.kwargs)
    arrays = [cupy.asarray(x) for x in call.traced]
    found = fg.jit(call)(*arrays) if case.jit else fg.vjp(call, *arrays)[0]
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        if isinstance(x, cupy.ndarray):
            x = x.get()
        elif not _is_constant(x):
            raise TypeError(f"a result is a {type(x)}, not an array of CuPy")
        y = np.asarray(y)
        if x.dtype != y.dtype or x.shape != y.shape:
            raise TypeError(f"a result is {x.dtype}{x.shape}, not {y.dtype}{y.shape}")
        np.testing.assert_allclose(x, y, rtol=case.rtol or 1e-12, atol=1e-12)


def _is_constant(x: Any) -> bool:
    """Whether a result holds no floating-point numbers, so may be a constant of the program."""
    return np.asarray(x).dtype.kind in "biu"


# The page

INTRODUCTION = """\
# NumPy's functions under fungrad's transforms

Every mark is a test (`make docs-grid` writes this page).

- **eager**: on plain arrays, the result is NumPy's.
- **jit**: compiled, the result is NumPy's.
- **jvp**, **vjp**: forward and reverse derivatives agree with central differences.
- **vmap**: mapped over its arguments, the result is that of a loop.
- **cupy**: run on CuPy's arrays, compiled where it can be, the result is NumPy's. {made_with}

A dash: it does not apply, as derivatives of integers, or `vmap` of functions without array arguments. Notes have conditions and gaps. Write NumPy's names; in code that is [not read](python.md#reading), call functions that make arrays (`array`, `zeros`, ...) as `fungrad.numpy`'s.
"""

MADE_WITH = {
    "numpy": "This column was made without a GPU, with the strict stand-in for CuPy of "
    "`tests/backends/fake_cupy.py`: it shows that arrays of the device go to CuPy's functions only, not "
    "that CuPy has them all and computes the same.",
    "cupy": "This column was made with CuPy on a GPU.",
}
TITLES = {"": "numpy", "linalg": "numpy.linalg", "fft": "numpy.fft"}
MARKS = {"works": "✓", "gap": "✗", "none": "–"}


def page(backend: str = "numpy") -> str:
    """Return the text of the page."""
    notes: list[str] = []
    parts = [INTRODUCTION.format(made_with=MADE_WITH[backend])]
    for module in MODULES:
        names = [name for name in functions() if name.rpartition(".")[0] == module]
        parts.append(f"## {TITLES[module]}\n\n{_table(names, notes)}")
        if not module:
            parts.append(
                "These tell something of an array and give none, in any transform: "
                f"{', '.join(f'`{name}`' for name in TYPES)}. Dtypes and constants are NumPy's own."
            )
    parts.append("## Notes\n\n" + "\n".join(f"{i}. {text}" for i, text in enumerate(notes, 1)))
    parts.append(_exclusions())
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _table(names: Sequence[str], notes: list[str]) -> str:
    second: dict[str, list[str]] = {}
    for name, first in aliases().items():
        if first != name:
            second.setdefault(first, []).append(name)
    lines = [f"| function | {' | '.join(CELLS)} |", f"|---|{':-:|' * len(CELLS)}"]
    for name in names:
        if aliases().get(name, name) != name:
            continue
        label = ", ".join(f"`{x.rpartition('.')[2]}`" for x in [name, *second.get(name, [])])
        lines.append(f"| {label} | {' | '.join(_cell(name, cell, notes) for cell in CELLS)} |")
    return "\n".join(lines)


def _cell(name: str, cell: str, notes: list[str]) -> str:
    text = GAPS.get((name, cell)) or NOTES.get((name, cell))
    mark = MARKS[state(name, cell)]
    if text is None:
        return mark
    if text not in notes:
        notes.append(text)
    return f"{mark} ({notes.index(text) + 1})"


def _exclusions() -> str:
    lines = [
        f"- {', '.join(f'`{name}`' for name in names.split())}: "
        + reason.replace("numpy.{name}", "NumPy's own")
        for reason, names in REASONS.items()
    ]
    return "## What is left out of `numpy`, and why\n\n" + "\n".join(lines)


def main(backend: str) -> None:
    """Write the page."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(backend), "utf-8")
    works = [state(name, cell) for name in functions() for cell in CELLS]
    print(f"{PAGE.name}: {len(functions())} functions, {works.count('works')} cells work, "
          f"{works.count('gap')} do not")  # fmt: skip


if __name__ == "__main__":
    main("cupy" if "--backend=cupy" in sys.argv[1:] else "numpy")
