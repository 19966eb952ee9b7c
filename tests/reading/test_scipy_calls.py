"""SciPy's functions and objects as its users call them, in functions that are read: values, derivatives, and all arguments."""

import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest
from scipy import integrate, spatial, stats
from scipy.interpolate import RegularGridInterpolator

import fungrad as fg
from fungrad.compat.numpy import scipys
from tests.reading.scipy_calls import CALLS
from tests.reading.scipy_objects import OBJECTS, X, Y

AT = (1.7, 1.55)
"""Where the functions are computed: their minima and bounds are on the same side there."""

STEP = 1e-3
"""Of differences, by Richardson's extrapolation; solvers stop short of the last digits."""


def slope(f, x):
    """Return the derivative by differences, with an error of the fourth order."""
    near, far = [(f(x + h) - f(x - h)) / (2 * h) for h in (STEP, 2 * STEP)]
    return (4 * near - far) / 3


@pytest.mark.parametrize("f", [*CALLS.values(), *OBJECTS.values()], ids=[*CALLS, *OBJECTS])
def test_a_plain_function_that_calls_scipy(f):
    expected = [float(f(x)) for x in AT]
    slopes = [float(slope(f, x)) for x in AT]
    assert np.isfinite([*expected, *slopes]).all()
    np.testing.assert_allclose(fg.grad(f)(AT[0]), slopes[0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(fg.jit(f)(AT[0]), expected[0], rtol=1e-7)
    np.testing.assert_allclose(fg.vmap(f)(np.array(AT)), expected, rtol=1e-7)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(np.array(AT)), slopes, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(AT[1]), slopes[1], rtol=1e-5, atol=1e-7)


def test_an_object_may_change_between_calls():
    grid = RegularGridInterpolator((X,), Y.copy())

    def f(x):
        return grid([x])[0]

    before = fg.grad(f)(1.5)
    grid.values[2] += 1.0
    np.testing.assert_allclose(fg.grad(f)(1.5), before + 1.0)


TREE = spatial.KDTree(np.eye(2))


def a_singular_weight(x):
    return integrate.quad(lambda t: x * t, 0, 1, weight="alg", wvar=(0.5, 0))[0]


def a_time_to_stop_at(x):
    return integrate.odeint(lambda y, t: -x * y, [1.0], [0.0, 1.0], tcrit=[0.5])[1, 0]


def what_a_report_lacks(x):
    return integrate.quad(lambda t: x * t, 0, 1, full_output=1)[2]["neval"] * x


def a_plain_method(x):
    return stats.norm(0, x).entropy()


REFUSED = [
    (lambda x: TREE.query([x, 0.2])[0], fg.LostDerivativeError, "cannot become a NumPy array"),
    (a_singular_weight, TypeError, "write the weight into the integrand"),
    (a_time_to_stop_at, TypeError, "tcrit cannot be used .*: integrate up to each of these times"),
    (what_a_report_lacks, KeyError, "'neval' is not known"),
    (a_plain_method, fg.LostDerivativeError, "cannot become a NumPy array"),
]


@pytest.mark.parametrize(("f", "error", "match"), REFUSED)
def test_what_cannot_be_right_is_refused(f, error, match):
    with pytest.raises(error, match=match):
        fg.grad(f)(0.7)


def _parameters(function):
    return {
        name
        for name, p in inspect.signature(function).parameters.items()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def _pairs():
    for module in scipys.MODULES:
        importlib.import_module(f"scipy.{module}")
        for name, theirs, ours in scipys.mirrored(module):
            if isinstance(theirs, type) or not hasattr(ours, "methods"):
                yield f"{module}.{name}", theirs, ours


PAIRS = {name: (theirs, ours) for name, theirs, ours in _pairs()}


@pytest.mark.parametrize("name", PAIRS)
def test_every_parameter_of_scipys_is_taken(name):
    theirs, ours = PAIRS[name]
    assert _parameters(theirs) <= _parameters(ours)


@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"])
def test_methods_of_distributions_take_their_arguments_by_name(method):
    for name, theirs in vars(stats).items():
        ours = (
            getattr(fg.scipy.stats, name, None) if isinstance(theirs, stats.rv_continuous) else None
        )
        if ours is None or not hasattr(ours, "example") or ours._formula(method) is None:
            continue
        shapes = dict(zip(ours.shapes, ours.example, strict=True))

        def f(x, theirs=theirs, shapes=shapes):
            return getattr(theirs, method)(x=x, loc=0.1, scale=1.5, **shapes)

        np.testing.assert_allclose(fg.vjp(f, 0.6)[0], f(0.6), rtol=1e-10, err_msg=name)


PROGRAM = """
import math
import sys
import numpy as np
import fungrad as fg

def f(x):
    return math.sin(x) + np.array([x, 1.0]).sum() + line(x)

line = np.poly1d([1.0, 2.0])
fg.grad(f)(1.0)
print([m for m in sys.modules if m.partition(".")[0] == "scipy" or m.startswith("fungrad.scipy")])
"""


def test_nothing_of_scipys_is_imported_by_a_function_without_it(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "[]", ran.stderr
