"""The first random functions: what ``python -m tests.fuzz functions`` does for longer."""

import pytest

from tests.fuzz import functions
from tests.fuzz.campaign import Mismatch, ready_test, shrink
from tests.fuzz.functions_cases import NotAProgram
from tests.fuzz.functions_language import Function

PROGRAMS = 30


def test_functions():
    functions.tally.clear()
    for seed in range(PROGRAMS):
        program = functions.generate(seed)
        found = functions.check(program)
        assert found is None, f"seed {seed}: {found}\n{program.source}"
    for mode in functions.MODES:
        counts = {word: functions.tally[f"{mode} {word}"] for word in functions.WORDS}
        assert sum(counts.values()) == PROGRAMS
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
