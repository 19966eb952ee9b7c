"""`custom_vmap` and `sequential_vmap`: when the rule is used, and what derivatives are."""

import functools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.custom_batching import custom_vmap, sequential_vmap
from fungrad.programs.rules.custom_vjp import custom_vjp
from fungrad.test_util import check_agreement

A = np.array([0.3, -1.2, 2.0])


@custom_vmap
def scaled(x, y):
    """A product."""
    return x * y


@scaled.def_vmap
def _(axis_size, in_batched, x, y):
    assert all(np.shape(v)[:1] == (axis_size,) for v, b in zip((x, y), in_batched) if b)
    return 10 * x * y, any(in_batched)


@custom_vmap
def unbatched(tree, n):
    return {"out": tree["w"] * n, "n": n}


@unbatched.def_vmap
def _(axis_size, in_batched, tree, n):
    assert in_batched == [{"w": False}, True]
    return {"out": 0 * tree["w"], "n": n + 1}, {"out": False, "n": True}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: scaled(A, 2.0), 2 * A),
        (lambda: fg.jit(scaled)(A, 2.0), 2 * A),
        (lambda: fg.vmap(scaled)(A, A), 10 * A**2),
        (lambda: fg.vmap(scaled, (0, None))(A, 2.0), 20 * A),
        (lambda: fg.vmap(scaled, (1, None), 1)(np.ones((2, 3)), 2.0), np.full((2, 3), 20.0)),
        (lambda: fg.vmap(lambda x: scaled(x, y=2.0))(A), 20 * A),
        (lambda: fg.jit(fg.vmap(scaled))(A, A), 10 * A**2),
        (lambda: fg.vmap(fg.jit(scaled))(A, A), 10 * A**2),
        (lambda: fg.vmap(fg.vmap(scaled, (0, None)), (None, 0))(A, A), 10 * np.outer(A, A)),
        (lambda: fg.grad(scaled)(2.0, 3.0), 3.0),
        (lambda: fg.jit(fg.grad(scaled))(2.0, 3.0), 3.0),
        (lambda: fg.grad(fg.jit(scaled))(2.0, 3.0), 3.0),
        (lambda: fg.jvp(scaled, (2.0, 3.0), (1.0, 1.0))[1], 5.0),
        (lambda: fg.grad(lambda x: fg.vmap(scaled)(x, A).sum())(A), 10 * A),
        (lambda: fg.grad(lambda x: fg.jit(fg.vmap(scaled))(x, A).sum())(A), 10 * A),
        (lambda: fg.vmap(fg.grad(scaled))(A, A), A),
        (lambda: fg.jvp(fg.vmap(scaled), (A, A), (A, A))[1], 20 * A**2),
        (lambda: fg.linear_transpose(lambda x: scaled(x, 3.0), 1.0)(1.0)[0], 3.0),
        (lambda: fg.vmap(unbatched, (None, 0))({"w": 2.0}, np.arange(3))["n"], [1, 2, 3]),
        (lambda: fg.vmap(unbatched, (None, 0))({"w": 2.0}, np.arange(3))["out"], np.zeros(3)),
    ],
)
def test_what_is_computed(found, expected):
    with fg.checking():
        np.testing.assert_allclose(found(), expected)
    assert scaled.__doc__ == "A product."


def test_with_a_derivative_rule():
    f = custom_vjp(scaled)
    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda res, g: (7 * g * res[1], 7 * g * res[0]))
    assert fg.vmap(f)(A, A) == pytest.approx(10 * A**2)
    assert fg.vmap(fg.grad(f))(A, A) == pytest.approx(7 * A)
    assert fg.grad(lambda x: fg.vmap(f)(x, A).sum())(A) == pytest.approx(7 * A)


def test_rules_that_read_changed_globals_are_run_anew():
    factor = [2.0]
    f = custom_vmap(lambda x: x)
    f.def_vmap(lambda size, batched, x: (factor[0] * x, True))
    assert fg.vmap(f)(A) == pytest.approx(2 * A)
    factor[0] = 5.0
    assert fg.vmap(f)(A) == pytest.approx(5 * A)


def test_sequential():
    calls = []

    @sequential_vmap
    def f(x, y):
        calls.append(x.shape)
        return {"z": fnp.exp(x) * y}

    def plain(x, y):
        return {"z": fnp.exp(x) * y}

    x, y = np.stack([A, A + 1]), 2.0
    for axes in [(0, None), (None, 0), (0, 0)]:
        args = [v if a is None else np.stack([v, v]) for v, a in zip((A, 2.0), axes)]
        np.testing.assert_allclose(fg.vmap(f, axes)(*args)["z"], fg.vmap(plain, axes)(*args)["z"])
    assert set(calls) == {(3,)}
    assert fg.vmap(f, (0, None))(np.zeros((0, 3)), y)["z"].shape == (0, 3)
    check_agreement(
        lambda x: fg.vmap(functools.partial(f, y=y))(x)["z"].sum(0),
        lambda x: fg.vmap(functools.partial(plain, y=y))(x)["z"].sum(0),
        (x,),
    )


ERRORS = {
    "no pair": (lambda n, b, x: x, "must return a pair of the results and which of them are"),
    "structure": (lambda n, b, x: ((x, x), True), "must return what the function returns"),
    "shape": (
        lambda n, b, x: (x[0], True),
        r"of type float64\[\] that is batched, an array of type",
    ),
    "unbatched": (lambda n, b, x: (x, False), r"that is not batched.*got float64\[3\]"),
    "prefix": (
        lambda n, b, x: (x, (True, True)),
        "which results are batched is a tuple.* It must be",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_rules(name):
    rule, message = ERRORS[name]
    f = custom_vmap(lambda x: x)
    f.def_vmap(rule)
    with pytest.raises((TypeError, ValueError), match=message):
        fg.vmap(f)(A)


def test_errors():
    f = custom_vmap(lambda x: x)
    with pytest.raises(AttributeError, match=r"no rule: define it with <lambda>.def_vmap"):
        f(1.0)
    with pytest.raises(TypeError, match="<lambda>: def_vmap takes a function, not None"):
        f.def_vmap(None)

    def closes_over(x, y):
        g = custom_vmap(lambda x: x * y)
        g.def_vmap(lambda n, b, x: (x, True))
        return g(x)

    with pytest.raises(
        TypeError, match=r"closes over a value that is mapped over.*test_custom_vmap"
    ):
        fg.vmap(closes_over)(A, A)

    def rule_closes_over(x, y):
        g = custom_vmap(lambda x: x)
        g.def_vmap(lambda n, b, x: (x * y, True))
        return g(x)

    with pytest.raises(TypeError, match=r"the vmap rule of .* closes over a traced array"):
        fg.vmap(rule_closes_over)(A, A)
