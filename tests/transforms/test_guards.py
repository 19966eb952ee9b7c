"""Functions that ask for values, under `jit`: a program for each way that Python goes."""

import contextlib
import gc
import logging
import pickle
import threading
import warnings
import weakref

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core import reading, tree
from fungrad.core.config import compilation, setting
from fungrad.core.state import holding
from fungrad.transforms import guards
from tests.transforms.guarded import ABOVE, CASES, branch, halving, power


@pytest.fixture(autouse=True)
def unread(monkeypatch):
    """Functions are run as they are written: read ones ask for less."""
    monkeypatch.setattr(reading, "_readers", [lambda function: function])
    for kept in ("replaced", "unchanged"):  # by other tests
        monkeypatch.setattr(reading, kept, {})


@pytest.fixture
def read(monkeypatch, unread):
    """Functions are read after all."""
    monkeypatch.setattr(reading, "_readers", [])


@pytest.fixture(params=["off", "eager"])
def compiled(request):
    """Whether there are kernels; they must not run what a guard is in front of."""
    with holding(compilation, request.param), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class Counted:
    """A function that counts how often Python runs it."""

    def __init__(self, function):
        self.function = function
        self.runs = 0

    def __call__(self, *args):
        self.runs += 1
        return self.function(*args)


def check_same(actual, expected, rtol=1e-12):
    """Raise unless two trees of arrays are equal, up to how kernels round."""
    assert tree.structure(actual) == tree.structure(expected)
    for a, b in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def slope(f, args, step=1e-6):
    """Return the derivative along a direction of all leaves of the first argument, by differences."""
    leaves, structure = tree.flatten(args[0])
    moved = [
        tree.unflatten(structure, [x + s * step * (i + 1) for i, x in enumerate(leaves)])
        for s in (1, -1)
    ]
    up, down = [np.sum(f(x, *args[1:])) for x in moved]
    return (up - down) / (2 * step)


def along(gradient):
    """Return the derivative along the same direction, of a gradient."""
    return sum(np.sum(g) * (i + 1) for i, g in enumerate(tree.leaves(gradient)))


@pytest.mark.parametrize("wrap", [fg.jit, lambda f: fg.jit(fg.jit(f))], ids=["jit", "jit.jit"])
@pytest.mark.parametrize("name", CASES)
def test_results_are_numpy_s(name, wrap, compiled):
    f, calls, _ = CASES[name]
    jitted = wrap(f)
    for _ in range(3):  # evaluated, compiled, with kernels
        for args in calls:
            rtol = 1e-6 if "float32" in name else 1e-12
            check_same(jitted(*args), tree.map(np.asarray, f(*args)), rtol)


@pytest.mark.parametrize(
    "wrap",
    [lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))],
    ids=["jit.grad", "grad.jit"],
)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.smooth])
def test_derivatives_are_those_of_the_way_taken(name, wrap, compiled):
    f, calls, _ = CASES[name]
    gradient = wrap(lambda *args: fnp.sum(f(*args)))
    for _ in range(2):
        for args in calls:
            expected = slope(f, args)
            assert along(gradient(*args)) == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", ["branch", "nested", "chain", "halving", "newton", "caught"])
def test_mapped_calls(name, compiled):
    f = CASES[name].function
    for wrap in (lambda f: fg.jit(fg.vmap(f)), lambda f: fg.vmap(fg.jit(f))):
        mapped = wrap(f)
        for xs in (np.array([1.0, 2.0, 3.0]), np.array([-1.0, -3.0]), np.array(ABOVE)):
            check_same(mapped(xs), np.stack([f(x) for x in xs]))


@pytest.mark.parametrize("name", CASES)
def test_of_functions_that_are_read(name, read):
    f, calls, _ = CASES[name]
    jitted = fg.jit(f)
    for args in calls:
        rtol = 1e-6 if "float32" in name else 1e-12
        check_same(jitted(*args), tree.map(np.asarray, f(*args)), rtol)


def test_values_asked_of_what_is_not_mapped():
    def f(x, n):
        return x * n if n > 2 else x - n

    mapped = fg.jit(fg.vmap(f, in_axes=(0, None)))
    xs = np.arange(3.0)
    for n in (1.0, 3.0, 2.0, 4.0):
        check_same(mapped(xs, n), f(xs, n))


def test_hessians(compiled):
    hessian = fg.jit(fg.hessian(lambda x: fnp.sum(x**3) if x[0] > 0 else fnp.sum(x**2)))
    for x in (np.array([1.0, 2.0]), np.array([-1.0, 2.0]), np.array([3.0, 0.5])):
        check_same(hessian(x), np.diag(6 * x if x[0] > 0 else [2.0, 2.0]))


# How often Python runs


def test_each_way_is_traced_once():
    f = Counted(branch)
    jitted = fg.jit(f)
    jitted(1.0)
    assert f.runs == 2  # for all values, and then for those of which the first is above zero
    jitted(-1.0)
    for x in (2.0, -2.0, 3.0, -0.5, 0.25):
        jitted(x)
    assert f.runs == 3
    jitted(np.float32(1))  # another type
    assert f.runs == 5


def test_what_asks_for_nothing_is_traced_once():
    f = Counted(np.sin)
    jitted = fg.jit(f)
    for x in (1.0, 2.0, -1.0):
        jitted(x)
    assert f.runs == 1


def test_what_follows_from_an_answer_is_not_asked():
    def f(x, n):
        n = n.item()  # all of it is known from here on
        return x * n if n > 2 else x

    jitted = fg.jit(f)
    assert jitted(2.0, 3) == 6
    (entry,) = jitted.programs.values()
    assert len(entry.variants[0].answers) == 1


def test_an_answer_is_no_more_than_what_python_sees():
    f = Counted(lambda x: x * 2 if x else x - 1)
    jitted = fg.jit(f)
    for x in (1.0, 2.0, 3.0):
        assert jitted(x) == 2 * x
    assert f.runs == 2
    assert jitted(0.0) == -1


def test_rounds_of_a_loop_share_their_programs():
    jitted = fg.jit(halving)
    for x in (1.5, 3.0, 6.0, 12.0, 24.0):
        jitted(x)
    (entry,) = jitted.programs.values()
    assert len(entry.variants) == 5
    assert len(entry._programs) < 12


def test_zeros_differ_in_sign_and_nans_do_not():
    f = Counted(lambda x: x + np.copysign(1.0, x.item()))
    jitted = fg.jit(f)
    assert [jitted(x) for x in (0.0, -0.0, 0.0, -0.0)] == [1, -1, 1, -1]
    assert f.runs == 3
    assert np.isnan(jitted(np.nan))
    assert np.isnan(jitted(-np.nan))
    assert f.runs == 4


# Too many values


def test_after_eight_values_python_runs():
    f = Counted(power)
    jitted = fg.jit(f)
    counts = range(12)
    with pytest.warns(fg.RetraceWarning, match=r"needs a value at guarded\.py:\d+") as caught:
        assert [jitted(2.0, n) for n in counts] == [2.0**n for n in counts]
    assert len(caught) == 1
    assert "fungrad.lax.cond" in str(caught[0].message)
    assert caught[0].filename.endswith("guarded.py")
    runs = f.runs
    assert [jitted(2.0, n) for n in range(guards.MOST)] == [2.0**n for n in range(guards.MOST)]
    assert f.runs == runs  # the programs stay
    jitted(2.0, 40)
    assert f.runs == runs + 1


@pytest.mark.filterwarnings("ignore::fungrad.RetraceWarning")
@pytest.mark.parametrize("name", CASES)
def test_python_gives_the_same(name, monkeypatch):
    monkeypatch.setattr(guards, "MOST", 0)
    f, calls, _ = CASES[name]
    jitted = fg.jit(f)
    for args in calls:
        check_same(
            jitted(*args), tree.map(np.asarray, f(*args)), 1e-6 if "float32" in name else 1e-12
        )


@pytest.mark.filterwarnings("ignore::fungrad.RetraceWarning")
def test_a_number_that_differs_in_each_call():
    jitted = fg.jit(lambda x: x * float(np.abs(x)))
    for x in np.linspace(-1, 1, 21):
        assert jitted(x) == x * abs(x)


# What is behind a guard


def test_nothing_behind_a_guard_warns_or_fails(compiled):
    def f(x):
        if np.all(x > 0):
            return np.sqrt(x) / x + np.linalg.cholesky(np.diag(x)).sum()
        return x * 2

    jitted = fg.jit(f)
    good, bad = np.array([1.0, 4.0]), np.array([0.0, -1.0])
    for _ in range(4):
        check_same(jitted(good), f(good))
        check_same(jitted(bad), f(bad))


def test_warnings_are_numpy_s(compiled):
    def f(x):
        y = np.log(x)
        return y if x < 5 else y * 2

    jitted = fg.jit(f)
    jitted(1.0)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
        assert np.isnan(jitted(-1.0))
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(jitted(-2.0))


def test_errors_of_the_function_are_raised_again():
    def f(x):
        if x < 0:
            raise ValueError(f"negative: {float(x)}")
        return np.sqrt(x)

    jitted = fg.jit(f)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"negative: -1\.0"):
            jitted(-1.0)
        assert jitted(4.0) == 2
    with pytest.raises(ValueError, match=r"negative: -3\.0"):
        jitted(-3.0)


def test_what_fails_before_an_error_is_raised_first():
    def f(x):
        factor = fnp.linalg.cholesky(x)
        if x[0, 0] < 0:
            raise ValueError("negative")
        return factor

    jitted = fg.jit(f)
    check_same(jitted(np.eye(2)), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        jitted(-np.eye(2))


def test_results_are_the_caller_s_own():
    def f(x):
        return (x, x * 2) if x[0] > 0 else (x * 2, x)

    jitted = fg.jit(f)
    for x in (np.ones(3), -np.ones(3), np.ones(3), -np.ones(3)):
        kept = x.copy()
        for y in jitted(x):
            assert not np.shares_memory(x, y)
            y[:] = 7
        check_same(x, kept)


def test_assignments_of_one_way():
    def f(x):
        x = x.copy()
        if x[0] > 0:
            x[0] = 5
        return x * 2

    jitted = fg.jit(f)
    for _ in range(3):
        for first in (1.0, -1.0):
            x = np.array([first, 2.0])
            check_same(jitted(x), np.array([10.0 if first > 0 else -2.0, 4.0]))
            assert x[0] == first


# Within other transforms


@pytest.mark.parametrize("outer", [fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_a_closure_over_traced_arrays(outer):
    def f(x):
        inner = fg.jit(lambda y: y * x if x > 1 else y + x)
        return inner(2.0)

    for x in (0.5, 2.0, 0.25, 3.0):
        assert outer(f)(x) == (2 if x > 1 else 1)


def test_derivatives_of_both_orders_of_transforms():
    def f(x):
        return x**3 if x > 0 else x**2

    for wrap in (
        lambda f: fg.grad(fg.jit(fg.grad(f))),
        lambda f: fg.jit(fg.grad(fg.jit(fg.grad(fg.jit(f))))),
        lambda f: fg.jit(fg.jacfwd(fg.grad(f))),
    ):
        second = wrap(f)
        assert [second(x) for x in (2.0, -2.0, 3.0)] == pytest.approx([12, 2, 18])


def test_bodies_of_loops_that_ask_are_python_s():
    @fg.jit
    def f(x):
        if x > 0:
            return lax.fori_loop(0, 3, lambda i, c: c * 2 if c > 3 else c + 1, x)
        return x

    assert [f(-1.0), f(1.0), f(3.5), f(-1.0)] == [-1, 4, 28, -1]


def test_what_a_body_closes_over_has_a_value():
    @fg.jit
    def f(x, y):
        return lax.fori_loop(0, 3, lambda i, c: c * 2 if y > 3 else c + 1, x)

    assert [f(1.0, 4.0), f(1.0, 2.0), f(1.0, 4.0)] == [8, 4, 8]


def test_without_values_it_is_refused():
    with pytest.raises(fg.ConcretizationError):
        fg.make_expr(branch)(1.0)
    jitted = fg.jit(branch)
    for _ in range(2):
        with pytest.raises(fg.ConcretizationError):
            jitted.lower(fg.ShapeDtypeStruct((), float))
        with pytest.raises(fg.ConcretizationError):
            jitted.eval_shape(fg.ShapeDtypeStruct((), float))
        assert jitted(2.0) == 4


def test_reading_off_refuses():
    jitted = fg.jit(branch)
    assert jitted(2.0) == 4
    with setting(reading=False):
        with pytest.raises(fg.ConcretizationError):
            jitted(2.0)
        with pytest.raises(fg.ConcretizationError):
            fg.jit(branch)(2.0)
    assert jitted(-2.0) == 6


# Effects, random numbers, arguments of all kinds


def test_effects_happen_once_and_in_order():
    seen = []

    def f(x):
        fg.debug.callback(lambda y: seen.append(("a", float(y))), x)
        if x > 0:
            fg.debug.callback(lambda y: seen.append(("b", float(y))), x * 2)
            return x
        return -x

    jitted = fg.jit(f)
    for x in (1.0, -1.0, 2.0):
        jitted(x)
    assert seen == [("a", 1), ("b", 2), ("a", -1), ("a", 2), ("b", 4)]
    assert fg.grad(jitted)(-3.0) == -1
    assert seen[5:] == [("a", -3)]


def test_effects_before_an_error():
    seen = []

    def f(x):
        fg.debug.callback(lambda y: seen.append(float(y)), x)
        if x < 0:
            raise ValueError
        return x

    jitted = fg.jit(f)
    for x in (1.0, -1.0, -2.0):
        with contextlib.suppress(ValueError):
            jitted(x)
    assert seen == [1, -1, -2]


@pytest.mark.filterwarnings("ignore::fungrad.FrozenRandomWarning")
def test_random_numbers_are_new_in_each_call():
    rng = np.random.default_rng(0)
    jitted = fg.jit(lambda x: x + rng.normal() if x > 0 else x)
    assert len({float(jitted(1.0)) for _ in range(10)}) == 10


def test_static_and_keyword_arguments_and_trees():
    def f(x, n, *, flag, scale):
        y = sum(x.values()) if flag else x["b"]
        return y * n if y > scale else y - n

    jitted = fg.jit(f, static_argnums=1, static_argnames="flag")
    for n in (2, 3):
        for flag in (True, False):
            for scale in (0.5, 10.0):
                x = {"a": 1.0, "b": 2.0}
                assert jitted(x, n, flag=flag, scale=scale) == f(x, n, flag=flag, scale=scale)


def test_donated_arguments():
    def f(x):
        return x + 1 if x[0] > 0 else x - 1

    jitted = fg.jit(f, donate_argnums=0)
    for first in (1.0, -1.0, 1.0, -1.0):
        x = np.array([first, 2.0])
        check_same(jitted(x), f(np.array([first, 2.0])))


def test_numbers_stay_weak():
    jitted = fg.jit(lambda x, s: x * s if s > 0 else x - s)
    x = np.ones(3, np.float32)
    for s in (2.0, -2.0, 3.0):
        assert jitted(x, s).dtype == np.float32


def test_layouts():
    def f(x):
        x = x.copy("K")
        y = x.reshape(-1)
        y[0] = 9
        return x * 2 if x[1, 1] > 0 else x

    jitted = fg.jit(f)
    for sign in (1.0, -1.0, 1.0):
        for order in "CFC":
            x = sign * np.arange(6.0).reshape(2, 3).copy(order)
            check_same(jitted(x), f(x.copy(order)))


def test_methods():
    class Model:
        def __init__(self):
            self.scale = 3.0

        @fg.jit
        def __call__(self, x):
            return x * self.scale if x > 0 else x

    fg.tree_util.register_pytree_node(Model, lambda m: ((m.scale,), None), lambda _, c: _model(c))

    def _model(children):
        model = object.__new__(Model)
        (model.scale,) = children
        return model

    model = Model()
    assert [model(2.0), model(-2.0), model(3.0)] == [6, -2, 9]


# What can be looked at


def test_programs_of_values_can_be_looked_at():
    jitted = fg.jit(branch)
    lowered = jitted.lower(2.0)
    assert "guard[True]" in str(lowered.expr)
    assert "guard" in jitted.source(-2.0)
    compiled = lowered.compile()
    assert compiled(3.0) == 9
    assert compiled(-3.0) == 9  # of the program for that
    assert jitted.eval_shape(2.0).dtype == np.float64


def test_answers_are_kept_with_their_lines():
    jitted = fg.jit(halving)
    jitted(3.0)
    (entry,) = jitted.programs.values()
    (variant,) = entry.variants
    assert [bool(value) for _, value in variant.answers] == [True, True, False]
    assert all(source[0].co_filename.endswith("guarded.py") for source, _ in variant.answers)


def test_the_log_says_what_was_asked(caplog):
    jitted = fg.jit(power)
    with caplog.at_level(logging.WARNING, "fungrad"), setting(misses_explained=True):
        jitted(2.0, 2)
        jitted(2.0, 3)
        jitted(2.0, 2)
    texts = [r.getMessage() for r in caplog.records]
    assert sum("traced jit(power) for 2 at guarded.py" in text for text in texts) == 1
    assert sum("traced jit(power) for 3 at guarded.py" in text for text in texts) == 1


def test_pickled():
    jitted = fg.jit(branch)
    jitted(1.0)
    again = pickle.loads(pickle.dumps(jitted))
    assert [again(2.0), again(-2.0)] == [4, 6]


def test_programs_go_with_the_function():
    jitted = fg.jit(lambda x: x * 2 if x > 0 else x)
    jitted(1.0)
    gone = weakref.ref(jitted)
    del jitted
    gc.collect()
    assert gone() is None


# Threads and interrupts


def test_threads():
    f = fg.jit(halving)
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        failures.extend([x for x in rng.uniform(1, 100, 50) if f(x) != halving(x)])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_an_interrupt_leaves_nothing():
    stop = [True]

    def f(x):
        y = x * 2 if x > 0 else x
        if stop[0]:
            raise KeyboardInterrupt
        return y

    jitted = fg.jit(f)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            jitted(1.0)
    stop[0] = False
    assert [jitted(1.0), jitted(-1.0)] == [2, -1]
    with fg.checking():
        assert fg.jit(f)(3.0) == 6
