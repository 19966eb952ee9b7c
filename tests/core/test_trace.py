"""Recording: lazily, once, at the right level, with captured arrays kept as they were."""

import contextvars
import sys
import threading

import numpy as np
import pytest

import fungrad as fg
from fungrad.core import snapshot
from fungrad.core.mode import PROGRAM, VALUES
from fungrad.core.primitive import bind, primitive
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.types import type_of
from fungrad.primitives.elementwise import add, cos, mul, neg, sin
from fungrad.primitives.shaping import ReduceSum, iota
from fungrad.primitives.ufunc import Elementwise
from fungrad.transforms.call import key_of

LARGE = snapshot.LARGE // 8
calls: list[str] = []


@primitive
class Counting(Elementwise):
    """The sine, which counts how often it is computed."""

    label: str = "counting"

    def result_dtype(self, *dtypes):
        return dtypes[0]

    def impl(self, xp, x):
        calls.append(self.label)
        return xp.sin(x)

    def jvp(self, tangents, out, x):
        return mul(tangents[0], cos(x))


counting = Counting()


@pytest.fixture(autouse=True)
def no_calls():
    calls.clear()


def total(x):
    return ReduceSum(tuple(range(len(x.shape))))(x)


X = np.linspace(0.1, 0.9, 4)
THREADS_INHERIT = getattr(sys.flags, "thread_inherit_context", False)
"""Whether threads start with the context variables of who starts them: the default of free-threaded Python 3.14."""

# Laziness


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: fg.grad(f)(X),
        lambda f: fg.value_and_grad(f)(X),
        lambda f: fg.vjp(f, X)[1](1.0),
        lambda f: fg.jvp(f, (X,), (X,)),
        lambda f: fg.linearize(f, X)[1](X),
        lambda f: fg.jit(f)(X),
        lambda f: fg.grad(fg.jit(f))(X),
        lambda f: fg.jit(fg.value_and_grad(f))(X),
        lambda f: fg.vmap(f)(X[None]),
    ],
    ids=range(9),
)
def test_nothing_runs_while_recording_and_all_runs_once(transform):
    def f(x):
        y = total(counting(x))
        assert calls == []
        return y

    transform(f)
    assert calls == ["counting"]


def test_a_value_is_computed_when_asked_for_and_only_then():
    def f(x):
        y = counting(x)
        z = Counting("second")(y)
        assert calls == []
        assert float(total(y)) > 0
        assert calls == ["counting", "second"]  # all that is pending
        assert float(total(z)) > 0
        return total(z * Counting("third")(y))

    for _ in range(3):  # evaluated, compiled, compiled
        calls.clear()
        gradient = fg.grad(f)(X)
        assert calls == ["counting", "second", "third"]
    expected = fg.grad(lambda x: total(sin(sin(x)) * sin(sin(x))))(X)
    np.testing.assert_allclose(gradient, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "run",
    [
        lambda f: fg.grad(f)(X),
        lambda f: fg.vjp(f, X)[1](1.0),
        lambda f: fg.jvp(f, (X,), (X,)),
        lambda f: fg.linearize(f, X)[1](X),
        lambda f: fg.hvp(f)(X, X),
        lambda f: fg.grad(lambda x: total(fg.grad(f)(x)))(X),
        lambda f: fg.grad(fg.jit(lambda x: total(counting(x)) if True else f(x)))(X),
    ],
    ids=range(7),
)
def test_forcing_does_not_recompute_the_prefix(run):
    def f(x):
        y = total(counting(x))
        assert y > 0
        assert len(calls) == 1
        return y * y if y > 1 else y

    for _ in range(3):
        calls.clear()
        run(f)
        assert calls == ["counting"]


def test_forcing_a_call_does_not_recompute_it():
    g = fg.jit(lambda x: total(counting(x)))

    def f(x):
        y = g(x)
        assert y > 0
        return y * y

    for _ in range(3):
        calls.clear()
        fg.grad(f)(X)
        assert calls == ["counting"]


def test_what_can_fail_is_computed_at_once():
    @primitive
    class Positive(Elementwise):
        can_fail = True
        linear = (0,)

        def result_dtype(self, *dtypes):
            return dtypes[0]

        def impl(self, xp, x):
            calls.append("positive")
            if (x <= 0).any():
                raise ValueError("not positive")
            return +x

    def f(x):
        try:
            return total(Positive()(x)) * 2.0
        except ValueError:
            assert calls == ["positive"]
            return total(x) * 3.0

    for _ in range(3):
        np.testing.assert_array_equal(fg.jvp(f, (X,), (X,))[1], 2 * X.sum())
        calls.clear()
        np.testing.assert_array_equal(fg.jvp(f, (-X,), (X,))[1], 3 * X.sum())
        calls.clear()


# Levels


def test_the_highest_level_records():
    with Trace("outer") as outer:
        x = outer.new_input(type_of(X))
        with Trace("inner") as inner:
            y = inner.new_input(type_of(X))
            z = add(x, y)
            assert z._owner is inner
            assert neg(x)._owner is outer
            assert inner.expr([z._variable]).captured == 1
            assert [(c._owner, c._variable) for c in inner.captures.values()] == [
                (outer, x._variable)
            ]
            add(x, y)
            assert len(inner.captures) == 1  # the same tracer is captured once
        assert len(outer.equations) == 1
    assert outer.level < inner.level
    with Trace("later") as later:
        assert later.level > inner.level


def test_arrays_are_computed_even_while_a_trace_is_open():
    with Trace("f") as trace:
        trace.new_input(type_of(X))
        assert type(sin(X)) is np.ndarray
        assert trace.equations == []


def test_what_is_made_of_nothing_is_recorded_in_the_innermost_trace():
    assert current_trace.get() is None
    assert type(iota((3,), int)) is np.ndarray
    with Trace("outer"), Trace("inner") as inner:
        assert current_trace.get() is inner
        assert iota((3,), int)._owner is inner
    assert current_trace.get() is None


def test_the_trace_is_closed_on_exceptions():
    with pytest.raises(ZeroDivisionError), Trace("f") as trace:
        1 / 0
    assert not trace.open
    assert current_trace.get() is None


def test_threads_and_contexts_have_traces_of_their_own():
    found = []
    with Trace("here") as here:
        thread = threading.Thread(target=lambda: found.append(current_trace.get()))
        thread.start()
        thread.join()
        contextvars.Context().run(lambda: found.append(current_trace.get()))
    assert found == [here if THREADS_INHERIT else None, None]


def test_gradients_in_many_threads():
    results = {}

    def work(n):
        f = lambda x: total(sin(x) * x * float(n) if n % 2 else sin(x) + x * float(n))
        results[n] = [fg.grad(f)(X) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, found in results.items():
        slope = n * (np.cos(X) * X + np.sin(X)) if n % 2 else np.cos(X) + n
        for x in found:
            np.testing.assert_allclose(x, slope, rtol=1e-14)


# Captured arrays


def test_small_captured_arrays_are_copied():
    array = np.ones(3)
    with Trace("f", VALUES) as trace:
        x = trace.new_input(type_of(array), array * 2)
        y = add(x, array)
        assert array.flags.writeable
        array[:] = 100
        z = add(x, array)
        assert trace.expr([y._variable]).captured == 2
        np.testing.assert_array_equal([*trace.captures.values()], [np.ones(3), np.full(3, 100)])
        trace.evaluate()
        np.testing.assert_array_equal(trace.values[y._variable], np.full(3, 3))
        np.testing.assert_array_equal(trace.values[z._variable], np.full(3, 102))


def test_large_captured_arrays_are_copied_once_until_they_change():
    array = np.ones(LARGE)
    older = array[:]
    with Trace("f", VALUES) as trace:
        x = trace.new_input(type_of(array), array)
        results = [add(x, array), add(x, array), add(x, older)]
        assert len(trace.captures) == 1
        assert array.flags.writeable
        older += 1
        results += [add(x, array), add(x, array[:])]
        array[:] = np.nan
        results += [add(x, array), add(x, array)]
        assert len(trace.captures) == 3
        array[0] = -0.0
        results += [add(x, array)]
        array[0] = 0.0
        results += [add(x, array)]
        assert len(trace.captures) == 5
        trace.evaluate()
        found = [trace.values[y._variable][-1] for y in results]
    np.testing.assert_array_equal(found, [2, 2, 2, 3, 3, *4 * [np.nan]])


def test_the_same_memory_shown_in_another_way_is_another_array():
    array = np.ones((LARGE, 2))
    views = [array, array[:, :1], array[:, 1:], array.reshape(2, -1), array.view(np.int64), array.T]
    with Trace("f") as trace:
        for view in views:
            trace.lift(view)
        for view in views:
            trace.lift(view[:])
    assert [value.shape for value in trace.captures.values()] == [view.shape for view in views]
    assert not any(np.shares_memory(value, array) for value in trace.captures.values())


@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "f4", "f8", "c8", "c16", "g"])
def test_what_is_captured_keeps_layout_and_bits(dtype):
    array = np.asfortranarray(np.arange(2 * LARGE).reshape(2, -1) % 7).astype(dtype)
    with Trace("f") as trace:
        for x in (array, array.T, array[:, ::-1], np.broadcast_to(array[:, :1], array.shape)):
            v = trace.lift(x)._variable
            kept = trace.captures[v]
            np.testing.assert_array_equal(kept, x, strict=True)
            assert not np.shares_memory(kept, x)
            assert kept.flags.c_contiguous == x.flags.c_contiguous
            assert kept.base is None or kept.base.nbytes < 100  # what repeats takes no memory


def test_arrays_that_nobody_can_write_to_are_not_copied(tmp_path):
    array = np.ones(LARGE)
    array.setflags(write=False)
    np.save(tmp_path / "array.npy", array)
    mapped = np.load(tmp_path / "array.npy", mmap_mode="r")
    private = np.load(tmp_path / "array.npy", mmap_mode="c")
    of_bytes = np.frombuffer(array.tobytes())
    of_bytearray = np.frombuffer(bytearray(array.tobytes()))
    view = np.ones(LARGE)[:]
    view.setflags(write=False)
    with Trace("f") as trace:
        for x, is_copied in (
            (array, False),
            (array[::2], False),
            (of_bytes, False),
            (mapped.view(np.ndarray), False),
            (private.view(np.ndarray), True),
            (of_bytearray, True),
            (view, True),
        ):
            v = trace.lift(x)._variable
            assert np.shares_memory(trace.captures[v], x) != is_copied
    assert not array.flags.writeable


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: fg.jit(f, donate_argnums=0)])
def test_results_of_broadcast_arrays_are_taken_without_a_warning(transform):
    # NumPy warns at the first look at their flag; from a transform that would be an error here.
    wide = np.broadcast_arrays(np.ones((2, 3)), np.arange(3.0))[1]
    assert transform(lambda x: (x * wide).sum())(np.float64(2.0)) == (
        6 if transform is fg.grad else 12
    )
    other = np.broadcast_arrays(np.ones((2, 3)), np.arange(3.0))[1]
    np.testing.assert_array_equal(fg.jit(lambda x: x * 2, donate_argnums=0)(other), 2 * other)


def test_views_are_copied_whatever_their_size():
    base = np.ones(LARGE + 1)
    with Trace("f") as trace:
        add(trace.new_input(type_of(base[1:])), base[1:])
        assert base.flags.writeable
        assert not any(np.shares_memory(x, base) for x in trace.captures.values())


def test_baked_arrays_are_constants_and_copies():
    array = np.ones(LARGE)
    with Trace("f", PROGRAM) as trace:
        add(trace.new_input(type_of(array)), array)
    assert trace.captures == {}
    (constant,) = trace.constants.values()
    assert not np.shares_memory(constant, array)


def test_python_scalars_are_captured_by_value_and_type():
    def f(x):
        return add(x, np.float64(1)), add(x, np.float64(1)), add(x, 1.0)

    with Trace("f") as trace:
        f(trace.new_input(type_of(1.0)))
        assert [(type(v), float(v)) for v in trace.captures.values()] == [(np.float64, 1.0)] * 3
        weak = [trace.types[v].weak for v in trace.captures]
        assert weak == [False, False, True]


def test_objects_whose_id_is_reused():
    """Captures are known by id; the objects must live as long as that is remembered."""
    with Trace("f", VALUES) as trace:
        x = trace.new_input(type_of(X), X)
        results = [add(x, np.full(4, float(i))) for i in range(50)]
        trace.evaluate()
        for i, y in enumerate(results):
            np.testing.assert_array_equal(trace.values[y._variable], X + i)


def test_the_structure_holds_no_values():
    def structure(scale, array, power):
        with Trace("f") as trace:
            x = trace.new_input(type_of(array))
            y = mul(add(x, array), mul(x, np.full(3, scale, array.dtype)))
            for _ in range(power):
                y = mul(y, x)
            return key_of(trace, [y._variable], "test")

    ones = np.ones(3)
    assert structure(1.0, ones, 1) == structure(2.0, ones * 2, 1)
    assert hash(structure(1.0, ones, 1)) == hash(structure(2.0, ones * 2, 1))
    assert structure(1.0, ones, 1) != structure(1.0, ones, 2)
    assert structure(1.0, ones, 1) != structure(1.0, ones.astype(np.float32), 1)


def test_the_structure_tells_wiring_apart():
    def structure(f):
        with Trace("f") as trace:
            x, y = trace.new_input(type_of(X)), trace.new_input(type_of(X))
            return key_of(trace, [v._variable for v in f(x, y)], "test")

    programs = [
        lambda x, y: [add(x, y)],
        lambda x, y: [add(y, x)],
        lambda x, y: [add(x, x)],
        lambda x, y: [mul(x, y)],
        lambda x, y: [add(x, y), x],
        lambda x, y: [x, add(x, y)],
        lambda x, y: [add(x, X)],
        lambda x, y: [add(X, x)],
        lambda x, y: [x],
        lambda x, y: [y],
    ]
    assert len({structure(f) for f in programs}) == len(programs)


# Leaked tracers


def leak(transform):
    kept = []

    def f(x):
        kept.append(x * 2.0)
        kept.append(x)
        return total(x)

    transform(f)
    return kept


TRANSFORMS = {
    "grad": lambda f: fg.grad(f)(X),
    "vjp": lambda f: fg.vjp(f, X),
    "jvp": lambda f: fg.jvp(f, (X,), (X,)),
    "jit": lambda f: fg.jit(f)(X),
    "vmap": lambda f: fg.vmap(f)(X[None]),
    "make_expr": lambda f: fg.make_expr(f)(X),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1.0,
        lambda x: 1.0 + x,
        lambda x: sin(x),
        lambda x: fg.grad(lambda y: total(y * x))(X),
        lambda x: fg.jit(lambda y: y * x)(X),
        lambda x: bool(x),
    ],
    ids=range(6),
)
def test_leaked_tracers(name, use):
    result, argument = leak(TRANSFORMS[name])
    with pytest.raises(fg.LeakedTracerError) as error:
        use(result)
    message = str(error.value)
    assert f"used after `{name}" in message
    assert "it was computed at test_trace.py" in message
    assert "kept.append(x * 2.0)" in message
    assert message.startswith("at test_trace.py:")
    assert "lambda x" in message.splitlines()[0]
    with pytest.raises(fg.LeakedTracerError, match="it is one of the function's arguments"):
        use(argument)


def test_a_leaked_tracer_as_a_result():
    kept = leak(TRANSFORMS["jit"])
    with pytest.raises(fg.LeakedTracerError):
        fg.jit(lambda x: kept[0])(X)
    with pytest.raises(fg.LeakedTracerError):
        fg.grad(lambda x: total(kept[0]))(X)


# Errors of equations


def test_errors_of_evaluated_equations_name_the_line():
    @primitive
    class Failing(Elementwise):
        linear = (0,)

        def result_dtype(self, *dtypes):
            return dtypes[0]

        def impl(self, xp, x):
            raise FloatingPointError("no")

    def f(x):
        y = Failing()(x)  # the line
        return bool(total(y) > 0)

    with pytest.raises(FloatingPointError, match="no") as error:
        fg.jvp(f, (X,), (X,))
    (note,) = error.value.__notes__
    assert "raised by `failing`, from test_trace.py" in note
    assert "y = Failing()(x)  # the line" in note


def test_sources_are_the_user_s_lines():
    def f(x):
        y = sin(x)
        return y * y

    expr = fg.make_expr(f)(X)
    assert len(expr.sources) == len(expr.equations)
    assert {(code.co_name, code.co_filename) for code, _ in expr.sources} == {("f", __file__)}
    lines = [list(code.co_positions())[offset // 2][0] for code, offset in expr.sources]
    assert [n - f.__code__.co_firstlineno for n in lines] == [1, 2]


def test_bind_on_arrays_gives_scalars_for_0_d():
    assert type(bind(sin, (np.array(0.5),))) is np.float64
    assert type(ReduceSum((0,))(X)) is np.float64


def test_recursion_limit_does_not_bound_programs():
    n = sys.getrecursionlimit() * 3

    def f(x):
        for _ in range(n):
            x = neg(x)
        return x

    assert fg.grad(f)(1.0) == (-1.0) ** n


@pytest.mark.parametrize("transform", [fg.grad, lambda f: fg.jit(fg.grad(f)), fg.jacfwd])
def test_what_broadcast_arrays_gives_is_captured_without_a_warning(transform):
    """NumPy warns where its flag `writeable` is read."""
    i, j = np.broadcast_arrays(np.arange(3)[:, None], np.arange(2))
    weights, _ = np.broadcast_arrays(np.arange(3.0)[:, None], np.zeros(2))
    f = lambda x: fg.numpy.sum(x[i, j] * weights)
    np.testing.assert_array_equal(transform(f)(np.ones((3, 2))), weights)


def test_arrays_of_other_classes_are_copied_as_numpys_own():
    """Whatever their methods do: the class is that of a library."""

    class Odd(np.ndarray):
        def __getitem__(self, key):
            raise AssertionError

        copy = None

    x = np.broadcast_to(np.ones(()), (3,)).view(Odd)
    for found in (snapshot.copied(x), snapshot.snapshot(x)):
        assert type(found) is np.ndarray
        assert found.tolist() == [1, 1, 1]


def test_public_names_of_tracers_are_those_of_arrays():
    """Other libraries ask any object for names such as `variable`, and take what they find."""
    names = {name for name in dir(Tracer) if not name.startswith("_")}
    assert names - set(dir(np.ndarray)) == {"at"}
