"""Jitted programs with kernels of devices, on the strict stand-in for CuPy, which has the host run CUDA's C."""

import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit.cuda import cuda_text
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.machine import ARRAYS
from fungrad.compile.native import schedule_with_kernels
from fungrad.compile.pipeline import Way, prepared, simplify
from fungrad.compile.tiers import GIVEN_UP
from fungrad.core.backend import CUPY
from fungrad.core.config import compilation
from tests.backends.cuda_on_host import COMPILER
from tests.backends.fake_cupy import BACKEND, make_module
from tests.backends.test_cupy import PROGRAMS

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
    pytest.mark.usefixtures("eager"),
]


@pytest.fixture
def cupy(monkeypatch):
    module = make_module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def launched(cupy, monkeypatch):
    """The names of the kernels that have run."""
    names, raw = [], cupy.RawModule

    class RawModule:
        def __init__(self, **options):
            self.module = raw(**options)

        def get_function(self, name):
            kernel = self.module.get_function(name)

            def run(*args):
                names.append(name)
                return kernel(*args)

            return run

    monkeypatch.setattr(cupy, "RawModule", RawModule)
    return names


def spaces(f, *args):
    """Return the index spaces of the kernels of a program, and the names of its other equations."""
    found = prepared(simplify(fg.make_expr(f)(*args)), Way.DEVICE)
    return [
        getattr(p.kernel, "space", "a loop") if isinstance(p, Fused) else p.name
        for p in [equation.primitive for equation in found.equations]
    ]


def check(cupy, f, *args, rtol=1e-13):
    """Hold results on the device against NumPy's, in types too."""
    found = fg.tree.leaves(fg.jit(f)(*map(cupy.asarray, args)))
    token = compilation.set("off")
    expected = fg.tree.leaves(fg.jit(f)(*args))
    compilation.reset(token)
    for x, y in zip(found, expected, strict=True):
        assert isinstance(x, cupy.ndarray)
        assert (x.shape, x.dtype) == (np.shape(y), y.dtype)
        np.testing.assert_allclose(x.get(), y, rtol=rtol)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"branch"}))
def test_gradients(cupy, name):
    x = np.random.default_rng(0).uniform(0.2, 0.9, (2, 3))
    check(cupy, fg.value_and_grad(PROGRAMS[name]), x)


def softmax(x):
    e = fnp.exp(x - fnp.max(x, -1, keepdims=True))
    return e / fnp.sum(e, -1, keepdims=True)


@pytest.mark.parametrize(
    ("shape", "kernels", "launches"),
    [((64, 100), 1, 1), ((100, 9000), 1, 1), ((9000,), 2, 4), ((3, 9000), 2, 4), ((9000, 3), 1, 1)],
)
def test_rows_that_several_blocks_share_end_a_kernel(cupy, launched, shape, kernels, launches):
    """What comes after the sum of few long rows is no part of its kernel, for it would run in few blocks."""
    x = np.random.default_rng(0).normal(size=shape)
    assert sum(isinstance(space, tuple) for space in spaces(softmax, x)) == kernels
    check(cupy, softmax, x)
    assert len(launched) == launches


def test_what_is_several_launches_of_cupy_is_a_kernel_by_itself(cupy, launched):
    x = np.random.default_rng(0).normal(size=(4, 5))
    alone = {
        "reduce_sum": lambda x: fnp.sum(x, 0),
        "pad": lambda x: fnp.pad(x, 1),
        "concatenate": lambda x: fnp.concatenate([x, x]),
    }
    for f in alone.values():
        assert sum(isinstance(space, tuple) for space in spaces(f, x)) == 1
        check(cupy, f, x)
    assert len(launched) == len(alone)
    assert spaces(fnp.sin, x) == ["sin"]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 100), (2, 9000), (9000, 5), (20_000,), (3000, 40)])
@pytest.mark.parametrize("axis", [0, -1])
def test_complex_sums(cupy, launched, dtype, shape, axis):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)

    def f(x):
        y = x * x + 1
        return fnp.sum(y, axis), fnp.sum(y * x, axis), fnp.sum(fnp.conj(y), axis)

    check(cupy, f, x, rtol=1e-4 if dtype == np.complex64 else 1e-12)
    assert launched


@pytest.mark.parametrize("shape", [(5, 2000), (3, 20_000), (20_000, 7), (9_000, 70)])
def test_many_reductions_in_one_kernel(cupy, launched, shape):
    """They take turns in the memory that threads of a block share."""
    axis = int(np.argmax(shape))

    def f(x):
        y = fnp.sin(x)
        parts = [fnp.sum(y * (k + 1.5) + x, axis) for k in range(9)]
        return [*parts, fnp.max(y, axis), fnp.min(y * x, axis), fnp.any(y > 0.99, axis)]

    check(cupy, f, np.random.default_rng(0).uniform(0.1, 3, shape), rtol=1e-12)
    assert launched


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u4", "i8", "c8", "?"])
def test_dtypes(cupy, dtype):
    x = (np.random.default_rng(0).uniform(0, 3, (6, 50)) * 2).astype(dtype)

    def f(x):
        y = fnp.where(x > 1, x * x, x + x)
        return y, y + x * x, fnp.sum(y * x, -1), fnp.max(fnp.real(y), -1)

    check(cupy, f, x, rtol={"f2": 2e-3, "f4": 1e-6, "c8": 1e-6}.get(dtype, 1e-14))


def test_equal_kernels_are_compiled_once(cupy, launched):
    def f(xs):
        return [fnp.sum(fnp.tanh(x) * x) for x in xs]

    xs = list(np.random.default_rng(0).normal(size=(5, 40)))
    found = fg.jit(f)([cupy.asarray(x) for x in xs])
    np.testing.assert_allclose([x.get() for x in found], f(xs), rtol=1e-13)
    assert launched == ["kernel0"] * 5


def test_arrays_in_other_orders(cupy, launched):
    """What lies as an argument does is CuPy's to compute then; of what is seen of sums, no order is."""
    x = np.random.default_rng(0).normal(size=(7, 5, 3))
    views = [
        lambda x: x.T,
        lambda x: x[::2],
        lambda x: x[:, ::-1],
        lambda x: x[:, :1] + x[:1] * 0,  # in C order
    ]
    for view in views:
        f = fg.jit(lambda x: fnp.sin(x) * x + 1)
        found = f(view(cupy.asarray(x)))
        np.testing.assert_allclose(found.get(), f(view(x)), rtol=1e-13)
    assert len(launched) == 1
    for view in views:
        f = fg.jit(lambda x: fnp.sum(fnp.cos(x) * x + 1))
        found = f(view(cupy.asarray(x)))
        np.testing.assert_allclose(found.get(), f(view(x)), rtol=1e-13)
    assert len(launched) == 1 + len(views)


def test_arrays_in_another_order_take_no_kernels_from_others(cupy, launched):
    """Of those that kernels do not take, it is known from the second call on."""
    f, x = fg.jit(lambda x: (fnp.sum(fnp.cos(x) * x), fnp.sin(x) * x + 1)), np.ones((64, 64))
    f(cupy.asarray(x))
    each = len(launched)
    assert each
    for _ in range(2 * GIVEN_UP):
        found = f(cupy.asarray(x).T)[1]
    np.testing.assert_allclose(found.get(), np.sin(x) * x + 1, rtol=1e-13)
    launched.clear()
    f(cupy.asarray(x).T)
    assert not launched
    f(cupy.asarray(x))
    assert len(launched) == each


def test_repeated_arrays_are_copied(cupy, launched):
    """A broadcast lies in no order that who reads the results could see."""
    x, f = np.arange(5.0), fg.jit(lambda x: fnp.sin(x) * x + 1)
    found = f(cupy.broadcast_to(cupy.asarray(x), (3, 5)))
    np.testing.assert_allclose(found.get(), np.tile(np.sin(x) * x + 1, (3, 1)), rtol=1e-13)
    assert launched


@fg.as_written
def many_sums(x):
    """One kernel, of rows that threads share, which needs many registers."""
    y = fnp.sin(x)
    return [fnp.sum(y * (k + 1.5) + x, 1) for k in range(64)]


@pytest.mark.parametrize(
    ("f", "shape"),
    [(many_sums, (5, 6000)), (softmax, (3, 9000)), (softmax, (64, 100)), (fnp.sin, (7, 5))],
)
def test_kernels_say_how_many_threads_run_them(f, shape):
    """So that what these have of registers suffices: CUDA launches no kernel otherwise."""
    g = lambda x: fg.tree.map(lambda y: y * y + 1, f(x))
    expr = simplify(fg.make_expr(g)(np.ones(shape)))
    _, kernels = schedule_with_kernels(expr, (), CUPY)
    texts = [cuda_text(fused.kernel, "k") for fused in kernels]
    assert texts
    for text in texts:
        for name, _, threads in text.launches:
            assert f"KERNEL __launch_bounds__({threads}) {name}(" in text.text
    assert f is not many_sums or texts[0].launches[0].threads == 256


@pytest.mark.parametrize("failing", [0, 1])
def test_a_launch_that_fails(cupy, monkeypatch, failing):
    """The program stays with CuPy's functions; nobody hears of it."""
    launches, raw = [], cupy.RawModule

    class RawModule:
        def __init__(self, **options):
            self.module = raw(**options)

        def get_function(self, name):
            run = self.module.get_function(name)

            def launch(*args):
                launches.append(name)
                if len(launches) > failing:
                    raise RuntimeError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")
                return run(*args)

            return launch

    monkeypatch.setattr(cupy, "RawModule", RawModule)
    x = np.random.default_rng(0).normal(size=(3, 9000))
    f = fg.jit(softmax)
    for _ in range(3):
        np.testing.assert_allclose(f(cupy.asarray(x)).get(), softmax(x), rtol=1e-13)
    assert len(launches) == failing + 1


def test_arrays_of_another_device(cupy, launched, monkeypatch):
    """CuPy's functions compute with them, or say that they cannot."""
    x, here = np.arange(6.0), [0]
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: here[0])
    f = fg.jit(lambda x: fnp.sin(x) * x + 1)
    f(cupy.asarray(x))
    assert launched
    launched.clear()
    here[0] = 1
    for _ in range(2 * GIVEN_UP):
        np.testing.assert_allclose(f(cupy.asarray(x)).get(), np.sin(x) * x + 1)
    assert not launched
    here[0] = 0
    f(cupy.asarray(x))
    assert launched


def test_loops(cupy, launched):
    def f(x):
        def step(carry, row):
            carry = fnp.tanh(carry * row + x[0]) * 0.5 + row
            return carry, fnp.sum(carry * row)

        return lax.scan(step, x[0], x)

    check(cupy, f, np.random.default_rng(0).normal(size=(5, 4)))
    assert launched


def test_donated_arguments(cupy, launched):
    f = fg.jit(lambda x: (fnp.sin(x) * x + 1) * 2, donate_argnums=0)
    x = np.arange(1e3)
    for _ in range(3):
        np.testing.assert_allclose(f(cupy.asarray(x)).get(), (np.sin(x) * x + 1) * 2, rtol=1e-13)


def test_positions_out_of_bounds(cupy):
    """CuPy's own functions take them modulo the length, and so do kernels."""
    x, i = np.arange(7.0), np.array([-1, 3, -7, 6])
    f = fg.jit(lambda x, i: fnp.exp(x[i]) * 2 + x[i])
    expected = np.exp(x[i]) * 2 + x[i]
    found = f(cupy.asarray(x), cupy.asarray(i))
    np.testing.assert_allclose(found.get(), expected, rtol=1e-13)


def test_both_libraries_by_one_program(cupy, launched):
    f = fg.jit(lambda x: fnp.sin(x) * x + 1)
    x = np.arange(6.0)
    for given in (x, cupy.asarray(x), x, cupy.asarray(x)):
        found = f(given)
        assert type(found) is type(given)
    assert len(launched) == 2


@pytest.mark.skipif(BACKEND == "cupy", reason="of what CuPy is built for there is one")
def test_devices_of_others(cupy, launched, monkeypatch):
    monkeypatch.setattr(cupy.cuda.runtime, "is_hip", True)
    f = fg.jit(lambda x: fnp.sin(x) * x + 1)
    np.testing.assert_allclose(f(cupy.asarray(np.ones(6))).get(), np.sin(1.0) + 1)
    assert not launched


def test_off(cupy, launched):
    compilation.set("off")
    f = fg.jit(lambda x: fnp.sin(x) * x + 1)
    for _ in range(8):
        f(cupy.asarray(np.arange(6.0)))
    assert not launched


def test_positions_of_extrema_are_kernels(cupy, launched):
    """The first one, and a NaN before any number."""
    x = np.random.default_rng(0).integers(0, 9, (40, 50)).astype(float)
    x[3, [7, 20]] = x[5, 0] = np.nan
    f = lambda x: [fnp.argmax(x, 0), fnp.argmin(x, 0), fnp.argmax(x, 1), fnp.argmin(x, 1)]
    assert spaces(lambda x: fnp.argmin(x, 1), x) == [(40, 50)]
    for y in (x, x[6:].astype("i4"), x > 4):
        check(cupy, f, y)
    check(cupy, lambda x: fnp.argmax(x * 2), np.tile(x, (1, 9)))  # a row that blocks share
    assert launched


def test_operations_on_numbers_join_the_kernels_that_read_them():
    def f(x, c):
        scale = fnp.exp(-c[0]) * c[1]
        return fnp.sum(fnp.tanh(x * scale)) / (1 + scale * scale)

    assert spaces(f, np.ones(100), np.ones(2)) == [(100,)]
    assert spaces(lambda c: fnp.exp(c) * 2, 1.0) == [()]
    assert spaces(fnp.exp, np.float64(1)) == ["exp"]


def test_sums_of_repeated_constants_are_constants(cupy):
    x = np.ones((3, 1000))
    f = lambda x: fnp.tanh(x[:, 0]) + fnp.sum(fnp.ones_like(x) * 0.1) + fnp.sum(fnp.ones_like(x), 1)
    assert spaces(f, x) == ["slice", (3,)]
    check(cupy, f, x)
    check(cupy, f, x.astype("f4"), rtol=1e-6)


def polynomial(x):
    total = x * 0
    for k in range(30):
        total = total * x + 1 / (k + 1)
    return total


def chain(x, w):
    def step(carry, row):
        carry = fnp.tanh(carry * row + 0.5)
        return carry, carry * row

    return lax.scan(step, x, w, reverse=True)


@pytest.mark.parametrize("transform", [lambda f: f, lambda f: fg.grad(lambda *xs: summed(f(*xs)))])
@pytest.mark.parametrize(
    ("f", "args"), [(polynomial, [(50,)]), (chain, [(50,), (20, 50)]), (chain, [(), (20,)])]
)
def test_short_loops_are_written_out(cupy, launched, transform, f, args):
    args = [np.random.default_rng(0).uniform(0.1, 1, shape) for shape in args]
    f = transform(f)
    assert "scan" not in spaces(f, *args)
    check(cupy, f, *args)
    assert len(launched) <= 2


def summed(results):
    return sum(fnp.sum(x) for x in fg.tree.leaves(results))


@fg.as_written
def test_kernels_have_no_more_arrays_than_parameters():
    """Beyond 4 kB of addresses CUDA compiles no kernel."""
    f = lambda *xs: fnp.stack([x * 2 + 1 for x in xs])
    expr = simplify(fg.make_expr(f)(*[np.ones(2)] * 600))
    _, kernels = schedule_with_kernels(expr, (), CUPY)
    assert kernels
    for kernel in [fused.kernel for fused in kernels]:
        assert len(kernel.operand_types) + len(kernel.output_types) <= ARRAYS


def test_loops_over_leaves_stack_nothing(cupy, launched):
    """Rows of what a loop stacks, or of what was stacked for it, are read where they are."""

    def f(xs, ys):
        means = [0.9 * x + 0.1 * y for x, y in zip(xs, ys, strict=True)]
        return [x - 0.01 * m / (fnp.sqrt(m * m) + 1e-8) for x, m in zip(xs, means, strict=True)]

    xs, ys = np.random.default_rng(0).normal(size=(2, 12, 40))
    args = [list(map(cupy.asarray, x)) for x in (xs, ys)]
    for x, y in zip(fg.jit(f)(*args), f([*xs], [*ys]), strict=True):
        np.testing.assert_allclose(x.get(), y, rtol=1e-13)
    assert "stack" not in str(fg.jit(f).lower([*xs], [*ys]).launches)
