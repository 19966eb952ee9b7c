"""Drawings of patterns and colourings: the right places, colours and counts, and files."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import fungrad as fg
from fungrad.patterns.walk import DenseError
from fungrad.show.matrices import colour

SVG = "{http://www.w3.org/2000/svg}"


def titles(drawing):
    """Return the fill of each element with a title, by the title."""
    root = ET.fromstring(drawing.svg)
    return {
        x.find(f"{SVG}title").text: x.get("fill")
        for x in root.iter(f"{SVG}rect")
        if x.find(f"{SVG}title") is not None
    }


def arrow(x):
    return np.concatenate([x[:1] * x.sum(), x[1:] * x[0]])


@pytest.mark.parametrize("mode", ["auto", "columns", "rows", "both"])
def test_each_entry_has_the_colour_of_its_product(mode):
    drawing = fg.show.sparsity(arrow, mode=mode)(np.ones(6))
    matrix = fg.sparse_jacobian(arrow, mode=mode)(np.ones(6))
    shown = titles(drawing)
    entries = {
        title: fill for title, fill in shown.items() if title.startswith("row ") and "," in title
    }
    assert len(entries) == matrix.nnz == drawing.pattern.nnz
    for i, j, k in zip(*drawing.pattern.tocoo().coords, drawing.products, strict=True):
        found = [title for title in entries if title.startswith(f"row {i}, column {j}:")]
        assert len(found) == 1
        assert entries[found[0]] == colour(k)
        forward = "jvp" in found[0]
        which = drawing.columns[j] if forward else drawing.rows[i]
        count = drawing.columns.max(initial=-1) + 1
        assert k == which + (0 if forward else count)
        strip = f"column {j}: jvp {k + 1}" if forward else f"row {i}: vjp {k + 1}"
        assert shown[strip] == colour(k)


def test_large_matrices_are_drawn_in_blocks():
    drawing = fg.show.sparsity(lambda x: x[1:] - x[:-1])(np.ones(1000))
    shown = [title for title in titles(drawing) if title.startswith("rows from")]
    counts = [int(title.split(": ")[1].split()[0]) for title in shown]
    assert sum(counts) == drawing.pattern.nnz == 1998
    assert "drawn in blocks of 9 x 9" in drawing.svg
    assert len(drawing.svg) < 100_000


def test_hessians_and_argnums():
    def energy(a, x):
        return a * np.sum(x[1:] * x[:-1])

    drawing = fg.show.sparsity(energy, argnums=1, order=2)(2.0, np.ones(4))
    assert repr(drawing) == "<Hessian of energy: 4 x 4, 6 entries (37.5 %), 3 products>"
    expected = fg.sparsity(energy, argnums=1, order=2)(2.0, np.ones(4))
    assert (drawing.pattern != expected).nnz == 0


def test_empty_matrices():
    drawing = fg.show.sparsity(lambda x: x[:0])(np.ones(3))
    assert repr(drawing) == "<Jacobian of <lambda>: 0 x 3, 0 entries, 0 products>"
    ET.fromstring(drawing.svg)


def test_files(tmp_path):
    drawing = fg.show.sparsity(arrow)(np.ones(6))
    drawing.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text("utf-8") == drawing.svg
    with pytest.raises(ValueError, match=r"ends with .svg or .png.*got '.dot'"):
        drawing.save(tmp_path / "a.dot")
    pytest.importorskip("resvg_py")
    drawing.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_errors():
    with pytest.raises(ValueError, match="order is 1 or 2, got 3"):
        fg.show.sparsity(arrow, order=3)
    with pytest.raises(ValueError, match=r"mode is one of .*got 'rows'"):
        fg.show.sparsity(arrow, order=2, mode="rows")
    with pytest.raises(TypeError, match=r"show\.sparsity"):
        fg.show.sparsity(3)
    with pytest.raises(DenseError, match="test_matrices"):
        fg.show.sparsity(lambda x: x - x.mean())(np.ones(10_000))
