"""Plain NumPy programs as they are, under each transform."""

import re

import pytest

from tests.reading.programs import PROGRAMS, Program
from tests.reading.programs.checks import CHECKS, Disagreement, check_plain

REFUSED: dict[tuple[str, str], str] = {
    # A mapped number is one of NumPy's, which divides by zero with a warning, where Python's raises the error that is caught.
    ("division_fallback", "vmap"): "RuntimeWarning: divide by zero encountered in divide",
    ("guarded_steps", "vmap"): "RuntimeWarning: divide by zero encountered in divide",
}
"""Cells that raise an error, and how its message begins, after the user's line: `python -m tests.reading.programs --dict`."""


def cell(program: Program, transform: str) -> object:
    """Return the parameters of one case, under a name."""
    return pytest.param(program, transform, id=f"{program.name}-{transform}")


CELLS = [cell(program, transform) for program in PROGRAMS for transform in program.transforms]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_program_is_what_the_table_promises(program):
    check_plain(program)


@pytest.mark.parametrize(("program", "transform"), CELLS)
def test_transform(program, transform):
    reason = REFUSED.get((program.name, transform))
    if reason is None:
        CHECKS[transform](program)
        return
    name, _, message = reason.partition(": ")
    pattern = re.escape(message).replace(r"\ ", r"\s+")
    with pytest.raises(Exception, match=pattern) as error:
        CHECKS[transform](program)
    assert type(error.value).__name__ == name
    assert not isinstance(error.value, Disagreement)


def test_table_has_each_name_once():
    names = [program.name for program in PROGRAMS]
    assert len(names) >= 300
    assert len(set(names)) == len(names)


def test_cells_that_are_refused_are_in_the_table():
    assert {*REFUSED} <= {
        (program.name, transform) for program in PROGRAMS for transform in program.transforms
    }
