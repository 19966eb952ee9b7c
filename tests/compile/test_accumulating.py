"""What is added up at places that may be hit repeatedly, as a routine whatever the size of the array."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.kernels.outline import accumulating
from fungrad.compile.pipeline import simplify
from fungrad.core.config import compilation
from tests.compile.compiling import check, needs_compiler, routines

pytestmark = needs_compiler

RNG = np.random.default_rng(0)
ROWS = RNG.integers(-3000, 3000, 700)
UPDATES = RNG.normal(size=(700, 9))


def added(kind, dtype, shape=(3000, 9)):
    return lambda u, i: getattr(fnp.full(shape, 1, dtype).at[i], kind)(u.astype(dtype))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("add", "f4"), ("add", "f8"), ("add", "i2"), ("multiply", "f8"), ("max", "i4"), ("min", "u2")],
)
@pytest.mark.parametrize("index", ["i8", "i2", "reversed"])
def test_rows(made, kind, dtype, index):
    rows = ROWS[::-1] if index == "reversed" else ROWS.astype(index)
    check(made, added(kind, dtype), abs(UPDATES) * 9, rows)


def test_gradients_of_reads(made):
    table = RNG.normal(size=(3000, 9))
    check(made, fg.grad(lambda x, i: fnp.sum(fnp.sin(x[i]))), table, ROWS, ulps=4)
    check(made, fg.grad(lambda x, i: fnp.sum(x[i, i % 9] ** 2)), table, ROWS, ulps=4)
    check(made, fg.grad(lambda x, i: fnp.sum(x[i.reshape(7, 100)] ** 3)), table, ROWS, ulps=4)
    check(made, fg.grad(lambda x, i: fnp.sum(x[i] ** 3)), table.ravel(), ROWS, ulps=4)


def test_histogram(made):
    def f(i):
        return fnp.zeros(20_000, np.int64).at[i].add(1)

    check(made, f, ROWS)


@pytest.mark.parametrize("bad", [3000, -3001])
def test_out_of_range(bad):
    rows = ROWS.copy()
    rows[600] = bad
    token = compilation.set("eager")
    try:
        g = fg.jit(added("add", "f8"))
        g(UPDATES, ROWS)
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
            g(UPDATES, rows)
    finally:
        compilation.reset(token)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, u, i: x.at[i].add(u),  # which may be in place
        lambda x, u, i: fnp.zeros_like(x).at[i].set(u),
        lambda x, u, i: fnp.zeros_like(x).at[i].max(u),  # NumPy warns of NaN
        lambda x, u, i: fnp.zeros_like(x).at[i.astype(np.uint64)].add(u),
        lambda x, u, i: (lambda z: (z.at[i].add(u), z))(fnp.zeros_like(x)),
        lambda x, u, i: fnp.zeros_like(x).at[fnp.arange(700), i % 9].add(u[:, 0]),
    ],
)
def test_what_stays(f):
    expr = simplify(fg.make_expr(f)(np.zeros((700, 9)), UPDATES, abs(ROWS) % 700))
    assert not accumulating(expr)


def test_a_small_update_of_a_large_array_is_no_routine():
    assert not routines(lambda x, u, i: x.at[i].add(u), [np.zeros((3000, 9)), UPDATES, ROWS])
