"""Programs x transforms: every composition against loops, central differences or another composition."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import tree
from fungrad.core.config import checking, setting
from fungrad.core.evaluate import evaluate
from tests.check import difference, pairing
from tests.samples.row import complexes, reals

MATRIX, VECTOR = reals(3, 4, seed=11), reals(4, seed=12)


@dataclasses.dataclass(frozen=True)
class Program:
    """A function of one argument, a tree of float64 arrays; `branches` if it asks for values."""

    f: Callable[[Any], Any]
    x: Any
    branches: bool = False


class Layer(NamedTuple):
    w: Any
    b: Any


def mlp(params):
    h = VECTOR
    for layer in params[:-1]:
        h = fnp.tanh(h @ layer.w + layer.b)
    return h @ params[-1].w + params[-1].b


def logsumexp(x):
    top = fnp.max(x)
    return top + fnp.log(fnp.sum(fnp.exp(x - top)))


def softmax(x):
    e = fnp.exp(x - fnp.max(x, axis=-1, keepdims=True))
    return e / fnp.sum(e, axis=-1, keepdims=True)


@fg.jit
def jitted(x, y):
    return fnp.sin(x) * y, fnp.sum(x)


def nested_jit(x):
    a, b = jitted(x, x * 2)
    c, d = jitted(a, b)
    return fg.jit(lambda z: fnp.cos(z) * c * d)(a)


def loop(x):
    for i in range(5):
        x = fnp.sin(x) * (i + 1) + x
    return x


def branch(x):
    if fnp.sum(x) > 1.0:
        return fnp.sum(x * x * x)
    return -fnp.sum(x)


def while_loop(x):
    y = fnp.sum(x)
    while y < 50.0:
        y = y * y + 1.0
    return y * x


def mask(x):
    return fnp.exp(x[x > 0.6])


def float_of(x):
    return fnp.sum(x) ** 3 * (1.0 if float(x[0]) > 0 else 2.0) + x[int(x[1] * 2)] ** 3


def newton(x):
    # The square root of the sum, and its derivative through the iterations that were needed.
    target = fnp.sum(x)
    y = target
    while abs(y * y - target) > 1e-14 * target:
        y = 0.5 * (y + target / y)
    return y


def in_place_style(x):
    y = fnp.zeros(4)
    total = 0.0
    for i in range(3):
        y = y + x * i
        total = total + y[i]
    return total * x


def derivative_inside(x):
    return fg.grad(lambda y: fnp.sum(fnp.sin(x * y)))(x * 2.0)


def batch_inside(x):
    return fg.vmap(lambda a: fnp.sum(fnp.sin(a * x)))(fnp.stack([x, x * x]))


def linear_solve_by_hand(x):
    a = fnp.reshape(x, (2, 2)) + 3.0 * fnp.eye(2)
    det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    return fnp.stack([a[1, 1] - a[0, 1], a[0, 0] - a[1, 0]]) / det


X4, X23 = reals(4), reals(2, 3)

PROGRAMS = {
    "polynomial": Program(lambda x: 3.0 * x**3 - x**2 / 2 + 2 * x - 1, X4),
    "sin x x, summed": Program(lambda x: fnp.sum(fnp.sin(x) * x), X4),
    "of a 0-d array": Program(lambda x: fnp.exp(fnp.sin(x)) / x, np.array(0.7)),
    "division and powers": Program(lambda x: (1 + x) ** 0.5 / (2 - x) ** x, X4),
    "matrix products": Program(lambda x: (MATRIX @ x) @ (MATRIX @ (x * x)), X4),
    "mlp": Program(
        mlp,
        [
            Layer(reals(4, 3, seed=1), reals(3, seed=2)),
            Layer(reals(3, 2, seed=3), reals(2, seed=4)),
        ],
    ),
    "logsumexp": Program(logsumexp, X4),
    "softmax": Program(softmax, X23),
    "cumulative sum": Program(lambda x: fnp.cumsum(x, axis=1) ** 3, X23),
    "cumulative product": Program(lambda x: fnp.cumprod(x, axis=0), X23),
    "sort": Program(lambda x: fnp.sort(x)[..., ::-1] * fnp.arange(1.0, 4.0) * x, X23),
    "minimum and maximum": Program(lambda x: fnp.max(x * x, axis=0) * fnp.min(x) ** 2, X23),
    "basic indexing": Program(lambda x: x[0, 1:] * x[1, ::-2] * x[..., :2, None][1, 0], X23),
    "advanced indexing": Program(lambda x: x[[0, 1, 1, -1], [2, 0, 0, 1]] ** 3, X23),
    "where": Program(lambda x: fnp.where(x > 0.6, fnp.sin(x) * x, x**3), X23),
    "product": Program(lambda x: fnp.prod(x, axis=1), X23),
    "complex absolute value": Program(lambda x: fnp.abs(fnp.exp(1j * x) + x * (2 - 1j)), X4),
    "complex parts": Program(
        lambda x: fnp.real((x + 1j) ** 3) * fnp.imag(fnp.conj(x * 2j) * x), X4
    ),
    "norm": Program(lambda x: fnp.sqrt(fnp.sum(x * x)), X23),
    "closure over an array": Program(lambda x: fnp.sum(MATRIX * x * fnp.sin(x), axis=1), X4),
    "pytrees": Program(
        lambda p: {
            "out": (p["a"] * fnp.sin(p["b"][0]), p["b"][1] ** 2 * fnp.sum(p["a"])),
            "none": None,
        },
        {"a": X4, "b": (reals(4, seed=5), np.array(0.4))},
    ),
    "nested jit": Program(nested_jit, X4),
    "weak scalars": Program(lambda x: 2 * x + 1 - (3 - x) / 2**2 * x - True * x**2.5, X4),
    "python loop": Program(loop, X4),
    "concatenate and stack": Program(
        lambda x: fnp.concatenate([x, x * x, fnp.stack([x[0], x[1] ** 3])]) * 2, X4
    ),
    "broadcasting": Program(lambda x: fnp.sin(x[:, None] * x[None, :]) * x, X4),
    "transposes": Program(lambda x: fnp.swapaxes(x, 0, 1) @ x + x.T.reshape(3, 2)[0, 1] ** 2, X23),
    "mean and variance": Program(
        lambda x: (x - fnp.mean(x)) / (fnp.mean((x - fnp.mean(x)) ** 2) + 1), X4
    ),
    "float32 on the way": Program(
        lambda x: fnp.sum(x * fnp.asarray(MATRIX[0], fnp.float32)) ** 3, X4
    ),
    "constant": Program(lambda x: fnp.ones(3) * 2.0, X4),
    "constant in part": Program(lambda x: (x**3, fnp.arange(2.0), 1.0), X4),
    "identity": Program(lambda x: x, X4),
    "no elements": Program(lambda x: fnp.sum(fnp.exp(x)) + x, reals(0)),
    "updates by addition": Program(in_place_style, X4),
    "derivative inside": Program(derivative_inside, X4),
    "batch inside": Program(batch_inside, X4),
    "linear solve": Program(linear_solve_by_hand, X4),
    "branch": Program(branch, X4, branches=True),
    "while": Program(while_loop, X4, branches=True),
    "boolean mask": Program(mask, X4, branches=True),
    "float and int": Program(float_of, X4, branches=True),
    "newton": Program(newton, X4, branches=True),
}

# Functions of trees


def leaves(x):
    return tuple(tree.leaves(x))


def direction(x, seed):
    rng = np.random.default_rng(seed)
    return tree.map(lambda leaf: np.asarray(rng.uniform(-1, 1, np.shape(leaf))), x)


def flat(f, x):
    """Return `f` as a function of leaves that gives a tuple of leaves."""
    structure = tree.structure(x)
    return lambda *xs: tuple(map(np.asarray, leaves(f(tree.unflatten(structure, xs)))))


def numeric(f, x, t):
    """Return the leaves of the derivative of `f` at `x` along `t`, by central differences."""
    return difference(flat(f, x), leaves(x), leaves(t))


def scalar(p):
    """Return the program as a function with a scalar result: the sum with fixed weights."""

    def weighted(x):
        total = 0.0
        for i, y in enumerate(tree.leaves(p.f(x))):
            weights = np.cos(np.arange(float(np.prod(np.shape(y)))) + i).reshape(np.shape(y))
            total = total + fnp.sum(y * weights)
        return total

    return weighted


def along(f, v):
    """Return the function <grad f, v>."""

    def slope(x):
        g = leaves(fg.grad(f)(x))
        return sum((fnp.sum(a * b) for a, b in zip(g, leaves(v), strict=True)), 0.0)

    return slope


def batch(x, n=3):
    """Return `n` arguments and their stack."""
    each = [tree.map(lambda leaf, k=k: np.asarray(leaf * (1 - 0.02 * k)), x) for k in range(n)]
    return each, tree.map(lambda *xs: np.stack(xs), *each)


def stacked(results):
    return tree.map(lambda *xs: np.stack(xs), *results)


def assert_same(found, expected, rtol=1e-12, atol=1e-13):
    """Equal trees of equal shapes, of arrays and scalars (never tracers), close in value."""
    assert tree.structure(found) == tree.structure(expected)
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert isinstance(a, (np.ndarray, np.generic)), type(a)
        assert (a.shape, a.dtype) == (np.shape(b), np.asarray(b).dtype)
        scale = max(1.0, float(np.max(np.abs(b), initial=0)))
        np.testing.assert_allclose(a, b, rtol, atol * scale)


def assert_close(found, expected):
    """Equal up to the error of central differences."""
    found, expected = leaves(found), leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        scale = max(1.0, float(np.max(np.abs(b), initial=0)))
        np.testing.assert_allclose(a, b, 1e-6, 1e-7 * scale)


# The transforms

TRANSFORMS: dict[str, Callable[[Program], None]] = {}
ABSTRACT = set()
"""Those under which no value can be asked for."""


def transform(name, abstract=False):
    """Enter a check in the table."""

    def enter(function):
        TRANSFORMS[name] = function
        if abstract:
            ABSTRACT.add(name)
        return function

    return enter


@transform("id", abstract=True)
def identity(p):
    expr = fg.make_expr(p.f)(p.x).check()
    assert_same(tuple(evaluate(expr, leaves(p.x))), tuple(map(np.asarray, leaves(p.f(p.x)))))


@transform("jit", abstract=True)
def jit(p):
    f = fg.jit(p.f)
    for _ in range(2):
        assert_same(tree.map(np.asarray, f(p.x)), tree.map(np.asarray, p.f(p.x)))


@transform("jit.jit", abstract=True)
def jit_jit(p):
    assert_same(tree.map(np.asarray, fg.jit(fg.jit(p.f))(p.x)), tree.map(np.asarray, p.f(p.x)))


@transform("vmap", abstract=True)
def vmap(p):
    each, x = batch(p.x)
    assert_same(fg.vmap(p.f)(x), stacked([p.f(e) for e in each]))


@transform("vmap.vmap", abstract=True)
def vmap_vmap(p):
    each, x = batch(p.x)
    twice = tree.map(lambda leaf: np.stack([leaf, leaf * 0.9], -1), x)
    found = fg.vmap(fg.vmap(p.f), in_axes=-1, out_axes=-1)(twice)
    expected = [stacked([p.f(tree.map(lambda a, s=s: a * s, e)) for e in each]) for s in (1.0, 0.9)]
    last = tree.map(lambda *ys: np.stack(ys, -1), *expected)
    assert_same(found, last)


@transform("jit.vmap", abstract=True)
def jit_vmap(p):
    each, x = batch(p.x)
    assert_same(fg.jit(fg.vmap(p.f))(x), stacked([p.f(e) for e in each]))


@transform("vmap.jit", abstract=True)
def vmap_jit(p):
    each, x = batch(p.x)
    assert_same(fg.vmap(fg.jit(p.f))(x), stacked([p.f(e) for e in each]))


@transform("jvp")
def jvp(p):
    t = direction(p.x, 1)
    value, tangent = fg.jvp(p.f, (p.x,), (t,))
    assert_same(tree.map(np.asarray, value), tree.map(np.asarray, p.f(p.x)))
    assert_close(tangent, numeric(p.f, p.x, t))


@transform("jvp.jit", abstract=True)
def jvp_jit(p):
    t = direction(p.x, 1)
    assert_same(fg.jvp(fg.jit(p.f), (p.x,), (t,)), fg.jvp(p.f, (p.x,), (t,)))


@transform("vmap.jvp", abstract=True)
def vmap_jvp(p):
    each, x = batch(p.x)
    t = direction(p.x, 1)
    push = lambda x: fg.jvp(p.f, (x,), (t,))[1]
    assert_same(fg.vmap(push)(x), stacked([push(e) for e in each]))


@transform("linearize")
def linearize(p):
    value, push = fg.linearize(p.f, p.x)
    for seed in (1, 2):
        t = direction(p.x, seed)
        assert_same((value, push(t)), fg.jvp(p.f, (p.x,), (t,)))


@transform("vjp")
def vjp(p):
    t = direction(p.x, 1)
    value, pull = fg.vjp(p.f, p.x)
    ct = direction(value, 2)
    _, tangent = fg.jvp(p.f, (p.x,), (t,))
    (pulled,) = pull(ct)
    assert pairing(leaves(ct), leaves(tangent)) == pytest.approx(
        pairing(leaves(pulled), leaves(t)), rel=1e-10, abs=1e-12
    )


@transform("grad")
def grad(p):
    f, t = scalar(p), direction(p.x, 1)
    gradient = fg.grad(f)(p.x)
    assert tree.structure(gradient) == tree.structure(p.x)
    assert_close(pairing(leaves(gradient), leaves(t)), numeric(f, p.x, t)[0])
    value, again = fg.value_and_grad(f)(p.x)
    assert_same(again, gradient)
    assert_same(value, f(p.x))


@transform("jit.grad", abstract=True)
def jit_grad(p):
    assert_same(fg.jit(fg.grad(scalar(p)))(p.x), fg.grad(scalar(p))(p.x))


@transform("grad.jit", abstract=True)
def grad_jit(p):
    assert_same(fg.grad(fg.jit(scalar(p)))(p.x), fg.grad(scalar(p))(p.x))


@transform("vmap.grad", abstract=True)
def vmap_grad(p):
    each, x = batch(p.x)
    g = fg.grad(scalar(p))
    assert_same(fg.vmap(g)(x), stacked([g(e) for e in each]))


@transform("grad.vmap", abstract=True)
def grad_vmap(p):
    each, x = batch(p.x)
    f = scalar(p)
    weights = np.array([1.0, -2.0, 0.5])
    found = fg.grad(lambda x: fnp.sum(fg.vmap(f)(x) * weights))(x)
    expected = [
        tree.map(lambda g, w=w: g * w, fg.grad(f)(e)) for e, w in zip(each, weights, strict=True)
    ]
    assert_same(found, stacked(expected))


@transform("jit.vmap.grad", abstract=True)
def jit_vmap_grad(p):
    _, x = batch(p.x)
    g = fg.vmap(fg.grad(scalar(p)))
    assert_same(fg.jit(g)(x), g(x))


@transform("vmap.jit.grad", abstract=True)
def vmap_jit_grad(p):
    _, x = batch(p.x)
    g = fg.grad(scalar(p))
    assert_same(fg.vmap(fg.jit(g))(x), fg.vmap(g)(x))


@transform("jvp.grad")
def jvp_grad(p):
    f, t = scalar(p), direction(p.x, 1)
    gradient, tangent = fg.jvp(fg.grad(f), (p.x,), (t,))
    assert_same(gradient, fg.grad(f)(p.x))
    assert_close(tangent, numeric(fg.grad(f), p.x, t))
    assert_same(fg.hvp(f)(p.x, t), tangent, 1e-11)


@transform("grad.jvp")
def grad_jvp(p):
    f, t = scalar(p), direction(p.x, 1)
    found = fg.grad(lambda x: fg.jvp(f, (x,), (t,))[1])(p.x)
    assert_same(found, fg.hvp(f)(p.x, t), 1e-10, 1e-11)


@transform("grad.grad")
def grad_grad(p):
    f, t = scalar(p), direction(p.x, 1)
    assert_same(fg.grad(along(f, t))(p.x), fg.hvp(f)(p.x, t), 1e-10, 1e-11)


@transform("jit.grad.grad", abstract=True)
def jit_grad_grad(p):
    f = along(scalar(p), direction(p.x, 1))
    assert_same(fg.jit(fg.grad(f))(p.x), fg.grad(f)(p.x), 1e-11)


@transform("grad.jit.grad.jit", abstract=True)
def grad_jit_grad_jit(p):
    f, t = scalar(p), direction(p.x, 1)
    found = fg.grad(fg.jit(along(fg.jit(f), t)))(p.x)
    assert_same(found, fg.grad(along(f, t))(p.x), 1e-11, 1e-12)


@transform("vmap.grad.grad", abstract=True)
def vmap_grad_grad(p):
    each, x = batch(p.x)
    g = fg.grad(along(scalar(p), direction(p.x, 1)))
    assert_same(fg.vmap(g)(x), stacked([g(e) for e in each]), 1e-11)


@transform("hessian")
def hessian(p):
    f, t = scalar(p), direction(p.x, 1)
    h = fg.hessian(f)(p.x)
    row_of = lambda row: sum(
        np.tensordot(block, u, np.ndim(u)) for block, u in zip(leaves(row), leaves(t), strict=True)
    )
    structure = tree.structure(p.x)
    found = [np.asarray(row_of(row)) for row in structure.flatten_up_to(h)]
    assert_close(found, fg.hvp(f)(p.x, t))


@transform("jacfwd and jacrev")
def jacobians(p):
    assert_same(fg.jacfwd(p.f)(p.x), fg.jacrev(p.f)(p.x), 1e-11)


@transform("jit.hessian", abstract=True)
def jit_hessian(p):
    assert_same(fg.jit(fg.hessian(scalar(p)))(p.x), fg.hessian(scalar(p))(p.x), 1e-11)


@transform("vmap.jacfwd", abstract=True)
def vmap_jacfwd(p):
    each, x = batch(p.x)
    assert_same(fg.vmap(fg.jacfwd(p.f))(x), stacked([fg.jacfwd(p.f)(e) for e in each]))


@transform("grad.grad.grad")
def grad_grad_grad(p):
    f, t, u = scalar(p), direction(p.x, 1), direction(p.x, 2)
    second = along(along(f, t), u)
    v = direction(p.x, 3)
    found = pairing(leaves(fg.grad(second)(p.x)), leaves(v))
    assert_close(found, numeric(second, p.x, v)[0])
    # Forward mode three times gives the same number.
    push = lambda f, v: lambda x: fg.jvp(f, (x,), (v,))[1]
    third = push(push(push(f, t), u), v)(p.x)
    np.testing.assert_allclose(found, third, 1e-9, 1e-10)


@transform("jit.vmap.grad.jit", abstract=True)
def jit_vmap_grad_jit(p):
    _, x = batch(p.x)
    f = scalar(p)
    assert_same(fg.jit(fg.vmap(fg.grad(fg.jit(f))))(x), fg.vmap(fg.grad(f))(x))


@transform("vjp of vjp")
def vjp_of_vjp(p):
    value, _ = fg.vjp(p.f, p.x)
    ct, u = direction(value, 2), direction(p.x, 3)
    pull = lambda x, ct: fg.vjp(p.f, x)[1](ct)[0]
    _, again = fg.vjp(pull, p.x, ct)
    of_x, of_ct = again(u)
    # The derivative by ct of a pullback is the push-forward.
    assert_same(of_ct, fg.jvp(p.f, (p.x,), (u,))[1], 1e-11)
    dot = lambda x: sum(
        (fnp.sum(a * b) for a, b in zip(leaves(pull(x, ct)), leaves(u), strict=True)), 0.0
    )
    assert_same(of_x, fg.grad(dot)(p.x), 1e-11)


REFUSED = {
    ("id", "boolean mask"): (fg.ConcretizationError, r"mask\): return"),  # of types alone
    ("vmap.vmap", "boolean mask"): (
        ValueError,
        "calls 0 and 2 give results that cannot be stacked",
    ),
}
"""Compositions without a result: there are no values, or the calls give results of several shapes."""


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_composition(program, name):
    p = PROGRAMS[program]
    refusal = REFUSED.get((name, program))
    with checking():
        if refusal is None:
            TRANSFORMS[name](p)
        else:
            with pytest.raises(refusal[0], match=refusal[1]):
                TRANSFORMS[name](p)
        if p.branches and name in ABSTRACT:
            with setting(reading=False), pytest.raises(fg.ConcretizationError) as error:
                TRANSFORMS[name](p)
            assert str(error.value).startswith("at test_compositions.py:")


def test_the_table_is_big():
    assert len(PROGRAMS) >= 20
    assert len(TRANSFORMS) >= 20


def test_a_second_call_compares_as_well():
    """Programs are evaluated at their first call and compiled at their second."""
    for p in PROGRAMS.values():
        f = fg.grad(scalar(p))
        first = f(p.x)
        for _ in range(2):
            assert_same(f(p.x), first)


def test_complex_arguments():
    z = complexes(3)
    f = lambda z: fnp.sum(fnp.abs(z * z + 1) ** 2) + fnp.sum(fnp.imag(z))
    t = complexes(3, seed=4)
    found = pairing([fg.grad(f)(z)], [t])
    assert_close(found, difference(lambda z: (f(z),), (z,), (t,))[0])
    assert_same(fg.jit(fg.grad(f))(z), fg.grad(f)(z))
    assert_same(
        fg.vmap(fg.grad(f))(np.stack([z, 2 * z])), np.stack([fg.grad(f)(z), fg.grad(f)(2 * z)])
    )
    holomorphic = fg.grad(lambda z: z * z * z, holomorphic=True)
    assert_same(fg.vmap(holomorphic)(z), 3 * z * z)


# Perturbation confusion: which derivative belongs to which variable

EXACT: dict[str, tuple[Callable[[], Any], float]] = {
    # d/dx [x d/dy (x + y)] = 1 (Siskind & Pearlmutter 2005)
    "siskind": (lambda: fg.grad(lambda x: x * fg.grad(lambda y: x + y)(1.0))(1.0), 1.0),
    "forward siskind": (lambda: D(lambda x: x * D(lambda y: x + y)(1.0))(1.0), 1.0),
    "forward in reverse": (lambda: fg.grad(lambda x: x * D(lambda y: x + y)(1.0))(1.0), 1.0),
    "reverse in forward": (lambda: D(lambda x: x * fg.grad(lambda y: x + y)(1.0))(1.0), 1.0),
    # d/dx [x d/dy (x y)] = 2x
    "product": (lambda: fg.grad(lambda x: x * fg.grad(lambda y: x * y)(2.0))(3.0), 6.0),
    "forward product": (lambda: D(lambda x: x * D(lambda y: x * y)(2.0))(3.0), 6.0),
    # d/dx of d/dy (x^2 y^3) at y = x is 3 x^2 y^2 with y = x: 12 x^3
    "at the outer value": (
        lambda: fg.grad(lambda x: fg.grad(lambda y: x * x * y * y * y)(x))(2.0),
        96.0,
    ),
    "an inner function that ignores its argument": (
        lambda: fg.grad(lambda x: fg.grad(lambda y: x * x)(1.0) + x)(3.0),
        1.0,
    ),
    "an outer variable alone inside": (
        lambda: fg.grad(lambda x: fg.grad(lambda y: y * x * x)(1.0))(3.0),
        6.0,
    ),
    "three levels": (
        lambda: fg.grad(lambda x: fg.grad(lambda y: fg.grad(lambda z: x * y * z * z)(y))(x))(2.0),
        16.0,  # d/dz at z = y: 2 x y^2; d/dy at y = x: 4 x^2; then 8 x
    ),
    # f(x) = d/dy [y d/dz (x y z)] = d/dy [x y^2] = 2 x y at y = 3
    "three levels, constants": (
        lambda: fg.grad(lambda x: fg.grad(lambda y: y * fg.grad(lambda z: x * y * z)(5.0))(3.0))(
            7.0
        ),
        6.0,
    ),
    "third derivative": (lambda: fg.grad(fg.grad(fg.grad(lambda x: x**4)))(2.0), 48.0),
    "third derivative, forward": (lambda: D(D(D(lambda x: x**4)))(2.0), 48.0),
    "third derivative, mixed": (lambda: fg.grad(D(fg.grad(lambda x: x**4)))(2.0), 48.0),
    "fifth derivative": (
        lambda: fg.grad(D(fg.jit(fg.grad(fg.grad(D(lambda x: x * x * x * x * x))))))(2.0),
        120.0,
    ),
    "mixed partials": (lambda: fg.grad(fg.grad(lambda x, y: x**2 * y**3), 1)(2.0, 3.0), 108.0),
    "mixed partials, other order": (
        lambda: fg.grad(fg.grad(lambda x, y: x**2 * y**3, 1))(2.0, 3.0),
        108.0,
    ),
    "jit between": (
        lambda: fg.grad(lambda x: x * fg.jit(fg.grad(lambda y: x + y))(1.0))(1.0),
        1.0,
    ),
    "jit around": (lambda: fg.jit(fg.grad(lambda x: x * fg.grad(lambda y: x * y)(2.0)))(3.0), 6.0),
    "jit inside": (
        lambda: fg.grad(lambda x: x * fg.grad(fg.jit(lambda y: x * y * y))(2.0))(3.0),
        24.0,
    ),
    "vmap between": (
        lambda: fg.grad(
            lambda x: fnp.sum(fg.vmap(fg.grad(lambda y: x * x * y * y))(np.array([1.0, 2.0])))
        )(3.0),
        36.0,  # sum of 2 x^2 y: 6 x^2 -> 12 x
    ),
    "vmap over the outer variable": (
        lambda: fnp.sum(
            fg.vmap(fg.grad(lambda x: x * fg.grad(lambda y: x * y)(2.0)))(np.array([1.0, 2.0]))
        ),
        6.0,
    ),
    "grad inside jit inside vmap": (
        lambda: fg.grad(
            lambda x: fnp.sum(
                fg.vmap(lambda a: fg.jit(lambda b: fg.grad(lambda c: a * b * c * c * x)(x))(a))(
                    np.array([1.0, 2.0])
                )
            )
        )(3.0),
        60.0,  # 2 a^2 x^2 summed: 10 x^2 -> 20 x
    ),
    "closures over all levels": (
        lambda: fg.grad(
            lambda x: fg.jit(
                lambda y: fg.grad(lambda z: fnp.sum(fg.vmap(lambda w: w * x * y * z)(np.ones(2))))(
                    x
                )
            )(x)
        )(3.0),
        12.0,  # 2 x y at y = x, by both: 4 x
    ),
    "linearize inside": (
        lambda: fg.grad(lambda x: x * fg.linearize(lambda y: x * y, 2.0)[1](1.0))(3.0),
        6.0,
    ),
    "vjp inside": (
        lambda: fg.grad(lambda x: x * fg.vjp(lambda y: x * y, 2.0)[1](x)[0])(3.0),
        27.0,  # x^3
    ),
    "a pullback called outside": (
        lambda: fg.grad(lambda x: fg.vjp(lambda y: y * y * x, x)[1](1.0)[0])(3.0),
        12.0,  # 2 x^2
    ),
    "linear_transpose inside": (
        lambda: fg.grad(lambda x: fg.linear_transpose(lambda y: x * y, 1.0)(x)[0])(3.0),
        6.0,
    ),
    "hessian of a function that differentiates": (
        lambda: fg.hessian(lambda x: fg.grad(lambda y: x * y * y * y)(x))(2.0),
        36.0,  # 3 x^3 -> 18 x
    ),
    "the same function at two levels": (
        lambda: fg.grad(lambda x: G(lambda y: G(lambda z: x * y * z)(x * y))(x))(2.0),
        1.0,  # d/dz (x y z) = x y; d/dy (x y) = x
    ),
    "value that decides inside": (
        lambda: fg.grad(lambda x: fg.grad(lambda y: y * x if y > 0 and x > 1 else y)(2.0) * x)(3.0),
        6.0,
    ),
    "a value asked of the outer while the inner records": (
        lambda: fg.grad(lambda x: fg.grad(lambda y: y * y * (x if float(x) > 0 else 1.0))(x))(3.0),
        12.0,
    ),
    "stopped": (
        lambda: fg.grad(lambda x: x * fg.grad(lambda y: y * STOP(x) * x)(2.0))(3.0),
        18.0,  # x * s * x with s = 3: 2 x s
    ),
}


def D(f):
    """The derivative in forward mode."""
    return lambda x: fg.jvp(f, (x,), (1.0,))[1]


G = fg.grad


def STOP(x):
    from fungrad.primitives.elementwise import stop_gradient

    return stop_gradient(x)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("wrap", ["", "jit", "vmap"])
def test_perturbation_confusion(name, wrap):
    run, expected = EXACT[name]
    with checking():
        if wrap == "jit":  # a trace around that none of it depends on
            found = fg.jit(lambda one: run() * one)(1.0)
        elif wrap == "vmap":
            found = fg.vmap(lambda one: run() * one)(np.ones(2))[1]
        else:
            found = run()
    assert float(found) == expected


def test_a_gradient_in_a_loop_of_gradients():
    """Gradient descent inside, differentiated by its step length: exact for quadratics."""

    def train(rate):
        x = 1.0
        for _ in range(3):
            x = x - rate * fg.grad(lambda y: y * y / 2.0)(x)
        return x

    # (1 - r)^3
    assert float(fg.grad(train)(0.5)) == -0.75
    assert float(fg.grad(fg.grad(train))(0.5)) == 3.0
    assert float(fg.jit(fg.grad(train))(0.5)) == -0.75
    np.testing.assert_array_equal(fg.vmap(fg.grad(train))(np.array([0.5, 0.0])), [-0.75, -3.0])


def test_tracers_of_outer_levels_are_no_constants():
    """A jitted function that closes over tracers is traced anew for each."""
    scales = []

    def f(x):
        g = fg.jit(lambda y: y * x)
        scales.append(1)
        return g(2.0) * x

    assert float(fg.grad(f)(3.0)) == 12.0
    assert float(fg.grad(f)(5.0)) == 20.0
    np.testing.assert_array_equal(fg.vmap(fg.grad(f))(np.array([3.0, 5.0])), [12.0, 20.0])
    assert len(scales) == 3


def test_integer_and_boolean_values_on_the_way():
    def f(x):
        order = fnp.argsort(x)
        big = x > 0.5
        return fnp.sum(x[order] * fnp.arange(4.0) * fnp.where(big, 2.0, 1.0)[order])

    t = direction(X4, 1)
    assert_close(pairing([fg.grad(f)(X4)], [t]), numeric(f, X4, t)[0])
    assert_same(fg.jit(fg.grad(f))(X4), fg.grad(f)(X4))
    each, x = batch(X4)
    assert_same(fg.vmap(fg.grad(f))(x), stacked([fg.grad(f)(e) for e in each]))
