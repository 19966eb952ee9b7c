"""`pure_callback` and `io_callback`."""

import contextvars
import sys
import threading

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.callback import io_callback, pure_callback
from tests.backends.fake_cupy import make_module

SCALAR = fg.ShapeDtypeStruct((), float)


def sine(x):
    return np.sin(x)


def pure(x, **options):
    return pure_callback(sine, x, x, **options)


@pytest.mark.parametrize("transform", [lambda g: g, fg.jit, lambda g: fg.jit(fg.jit(g))])
@pytest.mark.parametrize("x", [np.ones(3), np.float32(0.5), 0.5, np.ones((0, 2))], ids=str)
def test_pure_callback(transform, x):
    found = transform(pure)(x)
    np.testing.assert_array_equal(found, np.sin(x))
    assert found.dtype == np.asarray(x).dtype


def test_results_are_a_pytree():
    def both(pair, *, factor):
        return {"a": pair[0] * factor, "b": (pair[1].astype(np.int32), 2)}

    def f(x):
        shapes = {
            "a": x,
            "b": (fg.ShapeDtypeStruct(x.shape, np.int32), fg.ShapeDtypeStruct((), int)),
        }
        return pure_callback(both, shapes, (x, x), factor=2.0)

    for g in (f, fg.jit(f)):
        found = g(np.array([1.0, 2.0]))
        np.testing.assert_array_equal(found["a"], [2.0, 4.0])
        assert found["b"][0].dtype == np.int32
        assert found["b"][1] == 2


def test_an_unused_result_is_not_computed_and_equal_calls_are_one():
    calls = []

    def count(x):
        calls.append(1)
        return x

    fg.jit(lambda x: (pure_callback(count, x, x), x)[1])(1.0)
    assert calls == []
    fg.jit(lambda x: pure_callback(count, x, x) + pure_callback(count, x, x))(1.0)
    assert calls == [1]


def test_what_a_callback_keeps_or_changes_is_its_own():
    kept = []

    def keep(x):
        kept.append(x)
        x += 1
        kept.append(x.copy())
        return x

    def f(x):
        y = fnp.sin(x)
        z = pure_callback(keep, y, y)
        return z * 2 + y

    x = np.zeros(3)
    np.testing.assert_array_equal(fg.jit(f)(x), np.full(3, 2.0))
    np.testing.assert_array_equal(kept[0], kept[1])


METHODS = {
    "sequential": [((), (2,))] * 3,
    "sequential_unrolled": [((), (2,))] * 3,
    "expand_dims": [((3,), (1, 2))],
    "broadcast_all": [((3,), (3, 2))],
    "legacy_vectorized": [((3,), (2,))],
}


@pytest.mark.parametrize("method", METHODS)
def test_vmap_methods(method):
    seen = []

    def outer(x, y):
        seen.append((np.shape(x), y.shape))
        return np.asarray(x)[..., None] * y

    def f(x, y):
        return pure_callback(outer, fg.ShapeDtypeStruct((2,), float), x, y, vmap_method=method)

    x, y = np.arange(3.0), np.array([1.0, 10.0])
    for g in (fg.vmap(f, (0, None)), fg.jit(fg.vmap(f, (0, None)))):
        seen.clear()
        np.testing.assert_array_equal(g(x, y), np.outer(x, y))
        assert seen == METHODS[method]


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_vmap_of_vmap(method):
    def f(x, y):
        return pure_callback(np.add, x, x, y, vmap_method=method)

    x, y = np.arange(6.0).reshape(2, 3), np.array([10.0, 20.0])
    found = fg.vmap(fg.vmap(f, (0, None)), (0, 0))(x, y)
    np.testing.assert_array_equal(found, x + y[:, None])
    empty = fg.vmap(lambda x: f(x, x))(np.ones((0, 2)))
    assert empty.shape == (0, 2)


def test_integer_results_have_no_derivative():
    def f(x):
        n = pure_callback(lambda x: np.asarray(3), fg.ShapeDtypeStruct((), int), x)
        return x * n

    assert fg.grad(f)(2.0) == 3.0
    assert fg.jit(fg.grad(f))(2.0) == 3.0


def test_what_does_not_depend_on_the_argument_is_a_constant():
    assert fg.grad(lambda x: x * pure(2.0))(1.0) == np.sin(2.0)
    assert fg.grad(lambda x: x * pure(fg.stop_gradient(x)))(1.0) == np.sin(1.0)


def test_callbacks_run_on_the_host(monkeypatch):
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    seen = []

    def look(x):
        seen.append(type(x))
        return 2 * x

    f = fg.jit(lambda x: pure_callback(look, x, x) + 1)
    found = f(cupy.asarray(np.ones(2)))
    assert type(found).__module__ == "cupy"
    np.testing.assert_array_equal(found.get(), [3.0, 3.0])
    assert seen == [np.ndarray]


# io_callback


def test_io_callback_is_called_in_order_for_each_run():
    log = []

    def note(x):
        log.append(float(x))
        return np.float64(len(log))

    def f(x):
        first = io_callback(note, SCALAR, x)
        io_callback(note, SCALAR, x + 1)  # its result is not used
        return 10 * first + io_callback(note, SCALAR, x)

    for g in (f, fg.jit(f), fg.jit(fg.jit(f))):
        log.clear()
        assert g(1.0) == 13.0
        assert log == [1.0, 2.0, 1.0]
        assert g(1.0) == 46.0
    log.clear()
    np.testing.assert_array_equal(fg.vmap(f)(np.array([1.0, 5.0])), [15.0, 26.0])
    assert log == [1.0, 5.0, 2.0, 6.0, 1.0, 5.0]


@pytest.mark.parametrize(
    "transform", [fg.grad, lambda g: fg.grad(fg.jit(g)), lambda g: fg.jit(fg.grad(g))]
)
def test_io_callback_beside_a_derivative(transform):
    log = []

    def step(x):
        log.append(float(x))
        return np.float64(2.0)

    f = transform(lambda x: x * io_callback(step, SCALAR, fg.stop_gradient(x)))
    assert f(3.0) == 2.0
    assert f(3.0) == 2.0
    assert log == [3.0, 3.0]


def test_io_callback_without_arguments_or_results():
    log = []
    f = fg.jit(lambda x: (io_callback(lambda: log.append("called"), None), x)[1])
    f(1.0)
    f(1.0)
    assert log == ["called", "called"]


# Errors

MESSAGES = [
    (
        lambda: pure_callback(3, SCALAR),
        TypeError,
        "pure_callback takes a function, not 3 of type int",
    ),
    (
        lambda: io_callback(None, SCALAR),
        TypeError,
        "io_callback takes a function, not None of type NoneType",
    ),
    (
        lambda: pure_callback(sine, "float", 1.0),
        TypeError,
        "pure_callback: result_shape_dtypes must hold arrays or what has a shape and a dtype, such as "
        "fungrad.ShapeDtypeStruct((3,), float); got 'float' of type str",
    ),
    (
        lambda: pure_callback(sine, SCALAR, 1.0, vmap_method="fast"),
        ValueError,
        "pure_callback: vmap_method must be None or one of 'sequential', 'sequential_unrolled', "
        "'expand_dims', 'broadcast_all', 'legacy_vectorized'; got 'fast'",
    ),
    (
        lambda: pure_callback(sine, SCALAR, 1.0, sharding=1),
        ValueError,
        "pure_callback: sharding must be None: there is no sharding here",
    ),
    (
        lambda: io_callback(sine, SCALAR, 1.0, sharding=1),
        ValueError,
        "io_callback: sharding must be None: there is no sharding here",
    ),
    (
        lambda: io_callback(sine, SCALAR, [{1}]),
        TypeError,
        "io_callback: an argument is {1} of type set, which is neither an array nor hashable; bind it "
        "with functools.partial, or let the callback close over it",
    ),
    (
        lambda: pure_callback(sine, SCALAR, np.ones(2)),
        TypeError,
        "pure_callback: the callback `sine` returned an array of type float64[2] where result_shape_dtypes says "
        "float64[]; correct the one or the other (x.astype(dtype) converts)",
    ),
    (
        lambda: fg.jit(lambda x: pure_callback(sine, fg.ShapeDtypeStruct((2,), np.float32), x))(
            np.ones(2)
        ),
        TypeError,
        "pure_callback: the callback `sine` returned an array of type float64[2] where result_shape_dtypes says "
        "float32[2]; correct the one or the other (x.astype(dtype) converts)",
    ),
    (
        lambda: io_callback(lambda x: [1.0, 2.0], fg.ShapeDtypeStruct((2,), float), 1.0),
        TypeError,
        "io_callback: the callback `<lambda>` returned a tree PyTreeSpec([*, *], namespace='fungrad'), but "
        "result_shape_dtypes is a tree PyTreeSpec(*, namespace='fungrad'): they must be alike (a list of "
        "numbers is a tree; make it an array)",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), MESSAGES, ids=range(len(MESSAGES)))
def test_messages(call, kind, message):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value).replace(", namespace='fungrad'", "") == message.replace(
        ", namespace='fungrad'", ""
    )


@pytest.mark.parametrize("call", [pure, lambda x: io_callback(sine, x, x)])
@pytest.mark.parametrize(
    "transform", [fg.grad, lambda g: fg.jit(fg.grad(g)), lambda g: fg.grad(fg.jit(g))]
)
def test_there_is_no_derivative(call, transform):
    with pytest.raises(
        fg.MissingRuleError,
        match=r"_callback` has no `jvp` rule .*test_callback.py.* What the callback `sine` computes is not known to "
        r"fungrad: state the derivative with custom_jvp or custom_vjp, or pass stop_gradient\(x\)",
    ):
        transform(call)(1.0)


def test_vmap_needs_a_method():
    with pytest.raises(
        fg.MissingRuleError,
        match="Pass vmap_method to pure_callback: 'sequential' calls `sine` for each element; with 'expand_dims' or "
        "'broadcast_all' it is called once, with arguments that have the batch as their first axis",
    ):
        fg.vmap(pure)(np.ones(2))


def test_vmap_of_ordered():
    with pytest.raises(
        ValueError,
        match=r"io_callback of `sine` with ordered=True cannot be mapped by vmap: .* Pass ordered=False to call it",
    ):
        fg.vmap(lambda x: io_callback(sine, x, x, ordered=True))(np.ones(2))
    assert fg.jit(lambda x: io_callback(sine, x, x, ordered=True))(0.0) == 0.0


def drawing(nested=None):
    """A function whose body draws numbers that its derivative needs, and the same with numbers that are given."""
    numbers = np.array([0.3, -0.7, 1.1, 0.6])
    calls = []

    def draw():
        calls.append(1)
        return numbers[(len(calls) - 1) % 4]

    def step(c, d):
        h = fnp.cos(fnp.sin(c * d))
        large = fnp.outer(fnp.arange(20.0) * h, fnp.arange(20.0) * c).sum()
        return c * d + fnp.exp(h) * fnp.tanh(h) + 1e-6 * large

    def drawn():
        return io_callback(draw, fg.ShapeDtypeStruct((), float))

    if nested == "cond":
        f = lambda x: lax.cond(x > 0, lambda x: step(x, drawn()), lambda x: x * drawn(), x)
        return f, lambda x: step(x, 0.3), calls, 1
    loop = lambda x: lax.scan(lambda c, _: (step(c, drawn()), None), x, length=4)[0]
    if nested == "checkpoint":
        loop = fg.checkpoint(loop)
    return loop, lambda x: lax.scan(lambda c, d: (step(c, d), None), x, numbers)[0], calls, 4


DERIVATIVES = {
    "grad": fg.grad,
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](1.0)[0],
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1],
    "jvp of jit": lambda f: lambda x: fg.jvp(fg.jit(f), (x,), (1.0,))[1],
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](1.0),
    "second": lambda f: fg.grad(fg.grad(f)),
}


@pytest.mark.parametrize("transform", DERIVATIVES)
@pytest.mark.parametrize("nested", [None, "cond", "checkpoint"])
def test_derivatives_use_the_results_of_the_calls_of_the_function(nested, transform):
    f, given, calls, count = drawing(nested)
    found = DERIVATIVES[transform](f)(0.5)
    assert len(calls) == count
    np.testing.assert_allclose(found, DERIVATIVES[transform](given)(0.5), rtol=1e-9)


def test_where_the_calls_would_have_to_be_repeated_is_an_error():
    def draw():
        return np.float64(0.5)

    def drawn():
        return io_callback(draw, fg.ShapeDtypeStruct((), float))

    def by_while(x):
        return lax.while_loop(lambda c: c < 3, lambda c: c * c * (1.5 + drawn()), x)

    def nested(x):
        def step(c, _):
            return lax.cond(c > 0, lambda c: fnp.sin(c) * drawn(), lambda c: c, c), None

        return lax.scan(step, x, length=3)[0]

    for transform in (fg.grad, lambda f: lambda x: fg.linearize(fg.jit(f), x)[1](1.0)):
        for f in (by_while, nested) if transform is not fg.grad else (nested,):
            with pytest.raises(fg.MissingRuleError, match="needs the results of a callback in it"):
                transform(f)(1.5)
    unused = lambda x: lax.while_loop(lambda c: c < 3, lambda c: (drawn(), c * c)[1], x)
    assert fg.jvp(fg.jit(unused), (2.0,), (1.0,)) == (4.0, 4.0)


def at_once(run):
    run()
    return lambda: None


def in_a_thread_that_goes_on(run):
    """With the context of the callback, as threads of free-threaded Python and tasks have it."""
    go = threading.Event()
    context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: (go.wait(), context.run(run)))
    thread.start()
    return lambda: (go.set(), thread.join())


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, fg.vmap])
@pytest.mark.parametrize("start", [at_once, in_a_thread_that_goes_on])
def test_loops_without_steps_call_nothing_in_what_a_callback_starts(start, transform):
    calls, results, ends = [], [], []

    def body(x):
        def step(c, _):
            called = pure_callback(
                lambda y: calls.append(y) or y,
                SCALAR,
                lax.stop_gradient(x),
                vmap_method="sequential",
            )
            return c + called, None

        return lax.scan(step, x * 3.0, length=0)[0]

    def run():
        results.append(transform(body)(np.ones(2) if transform is fg.vmap else 1.0))

    def f(x):
        return x * io_callback(lambda y: ends.append(start(run)) or y, SCALAR, lax.stop_gradient(x))

    assert fg.grad(f)(2.0) == 2.0
    (end,) = ends
    end()
    np.testing.assert_array_equal(results, [[3.0, 3.0] if transform is fg.vmap else 3.0])
    assert calls == []
