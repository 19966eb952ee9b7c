"""Every call of the tables, with arrays of the other byte order, and with infinite elements."""

import numpy as np
import pytest

import fungrad as fg
from fungrad.core import tree
from tests.numpy.calls import calls
from tests.numpy.checker import Call
from tests.numpy.grid import call_of

NAMES = sorted(calls())


def transformed(case, call, derivatives=True):
    """Yield what is to be compared of a call: a name, and a function of its arrays."""
    yield "vjp", lambda xs: fg.vjp(call, *xs)[0]
    if case.jit:
        yield "jit", lambda xs: fg.jit(call)(*xs)
    if case.vmap:
        pairs = lambda xs: [np.array([x, x], np.asarray(x).dtype) for x in xs]
        yield "vmap", lambda xs: fg.vmap(call)(*pairs(xs))
    if derivatives and case.diff_argnums is None:

        def pulled(xs):
            value, pull = fg.vjp(call, *xs)
            return pull(tree.map(np.ones_like, value))

        yield "grad", pulled


def swapped(x):
    return x.astype(x.dtype.newbyteorder()) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_byte_order(name):
    """It changes nothing, and results are of the machine's."""
    for case in calls()[name]:
        call = call_of(case)
        for way, f in transformed(case, call) if call.traced else ():
            with np.errstate(all="ignore"):
                try:
                    expected = tree.leaves(f(call.traced))
                except (TypeError, fg.MissingRuleError):
                    continue  # it has no derivative, say
                found = tree.leaves(f([swapped(x) for x in call.traced]))
            for x, y in zip(found, expected, strict=True):
                assert np.asarray(x).dtype == np.asarray(y).dtype, f"{case} {way}"
                np.testing.assert_array_equal(x, y, f"{case} {way}")


def with_infinities(x):
    """Yield an array with an infinite element, in front and at the end, of either sign, and with nothing else."""
    n = x.size
    for places, values in (
        ([0], [np.inf]),
        ([0], [-np.inf]),
        ([n - 1], [np.inf]),
        ([0, n - 1], [np.inf, -np.inf]),
        (slice(None), np.inf),
    ):
        y = np.array(x)
        y.reshape(-1)[places] = values
        yield y if y.ndim else y[()]


UNLIKE_NUMPY = {
    "histogram": "NumPy subtracts cumulative sums of weights, where infinities cancel",
    "gradient": "between infinite coordinates there is no slope",
    "interp": "the places of a table must increase",
    "pad": "where it reflects oddly and more than once, NumPy adds and subtracts infinite ends in another order",
    "searchsorted": "the places of a table must increase",
    "polydiv": "how many coefficients there are depends on which are zero, which nobody knows",
    "polyfit": "LAPACK solves it",
}
NOT_FOR_INFINITIES = ("linalg.",)
"""What LAPACK makes of infinite matrices, and whether it ends, is its own affair."""


@pytest.mark.parametrize(
    "name", [x for x in NAMES if x not in UNLIKE_NUMPY and not x.startswith(NOT_FOR_INFINITIES)]
)
@pytest.mark.filterwarnings("ignore")
def test_infinities(name):
    """Values are those of NumPy's function, and NaN only where it has NaN."""
    for case in calls()[name]:
        call = call_of(case)
        numpys = Call(case.functions()[1], case.args, case.kwargs, case.static)
        for i, operand in enumerate(call.traced):
            if operand.dtype.kind != "f" or not operand.size:
                continue
            for x in with_infinities(operand):
                arrays = [*call.traced[:i], x, *call.traced[i + 1 :]]
                with np.errstate(all="ignore"):
                    try:
                        expected = tree.leaves(numpys(*arrays))
                    except (ValueError, np.linalg.LinAlgError):
                        continue  # an index that it makes no sense of, say
                    for way, f in transformed(case, call, derivatives=False):
                        found = tree.leaves(f(arrays))
                        if way == "vmap":
                            found = [y[1] for y in found]
                        check_close(found, expected, f"{case} {way} operand {i}: {x}")


def check_close(found, expected, what):
    for x, y in zip(found, expected, strict=True):
        eps = np.finfo(np.asarray(y).dtype).eps if np.asarray(y).dtype.kind in "fc" else 0.0
        np.testing.assert_allclose(x, y, 1e3 * eps, 1e3 * eps, err_msg=what)
