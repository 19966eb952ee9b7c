"""NaN and infinities of loops, branches and functions with rules that Python calls with arrays."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.custom_batching import sequential_vmap
from fungrad.settings import debug_infs, debug_nans

by_jvp = fg.custom_jvp(lambda x: fnp.log(x))
by_jvp.defjvps(lambda t, out, x: t / x)
by_vjp = fg.custom_vjp(lambda x: fnp.log(x))
by_vjp.defvjp(lambda x: (fnp.log(x), x), lambda x, ct: (ct / x,))


def pair(x):
    return np.stack([np.float64(1.0), x])


CALLS = {
    "scan": lambda x: lax.scan(lambda c, x: (c + x, fnp.log(x)), 0.0, pair(x)),
    "the carry of scan": lambda x: lax.scan(lambda c, x: (np.log(x), None), 0.0, pair(x)),
    "map": lambda x: lax.map(fnp.log, pair(x)),
    "map of batches": lambda x: lax.map(fnp.log, pair(x), batch_size=2),
    "while_loop": lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, fnp.log(c[1])), (0, x)),
    "fori_loop": lambda x: lax.fori_loop(0, 1, lambda i, c: fnp.log(c), x),
    "cond": lambda x: lax.cond(True, fnp.log, fnp.sin, x),
    "cond of what is closed over": lambda x: lax.cond(True, lambda: fnp.log(x), lambda: x),
    "switch": lambda x: lax.switch(1, [fnp.sin, fnp.log], x),
    "platform_dependent": lambda x: lax.platform_dependent(x, cpu=fnp.log),
    "associative_scan": lambda x: lax.associative_scan(lambda a, b: fnp.log(a * b), pair(x)),
    "custom_jvp": by_jvp,
    "custom_vjp": by_vjp,
    "custom_vmap": sequential_vmap(fnp.log),
    "checkpoint": fg.checkpoint(fnp.log),
    "checkpoint by name": lambda x: fg.checkpoint(lambda x: fnp.log(x))(x=x),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", CALLS)
def test_the_operation_is_named(name):
    for setting, x, kind in [(debug_nans, -1.0, "nan"), (debug_infs, 0.0, "inf")]:
        message = rf"`log` of float64\[.*\] gave {kind} .*test_watching.py:"
        with setting(), pytest.raises(FloatingPointError, match=message):
            CALLS[name](np.float64(x))
        with setting():
            CALLS[name](np.float64(2.0))


def test_functions_that_look_at_values():
    def step(c, x):
        return c, np.log(float(x))

    with debug_nans():
        with pytest.raises(FloatingPointError, match=r"scan\(step\) gave nan in a result of type"):
            lax.scan(step, 0.0, pair(-1.0))
        lax.scan(step, 0.0, pair(np.nan))  # which it was given


def test_what_is_handed_on_is_no_error():
    x = np.array([1.0, np.nan])
    with debug_nans():
        for found in [
            lax.map(lambda x: x, x),
            lax.cond(True, lambda: x, lambda: 2 * x),
            lax.cond(True, lambda x: x, fnp.sin, x),
            by_jvp(pair(2.0)),
        ]:
            assert found.shape == (2,)
        assert lax.cond(True, lambda x: fnp.where(x > 0, fnp.log(x), 0.0), fnp.sin, -1.0) == 0
        with pytest.raises(FloatingPointError, match="its operand 0 had nan already"):
            lax.map(lambda x: x + 1, x)
        with pytest.raises(FloatingPointError, match="`add` of"):
            lax.cond(True, lambda: x + fnp.sin(2.0), lambda: x)


def test_effects_happen_once():
    seen = []

    def step(c, x):
        fg.debug.callback(seen.append, x)
        return c, fnp.log(x)

    with debug_nans(), pytest.raises(FloatingPointError, match="`log` of"):
        lax.scan(step, 0.0, pair(-1.0))
    assert seen == [1.0, -1.0]
