"""The grid of docs/numpy.md: every cell is run, and the page is up to date."""

import re
import warnings

import numpy as np
import pytest

from tests.folding import each
from tests.numpy.calls import aliases, calls, functions
from tests.numpy.grid import CELLS, GAPS, MADE_WITH, NOTES, PAGE, page, run, state


def check_cell(name, cell, backend="numpy"):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        found = state(name, cell)
        if found == "works":
            run(name, cell, backend)
        elif found == "gap":
            with pytest.raises(Exception):  # noqa: B017, PT011 - each its own; the reason is in GAPS
                run(name, cell)


@each("cell", [cell for cell in CELLS if cell != "cupy"])
@pytest.mark.parametrize("name", functions())
def test_cells(name, cell):
    check_cell(name, cell)


@pytest.mark.parametrize("name", functions())
def test_cell_of_cupy(name, xp):
    check_cell(name, "cupy", xp.__name__)


def test_every_function_has_a_call():
    without = {name for name in functions() if aliases().get(name, name) not in calls()}
    assert without == set()


def test_gaps_and_notes_are_of_functions():
    assert {name for name, _ in [*GAPS, *NOTES]} <= set(functions())
    assert not set(GAPS) & set(NOTES)


def test_the_page_is_up_to_date():
    """Names and gaps, that is: with which library the last column was made is its own affair."""
    text = PAGE.read_text("utf-8")
    for made_with in MADE_WITH.values():
        text = text.replace(made_with, "")
    expected = page().replace(MADE_WITH["numpy"], "")
    assert text == expected, "run `make docs-grid`"
    assert len(re.findall("^\\| `", text, re.MULTILINE)) > 300
