"""Notebooks as they are stored: run from top to bottom, with what they show, and nothing of the machine that ran them.

`make test` runs their cells too (`pytest --nbmake notebooks`), and `make notebooks` stores them anew.
"""

import copy
import re

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")  # tools.notebooks needs it, and pictures
pytest.importorskip("PIL")

from tools.notebooks import FOLDER, METADATA, faults  # noqa: E402

PATHS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(params=PATHS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def test_names_are_numbers_without_gaps():
    numbers = [int(path.stem.split("_")[0]) for path in PATHS]
    assert numbers == list(range(1, len(PATHS) + 1))
    assert len(numbers) >= 16


def test_stored_notebook(notebook):
    nbformat.validate(notebook)
    assert notebook.metadata == METADATA
    assert all(set(cell.metadata) <= {"tags"} for cell in notebook.cells)
    assert notebook.cells[0].source.startswith("# ")
    assert faults(notebook) == []


def test_each_notebook_has_a_picture(notebook):
    outputs = [x for cell in notebook.cells for x in cell.get("outputs", [])]
    assert any(kind.startswith("image/") for x in outputs for kind in x.get("data", {}))


def test_links_lead_to_files(notebook):
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)#]+)", text)
    assert [x for x in links if "://" not in x and not (FOLDER / x).exists()] == []


def planted(kind):
    """Return a stored notebook with one fault in its first cell that prints."""
    notebook = copy.deepcopy(nbformat.read(PATHS[0], as_version=4))
    cell = next(x for x in notebook.cells if any("text" in y for y in x.get("outputs", [])))
    if kind == "no output":
        cell.outputs = []
    elif kind == "number":
        cell.execution_count += 1
    elif kind == "/home/":
        cell.outputs[0].text += "/home/somebody/notebook.py"
    elif kind == "at 0x7f":
        cell.outputs[0].text += "<function f at 0x7f12ab34cd56>"
    elif kind == "12:34:56":
        cell.outputs[0].text += "done at 12:34:56"
    elif kind == "bytes":
        cell.outputs[0].text += "." * 400_000
    else:
        cell.outputs.append(nbformat.v4.new_output("stream", name="stderr", text=kind))
    return notebook


@pytest.mark.parametrize(
    "kind",
    ["no output", "number", "/home/", "at 0x7f", "12:34:56", "bytes", "UserWarning: careful"],
)
def test_faults_are_found(kind):
    (fault,) = faults(planted(kind))
    assert kind in fault
