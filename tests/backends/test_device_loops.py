"""Loops on small arrays as one launch, of one block of threads, on the stand-in for CuPy."""

import re

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit import cuda_block, cuda_systems
from fungrad.compile.emit.cuda_steps import SYSTEMS
from fungrad.core.config import compilation
from tests.backends.cuda_on_host import COMPILER
from tests.backends.test_device_kernels import cupy, launched  # noqa: F401 - fixtures

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
    pytest.mark.usefixtures("eager"),
]

ROUNDS = 700
"""More rounds than loops are written out for."""
X = np.random.default_rng(0).normal(size=(3, 3)) * 0.2
ROWS = np.random.default_rng(1).normal(size=(40, 3))


def system(x, rows):
    """Systems, products and determinants in each round."""

    def step(carry, row):
        mean, cov = carry
        spread = cov @ cov.T + fnp.eye(3, dtype=x.dtype)
        gain = fnp.linalg.solve(spread, cov).T
        sign, size = fnp.linalg.slogdet(spread)
        mean = gain @ (row - mean) + fnp.linalg.solve(spread, row) * sign
        lower = fnp.linalg.cholesky(spread)
        return (mean, fnp.tanh(lower @ x - gain.T)), (size, mean)

    return lax.scan(step, (x[0] * 2, x + 1), rows)


def swapped(x, rows):
    """Carries that change places, and are seen in another order."""

    def step(carry, row):
        a, b, c = carry
        return (b.T, a, fnp.concatenate([c[1:], row[:1] * c[:1]])), fnp.stack([a[0, 1], b[1, 0]])

    return lax.scan(step, (x @ x, x + 1, x[0] + 1), rows, reverse=True)


def places(x, rows):
    """Reads and writes at places that each round says."""

    def step(k, carry):
        total, row = carry
        taken = lax.dynamic_index_in_dim(rows, fnp.where(k > 45, k - 45, k - 5), keepdims=False)
        total = lax.dynamic_update_slice(total, taken[None, :2] * 0.5, (k - 1, k & 1))
        return total.at[1].add(row * 0.01), fnp.sin(row + taken)

    return lax.fori_loop(0, ROUNDS, step, (x @ x, x[0]))


def nested(x, rows):
    """A loop and a branch in each round; the branch reads carries that it overwrites."""

    def step(carry, row):
        inner = lax.fori_loop(0, ROUNDS // 40, lambda i, y: fnp.tanh(y @ x + row * i), carry)
        out = lax.cond(
            row[0] > 0, lambda y, z: (y * 2 + z, z), lambda y, z: (z, y - 1), inner, carry
        )
        return out[0] / (1 + fnp.sum(out[1] * out[1])), fnp.max(out[1], 0)

    return lax.scan(step, x @ x + 1, rows)


def wide(x, rows):
    """Rows that threads share, and elements in several turns."""

    def step(carry, row):
        big = fnp.sin(carry[:, None] * row[0] + carry)
        total = fnp.sum(big, 1)
        return total / (1 + fnp.max(fnp.abs(total))), fnp.sum(big)

    return lax.scan(step, fnp.sum(x) + fnp.arange(40.0), rows)


def whole_numbers(x, rows):
    """Integers, truths, and products of integers."""
    start = fnp.asarray(np.arange(9).reshape(3, 3))

    def step(carry, row):
        found = row > 0
        carry = (carry @ carry + fnp.where(found, 3, 1)) & 15
        return carry, (fnp.any(found), fnp.sum(carry, 0).astype(np.int32))

    return lax.scan(step, start, rows)


def triangles(x, rows):
    a = fnp.tril(x) + 2 * fnp.eye(3)

    def step(carry, row):
        low = fg.scipy.linalg.solve_triangular(a, carry, lower=True)
        inverse = fnp.linalg.inv(fnp.stack([a, a.T + row[0]]))
        return fnp.tanh(fnp.pad(low, ((1, 0), (0, 1)))[:3, 1:] + inverse[1] @ carry), (
            inverse[0, 0],
            fnp.linalg.det(carry),
        )

    return lax.scan(step, x + 1, rows)


def stretched(x, rows):
    """Updates that NumPy stretches, of a row and of a column."""

    def step(carry, row):
        y = carry.at[1:].set(row).at[:, 2].set(row[0])
        z = lax.dynamic_update_slice(
            x @ y, fnp.broadcast_to(row[1:], (2, 2)), (1, (row[0] > 0) * 1)
        )
        return fnp.sin(y @ x), z.at[0].add(row[2]).at[:, :2].add(fnp.sum(y))

    return lax.scan(step, x + 1, rows)


def elements(x, rows):
    """Elements that are read, and then overwritten, before they are used."""

    def step(carry, row):
        v, k = carry
        m = lax.dynamic_index_in_dim(v, k, keepdims=False)
        n = v[2]
        v = lax.dynamic_update_slice(v, row[:2] * 3, (k & 1,)).at[2].set(row[0])
        return (v, (k + 1) & 1), m * 2 + fnp.sin(n) + v[0]

    return lax.scan(step, (x[0] * 1, fnp.asarray(0)), rows)


PROGRAMS = [elements, system, swapped, places, nested, wide, whole_numbers, triangles, stretched]


def check(cupy, f, *args, tolerance=1e-9):  # noqa: F811
    """Hold results on the device against NumPy's, in types too, beside the largest of them."""
    found = fg.tree.leaves(fg.jit(f)(*map(cupy.asarray, args)))
    token = compilation.set("off")
    expected = fg.tree.leaves(fg.jit(f)(*args))
    compilation.reset(token)
    for x, y in zip(found, expected, strict=True):
        assert (type(x), x.shape, x.dtype) == (cupy.ndarray, np.shape(y), y.dtype)
        scale = np.max(np.abs(y)) if y.dtype.kind == "f" else 0
        np.testing.assert_allclose(x.get(), y, tolerance, tolerance * scale)


def loops_of(f, *args):
    """Return the loops that Python runs, of a program on a device."""
    entries = fg.jit(f).lower(*args).launches.entries
    return [x for x in entries if isinstance(x, str) and re.search("scan|fori|while", x)]


def gradient(f):
    def total(*args):
        found = [x for x in fg.tree.leaves(f(*args)) if x.dtype.kind == "f"]
        return sum(fnp.sum(fnp.sin(x)) for x in found)

    return fg.grad(total, (0, 1))


@pytest.mark.parametrize("f", PROGRAMS)
def test_loops_are_launches(cupy, f):  # noqa: F811
    assert not loops_of(f, X, ROWS)
    check(cupy, f, X, ROWS)


@pytest.mark.parametrize("f", [system, swapped, nested, wide, stretched])
def test_their_gradients(cupy, f):  # noqa: F811
    assert not loops_of(gradient(f), X, ROWS)
    check(cupy, gradient(f), X, ROWS)


@pytest.mark.parametrize("f", [system, swapped, wide])
def test_threads_in_both_orders_give_the_same_bits(cupy, f):  # noqa: F811
    """One that reads before another has written, or after it writes again, would see other numbers."""
    jitted, args = fg.jit(f), list(map(cupy.asarray, (X, ROWS)))
    first, second = [[y.get() for y in fg.tree.leaves(jitted(*args))] for _ in range(2)]
    for x, y in zip(first, second, strict=True):
        np.testing.assert_array_equal(x, y)


def test_float32(cupy):  # noqa: F811
    check(cupy, system, X.astype("f4"), ROWS.astype("f4"), tolerance=1e-4)


def test_launches_of_a_call(cupy, launched):  # noqa: F811
    """Two launches are for arrays beside the loop."""
    jitted, args = fg.jit(system), list(map(cupy.asarray, (X, ROWS)))
    jitted(*args)
    launched.clear()
    jitted(*args)
    assert len(launched) <= 3


def big_product(x, rows):
    def step(carry, row):
        return fnp.tanh(carry @ carry), fnp.sum(row)

    return lax.scan(step, fnp.ones((200, 200)) * x[0, 0] / 200, rows)


def of_any_length(x, rows):
    return lax.while_loop(lambda y: fnp.sum(y) < 50, lambda y: y @ y + 1, x), rows


def sorted_rounds(x, rows):
    return lax.fori_loop(0, ROUNDS, lambda i, y: fnp.sort(fnp.sin(y) + rows[:3], 0), x)


def big_system(x, rows):
    large = fnp.eye(cuda_systems.LARGEST + 1) + x[0, 0]
    return lax.fori_loop(0, ROUNDS, lambda i, y: fnp.sin(fnp.linalg.solve(large, y)), large[0])


def long(x, rows):
    return lax.fori_loop(0, cuda_block.STEPS + 1, lambda i, y: fnp.sin(y @ x), x)


@pytest.mark.parametrize("f", [big_product, of_any_length, sorted_rounds, big_system, long])
def test_loops_that_are_left_to_python(f):
    """One block is too slow for them, nobody could interrupt them, or a step has no form."""
    assert loops_of(f, X, ROWS)


@pytest.mark.parametrize("f", [of_any_length, sorted_rounds])
def test_these_are_as_before(cupy, f):  # noqa: F811
    check(cupy, f, X, ROWS)


def test_singular_systems_give_what_cupy_gives(cupy):  # noqa: F811
    """No error, as of CuPy's functions, but infinities and zeros."""
    f = fg.jit(
        lambda x: lax.fori_loop(
            0, ROUNDS, lambda i, y: fnp.linalg.slogdet(x * 0 + i * 0)[1] + y, x[0, 0]
        )
    )
    assert f(cupy.asarray(X)).get() == -np.inf


def test_every_system_has_a_function():
    names = {
        name for lines in SYSTEMS.values() for x in lines for name in re.findall(r"(\w+)_\{f\}", x)
    }
    assert names == cuda_systems.FUNCTIONS.keys()


def test_kernels_are_off(cupy):  # noqa: F811
    token = compilation.set("off")
    found = fg.jit(system)(*map(cupy.asarray, (X, ROWS)))
    compilation.reset(token)
    for x, y in zip(fg.tree.leaves(found), fg.tree.leaves(system(X, ROWS)), strict=True):
        np.testing.assert_allclose(x.get(), y, rtol=1e-8)
