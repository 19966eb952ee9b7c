"""NumPy's warnings of divisions by zero and the like name the line that recorded what is running."""

import contextvars
import itertools
import pickle
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit import pieces
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


def elementwise(x):
    return fnp.sum(fnp.log(x * 0))  # warns


def a_scalar(x):
    return fnp.log(x[0] * 0)  # warns


def shared_with_another_file(x):
    y = x * 0  # warns
    return layer(y) + fnp.sum(fnp.log(y + 0))  # warns


layer = {"fnp": fnp}
exec(compile("def f(y):\n    return fnp.sum(fnp.sqrt(y - 1))", "another.py", "exec"), layer)
layer = layer["f"]


def of_python(x):  # a primitive that is called, and no function in C
    return fnp.sum(fnp.cumprod(x * 1e200))  # warns


def batched_products(x):
    return fnp.sum((x * 1e200) @ (x * 1e200))  # warns


def scanned(x):
    def step(c, _):
        return fnp.log(c * 0), None  # warns

    return fnp.sum(lax.scan(step, x, None, length=2)[0])


def looped(x):
    return fnp.sum(lax.fori_loop(0, 2, lambda i, c: fnp.log(c * 0), x))  # warns


def repeated(x):
    def body(c):
        return c[0] + 1, fnp.log(c[1] * 0)  # warns

    return fnp.sum(lax.while_loop(lambda c: c[0] < 2, body, (0, x))[1])


def branched(x):
    def taken(x):
        return fnp.log(x * 0)  # warns

    return fnp.sum(lax.cond(fnp.sum(x) > 0, taken, lambda x: x, x))


@fg.custom_jvp
def with_jvp(x):
    return fnp.log(x * 0)  # warns


@with_jvp.defjvp
def rule(primals, tangents):
    out = with_jvp(*primals)
    return out, tangents[0] / (primals[0] * 0)  # warns


@fg.custom_vjp
def with_vjp(x):
    return fnp.log(x * 0)  # warns


def backward(x, g):
    return (g / (x * 0),)  # warns


with_vjp.defvjp(lambda x: (with_vjp(x), x), backward)


def by_a_jvp(x):
    return fnp.sum(with_jvp(x))


def by_a_vjp(x):
    return fnp.sum(with_vjp(x))


def recomputed(x):
    return fnp.sum(fg.checkpoint(lambda x: fnp.log(x * 0))(x))  # warns


def long(x):
    for _ in range(2100):
        x = fnp.sin(x) * 1.1
    return fnp.sum(fnp.log(x * 0))  # warns


def in_pieces(x):  # cut as `long` is, where pieces are short
    for _ in range(25):
        x = fnp.sin(x) * 1.1
    return fnp.sum(fnp.log(x * 0))  # warns


WARNING = {
    n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if "# warns" in line
}
JITTED = {
    "jit": fg.jit,
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "jit of vmap": lambda f: lambda x: fg.jit(fg.vmap(f))(np.stack([x, x])),
    "jit of jit": lambda f: fg.jit(fg.jit(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "grad": fg.grad,
}
BODIES = [
    elementwise,
    a_scalar,
    shared_with_another_file,
    of_python,
    batched_products,
    scanned,
    looped,
    repeated,
    branched,
    by_a_jvp,
    by_a_vjp,
    recomputed,
    in_pieces,
]


@pytest.mark.parametrize(("name", "f"), [*itertools.product(JITTED, BODIES), ("jit", long)])
def test_lines_of_what_is_jitted(name, f, monkeypatch):
    if f is in_pieces:
        monkeypatch.setattr(pieces, "PIECE", 20)
    if f is repeated and "grad" in name:
        return  # it has no reverse mode
    if f is batched_products and not warned(lambda: np.dot(X * 1e200, X * 1e200)):
        return  # older versions of NumPy do not look there
    g = JITTED[name](f)
    for _ in range(3):  # traced and compiled, programs inside evaluated first and compiled later
        found = warned(lambda: g(X))
        assert found
        files = {w.filename for w in found}
        assert files <= {__file__, "another.py"}
        assert {w.lineno for w in found if w.filename == __file__} <= WARNING
        assert {w.lineno for w in found if w.filename == "another.py"} <= {2}
        assert len(files) == 2 or f is not shared_with_another_file


def test_programs_whose_lines_are_forgotten_warn_of_the_call():
    entry = pickle.loads(pickle.dumps(fg.jit(elementwise).lower(X)._entry))
    (found,) = warned(lambda: entry.run([X], False))
    line = test_programs_whose_lines_are_forgotten_warn_of_the_call.__code__.co_firstlineno + 2
    assert (found.filename, found.lineno) == (__file__, line)


def test_what_is_computed_of_constants_when_it_is_asked_for():
    def f(x):
        y = 1 / fnp.arange(2.0)  # of constants
        return x if y[0] > 1 else -x

    (found,) = warned(lambda: fg.jit(f)(X))
    assert str(found.message) == "divide by zero encountered in divide"
    assert (found.filename, found.lineno) == (__file__, f.__code__.co_firstlineno + 1)


def test_what_is_computed_at_once():
    found = warned(lambda: lax.log(X * 0))
    line = test_what_is_computed_at_once.__code__.co_firstlineno + 1
    assert [(w.filename, w.lineno, str(w.message)) for w in found] == [
        (__file__, line, "divide by zero encountered in log")
    ]


def test_operators_in_a_rule_have_numpy_s_names(as_written):
    f = fg.custom_vjp(lambda x: x)

    def forward(x):
        y = x * 0
        y /= x * 0
        return x, y - (x + 1) // (x * 0)

    f.defvjp(forward, lambda r, g: (g,))
    found = warned(lambda: fg.grad(lambda x: fnp.sum(f(x)))(X))
    first = forward.__code__.co_firstlineno
    assert [(w.filename, w.lineno, str(w.message)) for w in found] == [
        (__file__, first + 2, "invalid value encountered in divide"),
        (__file__, first + 3, "divide by zero encountered in floor_divide"),
    ]


@pytest.mark.parametrize("transform", [fg.jit, fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_warnings_made_errors_show_the_line(transform):
    g = transform(elementwise)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(RuntimeWarning, match="divide by zero encountered in") as error:
                g(X)
            (note,) = error.value.__notes__
            assert "test_float_warnings.py" in note
            assert "return fnp.sum(fnp.log(x * 0))  # warns" in note
    with (
        np.errstate(all="raise"),
        pytest.raises(FloatingPointError, match="divide by zero") as error,
    ):
        g(X)
    assert "return fnp.sum(fnp.log(x * 0))  # warns" in error.value.__notes__[0]


@pytest.mark.parametrize("transform", [fg.jit, fg.grad])
def test_filters_by_the_name_of_the_user_s_module(transform):
    g = transform(elementwise)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=__name__)
        g(X)
    assert not found


@pytest.mark.parametrize("transform", [fg.value_and_grad, fg.jit])
def test_once_per_line(transform):
    g = transform(logarithm)
    calls = lambda: [g(x) for x in (X, X, X, X[:2], X[:2])]
    assert len(warned(calls, "default")) == len(warned(lambda: g(X)))


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


def test_overflows_are_warned_of_at_their_lines():
    def check():
        for transform in (fg.jit, fg.grad):
            g = transform(of_python)
            for _ in range(3):  # evaluated at first, compiled later
                found = warned(lambda g=g: g(X))
                assert found
                assert {(w.filename, w.lineno) for w in found} <= {(__file__, x) for x in WARNING}

    contextvars.Context().run(check)  # in which nobody has changed NumPy's modes
