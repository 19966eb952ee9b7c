"""`tests/everywhere.py`, with interpreters and results that are made up: what it runs, prints and exits with."""

import subprocess
import sys

import pytest

from tests import everywhere

VERSION = ".".join(map(str, sys.version_info[:3]))
PYTHONS = {"3.11": "/a/python", "3.12": "/b/python", "3.14t": "/c/python"}


@pytest.fixture
def ran(monkeypatch):
    """The names of the rows that are run, all of which pass but that of Python 3.11."""
    names = []

    def run(row, python):
        assert python == PYTHONS[row.version]
        names.append(row.name)
        return f"{row.name} was run", row.name != "3.11"

    monkeypatch.setattr(everywhere, "interpreters", lambda: PYTHONS)
    monkeypatch.setattr(everywhere, "run", run)
    return names


def test_a_row_that_fails_does_not_keep_the_others_from_being_run(ran, capsys):
    assert everywhere.main([]) == 1
    assert ran == ["3.11-oldest", "3.11", "3.12", "3.14t"]
    table = capsys.readouterr().out.partition(everywhere.HEAD)[2].strip().splitlines()
    assert [line.split()[0] for line in table] == [row.name for row in everywhere.ROWS]
    assert table[3].split(maxsplit=1) == ["3.13", "no such interpreter is found"]


def test_rows_can_be_chosen(ran, capsys):
    assert everywhere.main(["3.14t", "3.11-oldest"]) == 0
    assert ran == ["3.11-oldest", "3.14t"]
    assert everywhere.main(["3.12", "3.13"]) == 1  # what is asked for should be there
    assert everywhere.main(["3.12", "3.10"]) == 2
    assert "no such row: 3.10. There are 3.11-oldest 3.11 3.12" in capsys.readouterr().out
    assert ran == ["3.11-oldest", "3.14t", "3.12"]


def test_interpreters_that_are_missing_are_no_failure(ran, monkeypatch):
    monkeypatch.delitem(PYTHONS, "3.11")
    assert everywhere.main([]) == 0


def test_a_list_runs_nothing(ran, capsys):
    assert everywhere.main(["--list"]) == 0
    listed = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert ran == []
    assert ["3.12", "/b/python"] in listed
    assert ["3.13", "not"] in listed


def test_what_has_run_is_shown_after_an_interrupt(ran, monkeypatch, capsys):
    run = everywhere.run

    def interrupted(row, python):
        if row.version == "3.12":
            raise KeyboardInterrupt
        return run(row, python)

    monkeypatch.setattr(everywhere, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        everywhere.main([])
    assert capsys.readouterr().out.rstrip().endswith("3.11 was run")


def test_interpreters_are_asked_for_their_version(monkeypatch, tmp_path):
    monkeypatch.setattr(everywhere, "PLACES", (str(tmp_path / "*"),))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PYTHONS", "/not/there")
    (tmp_path / "python3.13").write_text("no program")
    ((version, python),) = everywhere.interpreters().items()
    assert python == sys.executable
    assert version.rstrip("t") == VERSION.rpartition(".")[0]


@pytest.mark.parametrize(
    ("last", "counts"),
    [
        ("31911 passed in 3369.95s (0:56:09)", (31911, 0)),
        ("89 failed, 31911 passed, 2 warnings in 3369.95s (0:56:09)", (31911, 89)),
        ("1 failed, 2 errors in 1.00s", (0, 3)),
        ("no tests ran in 0.01s", (0, 0)),
        ("", (0, 0)),
    ],
)
def test_counts(last, counts):
    assert everywhere.counts_in(last) == counts
    assert (
        everywhere.counts_in(f"FAILED a::b - 7 passed\nno: 8 failed\n{last or 'end'}\n") == counts
    )


@pytest.mark.parametrize(("code", "well"), [(0, True), (1, False), (3, False)])
def test_the_line_of_a_row(monkeypatch, tmp_path, capsys, code, well):
    def run_pytest(row, inside, log):
        log.parent.mkdir()
        log.write_text("FAILED tests/a.py::b - no\n1 failed, 2 passed in 3.0s\n")
        return code

    monkeypatch.setattr(everywhere, "ROOT", tmp_path)
    monkeypatch.setattr(everywhere, "environment", lambda row, python: sys.executable)
    monkeypatch.setattr(everywhere, "run_pytest", run_pytest)
    line, good = everywhere.run(everywhere.Row("3.13t"), "python")
    assert good is well
    words = line.split()
    assert words[:2] == ["3.13t", VERSION]
    assert words[5:7] == ["2", "1"]
    assert ("pytest ended with 3" in line) is (code == 3)
    assert "FAILED tests/a.py::b - no" in capsys.readouterr().out


def test_an_environment_that_cannot_be_made_fails_its_row_alone(monkeypatch):
    def environment(row, python):
        raise subprocess.CalledProcessError(1, ["pip", "install"])

    monkeypatch.setattr(everywhere, "environment", environment)
    line, good = everywhere.run(everywhere.Row("3.13t"), "python")
    assert "no environment" in line
    assert not good
