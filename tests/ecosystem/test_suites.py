"""`tools/ecosystem.py SUITE` counts what passes by either side, also of runs that are ended."""

import pytest

SUITE = """
import os, sys, time
import pytest
HERE = "another" in sys.modules

def test_passes(): pass
def test_fails_here(): assert not HERE, "first line\\nlast line"
def test_raises_here():
    if HERE: raise ValueError("of 3 elements")
def test_fails_in_both(): raise KeyError
@pytest.mark.skip
def test_skipped(): pass
"""
HANGS = """
def test_never_ends():
    time.sleep(600 if HERE else 0)
def test_after(): pass
"""


@pytest.fixture
def compare(tool, tmp_path, monkeypatch):
    tool.BY = {"JAX": [], "fungrad": ["-p", "another"]}
    (tmp_path / "another.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(text, *arguments, **options):
        (tmp_path / "test_suite.py").write_text(text)
        tool.main(str(tmp_path / "test_suite.py"), *arguments, **options)

    return run


def test_what_passes_beside_each_other(compare, capsys):
    compare(SUITE)
    said = capsys.readouterr().out
    assert [line.split() for line in said.splitlines()[:3]] == [
        ["passed", "failed", "skipped"],
        ["JAX", "3", "1", "1"],
        ["fungrad", "1", "3", "1"],
    ]
    assert "of 3 that pass by JAX, 1 pass by fungrad" in said
    assert "test_suite.py::test_fails_here: AssertionError: first line\n" in said
    assert "last line" not in said
    assert "     1 ValueError: of # elements" in said


def test_of_a_run_that_does_not_end_what_was_done_counts(compare, capsys):
    compare(SUITE + HANGS, limit=10)
    said = capsys.readouterr().out
    assert "fungrad        1       3       1  ended after 10 s" in said
    assert "of 5 that pass by JAX, 1 pass by fungrad" in said
    assert "not run: " in said
    assert "::test_after" in said


def test_a_suite_that_does_not_start_is_an_error(compare):
    with pytest.raises(SystemExit, match="unrecognized arguments"):
        compare(SUITE, "--no-such-option")
