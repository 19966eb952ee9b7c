"""Indices that are proven to be inside of their arrays, and those that are not and are looked at."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from fungrad.compile.kernels.bounds import _Bounds, evenly, proven_inside
from fungrad.compile.kernels.routine import Routine
from fungrad.compile.native import schedule_with_kernels
from fungrad.core.config import compilation
from tests.compile.compiling import needs_compiler
from tests.reading.polybench import KERNELS

pytestmark = needs_compiler


def routines(f, *args):
    """Return the routines of a jitted function."""
    _, kernels = schedule_with_kernels(f.lower(*args)._program.expr)
    return [x.kernel for x in kernels if isinstance(x.kernel, Routine)]


def looked_at(f, *args):
    """Return how many steps that read or write at indices are not proven to be inside."""
    count = 0
    for routine in routines(f, *args):
        bounds = _Bounds()
        bounds.run(routine.steps, [None] * len(routine.steps.inputs))
        count += sum(not proven for proven in bounds.proven.values())
    return count


TRIANGULAR = ("lu", "durbin", "trmm", "symm", "nussinov", "gramschmidt", "seidel_2d")


@pytest.mark.parametrize(
    "kernel", [k for k in KERNELS if k.name in TRIANGULAR], ids=lambda kernel: kernel.name
)
def test_all_indices_of_polybench_are_proven(kernel):
    """But those of nussinov that a value of `seq` decides."""
    args = kernel.make_generic(8, np.random.default_rng(0))
    f = kernel.function
    gradient = fg.grad(lambda *a: f(*a).sum(), kernel.differentiated)
    for h in (f, gradient):
        found = looked_at(fg.jit(h, static_argnums=kernel.static), *args)
        assert found == 0 or kernel.name == "nussinov"


def summed(lower, upper, index, length, flow=lax.fori_loop):
    """Return a function that adds elements at an affine index of two loop variables, the second of which begins at the first."""

    def f(x):
        def outer(i, total):
            def inner(k, total):
                return total + x[index[0] * i + index[1] * k + index[2]] * x[i]

            return flow(i, upper, inner, total)

        return flow(lower, upper, outer, 0.0)

    return f, np.arange(1.0, length + 1)


def by_python(lower, upper, body, value):
    for i in range(lower, upper):
        value = body(i, value)
    return value


def outcome(f, x):
    try:
        return float(f(x))
    except IndexError:
        return "IndexError"


CASES = [
    (0, 6, (1, 0, 0), 6, True),
    (0, 6, (1, 0, 1), 6, False),  # one beyond the end
    (0, 6, (1, 0, -1), 6, False),  # the last one in the first round
    (0, 6, (-1, 1, 0), 6, True),  # k - i
    (0, 6, (1, -1, 0), 6, False),  # i - k: from the end
    (0, 6, (1, 1, 0), 11, True),
    (0, 6, (1, 1, 0), 10, False),
    (0, 6, (-1, 2, -1), 12, False),  # -1 in the first round
    (1, 6, (-1, 2, -1), 10, True),
    (0, 6, (-2, 1, 4), 9, False),
]


@pytest.mark.parametrize(("lower", "upper", "index", "length", "proven"), CASES)
def test_indices_that_are_inside_and_others(lower, upper, index, length, proven):
    (f, x), (plain, _) = [
        summed(lower, upper, index, length, flow) for flow in (lax.fori_loop, by_python)
    ]
    token = compilation.set("eager")
    try:
        jitted = fg.jit(f)
        assert outcome(jitted, x) == outcome(plain, x)
        assert (looked_at(jitted, x) == 0) == proven
    finally:
        compilation.reset(token)


@pytest.mark.parametrize("seed", range(6))
def test_random_indices_are_numpys(seed):
    rng = np.random.default_rng(seed)
    for _ in range(4):
        lower, n = int(rng.integers(0, 3)), int(rng.integers(3, 7))
        index = tuple(map(int, rng.integers(-2, 3, 3)))
        length = int(rng.integers(n, 2 * n + 3))
        (f, x), (plain, _) = [
            summed(lower, n, index, length, flow) for flow in (lax.fori_loop, by_python)
        ]
        token = compilation.set("eager")
        try:
            assert outcome(fg.jit(f), x) == outcome(plain, x)
        finally:
            compilation.reset(token)


def test_what_a_value_decides_is_looked_at():
    def f(x, places):
        return lax.fori_loop(0, 5, lambda i, total: total + x[places[i]], 0.0)

    x, inside = np.arange(1.0, 6.0), np.array([0, 4, 2, 3, -1])
    jitted = fg.jit(f)
    assert looked_at(jitted, x, inside) == 1
    token = compilation.set("eager")
    try:
        assert jitted(x, inside) == x[inside].sum()
        with pytest.raises(IndexError):
            jitted(x, inside + 1)
    finally:
        compilation.reset(token)


def test_counts_that_overflow_prove_nothing():
    """A number of rounds that is computed from an argument may be anything."""

    def f(x, n):
        total = 0.0
        i = n
        while i < 3:
            total += x[i]
            i += 1
        return total

    x = np.arange(1.0, 6.0)
    jitted = fg.jit(f)
    for n in (0, 2, 5, -2):
        assert outcome(lambda x, n=n: jitted(x, n), x) == outcome(lambda x, n=n: f(x, n), x)
    assert looked_at(jitted, x, 0) == 1


def test_even_spacing():
    assert evenly(np.arange(3, 11, 2)) == (3, 2, 4)
    assert evenly(np.array([4])) == (4, 0, 1)
    for x in (np.array([1, 2, 4]), np.arange(3.0), np.arange(4).reshape(2, 2), np.arange(0)):
        assert evenly(x) is None


def test_programs_without_loops_are_not_followed():
    (routine,) = routines(fg.jit(lambda x: np.linalg.solve(x, x[0])), np.eye(3)) or [None]
    assert routine is None or proven_inside(routine.steps) == set()
