"""NumPy's warnings of divisions by zero and the like name the line that recorded what is running."""

import threading
import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core.errors import api_boundary
from fungrad.core.float_warnings import float_modes, modes_with_calls

X = np.ones(3)


def logarithm(x):
    y = x * 0
    return fnp.sum(fnp.log(y))


def other(x):  # records the same program
    y = x * 0

    return fnp.sum(fnp.log(y))


def branches(x):
    y = fnp.log(x * 0)
    return fnp.sum(x) if y[0] < 0 else fnp.sum(y)


def warned(call, action="always"):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        call()
    return [w for w in found if w.category is RuntimeWarning]


TRANSFORMS = {
    "value_and_grad": fg.value_and_grad,
    "vmap": lambda f: lambda x: fg.vmap(f)(np.stack([x, x])),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](1.0),
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](x),
    "jacrev": fg.jacrev,
    "hessian": fg.hessian,
    "grad of jit": lambda f: fg.value_and_grad(fg.jit(f)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_warnings_are_of_the_line_that_records(name):
    for _ in range(3):  # evaluated first, compiled later
        for f, offset in ((logarithm, 2), (other, 3)):
            found = warned(lambda: TRANSFORMS[name](f)(X))  # noqa: B023
            assert found
            first = f.__code__.co_firstlineno
            for w in found:
                assert w.filename == __file__
                assert w.lineno in (first + 1, first + offset)
            of_log = [
                w for w in found if str(w.message).startswith("divide by zero encountered in log")
            ]
            assert all(w.lineno == first + offset for w in of_log)
            assert of_log or name == "hessian"


def test_warnings_say_where_in_the_derivative():
    found = [str(w.message) for w in warned(lambda: fg.grad(logarithm)(X))]
    assert "divide by zero encountered in divide, in the backward pass" in found
    found = [str(w.message) for w in warned(lambda: fg.jvp(logarithm, (X,), (X,)))]
    assert "invalid value encountered in divide, in the derivative" in found


def test_values_that_are_asked_for():
    (found,) = warned(lambda: fg.grad(branches)(X))
    assert str(found.message) == "divide by zero encountered in log"
    assert (found.filename, found.lineno) == (__file__, branches.__code__.co_firstlineno + 1)


def test_steps_of_a_loop():
    def step(c, _):
        return fnp.log(c * 0), None

    f = lambda x: fnp.sum(lax.scan(step, x, None, length=2)[0])
    found = warned(lambda: fg.grad(f)(X))
    lines = {w.lineno for w in found if "in log" in str(w.message)}
    assert lines == {step.__code__.co_firstlineno + 1}


def test_a_function_of_the_user_s_that_runs_within_a_program():
    def callback(x):
        np.log(x * 0)

    def f(x):
        fg.debug.callback(callback, x)
        return fnp.sum(x)

    (found,) = warned(lambda: fg.grad(f)(X))
    assert str(found.message) == "divide by zero encountered in log"
    assert (found.filename, found.lineno) == (__file__, callback.__code__.co_firstlineno + 1)


def test_jitted_programs_say_of_which_function_they_are():
    (found,) = warned(lambda: fg.jit(logarithm)(X))
    assert found.filename == "<fungrad program of test_float_warnings.py (in logarithm)>"


def test_once_per_line():
    g = fg.value_and_grad(logarithm)
    assert len(warned(lambda: [g(X) for _ in range(5)], "default")) == len(warned(lambda: g(X)))


def test_modes_of_the_user_s_stay():
    before = np.geterr(), np.geterrcall()
    g = fg.value_and_grad(logarithm)
    with np.errstate(all="ignore"):
        assert not warned(lambda: g(X))
    with np.errstate(divide="ignore"):
        (found,) = warned(lambda: g(X))
        assert str(found.message).startswith("invalid value encountered")
        assert found.filename == __file__
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        g(X)
    seen = []
    with np.errstate(all="call", call=lambda *kind: seen.append(kind)):
        assert not warned(lambda: g(X))
    assert seen
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in log"):
            g(X)
    assert (np.geterr(), np.geterrcall()) == before


def test_what_an_error_leaves():
    before = np.geterr()

    def interrupted(x):
        fg.debug.callback(lambda x: 1 / 0, x)
        return x

    with pytest.raises(ZeroDivisionError):
        fg.grad(interrupted)(1.0)
    assert (np.geterr(), np.geterrcall()) == (before, None)

    def sets(x):
        np.seterr(divide="ignore")
        raise ValueError

    try:
        with pytest.raises(ValueError, match=r"^$"):
            fg.grad(sets)(1.0)
        assert np.geterr()["divide"] == "ignore"  # as Python has it
    finally:
        np.seterr(**before)


def test_an_interrupt_at_the_worst_place_is_mended():
    before = np.geterr(), np.geterrcall()

    @api_boundary
    def interrupted():
        float_modes.set(modes_with_calls())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (np.geterr(), np.geterrcall()) == before


def test_threads_warn_of_their_own_lines():
    functions, lines = [logarithm, other], [2, 3]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        threads = [
            threading.Thread(target=lambda f=f: [fg.grad(f)(X) for _ in range(20)])
            for f in functions
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    expected = {
        f.__code__.co_firstlineno + k for f, n in zip(functions, lines, strict=True) for k in (1, n)
    }
    assert {w.lineno for w in found} <= expected
