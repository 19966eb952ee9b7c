"""docs/coming_from.md: the lines in the columns "here" and "gives" run, together with the page's examples."""

import doctest
import re

import pytest

import fungrad as fg
from tests.test_hygiene import ROOT, run_blocks

PAGE = ROOT / "docs" / "coming_from.md"
TABLE = re.compile(r"^\|(?P<head>.*\| here \| gives) \|\n\|[-|]+\|\n(?P<rows>(?:\|.*\|\n)+)", re.M)


def code_of(cell):
    found = re.fullmatch(r"`([^`]+)`|", cell.strip())
    assert found, f"not one piece of code: {cell!r}"
    return found[1] or ""


def rows_of(table):
    """Yield the cells of each row of a table."""
    columns = table["head"].count("|") + 1
    for row in table["rows"].splitlines():
        cells = row[1:-1].split("|")
        assert len(cells) == columns, f"a cell is missing, or there is a sign | in one: {row}"
        yield cells


def as_doctest(table):
    """Return the last two columns of a table as a block of examples."""
    lines = []
    for *_, ours, result in rows_of(table):
        here, gives = code_of(ours), code_of(result)
        assert here, "there is no line of ours"
        lines += [f">>> {here}", *([gives] if gives else [])]
    return "```python\n" + "\n".join(lines) + "\n\n```\n"


def with_tables_as_examples(text):
    return TABLE.subn(as_doctest, text)


@pytest.fixture
def _restored():
    yield
    fg.config.update("default_device", None)


@pytest.mark.usefixtures("_restored")
def test_each_line_of_ours_gives_what_the_page_says(tmp_path):
    page = PAGE.read_text("utf-8")
    text, tables = with_tables_as_examples(page)
    assert tables == page.count("| gives |") > 0
    path = tmp_path / "page.md"
    path.write_text(text, "utf-8")
    run_blocks(path)


def test_wrong_lines_are_found(tmp_path):
    path = tmp_path / "page.md"
    page = "| | there | here | gives |\n|---|---|---|---|\n| sum | `a` | `1 + 1` | `{}` |\n"
    for result, wrong in (("2", False), ("3", True)):
        path.write_text(with_tables_as_examples(page.format(result))[0])
        if wrong:
            with pytest.raises(doctest.DocTestFailure):
                run_blocks(path)
        else:
            assert run_blocks(path) == 1
    for row in ("| a | `b` | `1 | 2` | `3` |", "| a | `b` | | `3` |", "| a | `b` | `1`, `2` | |"):
        with pytest.raises(AssertionError):
            with_tables_as_examples(page.splitlines(True)[0] + "|---|---|---|---|\n" + row + "\n")
