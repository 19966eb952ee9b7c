"""What holds for all functions of `fungrad.numpy`: names, signatures, eager calls, documentation."""

import inspect
import subprocess
import sys
import types

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.numpy.exclusions import EXCLUDED
from fungrad.numpy.rules import traced_functions
from tests.folding import each

MODULES = ("fft", "linalg")
CLASSES = ("c_", "r_", "vectorize")  # our own, that have their methods in common with NumPy's

FUNCTIONS = [
    name
    for name in fnp.__all__
    if callable(getattr(fnp, name)) and not isinstance(getattr(fnp, name), type)
]  # submodules, classes and constants aside
OURS = [name for name in FUNCTIONS if getattr(fnp, name) is not getattr(np, name)]
PLAIN = [name for name in OURS if not isinstance(getattr(np, name), np.ufunc)]


def test_names_are_listed_once():
    assert len(set(fnp.__all__)) == len(fnp.__all__)
    assert set(fnp.__all__) <= set(dir(fnp))


def public(module):
    """What a module says it has, and what else it shows."""
    return {*module.__all__, *(name for name in dir(module) if not name.startswith("_"))}


def test_every_name_of_numpy_is_here_or_has_a_reason_not_to_be():
    missing = public(np) - set(fnp.__all__) - set(EXCLUDED)
    assert sorted(missing) == []
    assert sorted(set(fnp.__all__) & set(EXCLUDED)) == []


@pytest.mark.parametrize("module", MODULES)
def test_every_name_of_a_submodule_is_here(module):
    ours, numpys = getattr(fnp, module), getattr(np, module)
    assert sorted(set(numpys.__all__) - set(ours.__all__)) == []


@each("name", sorted(EXCLUDED))
def test_an_excluded_name_gives_its_reason(name):
    with pytest.raises(AttributeError) as error:
        getattr(fnp, name)
    assert str(error.value) == f"fungrad.numpy has no {name!r}: {EXCLUDED[name]}"


@each("name", sorted({*fnp.__all__} - {*MODULES, *CLASSES}))
def test_names_are_numpys(name):
    value, numpys = getattr(fnp, name), getattr(np, name)
    if not callable(value) or isinstance(value, type):
        assert value is numpys
    elif value is not numpys and value.__name__ != numpys.__name__:
        assert value.__wrapped__ is traced_functions[numpys]  # two names for one function


@each("name", OURS)
def test_numpys_function_does_the_same_with_tracers(name):
    assert getattr(np, name) in traced_functions
    assert inspect.getdoc(getattr(fnp, name))


ADDED = {"start", "descending"}  # of later versions of NumPy


@each("name", PLAIN)
def test_signatures_are_numpys(name):
    try:
        numpys = inspect.signature(getattr(np, name)).parameters
    except ValueError:
        pytest.skip("NumPy does not tell its signature")
    ours = inspect.signature(traced_functions[getattr(np, name)]).parameters
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    added = ADDED - set(numpys)
    assert [p for p in ours if ours[p].kind in positional and p not in added] == [
        p for p in numpys if numpys[p].kind in positional
    ]
    if not any(p.kind is p.VAR_KEYWORD for p in ours.values()):
        assert {p for p in numpys if numpys[p].kind is not numpys[p].VAR_KEYWORD} <= set(ours)
    if not any(p.kind is p.VAR_KEYWORD for p in numpys.values()):
        assert set(ours) - set(numpys) <= added
    for p in set(ours) & set(numpys):
        if None is not numpys[p].default is not np._NoValue and ours[p].default is not None:
            assert ours[p].default == numpys[p].default, p


def test_eager_calls_are_numpys_own():
    x = np.arange(6.0).reshape(2, 3)
    assert type(fnp.sort(x)) is np.ndarray
    assert type(fnp.dot(x[0], x[1])) is np.float64
    assert fnp.asarray(x) is x
    assert fnp.reshape(x, 6).base is not None
    out = np.empty(3)
    assert fnp.take(x, [0, 1, 2], out=out, mode="clip") is out
    assert fnp.array(["text"])[0] == "text"
    with pytest.raises(np.exceptions.AxisError):
        fnp.sort(x, 5)


def test_missing_names_say_so():
    with pytest.raises(AttributeError, match="did you mean 'transpose'"):
        fnp.tranpose
    assert not hasattr(fnp, "no_such_thing")


def test_submodules_that_are_public():
    values = {name: getattr(fnp, name) for name in fnp.__all__}
    public = {name for name, x in values.items() if isinstance(x, types.ModuleType)}
    assert public == {*MODULES, "lib"}  # numpy.lib.stride_tricks is NumPy's


def test_a_function_without_a_rule_says_so():
    with pytest.raises(TypeError, match=r"numpy.busday_count has no rule for traced arrays"):
        fg.jit(lambda x: np.busday_count(x, x))(np.ones(3))


def test_import_is_light():
    code = "import sys, fungrad.numpy; print('scipy' in sys.modules, 'cupy' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["False", "False"]
