"""Programs of a device as one CUDA graph, on a strict stand-in: histories of calls give the bits of plain calls."""

import ctypes
import gc
import sys
import threading
import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.targets import driver, graph
from tests.backends import graph_on_host as on_host
from tests.backends.cuda_on_host import COMPILER
from tests.backends.test_device_plans import (
    W,
    X,
    codes,
    descent,
    gradient,
    layers,
    overlapping,
    rows,
    turned,
)
from tests.fuzz import language
from tests.fuzz import native as fuzz
from tests.fuzz.native_programs import TRACED

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
    pytest.mark.usefixtures("eager"),
]


@pytest.fixture
def graphs(monkeypatch):
    """The graphs that are made, whether they come to anything or not."""
    made = []

    class Graph(graph.Graph):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(graph, "Graph", Graph)
    return made


@pytest.fixture
def cupy(monkeypatch, graphs):
    module = on_host.install(monkeypatch)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def plain(f, *args):
    """Return the leaves of the results without graphs."""
    fg.config.update("gpu_graphs", False)
    try:
        return fg.tree.leaves(f(*args))
    finally:
        fg.config.update("gpu_graphs", True)


def check(f, *args):
    """Hold a call to the bits of a plain one; return its results."""
    found = fg.tree.leaves(f(*args))
    for x, y in zip(found, plain(f, *args), strict=True):
        assert (x.shape, x.dtype, x.strides) == (y.shape, y.dtype, y.strides)
        assert x.get().tobytes() == y.get().tobytes()
    return found


def shared(x, w):
    """Arguments that kernels and products read, results that both write, and one that is none of these."""
    y = fnp.tanh(x) * w + 1
    z = y @ w
    return y, z, fnp.exp(z - fnp.max(z)), x, z.T, fnp.sum(y, 0) @ w


def constants(x, w):
    """Arrays of its own."""
    return fnp.sin(x) * np.arange(8.0) + 1, (w @ np.diag(np.arange(8.0))) * 2 + x, np.ones(3)


def rounds(x, w):
    """A loop that stays one, of products."""

    def step(carry, row):
        carry = fnp.tanh(carry @ w + row)
        return carry, fnp.sum(carry * row)

    return lax.scan(step, x * 2, fnp.sin(fnp.ones((20, 8, 8)) * x))


def writes(x, w):
    """Updates of elements, gathers and sorts."""
    y = fnp.sin(x) * w
    y = fnp.asarray(y.at[2:4].add(w[2:4]) if hasattr(y, "at") else y)
    return fnp.sort(y, 1), fnp.take(y * 2 + 1, fnp.argmax(w, 0), 0), fnp.cumsum(y, 1) * x


CAPTURED = [
    layers,
    rows,
    turned,
    overlapping,
    shared,
    constants,
    rounds,
    writes,
    gradient(layers),
]


@pytest.mark.parametrize("f", CAPTURED)
def test_histories(cupy, graphs, f):
    """Results are kept, dropped, fed back and written to; arguments are views, on streams, and one twice."""
    jitted, rng = fg.jit(f), np.random.default_rng(1)
    x, w = map(cupy.asarray, (X, W))
    streams = [on_host.NULL, cupy.cuda.Stream(), cupy.cuda.Stream()]
    kept = []
    for _ in range(25):
        match rng.integers(8):
            case 0:
                x = cupy.asarray(rng.normal(size=X.shape))
            case 1:
                x = x.T
            case 2:
                x[...] = cupy.asarray(rng.normal(size=X.shape))
            case 3:
                x = cupy.asarray(rng.normal(size=(9, 8)))[1:]
            case 4:
                x = w
            case _:
                x, w = w, x
        with streams[rng.integers(3)]:
            found = check(jitted, x, w)
        square = [y for y in found if y.shape == X.shape]
        if square and rng.integers(2):
            x = square[rng.integers(len(square))]
        kept += [(y, y.get()) for y in found if y is not x and rng.integers(2)]
        if abs(x.get()).max() > 100:
            x = cupy.asarray(X)
    for y, was in kept:
        if not any(np.shares_memory(y._array, z._array) for z in (x, w)):
            assert y.get().tobytes() == was.tobytes()
    (made,) = graphs
    assert made.executable is not None, made.why
    assert cupy.cuda.runtime.launches > 5


def test_lists_of_arrays(cupy, graphs):
    f = fg.jit(lambda p, g: [descent(p, g), [fnp.tanh(y) * z for y, z in zip(g, p)], p[0] @ g[0]])
    for k in range(6):
        check(f, *[[cupy.asarray(y * k) for y in z] for z in (X, W)])
    assert graphs[0].executable is not None, graphs[0].why


def test_threads(cupy, graphs):
    """A thread launches at a time, on its own stream."""
    f = fg.jit(shared)
    args = [[cupy.asarray(a * s) for a in (X, W)] for s in (1, 2, 3)]
    expected = [[y.get().tobytes() for y in plain(f, *given)] for given in args]
    wrong = []

    def run(k):
        with cupy.cuda.Stream():
            for _ in range(20):
                found = [y.get().tobytes() for y in fg.tree.leaves(f(*args[k]))]
                wrong.extend([k] * (found != expected[k]))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert graphs[0].executable is not None, graphs[0].why


def test_the_third_call_builds_it(cupy):
    f, args = fg.jit(layers), [cupy.asarray(X), cupy.asarray(W)]
    launches = []
    for _ in range(5):
        f(*args)
        launches.append(cupy.cuda.runtime.launches)
    assert launches == [0, 0, 1, 2, 3]  # the third is held against the call


def test_addresses_are_set_where_they_differ(cupy):
    """In a loop of training, memory comes back in turns."""
    f, (x, w) = (
        fg.jit(lambda x, w: fnp.tanh(fnp.tanh(x @ w + 1) @ w) * x),
        map(cupy.asarray, (X, W)),
    )
    for _ in range(6):
        f(x, w)
    before = cupy.cuda.runtime.updates
    for _ in range(6):
        f(x, w)
    assert cupy.cuda.runtime.updates == before
    f(w, w)
    assert cupy.cuda.runtime.updates == before + 1  # the copy of x, which others read
    x = w
    for _ in range(6):
        x = f(x, w)
    assert cupy.cuda.runtime.updates <= before + 1 + 12


def test_byte_codes_of_a_call(cupy):
    """The host's time is that of arguments and results, however many launches there are."""
    x, counts = cupy.asarray(X), []
    layer = lambda x, w: fnp.tanh(x @ w + 1) * 0.5
    for f in (
        fg.jit(lambda x, w: layer(layer(x, w), w)),
        fg.jit(lambda x, w: layer(layer(layer(layer(layer(x, w), w), w), w), w)),
    ):
        for _ in range(4):
            f(x, x)
        counts.append(codes(f, x, x))
    assert counts[0] == counts[1] <= 600


def test_a_setting_switches_them_off(cupy, graphs):
    f, args = fg.jit(layers), [cupy.asarray(X), cupy.asarray(W)]
    for _ in range(5):
        plain(f, *args)
    assert cupy.cuda.runtime.launches == 0
    assert graphs[0].remark() == ", and is no CUDA graph so far"
    f(*args)
    assert cupy.cuda.runtime.launches == 1
    plain(f, *args)
    assert cupy.cuda.runtime.launches == 1


def test_memory_of_a_graph_goes_with_it(cupy, graphs):
    """Arguments and results are not kept; the program's own memory is, until it goes."""
    gc.collect()
    before = on_host.ALIVE.sum()
    f = fg.jit(constants)
    for _ in range(5):
        f(cupy.asarray(X), cupy.asarray(W))
    gc.collect()
    inside = on_host.ALIVE.sum()
    for _ in range(50):
        f(cupy.asarray(X), cupy.asarray(W))
    gc.collect()
    assert on_host.ALIVE.sum() == inside
    assert cupy.cuda.runtime.executables
    f.clear_cache()
    graphs.clear()
    gc.collect()
    assert not cupy.cuda.runtime.executables
    assert not cupy.cuda.runtime.graphs
    assert on_host.ALIVE.sum() <= before


def test_arguments_may_be_donated(cupy, graphs):
    f = fg.jit(shared, donate_argnums=0)
    g = fg.jit(shared)
    for k in range(6):
        found = fg.tree.leaves(f(cupy.asarray(X + k), cupy.asarray(W)))
        for x, y in zip(found, plain(g, cupy.asarray(X + k), cupy.asarray(W)), strict=True):
            assert x.get().tobytes() == y.get().tobytes()
    assert graphs[0].executable is not None, graphs[0].why


# What is no graph


def until(x, w):
    y = lax.while_loop(lambda y: fnp.sum(y * y) < 1e4, lambda y: y * 2 + w @ w * 0.1, x * 2 + 1)
    return fnp.tanh(y @ w) * fnp.sum(y @ x)


def waves(x, w):
    return fnp.tanh(fnp.fft.rfft(x * 2 + 1).real) * 2, fnp.sin(x @ w) * 2, w @ w


def called(x, w):
    y = fg.pure_callback(lambda y: y, fg.ShapeDtypeStruct(x.shape, x.dtype), x * 2 + 1)
    return fnp.tanh(y @ w) * 2 + fnp.sin(x @ x)


@pytest.mark.parametrize("f", [until, waves, called])
def test_programs_that_are_never_captured(cupy, graphs, f):
    """Those that decide on the host, call Python, or use memory that cuFFT keeps."""
    jitted = fg.jit(f)
    for _ in range(5):
        check(jitted, cupy.asarray(X), cupy.asarray(W))
    assert not graphs
    assert not cupy.cuda.runtime.graphs


def few(x, w):
    return fnp.sin(x) * w


def test_one_kernel_is_no_graph(cupy, graphs):
    f = fg.jit(few)
    for _ in range(5):
        check(f, cupy.asarray(X), cupy.asarray(W))
    assert not graphs


def of_values(x, w):
    """What a function of the library waits for is not known beforehand."""
    return fnp.tanh(x @ w) * 2, lax.dynamic_slice(w @ w * 2, (fnp.argmax(x[0]), 0), (2, 2)) + 1


def failing(what):
    def fail(*_, **__):
        raise what

    return fail


FAILURES = [
    ("graphInstantiate", RuntimeError("cudaErrorNotSupported")),
    ("streamBeginCapture", RuntimeError("cudaErrorNotPermitted")),
    ("streamEndCapture", RuntimeError("cudaErrorStreamCaptureInvalidated")),
    ("graphLaunch", RuntimeError("cudaErrorLaunchFailure")),
    ("update", driver.Uncaptured("cuGraphExecKernelNodeSetParams returned 1")),
    ("node", driver.Uncaptured("cuStreamGetCaptureInfo_v2 returned 1")),
]


@pytest.mark.parametrize(("name", "error"), FAILURES)
@pytest.mark.parametrize("late", [False, True])
def test_failures_leave_plain_calls(cupy, graphs, monkeypatch, name, error, late):
    f = fg.jit(shared)
    for k in range(7):
        if k == 4 * late:
            place = cupy.cuda.runtime if hasattr(cupy.cuda.runtime, name) else graph.driver()
            monkeypatch.setattr(place, name, failing(error))
        check(f, cupy.asarray(X + k), cupy.asarray(W))
    if not late or name in ("graphLaunch", "update"):
        assert graphs[0].executable is None
        assert str(error) in graphs[0].remark()


def test_a_function_that_waits_leaves_plain_calls(cupy, graphs):
    f = fg.jit(of_values)
    for _ in range(5):
        check(f, cupy.asarray(X), cupy.asarray(W))
    assert all(g.executable is None for g in graphs)


def test_other_results_at_the_first_launch(cupy, graphs, monkeypatch):
    """A graph that differs from a plain call in a bit is not used."""
    run = on_host.Call.run
    monkeypatch.setattr(on_host.Call, "run", lambda self: (run(self), spoil(self)))
    f = fg.jit(shared)
    for _ in range(5):
        check(f, cupy.asarray(X), cupy.asarray(W))
    assert (
        graphs[0].remark()
        == ", and is no CUDA graph: Uncaptured: its first launch gave other results"
    )


def spoil(call):
    for x in call.made:
        if isinstance(x, on_host.Ref):
            x.array()[...] *= 1 + 1e-15


@pytest.mark.parametrize("name", ["COPIED", "KEPT_BYTES"])
def test_limits(cupy, graphs, monkeypatch, name):
    monkeypatch.setattr(graph, name, 64)
    f = fg.jit(shared)
    for _ in range(5):
        check(f, cupy.asarray(X), cupy.asarray(W))
    assert "bytes" in graphs[0].remark()
    assert not cupy.cuda.runtime.graphs


def test_within_a_graph_of_the_users(cupy, graphs):
    f, args = fg.jit(shared), [cupy.asarray(X), cupy.asarray(W)]
    for _ in range(4):
        f(*args)
    launches = cupy.cuda.runtime.launches
    with cupy.cuda.Stream() as stream, cupy.cuda.using_allocator(cupy.cuda.MemoryPool().malloc):
        cupy.cuda.runtime.streamBeginCapture(stream.ptr, 2)
        f(*args)
        nodes = stream.captured
        cupy.cuda.runtime.graphDestroy(cupy.cuda.runtime.streamEndCapture(stream.ptr))
    assert len(nodes) > 3
    assert cupy.cuda.runtime.launches == launches


def small_programs(count):
    """Yield random programs of few elements: the jitted function, and arguments of the host."""
    for seed in range(10 * count):
        drawn = fuzz.generate(seed)
        xs = fuzz.arguments(drawn.calls[0])
        if count and sum(x.size for x in xs) <= 5000:
            count -= 1
            f, _ = language.build(drawn.program, TRACED)
            yield fg.jit(fuzz.transformed(f, drawn.way)), xs


def test_random_programs(cupy, graphs):
    rng, ran = np.random.default_rng(0), 0
    for f, xs in small_programs(24):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                f(*[cupy.asarray(np.array(x)) for x in xs])
            except (
                TypeError,
                ValueError,
                AttributeError,
            ):  # for its derivative, or CuPy, it is none
                continue
            for _ in range(5):
                moved = [
                    rng.permutation(x.ravel()).reshape(x.shape) if x.dtype.kind == "f" else x
                    for x in xs
                ]
                check(f, *[cupy.asarray(x) for x in moved])
        ran += 1
    assert ran >= 16
    assert sum(g.executable is not None for g in graphs) >= 8


# The stand-in, and the driver


def test_the_stand_in_is_strict(cupy):
    x = cupy.asarray(X)
    runtime, stream = cupy.cuda.runtime, cupy.cuda.Stream()
    with pytest.raises(on_host.Refused, match="default stream"):
        runtime.streamBeginCapture(0, 2)
    pool = cupy.cuda.MemoryPool()
    with stream, cupy.cuda.using_allocator(pool.malloc):
        runtime.streamBeginCapture(stream.ptr, 2)
        y = x * 2
        for waits in (lambda: bool(y[0, 0]), y.get, lambda: cupy.asarray(X), lambda: y[y > 0]):
            with pytest.raises(on_host.Refused):
                waits()
        made = runtime.streamEndCapture(stream.ptr)
    assert (y.get() != 2 * X).all()  # it was not computed
    executable = runtime.graphInstantiate(made)
    runtime.graphLaunch(executable, 0)
    np.testing.assert_array_equal(y.get(), 2 * X)
    x[...] = cupy.asarray(W)
    runtime.graphLaunch(executable, 0)
    np.testing.assert_array_equal(y.get(), 2 * W)
    del x
    with pytest.raises(on_host.Dead):
        runtime.graphLaunch(executable, 0)


def test_parameters_lie_as_in_the_header():
    """CUDA_KERNEL_NODE_PARAMS_v1 of cuda.h, as a C compiler lays it out on 64-bit machines."""
    names = ["function", "blocks", "threads", "shared", "given", "extra"]
    offsets = [getattr(driver.Params, name).offset for name in names]
    assert offsets == [0, 8, 20, 32, 40, 48]
    assert ctypes.sizeof(driver.Params) == 56


def test_there_may_be_no_driver(monkeypatch):
    monkeypatch.setattr(
        ctypes, "CDLL", failing(OSError("libcuda.so.1: cannot open shared object file"))
    )
    with pytest.raises(OSError, match="libcuda"):
        driver.Driver()


class Library:
    """Functions of the driver, as it declares them."""

    def cuStreamGetCaptureInfo_v2(self, stream, status, number, made, last, count):
        assert stream.value == 5
        assert number is made is None
        status._obj.value, count._obj.value = 1, 1
        last._obj.contents = ctypes.c_void_p(77)
        return 0

    def cuGraphExecKernelNodeSetParams(self, executable, node, params):
        given = (executable.value, node.value, params._obj.function)
        return 0 if given == (1, 2, 3) else 400


def test_calls_of_the_driver(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library())
    own = driver.Driver()
    assert own.node(5) == 77
    params = driver.Node(2, driver.Launch(3, 10, 256), [1 << 40, 7], []).params
    own.update(1, 2, params)
    with pytest.raises(driver.Uncaptured, match="returned 400"):
        own.update(1, 3, params)
    assert ([*params.blocks], [*params.threads]) == ([10, 1, 1], [256, 1, 1])
