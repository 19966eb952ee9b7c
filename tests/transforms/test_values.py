"""Values on demand: Python may look at values under `grad` and its kin, at any order."""

import collections
import math

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

# Each transform as the derivative of a function of one number.
DERIVATIVES = {
    "grad": fg.grad,
    "value_and_grad": lambda f: lambda x: fg.value_and_grad(f)(x)[1],
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1],
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](1.0),
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](1.0)[0],
    "jacfwd": fg.jacfwd,
    "jacrev": fg.jacrev,
}


def branch(x):
    return x**3 if x > 0 else -(x**3)


def chained(x):
    if 0 < x < 1:
        return x**3
    elif x >= 1 and x * 2 < 10:
        return 2 * x**3
    return -(x**3) if not x > 100 else x


def halve(x):
    n = 0
    while x > 1:
        x = x / 2
        n += 1
    return x**3 * 8**n  # the original x, cubed


def truncated(x):
    total = 0.0
    for k in range(int(abs(x)) + 3):
        total = total + x**k / math.factorial(k)
    return total


def with_float(x):
    return x**3 * float(x > 0) + math.floor(float(x)) * 0


def with_max(x):
    return max(x, x * x, x**3) + min(x, 5.0) * 0


def with_list(x):
    return x**3 if x in [2.0, 3.0] else x**3 * 1


def with_sorted(x):
    return sorted([x**3, x, x * 0 - 5])[-1]


def with_any(x):
    return x**3 if any([x > 0, x > 1]) and all([x > -1, x < 10]) else x


def with_round(x):
    return x**3 * int(fnp.round(x) * 0 + 1)


def with_match(x):
    match float(x):
        case 2.0:
            return x**3
        case _:
            return x**3 + 0


PROGRAMS = [
    *(branch, chained, halve, with_float, with_max, with_list, with_sorted, with_any, with_round),
    with_match,
]


def scale_at(f, x):
    return {chained: 2.0 if x >= 1 else 1.0}.get(f, 1.0)


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("x", [2.0, 3.5])
def test_python_control_flow(f, derivative, x):
    d, s = DERIVATIVES[derivative], scale_at(f, x)
    np.testing.assert_allclose(d(f)(x), s * 3 * x**2, rtol=1e-13)
    np.testing.assert_allclose(d(d(f))(x), s * 6 * x, rtol=1e-13)
    np.testing.assert_allclose(d(d(d(f)))(x), s * 6, rtol=1e-12)


@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_control_flow_under_two_different_transforms(outer, inner):
    for f in (branch, halve):
        d = DERIVATIVES[outer](DERIVATIVES[inner](f))
        np.testing.assert_allclose(d(3.0), 18.0, rtol=1e-13)


def test_other_paths_in_other_calls():
    g = fg.grad(branch)
    assert [g(x) for x in (2.0, -2.0, 3.0, -1.0, 2.0)] == [12, -12, 27, -3, 12]
    g = fg.grad(truncated)
    for x in (0.5, 3.5, 1.5, 0.5):
        n = int(abs(x)) + 3
        expected = sum(x ** (k - 1) / math.factorial(k - 1) for k in range(1, n))
        np.testing.assert_allclose(g(x), expected, rtol=1e-13)


def test_elements_lengths_and_iteration():
    def f(x):
        total = 0.0
        for v in x:
            if v > 1:
                total = total + v * v
        for i in range(len(x)):
            total = total + x[i] * i
        a, b, _ = x
        return total + a * b + x[int(x[0])]

    np.testing.assert_allclose(fg.grad(f)(np.array([1.0, 2.0, 3.0])), [2, 7, 8])


def test_values_in_closures():
    def f(x):
        def g(y):
            return x * y * y if x > y else y * y

        return fg.grad(g)(3.0)

    assert fg.grad(f)(5.0) == 6
    assert fg.grad(f)(1.0) == 0
    assert fg.jvp(f, (5.0,), (1.0,)) == (30, 6)


@pytest.mark.parametrize("inner", [fg.jit, fg.vmap, lambda f: fg.jit(fg.vmap(f))])
def test_outer_values_inside_jit_and_vmap(inner):
    # The mapped or jitted argument has no value, what the function closes over does.
    def f(x):
        def g(y):
            return y * x * x if x > 0 and float(x) < 10 else y

        return fnp.sum(inner(g)(np.ones(2)))

    assert fg.grad(f)(3.0) == 12
    assert fg.grad(f)(-1.0) == 0
    assert fg.grad(f)(5.0) == 20
    assert fg.grad(fg.grad(f))(5.0) == 4


def test_bool_of_outer_value_in_a_gradient_inside_jit():
    def f(x):
        @fg.jit
        def g(y):
            return fg.grad(lambda z: z * z * x if x > 1 else z)(y)

        return g(x) * x

    assert fg.grad(f)(2.0) == 24  # 2 x^3
    assert fg.grad(f)(0.5) == 1  # x


# Newton's iteration


def newton(f, x, tolerance=1e-14):
    while abs(f(x)) > tolerance:
        x = x - f(x) / fg.grad(f)(x)
    return x


def test_newton_with_a_data_dependent_loop():
    def root(a):
        return newton(lambda x: x * x - a, a)

    value, g = fg.value_and_grad(root)(2.0)
    np.testing.assert_allclose([value, g], [np.sqrt(2), 0.5 / np.sqrt(2)], rtol=1e-8)
    np.testing.assert_allclose(fg.jvp(root, (2.0,), (1.0,)), [value, g], rtol=1e-12)
    np.testing.assert_allclose(fg.grad(fg.grad(root))(2.0), -0.25 * 2**-1.5, rtol=1e-4)
    np.testing.assert_allclose(fg.vjp(root, 9.0)[1](6.0)[0], 1.0, rtol=1e-8)


def test_bisection_and_a_priority_queue():
    def f(x):
        lo, hi = x * 0, x
        while hi - lo > 0.1:
            mid = (lo + hi) / 2
            lo, hi = (mid, hi) if mid * mid < 2 else (lo, mid)
        return hi

    # hi is a multiple of x that does not change nearby.
    value, g = fg.value_and_grad(f)(2.0)
    assert g == value / 2


# Showing values


def test_print_and_formats(capsys, as_written):
    seen = []

    def f(x):
        y = x * x
        print("y =", y)
        seen.extend([f"{y}", f"{y:.2f}", f"{y!r}", str(y), format(y, ".1e"), "%.1f" % y])  # noqa: UP031
        seen.append("{:8.3f}|{}".format(y, y))  # noqa: UP032
        return y

    for d in DERIVATIVES.values():
        seen.clear()
        d(f)(3.0)
        assert "y = 9.0\n" in capsys.readouterr().out
        assert seen[0] == "9.0"
        assert seen[1] == "9.00"
        assert "9.0" in seen[2]
        assert "Tracer" in seen[2]
        assert seen[3:] == ["9.0", "9.0e+00", "9.0", "   9.000|9.0"]
    fg.grad(fg.grad(f))(3.0)
    assert "y = 9.0\n" in capsys.readouterr().out


def test_print_of_arrays(capsys):
    def f(x):
        print(x * 2)
        return fnp.sum(x)

    fg.grad(f)(np.arange(3.0))
    assert capsys.readouterr().out == "[0. 2. 4.]\n"


def test_print_without_values_shows_the_type(capsys):
    def f(x):
        print(x, f"{x}", f"{x:.2f}", repr(x))
        return x

    fg.jit(f)(np.ones(3))
    fg.vmap(f)(np.ones((2, 3)))
    fg.make_expr(f)(np.ones(3))
    out = capsys.readouterr().out
    assert out.count("float64[3]") == 12


def test_conversions():
    def f(x):
        assert type(float(x)) is float
        assert type(int(x)) is int
        assert type(complex(x)) is complex
        assert type(bool(x)) is bool
        assert type(x.item()) is float
        assert (x * np.ones(2)).tolist() == [2.5, 2.5]
        assert (float(x), int(x), complex(x), bool(x), x.item()) == (2.5, 2, 2.5, True, 2.5)
        assert int((x * 2).astype(int)) == 5
        return x * [10, 20, 30][(x * 0).astype(int)] + range(5)[fnp.argmax(x * np.ones(1))]

    assert fg.grad(f)(2.5) == 10


@pytest.mark.parametrize("convert", [float, int, complex])
def test_conversion_of_arrays_is_numpy_s_error(convert):
    with pytest.raises(TypeError, match=r"only .*(0-dimensional|length-1|size-1) arrays"):
        fg.grad(lambda x: fnp.sum(x) * convert(x))(np.ones(3))


def test_truth_of_arrays_is_numpy_s_error():
    with pytest.raises(ValueError, match=r"truth value of an array .* is ambiguous"):
        fg.grad(lambda x: fnp.sum(x) if x > 0 else x)(np.ones(3))


def test_boolean_masks():
    def f(x):
        y = x[x > 1]
        assert y.shape == (2,)
        return fnp.sum(y**3) + fnp.sum(x[np.array([True, False, False])])

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(fg.grad(f)(x), [1, 12, 27])
    np.testing.assert_array_equal(fg.grad(lambda x: fnp.sum(fg.grad(f)(x)))(x), [0, 12, 18])
    np.testing.assert_array_equal(fg.hessian(f)(x), np.diag([0.0, 12, 18]))


def test_shapes_that_depend_on_values():
    def f(x):
        n = int(fnp.sum(x > 0))
        y = fnp.reshape(x[: 2 * (n // 2)], (n // 2, 2))
        return fnp.sum(y[:, 0] * y[:, 1])

    np.testing.assert_array_equal(fg.grad(f)(np.array([1.0, 2, 3, 4, 5])), [2, 1, 4, 3, 0])


# What was forced is not computed again


@pytest.fixture
def calls(monkeypatch):
    """Counts runs of `np.arctan`, by a primitive or by a compiled program; not of what is recorded."""
    fg.grad(fnp.arctan)(0.5)  # so that the rules are imported, which look at the function itself
    counts = collections.Counter()
    arctan = np.arctan

    def counted(*args, **kwargs):
        if not any(isinstance(x, fg.Tracer) for x in args):
            counts["arctan"] += 1
        return arctan(*args, **kwargs)

    monkeypatch.setattr(np, "arctan", counted)
    return counts


def forcing(x):
    y = fnp.arctan(x)
    for _ in range(5):
        if float(y) > -2:  # always
            y = y * 2
    return y


@pytest.mark.parametrize("derivative", ["grad", "value_and_grad", "jvp", "linearize", "vjp"])
def test_the_forced_prefix_is_not_computed_again(derivative, calls):
    for run in range(1, 4):
        np.testing.assert_allclose(DERIVATIVES[derivative](forcing)(0.5), 32 / 1.25)
        assert calls["arctan"] == run


@pytest.mark.parametrize("derivative", ["grad", "jvp", "linearize", "vjp"])
def test_the_forced_prefix_is_not_computed_again_at_order_2(derivative, calls):
    d = DERIVATIVES[derivative]
    for run in range(1, 4):
        np.testing.assert_allclose(d(d(forcing))(0.5), -32 * 2 * 0.5 / 1.25**2)
        assert calls["arctan"] == run


def test_forced_jitted_functions_are_not_computed_again(calls):
    g = fg.jit(lambda x: fnp.arctan(x) * 3)

    def f(x):
        y = g(x)
        return y * 2 if y > 0 else y

    for run in range(1, 4):
        np.testing.assert_allclose(fg.grad(f)(0.5), 6 / 1.25)
        np.testing.assert_allclose(fg.grad(fg.grad(f))(0.5), -6 / 1.25**2)
        assert calls["arctan"] == 2 * run


def test_nothing_is_computed_if_nothing_is_asked(calls):
    ran = []

    def f(x):
        y = fnp.arctan(x)
        ran.append(calls["arctan"])
        return y

    fg.grad(f)(0.5)
    assert ran == [0]


def test_asking_twice_computes_once(calls):
    def f(x):
        y = fnp.arctan(x)
        assert [float(y) for _ in range(3)] == [math.atan(0.5)] * 3
        assert f"{y}" == str(math.atan(0.5))
        return y

    fg.jvp(f, (0.5,), (1.0,))
    assert calls["arctan"] == 1


# Values that a function shows itself: try and except around what fails on values


def test_exceptions_of_the_user_can_be_caught_inside():
    def f(x):
        try:
            if x > 1:
                raise ValueError("too large")
            return x**2
        except ValueError:
            return x**3

    assert fg.grad(f)(2.0) == 12
    assert fg.grad(f)(0.5) == 1


def test_a_value_error_inside_an_inner_transform_can_be_caught():
    def f(x):
        try:
            return fg.jit(lambda y: y * y if y > 0 else y)(x)
        except fg.ConcretizationError:
            return x * x

    assert fg.grad(f)(3.0) == 6
    assert fg.grad(f)(3.0) == 6


# NumPy's arrays can be changed while a function is traced


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_a_small_buffer_that_is_reused(derivative):
    def f(x):
        buffer = np.zeros(3)
        total = 0.0
        for k in range(4):
            buffer[:] = k + 1
            total = total + fnp.sum(x * buffer) * x
        return total

    for _ in range(3):
        np.testing.assert_allclose(DERIVATIVES[derivative](f)(2.0), 2 * 3 * 10 * 2.0)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[:],
        lambda a: a[::-1],
        lambda a: a.reshape(-1, 2),
        lambda a: a.T,
        lambda a: a[::2],
        lambda a: np.broadcast_to(a, (2, *a.shape)),
    ],
)
@pytest.mark.parametrize("size", [4, 20_000])
def test_views_of_a_buffer_that_is_reused(view, size):
    def f(x):
        buffer = np.ones(size)
        total = fnp.sum(x * view(buffer))
        buffer[:] = 3
        return total + fnp.sum(x * view(buffer))

    assert fg.grad(f)(2.0) == 4 * np.size(view(np.ones(size)))


WAYS = {
    "grad": lambda f, x: fg.grad(f)(x),
    "value": lambda f, x: fg.value_and_grad(f)(x)[0],
    "vjp": lambda f, x: fg.vjp(f, x)[1](1.0)[0],
    "jvp": lambda f, x: fg.jvp(f, (x,), (np.ones_like(x),))[1],
    "linearize": lambda f, x: fg.linearize(f, x)[1](np.ones_like(x)),
    "vmap": lambda f, x: fg.vmap(f)(np.stack([x, 2 * x])),
    "jit": lambda f, x: fg.jit(f)(x),
    "grad of grad": lambda f, x: fg.grad(lambda x: fg.grad(f)(x).sum())(x),
    "grad in vmap": lambda f, x: fg.vmap(fg.grad(f))(np.stack([x, 2 * x])),
    "linear_transpose": lambda f, x: fg.linear_transpose(lambda y: f(y) - f(0 * y), x)(1.0)[0],
}


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("way", WAYS)
def test_an_array_changed_through_an_older_view(way, size):
    def f(x, change=True):
        buffer = np.zeros(x.size)
        older = buffer[:]
        total = 0.0
        for i in range(3):
            if change:
                older += i + 1
            else:
                buffer = np.full(x.size, [1.0, 3.0, 6.0][i])
            total = total + (x * x * buffer if way != "linear_transpose" else x * buffer).sum()
        return total

    x = np.linspace(1, 2, size)
    np.testing.assert_array_equal(WAYS[way](f, x), WAYS[way](lambda x: f(x, False), x))


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("way", WAYS)
def test_a_work_buffer_is_filled_anew_in_each_step(way, size):
    work = np.empty(size)

    def f(x):
        total = 0.0
        for i in range(3):
            work[:] = i + 1
            total = total + (x * work).sum()
            np.random.default_rng(i).standard_normal(out=work)
            total = total + (x * work).sum()
        return total

    constants = [np.full(size, i + 1.0) for i in range(3)]
    constants += [np.random.default_rng(i).standard_normal(size) for i in range(3)]
    x = np.linspace(1, 2, size)
    expected = WAYS[way](lambda x: (x * np.sum(constants, 0)).sum(), x)
    np.testing.assert_allclose(WAYS[way](f, x), expected, rtol=1e-13, atol=1e-12)
    assert work.flags.writeable


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("way", [way for way in WAYS if "vmap" not in way and way != "jit"])
def test_the_argument_s_own_array_is_changed_by_the_function(way, size):
    x = np.linspace(1, 2, size)

    def f(y):
        total = (y * 3).sum()
        x[:] = 7
        return total + (y * 5).sum()

    expected = WAYS[way](lambda y: (8 * y).sum(), x.copy())
    np.testing.assert_allclose(WAYS[way](f, x), expected, rtol=1e-13)
    assert (x == 7).all()


@pytest.mark.parametrize("size", [3, 5000])
def test_a_mapped_argument_s_own_array_is_changed_by_the_function(size):
    x = np.ones((4, size))

    def f(y):
        total = (y * 3).sum()
        x[:] = 7
        return total + y.sum()

    np.testing.assert_array_equal(fg.vmap(f)(x), np.full(4, 4.0 * size))


def test_arrays_stay_writable_while_they_are_used():
    big = np.ones(20_000)

    def f(x):
        y = fnp.sum(x * big)
        assert big.flags.writeable
        return y

    for transform in (fg.grad, fg.vmap, fg.jit, lambda f: lambda x: fg.jvp(f, (x,), (x,))[1]):
        transform(f)(np.ones(20_000) if transform is not fg.vmap else np.ones((2, 20_000)))


def test_an_array_that_was_read_only_stays_so():
    big = np.ones(20_000)
    big.setflags(write=False)
    fg.grad(lambda x: fnp.sum(x * big))(1.0)
    assert not big.flags.writeable


def test_a_large_array_captured_by_two_traces_at_once():
    big = np.ones(20_000)

    def f(x):
        kept = []

        def g(y):
            kept.append((fnp.sum(y * big), fnp.sum(x * big))[1])
            return y

        fg.grad(g)(1.0)
        big[:] = 0  # the inner trace is done, the outer one is not
        return kept[0]

    assert fg.grad(f)(1.0) == 20_000


def test_the_argument_s_own_array_changed_during_the_trace():
    x = np.ones(3)

    def f(y):
        z = fnp.sum(y * y)
        x[:] = 5
        return z

    np.testing.assert_array_equal(fg.grad(f)(x), [2, 2, 2])
    assert x.flags.writeable


def test_a_captured_array_changed_after_a_value_was_asked():
    def f(x):
        c = np.array([1.0, 2.0])
        y = x * c
        if y[0] > 0:
            c[:] = 10
        return fnp.sum(y * c)

    np.testing.assert_array_equal(fg.grad(f)(np.ones(2)), [10, 20])


def test_a_numpy_array_made_of_traced_integers_is_a_copy(as_written):
    def f(x):
        whole = x.astype(int)
        taken = np.asarray(whole)
        taken[:] = 77
        return fnp.sum(x * whole)

    np.testing.assert_array_equal(fg.grad(f)(np.full(3, 2.5)), [2, 2, 2])
