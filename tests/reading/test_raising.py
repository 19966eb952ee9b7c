"""Errors of floating-point arithmetic that NumPy is asked to raise: a `try` of the user's catches them, as in Python."""

import numpy as np
import pytest

import fungrad as fg

X = np.array([0.5, 2.0, 3.0])


def logarithm(x):
    try:
        with np.errstate(all="raise"):
            y = np.log(x)
    except FloatingPointError:
        return np.sum(x * x)
    return np.sum(y)


def quotient(x):
    with np.errstate(divide="raise", invalid="raise"):
        try:
            return np.sum(1.0 / x)
        except FloatingPointError as error:
            return np.sum(x) + len(str(error)[:14])


def of_seterr(x):
    before = np.seterr(divide="raise", invalid="raise")
    try:
        y = np.sqrt(x)
    except FloatingPointError:
        y = 3.0 * x
    finally:
        np.seterr(**before)
    return np.sum(y)


@np.errstate(invalid="raise", divide="raise")
def _decorated(x):
    return np.log(x)


def by_decorated(x):
    try:
        return np.sum(_decorated(x))
    except FloatingPointError:
        return np.sum(x**3)


def each(x):
    total = 0.0
    for v in x:
        try:
            with np.errstate(all="raise"):
                total += np.log(v)
        except ArithmeticError:
            total -= v
    return total


def in_order(x):
    """What comes before the error has happened, and nothing that comes after it."""
    y = x * 2.0
    with np.errstate(all="raise"):
        try:
            y = y + 1.0
            y = y + np.sqrt(x)
            y = y * 5.0
        except FloatingPointError:
            y = y - 7.0
    return np.sum(y)


def overflown(x):
    with np.errstate(over="raise"):
        try:
            return np.sum(np.exp(x * 400))
        except FloatingPointError:
            return np.sum(np.exp(x))


def loop_within(x):
    with np.errstate(all="raise"):
        y = x
        try:
            for _ in range(12):
                y = np.sqrt(y) + y * 0.1
        except FloatingPointError:
            y = y * 2.0
    return np.sum(y)


def branch_within(x):
    with np.errstate(all="raise"):
        try:
            y = np.log(x) if x[0] > 0.1 else x
        except FloatingPointError:
            y = -x
    return np.sum(y)


FUNCTIONS = (
    logarithm,
    quotient,
    of_seterr,
    by_decorated,
    each,
    in_order,
    overflown,
    loop_within,
    branch_within,
)


def differences(f, x):
    steps = 1e-6 * np.eye(len(x))
    with np.errstate(all="ignore"):
        return np.array([(f(x + d) - f(x - d)) / 2e-6 for d in steps])


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "transform", ["grad", "jit", "vmap", "jit(grad)", "jit(vmap)", "grad(jit)"]
)
def test_error_is_caught_as_in_python(f, transform):
    points = [X, np.array([0.5, -2.0, 3.0]), X + 0.5, -X]
    if transform == "jit":
        jitted = fg.jit(f)
        assert [jitted(x) for x in points] == pytest.approx([f(x) for x in points])
    elif "vmap" in transform:
        mapped = fg.vmap(f)
        mapped = fg.jit(mapped) if transform == "jit(vmap)" else mapped
        assert mapped(np.stack(points)) == pytest.approx([f(x) for x in points])
    else:
        gradients = {
            "grad": fg.grad(f),
            "jit(grad)": fg.jit(fg.grad(f)),
            "grad(jit)": fg.grad(fg.jit(f)),
        }
        for x in points:
            assert gradients[transform](x) == pytest.approx(differences(f, x), rel=1e-5)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, fg.vmap, fg.hessian])
def test_error_that_nothing_catches(transform):
    def f(x):
        with np.errstate(divide="raise"):
            return 1.0 / x

    x = np.float64(0.0)
    with pytest.raises(FloatingPointError, match="divide by zero encountered in"):
        f(x)
    with pytest.raises(FloatingPointError, match="divide by zero encountered in"):
        transform(f)(np.zeros(2) if transform is fg.vmap else x)


def test_only_the_errors_that_are_asked_for():
    def f(x):
        with np.errstate(over="raise", invalid="ignore"):
            try:
                return np.sqrt(x)
            except FloatingPointError:
                return x

    assert np.isnan(fg.jit(f)(-1.0))
    assert np.isnan(fg.grad(f)(-1.0))


def test_what_was_recorded_before_only_warns():
    def f(x):
        y = np.log(x)
        with np.errstate(all="raise"):
            return np.sum(np.where(x > 0, y, 0.0) * 2.0)

    for transformed in (fg.grad(f), fg.jit(f)):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
            transformed(np.array([-1.0, 2.0]))


def test_modes_of_the_process_are_raised_where_a_try_waits():
    def f(x):
        try:
            return np.sqrt(x)
        except FloatingPointError:
            return x * 4.0

    with np.errstate(all="raise"):
        assert fg.grad(f)(-1.0) == 4.0
        assert fg.jit(f)(-1.0) == -4.0
        assert fg.jit(fg.grad(f))(-1.0) == 4.0


def test_python_numbers_raise_none():
    def f(x):
        with np.errstate(all="raise"):
            return x * 1e308 * 100.0

    with np.errstate(over="ignore"):
        assert fg.jit(f)(2.0) == f(2.0) == np.inf


def test_blocks_without_errors_stay_loops():
    def f(x):
        total = x
        for _ in range(50):
            with np.errstate(divide="ignore"):
                total = total + np.sin(total)
        return total

    assert "for" in str(fg.explain(f)(1.0))
    assert len(fg.make_expr(f)(1.0).equations) < 10


def test_types_alone_say_what_to_do():
    with pytest.raises(fg.ConcretizationError, match="test_raising"):
        fg.make_expr(logarithm)(X)


def guarded_logarithm(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(x)
    return np.sum(np.where(x > 0, y, 0.0))


@np.errstate(divide="ignore", invalid="ignore")
def quiet_logarithm(x):
    return np.sum(np.where(x > 0, np.log(x), 0.0))


def quiet_loop(x):
    total = 0.0
    for v in x:
        with np.errstate(all="ignore"):
            y = np.log(v)
        total = total + (y if v > 0 else 0.0)
    return total


def loop_in_quiet_block(x):
    total = 0.0 * x[0]
    with np.errstate(all="ignore"):
        for v in x:
            total = total + np.where(v > 0, np.log(v), 0.0)
    return total


@pytest.mark.parametrize(
    "f",
    [guarded_logarithm, quiet_logarithm, quiet_loop, loop_in_quiet_block],
    ids=lambda f: f.__name__,
)
def test_errors_that_are_ignored_are_ignored_later(f):
    x = np.array([1.0, -0.5, -1.0, 3.0, *np.linspace(-2.0, 2.0, 8)])
    slope = np.where(x > 0, 1.0, 0.0) / np.where(x > 0, x, 1.0)
    for _ in range(3):
        assert fg.jit(f)(x) == pytest.approx(f(x))
        assert fg.vmap(f)(np.stack([x, x + 1.0])) == pytest.approx([f(x), f(x + 1.0)])
        assert fg.grad(f)(x) == pytest.approx(slope)
        assert fg.jit(fg.grad(f))(x) == pytest.approx(slope)


def test_other_lines_go_on_warning():
    def f(x):
        with np.errstate(all="ignore"):
            y = np.log(x)
        return y + np.sqrt(x)

    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        fg.jit(f)(-1.0)
