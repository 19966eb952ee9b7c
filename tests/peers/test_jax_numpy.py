"""Functions of numpy's main namespace under fungrad and under JAX: values, derivatives, batches."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402

AT = np.linspace(-1, 1, 6)
EDGES = np.array([-2.0, -0.4, 0.3, 2.0])
INDEX = np.array([0, 2, 1, 1, 0, 2])

# Functions of a module like numpy and of a vector of six elements that differ.
PROGRAMS = {
    "polyval": lambda np_, x: np_.polyval(x, x[:3]),
    "polyadd": lambda np_, x: np_.polyadd(x, x[:2] ** 2),
    "polymul": lambda np_, x: np_.polymul(x, x[:3] ** 2),
    "polydiv": lambda np_, x: np_.polydiv(x, x[:3] ** 2 + 1)[0],
    "polyder": lambda np_, x: np_.polyder(x**2, 2),
    "polyint": lambda np_, x: np_.polyint(x**2, 2),
    "polyfit": lambda np_, x: np_.polyfit(x, np_.sin(x), 2),
    "polyfit with weights": lambda np_, x: np_.polyfit(AT, x, 1, w=x**2 + 1),
    "poly": lambda np_, x: np_.poly(x),
    "vander": lambda np_, x: np_.vander(x, 4),
    "bincount": lambda np_, x: np_.bincount(INDEX, x**2, length=4),
    "histogram": lambda np_, x: np_.histogram(AT, EDGES, weights=x**2, density=True)[0],
    "edges": lambda np_, x: np_.histogram_bin_edges(x**2, 5),
    "histogram2d": lambda np_, x: np_.histogram2d(AT, AT**2, [EDGES, EDGES], weights=x**2)[0],
    "unique": lambda np_, x: np_.unique(x**2, size=8, fill_value=0),
    "union1d": lambda np_, x: np_.union1d(x, x**2 + 5, size=13, fill_value=-7),
    "setdiff1d": lambda np_, x: np_.setdiff1d(x, np_.stack([x[0], x[2]]), size=5, fill_value=1),
    "extract": lambda np_, x: np_.extract(x > 0, x**2, size=6, fill_value=3),
    "compress": lambda np_, x: np_.compress(x > 0, np_.outer(x, x), 1, size=4),
    "nonzero": lambda np_, x: (x**2)[np_.nonzero(x > 0, size=4, fill_value=5)],
    "where": lambda np_, x: (x**2)[np_.where(x > 0, size=4)],
    "repeat": lambda np_, x: np_.repeat(x**2, INDEX, total_repeat_length=9),
    "vectorize": lambda np_, x: np_.vectorize(
        lambda a, b: np_.outer(a, b), signature="(m),(n)->(m,n)"
    )(np_.reshape(x, (2, 3)), x),
    "vectorize, excluding": lambda np_, x: np_.vectorize(lambda a, n: a**n, excluded={1})(x, 3),
    "apply_along_axis": lambda np_, x: np_.apply_along_axis(np_.cumsum, 1, np_.outer(x, x)),
    "apply_over_axes": lambda np_, x: np_.apply_over_axes(np_.sum, np_.outer(x, x), [0, 1]),
    "r_": lambda np_, x: np_.r_[x**2, 1.0, x],
    "c_": lambda np_, x: np_.c_[x**2, x],
    "ix_": lambda np_, x: np_.outer(x, x)[np_.ix_(INDEX, INDEX[:2])],
    "unravel_index": lambda np_, x: np_.outer(x, x)[np_.unravel_index(INDEX * 7, (6, 6))],
    "reflected oddly": lambda np_, x: np_.pad(x**2, (3, 9), "reflect", reflect_type="odd"),
    "symmetric oddly": lambda np_, x: np_.pad(x**2, (3, 9), "symmetric", reflect_type="odd"),
    "ramp": lambda np_, x: np_.pad(x**2, (3, 2), "linear_ramp", end_values=(1, 2)),
    "mean": lambda np_, x: np_.pad(np_.outer(x, x), 2, "mean", stat_length=2),
    "maximum": lambda np_, x: np_.pad(np_.outer(x, x), ((2, 1), (0, 3)), "maximum"),
    "clip": lambda np_, x: np_.clip(x**2, 0.5, 1.5),
}  # fmt: skip


def derivatives(lib, np_, f):
    def run(x, direction, batch):
        return {
            "value": f(np_, x),
            "jvp": lib.jvp(lambda x: f(np_, x), (x,), (direction,))[1],
            "jacobian": lib.jacrev(lambda x: f(np_, x))(x),
            "hessian": lib.jacfwd(lib.jacrev(lambda x: f(np_, x)))(x),
            "vmap": lib.vmap(lambda x: f(np_, x))(batch),
        }

    return run


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, rng):
    x = np.array([0.9, -1.3, 0.4, 1.7, -0.2, 1.1])
    data = x, rng.normal(size=6), np.stack([x, x[::-1], -x])
    theirs = jax.jit(derivatives(jax, jnp, PROGRAMS[name]))(*data)
    ours = fg.jit(derivatives(fg, fnp, PROGRAMS[name]))(*data)
    for what, expected in theirs.items():
        expected = np.asarray(expected)
        assert ours[what].shape == expected.shape, what
        assert ours[what].dtype == expected.dtype, what
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(ours[what], expected, 1e-9, 1e-9 * scale, err_msg=what)


COUNTED = {
    "unique": lambda np_, x: np_.unique(x, True, True, True, size=5, fill_value=0),
    "unique_all": lambda np_, x: tuple(np_.unique_all(x, size=5, fill_value=0)),
    "intersect1d": lambda np_, x: np_.intersect1d(x, x[:2] + 1, size=4, fill_value=9),
    "intersect1d, where": lambda np_, x: np_.intersect1d(
        x, x[:2], return_indices=True, size=2, fill_value=9
    ),
    "setxor1d": lambda np_, x: np_.setxor1d(x, x + 1, size=6, fill_value=9),
    "bincount": lambda np_, x: np_.bincount(x, length=3),
    "packbits": lambda np_, x: np_.packbits(x, bitorder="little"),
    "argwhere": lambda np_, x: np_.argwhere(x > 0, size=7, fill_value=-1),
    "flatnonzero": lambda np_, x: np_.flatnonzero(x > 0, size=3),
}


@pytest.mark.parametrize("name", COUNTED)
def test_of_integers(name):
    x = np.array([3, 1, 3, 0, 2, 1])
    f = COUNTED[name]
    theirs = jax.tree.leaves(jax.jit(lambda x: f(jnp, x))(x))
    ours = fg.tree.leaves(fg.jit(lambda x: f(fnp, x))(x))
    assert len(ours) == len(theirs)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(found, np.asarray(expected))
