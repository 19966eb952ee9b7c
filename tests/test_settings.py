"""Settings: NaN and infinities as errors, jit switched off, logs of compilation, leaks of tracers."""

import concurrent.futures
import logging
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import process_settings
from fungrad.lax.control import cond, scan, while_loop
from fungrad.scipy import optimize
from fungrad.settings import (
    checking_leaks,
    config,
    debug_infs,
    debug_nans,
    disable_jit,
    explain_cache_misses,
    log_compiles,
)

# NaN and infinities


@pytest.fixture
def _quiet():
    with np.errstate(all="ignore"):
        yield


def log_sum(x):
    y = x * 1
    return fnp.sum(fnp.log(y))


def norm(x):
    return fnp.sqrt(fnp.sum(x * x))


def in_a_loop(x):
    return scan(lambda c, a: (fnp.log(c), a), x, np.zeros(3))[0]


@fg.custom_vjp
def with_a_rule(x):
    return x


with_a_rule.defvjp(lambda x: (x, x), lambda x, ct: (ct * fnp.log(-x),))

ONES, MINUS = np.ones(2), np.array([1.0, -1.0])

MADE_NAN = {
    "jit": (fg.jit(log_sum), MINUS, r"`log` of float64\[2\] gave nan .* first at index \(1,\), at .*log\(y\)"),
    "value_and_grad": (fg.value_and_grad(log_sum), MINUS, r"`log` of float64\[2\] gave nan"),
    "jvp": (lambda x: fg.jvp(log_sum, (x,), (x,)), MINUS, r"`log` of float64\[2\] gave nan"),
    "vmap": (fg.vmap(log_sum), MINUS, r"`log` of float64\[2\] gave nan"),
    "in the backward pass": (fg.grad(norm), np.zeros(2), r"`multiply` .* gave nan .*backward pass.*fnp.sqrt"),
    "jit of grad": (fg.jit(fg.grad(norm)), np.zeros(2), r"`multiply` .* gave nan .*backward pass.*fnp.sqrt"),
    "in the derivative": (lambda x: fg.jvp(norm, (x,), (x,)), np.zeros(2), r"gave nan .*derivative.*fnp.sqrt"),
    "a value asked for": (fg.grad(lambda x: x if fnp.log(x) > 0 else -x), -1.0, r"`log` of float64\[\] gave nan"),
    "a value of a jitted function": (
        fg.grad(lambda x: x if fg.jit(log_sum)(x) > 0 else -x), -1.0, r"`log` of float64\[\] gave nan .*log\(y\)"
    ),
    "loop": (fg.jit(in_a_loop), 0.5, r"`log` of float64\[\] gave nan .*fnp.log\(c\)"),
    "gradient of a loop": (fg.grad(in_a_loop), 0.5, r"`log` of float64\[\] gave nan .*fnp.log\(c\)"),
    "a backward rule": (fg.grad(with_a_rule), 1.0, r"`log` of float64\[\] gave nan .*backward pass.*fnp.log\(-x\)"),
    "jit of a backward rule": (
        fg.jit(fg.grad(with_a_rule)), 1.0, r"`log` of float64\[\] gave nan .*backward pass.*fnp.log\(-x\)"
    ),
    "a checkpoint run again": (
        fg.jit(fg.grad(fg.checkpoint(norm))), np.zeros(2), r"`multiply` .* gave nan .*backward pass.*fnp.sqrt"
    ),
    "NaN that is given": (fg.jit(lambda x: x + 1), np.array([np.nan]), r"; its operand 0 had nan already\nMore: "),
}  # fmt: skip


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("name", MADE_NAN)
def test_nan_is_an_error(name):
    function, x, message = MADE_NAN[name]
    function(x)  # compiled before, where it is
    with debug_nans(), pytest.raises(FloatingPointError, match=message) as error:
        function(x)
    assert "test_settings.py:" in str(error.value)
    function(x)


@pytest.mark.usefixtures("_quiet")
def test_the_whole_message():
    with debug_nans(), pytest.raises(FloatingPointError) as error:
        fg.jit(log_sum)(MINUS)
    line = log_sum.__code__.co_firstlineno + 2
    assert str(error.value) == (
        "`log` of float64[2] gave nan in its result of type float64[2], first at index (1,), at "
        f"test_settings.py:{line} (in log_sum): return fnp.sum(fnp.log(y))\n"
        "More: python -m fungrad explain FloatingPointError"
    )


@fg.custom_jvp
def log_by_jvp(x):
    return np.log(x)


log_by_jvp.defjvp(lambda primals, tangents: (log_by_jvp(*primals), tangents[0] / primals[0]))


@fg.custom_vjp
def log_by_vjp(x):
    return np.log(x)


log_by_vjp.defvjp(lambda x: (np.log(x), x), lambda x, ct: (ct / x,))


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize(
    "transform",
    [
        fg.grad,
        fg.value_and_grad,
        lambda f: lambda x: fg.vjp(f, x)[1](1.0),
        lambda f: lambda x: fg.jvp(f, (x,), (1.0,)),
        lambda f: lambda x: fg.linearize(f, x)[1](1.0),
    ],
)
@pytest.mark.parametrize(
    ("culprit", "f"),
    [
        ("log", lambda x: fnp.sqrt(fnp.log(x))),
        ("log", lambda x: fnp.log(x) * fnp.sqrt(x)),
        ("sqrt", lambda x: fnp.sqrt(x) * fnp.log(x)),
        # Here the derivative of sqrt is NaN, and comes first; but the function is NaN already.
        ("log", lambda x: fnp.sqrt(abs(x) - 1) * 0 + fnp.log(x)),
        ("log_by_jvp", lambda x: fnp.sqrt(log_by_jvp(x))),
        ("log_by_vjp", lambda x: fnp.sqrt(log_by_vjp(x))),
    ],
)
def test_the_first_culprit_is_blamed(transform, culprit, f):
    if culprit == "log_by_vjp":
        transform = fg.grad  # a rule for reverse mode alone
    with debug_nans(), pytest.raises(FloatingPointError, match=f"`{culprit}` of") as error:
        transform(f)(-1.0)
    assert "already" not in str(error.value)


@pytest.mark.usefixtures("_quiet")
def test_nan_of_the_value_is_an_error_under_grad():
    f = lambda x: fnp.log(x)  # the derivative is -1
    assert fg.grad(f)(-1.0) == -1.0
    with debug_nans(), pytest.raises(FloatingPointError, match="`log` of"):
        fg.grad(f)(-1.0)


@pytest.mark.usefixtures("_quiet")
def test_nan_that_reaches_no_result_is_none():
    def safe(x):
        return fnp.where(x > 0, fnp.log(fnp.where(x > 0, x, 1.0)), 0.0)

    def half_safe(x):
        return fnp.where(x > 0, fnp.log(x), 0.0)

    with debug_nans():
        np.testing.assert_array_equal(fg.jit(half_safe)(MINUS), [0.0, 0.0])
        assert fg.grad(safe)(-1.0) == fg.grad(half_safe)(-1.0) == 0.0
        assert fg.jit(lambda x: (x, fnp.log(-x))[0])(1.0) == 1.0
        np.testing.assert_array_equal(fg.jit(lambda x: x)(np.array([np.nan])), [np.nan])
        with pytest.raises(FloatingPointError, match="`sqrt` of"):
            fg.grad(lambda x: fnp.sqrt(x) ** 2)(-1.0)


@pytest.mark.usefixtures("_quiet")
def test_infinities():
    with debug_infs():
        with pytest.raises(FloatingPointError, match=r"`exp` of float64\[\] gave inf"):
            fg.jit(fnp.exp)(1000.0)
        with pytest.raises(FloatingPointError, match=r"`divide` .* gave inf .*backward pass"):
            fg.grad(lambda x: fnp.sqrt(x))(0.0)
        assert np.isnan(fg.jit(fnp.log)(-1.0))


@pytest.mark.usefixtures("_quiet")
def test_results_are_the_same_and_of_their_own():
    f = fg.jit(lambda x, y: (x, x, fnp.broadcast_to(y, (2, 2)), x[:1], 3, fnp.sin(x) * y))
    x, y = np.arange(2.0), np.float64(2.0)
    expected = f(x, y)
    with debug_nans():
        found = f(x, y)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
        assert type(a) is type(b)
        assert not np.shares_memory(a, x)
    assert not np.shares_memory(found[0], found[1])
    assert found[2].flags.writeable


# Switching jit off


def test_disable_jit(as_written):
    runs = []

    @fg.jit
    def f(x):
        runs.append(float(x))
        if x > 0:
            return x
        return -x

    with disable_jit():
        assert f(2.0) == 2.0
        assert f(-2.0) == 2.0
        assert fg.grad(f)(-2.0) == -1.0
        with disable_jit(False), pytest.raises(fg.ConcretizationError):
            f(2.0)
    assert runs == [2.0, -2.0, -2.0]
    with pytest.raises(fg.ConcretizationError):
        f(2.0)


def test_disable_jit_in_loops_and_branches():
    seen = []

    def note(x):
        seen.append(float(x))
        return x + 1

    with disable_jit():
        fg.jit(lambda x: scan(lambda c, a: (note(c), a), x, np.zeros(2)))(1.0)
        while_loop(lambda x: float(x) < 5, note, 3.0)
        cond(True, note, lambda x: x, 5.0)
    assert seen == [1.0, 2.0, 3.0, 4.0, 5.0]


# Logs


def messages(caplog, *switches):
    """Return what is logged, without times."""
    assert all(r.name == "fungrad" and r.levelno == logging.WARNING for r in caplog.records)
    found = [re.sub(r"in \d+\.\d ms", "in T ms", r.getMessage()) for r in caplog.records]
    caplog.clear()
    return found


def test_log_compiles(caplog):
    @fg.jit
    def f(x, y=None):
        return 2 * x

    f(1.0)
    assert messages(caplog) == []
    with log_compiles():
        f(np.ones(10))
        f(np.ones(10))
        assert messages(caplog) == ["compiled jit(f) for float64[10] in T ms"]
        f(np.ones(2, np.float32), {"a": 1, "b": np.float32(2)})
        assert messages(caplog) == ["compiled jit(f) for float32[2], int64[], float32[] in T ms"]
        fg.grad(lambda x: fnp.sum(f(x)))(np.ones(11))
        assert messages(caplog) == ["traced jit(f) for float64[11] in T ms"]
        fg.jit(lambda: 1)()
        assert messages(caplog) == ["compiled jit(<lambda>) for no arrays in T ms"]


def g(x, n, *, scale=1.0):
    return x["w"] * n * scale if isinstance(x, dict) else x * n * scale


W3, W4 = {"w": np.ones(3)}, {"w": np.ones(4)}

EXPLAINED = {
    "a shape": (((W3, 1), {}), ((W4, 1), {}), "argument x['w'] went from float64[3] to float64[4]"),
    "a dtype": (
        ((W3, 1), {}),
        (({"w": np.ones(3, np.float32)}, 1), {}),
        "argument x['w'] went from float64[3] to float32[3]",
    ),
    "a weak type": (
        ((W3, 1), {"scale": 2.0}),
        ((W3, 1), {"scale": np.float64(2.0)}),
        "argument scale was a Python float, and is float64[] now",
    ),
    "a strong type": (
        ((np.float32(1), 1), {}),
        ((1.0, 1), {}),
        "argument x was float32[], and is a Python float now",
    ),
    "a tree": (
        ((W3, 1), {}),
        ((W3 | {"b": 1}, 1), {}),
        "the structure of argument x changed from {'w': *} to {'b': *, 'w': *}",
    ),
    "a static argument": (((W3, 2), {}), ((W3, 3), {}), "static argument n changed from 2 to 3"),
    "a static one by keyword": (
        ((W3,), {"n": 2}),
        ((W3,), {"n": 3}),
        "static argument n changed from 2 to 3",
    ),
    "an argument more": (
        ((W3, 1), {}),
        ((W3, 1), {"scale": 1}),
        "argument scale was not given before, and is given now",
    ),
    "an argument less": (
        ((W3, 1), {"scale": 1}),
        ((W3, 1), {}),
        "argument scale was given before, and is not given now",
    ),
    "by keyword": (
        ((W3, 1), {}),
        ((), {"x": W3, "n": 1}),
        "arguments are passed by keyword that were passed by position, or the reverse",
    ),
    "two things": (
        ((W3, 1), {}),
        ((W4, 2), {}),
        "static argument n changed from 1 to 2; argument x['w'] went from float64[3] to float64[4]",
    ),
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_explanations(name, caplog):
    (args, kwargs), (new_args, new_kwargs), message = EXPLAINED[name]
    f = fg.jit(g, static_argnums=1)
    f(*args, **kwargs)
    with explain_cache_misses():
        f(*args, **kwargs)
        assert messages(caplog) == []
        f(*new_args, **new_kwargs)
    assert messages(caplog) == [f"retraced jit(g): {message}"]


def test_the_nearest_call_is_compared_with(caplog):
    f = fg.jit(lambda x, y: x + y)
    f(np.ones(3), np.ones(3))
    f(np.ones((2, 4)), np.ones(4))
    f(np.ones((5, 1)), np.ones((5, 1)))
    with explain_cache_misses():
        f(np.ones((3, 4)), np.ones(4))
    assert messages(caplog) == [
        "retraced jit(<lambda>): argument x went from float64[2,4] to float64[3,4]"
    ]


def test_many_differences_are_counted(caplog):
    f = fg.jit(lambda tree: tree)
    f([1.0] * 9)
    with explain_cache_misses():
        f([1] * 9)
    [text] = messages(caplog)
    assert text.endswith("argument tree[3] went from float64[] to int64[]; and 5 more")


def test_first_calls_and_new_functions_are_told_apart(caplog):
    with explain_cache_misses(), log_compiles():
        for i in range(2):
            fg.jit(lambda x: x + i)(1.0)  # noqa: B023
    line = sys._getframe().f_lineno - 1
    assert messages(caplog) == [
        "traced jit(<lambda>): this is its first call",
        "compiled jit(<lambda>) for float64[] in T ms",
        f"traced jit(<lambda>): test_settings.py:{line} has made a new function, as it did before. Each jit(f) starts "
        "without programs: write g = jit(f) once, outside of the loop, and call g in it",
        "compiled jit(<lambda>) for float64[] in T ms",
    ]


def test_closures_over_tracers_are_explained(caplog):
    with explain_cache_misses():
        fg.grad(lambda x: fg.jit(lambda y: x * y)(x))(1.0)
    assert messages(caplog) == [
        "jit(<lambda>) is traced anew in each call: it uses traced values of the function around it that "
        "are not its arguments. Pass them as arguments"
    ]


def test_named_axes_are_explained(caplog):
    f = fg.jit(lambda x: 2 * x)
    with explain_cache_misses():
        fg.vmap(f, axis_name="i")(np.ones(2))
        fg.vmap(f, axis_name="i")(np.ones(3))
    assert messages(caplog)[1] == (
        "retraced jit(<lambda>): the named axes of vmap around it changed from {'i': 2} to {'i': 3}"
    )


def test_what_keeps_an_objective_from_being_compiled_is_explained(caplog, as_written):
    data = np.linspace(1.0, 2.0, 20)

    def loss(p):
        return (p[0] - data[np.argmin(p)]) ** 2 + p[1] ** 2  # an index of a plain array

    with explain_cache_misses():
        optimize.minimize(loss, np.zeros(2))
    line = loss.__code__.co_firstlineno + 1
    asked = [text for text in messages(caplog) if "traced anew in each call" in text]
    assert len(asked) == 1
    assert f"test_settings.py:{line}" in asked[0]
    assert "fungrad.numpy.take(a, index, axis=0)" in asked[0]
    caplog.clear()
    optimize.minimize(loss, np.zeros(2))
    assert messages(caplog) == []


# Leaks


def test_leaks():
    kept = []

    def leaking(x):
        y = 2 * x
        kept.append(y)
        return y

    with pytest.raises(fg.LeakedTracerError) as error, checking_leaks():
        fg.jit(leaking)(1.0)
    line = leaking.__code__.co_firstlineno + 1
    assert str(error.value) == (
        "a tracer of type float64[] of `jit(leaking)`, which has returned, is still referenced from somewhere; it "
        f"was computed at test_settings.py:{line} (in leaking): y = 2 * x. Look for a global, an attribute or a "
        "list that it was stored in, and return the value from the function instead.\n"
        "More: python -m fungrad explain LeakedTracerError"
    )
    with checking_leaks():  # what leaked before is no fault of the block
        fg.grad(fg.jit(lambda x: fnp.sin(x) * x))(1.0)
        fg.vmap(fg.grad(lambda x: x * x))(np.ones(2))
    with pytest.raises(fg.LeakedTracerError, match="argument"), checking_leaks():
        fg.grad(lambda x: kept.append(x) or x * x)(1.0)
    with pytest.raises(KeyError), checking_leaks():  # the first error is the one to tell
        fg.jit(lambda x: kept.append(x) or {}["missing"])(1.0)


# The process


@pytest.fixture
def _restored():
    before = {name: getattr(process_settings, name) for name in vars(process_settings)}
    yield
    for name, value in before.items():
        setattr(process_settings, name, value)


@pytest.mark.usefixtures("_restored")
def test_settings_of_the_process_are_those_of_all_threads():
    def traces():
        seen = []
        pool.submit(fg.jit(fg.as_written(lambda x: seen.append(repr(x)) or x)), 1.0).result()
        return "Tracer" in seen[0]

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # threads may inherit the settings of a block they start in
        with disable_jit():
            assert traces()
        config.update("jax_disable_jit", True)
        assert not traces()
        assert config.jax_disable_jit
        assert config.disable_jit
        with disable_jit(False):
            assert not config.disable_jit
            config.update("disable_jit", True)
            assert config.disable_jit
        config.update("disable_jit", False)
        assert traces()


@pytest.mark.usefixtures("_restored", "_quiet")
def test_compiled_programs_heed_the_process_too():
    f = fg.jit(fnp.log)
    f(-1.0)
    config.update("debug_nans", True)
    with pytest.raises(FloatingPointError):
        f(-1.0)
    with pytest.raises(FloatingPointError):
        fg.jit(fnp.log)(-1.0)
    config.update("debug_nans", False)
    assert np.isnan(f(-1.0))


def test_config():
    assert repr(config).startswith("Config(disable_jit=False, debug_nans=False")
    assert config.jax_enable_x64
    for call, kind, message in [
        (
            lambda: config.update("jax_check_tracer_leaks", True),
            AttributeError,
            "fungrad.config has no 'jax_check_tracer_leaks': use the context manager fungrad.checking_leaks()",
        ),
        (
            lambda: config.nothing,
            AttributeError,
            "fungrad.config has no 'nothing'; it has disable_jit, debug_nans, debug_infs, log_compiles, "
            "explain_cache_misses, strict_conversions, strict_dependence, reading, debug_key_reuse, threefry_partitionable, "
            "inexact_algebra, memory_limit, promotion, enable_x64, out_of_bounds, failures, gpu_graphs, default_device",
        ),
        (
            lambda: config.update("debug_nans", 1),
            TypeError,
            "fungrad.config: debug_nans is True or False, not 1",
        ),
        (
            lambda: setattr(config, "debug_nans", True),
            AttributeError,
            "write fungrad.config.update('debug_nans', True)",
        ),
    ]:
        with pytest.raises(kind) as error:
            call()
        assert str(error.value) == message


def test_environment_variables():
    code = "from fungrad.settings import config; print(config.debug_nans, config.disable_jit, config.log_compiles)"
    environment = os.environ | {"FUNGRAD_DEBUG_NANS": "1", "FUNGRAD_DISABLE_JIT": "0"}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout == "True False False\n"


def ruled(kind):
    """A function whose slope alone is NaN, computed by NumPy when the rule is called."""
    slope = lambda x: np.log(np.asarray(x) * 0 - 1)
    if kind == "custom_gradient":
        return fg.custom_gradient(lambda x: (x * 1.0, lambda g: (g * slope(2.0),)))
    if kind == "custom_vjp":
        f = fg.custom_vjp(lambda x: x * 1.0)
        f.defvjp(lambda x: (f(x), slope(2.0)), lambda s, g: (g * s,))
        return f
    f = fg.custom_jvp(lambda x: x * 1.0)
    f.defjvp(lambda p, t: (f(*p), t[0] * slope(2.0)))
    return f


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp", "custom_gradient"])
@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: lambda x: 3 * f(2 * x)])
def test_slopes_of_rules_that_are_nan_are_found(kind, wrap):
    transforms = [fg.grad, lambda f: lambda x: fg.vjp(f, x)[1](1.0), lambda f: fg.jit(fg.grad(f))]
    if kind == "custom_jvp":
        transforms.append(lambda f: lambda x: fg.jvp(f, (x,), (1.0,)))
    f = wrap(ruled(kind))
    for transform in transforms:
        assert np.isnan(np.asarray(transform(f)(2.0)).ravel()[-1])  # remembered without the check
        with debug_nans(), pytest.raises(FloatingPointError, match="gave nan"):
            transform(f)(2.0)
    with debug_nans(), pytest.raises(FloatingPointError, match=r"`rule of .*` gave nan in its res"):
        fg.grad(f)(2.0)
    masked = lambda x: fnp.where(x > 0, x, f(x))
    with debug_nans():
        assert fg.grad(lambda x: x * 2 + fg.stop_gradient(f(x)))(2.0) == 2.0
    assert masked(1.0) == 1.0


def test_arrays_without_axes_by_the_rules_of_jax():
    """There is nothing to be out of bounds of; bounds of a Python number may be left out."""
    one = np.float64(1)
    for mode in (None, "drop", "clip", "fill", "wrap"):
        assert fg.at(one)[()].add(2.0, mode=mode) == 3
        assert fg.jit(lambda x, mode=mode: fg.at(x)[...].set(3.0, mode=mode))(one) == 3
    with fg.settings.out_of_bounds("jax"):
        assert fg.grad(lambda x: fg.at(x)[()].multiply(x))(one) == 2
    with fg.settings.promotion("jax"):
        assert fnp.clip(1.0, 0, 2) == 1
        assert fnp.clip(3, None, 2.5) == 2.5
