"""Which tests run: each is one of some day or of the rest, none of both; and what is measured as slow."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import tiers

ROOT = Path(__file__).parent.parent

CONFTEST = """
from pathlib import Path
from tests import tiers

tiers.SLOW = Path(__file__).with_name("slow.txt")
pytest_addoption = tiers.add_options
pytest_configure = tiers.configure
"""

TESTS = """
import subprocess, sys, time
import numpy as np
import pytest

@pytest.fixture(scope="module")
def shared():
    time.sleep(0.6)

@pytest.fixture(scope="module")
def listed():
    pass

def test_alone(): pass
def test_listed(): pass
def test_with_listed(listed): pass

@pytest.mark.parametrize("k", range(3))
def test_few(k): pass

@pytest.mark.parametrize("k", range(200))
def test_grid(k): pass

@pytest.mark.parametrize("k", range(40))
def test_listed_grid(listed, k): pass

@pytest.mark.whole
@pytest.mark.parametrize("k", range(30))
def test_table(k): pass

def test_shares(shared): pass
def test_sleeps(): time.sleep(0.6)
def test_starts(): subprocess.run([sys.executable, "-c", ""], check=True)
"""

SLOW = """# Comment.
0.7 test_them.py::test_listed
0.7 test_them.py::test_grid[5]
0.7 test_them.py::listed (fixture)
"""

DRIVER = """
import contextlib, io, json, sys
import numpy as np
import pytest

class Collected:
    def pytest_collection_finish(self, session):
        self.names = [item.nodeid.partition("::")[2] for item in session.items]
        self.slow = [i.nodeid.partition("::")[2] for i in session.items if i.get_closest_marker("slow")]

def collect(*options):
    found, out = Collected(), io.StringIO()
    with contextlib.redirect_stdout(out):
        code = pytest.main(["--collect-only", "-p", "no:cacheprovider", "test_them.py", *options], plugins=[found])
    assert code == 0, out.getvalue()
    return found.names, found.slow, out.getvalue()

runs = {name: collect(*name.split()) for name in sys.argv[1:]}
with contextlib.redirect_stdout(io.StringIO()):
    pytest.main(["-p", "no:cacheprovider", "-k", "shares or sleeps or starts or alone", "--measure=measured.txt", "test_them.py"])
print(json.dumps(runs))
"""

DAYS = [f"--tier=daily --day={k}" for k in range(tiers.DAYS)]
REST = [f"--rest={k}/4 --day=2" for k in (1, 2, 3, 4)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The tests that each choice of options runs, those marked slow among them, and the output; and the folder."""
    folder = tmp_path_factory.mktemp("tiers")
    for name, text in [
        ("conftest.py", CONFTEST),
        ("test_them.py", TESTS),
        ("slow.txt", SLOW),
        ("driver.py", DRIVER),
        ("pytest.ini", f"[pytest]\npythonpath = {ROOT}\nmarkers =\n    slow: is\n    whole: is\n"),
    ]:
        (folder / name).write_text(text)
    options = ["", "--tier=quick", "-m slow", *DAYS, *REST]
    command = [sys.executable, "driver.py", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1]), folder


def names(runs, options):
    return set(runs[0][options][0])


def test_everything_runs_without_an_option(runs):
    found, slow, text = runs[0][""]
    assert len(found) == len(set(found)) == 3 + 3 + 200 + 40 + 30 + 3
    assert "tests: all" in text
    marked = {"test_listed", "test_with_listed", "test_grid[5]"}
    assert set(slow) == marked | {f"test_listed_grid[{k}]" for k in range(40)}
    assert names(runs, "-m slow") == set(slow)


def test_a_week_runs_all_that_is_not_slow(runs):
    everything, slow, _ = runs[0][""]
    assert set().union(*[names(runs, day) for day in DAYS]) == set(everything) - set(slow)


def test_a_day_runs_all_but_most_of_grids(runs):
    for day in DAYS:
        found = names(runs, day)
        assert {"test_alone", "test_few[2]", "test_table[17]", "test_grid[0]"} <= found
        assert 10 < len([x for x in found if x.startswith("test_grid")]) < 60
        assert not any("listed" in x for x in found)
    assert "(--day=3 runs the same again)" in runs[0][DAYS[3]][2]


def test_the_rest_is_what_the_day_leaves_out(runs):
    day, parts = names(runs, DAYS[2]), [names(runs, part) for part in REST]
    assert sum(map(len, parts)) == len(set().union(*parts))
    assert set().union(*parts) == names(runs, "") - day
    assert all(parts)


def test_the_quick_tier_samples_tables_too(runs):
    found = names(runs, "--tier=quick")
    assert {"test_alone", "test_grid[0]", "test_table[0]"} <= found
    assert len([x for x in found if x.startswith("test_table")]) < 15


def test_slow_tests_and_fixtures_are_measured(runs):
    lines = (runs[1] / "measured.txt").read_text().splitlines()[1:]
    measured = {line.split(maxsplit=1)[1]: float(line.split()[0]) for line in lines}
    assert {*measured} == {
        f"test_them.py::{name}" for name in ("shared (fixture)", "test_sleeps", "test_starts")
    }
    assert measured["test_them.py::shared (fixture)"] >= 0.6


def test_parts_are_checked():
    assert tiers._part("4/4") == (3, 4)
    for text in ("0/4", "5/4", "4", "a/b", "1/0"):
        with pytest.raises(ValueError, match="is not K/N"):
            tiers._part(text)


def test_each_file_that_is_divided_as_a_whole_runs_in_one_part():
    files = {f"tests/peers/{path.name}" for path in (ROOT / "tests/peers").glob("test_*.py")}
    parts = tiers.parts_of_files(4)
    assert parts.keys() == files | {*tiers.ALONE}
    assert all((ROOT / name).exists() for name in tiers.ALONE)
    for group in (files, tiers.ALONE):
        assert {parts[name] for name in group} == {0, 1, 2, 3}  # without tests, pytest fails
    assert tiers.read_seconds(tiers.SECONDS).keys() <= parts.keys()


def test_parts_take_about_as_long():
    seconds = {"a": 9.0, "b": 4.0, "c": 4.0, "d": 3.0}
    assert tiers.shares(seconds, 2) == {"a": 0, "b": 1, "c": 1, "d": 1}


def test_seconds_of_files_that_did_not_run_stay(tmp_path):
    path, (first, second, *_) = tmp_path / "files.txt", tiers.ALONE
    path.write_text(f"# Comment.\n7 {first}\n8 {second}\n9 tests/peers/test_gone.py\n")
    measured = {f"{second}::test_x[1]": 2.0, f"{second}::y (fixture)": 3.0, "tests/test_a.py::b": 1}
    tiers.write_seconds(path, measured)
    assert tiers.read_seconds(path) == {first: 7.0, second: 5.0}


def test_the_makefile_leaves_the_same_files_alone():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    line = re.search(r"^SEVERAL = \$\(patsubst %,(.*)%(.*), (.*)\)$", makefile, re.MULTILINE)
    assert tuple(f"{line[1]}{name}{line[2]}" for name in line[3].split()) == tiers.ALONE


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("k", range(2))
def test_each_test_draws_the_first_numbers_of_its_modules_generators(k):
    assert RNG.random() == np.random.default_rng(0).random()
