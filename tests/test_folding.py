"""`each` makes one test of many cases, each of which is still named, and refuses fixtures that a case needs anew."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.folding import each

ROOT = Path(__file__).parent.parent
PROGRAM = '''
import warnings

import pytest

from tests.folding import each

SEEN = []
SQUARES = {"one": 1, "two": 4}


@pytest.fixture(scope="module")
def table():
    SEEN.append("made")
    return {1: 1, 2: 4}


@each("n", range(6), ids=lambda n: f"number {n}")
def test_some_fail(n):
    """Told."""
    print(f"printed by {n}")
    SEEN.append(n)
    if n == 1:
        pytest.skip("one is skipped")
    if n == 4:
        warnings.warn("four warns", UserWarning)
    assert n != 2, "two fails"


def test_all_ran():
    assert SEEN == [*range(6)]
    SEEN.clear()


@each("c", "xy")
@each(("a", "b"), lambda: [(1, "p"), pytest.param(2, "q", id="second"), (3, len)])
def test_product(a, b, c, table, xp):
    assert table[2] == 4
    SEEN.append((a, b, c))
    assert a != 2


def test_product_is_whole():
    assert SEEN == ["made", *[(a, b, c) for a, b in [(1, "p"), (2, "q"), (3, len)] for c in "xy"]]


@each("other", [3])
@pytest.mark.parametrize("outer", [1, 2])
@each("value", [{}, {}, ""], ids=["a", "a", "b"])
@pytest.mark.parametrize("inner", [1])
def test_with_parametrize(inner, outer, value, other):
    assert value or outer == 1


@each("n", [1, 2])
def test_all_skip(n):
    pytest.skip(f"{n} is skipped")


@each("n", [])
def test_none(n):
    pass
'''


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """What pytest prints of the program, in a process of its own."""
    folder = tmp_path_factory.mktemp("folding")
    (folder / "test_it.py").write_text(PROGRAM)
    (folder / "conftest.py").write_text(
        "import numpy, pytest\n@pytest.fixture(scope='session')\ndef xp():\n    return numpy\n"
    )
    settings = {
        "COLUMNS": "200",  # the width that messages are cut to
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(ROOT),
    }
    options = ("-p", "no:cacheprovider", "-ra", "-W", "error", "-o", "verbosity_subtests=1")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", folder, *options],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    return done.stdout


def lines_with(text, start):
    return [line for line in text.splitlines() if line.startswith(start)]


def test_a_case_that_fails_is_named_and_the_others_go_on(output):
    assert "SUBFAILED[number 2] test_it.py::test_some_fail - AssertionError: two fails" in output
    assert "SUBFAILED[number 4] test_it.py::test_some_fail - UserWarning: four warns" in output
    assert (
        "FAILED test_it.py::test_some_fail - Failed: 2 of 6 cases failed: number 2, number 4"
        in output
    )
    assert not lines_with(output, "FAILED test_it.py::test_all_ran")


def test_what_is_shown_of_a_case_is_its_own_code(output):
    section = output.partition("test_some_fail [number 2]")[2].partition("\n____")[0]
    assert '>       assert n != 2, "two fails"' in section
    assert "folding.py" not in section
    assert "printed by 2" in output


def test_a_case_that_is_skipped_is_counted(output):
    for reason in ("one is skipped", "1 is skipped", "2 is skipped", "there are no cases"):
        assert re.search(rf"SKIPPED.* \[1\] .*: {reason}\n", output)
    assert "10 failed, 4 passed, 4 skipped" in output.splitlines()[-1]


def test_a_stack_makes_the_product(output):
    assert lines_with(output, "FAILED test_it.py::test_product") == [
        "FAILED test_it.py::test_product - Failed: 2 of 6 cases failed: second-x, second-y"
    ]
    assert len(lines_with(output, "SUBFAILED[second-")) == 2


def test_parametrize_makes_tests_that_have_all_cases(output):
    assert lines_with(output, "FAILED test_it.py::test_with_parametrize") == [
        "FAILED test_it.py::test_with_parametrize[1-2] - Failed: 3 of 3 cases failed: a:0-3, a:1-3, b-3"
    ]


def local(source):
    """Define functions in a namespace of their own."""
    exec(textwrap.dedent(source), {"pytest": pytest, "each": each})


@pytest.mark.parametrize(
    ("before", "parameters", "named"),
    [
        ("", "n, rng", "rng"),
        ("", "n, tmp_path, monkeypatch", "tmp_path, monkeypatch"),
        ("", "n, tmp_path, unknown", "tmp_path"),
        ("@pytest.fixture\ndef made():\n    pass\n", "n, made", "made"),
        ("@pytest.fixture(autouse=True)\ndef reset():\n    pass\n", "n", "reset"),
    ],
)
def test_fixtures_that_a_case_needs_anew_are_refused(before, parameters, named):
    with pytest.raises(TypeError, match=rf"share a fixture \({named}\): write pytest.mark"):
        local(f"{before}@each('n', [1])\ndef test({parameters}):\n    pass\n")


def test_fixtures_that_nothing_is_known_of_are_refused_when_the_test_runs(subtests):
    @each("n", [1])
    def test(n, unknown):
        raise NotImplementedError

    with pytest.raises(TypeError, match=r"\(unknown\)"):
        test(subtests, unknown=1)


def test_marks_that_ask_for_fixtures_are_seen():
    with pytest.raises(TypeError, match=r"\(rng\)"):
        local("@each('n', [1])\n@pytest.mark.usefixtures('rng')\ndef test(n):\n    pass\n")


def test_names_are_those_of_parameters():
    with pytest.raises(TypeError, match=r"test\(n\) is given \['m'\]"):
        local("@each('m', [1])\ndef test(n):\n    pass\n")
    with pytest.raises(TypeError, match=r"is given \['n', 'n'\]"):
        local("@each('n', [1])\n@each('n', [1])\ndef test(n):\n    pass\n")


def test_marks_of_cases_are_refused(subtests):
    @each("n", [pytest.param(1, marks=pytest.mark.skip)])
    def test(n):
        raise NotImplementedError

    with pytest.raises(TypeError, match="marks go with a test"):
        test(subtests)
