"""The first random functions: what ``python -m tests.fuzz functions`` does for longer."""

import json
from collections import Counter

import pytest

import fungrad as fg
from tests.fuzz import functions
from tests.fuzz.campaign import Mismatch, ready_test, shrink
from tests.fuzz.counts import Counts, joined, table
from tests.fuzz.functions_cases import NotAProgram
from tests.fuzz.functions_language import Function

PROGRAMS = 30


def test_functions():
    functions.tally.clear()
    runs = Counter()
    for seed in range(PROGRAMS):
        program = functions.generate(seed)
        runs.update(functions.modes_of(program))
        found = functions.check(program)
        assert found is None, f"seed {seed}: {found}\n{program.source}"
    for mode in functions.MODES:
        counts = {word: functions.tally[f"{mode} {word}"] for word in functions.WORDS}
        assert sum(counts.values()) == runs[mode]
    assert functions.tally["grad agreed"] >= PROGRAMS / 2


def function(*lines):
    points = (((0.3, -0.7, 1.1), 0.4, 2), ((0.6, 0.2, -0.9), -0.8, 3), ((-0.4, 0.5, 0.1), 0.9, 0))
    return Function("def f(x, t, n):\n" + "".join(f"    {line}\n" for line in lines), points)


def test_seeds_give_functions_that_print_and_run_again():
    for seed in range(5):
        program = functions.generate(seed)
        assert functions.generate(seed) == program
        assert eval(repr(program), {"Function": Function}) == program


@pytest.mark.parametrize(
    "lines",
    [
        ["while True:", "    n += 1"],
        ["return unknown"],
        ["return t * 1e9"],
        ["return np.empty_like(x).sum() + t"],
    ],
    ids=["endless", "unbound", "large", "unset"],
)
def test_what_does_not_run_is_no_program(lines, tmp_path):
    program = function(*lines)
    with pytest.raises(NotAProgram):
        functions.Case(program, tmp_path)
    assert functions.check(program) is None


def wrong_gradient(transform):
    return lambda f, **k: lambda *args: tuple(2 * y for y in transform(f, **k)(*args))


@pytest.mark.parametrize("name", ["grad", "jit"])
def test_faults_are_found_and_shrunk(monkeypatch, name):
    right = getattr(functions.fg, name)
    faulty = {"grad": wrong_gradient(right), "jit": lambda f, **k: lambda *args: 2 * f(*args)}
    monkeypatch.setattr(functions.fg, name, faulty[name])
    program = function("a = x * 2", "if n > 1:", "    t = t * 0.5", "return np.sin(a[0]) + t")
    found = functions.check(program)
    assert found is not None
    assert found.kind == name
    smallest = shrink(functions, program, found, tries=300)
    assert len(smallest.source.splitlines()) <= 3
    assert not any(word in smallest.source for word in ("if", "sin", "t +"))
    compile(ready_test(functions, 7, smallest, found), "test", "exec")


def test_what_is_written_as_a_test_runs():
    scope = {}
    program = function("return np.sin(x).sum() * t")
    exec(ready_test(functions, 3, program, Mismatch("a sine", "")), scope)
    scope["test_functions_3"]()


def test_an_error_of_python_is_no_refusal():
    found = functions.Outcome(None, TypeError("of a user"), ("TypeError", "", None), [], ())
    expected = found._replace(value=1.0, error=None, failed=("", "", None))
    with pytest.raises(functions.Wrong, match="raises TypeError"):
        functions._transformed("grad", found, expected, 1e-9)


def test_each_mode_has_its_share():
    program = function("return t")
    assert functions.modes_of(program) == list(functions.MODES)
    runs = Counter(
        mode
        for number in range(768)
        for mode in functions.modes_of(program._replace(number=number))
    )
    assert set(runs) == set(functions.MODES)
    assert all(runs[mode] == 768 for mode in functions.ALWAYS)
    assert all(runs[mode] == 128 for mode in functions.STACKS)
    assert all(runs[mode] == 768 // share for mode, (share, _) in functions.SELDOM.items())


def test_counts_add_up_over_runs(tmp_path):
    path = str(tmp_path / "counts.json")
    first = Counts("functions", path)
    first.add(100, 200, Counter({"grad agreed": 100}))
    first.add(300, 350, Counter({"grad agreed": 49, "grad failed": 1}))
    first.failed(320, "grad")
    first.save()
    again = Counts("functions", path)
    assert again.left(0, 1000) == (0, 100)
    assert again.left(100, 1000) == (200, 300)
    assert again.left(120, 180) == (200, 200)
    assert again.left(340, 400) == (350, 400)
    again.add(200, 300, Counter({"grad agreed": 100}))
    again.save()
    (entry,) = json.loads((tmp_path / "counts.json").read_text())
    assert entry["seeds"] == [[100, 350]]
    assert entry["mismatches"] == {"grad": [320]}
    assert "| 250 | 1 |" in table([entry])
    assert "| grad | 249 | 0 | 1 | 0 |" in table([entry])
    other = Counts("programs", path)
    assert other.left(0, 1000) == (0, 1000)


def test_counts_without_a_file_are_not_kept(tmp_path):
    counts = Counts("functions", None)
    counts.add(0, 10, Counter())
    counts.save()
    assert not list(tmp_path.iterdir())


def test_ranges_that_touch_are_one():
    assert joined([(5, 7), (0, 3), (3, 5), (9, 9), (8, 12), (10, 11)]) == [(0, 7), (8, 12)]


def test_an_int_on_one_path_and_a_float_on_the_other_are_counted_apart():
    program = function("return min(int(x.mean()), 1.5)")
    functions.tally.clear()
    assert functions.check(program) is None
    assert functions.tally["jit refused"] == functions.tally["read agreed"] == 1
    assert functions.tally["refused, an int on one path and a float on the other"] >= 1


def test_a_float_in_place_of_what_is_always_an_int_is_a_mismatch(monkeypatch):
    program = function("return int(x.mean() * 3)")
    assert functions.check(program) is None
    jit = fg.jit
    monkeypatch.setattr(fg, "jit", lambda f, **options: lambda *a: jit(f, **options)(*a) * 1.0)
    found = functions.check(program)
    assert found is not None
    assert found.kind == "jit: type"
