"""The table of planted mistakes: what must hold so that `python -m tests.mutants` can plant them. Nothing is run."""

import re
from pathlib import Path

import pytest

from tests.mutants import __main__ as command
from tests.mutants.row import Mutant
from tests.mutants.table import MUTANTS

ROOT = Path(__file__).parent.parent
AREAS = {
    *("core", "rewrite", "compile", "numpy", "programs", "random", "optim"),
    *("compat", "primitives", "transforms", "scipy", "lax"),
}


def test_names_are_unique_and_there_are_enough():
    names = [m.name for m in MUTANTS]
    assert len({*names}) == len(names) >= 60
    assert [n for n in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", n)] == []
    assert len({m.what for m in MUTANTS}) == len(MUTANTS)


def test_all_areas_have_mutants():
    areas = [Path(m.file).parts[1] for m in MUTANTS]
    assert {area: areas.count(area) for area in AREAS if areas.count(area) < 3} == {}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_it_can_be_planted(mutant):
    source = (ROOT / mutant.file).read_text("utf-8")
    mistaken = mutant.planted(source)
    assert mistaken != source
    compile(mistaken, mutant.file, "exec", dont_inherit=True)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_its_tests_exist(mutant):
    assert mutant.tests
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        if name:
            name = name.partition("[")[0]  # of a case
            assert re.search(rf"^def {name}\(", (ROOT / path).read_text("utf-8"), re.M), test


def test_a_text_that_stands_twice_is_not_replaced():
    mutant = Mutant("a-name", "a.py", "x", "y", "what", ("tests",))
    assert mutant.planted("x = 1") == "y = 1"
    for source, count in (("x = x", 2), ("z", 0)):
        with pytest.raises(ValueError, match=f"stands {count} times in a.py, not once"):
            mutant.planted(source)


@pytest.mark.parametrize(
    ("status", "lines", "caught"),
    [
        (0, [("begin", "a::b")], ""),
        (1, [("begin", "a::b"), ("fail", "a::b")], "a::b"),
        (2, [("fail", "a")], "a"),
        (5, [], ""),
        (None, [("begin", "a::b")], "time limit, a::b"),
        (None, [], "time limit, before the first test"),
        (-11, [("begin", "a::b")], "died (-11), a::b"),
        (4, [], "pytest ended with 4"),
    ],
)
def test_what_an_exit_status_means(status, lines, caught):
    assert command.judged(status, lines, 1.0, "text").caught == caught


def test_names_are_chosen_by_patterns(capsys):
    first = MUTANTS[0].name
    assert [m.name for m in command.chosen([first])] == [first]
    assert command.chosen([]) == list(MUTANTS) == command.chosen(["*"])
    with pytest.raises(SystemExit, match="no such mutant: nothing"):
        command.chosen(["nothing"])
    assert command.main(["--list", first]) == 0
    assert capsys.readouterr().out.startswith(first)
