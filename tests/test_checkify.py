"""Checks at run time, and functions that return what was wrong."""

import contextlib

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import debug
from fungrad.experimental import checkify
from fungrad.experimental.checkify import check
from fungrad.lax.control import scan
from fungrad.settings import debug_nans


def log(x):
    check(x > 0, "log of {}", x)
    return fnp.log(abs(x))


PLACE = f', at test_checkify.py:{log.__code__.co_firstlineno + 1} (in log): check(x > 0, "log of {{}}", x)'
FAILED = f"log of -2.0 (`check` failed){PLACE}"


@pytest.mark.parametrize(
    "transform",
    [
        lambda g: g,
        fg.jit,
        fg.grad,
        lambda g: fg.jit(fg.grad(g)),
        lambda g: fg.grad(fg.jit(g)),
        lambda g: lambda x: fg.vmap(g)(np.array([1.0, x, -3.0])),
        lambda g: fg.jit(lambda x: scan(lambda c, a: (g(c), a), x, np.zeros(2))),
    ],
)
def test_a_failed_check_raises(transform):
    f = transform(log)
    for _ in range(2):
        with pytest.raises(checkify.CheckError) as error:
            f(-2.0)
        assert str(error.value) == f"{FAILED}\nMore: python -m fungrad explain CheckError"


def test_checks_that_hold_do_nothing():
    assert fg.jit(log)(1.0) == 0.0
    assert fg.grad(log)(2.0) == 0.5
    checkify.debug_check(False, "only within checkify")
    check(True, "text")


CHECKIFIED = {
    "eager": lambda x: checkify.checkify(log)(x),
    "of jit": lambda x: checkify.checkify(fg.jit(log))(x),
    "in jit": lambda x: fg.jit(checkify.checkify(log))(x),
    "in jit, of jit": lambda x: fg.jit(checkify.checkify(fg.jit(log)))(x),
    "in checkify": lambda x: (
        checkify.checkify(lambda x: checkify.checkify(log)(x)[1])(x) and checkify.checkify(log)(x)
    ),
}


@pytest.mark.parametrize("name", CHECKIFIED)
def test_errors_are_returned_beside_the_result(name):
    error, value = CHECKIFIED[name](-2.0)
    assert error.get() == FAILED
    assert repr(error) == f"Error({FAILED})"
    assert value == np.log(2.0)
    with pytest.raises(checkify.CheckError, match=r"log of -2\.0"):
        error.throw()
    error, value = CHECKIFIED[name](3.0)
    assert error.get() is None
    error.throw()
    assert value == np.log(3.0)


def test_batches():
    x = np.array([1.0, -2.0, -3.0])
    each = f"at mapped index 1: {FAILED}\nat mapped index 2: {FAILED.replace('-2.0', '-3.0')}"
    for f in (fg.vmap(checkify.checkify(log)), fg.jit(fg.vmap(checkify.checkify(log)))):
        error, value = f(x)
        assert error.get() == each
        np.testing.assert_array_equal(value, np.log(abs(x)))
    error, _ = fg.vmap(fg.vmap(checkify.checkify(log)))(np.array([[1.0], [-2.0]]))
    assert error.get() == f"at mapped index 1, 0: {FAILED}"
    error, value = checkify.checkify(fg.vmap(log))(x)
    assert error.get() == FAILED
    np.testing.assert_array_equal(value, np.log(abs(x)))


def test_derivatives():
    def loss(x):
        error, value = checkify.checkify(log)(x)
        return value**2, error

    for f in (fg.grad(loss, has_aux=True), fg.jit(fg.grad(loss, has_aux=True))):
        slope, error = f(-2.0)
        np.testing.assert_allclose(slope, 2 * np.log(2.0) / -2.0)
        assert error.get() == FAILED
    error, slope = checkify.checkify(fg.grad(log))(-2.0)
    assert error.get() == FAILED
    assert slope == -0.5
    second = fg.grad(fg.grad(lambda x: checkify.checkify(log)(x)[1]))(-2.0)
    np.testing.assert_allclose(second, -0.25)
    both = fg.vmap(fg.grad(lambda x: checkify.checkify(log)(x)[1]))(np.array([2.0, -4.0]))
    np.testing.assert_array_equal(both, [0.5, -0.25])


def test_trees_closures_and_keywords():
    def outer(y):
        def f(pair, *, scale):
            check(pair["a"] > y, "{a} <= {y}", a=pair["a"], y=y)
            return {"sum": pair["a"] + scale * pair["b"], "y": y}

        return checkify.checkify(f)({"a": 1.0, "b": 2.0}, scale=3.0)

    for f in (outer, fg.jit(outer)):
        error, value = f(1.5)
        assert error.get().startswith("1.0 <= 1.5 (`check` failed)")
        assert value == {"sum": 7.0, "y": 1.5}


def test_effects_within_happen_once(capsys):
    def f(x):
        debug.print("x = {}", x)
        check(x > 0, "x")
        return x * x

    fg.jit(fg.grad(lambda x: checkify.checkify(f)(x)[1]))(-1.0)
    fg.grad(lambda x: checkify.checkify(f)(x)[1])(-1.0)
    assert capsys.readouterr().out == "x = -1.0\nx = -1.0\n"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_automatic_checks():
    def run(f, errors, *args):
        error, value = checkify.checkify(f, errors=errors)(*args)
        return error.get(), value

    message, value = run(fnp.log, checkify.nan_checks, -1.0)
    assert message.startswith(
        "`log` of float64[] gave nan in its result of type float64[], at test_check"
    )
    assert np.isnan(value)
    message, _ = run(fnp.sqrt, checkify.all_checks, np.array([1.0, -1.0]))
    assert "first at index (1,)" in message
    message, value = run(lambda x: 1 / x, checkify.float_checks, 0.0)
    assert message.startswith("division by zero in `divide`, at test_checkify.py:")
    assert value == np.inf
    message, _ = run(lambda x: 1 / x, checkify.nan_checks, 0.0)
    assert message is None
    message, _ = run(lambda x: 7 // x, checkify.div_checks, 0)
    assert message.startswith("division by zero in `floor_divide`, at test_checkify.py:")
    message, value = run(lambda x, i: x[i] + 1, checkify.index_checks, np.ones(3), 5)
    assert message.startswith("index 5 is out of bounds for axis 0 with size 3\nraised by `")
    assert value == 0.0
    with pytest.raises(IndexError):
        run(lambda x, i: x[i], checkify.float_checks, np.ones(3), 5)
    with pytest.raises(checkify.CheckError, match=r"log of -2\.0"):
        run(log, checkify.automatic_checks, -2.0)
    message, _ = run(lambda x: fnp.where(x > 0, fnp.log(x), 0.0), checkify.nan_checks, -1.0)
    assert message is None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_collected_goes_to_whoever_does():
    def f(x):
        return checkify.checkify(lambda x: fnp.log(x), errors=checkify.user_checks)(x)[1]

    error, _ = checkify.checkify(f, errors=checkify.nan_checks)(-1.0)
    assert error.get().startswith("`log` of float64[] gave nan")
    with debug_nans(), pytest.raises(FloatingPointError, match="`log` of"):
        f(-1.0)


def test_check_error():
    checkify.check_error(checkify.init_error)

    def f(x):
        error, value = checkify.checkify(log)(x)
        checkify.check_error(error)
        return value

    for g in (f, fg.jit(f), fg.grad(f)):
        g(2.0)
        with pytest.raises(checkify.CheckError, match=r"log of -2\.0"):
            g(-2.0)


def test_debug_checks_count_within_checkify():
    def f(x):
        checkify.debug_check(x > 0, "debugging {x}", x=x)
        return x

    assert fg.jit(f)(-1.0) == -1.0
    error, _ = checkify.checkify(fg.jit(f))(-1.0)
    assert error.get().startswith("debugging -1.0 (`check` failed)")


def test_long_messages_are_cut():
    error, _ = checkify.checkify(lambda x: check(x > 0, "é" * 600))(0.0)
    assert error.get() == "é" * 256


def test_nothing_is_left_behind_by_an_exception():
    def f(x):
        debug.callback(lambda: {}["missing"])
        return x

    with contextlib.suppress(KeyError):
        checkify.checkify(f)(1.0)
    with pytest.raises(checkify.CheckError):
        check(False, "raised")


MESSAGES = [
    (
        lambda: check(np.ones(2, bool), "x"),
        TypeError,
        "check: pred must be a scalar, got bool[2]; fungrad.numpy.all(pred) is one for an array",
    ),
    (
        lambda: check("yes", "x"),
        TypeError,
        "check: pred must be a scalar, got 'yes'; fungrad.numpy.all(pred) is one for an array",
    ),
    (
        lambda: check(True, "{}"),
        ValueError,
        "check: the format '{}' has a field {0}, for which there is no argument",
    ),
    (
        lambda: checkify.checkify(3),
        TypeError,
        "checkify takes a function, not 3 of type int",
    ),
    (
        lambda: checkify.checkify(log, errors={"nans"}),
        ValueError,
        "checkify: errors must be made of user_checks, nan_checks, div_checks and index_checks; got ['nans']",
    ),
    (
        lambda: checkify.check_error("wrong"),
        TypeError,
        "check_error takes the Error that checkify returns, got 'wrong' of type str",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), MESSAGES, ids=range(len(MESSAGES)))
def test_messages(call, kind, message):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message


def test_an_error_has_no_value_while_traced():
    def f(x):
        error, value = checkify.checkify(log)(x)
        assert repr(error) == "Error of a traced function"
        return value if error.get() is None else 0.0

    with pytest.raises(
        ValueError,
        match="the Error has no value while the function around it is traced; return it, and look at it outside, or "
        r"pass it to checkify\.check_error",
    ):
        fg.jit(f)(1.0)


def test_functions_that_ask_for_values():
    with pytest.raises(fg.ConcretizationError, match="checkify"):
        checkify.checkify(lambda x: x if x > 0 else -x)(1.0)


@pytest.mark.parametrize("jit", [fg.jit, lambda f: f])
def test_index_checks_hold_where_indices_are_clipped(jit):
    take = jit(lambda x, i: x[i] + 1)
    x = np.ones(3)
    with fg.settings.out_of_bounds("jax"):
        assert fg.jit(take)(x, 5) == 2
        error, value = checkify.checkify(take, checkify.index_checks)(x, 5)
        assert error.get().startswith("index 5 is out of bounds for axis 0 with size 3")
        assert value == 0
        error, value = checkify.checkify(take, checkify.div_checks)(x, 5)
        assert error.get() is None
        assert value == 2
