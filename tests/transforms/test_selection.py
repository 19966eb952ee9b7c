"""Derivatives of selections: what was not selected is multiplied by nothing, and zeros that are none by structure stay."""

import functools
import warnings

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax

X = np.array([0.0, 1.0, 2.0])
POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
DATA = np.array([1.0, np.nan, 2.0])
OTHERS = ~np.eye(3, dtype=bool)


def distances(points):
    d = points[:, None] - points[None]
    return np.sqrt(np.sum(d * d, -1))


def lennard_jones(points):
    r = distances(points)
    return np.sum(np.where(OTHERS & (r < 9.0), r**-12 - r**-6, 0.0))


def gravity_of_pairs(points):
    i, j = np.triu_indices(3, 1)
    return -np.sum(1 / distances(points)[i, j])


def assigned(x):
    y = np.log(x)
    y[x <= 0] = 0
    return np.sum(y)


def picked(x):
    return np.sum(np.select([x <= 0, x > 1.5], [0 * x, np.sqrt(x)], np.log(x)))


def piecewise(x):  # of which all uses of the root are of parts of it
    r = np.sqrt(x)
    return np.sum(np.where(x > 1.5, r, 0) + np.where((x > 0.5) & (x < 1.5), 1 / r, 0))


def rows(x):
    of_rows = np.sum(np.log(np.stack([x, x + 1])), axis=1)
    return np.sum(np.where(np.array([False, True]), of_rows, 0))


def branch_of_lanes(x):
    return np.sum(fg.vmap(lambda a: lax.cond(a > 0, np.log, lambda b: 0 * b, a))(x))


def chosen_by_cond(x):
    def one(a):
        return lax.cond(a > 0, lambda y, z: y, lambda y, z: z, np.log(a), 2 * a)

    return sum(one(a) for a in x)


def chosen_by_switch(x):
    def one(a):
        which = (a > 0).astype(int) + (a > 1)
        ways = (lambda y, z: z, lambda y, z: y, lambda y, z: 0.0)
        return lax.switch(which, ways, np.log(a), np.zeros_like(a))

    return np.sum(fg.vmap(one)(x))


def chosen_by_python(x):
    total = 0.0
    for v in x:
        y = np.log(v)
        total += y if v > 0 else 0
    return total


def looped(x):
    def step(total, a):
        return total + np.where(a > 0, np.sqrt(a) * total, 0), None

    return lax.scan(step, 1.0, x)[0]


PROGRAMS = {
    "logarithm": (lambda x: np.sum(np.where(x > 0, np.log(x), 0)), X),
    "root": (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)), X),
    "other branch": (lambda x: np.sum(np.where(x <= 0, x, x**1.5 / x)), X),
    "division": (lambda x: np.sum(np.where(x > 0, x / x**2, 0)), X),
    "arcs": (lambda x: np.sum(np.where(x < 1, np.arccos(x) + np.arctanh(x), 0)), X),
    "overflow": (lambda x: np.sum(np.where(x < 1.5, np.exp(x), np.exp(1000 * x) * x)), X[:2]),
    "booleans": (lambda x: np.sum((x > 0) * np.sqrt(x)), X),
    "booleans as numbers": (lambda x: np.sum(np.sqrt(x) * (x > 0).astype(float)), X),
    "dot of booleans": (lambda x: np.sqrt(x) @ (x > 0), X),
    "booleans times a matrix": (
        lambda x: np.sum((x > 0).astype(float) @ np.log(np.stack([x, x + 1], 1)) ** 2),
        X,
    ),
    "einsum of booleans": (
        lambda x: np.sum(np.einsum("ij,j->i", OTHERS & (x > 0), np.sqrt(x)) ** 2),
        X,
    ),
    "weighted mean": (lambda x: np.dot(x > 0, np.log(x)) / np.sum(x > 0), X),
    "distances": (lennard_jones, POINTS),
    "pairs": (gravity_of_pairs, POINTS),
    "assignment": (assigned, X),
    "select": (picked, X),
    "lax.select": (lambda x: np.sum(lax.select(x > 0, np.log(x), x * 0)), X),
    "where of a sum": (lambda x: np.sum(np.sqrt(x), where=x > 0), X),
    "slice": (lambda x: np.sum(np.sqrt(x)[1:]), X),
    "slice of a power": (lambda x: np.sum((x**1.5 / x)[1:]), X),
    "maximum": (lambda x: np.sum(np.maximum(np.sqrt(x), 1e-3)), X),
    "clip": (lambda x: np.sum(np.clip(np.sqrt(x), 1e-3, 10)), X),
    "parts": (piecewise, X),
    "rows": (rows, X),
    "scalar": (lambda x: np.where(np.sum(x) > 5, np.sum(np.sqrt(x)), np.sum(x * x)), X),
    "missing data": (lambda x: np.nansum((DATA - x) ** 2), X),
    "masked loss": (lambda x: np.sum(np.where(np.isnan(DATA), 0, abs(DATA - x) ** 3)), X),
    "data by a mask": (lambda x: np.sum(((DATA - x) ** 2)[~np.isnan(DATA)]), X),
    "finite": (lambda x: np.sum(np.where(np.isfinite(1 / x), 1 / x, 0)), X),
    "nan_to_num": (lambda x: np.sum(np.nan_to_num(x * x / np.array([1.0, 0.0, 2.0]))[::2]), X),
    "lanes": (branch_of_lanes, X),
    "cond": (chosen_by_cond, X),
    "switch": (chosen_by_switch, X),
    "if": (chosen_by_python, X),
    "loop": (looped, X),
}
"""Programs with finite derivatives of which the parts that are not selected have none."""


GRADIENTS = {
    "grad": fg.grad,
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](1.0)[0],
    "jacrev": fg.jacrev,
    "jacfwd": fg.jacfwd,
    "vmap of grad": lambda f: lambda x: fg.vmap(fg.grad(f))(np.stack([x, x + 1]))[0],
    "transpose": lambda f: lambda x: fg.linear_transpose(fg.linearize(f, x)[1], x)(1.0)[0],
}
HESSIANS = {
    "hessian": fg.hessian,
    "backwards twice": lambda f: fg.jacrev(fg.jacrev(f)),
    "forwards twice": lambda f: fg.jacfwd(fg.jacfwd(f)),
    "backwards of forwards": lambda f: fg.jit(fg.jacrev(fg.jacfwd(f))),
    "of the gradient": lambda f: fg.jacrev(fg.grad(f)),
}


@functools.cache
def expected(name):
    """Return first and second derivatives in forward mode, where `select` throws away what it does not take."""
    f, x = PROGRAMS[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return fg.jacfwd(f)(x), fg.jacfwd(fg.jacfwd(f))(x)


@pytest.mark.parametrize("way", GRADIENTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_finite_and_alike(name, way):
    f, x = PROGRAMS[name]
    slope, _ = expected(name)
    assert np.isfinite(slope).all()
    g = GRADIENTS[way](f)
    with np.errstate(all="ignore"):
        for _ in range(2):  # by rules at once, then by a program
            np.testing.assert_allclose(g(x), slope, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("way", HESSIANS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives_are_finite_and_alike(name, way):
    f, x = PROGRAMS[name]
    _, curvature = expected(name)
    assert np.isfinite(curvature).all()
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(HESSIANS[way](f)(x), curvature, rtol=1e-11, atol=1e-12)


def test_scalars_of_steps_are_masked_one_by_one():
    """A step's scalar may be infinite in some steps alone, so it counts as such where it is broadcast, too."""
    step = lambda a: np.where(a > 0, np.arctan2(a, a * a) * (1 + a), a * a)
    f = lambda x: np.sum(lax.map(step, x))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(fg.jacrev(fg.jacfwd(f))(X), fg.hessian(f)(X), atol=1e-14)


def ends_in_rows(scale, x):
    return np.sum(np.where(x > 0, lax.scan(lambda c, a: (scale * c + a,) * 2, 0.0, x)[1], 0) ** 2)


def ends_in_the_last(w, xs):
    hs = lax.scan(lambda h, x: (np.tanh(w @ h + x),) * 2, xs[0], xs)[1]
    return np.sum(np.where(xs[:, :1] > 0, hs, 0) ** 2)


@pytest.mark.parametrize(
    ("f", "args", "most"),
    [(ends_in_rows, (0.5, X), 0), (ends_in_the_last, (np.eye(3), POINTS[:, [0, 1, 1]]), 0)],
)
def test_loops_are_given_no_masks_that_change_nothing(f, args, most):
    program = str(fg.make_expr(fg.grad(f))(*args))
    assert program.count("void") + program.count("kept") == most


def test_a_zero_that_a_number_happens_to_be_stays_one():
    """No selection: 0 times an infinite slope has no value here, and 0 would be wrong for the first two."""
    functions = [lambda x: np.sqrt(x) ** 2, lambda x: np.sqrt(x) * np.sqrt(x), np.sqrt]
    with np.errstate(all="ignore"):
        for f in functions:
            assert not np.isfinite(fg.grad(f)(0.0))
        assert not np.isfinite(fg.grad(lambda x: np.where(x >= 0, np.sqrt(x), 0))(0.0))


def test_values_are_those_of_numpy():
    x = np.array([0.0, 4.0])
    with np.errstate(all="ignore"):
        value, slope = fg.value_and_grad(lambda x: np.sum((x > 0) / x))(x)
        assert np.isnan([value, slope[0]]).all()
        np.testing.assert_array_equal(fg.jit(lambda x: (x > 0) * np.log(x))(x), (x > 0) * np.log(x))


@pytest.mark.parametrize("around", [lambda g: g, fg.jit])
def test_nothing_warns_on_the_way_back(around):
    g = around(fg.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x) + np.arccos(1 - x / 2), 0))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert np.isfinite(g(X)).all()


def test_kernels_need_no_second_run():
    llvm = pytest.importorskip("llvmlite.binding")
    assert llvm
    g = fg.jit(fg.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0))))
    compiled = g.lower(X).compile()
    with np.errstate(all="raise"):
        np.testing.assert_allclose(compiled(X), [0, 0.5, 0.5 / np.sqrt(2)])


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_other_dtypes(dtype):
    x = X.astype(dtype)
    f = lambda x: np.sum(np.real(np.where(abs(x) > 0, np.log(x), 0)))
    with np.errstate(all="ignore"):
        slope = fg.grad(f)(x)
    assert slope.dtype == x.dtype
    np.testing.assert_allclose(slope, [0, 1, 0.5])


def test_empty_and_0d():
    f = lambda x: np.sum(np.where(x > 0, np.log(x), 0))
    with np.errstate(all="ignore"):
        assert [fg.grad(f)(0.0), fg.grad(f)(2.0)] == [0, 0.5]
    assert fg.grad(f)(np.zeros((0, 3))).shape == (0, 3)


def test_many_selections_in_a_row_make_programs_of_as_many_equations():
    def f(x, n):
        y = x
        for i in range(n):
            y = np.where(x > i, np.sqrt(y * y + i), 0.0)
        return np.sum(y)

    count = lambda n: len(fg.make_expr(fg.grad(fg.as_written(lambda x: f(x, n))))(X).equations)
    few, more, most = map(count, (20, 40, 80))
    assert most - more <= 2.1 * (more - few)


def test_third_derivatives():
    f = lambda x: np.where(x > 0, x**2.5 / np.sqrt(x), 0 * x)
    third = fg.grad(fg.grad(fg.grad(f)))
    with np.errstate(all="ignore"):
        assert third(0.0) == 0
        np.testing.assert_allclose(third(2.0), 0, atol=1e-12)


def test_printed_programs_select_once():
    """The mask of the selection moves behind what it guards: there are as many selections as before."""
    lowered = fg.jit(fg.grad(lambda x: np.sum(np.where(x > 0, np.log(x), 0)))).lower(X)
    assert lowered.source.count("np.where") == 2


def orthogonal(a):
    a, q = a.copy(), np.zeros((3, 3))
    for k in range(3):
        q[:, k] = a[:, k] / np.sqrt(a[:, k] @ a[:, k])
        for j in range(k + 1, 3):
            a[:, j] -= q[:, k] * (q[:, k] @ a[:, j])
    return np.sum(q[1:] * a[:-1])


def upwind(u):
    lap = 4.0 * u[1:-1] - (u[2:] + u[:-2])
    flux = np.where((lap[1:] - lap[:-1]) * u[1:-2] > 0, 0, lap[1:])
    return np.sum(u[1:-2] * flux)


def covariance(a):
    c = np.zeros((3, 3))
    for i in range(3):
        for j in range(i, 3):
            c[i, j] = np.sum(a[:, i] * a[:, j])
            c[i, j] /= len(a) - 1.0
            c[j, i] = c[i, j]
    return np.sum(c**2)


@pytest.mark.parametrize("f", [orthogonal, covariance, upwind])
def test_slices_and_linear_operands_have_no_masks(f):
    x = np.arange(1.0, 10.0) ** 1.5
    program = str(fg.make_expr(fg.grad(f))(x if f is upwind else x.reshape(3, 3)))
    assert "void" not in program
    assert "kept" not in program
