"""Checks that one switches on: lines that cut a derivative or mistake a tracer, results that depend on nothing."""

import io
import numbers
import re
import threading
import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

X = np.ones(3)


def by_pattern(x):
    match x:
        case float():
            return x * 2
        case np.ndarray():
            return x.sum()
    return fnp.sum(x)


CONVERSIONS = {
    "float": (lambda x: x * float(x) ** 2, 2.0, "float(x) makes a constant"),
    "complex": (lambda x: x * complex(x).real, 2.0, "complex(x) makes a constant"),
    "item": (lambda x: x * x.item(), 2.0, "x.item() makes a constant"),
    "tolist": (lambda x: x.sum() * sum(x.tolist()), X, "x.tolist() makes a constant"),
    "of a result": (lambda x: x * float(fnp.sin(x)), 2.0, "float(x) makes a constant"),
    "of an outer argument": (
        lambda x: fg.grad(lambda y: y * float(x))(1.0),
        2.0,
        "float(x)",
    ),
}
QUESTIONS = {
    "ndarray": (
        lambda x: x.sum() if isinstance(x, np.ndarray) else x.min(),
        X,
        "np.ndarray",
    ),
    "one of two": (
        lambda x: x.sum() if isinstance(x, (list, np.ndarray)) else x.min(),
        X,
        "array",
    ),
    "float": (lambda x: x if isinstance(x, float) else -x, 2.0, "isinstance(x, float)"),
    "Number": (lambda x: x if isinstance(x, numbers.Number) else -x, 2.0, "numbers.Number"),
    "generic": (
        lambda x: x if isinstance(x, np.floating) else -x,
        np.float64(2),
        "np.floating",
    ),
    "isscalar": (lambda x: x if np.isscalar(x) else -x, 2.0, "np.isscalar(x) is False"),
    "pattern of an array": (by_pattern, X, "isinstance(x, np.ndarray)"),
    "pattern of a number": (by_pattern, 2.0, "isinstance(x, float)"),
}
QUIET = {
    "arithmetic": (lambda x: fnp.sum(np.sin(x) @ x) + np.linalg.norm(x) + x[1:].mean(), X),
    "branch": (lambda x: x if x > 0 else -x, 2.0),
    "text": (lambda x: x * len(f"{x:.2f} {x}"), 2.0),
    "int": (lambda x: x * int(x), 2.0),
    "constant": (lambda x: x * float(fnp.zeros(3)[0]), 2.0),
    "stopped": (lambda x: x * float(fg.stop_gradient(x)), 2.0),
    "isinstance of others": (lambda x: x if isinstance(x, (list, str, dict)) else -x, 2.0),
    "isinstance of float, an array": (lambda x: x.sum() if isinstance(x, float) else x.min(), X),
    "isinstance of Array": (lambda x: x if isinstance(x, fg.Array) else -x, 2.0),
    "isscalar of an array": (lambda x: x.sum() if np.isscalar(x) else x.min(), X),
    "ndim": (lambda x: x if np.ndim(x) == 0 else -x, 2.0),
    "comparison in a test": (lambda x: np.testing.assert_allclose(x, x) or x.sum(), X),
}


def lines_of(code):
    """The numbers of the lines of a function and of those inside of it."""
    inside = [lines_of(c) for c in code.co_consts if hasattr(c, "co_lines")]
    return {line for _, _, line in code.co_lines()}.union(*inside)


def warned(call, action="always"):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        call()
    return [w for w in found if w.category is fg.StrictConversionWarning]


@pytest.mark.parametrize("name", CONVERSIONS)
def test_constants_made_of_traced_numbers_are_reported(name, as_written):
    f, x, words = CONVERSIONS[name]
    left = name != "of an outer argument"  # by it, nothing is left of the derivative
    assert bool(warned(lambda: fg.grad(f)(x))) is not left
    with fg.strict_conversions():
        for transform in (fg.grad, lambda f: lambda x: fg.jvp(f, (x,), (x,))):
            (found,) = warned(lambda: transform(f)(x))  # noqa: B023
            assert words in str(found.message)
            assert "fungrad.stop_gradient(x)" in str(found.message)
            assert found.filename == __file__
            assert found.lineno in lines_of(f.__code__)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
def test_questions_that_a_tracer_answers_otherwise_are_reported(name, transform, as_written):
    f, x, words = QUESTIONS[name]
    assert not warned(lambda: transform(f)(x))
    with fg.strict_conversions():
        found = warned(lambda: transform(f)(x))
    assert found
    assert words in str(found[0].message)
    assert all(w.filename == __file__ and w.lineno in lines_of(f.__code__) for w in found)


def test_questions_within_vmap(as_written):
    f = lambda x: x.sum() if isinstance(x, np.ndarray) else x.min()
    with fg.strict_conversions():
        assert len(warned(lambda: fg.vmap(f)(X[None]))) == 1
        assert not warned(lambda: fg.vmap(lambda x: x if isinstance(x, float) else -x)(X[None]))


@pytest.mark.parametrize("name", QUIET)
def test_what_is_not_reported(name, as_written):
    f, x = QUIET[name]
    with fg.strict_conversions():
        assert not warned(lambda: fg.grad(f)(x))


def test_once_per_line_and_as_an_error(as_written):
    f = lambda x: x * float(x)
    with fg.strict_conversions():
        assert len(warned(lambda: [fg.grad(f)(2.0) for _ in range(3)], "default")) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error", fg.StrictConversionWarning)
            with pytest.raises(fg.StrictConversionWarning):
                fg.grad(f)(2.0)


def test_the_check_is_of_the_thread_that_asks_for_it(as_written):
    found = []
    run = lambda: found.extend(warned(lambda: fg.grad(lambda x: x * float(x))(2.0)))
    with fg.strict_conversions():
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert not found
    fg.config.update("strict_conversions", True)
    try:
        assert warned(lambda: fg.grad(lambda x: x * float(x))(2.0))
    finally:
        fg.config.update("strict_conversions", False)


def test_the_class_of_a_tracer():
    def f(x):
        assert x.__class__ is fg.Tracer is type(x)
        assert isinstance(x, fg.Tracer)
        assert not isinstance(x, np.ndarray)
        with pytest.raises(TypeError):
            x.__class__ = float
        return x

    fg.grad(f)(1.0)
    with fg.strict_conversions():
        warned(lambda: fg.grad(f)(1.0))


# Results that depend on nothing

CUT = {
    "a leaf": (lambda p: p["w"] ** 2 + float(p["b"][0]), {"w": 2.0, "b": [3.0]}, r"argument 0\['b'\]\[0\],"),
    "all": (lambda x: 1.0 if x > 0 else x, 2.0, "argument 0,"),
    "two": (lambda p: p[0] * 2, [1.0, 2.0, 3.0], r"argument 0\[1\], argument 0\[2\],"),
    "stopped": (lambda x: fg.stop_gradient(x) * 2, 2.0, "argument 0,"),
}  # fmt: skip


@pytest.mark.parametrize("name", CUT)
def test_a_result_that_does_not_depend_on_a_leaf(name, as_written):
    f, x, words = CUT[name]
    ones = fg.tree.map(fnp.ones_like, x)
    for transform in (
        fg.grad,
        fg.value_and_grad,
        fg.jacfwd,
        fg.jacrev,
        lambda f: lambda x: fg.vjp(f, x),
        lambda f: lambda x: fg.jvp(f, (x,), (ones,)),
        lambda f: lambda x: fg.linearize(f, x),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fg.StrictConversionWarning)
            transform(f)(x)
        with fg.strict_dependence(), pytest.raises(fg.LostDerivativeError) as info:
            transform(f)(x)
        assert re.search(f"the result does not depend on {words}", str(info.value))


def test_dependence_under_jit():
    with fg.strict_dependence(), pytest.raises(fg.LostDerivativeError, match="argument 0,"):
        fg.jit(fg.grad(lambda x: fnp.ones(())))(1.0)


def test_results_that_depend_on_all():
    f = lambda p, n: fnp.sum(fg.jit(fnp.sin)(p["w"])) * p["b"] ** 3 * n
    p = {"w": X, "b": 2.0}
    with fg.strict_dependence():
        fg.grad(f)(p, 3)
        fg.grad(f, argnums=(0, 1), allow_int=True)(p, 3)
        fg.hessian(f)(p, 3)
        fg.vmap(fg.grad(f), in_axes=(None, 0))(p, np.arange(3.0))
        fg.jit(fg.value_and_grad(f))(p, 3)
        with pytest.raises(fg.LostDerivativeError, match="argument 1,"):
            fg.grad(lambda x, y: x, argnums=(0, 1))(1.0, 2.0)
        with pytest.raises(fg.LostDerivativeError, match="argument 0,"):
            fg.hessian(lambda x: x.sum())(X)  # zero, and perhaps meant


def test_dependence_of_what_was_traced_before():
    f = fg.jit(fg.grad(lambda x, y: x * x))
    g = fg.jit(fg.grad(lambda x, y: y * y))
    assert (f(3.0, 1.0), g(3.0, 1.0)) == (6.0, 0.0)
    with fg.strict_dependence():
        assert f(3.0, 1.0) == 6.0
        with pytest.raises(fg.LostDerivativeError, match="argument 0,"):
            g(3.0, 1.0)
    assert g(3.0, 1.0) == 0.0


# What cuts all of a derivative is told without being asked for


def cutting(what):
    """Return a function of which a derivative is 0 since a constant is made of the argument."""
    return lambda x: fnp.sum(fg.stop_gradient(x)) * what(fnp.sum(x))


@pytest.mark.parametrize("what", [float, complex, lambda x: x.item(), lambda x: x.tolist()])
@pytest.mark.parametrize("transform", [fg.grad, lambda f: lambda x: fg.vjp(f, x)[1](1.0)])
def test_a_line_that_leaves_nothing_of_a_derivative_is_told(what, transform, as_written):
    f = cutting(what)
    g = (lambda x: fnp.real(f(x))) if what is complex else f
    with pytest.warns(fg.StrictConversionWarning, match="the derivative is 0") as caught:
        transform(g)(np.ones(2))
    assert caught[0].filename == __file__


def test_of_several_leaves_those_that_are_cut_are_told(as_written):
    with pytest.warns(fg.StrictConversionWarning, match=r"x\.item\(\) makes a constant"):
        fg.grad(lambda p: p["a"] * 2 + p["b"].item())({"a": 1.0, "b": 2.0})


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * float(x),
        lambda x: x if float(x) > 1 else -x,
        lambda x: fg.stop_gradient(x) * float(fg.stop_gradient(x)),
        lambda x: fnp.zeros_like(x),
        lambda x: (print(float(x), file=io.StringIO()), x)[1],
    ],
)
def test_nothing_is_told_of_other_conversions(f, as_written):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.grad(f)(2.0)


def test_nothing_is_told_of_what_goes_out_beside_the_result():
    f = lambda x: (x * 2, float(x))
    assert fg.grad(f, has_aux=True)(2.0) == (2.0, 2.0)
