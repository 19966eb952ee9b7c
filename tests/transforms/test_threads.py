"""Transforms in many threads at once, and in tasks."""

import asyncio
import concurrent.futures
import contextvars
import dataclasses
import linecache
import os
import subprocess
import sys
import sysconfig
import threading
import time
import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.experimental import io_callback

WORKERS = 8


@pytest.fixture(autouse=True)
def frequent_switches():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def at_once(task, count=WORKERS):
    """Run task(0), task(1), ... in threads that start together; return the results."""
    barrier = threading.Barrier(count)

    def run(i):
        barrier.wait(10)
        return task(i)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_one_jitted_function_is_traced_once_for_each_type():
    traces = []

    @fg.jit
    def f(x):
        traces.append(x.shape)
        y = fnp.sin(x)
        for _ in range(20):
            y = y * x + 1
        return y

    def expected(x):
        y = np.sin(x)
        for _ in range(20):
            y = y * x + 1
        return y

    def task(i):
        for k in range(40):
            x = np.linspace(0, 0.9, 1 + (i + k) % 4) + i / 100
            np.testing.assert_allclose(f(x), expected(x), rtol=1e-13)

    at_once(task)
    assert sorted(traces) == [(1,), (2,), (3,), (4,)]
    info = f.cache_info()
    assert (info.misses, info.hits, info.currsize) == (4, WORKERS * 40 - 4, 4)


def test_unjitted_transforms():
    def f(x, c):
        y = fnp.sin(x) * c
        if y[0] > 0:
            y = y * 2
        return fnp.sum(y * x)

    def derivative(x, c):
        s = 2 if np.sin(x[0]) * c > 0 else 1
        return s * c * (np.cos(x) * x + np.sin(x))

    def task(i):
        x = np.array([0.1, 0.2, 0.3]) + i
        for k in range(30):
            c = 1.0 + k
            np.testing.assert_allclose(fg.grad(f)(x, c), derivative(x, c), rtol=1e-12)
            np.testing.assert_allclose(
                fg.vmap(lambda a, c=c: fg.grad(lambda b: a * b * c)(a))(x),
                x * c,
                rtol=1e-12,
            )
            np.testing.assert_allclose(fg.vjp(fnp.sin, x)[1](x)[0], x * np.cos(x), rtol=1e-12)

    at_once(task)


def test_jit_and_grad_mixed_over_one_function():
    f = fg.jit(lambda x: fnp.sum(fnp.tanh(x) * x))
    g = fg.jit(fg.grad(f))
    h = fg.jit(fg.vmap(fg.grad(f)))

    def df(x):
        return np.tanh(x) + x / np.cosh(x) ** 2

    def task(i):
        x = np.linspace(-1, 1, 5) * (i + 1) / WORKERS
        for _ in range(20):
            np.testing.assert_allclose(g(x), df(x), rtol=1e-12)
            np.testing.assert_allclose(fg.grad(f)(x), df(x), rtol=1e-12)
            np.testing.assert_allclose(h(x[:, None])[:, 0], df(x), rtol=1e-12)

    at_once(task)
    assert g.cache_info().misses == 1
    assert h.cache_info().misses == 1


def test_a_first_call_that_fails_does_not_block_the_others():
    tried = []

    @fg.jit
    def f(x):
        tried.append(None)
        if len(tried) == 1:
            raise KeyError("the first")
        return x + 1

    def task(i):
        try:
            return f(1.0)
        except KeyError:
            return "failed"

    results = at_once(task)
    assert sorted(map(str, results)) == ["2.0"] * (WORKERS - 1) + ["failed"]
    assert len(tried) == 2


def test_one_large_array_captured_by_many_threads():
    big = np.ones(20_000)

    def task(i):
        for _ in range(20):
            assert fg.grad(lambda x: fnp.sum(x * big))(1.0) == 20_000

    at_once(task)
    assert big.flags.writeable


def test_results_of_threads_do_not_share_buffers():
    f = fg.jit(lambda x: (fnp.cumsum(x) * 2 - x) * 3)

    def task(i):
        x = np.arange(50.0) + i
        kept = [f(x) for _ in range(20)]
        expected = (np.cumsum(x) * 2 - x) * 3
        for y in kept:
            np.testing.assert_allclose(y, expected, rtol=1e-13)
        return kept[0]

    results = at_once(task)
    for i, a in enumerate(results):
        assert not any(np.shares_memory(a, b) for b in results[:i])


def test_functions_are_read_while_others_filter_warnings():
    definition = "def f(x):\n    y = np.zeros(2)\n    y[int(x is 1)] = x\n    return np.sum(y)\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `is` with a literal
        compiled = [compile(definition, f"<filtered {i}>", "exec") for i in range(WORKERS)]

    def task(i):
        name = f"<filtered {i}>"
        linecache.cache[name] = (len(definition), None, definition.splitlines(True), name)
        for _ in range(20):
            scope = {"np": np}
            exec(compiled[i], scope)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert fg.grad(scope["f"])(2.0) == 1

    kept = [*warnings.filters]
    try:
        at_once(task)
    finally:
        warnings.filters[:] = kept  # threads restore in any order


def test_a_small_cache_under_pressure(monkeypatch):
    monkeypatch.setattr("fungrad.transforms.jit.CACHE_SIZE", 3)
    f = fg.jit(lambda x: fnp.sum(x) * 2)

    def task(i):
        for k in range(60):
            n = 1 + (k * 7 + i) % 10
            assert f(np.ones(n)) == 2 * n

    at_once(task)
    assert f.cache_info().currsize <= 3


def test_recursive_jitted_functions():
    def make():
        even = fg.jit(lambda x, n: x + 0 if n == 0 else odd(x, n - 1), static_argnums=1)
        odd = fg.jit(lambda x, n: x * 2 if n == 0 else even(x, n - 1), static_argnums=1)
        return even, odd

    even, odd = make()

    def task(i):
        f = (even, odd)[i % 2]
        return [f(1.0, n) for n in (6, 5, 4, 3)]

    for i, result in enumerate(at_once(task)):
        assert result == ([1, 2, 1, 2] if i % 2 == 0 else [2, 1, 2, 1])


def test_a_trace_belongs_to_its_thread():
    inside = threading.Event()
    done = threading.Event()
    results = []

    def f(x):
        inside.set()
        assert done.wait(10)
        return x * x

    thread = threading.Thread(target=lambda: results.append(fg.grad(f)(3.0)))
    thread.start()
    assert inside.wait(10)
    # While the other trace is open nothing here is traced.
    assert type(fnp.sin(0.5)) is np.float64
    assert type(fnp.zeros(3)) is np.ndarray
    assert fg.grad(lambda x: x * 5)(1.0) == 5
    done.set()
    thread.join()
    assert results == [6]


def test_threads_started_inside_a_traced_function():
    def f(x):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            context = contextvars.copy_context()
            return sum(pool.map(lambda k: context.copy().run(lambda: x * k), range(4)))

    assert fg.grad(f)(2.0) == 6


@pytest.mark.parametrize("looking", [False, True])
def test_threads_that_record_in_one_trace_at_once(looking):
    def sum_of_powers(x, k):
        y = x
        for i in range(60):
            y = y + fnp.sin(x) * float(k)
            if looking and i % 20 == 0:
                assert float(y) == pytest.approx(2 + (i + 1) * k * np.sin(2.0))
        return y

    def f(x):
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            return sum(pool.map(lambda k: sum_of_powers(x, k), range(WORKERS)))

    n = 60 * sum(range(WORKERS))
    for _ in range(5):
        with fg.checking():
            value, derivative = fg.value_and_grad(f)(2.0)
        np.testing.assert_allclose(value, 2 * WORKERS + n * np.sin(2.0), rtol=1e-12)
        np.testing.assert_allclose(derivative, WORKERS + n * np.cos(2.0), rtol=1e-12)


def test_an_effect_happens_once_though_another_thread_looks_at_values_meanwhile():
    happened, begun = [], threading.Event()

    def effect(y):
        happened.append(y)
        begun.set()
        time.sleep(0.1)
        return y

    def f(x):
        y = fnp.sin(x)

        def look():
            assert begun.wait(10)
            return float(fnp.cos(y))

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            seen = pool.submit(look)
            z = io_callback(effect, fg.ShapeDtypeStruct((), float), fg.lax.stop_gradient(y))
            assert seen.result() == np.cos(np.sin(2.0))
        return x * z

    assert fg.grad(f)(2.0) == np.sin(2.0)
    assert happened == [np.sin(2.0)]


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, fg.vmap])
def test_contexts_copied_while_a_function_is_traced(transform):
    """Tasks made there have them, and where threads inherit contexts, threads of pools that start there."""
    contexts = []

    def f(x):
        contexts.append(contextvars.copy_context())
        return fg.lax.cond(
            x > 0, lambda: contexts.append(contextvars.copy_context()) or x, lambda: x
        )

    transform(f)(np.ones(2) if transform is fg.vmap else 1.0)
    assert len(contexts) > 1
    for context in contexts:
        assert type(context.run(fnp.zeros, 2)) is np.ndarray
        assert context.run(fg.grad(lambda x: fnp.sum(fnp.ones(3) * x)), 1.0) == 3
        assert context.run(fg.jit(lambda x: fnp.sum(fnp.ones(3) * x)), 1.0) == 3
        assert context.run(fg.checkpoint(lambda x: x), 1.0) == 1
        np.testing.assert_array_equal(
            context.run(fg.vmap(lambda x: fnp.arange(2) + x), np.zeros(1)), [[0, 1]]
        )


def test_a_pool_that_starts_while_a_function_is_traced():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:

        def f(x):
            assert pool.submit(lambda: 1).result() == 1
            return x * x

        assert fg.grad(f)(2.0) == 4
        assert type(pool.submit(fnp.zeros, 2).result()) is np.ndarray


def test_tasks_made_while_a_function_is_traced():
    async def later():
        return fnp.ones(2)

    async def run():
        tasks = []

        def f(x):
            tasks.append(asyncio.ensure_future(later()))
            return x * x

        assert fg.grad(f)(2.0) == 4
        return await tasks[0]

    assert type(asyncio.run(run())) is np.ndarray


def test_settings_belong_to_a_task():
    async def checked(x):
        with fg.checking():
            await asyncio.sleep(0)
            return fg.grad(lambda x: x * x)(x)

    async def plain(x):
        await asyncio.sleep(0)
        return fg.jit(fg.grad(lambda x: x * x))(x)

    async def both():
        return await asyncio.gather(*[f(float(i)) for i in range(5) for f in (checked, plain)])

    assert asyncio.run(both()) == [2.0 * i for i in range(5) for _ in range(2)]


def test_first_calls_at_once():
    """Rules are imported when a function first needs them: no thread may see a module half imported."""
    program = """
import sys, threading
import numpy as np
import fungrad as fg

sys.setswitchinterval(1e-6)
x = np.array([0.3, 0.1, 0.2])
FUNCTIONS = (
    np.sort, np.median, np.cumsum, np.diff, np.outer, np.pad, np.fft.fft, np.linalg.norm, np.sinc,
    np.nansum, np.average, np.trapezoid, np.tile, np.interp, np.unwrap, np.add.accumulate, np.convolve,
)
arguments = {np.outer: (x,), np.pad: (1,), np.tile: (2,), np.interp: (x, x), np.convolve: (x,)}
start, failures = threading.Barrier(8), []

def run(i):
    start.wait()
    try:
        for k in range(len(FUNCTIONS)):
            f = FUNCTIONS[(k + i // 4) % len(FUNCTIONS)]
            g = lambda x: fg.numpy.sum(fg.numpy.abs(f(x, *arguments.get(f, ()))))
            fg.jit(fg.grad(g))(x), fg.vmap(fg.grad(g))(x[None])
    except BaseException as error:
        failures.append(repr(error))

threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(*failures, sep="\\n")
"""
    for _ in range(2):
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert (result.stdout.strip(), result.stderr) == ("", "")


def test_classes_registered_at_once():
    def check(cls, x):
        fg.tree_util.register_dataclass(cls, data_fields=["a", "b"], meta_fields=[])
        f = fg.jit(lambda s: cls(a=fnp.sum(s.a * s.b), b=s.b))
        gradient = fg.grad(lambda s: f(s).a)(cls(a=x, b=2 * x))
        assert type(gradient) is cls
        np.testing.assert_array_equal(gradient.a, 2 * x)
        mapped = fg.vmap(f)(cls(a=x[:, None], b=x[:, None]))
        np.testing.assert_array_equal(mapped.a, x * x)

    def task(i):
        for k in range(5):
            check(dataclasses.make_dataclass(f"State{i}_{k}", ["a", "b"]), np.arange(3.0) + i)

    at_once(task)


def test_shared_functions_of_all_transforms():
    f = fg.jit(lambda x, y: fnp.sum(fnp.sin(x) * y))
    functions = [
        (fg.grad(f), lambda x, y: np.cos(x) * y),
        (fg.vmap(f, in_axes=(0, None)), lambda x, y: np.sin(x) * y.sum()),
        (fg.jacrev(fg.grad(f)), lambda x, y: np.diag(-np.sin(x) * y)),
        (
            lambda x, y: fg.jvp(f, (x, y), (x, y))[1],
            lambda x, y: (np.cos(x) * x * y + np.sin(x) * y).sum(),
        ),
    ]

    def task(i):
        for k in range(12):
            transformed, expected = functions[(i + k) % len(functions)]
            x, y = np.linspace(0.1, 1.0, 2 + k % 3) + i, np.linspace(1.0, 2.0, 2 + k % 3)
            np.testing.assert_allclose(transformed(x, y), expected(x, y), rtol=1e-12)

    at_once(task)


def test_free_threaded_python_stays_so():
    """Python takes the lock again, and warns, where an extension module asks for it."""
    program = (
        "import sys, numpy as np, fungrad as fg, fungrad.lax\n"
        "fg.jit(fg.vmap(fg.grad(fg.numpy.sin)))(np.ones(3))\n"
        "print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHON_GIL"}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
    )
    locked = not sysconfig.get_config_var("Py_GIL_DISABLED")
    assert (result.stdout.strip(), result.stderr) == (str(locked), "")
