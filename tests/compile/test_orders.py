"""Results of jitted programs lie in memory as those of the functions themselves, whatever is written over what on the way."""

import itertools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core.config import compilation

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 5, 7))
ROW, COLUMN, PLAIN = A[0], A[:, 0].copy(), A.copy()


def order_of(x):
    """Return the axes of an array as they lie in memory, the slowest first."""
    axes = [a for a, n in enumerate(np.shape(x)) if n > 1]
    return sorted(axes, key=lambda a: -abs(x.strides[a]))


def laid_out(x):
    """Return arrays of the shape of `x` that lie in memory in several ways."""
    return [x, np.asfortranarray(x), x[::-1].copy()[::-1], np.broadcast_to(x[:1], x.shape)]


def cubes(x, y, shape=(4,)):
    """Return arrays of more axes, of which the first two lie as those of `x` and `y` do."""
    ones = np.ones(shape)
    return [(z[(..., *[None] * len(shape))] + ones) * 1.5 for z in (x, y)]


def systems(x, y):
    """Return matrices and right-hand sides, of which the first two axes lie as those of `x` and `y` do."""
    a, b = [fnp.sin(z)[..., None, None] for z in (x, y)]
    return a * np.ones((3, 3)) * 0.1 + np.eye(3), b * np.ones((3, 2))


FUNCTIONS = {
    "a product over an operand": lambda x, y: fnp.sin(x) * y,
    "with a constant": lambda x, y: fnp.sin(x) * PLAIN,
    "the other operand dies": lambda x, y: y * fnp.sin(x),
    "both operands die": lambda x, y: fnp.sin(x) * fnp.cos(y),
    "of one array": lambda x, y: fnp.sin(x) * fnp.cos(x) + x,
    "with a row and a column": lambda x, y: fnp.sin(x) * ROW + COLUMN[:, None],
    "a row of one argument": lambda x, y: fnp.sin(x) * y[0] + y[:, :1],
    "of transposed arrays": lambda x, y: fnp.sin(x.T) + y.T,
    "of one that is transposed": lambda x, y: fnp.sin(x.T) * fnp.cos(y).T + PLAIN.T,
    "of slices": lambda x, y: fnp.sin(x[1:]) * x[:-1] + y[1:],
    "of a product of matrices": lambda x, y: fnp.exp(x @ y.T) * (y @ x.T),
    "reduced": lambda x, y: fnp.sum(fnp.sin(x)[:, None] * y, axis=0),
    "where": lambda x, y: fnp.where(x > 0, fnp.sin(x), y) + 1.0,
    "einsum without sums": lambda x, y: fnp.einsum("ij,i->ij", x, COLUMN),
    "einsum without sums, and more": lambda x, y: fnp.sin(fnp.einsum("ij,ij->ij", x, y)) * y,
    "rolled": lambda x, y: fnp.roll(x, 1, axis=0) * 2.0 + 1.0,
    "joined as they are": lambda x, y: fnp.concatenate([x, y]) * 2.0 + 1.0,
    "stacked as they are": lambda x, y: fnp.stack([x, y]) * 2.0 + 1.0,
    "stacked": lambda x, y: fnp.stack([x, y]),
    "stacked, transposed": lambda x, y: fnp.stack([x.T, fnp.sin(y).T]),
    "stacked along the last axis": lambda x, y: fnp.stack([x, fnp.sin(y)], axis=-1) * 2.0,
    "joined": lambda x, y: fnp.concatenate([fnp.sin(x), y]),
    "stacked rows": lambda x, y: fnp.stack([x[0], y[0]]) * 2.0,
    "a stack of products": lambda x, y: fnp.einsum("ijk,ijk->ij", *cubes(x, y)),
    "a stack of matrices": lambda x, y: fnp.einsum("ijkl,ijlm->ijkm", *cubes(x, y, (2, 2))),
    "systems": lambda x, y: fnp.linalg.solve(*systems(x, y)),
    "determinants": lambda x, y: fnp.linalg.det(systems(x, y)[0]) * 2.0,
    "factors": lambda x, y: fnp.linalg.cholesky(systems(x, y)[0]) + 1.0,
    "a carry": lambda x, y: lax.fori_loop(0, 3, lambda i, c: c * 0.5 + 1.0, x),
    "carries of a scan": lambda x, y: lax.scan(lambda c, r: (fnp.sin(c) * y, r), x, y)[0],
    "a loop with a condition": lambda x, y: lax.while_loop(
        lambda c: c[0, 0] < 99.0, lambda c: fnp.abs(c) * 2.0 + 1.0, x
    ),
    "no step": lambda x, y: lax.while_loop(lambda c: c[0, 0] > 99.0, lambda c: c + 1.0, x),
    "a loop": lambda x, y: lax.fori_loop(0, 3, lambda i, c: fnp.sin(c) * PLAIN, y + x),
    "a branch": lambda x, y: lax.cond(
        x[0, 0] > -9, lambda a, b: fnp.sin(a) * b, lambda a, b: a, x, y
    ),
}


@pytest.mark.parametrize("mode", ["off", "eager"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_lie_as_those_of_the_function(name, mode):
    function = FUNCTIONS[name]
    token = compilation.set(mode)
    try:
        jitted = fg.jit(lambda x, y: function(x, y))
        for x, y in itertools.product(*map(laid_out, (A, B))):
            expected = function(x, y)
            for _ in range(2):
                found = jitted(x, y)
                assert order_of(found) == order_of(expected)
                np.testing.assert_allclose(found, expected, rtol=1e-13)
    finally:
        compilation.reset(token)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: fnp.nanmedian(x, axis=0, keepdims=True),
        lambda x: fnp.linalg.qr(x * x + x)[1] * 2.0 + 1.0,
    ],
    ids=["counts that index", "triangles"],
)
def test_kernels_lay_results_out_as_numpys_functions_do(function):
    x = np.asfortranarray(RNG.normal(size=(2, 3, 4)))
    found = []
    for mode in ("off", "eager"):
        token = compilation.set(mode)
        try:
            found.append(fg.jit(lambda x: function(x))(x))
        finally:
            compilation.reset(token)
    assert order_of(found[0]) == order_of(found[1])
    np.testing.assert_allclose(*found, rtol=1e-13)


def test_what_dies_is_written_over_only_if_arguments_lie_in_c_order():
    x = fg.jit(lambda x, y: fnp.sin(x) * y).lower(A, B)
    lines = [line.strip() for line in x.source.splitlines()]
    assert "c = a.flags.c_contiguous and b.flags.c_contiguous" in lines
    assert "d = np.multiply(d, b, d if c else None)" in lines
    source = fg.jit(lambda x: fnp.sum(fnp.sin(x) * PLAIN) * fnp.sin(x[0]) * ROW).lower(A).source
    assert "flags" not in source  # no result can show it
