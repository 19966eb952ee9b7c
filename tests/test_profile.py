"""`fungrad.profile`: what takes time, and why something is traced again."""

import asyncio
import contextlib
import contextvars
import gc
import json
import re
import sys
import threading
import time

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile import tiers
from fungrad.compile.background import BACKGROUND
from fungrad.compile.budget import BUDGET, Budget
from fungrad.core.config import compilation, process_settings, settings
from fungrad.core.observing import observers
from tests.compile.compiling import needs_compiler


@pytest.fixture(autouse=True)
def nobody_observes():
    yield
    left = [*observers]
    observers.clear()
    process_settings.set("profiled", False)
    assert left == []


def kinds(p):
    return {event.kind for event in p.events}


def named(p, kind):
    return [event.name for event in p.events if event.kind == kind]


def reasons(p):
    return [t.why for t in p.traced]


def f(x):
    y = fnp.sin(x)
    return fnp.sum(y * x)


# Why something is traced


@pytest.mark.parametrize(
    ("options", "calls", "why"),
    [
        ({}, [(np.ones(3),), (np.ones(4),)], "argument x went from float64[3] to float64[4]"),
        (
            {},
            [(np.ones(3),), (np.ones(3, np.float32),)],
            "argument x went from float64[3] to float32[3]",
        ),
        ({}, [(np.float64(1.0),), (1.0,)], "argument x was float64[], and is a Python float now"),
        ({}, [(np.ones(3),), ({"a": np.ones(3)},)], "the structure of argument x changed from"),
        (
            {"static_argnums": 1},
            [(np.ones(3), 2), (np.ones(3), 3)],
            "static argument n changed from 2 to 3",
        ),
        ({}, [(np.ones(3),), (np.ones(3), np.ones(3))], "argument n was not given before"),
    ],
    ids=["shape", "dtype", "weak", "structure", "static", "number"],
)
def test_why_it_is_traced_again(options, calls, why):
    def g(x, n=1):
        return fg.tree.map(lambda x: x * n, x)

    jitted = fg.jit(g, **options)
    with fg.profile() as p:
        for arguments in [*calls, *calls]:
            jitted(*arguments)
    first, second = reasons(p)
    assert first.startswith("traced jit(g): ")
    assert second.startswith("retraced jit(g): ")
    assert why in second
    assert all(t.seconds > 0 and t.name == "jit(g)" for t in p.traced)
    assert second in str(p)


def test_the_nearest_known_call_may_be_from_before():
    jitted = fg.jit(f)
    jitted(np.ones(3))
    with fg.profile() as p:
        jitted(np.ones(3))
        assert p.traced == []
        jitted(np.ones(5))
    assert reasons(p) == ["retraced jit(f): argument x went from float64[3] to float64[5]"]


def test_a_new_function_each_time():
    with fg.profile() as p:
        for k in range(2):
            fg.jit(lambda x: x * k)(1.0)  # noqa: B023
    assert "has made a new function, as it did before" in reasons(p)[1]


def test_what_closes_over_tracers_is_traced_in_each_call():
    def loss(w):
        return fg.jit(lambda x: fnp.sum(x * w))(np.ones(3))

    with fg.profile() as p:
        fg.grad(loss)(2.0)
    assert "is traced anew in each call" in reasons(p)[0]


def test_explain_cache_misses_says_the_same(caplog):
    jitted = fg.jit(f)
    with fg.explain_cache_misses(), fg.profile() as p:
        jitted(np.ones(3))
        jitted(np.ones(4))
    assert [r.getMessage() for r in caplog.records] == reasons(p)


# What is noted


def test_traces_compilations_calls_and_library_calls():
    jitted = fg.jit(f)
    x = np.ones(3)
    with fg.profile() as p:
        for _ in range(5):
            assert jitted(x) == f(x)
    assert kinds(p) >= {"trace", "jit", "compile", "call", "library"}
    assert named(p, "trace") == ["jit(f)"]
    assert named(p, "call") == ["jit(f)"] * 5
    assert named(p, "library").count("sin") == 5
    (sine,) = [row for row in p.table() if row.kind == "library" and row.name == "sin"]
    assert sine.calls == 5
    assert sine.line.startswith("test_profile.py:")
    assert 0 < sine.longest <= sine.seconds


def test_rewriting_and_gradients():
    x = np.ones(3)
    with fg.profile() as p:
        expected = [fg.grad(f)(x) for _ in range(4)]
        fg.vmap(f)(np.ones((2, 3)))
    assert np.array_equal(expected, [fg.grad(f)(x)] * 4)
    assert named(p, "trace").count("grad(f)") == 4
    assert "vmap" in "".join(named(p, "trace"))
    assert "rewrite" in kinds(p)


@pytest.mark.parametrize("mode", ["off", "eager"])
def test_results_are_those_without(mode):
    def g(p, n):
        def body(c, row):
            return c + fnp.sum(row * p["w"]), fnp.tanh(c)

        c, ys = lax.scan(body, 0.0, p["x"])
        return fnp.linalg.solve(p["m"], ys[:3]) * c + n

    p = {"x": np.linspace(0, 1, 12).reshape(4, 3), "w": np.ones(3), "m": np.eye(3) * 2}
    from fungrad.core.config import compilation
    from fungrad.core.state import holding

    for function in (fg.jit(g), fg.vmap(g, (None, 0)), fg.jit(fg.jacrev(g))):
        n = np.arange(3.0)
        with holding(compilation, mode):
            expected = function(p, n)
            with fg.profile() as seen:
                found = [function(p, n) for _ in range(6)]
            again = function(p, n)
        for result in (*found, again):
            for a, b in zip(fg.tree.leaves(result), fg.tree.leaves(expected), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)
        assert "call" in kinds(seen)


def test_kernels():
    from fungrad.compile.targets import host
    from fungrad.core.config import compilation
    from fungrad.core.state import holding

    if not host.available():
        pytest.skip("llvmlite is not installed")
    jitted = fg.jit(f)
    x = np.ones(1000)
    with holding(compilation, "eager"), fg.profile() as p:
        assert jitted(x) == pytest.approx(f(x))
        assert jitted(x) == pytest.approx(f(x))
    assert named(p, "kernels")
    assert [event.name for event in p.events if event.kind == "kernel"] == ["kernel"] * 2
    assert named(p, "library") == []


def test_warnings_and_errors_are_those_without():
    jitted = fg.jit(lambda x: fnp.log(x))
    with fg.profile() as p:
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
            jitted(0.0)
        with pytest.raises(np.linalg.LinAlgError) as caught:
            fg.jit(fnp.linalg.cholesky)(-np.eye(2))
    assert "raised by `cholesky`" in "".join(caught.value.__notes__)
    assert "cholesky" in "".join(named(p, "library"))


def test_own_time_leaves_out_what_is_within():
    def slow(x):
        time.sleep(0.02)
        return fg.grad(inner)(x)

    def inner(x):
        time.sleep(0.03)
        return x * x

    with fg.profile() as p:
        fg.jit(slow)(1.0)
    rows = {row.name: row for row in p.table() if row.kind == "trace"}
    assert rows["jit(slow)"].seconds >= 0.05
    assert 0.02 <= rows["jit(slow)"].own < rows["jit(slow)"].seconds - 0.029
    whole = next(e for e in p.events if e.kind == "jit")
    assert sum(row.own for row in p.table()) >= whole.end - whole.start


# The file


def test_the_trace_file(tmp_path):
    path = tmp_path / "trace.json"
    with fg.profile() as p:
        fg.jit(fg.grad(f))(np.ones(3))
    p.trace(path)
    found = json.loads(path.read_text("utf-8"))
    events = found["traceEvents"]
    assert {e["ph"] for e in events} == {"X", "M"}
    assert len([e for e in events if e["ph"] == "X"]) == len(p.events)
    for e in events:
        assert isinstance(e["pid"], int)
        assert isinstance(e["tid"], int)
        assert isinstance(e["name"], str)
        if e["ph"] == "X":
            assert e["ts"] >= 0
            assert e["dur"] >= 0
            assert isinstance(e["args"], dict)
    assert [e["args"]["name"] for e in events if e["name"] == "process_name"] == ["fungrad"]
    assert {e["tid"] for e in events if e["ph"] == "X"} == {threading.get_ident()}
    why = [e["args"]["why"] for e in events if e.get("cat") == "jit"]
    assert why == reasons(p)


def test_bars_of_a_thread_lie_within_each_other(tmp_path):
    """Perfetto draws what overlaps otherwise wrongly."""
    with fg.profile() as p:
        fg.jit(fg.grad(f))(np.ones(3))
        fg.vmap(fg.grad(f))(np.ones((2, 3)))
    ends = []
    for event in sorted(p.events, key=lambda e: (e.start, -e.end)):
        while ends and ends[-1] <= event.start:
            ends.pop()
        assert not ends or event.end <= ends[-1]
        ends.append(event.end)


# Where it holds


def test_off_nothing_is_noted():
    jitted = fg.jit(f)
    with fg.profile() as p:
        jitted(np.ones(3))
    n = len(p.events)
    jitted(np.ones(3))
    jitted(np.ones(4))
    assert len(p.events) == n
    assert settings.get().direct
    assert not process_settings.observed


def test_other_threads_have_rows_of_their_own(tmp_path):
    jitted = fg.jit(f)
    ids = []

    def work():
        ids.append(threading.get_ident())
        jitted(np.ones(3))

    with fg.profile() as p:
        threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(3)]
        for thread in threads:
            thread.start()
        jitted(np.ones(3))
        for thread in threads:
            thread.join()
    assert {e.thread for e in p.events} == {*ids, threading.get_ident()}
    assert named(p, "call") == ["jit(f)"] * 4
    p.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert "worker 0" in [e["args"]["name"] for e in events if e["name"] == "thread_name"]


def test_tasks():
    jitted = fg.jit(f)

    async def work():
        await asyncio.to_thread(jitted, np.ones(3))
        jitted(np.ones(3))

    with fg.profile() as p:
        asyncio.run(work())
    assert named(p, "call") == ["jit(f)"] * 2


def test_nested():
    jitted = fg.jit(f)
    with fg.profile() as outer:
        jitted(np.ones(3))
        with fg.profile() as inner:
            jitted(np.ones(3))
        jitted(np.ones(3))
    assert named(outer, "call") == ["jit(f)"] * 3
    assert named(inner, "call") == ["jit(f)"]


def test_two_threads_at_once_end_in_any_order():
    first, second = fg.profile(), fg.profile()
    jitted = fg.jit(f)
    with first:
        thread = threading.Thread(target=second.__enter__)
        thread.start()
        thread.join()
    assert not settings.get().direct
    jitted(np.ones(3))
    second.close()
    assert settings.get().direct
    assert named(second, "call") == ["jit(f)"]
    assert named(first, "call") == []


def test_within_blocks_of_other_settings():
    jitted = fg.jit(f)
    with fg.log_compiles(False):
        with fg.profile() as p:
            jitted(np.ones(3))
            with fg.debug_infs():
                jitted(np.ones(3))
        assert settings.get().direct
    assert named(p, "call") == ["jit(f)"]  # the other ran equation by equation
    assert settings.get() is process_settings


def test_a_block_that_was_entered_meanwhile_and_outlives_it():
    jitted = fg.jit(f)
    context = contextvars.copy_context()
    block = fg.log_compiles(False)
    with fg.profile() as p:
        context.run(block.__enter__)
        context.run(jitted, np.ones(3))
    n = len(p.events)
    assert context.run(jitted, np.ones(3)) == f(np.ones(3))
    assert len(p.events) == n


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_errors_end_it(error):
    def failing(x):
        raise error

    with pytest.raises(error), fg.profile() as p:
        fg.jit(failing)(1.0)
    assert named(p, "trace") == ["jit(failing)"]
    assert not observers
    assert settings.get().direct


def test_a_profile_that_nobody_holds_ends():
    fg.profile().__enter__()
    assert not observers
    assert settings.get().direct


def test_it_is_opened_once():
    with fg.profile() as p, pytest.raises(RuntimeError, match="open already"):
        p.__enter__()
    p.close()
    p.close()


def test_there_is_a_limit(monkeypatch):
    monkeypatch.setattr("fungrad.profiling.MOST", 3)
    jitted = fg.jit(f)
    with fg.profile() as p:
        for _ in range(5):
            jitted(np.ones(3))
    assert len(p.events) == 3
    assert "events came after the first 3 and were left out" in str(p)


def test_programs_are_let_go():
    import weakref

    jitted = fg.jit(f)
    jitted(np.ones(3))
    (entry,) = jitted.programs.values()
    program = weakref.ref(entry.program)
    del entry
    with fg.profile():
        jitted(np.ones(3))
    jitted.clear_cache()
    gc.collect()
    assert program() is None


# How it is shown


def test_how_it_is_shown(capsys):
    with fg.profile() as p:
        fg.jit(lambda x: x + 1)(np.ones(3))
    assert "jit(&lt;lambda&gt;)" in p._repr_html_()
    assert "own time" in str(p)
    assert repr(p) == f"<Profile of {len(p.events)} events>"
    p.print()
    assert "this is its first call" in capsys.readouterr().out.replace("\n", " ").replace("  ", " ")
    assert "0 events" in str(fg.profile())


def test_an_interrupt_at_any_line_ends_it():
    jitted = fg.jit(f)
    x = np.ones(3)
    expected = jitted(x)

    def call():
        with fg.profile() as p:
            assert jitted(x) == expected
            fg.jit(f)(x)
        return p

    assert len(call().events) > 10
    lines, stop = 0, None

    def trace(frame, event, _):
        nonlocal lines
        if "fungrad" not in frame.f_globals.get("__name__", ""):
            return None
        if event == "line":
            lines += 1
            if lines == stop:
                raise KeyboardInterrupt
        return trace

    def cut(at):
        nonlocal lines, stop
        lines, stop = 0, at
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(before)

    cut(None)
    number = lines
    assert number > 500
    for at in [*range(1, number, number // 60), *range(number - 30, number)]:
        with contextlib.suppress(KeyboardInterrupt):
            cut(at)
        gc.collect()
        assert not observers, at
        assert settings.get().direct, at
        assert jitted(x) == expected


def test_effects_happen_as_often():
    seen = []

    @fg.jit
    def g(x):
        fg.debug.callback(seen.append, x)
        return x + 1

    g(1.0)
    with fg.profile():
        g(2.0)
        g(3.0)
    assert seen == [1.0, 2.0, 3.0]


# What is decided about kernels


@needs_compiler
def test_decisions_about_kernels(monkeypatch):
    asked = []
    monkeypatch.setattr(tiers, "BUDGET", Budget())
    monkeypatch.setattr(BACKGROUND, "add", asked.append)
    g = fg.jit(lambda x: f(x) * 3)
    x = np.ones(3)

    def decided():
        with fg.profile() as p:
            g(x)
        ((program, why),) = p.decisions
        assert program == "jit(<lambda>)"
        return why

    token = compilation.set("background")
    try:
        g(x)
        why = decided()
        assert why.startswith("it is not worth kernels so far: NumPy's functions have taken ")
        assert re.search(
            r" s, of which kernels would spare 100%, and making them takes about [\d.e-]+ s", why
        )
        monkeypatch.setattr(tiers.BUDGET, "limited", False)
        monkeypatch.setattr(tiers.BUDGET, "allows", lambda seconds: False)
        assert decided().startswith("its kernels wait for a later call: NumPy's functions have")
        monkeypatch.undo()
        monkeypatch.setattr(BUDGET, "limited", False)
        monkeypatch.setattr(BACKGROUND, "add", asked.append)
        for _ in range(tiers.CALLS):
            g(x)
        assert decided() == "its kernels are being made"
        asked[0].compile_in_background()
        assert decided() == "it has kernels"
        assert g.lower(x).decisions == ("it has kernels",)
        explained = fg.explain(g)(x)
        assert explained.decisions == ("for float64[3], it has kernels",)
        assert str(explained).endswith("A compiled program: for float64[3], it has kernels")
        assert "for float64[3], it has kernels" in explained._repr_html_()
        assert fg.explain(lambda x: f(x) * 3)(x).decisions == ()
    finally:
        compilation.reset(token)
    token = compilation.set("off")
    try:
        with fg.profile() as p:
            fg.jit(f)(x)
        assert p.decisions == []
    finally:
        compilation.reset(token)
