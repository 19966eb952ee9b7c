"""`closure_convert`, `custom_gradient` and `linear_call`."""

import functools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.programs.rules.closures import closure_convert, custom_gradient
from fungrad.programs.rules.custom_vjp import custom_vjp
from fungrad.programs.rules.linear_call import linear_call
from fungrad.test_util import check_agreement

A = np.array([0.3, -1.2, 2.0])


# closure_convert: the minimum of a quadratic function that closes over its parameters


def minimize(objective, x):
    converted, found = closure_convert(objective, x)
    return newton(converted, x, *found)


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def newton(objective, x, *parameters):
    for _ in range(2):
        x = x - fg.grad(objective)(x, *parameters) / fg.hessian(objective)(x, *parameters)
    return x


def newton_fwd(objective, x, *parameters):
    x = newton(objective, x, *parameters)
    return x, (x, parameters)


def newton_bwd(objective, res, g):
    x, parameters = res
    u = -g / fg.hessian(objective)(x, *parameters)
    gradient = lambda *ps: fg.grad(objective)(x, *ps)
    return (None, *fg.vjp(gradient, *parameters)[1](u))


newton.defvjp(newton_fwd, newton_bwd)


def test_derivatives_by_what_an_argument_closes_over():
    def f(a, b):
        return minimize(lambda x: fnp.cosh(a) * x**2 - b * x, 1.0)

    def reference(a, b):
        return b / (2 * fnp.cosh(a))

    for transform in [lambda f: f, fg.jit]:
        found = transform(fg.grad(f, (0, 1)))(0.3, 2.0)
        assert found == pytest.approx(fg.grad(reference, (0, 1))(0.3, 2.0))
    second = fg.grad(fg.grad(f), 1)(0.3, 2.0)
    assert second == pytest.approx(fg.grad(fg.grad(reference), 1)(0.3, 2.0))


def test_only_traced_arrays_with_derivatives_are_taken_out():
    converted, found = closure_convert(lambda x: {"y": x[0] * A + 2.0}, (1.0, 2))
    assert found == []
    np.testing.assert_allclose(converted((2.0, 2))["y"], 2 * A + 2)

    def f(a, n):
        converted, found = closure_convert(lambda x: a * x * n, 1.0)
        assert all(x.dtype == np.float64 for x in found)
        return converted(3.0, *found)

    assert fg.grad(f)(2.0, 5) == 15.0
    assert fg.jit(fg.grad(f))(2.0, 5) == 15.0


def test_closure_convert_errors():
    converted, _ = closure_convert(fnp.sin, A)
    with pytest.raises(TypeError, match=r"takes 1 arguments and then the 0 arrays.*got 2 in all"):
        converted(A, A)
    with pytest.raises(
        TypeError, match=r"was converted for arguments of .*float64\[3\].*float64\[2\]"
    ):
        converted(A[:2])
    with pytest.raises(fg.ConcretizationError, match="closure_convert"):
        closure_convert(lambda x: x if x > 0 else -x, 1.0)
    with pytest.raises(TypeError, match="closure_convert takes a function"):
        closure_convert(3)


# custom_gradient


@custom_gradient
def product(x, y):
    common = fnp.exp(y)
    return x * common, lambda g: (g * common, g * x * common)


@custom_gradient
def of_tree(tree):
    s = fnp.sin(tree["a"])
    return (s, tree["a"] * 2), lambda g: {"a": g[0] * fnp.cos(tree["a"]) + 2 * g[1]}


def test_custom_gradient():
    def plain(x, y):
        return x * fnp.exp(y)

    for transform in [
        lambda f: f,
        lambda f: fg.grad(f, (0, 1)),
        lambda f: fg.grad(fg.grad(f, 1), (0, 1)),
        lambda f: fg.jit(fg.grad(fg.jit(f), (0, 1))),
        lambda f: fg.jit(fg.grad(fg.grad(f, 1), (0, 1))),
    ]:
        for of in (transform, lambda f: fg.vmap(transform(f), (0, None))):  # noqa: B023
            x = A if of is not transform else 0.7
            np.testing.assert_allclose(of(product)(x, 0.4), of(plain)(x, 0.4))
    loss = lambda f: lambda x: fg.vmap(f, (0, None))(A * x, x).sum()
    assert fg.grad(loss(product))(0.3) == pytest.approx(fg.grad(loss(plain))(0.3))
    gradient = fg.grad(lambda a: sum(x.sum() for x in of_tree({"a": a})))
    np.testing.assert_allclose(gradient(A), np.cos(A) + 2)
    np.testing.assert_allclose(fg.jit(gradient)(A), np.cos(A) + 2)


def test_custom_gradient_may_look_at_values():
    f = custom_gradient(lambda x: (x, lambda g: 2 * g) if x > 0 else (-x, lambda g: -3 * g))
    assert fg.grad(f)(1.0) == 2.0
    assert fg.grad(f)(-1.0) == -3.0


def test_custom_gradient_errors():
    with pytest.raises(TypeError, match="must return a pair of its result and a function"):
        custom_gradient(lambda x: x)(1.0)
    f = custom_gradient(lambda x: (x, lambda g: (g, g)))
    with pytest.raises(TypeError, match="a cotangent for each of the 1 arguments"):
        fg.grad(f)(1.0)
    with pytest.raises(TypeError, match="custom_gradient takes a function"):
        custom_gradient(3)


# linear_call


def quotient(x, r):
    return linear_call(lambda r, x: {"y": x / r}, lambda r, ct: ct["y"] / r, r, x)["y"]


def test_linear_call():
    check_agreement(quotient, lambda x, r: x / r, (A, A + 5))


def test_the_transpose_is_what_is_used():
    def f(x):
        return linear_call(lambda _, x: x * A, lambda _, ct: 7.0 * ct.sum(), None, x)

    def transpose(function, x):
        return lambda ct: fg.linear_transpose(function, x)(ct)[0]

    assert transpose(f, 1.0)(A) == pytest.approx(7 * A.sum())
    assert fg.grad(lambda x: f(x).sum())(1.0) == 21.0
    assert fg.jit(fg.grad(lambda x: f(x).sum()))(1.0) == 21.0
    np.testing.assert_allclose(transpose(transpose(f, 1.0), A)(1.0), A)
    np.testing.assert_allclose(fg.jvp(f, (2.0,), (1.0,))[1], A)
    batch = fg.grad(lambda x: fg.vmap(f)(x).sum())
    np.testing.assert_allclose(batch(A), np.full(3, 21.0))


def test_linear_call_errors():
    with pytest.raises(TypeError, match=r"fun_transpose of linear_call.*types float64\[3\]"):
        linear_call(lambda _, x: x, lambda _, ct: ct.sum(), None, A)
