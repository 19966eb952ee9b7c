"""The plugin for pytest finds planted mistakes, says what they are, and costs nothing where it is not used."""

import os
import re
import textwrap
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent

HEADER = """
import numpy as np, pytest
import fungrad as fg, fungrad.numpy as fnp
from fungrad import test_util as tu
X = np.array([1.0, 2.0])
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Write a test module and run pytest with the plugin on it, in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv(
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1"
    )  # others take time, and may import NumPy
    pytester.makeini(
        "[pytest]\naddopts = --strict-markers -p no:cacheprovider\nfilterwarnings = error"
    )

    def run(text, *options, plugin="pytest_fungrad", header=HEADER):
        if text is not None:
            pytester.makepyfile(test_it=header + text)
        return pytester.runpytest_subprocess("-p", plugin, *options)

    return run


def lines_of(result):
    return [line.removeprefix("E").strip() for line in result.outlines]


# What it finds

PLANTED = '''
@fg.custom_vjp
def product(x, y, z):
    return fnp.sum(x * y + z)

def backward(residuals, ct):
    x, y = residuals
    return ct * y, 2 * ct * x, ct * np.ones(2)

product.defvjp(lambda x, y, z: (product(x, y, z), (x, y)), backward)

def test_gradient():
    tu.check_all(product, (X, X, X), modes=("rev",))

kept = []

@pytest.mark.no_leaked_tracers
def test_leak():
    fg.jit(lambda x: kept.append(x) or x)(1.0)

@pytest.mark.no_nans
def test_nan():
    with np.errstate(invalid="ignore"):
        fg.jit(lambda x: fnp.log(x - 1.5) * 2)(X)

@fg.custom_batching.custom_vmap
def shifted(x):
    return x + 1

@shifted.def_vmap
def _(size, batched, x):
    return x + 2, True

def test_vmap():
    tu.check_vmap(shifted, (X,))

def test_jit():
    count = []
    def impure(x):
        count.append(x)
        return x * len(count)
    tu.check_jit(impure, (X,))

step = fg.jit(lambda w, x: w * x)

def test_retrace():
    with tu.assert_no_retrace(step):
        for n in (2, 3):
            step(2.0, np.ones(n))

def test_trace_count():
    with tu.assert_trace_count(fg.jit(lambda w: w), 1):
        pass

def test_program():
    a = fg.make_expr(lambda x: fnp.sin(x) * x)(X)
    b = fg.make_expr(lambda x: fnp.cos(x) * x)(X)
    tu.assert_equal_exprs(a, b)

def test_values():
    tu.assert_allclose({"w": X}, {"w": X + [0.0, 1.0]})
'''  # fmt: skip

SAID = """
AssertionError: check_grads(product), order 1 (reverse mode): VJP cotangent disagrees with differences:
by argument: wrong by y (off by *); right by x, z
worst element: y[*]: float64[] differs: found *, off by *, 100 % (allowed *)
by step: off by * at steps 0.0002, 0.0001, 5e-05 (order 0.0): * so the derivative rule is wrong
no_leaked_tracers: a tracer of type float64[] of `jit(<lambda>)`, which has returned, is still referenced*
FloatingPointError: `log` of float64[2] gave nan in its result of type float64[2], first at index (0,), at test_it.py:* (in <lambda>): fg.jit(lambda x: fnp.log(x - 1.5) * 2)(X)
AssertionError: check_vmap(shifted): vmap and a loop differ in element 0 of the batch: float64[] differs: found 3, expected 2, off by 1, 50 % (allowed *
AssertionError: check_jit(impure): the function is not pure: it gives other results when it is called again*
in the second call: 2 of 2 elements of float64[2] differ; worst at [1]: found 4, expected 2, off by 2, 100 % (allowed 0)
AssertionError: assert_no_retrace: 1 trace too many
1. retraced jit(<lambda>): argument x went from float64[2] to float64[3]
at test_it.py:* (in test_retrace): step(2.0, np.ones(n))
AssertionError: assert_trace_count: <jit(<lambda>)> was traced 0 times, not 1
AssertionError: assert_equal_exprs: the programs differ first in equation 1
actual:   b:float64[2] = sin a
at test_it.py:* (in <lambda>): a = fg.make_expr(lambda x: fnp.sin(x) * x)(X)
expected: b:float64[2] = cos a
AssertionError: assert_allclose: ['w']: 1 of 2 elements of float64[2] differ; worst at [1]: found 2, expected 3, off by 1, 33.3 % (allowed *)
"""


def test_planted_mistakes_are_found_and_said(run):
    result = run(PLANTED)
    result.assert_outcomes(failed=9)
    found = pytest.LineMatcher(lines_of(result))
    said = SAID.replace("[", "?").replace("]", "?")  # which mean sets of characters
    found.fnmatch_lines(said.split("\n")[1:-1])


def test_the_same_without_mistakes(run):
    right = PLANTED.replace("2 * ct", "ct").replace("kept.append(x) or x", "x")
    right = right.replace("x - 1.5", "x + 1.5").replace("x + 2, True", "x + 1, True")
    right = right.replace("x * len(count)", "x").replace("(2, 3)", "(2, 2)")
    right = right.replace("    pass", "    step(3.0, X)").replace(
        "fg.jit(lambda w: w), 1", "step, 0"
    )
    right = right.replace("fnp.cos(x)", "fnp.sin(x)").replace("[0.0, 1.0]", "[0.0, 0.0]")
    run(right).assert_outcomes(passed=9)


def test_markers_of_classes_and_modules(run):
    text = """
        import unittest
        pytestmark = pytest.mark.no_nans

        class TestIt(unittest.TestCase):
            def test_nan(self):
                with np.errstate(all="ignore"):
                    fg.jit(lambda x: x / x)(0.0)

        @pytest.mark.no_leaked_tracers
        def test_error_keeps_its_frames():
            fg.jit(lambda x: x.nothing)(1.0)
    """
    result = run(textwrap.dedent(text))
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E*FloatingPointError: `divide`*", "E*AttributeError*nothing*"])


# Snapshots

SNAPSHOT = """
@pytest.mark.parametrize("n", [2, 3], ids=["two/2", "three"])
def test_loss(expr_snapshot, n):
    expr_snapshot(fg.make_expr(lambda x: fnp.sin(x) * 2.0)(np.ones(n)))

class TestModel:
    def test_step(self, expr_snapshot):
        lowered = fg.jit(lambda x: x + 0.0).lower(X)
        expr_snapshot(lowered, "traced")
        expr_snapshot(lowered.simplified)
"""


def snapshots(pytester):
    return sorted(p.name for p in (pytester.path / "__snapshots__" / "test_it").glob("*"))


NAMES = [
    "TestModel.test_step-2.expr",
    "TestModel.test_step-traced.expr",
    "test_loss[three].expr",
    "test_loss[two_2]-f74769c6.expr",
]


def test_snapshots(run, pytester):
    result = run(SNAPSHOT)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "E*expr_snapshot: there is no __snapshots__/test_it/test_loss?two_2?-*.expr. Write it: "
            "pytest 'test_it.py::test_loss?two/2?' --update-snapshots"
        ]
    )
    result = run(None, "--update-snapshots")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["* snapshots written: 4 *", "__snapshots__/test_it/TestModel*"])
    assert snapshots(pytester) == NAMES
    kept = (pytester.path / "__snapshots__" / "test_it" / NAMES[2]).read_text()
    assert kept == (
        "{ lambda a:float64[3] .\n  b:float64[3] = sin a\n"
        "  c:float64[3] = broadcast[shape=(3,), axes=(0,)] 2.0\n"
        "  d:float64[3] = multiply b c\n  return (d,) }\n"
    )
    result = run(None)
    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("* snapshots *")


def test_snapshots_with_xdist(run, pytester):
    result = run(SNAPSHOT, "--update-snapshots", "-p", "xdist", "-n", "1")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["* snapshots written: 4 *"])
    result = run(SNAPSHOT[SNAPSHOT.index("class") :], "-p", "xdist", "-n", "1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["* snapshots of no test: 2 *"])


def test_changed_and_unused_snapshots(run, pytester):
    run(SNAPSHOT, "--update-snapshots").assert_outcomes(passed=3)
    changed = SNAPSHOT.replace("* 2.0", "* 3.0")
    result = run(changed)
    result.assert_outcomes(passed=1, failed=2)
    found = pytest.LineMatcher(lines_of(result))
    found.fnmatch_lines(
        [
            "*Failed: expr_snapshot: the program is not as in __snapshots__/test_it/test_loss?three?.expr, first in "
            "line 3, from test_it.py:* (in <lambda>): expr_snapshot(fg.make_expr(lambda x: fnp.sin(x) * 3.0)*",
            "-  c:float64?3? = broadcast*2.0",
            "+  c:float64?3? = broadcast*3.0",
            "If it should be so: pytest 'test_it.py::test_loss?three?' --update-snapshots",
        ]
    )
    fewer = changed.replace('ids=["two/2", "three"]', 'ids=["two", "three"]')
    run(fewer, "-k", "three", "--update-snapshots").assert_outcomes(passed=1, deselected=2)
    assert snapshots(pytester) == NAMES  # not all was run
    run(fewer, "test_it.py::TestModel", "--update-snapshots").assert_outcomes(passed=1)
    assert snapshots(pytester) == NAMES
    (pytester.path / "__snapshots__" / "test_it" / "test_loss[two].expr").write_text("")
    result = run(fewer.replace("[2, 3]", "[3, 3]").replace('"two"', '"many"'))
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.no_fnmatch_line("*snapshots of no test*")
    result = run(fewer, "--update-snapshots")
    result.stdout.fnmatch_lines(["* snapshots written: 1 *", "* snapshots removed: 1 *", "*two_2*"])
    last = SNAPSHOT[SNAPSHOT.index("class") :]
    result = run(last)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "* snapshots of no test: 2 *",
            "__snapshots__/test_it/test_loss?three?.expr",
            "__snapshots__/test_it/test_loss?two?.expr",
            "remove them with --update-snapshots",
        ]
    )
    run(last, "--update-snapshots")
    assert snapshots(pytester) == NAMES[:2]


def test_snapshots_of_what_is_none(run):
    result = run("""
def test_it(expr_snapshot):
    with pytest.raises(TypeError, match="expr_snapshot takes programs; got <function"):
        expr_snapshot(lambda x: x)

def test_twice(expr_snapshot):
    program = fg.make_expr(fnp.sin)(X)
    expr_snapshot(program, "a")
    expr_snapshot(program, "a")
""", "--update-snapshots")  # fmt: skip
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E*expr_snapshot: this test has two snapshots of the name 'a'"])


# How it is loaded


def test_it_costs_nothing_where_nothing_is_asked_for(run):
    text = "import sys\ndef test_it():\n    assert not {'numpy', 'fungrad'} & {*sys.modules}\n"
    run(text, header="").assert_outcomes(passed=1)


def test_it_can_be_left_out(run):
    result = run("def test_it(expr_snapshot): pass", plugin="no:pytest_fungrad")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'expr_snapshot' not found"])


def test_it_lists_its_markers_and_fixtures(run):
    found = run("", "--markers", "--strict-markers").stdout
    found.fnmatch_lines(
        ["@pytest.mark.no_leaked_tracers: fail if *", "@pytest.mark.no_nans: fail where *"]
    )


def test_assertions_are_rewritten_in_tests_and_in_fungrad(run, pytester):
    """As pytest does with all of a package that has a plugin, once it is installed."""
    pytester.makeconftest(
        "import pytest\npytest.register_assert_rewrite('fungrad', 'pytest_fungrad')"
    )
    result = run("""
def test_right():
    tu.check_all(lambda x: fnp.sin(x) * x, (X,))

def test_wrong():
    assert fg.grad(lambda x: x * x)(3.0) == 5.0
""")  # fmt: skip
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E*assert np.float64(6.0) == 5.0", "E* where *"])


def test_the_entry_point_has_the_name_of_the_module():
    """Else it would be loaded twice by ``-p pytest_fungrad``, which is an error."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"pytest_fungrad": "pytest_fungrad"}


def test_the_example_of_its_documentation(run):
    page = (ROOT / "docs" / "testing.md").read_text("utf-8")
    (example,) = re.findall(r"^```python skip\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    result = run(example, "--update-snapshots", header="")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["__snapshots__/test_it/test_program.expr"])
