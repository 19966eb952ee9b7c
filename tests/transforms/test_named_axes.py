"""Named axes beside the other transforms: jitted functions, control flow, rules of the user's own, solvers."""

import re
from collections.abc import Callable
from operator import truth
from typing import Any

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core.axes import open_axes
from fungrad.core.config import checking
from fungrad.programs.loops.cond import cond
from fungrad.programs.loops.loops import fori_loop, scan
from fungrad.programs.loops.while_loop import while_loop
from fungrad.programs.rules.custom_jvp import custom_jvp
from fungrad.programs.rules.custom_vjp import custom_vjp
from fungrad.programs.solvers.linear_solve import custom_linear_solve
from fungrad.scipy.integrate import odeint
from tests.samples.row import reals


@pytest.fixture(autouse=True)
def checked():
    with checking():
        yield
    assert not open_axes()


def named(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return fg.vmap(function, axis_name="i", **options)


def close(found: Any, expected: Any) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_a_jitted_function_knows_the_axes_around_it():
    traced = []

    @fg.jit
    def share(x):
        traced.append(1)
        return x / lax.psum(x, "i") + lax.axis_size("i")

    for x in (np.arange(1.0, 4.0), np.arange(1.0, 6.0), np.arange(2.0, 5.0)):
        close(named(share)(x), x / x.sum() + len(x))
        close(fg.vmap(named(share))(x[None])[0], x / x.sum() + len(x))
    assert len(traced) == 2  # one for each size
    with pytest.raises(NameError, match="unbound axis name: 'i'"):
        share(1.0)


def test_a_jitted_function_may_ask_whether_an_axis_is_open():
    @fg.jit
    def centred(x):
        try:
            return x - lax.pmean(x, "i")
        except NameError:
            return x

    x = np.arange(3.0)
    assert centred(2.0) == 2.0
    close(named(lambda x: x * centred(2.0))(x), 0 * x)
    close(named(centred)(x), x - 1)
    close(fg.vmap(centred)(x), x)
    close(fg.jit(fg.vmap(centred))(x), x)
    assert centred(2.0) == 2.0


@pytest.mark.parametrize("jit", [lambda f: f, fg.jit], ids=["", "jit"])
def test_transforms_within_a_call_whose_operands_all_calls_share(jit):
    x, ones = np.arange(1.0, 4.0), np.ones(3)
    index = np.arange(3.0)

    def twice(f):  # the second time a program is compiled
        f(x)
        return f(x)

    scaled = jit(lambda w: w * w * lax.axis_index("i"))
    close(twice(named(lambda x: x * jit(fg.grad(scaled))(2.0))), 4 * index * x)
    close(twice(named(lambda x: x * fg.vjp(scaled, 2.0)[1](1.0)[0])), 4 * index * x)
    close(twice(named(lambda x: x * fg.jvp(scaled, (2.0,), (1.0,))[1])), 4 * index * x)
    close(twice(named(lambda x: x * jit(lambda: lax.axis_index("i"))())), x * index)
    close(
        twice(named(lambda x: fg.grad(jit(lambda w: lax.psum_scatter(w, "i") * x))(ones))),
        np.outer(ones, x),
    )
    # Of a trace below that of the mapped function:
    outer = fg.grad(lambda z: fnp.sum(named(lambda x: x * scaled(z))(x)))
    close(outer(3.0), np.float64(6.0 * (x @ index)))
    outer = fg.grad(lambda z: fnp.sum(named(lambda x: x * fg.grad(scaled)(z))(x)))
    close(outer(3.0), np.float64(2.0 * (x @ index)))
    hessian = named(lambda x: fg.hessian(lambda w: lax.psum(w @ w * x, "i"))(ones))
    close(hessian(x), np.broadcast_to(2 * 3 * np.eye(3)[None] * x[:, None, None], (3, 3, 3)))


OF_EACH_CALL = {
    "its number": lambda x: x if lax.axis_index("i") == 0 else 2 * x,
    "under grad": lambda x: fg.grad(lambda w: w if w * lax.axis_index("i") > 0 else 2 * w)(1.0),
}
COMMUNICATING = {
    "before": lambda x: x if truth(lax.ppermute(2, "i", [(0, 1)]) > 0) else 2 * x,
    "after": lambda x: lax.psum(x, "i") if truth(x > 1) else x,
    "between": lambda x: lax.psum(x, "i") if truth(x > 1) and lax.psum(x, "i") > 1 else x,
    "unused": lambda x: (lax.psum(x, "i"), x if truth(x > 1) else 2 * x)[1],
}


def test_calls_part_by_their_numbers():
    expected = {"its number": [0.0, 2.0, 4.0], "under grad": [2.0, 1.0, 1.0]}
    for name, f in OF_EACH_CALL.items():
        np.testing.assert_array_equal(named(f)(np.arange(3.0)), expected[name])


@pytest.mark.parametrize("f", [*OF_EACH_CALL.values(), *COMMUNICATING.values()])
def test_a_value_that_differs_between_calls_cannot_be_asked_for(f, as_written):
    with pytest.raises(fg.ConcretizationError, match=r"vmap\(<lambda>, 'i'\)"):
        named(f)(np.arange(3.0))


@pytest.mark.parametrize("f", COMMUNICATING.values())
def test_calls_that_communicate_cannot_part(f):
    with pytest.raises(fg.ConcretizationError, match="has a collective") as error:
        named(f)(np.arange(3.0))
    assert "`vmap(<lambda>, 'i')`" in str(error.value)
    assert re.search("collective, `p_(sum|permute)`", str(error.value))
    equal = named(lambda x: x * 2 if lax.psum(x, "i") > 1 else x)(np.arange(3.0))
    np.testing.assert_array_equal(equal, [0.0, 2.0, 4.0])


def share(x):
    """Return what a step of the loops below makes of a call's number."""
    return x / lax.psum(x, "i") * 2 + 1


LOOPS = {
    "scan": lambda x: scan(lambda c, _: (share(c), None), x, None, length=3)[0],
    "fori_loop": lambda x: fori_loop(0, 3, lambda _, c: share(c), x),
    "while_loop": lambda x: while_loop(
        lambda c: lax.psum(c[1], "i") < 9, lambda c: (share(c[0]), c[1] + 1), (x, 0)
    )[0],
    "cond": lambda x: cond(x < 1e9, lambda x: share(share(x)), lambda x: x, share(x)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_control_flow_within_a_call(name):
    f, x = LOOPS[name], reals(4)

    def by_hand(x):
        for _ in range(3):
            x = x / x.sum() * 2 + 1
        return x

    close(named(f)(x), by_hand(x))
    close(named(fg.jit(f))(x), by_hand(x))
    close(fg.jit(named(f))(x), by_hand(x))
    close(named(lambda i, x: f(x) + 0 * i, in_axes=(0, None))(x, 2.0), by_hand(np.full(4, 2.0)))
    derivative = fg.jvp(by_hand, (x,), (np.cos(x),))[1]
    close(fg.jvp(named(f), (x,), (np.cos(x),))[1], derivative)
    if name != "while_loop":
        gradient = fg.grad(lambda x: fnp.sum(by_hand(x) ** 2))(x)
        close(named(fg.grad(lambda x: f(x) ** 2))(x), gradient)


def test_loops_whose_steps_depend_on_the_call_alone():
    index = np.arange(3)
    found = named(lambda _: scan(lambda c, _: (c + lax.axis_index("i"), c), 0, None, length=2))(
        index
    )
    assert found[0].tolist() == [0, 2, 4]
    assert found[1].tolist() == [[0, 0], [0, 1], [0, 2]]
    alone = lambda _: scan(lambda c, _: (c, lax.axis_index("i")), None, None, length=2)[1]
    assert named(alone)(index).tolist() == [[0, 0], [1, 1], [2, 2]]
    found = named(lambda _: while_loop(lambda c: c < lax.axis_index("i"), lambda c: c + 1, 0))(
        index
    )
    assert found.tolist() == [0, 1, 2]
    chosen = lambda p, _: cond(p, lambda: lax.axis_index("i"), lambda: 7)
    assert named(chosen, in_axes=(None, 0))(True, index).tolist() == [0, 1, 2]
    assert named(chosen, in_axes=(None, 0))(False, index).tolist() == [7, 7, 7]


def test_a_linear_system_across_the_calls():
    b = reals(3)

    def solve(matvec, b):  # Richardson's iteration
        return fori_loop(0, 80, lambda _, x: x + 0.3 * (b - matvec(x)), 0 * b)

    def one(b):
        return custom_linear_solve(lambda x: 3 * x + lax.pmean(x, "i"), b, solve, symmetric=True)

    a = 3 * np.eye(3) + 1 / 3
    np.testing.assert_allclose(named(one)(b), np.linalg.solve(a, b), rtol=1e-12)
    weights = np.arange(3.0)
    gradient = fg.grad(lambda b: fnp.sum(weights * named(one)(b)))(b)
    np.testing.assert_allclose(gradient, np.linalg.solve(a, weights), rtol=1e-12)


def test_rules_of_ones_own_work_across_the_calls():
    @custom_vjp
    def shared(x):
        return x

    shared.defvjp(lambda x: (x, None), lambda _, ct: (lax.psum(ct, "i"),))

    @custom_jvp
    def share(x):
        return x / lax.psum(x, "i")

    @share.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        total = lax.psum(x, "i")
        return x / total, t / total - x * lax.psum(t, "i") / total**2

    x = np.arange(1.0, 4.0)
    by_hand = fg.grad(lambda x: fnp.sum((x / x.sum()) ** 2))(x)
    for jit in (lambda f: f, fg.jit):
        close(named(jit(fg.grad(lambda x: shared(x) * x)))(x), x + x.sum())
        total = lambda x: fnp.sum(named(lambda x: shared(x) * x)(x))
        close(fg.grad(jit(total))(x), x + x.sum())
        gradient = named(jit(fg.grad(lambda w: 2 * shared(w))), in_axes=None, axis_size=3)
        close(gradient(1.0), np.full(3, 6.0))
        close(named(jit(share))(x), x / 6)
        close(named(jit(fg.grad(lambda x: share(x) ** 2)))(x), by_hand)
        close(fg.grad(jit(lambda x: fnp.sum(named(share)(x) ** 2)))(x), by_hand)


def test_solvers_that_take_the_calls_one_by_one():
    x, ts = reals(3), np.array([0.0, 1.0])
    before = named(lambda x: (lambda k: odeint(lambda y, t: -k * y, x, ts)[-1])(lax.psum(x, "i")))
    np.testing.assert_allclose(before(x), x * np.exp(-x.sum()), rtol=1e-6)
    with pytest.raises(
        fg.MissingRuleError, match="works across the axis 'i' is run for each of the"
    ):
        named(lambda x: odeint(lambda y, t: -lax.psum(y, "i"), x, ts))(x)


def test_a_solver_within_a_call():
    a = np.array([[2.0, 0.5], [0.25, 3.0]])
    b = reals(3, 2)

    def mean_solution(b):
        return lax.pmean(fnp.linalg.solve(a * (1 + lax.axis_index("i")), b), "i")

    expected = np.mean([np.linalg.solve(a * (1 + i), b[i]) for i in range(3)], 0)
    close(named(mean_solution, out_axes=None)(b), expected)


def test_normalisation_over_a_batch():
    x, w = reals(5, 4), reals(4, seed=1)

    def loss(w):
        def normalised(row):
            y = row * w
            mean = lax.pmean(y, "i")
            return (y - mean) / fnp.sqrt(lax.pmean((y - mean) ** 2, "i") + 1e-3)

        return fnp.sum(fnp.cos(named(normalised)(x)))

    def by_hand(w):
        y = x * w
        return fnp.sum(fnp.cos((y - y.mean(0)) / fnp.sqrt(y.var(0) + 1e-3)))

    close(loss(w), by_hand(w))
    np.testing.assert_allclose(fg.grad(loss)(w), fg.grad(by_hand)(w), rtol=1e-10)
    np.testing.assert_allclose(fg.hessian(loss)(w), fg.hessian(by_hand)(w), rtol=1e-9)


def test_names_are_open_only_within_the_mapped_function():
    with pytest.raises(NameError, match=r"unbound axis name: 'i' \(none is open here\)"):
        lax.axis_size("i")
    with pytest.raises(ZeroDivisionError):
        named(lambda x: 1 // 0)(np.ones(3))
    for f in (lax.axis_index, lax.axis_size):
        with pytest.raises(NameError, match="vmap"):
            f("i")


@pytest.mark.parametrize("name", [("i", "j"), ["i"]])
def test_the_name_of_an_axis_is_one_hashable_object(name):
    with pytest.raises(TypeError, match="vmap: axis_name must be one name"):
        fg.vmap(lambda x: x, axis_name=name)


def test_a_program_of_a_call_cannot_be_run_after_it():
    kept = []

    def f(x):
        kept.append(fg.jit(lambda w: w * lax.axis_index("i")).lower(1.0).compile())
        return x

    named(f)(np.ones(3))
    with pytest.raises(NameError, match="unbound axis name: 'i'"):
        kept[0](1.0)
