"""Programs of a device with a plan of memory: places, the host's work in a call, histories of calls."""

import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from benchmarks import launches
from fungrad import lax
from fungrad.compile.native import schedule_with_kernels
from fungrad.compile.peak import peak
from fungrad.compile.plan import ALIGNED, Place, Plan, plan_of
from fungrad.core.backend import CUPY
from fungrad.core.config import compilation
from fungrad.core.errors import ExprError
from tests.backends import fake_cupy
from tests.backends.cuda_on_host import COMPILER

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
    pytest.mark.usefixtures("eager"),
]


@pytest.fixture
def cupy(monkeypatch):
    """The stand-in, with the sizes of its allocations."""
    module = fake_cupy.make_stand_in()
    module.allocated = allocated = []

    def alloc(size):
        allocated.append(size)
        return fake_cupy.alloc(size)

    class ndarray(fake_cupy.ndarray):
        pass

    module.cuda.alloc = alloc
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def layers(x, w):
    """Kernels between products, and several results."""
    kept = []
    for k in range(4):
        x = fnp.tanh(x @ w + k) * 0.5
        kept.append(fnp.sum(x, 0))
    return x, kept, fnp.sum(x[1:] - x[:-1])


def rows(x, w):
    """Kernels that others follow: sums that blocks share, views, results that are read again."""
    y = fnp.exp(-x * x)
    s = fnp.sum(y)
    z = y / s
    u = fnp.cumsum(z, 0)[::-1]
    return z, u * fnp.max(u), [z[0] + s, w]


def loops(x, w):
    def step(carry, row):
        carry = fnp.tanh(carry @ w + row)
        return carry, fnp.sum(carry * row)

    last, sums = lax.scan(step, x[0] * 2 + 1, fnp.cumsum(x, 0) * 2)
    return last * 2 + sums[0], lax.cond(sums[0] > 0, lambda y: y, lambda y: y * 2 + 1, last * 3 + 1)


PROGRAMS = [layers, rows, loops]
X, W = np.random.default_rng(0).normal(size=(2, 8, 8))


def gradient(f):
    return fg.grad(lambda *xs: sum(fnp.sum(y) for y in fg.tree.leaves(f(*xs))), (0, 1))


@pytest.mark.parametrize("f", [*PROGRAMS, *map(gradient, PROGRAMS)])
def test_plans(f):
    """No two live arrays share bytes; the arena is no larger than the peak, but for alignment."""
    lowered = fg.jit(f).lower(np.ones((64, 64)), np.ones((64, 64)))
    steps, kernels = schedule_with_kernels(lowered.simplified, (), CUPY)
    plan = plan_of(steps).check()
    assert kernels
    assert plan.arena <= peak(steps) + ALIGNED * len(plan.places)
    assert lowered.launches.plan.check().results == plan.results


def test_arrays_that_live_one_after_the_other_share_bytes():
    def f(x):
        for _ in range(6):
            x = fnp.cumsum(fnp.sum(x[:, None] * x + 1, 0))
        return x

    lowered = fg.jit(f).lower(np.ones(64))
    assert len(lowered.launches.plan.places) == 6
    assert lowered.launches.plan.arena == ALIGNED


def test_plans_are_checked():
    one, other = Place("arena", 0, 512, 0, 3), Place("arena", 0, 512, 3, 4)
    with pytest.raises(ExprError, match="r1 and r0 share bytes of the arena"):
        Plan({0: one, 1: other}, 512, 0).check()
    with pytest.raises(ExprError, match="r0 does not lie in the arena"):
        Plan({0: one}, 256, 0).check()
    assert Plan({0: one, 1: Place("arena", 0, 512, 4, 4)}, 512, 0).check()


def test_launches_can_be_looked_at():
    head, product, *kernel = str(fg.jit(layers).lower(X, W).launches).splitlines()[:3]
    assert head == "{ launches, arena of 0 bytes, results of 2560 ."
    assert product.split()[2].startswith("dot_general")
    assert kernel[0].startswith("  kernel0<1, ")
    assert kernel[0].endswith(" results+0")


def given(cupy, *arrays):
    return [cupy.asarray(x) for x in arrays]


def plain(f, *args):
    """Return the leaves of the results by CuPy's functions and kernels without a plan, on NumPy's arrays."""
    token = compilation.set("off")
    found = fg.tree.leaves(fg.jit(f)(*args))
    compilation.reset(token)
    return found


@pytest.mark.parametrize("f", [*PROGRAMS, *map(gradient, PROGRAMS)])
def test_histories(cupy, f):
    """Results stay as they were, whether kept, dropped, fed back, written to or in other orders."""
    jitted, rng = fg.jit(f), np.random.default_rng(1)
    x, w = given(cupy, X, W)
    kept = []
    for _ in range(12):
        match rng.integers(5):
            case 0:
                x = cupy.asarray(rng.normal(size=X.shape))
            case 1:
                x = x.T
            case 2:
                x = cupy.asarray(np.asfortranarray(x.get()))
            case 3:
                x[...] = cupy.asarray(rng.normal(size=X.shape))
            case _:
                x, w = w, x
        found = fg.tree.leaves(jitted(x, w))
        for y, z in zip(found, plain(f, x.get(), w.get()), strict=True):
            np.testing.assert_allclose(y.get(), z, rtol=1e-10, atol=1e-10)
        square = [y for y in found if y.shape == X.shape]
        if square and rng.integers(2):
            x = square[0]  # fed back, and maybe written to
        kept += [(y, y.get()) for y in found if y is not x]
    for y, was in kept:
        if not any(y is z for z in (x, w)):
            np.testing.assert_array_equal(y.get(), was)


def test_threads_have_blocks_of_their_own(cupy):
    f = fg.jit(layers)
    expected = [y.get() for y in fg.tree.leaves(f(*given(cupy, X, W)))]
    wrong = []

    def run(scale):
        for _ in range(20):
            found = fg.tree.leaves(f(*given(cupy, X * scale, W)))
            if scale == 1 and any((y.get() != z).any() for y, z in zip(found, expected)):
                wrong.append(scale)

    threads = [threading.Thread(target=run, args=(scale,)) for scale in (1, 2, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_call_allocates_once_for_its_results(cupy):
    f, args = fg.jit(layers), given(cupy, X, W)
    f(*args)
    cupy.allocated.clear()
    f(*args)
    assert cupy.allocated == [5 * ALIGNED]


def test_a_program_that_its_callback_calls(cupy):
    """It has no blocks that a call of it could find in use."""
    depth = [0]

    def again(y):
        if depth[0] < 2:
            depth[0] += 1
            f(cupy.asarray(X + 1))
        return y

    @fg.jit
    def f(x):
        y = fnp.tanh(x) * 2 + 1
        z = fg.pure_callback(again, fg.ShapeDtypeStruct(x.shape, x.dtype), x)
        return fnp.cumsum(y) + fnp.cumsum(z) * 0

    expected = np.cumsum(np.tanh(X) * 2 + 1)
    np.testing.assert_allclose(f(cupy.asarray(X)).get(), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_arguments_that_do_not_lie_at_whole_elements(cupy, dtype):
    """Kernels read a complex number at once; a view of its parts may begin at the second one."""
    parts = np.random.default_rng(0).normal(size=42).astype(dtype(0).real.dtype)
    f = fg.jit(lambda z: (fnp.sum(z * z), z * 2 + 1))
    for start in (0, 1):
        z = parts[start : start + 40].view(dtype)
        total, twice = f(fake_cupy.ndarray(z))
        np.testing.assert_allclose(total.get(), np.sum(z * z), rtol=1e-5)
        np.testing.assert_allclose(twice.get(), z * 2 + 1, rtol=1e-6)


HOME = os.path.dirname(fg.__file__) + os.sep


def codes(f, *args):
    """Return how many byte codes a call runs, but for those of the stand-in and of NumPy."""
    count = 0

    def trace(frame, _, __):
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return counted

    def counted(_, event, __):
        nonlocal count
        count += event == "opcode"
        return counted

    f(*args)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        f(*args)
    finally:
        sys.settrace(before)
    return count


def test_byte_codes_of_a_call(cupy):
    """The host's time: 1,260 and 2,330 before arguments were checked once and had a way of their own."""
    x = cupy.asarray(X)

    def twenty(x, w):
        for k in range(5):
            x = fnp.tanh(x @ w + k) * 0.5
        return x

    for f, args, most in [(lambda x: fnp.sin(x) * x + 1, [x], 350), (twenty, [x, x], 850)]:
        jitted = fg.jit(f)
        for _ in range(3):  # then it has been tried as a graph
            jitted(*args)
        assert codes(jitted, *args) <= most


def descent(params, gradients):
    """A list of arrays, which is computed as one; rows of that are returned."""
    return [p - 0.1 * g / (fnp.sqrt(g * g) + 1) for p, g in zip(params, gradients, strict=True)]


def overlapping(x, w):
    """Rows that are returned twice, beside the whole, or show more than a row."""
    y = fnp.sin(x) * w + 1
    z = fnp.cos(x) * w + 2
    t = fnp.tanh(x) * w
    return y[0], y[1], y[0], z[2], z, z[3], t[1:3], t[2], t[4, 1:], t[:, 1], t[5]


def copies(f, *args):
    return sum(
        copied
        for _, copied in schedule_with_kernels(f.lower(*args).simplified, (), CUPY)[0].results
    )


def test_rows_of_small_arrays_are_results_without_a_copy(cupy):
    """Adam's step on 100 arrays was a launch and 297 copies."""
    f = fg.jit(descent)
    args = list(X), list(W)
    assert copies(f, *args) == 0
    large = [np.ones(1 << 14)] * 8
    assert copies(f, large, large) == 7  # they would keep each other
    found = f(*[given(cupy, *x) for x in args])
    for k, (y, z) in enumerate(zip(found, plain(descent, *args), strict=True)):
        np.testing.assert_allclose(y.get(), z, rtol=1e-14)
        y[...] = k  # the others stay as they are


def test_results_that_overlap_are_copied(cupy):
    f = fg.jit(overlapping)
    found = f(*given(cupy, X, W))
    expected = plain(overlapping, X, W)
    assert copies(f, X, W) == 7
    for k, y in enumerate(found):
        y[...] = k
    for k, (y, z) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_array_equal(y.get(), np.full(z.shape, k))


def turned(x, w):
    """Views of arrays that kernels make: of one that is returned, and of one that products read."""
    y = fnp.sin(x) * w + 1
    z = fnp.cos(x) * w + 2
    return (
        y[::-2, 1:4].T,
        y[1],
        z.T @ w,
        z[2:, ::-1].reshape(3, 16) @ fnp.ones((16, 2)),
        z[:, 0] @ w,
    )


def test_views_of_places_are_no_calls(cupy, monkeypatch):
    """They are made with the arrays that they show, and those of the arena once."""
    called = []

    def counted(name):
        own = getattr(fake_cupy.ndarray, name)
        return lambda self, *given: called.append(name) or own(self, *given)

    f, args = fg.jit(turned), given(cupy, X, W)
    f(*args)
    monkeypatch.setattr(fake_cupy.ndarray, "__getitem__", counted("__getitem__"))
    for _ in range(2):
        found = f(*args)
        for x, y in zip(found, plain(turned, X, W), strict=True):
            np.testing.assert_allclose(x.get(), y, rtol=1e-13)
            x[...] = 0  # the next call has arrays of its own
    assert not called


COUNTS = Path(__file__).parents[2] / "benchmarks/results/2026-11-30-gpu-graphs.md"


def test_rows_have_no_more_launches_and_nodes_than_before():
    """Launches, other steps and nodes of a graph, as the page has them; `python -m benchmarks.launches` prints it."""
    lines = [x.strip("| \n").split(" | ") for x in COUNTS.read_text("utf-8").splitlines()]
    known = {name: counted for name, *counted in lines if counted}
    rows = [row for module in launches.MODULES for row in module.ROWS]
    assert known.keys() >= {row.name for row in rows}
    for row in rows:
        counted = launches.counts(row)
        for now, before in zip(counted[:3], known[row.name], strict=False):
            assert str(now) == before or int(now) < int(before), (row.name, counted)
