"""What branches, and bodies of loops that may make no step, compute: nothing before they run, of whatever it is."""

import math

import numpy as np
import pytest
import scipy.linalg

import fungrad as fg
import fungrad.numpy as fnp
import fungrad.scipy.linalg as fla
from fungrad import lax

BAD = -np.eye(2)
ZERO = np.zeros(3)

calls = []


def called(x):
    calls.append(x)
    return x


ruled = fg.custom_jvp(lambda x: fnp.log(x))
ruled.defjvp(lambda p, t: (ruled(*p), t[0] / p[0]))

SHAPE = fg.ShapeDtypeStruct((), float)

FAILING = {
    "cholesky": lambda x: x + fnp.linalg.cholesky(BAD)[0, 0],
    "list": lambda x: x + fnp.linalg.cholesky([[-1.0, 0.0], [0.0, 1.0]])[0, 0],
    "scipy": lambda x: x + fla.cholesky(BAD)[0, 0],
    "inverse": lambda x: x + fnp.linalg.inv(np.zeros((2, 2))).sum(),
    "ufunc": lambda x: x + fnp.log(ZERO).sum(),
    "number": lambda x: x + fnp.sqrt(-1.0),
    "reduction": lambda x: x + fnp.mean(np.zeros(0)),
    "lax": lambda x: x + lax.log(ZERO).sum(),
    "two constants": lambda x: x + fnp.divide(1.0, ZERO)[0],
    "jitted": lambda x: x + fg.jit(lambda a: fnp.log(a).sum())(ZERO),
    "jitted with it inside": lambda x: fg.jit(lambda y: y + fnp.log(ZERO).sum())(x),
    "gradient": lambda x: x + fg.grad(lambda y: y * fnp.log(ZERO).sum())(x),
    "gradient of a constant": lambda x: x + fg.grad(fnp.log)(0.0),
    "derivative of a constant": lambda x: x + fg.jvp(fnp.log, (0.0,), (1.0,))[1],
    "batch of constants": lambda x: x + fg.vmap(fnp.log)(ZERO).sum(),
    "rule of one's own": lambda x: x + ruled(0.0),
    "checkpoint": lambda x: x + fg.checkpoint(fnp.log)(0.0),
    "solution": lambda x: x + fnp.linalg.solve(np.zeros((2, 2)), np.ones(2))[0],
    "mapped": lambda x: x + fg.vmap(lambda y: y + fnp.log(ZERO).sum())(x * np.ones(2)).sum(),
    "a scan inside": lambda x: lax.scan(lambda c, _: (c + fnp.log(ZERO)[0], None), x, length=2)[0],
    "a constant scan inside": lambda x: x + lax.fori_loop(0, 2, lambda i, c: fnp.log(c - 1), 1.0),
    "a branch inside": lambda x: lax.cond(x > 5, lambda x: x, lambda x: x + fnp.log(ZERO)[0], x),
    "callback": lambda x: x + fg.pure_callback(called, SHAPE, 2.0),
    "callback without arguments": lambda x: x + fg.pure_callback(lambda: called(1.0), SHAPE),
}

NOT_TAKEN = {
    "cond": lambda f: lambda p, x: lax.cond(p < 0, f, lambda x: x, x),
    "switch": lambda f: lambda p, x: lax.switch(p.astype(int), [lambda x: x, f, f], x),
    "while_loop": lambda f: lambda p, x: lax.while_loop(lambda c: c < p - 9, f, x),
    "fori_loop": lambda f: lambda p, x: lax.fori_loop(0, p.astype(int), lambda i, c: f(c), x),
    "scan of no rows": lambda f: lambda p, x: lax.scan(lambda c, _: (f(c), None), x, length=0)[0],
    "in a loop": lambda f: (
        lambda p, x: lax.scan(lambda c, _: (lax.cond(p < 0, f, lambda x: x, c), None), x, length=2)[
            0
        ]
    ),
}


@pytest.mark.parametrize("construct", NOT_TAKEN)
@pytest.mark.parametrize("name", FAILING)
def test_what_is_computed_of_constants_belongs_to_the_branch(name, construct):
    f = NOT_TAKEN[construct](FAILING[name])
    calls.clear()
    for transform, given in (
        (fg.jit, 1.0),
        (lambda f: fg.jit(fg.vmap(f, (None, 0))), np.ones(3)),
        (lambda f: lambda *a: fg.jvp(fg.jit(f), a, (0.0, 1.0))[0], 1.0),
    ):
        if "callback" not in name or transform is fg.jit:  # it has neither derivatives nor batches
            np.testing.assert_array_equal(transform(f)(0.0, given), given)
    fg.make_expr(f)(0.0, 1.0)
    assert not calls


@pytest.mark.parametrize("construct", [name for name in NOT_TAKEN if "no rows" not in name])
def test_it_is_computed_where_the_branch_is_taken(construct):
    calls.clear()
    p = {"cond": -1.0, "while_loop": 11.0, "in a loop": -1.0}.get(construct, 1.0)
    f = fg.jit(NOT_TAKEN[construct](FAILING["callback"]))
    found = f(p, 1.0)
    assert (found, bool(calls)) == ({"in a loop": 5.0}.get(construct, 3.0), True)
    with pytest.raises(np.linalg.LinAlgError):
        fg.jit(NOT_TAKEN[construct](FAILING["cholesky"]))(p, 1.0)


def test_what_it_computes_of_closed_over_values_is_not_computed_without_a_step():
    def closing(x, y):
        by_while = lax.while_loop(lambda c: c < -1, lambda c: c + fnp.sqrt(x), y)
        return by_while, lax.scan(lambda c, r: (c + fnp.log(x) * r, c), y, fnp.zeros(0))[0]

    for transform in (
        fg.jit,
        lambda f: lambda x, y: fg.jvp(f, (x, y), (1.0, 1.0))[0],
        lambda f: lambda x, y: fg.jvp(fg.jit(f), (x, y), (1.0, 1.0))[0],
        lambda f: fg.jit(lambda x, y: fg.jvp(f, (x, y), (1.0, 1.0))[0]),
    ):
        assert transform(closing)(-1.0, 2.0) == (2.0, 2.0)
    scanned = lambda x, y: closing(x, y)[1]
    for transform in (lambda f: fg.grad(fg.jit(f), (0, 1)), lambda f: fg.jit(fg.grad(f, (0, 1)))):
        assert transform(scanned)(0.0, 2.0) == (0.0, 1.0)


def test_what_is_the_same_in_all_steps_of_a_while_loop_is_computed_once():
    counted = []

    def count(x):
        counted.append(1)
        return np.sin(x)

    def f(x, n):
        def step(c):
            i, y = c
            table = fg.pure_callback(count, fg.ShapeDtypeStruct((3,), float), x * np.ones(3))
            return i + 1, y * table[0] + table[1:].sum() * fnp.cos(x)

        return lax.while_loop(lambda c: c[0] < n, step, (0, x))[1]

    def plain(x, n):
        y = x
        for _ in range(n):
            y = y * np.sin(x) + 2 * np.sin(x) * np.cos(x)
        return y

    for n in (0, 1, 4):
        counted.clear()
        np.testing.assert_allclose(fg.jit(f)(0.7, n), plain(0.7, n))
        assert len(counted) == min(n, 1)
    g = fg.jit(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * fnp.sin(x) + fnp.sin(2 * x), x))
    h = 1e-6
    slope = fg.jvp(lambda x: g(x, 4), (0.7,), (1.0,))[1]
    np.testing.assert_allclose(slope, (plain(0.7 + h, 4) - plain(0.7 - h, 4)) / (2 * h), rtol=1e-7)
    xs = np.array([0.1, 0.7])
    np.testing.assert_allclose(fg.vmap(lambda x: g(x, 3))(xs), [plain(x, 3) for x in xs])


def test_constants_of_branches_have_values():
    table = np.array([0.0, 4.0, 9.0])

    def branch(x):
        roots = fnp.sqrt(table)
        n = int(fnp.max(roots))
        assert n == 3
        assert fnp.any(roots > 2)
        buffer = np.zeros(2)
        buffer[0] = roots[1]
        buffer[1:] = fnp.sum(roots)
        fnp.add(buffer, 1.0, out=buffer)
        matrix = scipy.linalg.toeplitz(roots)
        half = math.sqrt(fnp.sum(table)) + float(roots[1]) + roots[2].item() + roots.tolist()[1]
        picked = table[fnp.argsort(-table)] + [10.0, 20.0, 30.0][fnp.argmin(roots)]
        for i in range(fnp.count_nonzero(roots)):
            half += i
        assert fnp.concatenate([[1.0, 2.0], [3.0]]).shape == (3,)
        assert fnp.stack([roots, table]).sum() == fnp.block([[roots, table]]).sum()
        unique = fnp.unique(np.array([1.0, 1.0, 2.0]))
        parts = [half, matrix.sum(), picked.sum(), buffer.sum(), unique.sum(), (roots @ table)]
        return x * sum(parts) + fnp.reshape(roots, (n, 1)).sum()

    wanted = branch(2.0)
    choose = lambda p, x: lax.cond(p > 0, branch, lambda x: 0.0 * x, x)
    loop = lambda p, x: lax.while_loop(
        lambda c: c[0] < p, lambda c: (c[0] + 1, branch(c[1])), (0.0, x)
    )[1]
    for f in (choose, loop):
        for transform in (fg.jit, lambda f: fg.jit(fg.vmap(f, (None, 0)))):
            x = 2.0 if transform is fg.jit else np.full(3, 2.0)
            np.testing.assert_allclose(transform(f)(1.0, x), np.full(np.shape(x), wanted))
    slope = branch(3.0) - branch(2.0)
    np.testing.assert_allclose(fg.grad(fg.jit(choose), 1)(1.0, 2.0), slope)
    np.testing.assert_allclose(fg.jit(fg.grad(choose, 1))(1.0, 2.0), slope)
    np.testing.assert_allclose(fg.jvp(fg.jit(loop), (1.0, 2.0), (0.0, 1.0))[1], slope)


def test_writes_into_constants_of_branches_are_kept():
    def branch(x):
        a = np.zeros((2, 2))
        v = fnp.ravel(a)
        v[0] = 5.0
        fnp.fill_diagonal(a, 2.0)
        fnp.put(a, 1, 7.0)
        return x * a.sum()

    f = fg.jit(lambda p, x: lax.cond(p > 0, branch, lambda x: x, x))
    assert f(1.0, 1.0) == branch(1.0) == 11.0


@pytest.mark.parametrize(
    ("inner", "expected"),
    [(lambda y: fnp.sin(np.ones(3)), 0.0), (lambda y: 2.0, 0.0), (lambda y: y, 3.0)],
)
def test_vmap_under_grad_within_a_branch_of_a_jitted_function(inner, expected):
    # What vmap maps over belongs to the grad, which is closed when the branch is recorded.
    def f(x):
        batch = lambda z: fg.vmap(inner)(fnp.stack([z, 2 * z])).sum()
        return fg.lax.cond(x < 0, lambda: x, lambda: fg.grad(batch)(x))

    assert fg.jit(f)(0.5) == expected
