"""Loops that assign to parts of arrays: what they give, their derivatives, and that nothing is copied or kept that needs not be."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.steps import Control, Copy, Empty, Into, Loop, within
from fungrad.core.config import compilation
from tests.compile.compiling import needs_compiler
from tests.control.in_place_loops import EXACT, arguments, by_python, nest
from tests.reading.polybench import KERNELS as POLYBENCH

SEEDS = range(40)


def loss(f):
    return lambda *args: sum([fnp.sum(x * x) for x in f(*args)])


def in_mode(mode, function, *args):
    token = compilation.set(mode)
    try:
        return function(*args)
    finally:
        compilation.reset(token)


def along(gradient, directions):
    return sum([np.sum(g * d) for g, d in zip(gradient, directions)])


@pytest.mark.parametrize("seed", SEEDS)
def test_random_nests_are_numpys(seed):
    f, args = nest(seed), arguments(seed)
    expected = f(*args, flow=by_python)
    for found in (fg.jit(f)(*args), fg.jvp(f, args, args)[0]):
        for x, y in zip(found, expected):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)
    single = arguments(seed, "f4")
    for x, y in zip(fg.jit(f)(*single), f(*single, flow=by_python)):
        assert x.dtype == y.dtype == np.float32
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_of_random_nests(seed):
    f, args = nest(seed), arguments(seed)
    g, numbers = loss(f), (0, 1, 2)
    directions = arguments(seed + 100)
    shifted = [
        loss(lambda *a: f(*a, flow=by_python))(*[x + h * d for x, d in zip(args, directions)])
        for h in (1e-6, -1e-6)
    ]
    by_differences = (shifted[0] - shifted[1]) / 2e-6
    gradient = fg.grad(g, numbers)(*args)
    jitted = fg.jit(fg.grad(g, numbers))(*args)
    _, tangent = fg.jvp(g, args, directions)
    np.testing.assert_allclose(along(gradient, directions), by_differences, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(tangent, along(gradient, directions), rtol=1e-10, atol=1e-11)
    for x, y in zip(jitted, gradient):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_batches_and_second_derivatives_of_random_nests(seed):
    f, args = nest(seed), arguments(seed)
    g = loss(f)
    gradient = fg.grad(g)
    batch = [np.stack([x, 0.5 * x, -x]) for x in args]
    for x, y in zip(fg.vmap(gradient)(*batch), zip(*batch)):
        np.testing.assert_allclose(x, gradient(*y), rtol=1e-10, atol=1e-11)
    a, direction = args[0], arguments(seed + 100)[0]
    _, forwards = fg.jvp(lambda a: gradient(a, *args[1:]), (a,), (direction,))
    backwards = fg.grad(lambda a: fnp.sum(gradient(a, *args[1:]) * direction))(a)
    np.testing.assert_allclose(forwards, backwards, rtol=1e-9, atol=1e-10)


@needs_compiler
@pytest.mark.parametrize("seed", range(0, 40, 3))
def test_random_nests_with_kernels(seed):
    f, args = nest(seed), arguments(seed)
    for h in (f, fg.grad(loss(f), (0, 1, 2))):
        found, expected = [
            in_mode(mode, fg.jit(lambda *a, h=h: h(*a)), *args) for mode in ("eager", "off")
        ]
        for x, y in zip(found, expected):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@needs_compiler
@pytest.mark.parametrize("seed", range(100, 108))
def test_random_nests_with_kernels_round_as_without(seed):
    f, args = nest(seed, EXACT), arguments(seed)
    found, expected = [in_mode(mode, fg.jit(lambda *a: f(*a)), *args) for mode in ("eager", "off")]
    for x, y, z in zip(found, expected, f(*args, flow=by_python)):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(x, z)


# What gradients of such loops copy, and keep.


def in_loops(steps, inside=False):
    """Yield the steps within loops, with their schedules."""
    for step in steps.steps:
        if inside:
            yield steps, step
        if isinstance(step, Control):
            for _, part, *_ in within(step, steps.types):
                yield from in_loops(part, inside or isinstance(step, Loop))


def copied(steps):
    """Return the shapes of what is copied in loops."""
    found = []
    for at, step in in_loops(steps):
        if isinstance(step, Copy):
            found.append(at.types[step.register].shape)
        elif hasattr(step, "results") and type(step).__name__ == "Call":
            name = step.primitive.name
            if "update" in name or name == "scatter":
                found.append(at.types[step.results[0]].shape)
    return found


def kept(function, *args):
    """Return the types of the rows that loops backwards are given by others, which have stacked them."""
    expr = fg.jit(function).lower(*args).simplified
    stacked, found = set(), []
    for primitive, inputs, outputs in expr.equations:
        if primitive.name == "scan":
            rows = inputs[sum(primitive.counts) :]
            found += [expr.types[v] for v in rows if primitive.tangent and v in stacked]
            stacked.update(outputs[primitive.counts[1] :])
    return found


N = 20


def looped(*statements, rows=(1, N - 1), columns=(1, N - 1), sweeps=None):
    """Return a function that runs statements in a nest of loops."""

    def inner(i, arrays):
        def step(j, arrays):
            arrays = [x.copy() for x in arrays]
            for statement in statements:
                statement(*arrays, i, j)
            return arrays

        return lax.fori_loop(*columns, step, list(arrays))

    def f(*arrays):
        arrays = list(arrays)
        if sweeps is None:
            arrays = lax.fori_loop(*rows, inner, arrays)
        else:
            arrays = lax.fori_loop(0, sweeps, lambda _, a: lax.fori_loop(*rows, inner, a), arrays)
        return fnp.sum(arrays[0] * arrays[0])

    return f


def gauss_seidel(a, i, j):
    a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4


def damped(a, i, j):
    a[i, j] = 0.5 * a[i, j] + fnp.sin(a[i - 1, j])


def product(a, b, i, j):
    a[i, j] = a[i, j - 1] * b[i, j]


def part_of_row(a, b, i, j):
    a[i, 1:-1] += b[i - 1, :-2] * 0.5 + a[i + 1, 2:]


def part_of_column(a, b, i, j):
    a[1:-1, j] = a[1:-1, j - 1] - 0.5 * b[2:, j] + b[:-2, j]


def jacobi(a, b, i, j):
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1])
    a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1])


def two_fields(a, b, c, i, j):
    a[i, j] += 0.7 * (b[i, j] + c[i, j])
    b[i, j] = 0.5 * a[i, j - 1]
    c[i, j] = b[i, j] - c[i - 1, j]


def matrices(count):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(N, N)) for _ in range(count)]


CASES = {
    "gauss_seidel": (looped(gauss_seidel), 1),
    "sweeps": (looped(gauss_seidel, sweeps=3), 1),
    "damped": (looped(damped), 1),
    "product": (looped(product), 2),
    "part_of_row": (looped(part_of_row), 2),
    "part_of_column": (looped(part_of_column), 2),
    "two_fields": (looped(two_fields), 3),
    "jacobi": (looped(jacobi, rows=(0, 2), columns=(0, 9)), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_copied_in_loops_backwards(name):
    f, count = CASES[name]
    for h in (f, fg.grad(f, tuple(range(count)))):
        steps = fg.jit(h).lower(*matrices(count)).schedule
        assert [s for s in copied(steps) if np.prod(s) >= N * (N - 2)] == []


@pytest.mark.parametrize(
    "name", ["gauss_seidel", "sweeps", "part_of_row", "part_of_column", "two_fields", "jacobi"]
)
def test_what_is_linear_keeps_nothing(name):
    f, count = CASES[name]
    linear = lambda *args: fg.vjp(f, *args)[1](1.0)
    assert kept(linear, *matrices(count)) == []


@pytest.mark.parametrize(("name", "arrays"), [("damped", 1), ("product", 2)])
def test_what_is_not_keeps_a_number_for_each_step(name, arrays):
    f, count = CASES[name]
    types = kept(fg.grad(f, tuple(range(count))), *matrices(count))
    assert 0 < len(types) <= arrays
    assert all(t.inexact and t.size <= N * N for t in types)


def eliminated(a, i, j):
    a[i, j] = lax.fori_loop(0, N, lambda k, w: w - 0.01 * a[i, k] * a[k, j], a[i, j])


@pytest.mark.parametrize("name", ["eliminated", "ludcmp"])
def test_no_version_of_an_array_is_kept_for_an_element_that_changes(name):
    """Inner loops read elements of an array that an outer one updates; the outer one keeps these, not the array each time."""
    if name == "ludcmp":
        (kernel,) = [k for k in POLYBENCH if k.name == name]
        f, args = kernel.function, kernel.make_generic(N, np.random.default_rng(0))
    else:
        f, args = looped(eliminated), matrices(1)
    gradient = fg.jit(fg.grad(lambda *a: fnp.sum(f(*a)), tuple(range(len(args)))))
    steps = [*in_loops(gradient.lower(*args).schedule)]
    made = [
        at.types[v].size for at, step in steps if isinstance(step, Empty) for v in step.registers
    ]
    assert sum(made) <= 2 * N**3  # two numbers for each step of the innermost loop
    for at, step in steps:
        if isinstance(step, Into) and "update" in step.primitive.name:
            assert at.types[step.operands[1].register].size <= N


def added(a, b, i, j):
    a[i, j] = a[i, j] + 0.5 * b[i, j] * a[i - 1, j]


def subtracted(a, b, i, j):
    a[i, j] -= b[j, i] * a[i, j - 1]


@pytest.mark.parametrize("statement", [added, subtracted])
def test_elements_that_are_added_to_are_not_set_backwards(statement):
    """Their cotangents stay as they are: none is read, zeroed and put back."""
    gradient = fg.grad(looped(statement), (0, 1))
    names = {
        (step.primitive.name, getattr(step.primitive, "kind", None))
        for _, step in in_loops(fg.jit(gradient).lower(*matrices(2)).schedule)
        if hasattr(step, "primitive")
    }
    assert ("scatter", "add") in names
    assert ("scatter", "set") not in names


def test_sums_of_inner_loops_begin_with_those_of_outer_ones():
    """No array of zeros is made, or added, for each step of the outer loop."""

    def convolved(x, w):
        def outer(i, y):
            def inner(k, y):
                y = y.copy()
                y[i] += x[i + k] * w[k]
                return y

            return lax.fori_loop(0, len(w), inner, y)

        y = lax.fori_loop(0, len(x) - len(w) + 1, outer, fnp.zeros(len(x) - len(w) + 1))
        return fnp.sum(y * y)

    x, w = np.linspace(-1, 1, 200), np.array([0.5, -1.0, 2.0])
    steps = fg.jit(fg.grad(convolved, (0, 1))).lower(x, w).schedule
    made = [at.types[v].shape for at, step in in_loops(steps) for v in getattr(step, "results", ())]
    assert (200,) not in made
    expected = np.convolve(x, w[::-1], "valid")
    by_x, by_w = fg.grad(convolved, (0, 1))(x, w)
    np.testing.assert_allclose(by_x, 2 * np.convolve(expected, w))
    np.testing.assert_allclose(by_w, [2 * expected @ x[k : k + 198] for k in range(3)])


@needs_compiler
def test_loops_that_assign_to_elements_of_large_arrays_are_machine_code():
    a = np.linspace(0.0, 1.0, 300 * 300).reshape(300, 300)
    f = looped(gauss_seidel)
    for h in (f, fg.grad(f)):
        (kernel, *_) = [str(k) for k in fg.jit(h).lower(a).kernels if "routine" in str(k)]
        assert "scan" in kernel
