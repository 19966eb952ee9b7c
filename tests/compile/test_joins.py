"""Arrays that are put together of what is computed in its place, and not copied there."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile import joins
from fungrad.compile.interpret import interpret
from fungrad.compile.lower import Program
from fungrad.compile.native import schedule_with_kernels
from fungrad.compile.peak import peak
from fungrad.compile.steps import Assign, Empty
from tests.compile.compiling import compare, needs_compiler, run

N = 3 * joins.LEAST // 8  # what is smaller is part of routines
RNG = np.random.default_rng(11)
X, ROWS = RNG.normal(size=N), RNG.normal(size=(40, N // 40))


def two(x):
    return fnp.concatenate([fnp.sin(x) * 2, fnp.exp(x) + x])


def shared(x):
    y = x * 2 + 1
    return fnp.concatenate([fnp.sin(y), x[:5], y * y - y])


def read_between(x):
    y = fnp.sin(x) * 2
    return fnp.concatenate([y, fnp.cumsum(y), y[:7] * 2 + 1])


def stacked(x):
    return fnp.stack([fnp.cumsum(x), fnp.sin(x) * x, x * 2 - 1, fnp.cos(x) + x])


def products(x):
    return fnp.concatenate([x @ (x.T @ x), fnp.sin(x) * 2])


def nested(x):
    inner = fnp.concatenate([fnp.sin(x) * 2, x * 3 - 1])
    return fnp.concatenate([inner, fnp.cos(x) * x, x]), fnp.sum(inner)


def leading_unit(x):
    return fnp.concatenate([(fnp.sin(x) * 2)[None], (x * x + 1)[None]], 1)


def twice(x):
    y = fnp.exp(x) * 2
    return fnp.concatenate([y, y]), fnp.concatenate([x * 2, fnp.sin(x) + 1])


def returned(x):
    y = fnp.exp(x) * 2
    return y, fnp.concatenate([y, fnp.sin(x) + x])


def read_later(x):
    y = fnp.exp(x) * 2
    whole = fnp.concatenate([y, fnp.sin(x) + x])
    return fnp.cumsum(whole), y + 1


def in_two(x):
    y, z = fnp.exp(x) * 2, fnp.sin(x) + x
    first = fnp.concatenate([y, x * x - 1])
    return fnp.concatenate([y, z]), fnp.cumsum(first)


def consumed(x):
    return two(x) * 3 + 1


def looped(x):
    def step(i, x):
        return fnp.concatenate([fnp.sin(x[::2]) + i, fnp.cos(x[1::2]) * 2])

    return lax.fori_loop(0, 3, step, x)


def chosen(x):
    return lax.cond(x[0] > 0, two, lambda x: fnp.concatenate([x, x]), x)


def small_part(x):
    return fnp.concatenate([fnp.sin(x[:9]) * 2, fnp.cumsum(x)])


def numbers(x):
    return fnp.stack([x[0] * 2 + i for i in range(3)]), fnp.concatenate([x[:0] * 2, x, x + 1])


PROGRAMS = {f.__name__: f for f in (
    two, shared, read_between, stacked, nested, leading_unit, twice, returned, read_later, in_two,
    consumed, looped, chosen, small_part, numbers,
)}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_without_kernels_results_are_numpys(name, dtype):
    f, x = PROGRAMS[name], X.astype(dtype)
    if dtype == "c16" and name in ("chosen", "shared"):
        x = x + 1j * x[::-1]
    found, _ = run(f, (x,), "off")
    expected = fg.tree.leaves(f(x))
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.strides) == (b.dtype, b.strides)
        np.testing.assert_array_equal(a, b)


@needs_compiler
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "f2", "i4"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_write_to_their_places(name, dtype):
    if dtype == "i4" and name in ("looped", "chosen"):
        pytest.skip("its results are no integers")
    if dtype == "f2" and name in ("read_later", "in_two"):
        pytest.skip("sums of so many have no digits that are right")
    x = (X * 2).astype(dtype)
    compare(PROGRAMS[name], (x,), 8)
    compare(PROGRAMS[name], (x[::-1],), 8)


ORDERS = {
    "C": lambda x: x,
    "Fortran": np.asfortranarray,
    "reversed": lambda x: x[::-1],
    "spread": lambda x: np.repeat(x, 2, 1)[:, ::2],
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
}


def of_rows(x):
    t = x.T
    return (
        fnp.concatenate([fnp.sin(x) * 2, x * x + 1]),
        fnp.concatenate([fnp.sin(t) * 2, t, t * 3 + 1]),
        fnp.concatenate([fnp.sin(x), -x]),
        fnp.stack([fnp.cos(x), -x, x], 1),
        fnp.stack([fnp.sin(t) * 2, t * 3 + 1]),
        fnp.stack([fnp.cos(x), -x, x]),
        products(x),
    )


@needs_compiler
@pytest.mark.parametrize("order", ORDERS)
def test_order_in_memory(order):
    x = ORDERS[order](ROWS)
    expected = of_rows(x)
    for mode, most in (("off", 0), ("eager", 1e-12)):
        found, _ = run(of_rows, (x,), mode)
        for a, b in zip(found, expected, strict=True):
            assert a.strides == b.strides
            np.testing.assert_allclose(a, b, rtol=most, atol=most)


def steps_of(f, x):
    expr = fg.jit(f).lower(x).simplified
    return schedule_with_kernels(expr)[0].check(), Program(expr).schedule.check()


@pytest.mark.parametrize(
    ("f", "wholes", "copies"),
    [
        (two, 1, 0),
        (shared, 1, 1),
        (stacked, 1, 1),
        (leading_unit, 0, 0),  # a view of what is computed stands between
        (twice, 1, 0),
        (returned, 1, 1),
        (read_later, 1, 1),
        (in_two, 2, 1),
        (small_part, 0, 0),
        (lambda x: fnp.concatenate([x, x[:3]]), 0, 0),
        (lambda x: two(x[:100]), 0, 0),
    ],
)
def test_what_is_computed_in_place(f, wholes, copies):
    steps, _ = steps_of(f, X)
    assert sum([isinstance(s, Empty) for s in steps.steps]) == wholes
    assert sum([isinstance(s, Assign) for s in steps.steps]) == copies


@pytest.mark.parametrize("name", PROGRAMS)
def test_schedules_mean_what_programs_do(name):
    f = PROGRAMS[name]
    expected = fg.tree.leaves(f(X))
    for steps in steps_of(f, X):
        for x, y in zip(interpret(steps, [X.copy()]), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("f", "x", "most"),
    [
        (two, X, 2),
        (consumed, X, 2),
        (lambda x: fnp.stack([fnp.sin(x), x * 2, fnp.exp(x) - x]), ROWS, 3),
        (lambda x: fnp.concatenate([x @ x, x * 2 - 1]), RNG.normal(size=(1300, 1300)), 2),
        (lambda x: fnp.concatenate([fnp.sort(x), fnp.sin(x) * 2]), X, 3),
    ],
)
def test_peaks(f, x, most):
    assert peak(steps_of(f, x)[0]) <= most * x.nbytes


@needs_compiler
def test_derivatives_and_batches():
    loss = lambda x: fnp.sum(fnp.cumsum(two(x)) * fnp.concatenate([fnp.cos(x) * x, -x * 2]))
    compare(fg.grad(loss), (X / N,), 30)
    compare(fg.vmap(two), (ROWS,), 8)


def test_donated_arguments_may_be_overwritten():
    f = fg.jit(two, donate_argnums=0)
    np.testing.assert_array_equal(f(X.copy()), two(X))


@needs_compiler
def test_long_rows_of_several_pieces():
    """A piece that is not the first of a row is computed in blocks too."""
    x, y = RNG.normal(size=20_000), RNG.normal(size=20_011)
    compare(lambda x, y: fnp.concatenate([x, y]) * 2 + 1, (x, y), 0)
    compare(lambda x: fnp.pad(x, (3, 5)) * 2 + 1, (x,), 0)
