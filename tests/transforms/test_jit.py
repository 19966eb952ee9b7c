"""`jit`: one program for each type of the arguments, and nothing else seen from outside."""

import functools
import gc
import pickle
import tracemalloc

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.expr import Calling
from fungrad.core.tracer import Tracer
from fungrad.transforms import call
from fungrad.transforms import jit as jit_module
from fungrad.transforms.jaxprs import jaxpr_as_fun


class Counted:
    """A function that counts how often it is traced."""

    def __init__(self, f):
        self.f = f
        self.__name__ = "counted"
        self.traces = 0

    def __call__(self, *args, **kwargs):
        self.traces += 1
        return self.f(*args, **kwargs)


@pytest.fixture
def double():
    return Counted(lambda x: fg.tree.map(lambda y: y * 2, x))


# The key of the cache


KEYS = {
    "shape": [np.ones(3), np.ones(4), np.ones((3, 1)), np.ones(())],
    "dtype": [np.ones(3), np.ones(3, np.float32), np.ones(3, int), np.ones(3, bool)],
    "weak": [2.0, np.float64(2)],
    "python number": [1.0, 1, True, 1j],
    "tree": [np.ones(3), (np.ones(3),), [np.ones(3)], {"a": np.ones(3)}, {"b": np.ones(3)}],
    "none": [(np.ones(3),), (np.ones(3), None)],
}


@pytest.mark.parametrize("kind", KEYS)
def test_one_trace_for_each_type(kind, double):
    f = fg.jit(double)
    arguments = KEYS[kind]
    for round_ in range(3):
        for x in arguments:
            result = f(x)
            assert fg.tree.structure(result) == fg.tree.structure(x)
            for a, b in zip(fg.tree.leaves(result), fg.tree.leaves(x)):
                np.testing.assert_array_equal(a, np.asarray(b) * 2)
                assert np.asarray(a).dtype == (np.asarray(b) * 2).dtype
        assert double.traces == len(arguments)
        info = f.cache_info()
        assert (info.misses, info.currsize) == (len(arguments), len(arguments))
        assert info.hits == round_ * len(arguments)


SAME = [
    (np.ones(3), np.arange(3.0)),
    (np.ones(3), np.arange(6.0)[::2]),
    (np.ones((2, 2)), np.ones((2, 2)).T),
    (2.0, 3.0),
    (np.float64(1), np.array(1.0)),
    ({"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}),
    (np.ones(2), np.ones(2).astype(">f8")),
]


@pytest.mark.parametrize(("x", "y"), SAME)
def test_equal_types_share_a_program(x, y, double):
    f = fg.jit(double)
    f(x), f(y), f(x)
    assert double.traces == 1
    assert f.cache_info()[:2] == (2, 1)


def test_positional_and_keyword_arguments():
    f = Counted(lambda x, y=2.0, *, z=1.0: x * y + z)
    g = fg.jit(lambda x, y=2.0, *, z=1.0: f(x, y, z=z))
    assert [g(3.0), g(3.0, 4.0), g(3.0, y=4.0), g(3.0, z=0.0, y=1.0), g(y=1.0, z=0.0, x=3.0)] == [
        *(7, 13, 13, 3),
        3,
    ]
    traces = f.traces
    g(1.0, z=5.0, y=2.0), g(1.0, y=2.0, z=5.0)  # the order of keywords does not matter
    assert f.traces == traces


def test_clear_cache(double):
    f = fg.jit(double)
    f(1.0), f(1.0)
    f.clear_cache()
    assert f.cache_info()[:2] == (0, 0)
    assert f.cache_info().currsize == 0
    assert f(1.0) == 2
    assert double.traces == 2


def test_the_cache_is_bounded(monkeypatch, double):
    assert fg.jit(double).cache_info().maxsize == jit_module.CACHE_SIZE
    monkeypatch.setattr(jit_module, "CACHE_SIZE", 4)
    f = fg.jit(double)
    for n in range(10):
        f(np.ones(n))
        assert f.cache_info().currsize == min(n + 1, 4)
    assert double.traces == 10
    f(np.ones(9)), f(np.ones(6))  # among the last four
    assert double.traces == 10
    f(np.ones(0))  # dropped long ago; now 7 was used longest ago
    assert double.traces == 11
    f(np.ones(6)), f(np.ones(9))
    assert double.traces == 11
    f(np.ones(7))
    assert double.traces == 12


def test_side_effects_happen_once_for_each_entry(capsys):
    @fg.jit
    def f(x):
        print("tracing")
        return x + 1

    for x in (1.0, 2.0, np.ones(2), 3.0, np.zeros(2)):
        f(x)
    assert capsys.readouterr().out == "tracing\n" * 2


def test_two_jits_of_one_function_have_caches_of_their_own(double):
    f, g = fg.jit(double), fg.jit(double)
    f(1.0), g(1.0)
    assert double.traces == 2
    assert (f.cache_info().misses, g.cache_info().misses) == (1, 1)


def test_python_numbers_stay_weak():
    x = np.ones(2, np.float32)
    f = fg.jit(lambda c, x: (c * x, c + 1, fnp.sin(x) * c, c * c * x))
    for result in (f(2.0, x), f(3, x)):
        assert [r.dtype for r in (result[0], *result[2:])] == [np.float32] * 3
    assert fg.jit(lambda c, x: c * x)(np.float64(2), x).dtype == np.float64
    assert fg.jit(lambda c, n: c * n)(2, np.ones(2, np.int8)).dtype == np.int8
    assert fg.jit(lambda c, n: c * n)(2.0, np.ones(2, np.int8)).dtype == np.float64
    g = fg.jit(fg.grad(lambda c, x: fnp.sum(c * x), (0, 1)))(2.0, x)
    assert (g[0].dtype, g[1].dtype) == (np.float64, np.float32)
    # Also of another kind: Python makes a float of an integer.
    mixed = lambda n, x: (0.5 / (n + 1) * x, n * 0.5 * x, (n / 2) * x, (1 - 0.5j * n) * x)
    assert [r.dtype for r in fg.jit(mixed)(2, x)] == [r.dtype for r in mixed(2, x)]


# Static arguments


def power(x, n, *, base=0):
    assert type(n) in (int, str, tuple, float, bool)
    for _ in range(n if isinstance(n, int) else 0):
        base = base + x
    return base


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1},
        {"static_argnums": (1,)},
        {"static_argnums": [1]},
        {"static_argnums": -1},
        {"static_argnames": "n"},
        {"static_argnames": ("n",)},
        {"static_argnums": 1, "static_argnames": "n"},
    ],
)
def test_static_by_position_and_by_keyword(options):
    f = Counted(power)
    f.__wrapped__ = power  # for its signature
    g = fg.jit(f, **options)
    for _ in range(2):
        assert g(2.0, 3) == 6
        assert g(2.0, 4) == 8
        assert g(2.0, 3, base=1.0) == 7
    assert f.traces == 3
    if options != {"static_argnums": -1}:
        assert g(2.0, n=3) == 6
        assert g(x=2.0, n=3) == 6


def test_static_arguments_said_by_position_and_by_name_are_not_completed(as_written):
    seen = []

    @functools.partial(fg.jit, static_argnums=1, static_argnames="flag")
    def f(x, n, flag=True):
        seen.append((type(n), type(flag)))
        return x

    f(1.0, 2, flag=False)
    f(1.0, 2, False)
    f(1.0, n=2, flag=False)
    assert seen == [(int, bool), (int, Tracer), (Tracer, bool)]


def test_equal_static_arguments_of_other_types_are_other_keys():
    f = Counted(lambda x, n: x * n)
    g = fg.jit(f, static_argnums=1)
    x = np.ones(2, int)
    assert [g(x, n).dtype.kind for n in (1, 1.0, True, 1j)] == ["i", "f", "i", "c"]
    assert [g(x, n).dtype.kind for n in (1, 1.0, True, 1j)] == ["i", "f", "i", "c"]
    assert f.traces == 4


def test_static_defaults():
    @functools.partial(fg.jit, static_argnames=("n", "mode"))
    def f(x, n=2, *, mode="add"):
        return x + n if mode == "add" else x * n

    assert [f(3.0), f(3.0, 4), f(3.0, mode="mul"), f(3.0, n=5, mode="mul")] == [5, 7, 6, 15]


def test_static_arguments_may_be_anything_hashable():
    f = fg.jit(lambda g, x, s: g(x) if s == "yes" else x, static_argnums=(0, 2))
    assert f(fnp.sin, 0.5, "yes") == np.sin(0.5)
    assert f(abs, -0.5, "yes") == 0.5
    assert f(None, 0.5, "no") == 0.5


@pytest.mark.parametrize(
    "call",
    [
        lambda: fg.jit(power, static_argnums=1)(2.0, [3]),
        lambda: fg.jit(power, static_argnames="n")(2.0, n=[3]),
        lambda: fg.jit(power, static_argnums=1)(2.0, np.ones(3)),
    ],
)
def test_unhashable_static_argument(call):
    with pytest.raises(TypeError, match=r"static argument (1|'n') .*not hashable"):
        call()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"static_argnums": 5}, "static_argnums=5 is out of range"),
        ({"static_argnames": "m"}, r"static_argnames has \['m'\]"),
        ({"donate_argnums": 5}, "donate_argnums=5 is out of range"),
        ({"donate_argnames": "m"}, r"donate_argnames has \['m'\]"),
    ],
)
def test_options_that_name_no_argument(options, words):
    with pytest.raises(ValueError, match=words):
        fg.jit(power, **options)


def test_what_is_not_a_function():
    with pytest.raises(TypeError, match="jit takes a function"):
        fg.jit(3)


# Donated arguments: the results are those without donation


def programs():
    return {
        "sum": lambda x, y: x + y,
        "chain": lambda x, y: ((x + 1) * y - x) * 2,
        "two": lambda x, y: (x * 2, y * 3),
        "identity": lambda x, y: (x, y + 1),
        "transposed": lambda x, y: (x.T + 1, x * y),
        "reversed": lambda x, y: x[::-1] + (x + 1) * y,
        "gradient": fg.grad(lambda x, y: fnp.sum(fnp.sin(x * y) * x), (0, 1)),
    }


@pytest.mark.parametrize("name", programs())
@pytest.mark.parametrize("donate", [0, 1, (0, 1)])
def test_donated_arguments_give_the_same_results(name, donate, rng):
    f = programs()[name]
    g = fg.jit(f, donate_argnums=donate)
    for _ in range(3):
        x, y = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
        expected = f(x.copy(), y.copy())
        results = g(x, y)
        for a, b in zip(fg.tree.leaves(results), fg.tree.leaves(expected)):
            np.testing.assert_allclose(a, b, rtol=1e-14)
            assert a.flags.writeable


@pytest.mark.parametrize("donate", [0, 1, (0, 1)])
@pytest.mark.parametrize(
    "pair",
    [
        lambda a: (a[:3], a[:3]),
        lambda a: (a[:3], a[1:]),
        lambda a: (a[1:], a[:3]),
        lambda a: (a[:3], a[:3].T),
        lambda a: (a[2::-1], a[:3]),
    ],
    ids=["same", "overlap", "overlap back", "transposed", "reversed"],
)
def test_donated_arguments_that_share_memory(donate, pair, rng):
    wrong = []
    for name, f in programs().items():
        a = rng.normal(size=(4, 3))
        expected = f(*[x.copy() for x in pair(a)])
        results = fg.jit(f, donate_argnums=donate)(*pair(a))
        for r, e in zip(fg.tree.leaves(results), fg.tree.leaves(expected)):
            if not np.allclose(r, e, rtol=1e-14, atol=0):
                wrong.append(name)
    assert wrong == []


@pytest.mark.parametrize(
    "x",
    [
        np.broadcast_to(np.arange(3.0), (2, 3)),
        np.broadcast_to(np.float64(2), (2, 3)),
        np.lib.stride_tricks.as_strided(np.arange(4.0), (2, 3), (8, 8)),
    ],
    ids=["read-only row", "read-only scalar", "overlapping itself"],
)
def test_donated_arrays_that_cannot_be_overwritten(x):
    expected = (np.array(x) + 1) * 2
    np.testing.assert_array_equal(fg.jit(lambda x: (x + 1) * 2, donate_argnums=0)(x), expected)


def test_donated_read_only_array_is_left_alone():
    x = np.ones(3)
    x.setflags(write=False)
    f = fg.jit(lambda x: (x + 1) * 2, donate_argnums=0)
    np.testing.assert_array_equal(f(x), [4, 4, 4])
    np.testing.assert_array_equal(x, [1, 1, 1])


def test_donation_by_name_in_trees_and_with_numbers():
    f = fg.jit(
        lambda state, n, *, extra: ({k: v * 2 + n for k, v in state.items()}, extra + 1),
        static_argnums=1,
        donate_argnums=(0,),
        donate_argnames="extra",
    )
    state, extra = f({"a": np.ones(2), "b": 3.0}, 1, extra=np.ones(2))
    np.testing.assert_array_equal(state["a"], [3, 3])
    assert state["b"] == 7
    np.testing.assert_array_equal(extra, [2, 2])


def test_donation_in_a_loop_and_inside_other_transforms():
    f = fg.jit(lambda x: x * 2 + 1, donate_argnums=0)
    x = np.zeros(3)
    for _ in range(5):
        x = f(x)
    np.testing.assert_array_equal(x, [31, 31, 31])
    y = np.ones(3)
    np.testing.assert_array_equal(fg.grad(lambda x: fnp.sum(f(x) * x))(y), [5, 5, 5])
    np.testing.assert_array_equal(fg.vmap(lambda x: f(x) + x)(y), [4, 4, 4])
    np.testing.assert_array_equal(y, [1, 1, 1])  # not given away: grad(...) donates nothing


# Results


IDENTITIES = {
    "same": lambda x: x,
    "twice": lambda x: (x, x),
    "view": lambda x: (x.T, x.reshape(-1), x[0], x[::-1]),
    "broadcast": lambda x: (fnp.broadcast_to(x[0], (4, 3)), fnp.broadcast_to(x, (2, 2, 3))),
    "constant": lambda x: np.ones(3),
    "constants": lambda x: [np.arange(3.0)] * 2,
    "computed": lambda x: (x + 1, (x + 1).T, (x + 1)[0], x + 1),
    "scalar": lambda x: (x[0, 0], x.sum(), 3.0),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_results_share_memory_with_nothing(name):
    x = np.arange(6.0).reshape(2, 3)
    f = fg.jit(IDENTITIES[name])
    for _ in range(3):
        results = fg.tree.leaves(f(x))
        previous = fg.tree.leaves(f(x))
        arrays = [a for a in (x, *results, *previous) if isinstance(a, np.ndarray)]
        for i, a in enumerate(arrays):
            assert type(a) is np.ndarray
            assert a.flags.writeable
            assert not any(np.shares_memory(a, b) for b in arrays[:i])
        for a in results:
            if isinstance(a, np.ndarray):
                a[...] = np.nan  # must not be seen by the next call
            else:
                assert type(a) is np.float64
        for a, b in zip(previous, fg.tree.leaves(IDENTITIES[name](x))):
            np.testing.assert_array_equal(a, b)


def test_results_of_python_numbers():
    for value, kind in ((3.0, np.float64), (3, np.int64), (True, np.bool_), (2j, np.complex128)):
        assert type(fg.jit(lambda x, v=value: v)(1.0)) is kind
        assert type(fg.jit(lambda x: x)(value)) is kind


def test_structure_of_results():
    f = fg.jit(lambda x: {"a": (x, [x + 1]), "n": None, "e": ()})
    assert f(1.0) == {"a": (1.0, [2.0]), "n": None, "e": ()}
    assert fg.jit(lambda x: None)(1.0) is None
    assert fg.jit(lambda: 3.0)() == 3


@pytest.mark.parametrize("n", range(1, 40, 3))
def test_buffers_are_reused_correctly(n, rng):
    # Random straight-line programs in which values die and views live on.
    def f(x, y):
        values = [x, y]
        choose = np.random.default_rng(n)
        for _ in range(n):
            a, b = (values[i] for i in choose.integers(len(values), size=2))
            op = choose.integers(6)
            values.append(
                [lambda: a + b, lambda: a * b.T, lambda: a[::-1], lambda: fnp.sin(a), lambda: a.T,  # noqa: B023
                 lambda: a - b[0]][op]()  # noqa: B023
            )  # fmt: skip
        return values[-3:], values[len(values) // 2]

    x, y = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    keep = x.copy(), y.copy()
    np.testing.assert_equal(fg.jit(f)(x, y), f(x, y))
    np.testing.assert_equal((x, y), keep)


def test_real_and_imaginary_parts_are_not_overwritten():
    def f(z):
        w = z * 2
        r, i = fnp.real(w), fnp.imag(w)
        s = r + 1
        t = w * 1j
        return s * r + i, t, r

    z = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_equal(fg.jit(f)(z), f(z))


# Captured values


def test_captured_arrays_are_constants_of_trace_time():
    c = np.ones(3)
    f = fg.jit(lambda x: x * c)
    np.testing.assert_array_equal(f(2.0), [2, 2, 2])
    c[:] = 5
    np.testing.assert_array_equal(f(2.0), [2, 2, 2])
    assert c.flags.writeable
    f.clear_cache()
    np.testing.assert_array_equal(f(2.0), [10, 10, 10])


def test_captured_python_values_are_constants_of_trace_time():
    options = {"scale": 2.0}
    f = fg.jit(lambda x: x * options["scale"])
    assert f(1.0) == 2
    options["scale"] = 3.0
    assert f(1.0) == 2
    assert f(np.ones(1)) == 3


def test_closures_over_outer_tracers_are_not_kept():
    kept = []

    def outer(a):
        if not kept:
            kept.append(fg.jit(lambda x: x * a))
        return kept.pop()(a) + fg.jit(lambda x: x * a)(3.0)

    for a in (2.0, 5.0, 7.0):
        assert fg.grad(outer)(a) == 2 * a + 3
        assert fg.jit(outer)(a) == a * a + 3 * a
    np.testing.assert_array_equal(fg.vmap(outer)(np.array([1.0, 2.0])), [4, 10])


def test_one_jitted_function_that_closes_over_a_new_tracer_each_time():
    box = []
    f = fg.jit(lambda x: x * box[-1])

    def outer(a):
        box.append(a)
        try:
            return f(3.0) + f(3.0) * a
        finally:
            box.pop()

    for a in (2.0, 5.0):
        assert fg.grad(outer)(a) == 3 + 6 * a
    assert f.cache_info().currsize == 0
    np.testing.assert_array_equal(fg.vmap(fg.grad(outer))(np.array([2.0, 5.0])), [15, 33])
    box.append(10.0)
    assert f(3.0) == 30


def test_exceptions_leave_the_cache_clean():
    fail = [True]

    @fg.jit
    def f(x):
        if fail[0]:
            raise KeyError("the user's own")
        return x + 1

    for _ in range(2):
        with pytest.raises(KeyError, match="the user's own"):
            f(1.0)
    assert f.cache_info().currsize == 0
    fail[0] = False
    assert f(1.0) == 2
    assert fg.make_expr(lambda x: x)(1.0)  # no trace is left open
    assert f.cache_info()[:2] == (0, 1)


def test_errors_at_run_time_leave_the_program_usable():
    f = fg.jit(lambda x: fnp.log(x) * 2)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        f(np.zeros(2))
    np.testing.assert_array_equal(f(np.ones(2)), [0, 0])
    assert f.cache_info().misses == 1


# Recursion and nesting


def test_recursion():
    @functools.partial(fg.jit, static_argnums=1)
    def power(x, n):
        return x * power(x, n - 1) if n else x * 0 + 1

    assert power(2.0, 10) == 1024
    assert fg.grad(power)(2.0, 5) == 80
    assert power.cache_info().currsize >= 11
    np.testing.assert_array_equal(fg.vmap(power, (0, None))(np.array([1.0, 2.0]), 0), [1, 1])


def test_recursion_on_shapes():
    @fg.jit
    def total(x):
        n = x.shape[0]
        return x[0] if n == 1 else total(x[: n // 2]) + total(x[n // 2 :])

    x = np.arange(13.0)
    assert total(x) == 78
    np.testing.assert_array_equal(fg.grad(total)(x), np.ones(13))


def test_endless_recursion_is_python_s_error():
    @fg.jit
    def f(x):
        return f(x) + 1

    with pytest.raises(RecursionError):
        f(1.0)
    assert f.cache_info().currsize == 0


def test_mutual_recursion():
    even = fg.jit(lambda x, n: x * 0 + 1 if n == 0 else odd(x, n - 1), static_argnums=1)
    odd = fg.jit(lambda x, n: x * 0 if n == 0 else even(x, n - 1), static_argnums=1)
    assert [even(2.0, n) for n in range(5)] == [1, 0, 1, 0, 1]


@pytest.mark.parametrize("inline", [False, True])
def test_jit_of_jit(inline):
    inner = Counted(lambda x: fnp.sin(x) * 2)
    f = fg.jit(inner, inline=inline)
    g = fg.jit(lambda x: f(f(x)) + f(x))
    assert g(np.float64(0.5)) == pytest.approx(np.sin(np.sin(0.5) * 2) * 2 + np.sin(0.5) * 2)
    assert inner.traces == 1 if not inline else inner.traces >= 1
    assert fg.grad(fg.grad(g))(0.5) == pytest.approx(
        fg.grad(fg.grad(lambda x: inner.f(inner.f(x)) + inner.f(x)))(0.5)
    )


def test_inline_shows_in_the_program():
    def calls(f):
        equations = fg.make_expr(lambda x: f(x) + 1)(1.0).equations
        return sum(isinstance(e.primitive, Calling) for e in equations)

    assert calls(fg.jit(fnp.sin)) == 1
    assert calls(fg.jit(fnp.sin, inline=True)) == 0
    assert fg.jit(fg.jit(fnp.sin, inline=True))(0.0) == 0


def test_jitted_functions_of_all_the_other_transforms(rng):
    x = rng.normal(size=3)
    f = lambda x: fnp.sum(fnp.sin(x) * x[::-1])
    j = fg.jit(f)
    close = functools.partial(np.testing.assert_allclose, rtol=1e-13, atol=1e-13)
    close(fg.grad(j)(x), fg.grad(f)(x))
    close(fg.hessian(j)(x), fg.hessian(f)(x))
    close(fg.jvp(j, (x,), (x,)), fg.jvp(f, (x,), (x,)))
    close(fg.vmap(fg.grad(j))(np.stack([x, x])), [fg.grad(f)(x)] * 2)
    close(fg.linearize(j, x)[1](x), fg.linearize(f, x)[1](x))
    close(
        fg.jit(fg.grad(lambda x: fg.vmap(lambda y: y * j(x))(x).sum()))(x),
        fg.grad(lambda x: x.sum() * f(x))(x),
    )


# Forms of use


def test_decorator_with_arguments():
    @fg.jit(static_argnames="n")
    def f(x, n=2):
        return x * n

    @functools.partial(fg.jit, static_argnums=(1,))
    def g(x, n):
        return x * n

    assert (f(2.0), f(2.0, n=3), g(2.0, 4)) == (4, 6, 8)
    assert f.__name__ == "f"
    assert "f" in repr(f)


def test_methods():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @functools.partial(fg.jit, static_argnums=0)
        def static_self(self, x):
            return x * self.scale

        @staticmethod
        @fg.jit
        def static(x):
            return x * 3

        @classmethod
        @functools.partial(fg.jit, static_argnums=0)
        def of_class(cls, x):
            return x * len(cls.__name__)

    a, b = Model(2.0), Model(10.0)
    assert (a.static_self(1.0), b.static_self(1.0), a.static_self(2.0)) == (2, 10, 4)
    assert (a.static(2.0), Model.static(2.0)) == (6, 6)
    assert Model.of_class(2.0) == 10
    jitted = fg.jit(a.static_self)
    assert jitted(3.0) == 6
    assert fg.grad(a.static_self)(1.0) == 2


def test_methods_of_pytree_nodes():
    class Layer:
        def __init__(self, w):
            self.w = w

        @fg.jit
        def apply(self, x):
            return self.w * x

    fg.tree.register_node(Layer, lambda n: ((n.w,), None), lambda _, c: Layer(*c))
    assert Layer(2.0).apply(3.0) == 6
    assert Layer(np.float64(4)).apply(3.0) == 12
    g = fg.grad(lambda layer: layer.apply(3.0))(Layer(2.0))
    assert (type(g), g.w) == (Layer, 3)


def test_an_instance_that_is_no_array_says_so():
    class Model:
        @fg.jit
        def f(self, x):
            return x

    with pytest.raises(TypeError, match="not an array or a number"):
        Model().f(1.0)


# Looking inside


def test_lower_and_compile():
    f = Counted(lambda x, n: fnp.sin(x) * n)
    g = fg.jit(f, static_argnums=1)
    lowered = g.lower(np.ones(3), 2)
    assert f.traces == 1
    assert "sin" in lowered.as_text()
    assert str(lowered.expr) == lowered.as_text()
    assert str(lowered.simplified).count("sin") == 1
    assert "sin r0" in str(lowered.schedule)
    assert "np.sin" in lowered.source
    compiled = lowered.compile()
    np.testing.assert_allclose(compiled(np.arange(3.0)), np.sin(np.arange(3.0)) * 2)
    np.testing.assert_allclose(g(np.arange(3.0), 2), np.sin(np.arange(3.0)) * 2)
    assert f.traces == 1
    with pytest.raises(TypeError, match=r"compiled for .*float64\[3\].*called with.*float64\[4\]"):
        compiled(np.ones(4))
    with pytest.raises(TypeError, match="compiled for"):
        compiled(np.ones(3, np.float32))


def test_lower_with_types_alone():
    f = fg.jit(lambda x, y: x @ y)
    types = fg.ShapeDtypeStruct((2, 3), float), fg.ShapeDtypeStruct((3,), float)
    compiled = f.lower(*types).compile()
    np.testing.assert_array_equal(compiled(np.ones((2, 3)), np.ones(3)), [3, 3])
    assert f.lower(*types).in_types == (
        fg.ArrayType((2, 3), np.dtype(float)),
        fg.ArrayType((3,), np.dtype(float)),
    )


def test_compiled_programs_inside_transforms_and_on_trees():
    f = fg.jit(lambda t: {"s": t["a"] * t["b"]})
    compiled = f.lower({"a": 1.0, "b": np.float64(2)}).compile()
    assert compiled({"a": 3.0, "b": np.float64(5)}) == {"s": 15}
    assert fg.grad(lambda x: compiled({"a": 3.0, "b": x})["s"])(np.float64(5)) == 3


def test_compiled_programs_check_the_structure():
    one, two = np.float64(1), np.float64(2)
    compiled = fg.jit(lambda t: t["a"] - t["b"]).lower({"a": one, "b": two}).compile()
    assert compiled({"b": two, "a": one}) == -1
    for wrong in ((one, two), {"a": one, "c": two}, [one, two], {"a": one, "b": {"c": two}}):
        with pytest.raises(TypeError, match="compiled for"):
            compiled(wrong)
    with pytest.raises(TypeError, match="compiled for"):
        compiled(one, two)


def test_compiled_programs_of_numbers():
    compiled = fg.jit(lambda x, y: x + y).lower(1.0, np.float32(2)).compile()
    assert compiled(3.0, np.float32(4)) == 7
    assert compiled(3.0, np.float32(4)).dtype == np.float32


def test_source_is_a_program_that_runs():
    f = fg.jit(lambda x: fnp.sin(x) * 2 + fnp.cos(x))
    x = np.arange(3.0)
    namespace = {"np": np}
    exec(f.source(x), namespace)
    np.testing.assert_array_equal(namespace["program"](x)[0], f(x))


def test_options_accepted_for_jax():
    f = fg.jit(lambda x, y: x, keep_unused=True, device=None, backend=None)
    assert f(1.0, 2.0) == 1


# Buffers between calls


def test_a_program_keeps_no_memory_of_earlier_calls():
    f = fg.jit(lambda x: (fnp.cumsum(x), x * 2))
    first = f(np.arange(3.0))
    copies = [a.copy() for a in first]
    f(np.full(3, 100.0))
    np.testing.assert_equal(list(first), copies)


@pytest.mark.parametrize("use", [lambda f: f, fg.grad, fg.vmap], ids=["jit", "grad", "vmap"])
def test_the_constants_of_functions_that_are_gone_are_freed(use):
    def run():
        constant = np.ones(1_000_000)
        x = np.ones(1) if use is fg.vmap else 1.0
        use(fg.jit(lambda x: fnp.sum(x * constant)))(x)

    run()
    tracemalloc.start()
    try:
        for _ in range(20):
            run()
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    bound = 0 if use is fg.jit else call.programs.maxweight * call.BYTES_PER_EQUATION
    assert kept < bound + 16_000_000  # of 160 MB


def test_a_function_that_branches_on_a_value_outside_is_traced_anew():
    state = {}
    inner = fg.jit(lambda x: x * 2 if state["w"] > 0 else x * 3)

    def f(w):
        state["w"] = w
        return inner(1.0) * w

    g = fg.grad(f)
    assert [g(1.0), g(-1.0), g(1.0)] == [2, 3, 2]


def test_a_constant_is_a_copy_although_an_outer_trace_holds_the_array():
    w = np.ones(10_000)
    f = fg.jit(lambda x: fnp.sum(w * x))
    fg.grad(lambda x: fnp.sum(w * x) + f(x))(np.float64(2.0))
    w[:] = 5
    assert f(np.float64(2.0)) == 20_000


def test_static_arguments_are_told_apart_exactly():
    f = fg.jit(lambda x, s: fnp.copysign(x, s), static_argnums=1)
    assert [f(1.0, 0.0), f(1.0, -0.0)] == [1, -1]
    g = fg.jit(lambda x, s: x * s[0], static_argnums=1)
    assert [g(np.int64(2), s).dtype for s in ((1,), (1.0,))] == [np.int64, np.float64]


def test_complex_constants_keep_their_signs():
    z = np.array([complex(0, -0.0)])

    def f(z):
        return fnp.sqrt(fnp.add(z, complex(-1, -0.0)))

    np.testing.assert_array_equal(fg.jit(f)(z), f(z))


def test_an_error_that_is_caught_in_a_call_leaves_no_half_done_work():
    h = fg.jit(lambda x: fnp.log(x * 1.0 - 1.0) + x)

    def f(x):
        y = h(x)
        try:
            with np.errstate(divide="raise"):
                bool(y > 0)
        except FloatingPointError:
            pass
        return y * 0 + x * x * x if x < 0 else x * x

    with np.errstate(divide="ignore"):
        assert fg.grad(f)(1.0) == 2


def test_jitted_functions_can_be_pickled():
    assert pickle.loads(pickle.dumps(fg.jit(np.sin)))(1.0) == np.sin(1.0)


# As JAX's


def test_options_that_change_no_result():
    options = {"in_shardings": None, "out_shardings": None, "keep_unused": True}
    options |= {"device": None, "backend": "cpu", "compiler_options": {"xla": 1}}
    f = fg.jit(lambda x, n: x**n, static_argnums=1, **options)
    assert f(3.0, 2) == fg.jit(**options)(lambda x: x * x)(3.0) == 9


def test_stages():
    f = fg.jit(lambda x, n, *, k: {"y": fnp.sin(x) @ x, "k": k * n}, static_argnums=1)
    x = np.ones(100)
    shapes = {"y": fg.ShapeDtypeStruct((), float), "k": fg.ShapeDtypeStruct.like(2.0)}
    assert f.eval_shape(x, 3, k=2.0) == shapes
    traced = f.trace(x, 3, k=2.0)
    assert traced.lower().out_info == traced.out_info == shapes
    assert traced.in_avals[0] == (fg.ShapeDtypeStruct((100,), float),)
    assert traced.jaxpr.eqns[0].primitive.name == "sin"
    assert traced.out_tree == fg.tree.structure(shapes)
    assert "sin" in traced.as_text(dialect="hlo")
    compiled = traced.lower().compile()
    assert compiled(x, k=2.0)["y"] == np.sin(x) @ x
    assert "np.sin" in compiled.as_text()
    cost = compiled.cost_analysis()
    assert cost["flops"] == 100 + 200 + 1
    assert cost["bytes accessed"] == 8 * (200 + 201 + 3)
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == 808
    assert memory.output_size_in_bytes == 16
    assert memory.temp_size_in_bytes == 800
    assert memory.peak_memory_in_bytes == 808 + 800
    assert f.cache_info().misses == 1
    f.clear_cache()
    f.lower(x, 3, k=2.0)
    assert f.cache_info().currsize == 1


def test_a_lowered_function_within_another():
    def f(x):
        traced = fg.jit(lambda y: x * y).trace(2.0)
        assert len(traced.jaxpr.consts) == 1
        return jaxpr_as_fun(traced.jaxpr)(3.0)[0]

    assert fg.grad(f)(5.0) == 3


def test_a_function_that_branches_on_a_value_outside_within_another_transform_is_traced_anew():
    state = {}
    inner = fg.jit(lambda x: fg.grad(lambda y: y * 2 if state["w"] > 0 else y * 3)(x))

    def f(w):
        state["w"] = w
        return inner(1.0) * w

    g = fg.grad(f)
    assert [g(1.0), g(-1.0), g(1.0)] == [2, 3, 2]


@pytest.mark.parametrize("inline", [False, True])
def test_numbers_handed_to_a_jitted_function_within_another_stay_weak(inline):
    inner = fg.jit(lambda x, y: (x * y, y), inline=inline)
    assert fg.jit(lambda x: inner(x, 2.0)[0])(np.float32(3)).dtype == np.float32

    def outer(x):
        product, y = inner(x, 2.0)
        return product, x * y

    assert [t.dtype for t in fg.make_expr(outer)(np.float32(3)).output_types] == [np.float32] * 2


@pytest.mark.filterwarnings("error")
def test_a_jitted_function_of_constants_does_not_run_in_a_branch_that_is_not_taken():
    inner = fg.jit(lambda x: 1 / x)
    assert inner(np.float64(2.0)) == 0.5  # its program is there
    f = fg.jit(lambda p: fg.lax.cond(p, lambda: inner(np.float64(0.0)), lambda: 1.0))
    assert f(False) == 1


@pytest.mark.parametrize("call", ["flat", "several", "tree", "keyword", "static"])
def test_the_second_call_in_any_form_finds_the_program_of_the_first(call):
    x, y = np.arange(3.0), np.ones(3)
    forms = {
        "flat": (lambda a: a + 1, [x], {}),
        "several": (lambda a, b: a + b, [x, y], {}),
        "tree": (lambda d: d["a"] + d["b"], [{"a": x, "b": y}], {}),
        "keyword": (lambda a, *, b: a + b, [x], {"b": y}),
        "static": (lambda a, n: a + n, [x, 1], {}),
    }
    fun, args, kwargs = forms[call]
    f = fg.jit(fun, static_argnums=1 if call == "static" else None)
    for _ in range(3):
        np.testing.assert_array_equal(f(*args, **kwargs), x + 1)
    f.lower(*args, **kwargs)
    assert (f.cache_info().misses, f.cache_info().hits) == (1, 3)


def test_by_other_conventions_programs_are_found_by_types_alone_too(monkeypatch):
    f = fg.jit(lambda x: x[7] * np.arange(3))
    single, double = np.arange(4, dtype=np.float32), np.arange(4.0)
    settings = fg.settings
    with settings.enable_x64(False), settings.promotion("jax"), settings.out_of_bounds("jax"):
        assert f(single).dtype == np.float32
        with monkeypatch.context() as quick:
            quick.delattr(type(f), "_entry")
            assert f(single).tolist() == [0, 3, 6]
        # What may have 64 bits becomes an array of 32 first.
        assert f(double).dtype == np.float32
        with settings.enable_x64(True):
            assert f(double).dtype == np.float64
        assert f(double).dtype == np.float32
    for x in (single, double):  # whose programs are not those above
        with pytest.raises(IndexError):
            f(x)
