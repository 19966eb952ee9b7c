"""Faults that loops once had."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.compile.lower
import fungrad.numpy as fnp
from fungrad import lax

X = np.array([0.4, -0.3, 0.7])


def test_rows_are_stored_where_they_belong_after_a_dynamic_slice():
    def loop(x):
        def step(c, i):
            part = lax.dynamic_slice(c, (i,), (2,))
            return c * part[0], (part, c)

        return lax.scan(step, x, np.array([0, 1, 5, -1]))

    for found, wanted in zip(fg.tree.leaves(fg.jit(loop)(X)), fg.tree.leaves(loop(X)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def printing_while(x):
    def step(c):
        fg.debug.print("{}", c)
        return c + 1

    return lax.while_loop(lambda c: c < 3, step, x)


def test_effects_of_a_while_loop_happen_once_where_values_are_known(capsys):
    fg.jvp(fg.jit(printing_while), (0.5,), (1.0,))
    assert capsys.readouterr().out.split() == ["0.5", "1.5", "2.5"]


@pytest.mark.parametrize(
    "outer", [fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))]
)
def test_effects_of_nested_loops_happen_once(outer, capsys):
    def printing(i, c):
        fg.debug.print("{}", i)
        return fnp.sin(c)

    def step(c, i):
        c = lax.cond(c > 0, lambda c: printing(i, c), lambda c: c, c)
        return lax.fori_loop(0, 2, lambda j, c: printing(10 * i + j, c), c), None

    outer(lambda x: lax.scan(step, x, np.arange(1, 3))[0])(0.5)
    assert capsys.readouterr().out.split() == ["1", "10", "11", "2", "20", "21"]


@pytest.mark.parametrize(
    "wrapped",
    [fg.checkpoint, lambda f: lambda x: lax.cond(x > 0, f, f, x)],
    ids=["checkpoint", "cond"],
)
def test_effects_without_results_happen_once(wrapped, capsys):
    printing = fg.jit(wrapped(lambda x: fg.debug.print("{}", x)))

    def f(x):
        y = x * x
        printing(y)
        return y

    assert fg.grad(f)(2.0) == 4.0
    assert fg.jvp(f, (2.0,), (1.0,)) == (4.0, 4.0)
    assert capsys.readouterr().out.split() == ["4.0", "4.0"]


def test_views_are_found_behind_equations_without_results(capsys):
    def f(x):
        y = fnp.sin(x)
        for _ in range(3):
            fg.debug.print("{}", x.sum())
            y = 2 * y[:-1]
            y[0] = x[-1]
        return y.sum()

    x = np.arange(6.0)
    np.testing.assert_allclose(fg.grad(f)(x), [0, 8 * np.cos(1), 8 * np.cos(2), 0, 0, 1.0])


def test_python_numbers_given_to_a_jitted_function_stay_weak():
    f = fg.jit(lambda z, p: 0 * z * p)
    with fg.checking():
        assert fg.grad(lambda p: f(2.0, p))(1.0) == 0
        found = fg.vmap(lambda p: f(2.0, p))(np.ones(2, np.float32))
    assert found.dtype == np.float32


def test_collectives_in_batched_control_flow_see_the_operands_of_all_calls():
    xs = np.array([[0.4, -0.3], [0.8, -0.6]])
    add = fg.vmap(
        lambda x: lax.cond(x[0] > 0.5, lambda x: lax.psum(x, "i"), lambda x: x, x), axis_name="i"
    )
    np.testing.assert_allclose(add(xs), [xs[0], xs[0] + xs[1]])
    grow = fg.vmap(
        lambda x: lax.while_loop(lambda c: c < 5, lambda c: c + lax.pmax(c, "i"), x), axis_name="i"
    )
    np.testing.assert_allclose(grow(np.array([1.0, 4.0])), [5.0, 8.0])


def test_errors_of_a_loop_can_be_caught_where_values_are_known():
    def step(c, x):
        return fnp.linalg.cholesky(x * fnp.eye(2)) @ c, None

    def f(x):
        try:
            return lax.scan(step, x, np.array([1.0, 2.0, -1.0]))[0].sum()
        except np.linalg.LinAlgError:
            return 3 * x.sum()

    for loop in (f, lambda x: lax.cond(x[0] > 0, f, f, x)):
        np.testing.assert_array_equal(fg.grad(loop)(np.ones(2)), [3.0, 3.0])


@pytest.mark.parametrize("outer", [fg.jit, lambda f: fg.jit(fg.grad(f)), fg.grad])
def test_assignments_in_branches_to_arrays_closed_over(outer):
    def f(x):
        factor = x[1].astype(np.float32)
        return lax.cond(x[0] > 0, lambda: fg.at(x)[0].multiply(factor), lambda: x).sum()

    expected = outer(lambda x: x[0] * x[1] + x[1] + x[2])(X)
    np.testing.assert_allclose(outer(f)(X), expected, rtol=1e-6)


def test_values_asked_for_in_a_branch_are_computed_outside_of_it():
    def f(x):
        def inner(y):
            known = y * x
            twice = fg.jit(
                lambda z: lax.cond(z > 0, lambda: z * (2.0 if known > 0 else 3.0), lambda: z)
            )
            return twice(y * y) * known

        return fg.grad(inner)(x)

    np.testing.assert_allclose(fg.jvp(f, (1.5,), (1.0,)), [6 * 1.5**3, 18 * 1.5**2])


def ways(f):
    """A function as it is, and under transforms that run it otherwise."""
    return {"eager": f, "jit": fg.jit(f), "jvp": lambda *a: fg.jvp(f, a, a)[0]}


@pytest.mark.parametrize("how", ["eager", "jit", "disabled"])
def test_python_bools_are_arrays_inside_of_bodies(how):
    def negated():
        return (
            lax.while_loop(lambda c: ~c[1], lambda c: (c[0] + 1, c[0] > 3), (0, False)),
            lax.while_loop(lambda c: ~c[1], lambda c: (c[0] + 1, True), (0, False)),
            lax.fori_loop(0, 3, lambda i, c: (~c[0], c[1] + 1), (False, 0)),
            lax.fori_loop(0, 2, lambda i, c: (bool(i == 5), ~c[0]), (False, False)),
            lax.scan(lambda c, x: (~c, ~x), True, np.array([True, False])),
            lax.map(lambda x: (~x, True), np.array([True])),
            lax.cond(True, lambda c, d: (~c, ~d["b"]), lambda c, d: (c, c), True, {"b": False}),
            lax.switch(0, [lambda c: ~c], True),
        )

    f = fg.jit(negated) if how == "jit" else negated
    if how == "disabled":
        with fg.disable_jit():
            found = f()
    else:
        found = f()
    wanted = (
        *((5, True), (1, True), (True, 3), (False, True), (True, np.array([False, True]))),
        *((np.array([False]), np.array([True])), (False, True), False),
    )
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.parametrize("f", [fg.grad, lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1]])
def test_python_bools_are_arrays_where_a_loop_is_unrolled(f):
    def alternating(x):
        def step(c):
            flag, y, n = c
            assert float(y) > 0  # so that the loop is run by Python
            return ~flag, y * fnp.where(flag, x, 1.0), n + 1

        return lax.while_loop(lambda c: c[2] < 5, step, (True, 1.0, 0))[1]

    assert f(alternating)(2.0) == 12.0  # x ** 3


def test_carries_that_start_as_python_numbers_are_arrays_inside_of_bodies():
    assert lax.while_loop(lambda c: c.sum() < 3, lambda c: c.astype(int) + 1, 0) == 3
    assert lax.fori_loop(0, 3, lambda i, c: c + i.astype(float), 0.0) == 3.0
    assert lax.scan(lambda c, x: (c + x, c.shape), 0.0, np.arange(3.0))[0] == 3.0
    assert lax.cond(True, lambda x: x.reshape(1), lambda x: x, 2.0) == np.array([2.0])
    with np.errstate(divide="ignore"):
        assert lax.fori_loop(0, 3, lambda i, c: c / i, 1.0) == np.inf
        assert lax.cond(True, lambda x: 1 / x, lambda x: x, 0.0) == np.inf


def test_errors_of_bodies_that_are_neither_traced_nor_run_are_the_users_own():
    def step(c, x):
        return (c.at[0].set(x), None) if c.sum() >= 0 else (c, None)

    a = np.ones(2)
    with pytest.raises(AttributeError, match="at"):
        lax.scan(step, a, a)
    with pytest.raises(ZeroDivisionError):
        lax.scan(lambda c, x: (c + 1 // 0, None), 0.0, a)


@pytest.mark.parametrize("name", ["eager", "jit", "jvp"])
def test_fori_loop_counts_with_real_numbers(name):
    def counted(x):
        whole = lax.fori_loop(0.0, 3.0, lambda i, c: c * x + i, 1.0)
        return whole, lax.fori_loop(np.float32(0.5), 3, lambda i, c: c + i, x)

    whole, rest = ways(counted)[name](2.0)
    assert (whole, rest) == (8.0 + 2 + 2, 2 + 0.5 + 1.5 + 2.5)
    assert fg.grad(lambda x: counted(x)[0])(2.0) == 12 + 1


def test_fori_loop_with_real_bounds_that_are_traced():
    f = fg.jit(lambda n: lax.fori_loop(0.0, n, lambda i, c: c + i, 0.0))
    assert (f(2.5), f(3.0), f(-1.0)) == (3.0, 3.0, 0.0)
    with pytest.raises(
        TypeError, match=r"upper must be an integer or a real number, got complex128"
    ):
        lax.fori_loop(0, 1j, lambda i, c: c, 0.0)


def test_options_that_change_nothing_are_accepted():
    x = np.arange(3.0)
    np.testing.assert_array_equal(lax.map(lambda x: 2 * x, x, batch_size=0), 2 * x)
    loop = lambda x: lax.scan(lambda c, r: (c * r, None), 1.0, x, _split_transpose=True)[0]
    np.testing.assert_array_equal(fg.grad(loop)(x + 1), [6.0, 3.0, 2.0])


def test_platform_dependent_calls_the_function_for_the_machine():
    def f(x):
        return lax.platform_dependent(x, cpu=lambda x: 3 * x, default=lambda x: x)

    for g in (
        f,
        fg.jit(f),
        fg.grad(lambda x: f(x) * x / 2),
        fg.jit(fg.grad(lambda x: f(x) * x / 2)),
    ):
        assert g(2.0) == 6.0
    np.testing.assert_array_equal(fg.vmap(f)(np.ones(2)), [3.0, 3.0])
    other = lambda x: lax.platform_dependent(x, cuda=lambda x: 3 * x, default=lambda x: x)
    assert other(2.0) == fg.jit(other)(2.0) == 2.0


def test_platform_dependent_raises_where_there_is_no_function():
    f = lambda x: lax.platform_dependent(x, cuda=lambda x: x, tpu=lambda x: x)
    for g in (f, fg.jit(f), fg.grad(f)):
        with pytest.raises(
            NotImplementedError, match=r"are on 'cpu', and there are functions for cuda, tpu"
        ):
            g(2.0)
    with pytest.raises(ValueError, match=r"there are functions for \['gpu'\], but machines"):
        lax.platform_dependent(1.0, gpu=abs)
    with pytest.raises(ValueError, match="give at least one function"):
        lax.platform_dependent(1.0)


def test_the_machine_is_the_same_for_a_whole_batch():
    f = lambda x: (x, lax.platform_dependent(x.sum(), cpu=lambda _: 1.0, default=lambda _: 2.0))
    found = fg.vmap(f, out_axes=(0, None))(np.ones((3, 2)))
    assert found[1] == 1.0


@pytest.mark.parametrize("transform", [fg.jit, fg.grad, lambda f: fg.jit(fg.grad(f)), fg.vmap])
def test_what_has_run_is_not_compiled_again(transform, monkeypatch):
    ruled = fg.custom_jvp(lambda x: fnp.sin(x))
    ruled.defjvp(lambda p, t: (ruled(*p), fnp.cos(p[0]) * t[0]))

    def loops(x):
        c = lax.scan(lambda c, r: (ruled(c) * r, None), x, np.ones(3))[0]
        c = lax.cond(c > 0, lambda c: fnp.sin(c), lambda c: c, c)
        return c + lax.stop_gradient(lax.while_loop(lambda c: c < 3, lambda c: c + 1, c))

    x = np.ones(2) if transform is fg.vmap else 0.5
    f = transform(loops)
    for _ in range(3):
        f(x)
    compiled = []
    monkeypatch.setattr(fungrad.compile.lower, "run_source", lambda *a: compiled.append(a))
    f(x)
    assert not compiled


def test_the_jvp_of_a_branch_mapped_over_the_choice_can_be_transposed():
    def f(x):
        return fg.lax.cond(x > 0, lambda x: fnp.sin(x) * x, lambda x: x**3, x)

    ruled = fg.custom_jvp(f)
    ruled.defjvp(lambda primals, tangents: fg.jvp(f, primals, tangents))
    x = np.array([1.0, -2.0, 3.0])
    slope = np.where(x > 0, np.cos(x) * x + np.sin(x), 3 * x**2)
    np.testing.assert_allclose(fg.grad(lambda x: fg.vmap(ruled)(x).sum())(x), slope, rtol=1e-15)
    tangent = fg.vmap(lambda x, t: fg.jvp(f, (x,), (t,))[1])
    (found,) = fg.linear_transpose(lambda t: tangent(x, t), x)(np.ones(3))
    np.testing.assert_allclose(found, slope, rtol=1e-15)
