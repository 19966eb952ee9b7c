"""Projections: nothing in the set is nearer; under transformations. tests/peers/test_optax.py has their numbers."""

import numpy as np
import pytest

import fungrad as fg
from fungrad.optim import projections as p

RNG = np.random.default_rng(0)
NORMAL = {"w": RNG.normal(size=(2, 3)), "b": RNG.normal(size=2)}
SETS = {
    "non_negative": (lambda x: p.projection_non_negative(x), lambda z: (z >= 0).all()),
    "box": (
        lambda x: p.projection_box(x, -0.2, 0.5),
        lambda z: (z >= -0.2).all() and (z <= 0.5).all(),
    ),
    "hypercube": (
        lambda x: p.projection_hypercube(x, 2),
        lambda z: (z >= 0).all() and (z <= 2).all(),
    ),
    "simplex": (
        lambda x: p.projection_simplex(x, 2.0),
        lambda z: (z >= 0).all() and near(z.sum(), 2),
    ),
    "l1_ball": (lambda x: p.projection_l1_ball(x, 2.0), lambda z: below(abs(z).sum(), 2)),
    "l2_ball": (lambda x: p.projection_l2_ball(x, 0.5), lambda z: below((z**2).sum(), 0.25)),
    "linf_ball": (lambda x: p.projection_linf_ball(x, 0.3), lambda z: (abs(z) <= 0.3).all()),
    "vector": (
        lambda x: p.projection_vector(x, NORMAL),
        lambda z: near(np.ptp(z / flat(NORMAL)), 0),
    ),
    "hyperplane": (
        lambda x: p.projection_hyperplane(x, NORMAL, 1.0),
        lambda z: near(z @ flat(NORMAL), 1),
    ),
    "halfspace": (
        lambda x: p.projection_halfspace(x, NORMAL, -1.0),
        lambda z: below(z @ flat(NORMAL), -1),
    ),
}


def near(x, y):
    return abs(x - y) < 1e-12


def below(x, y):
    return x <= y + 1e-12


def flat(tree):
    return np.concatenate([np.ravel(x) for x in fg.tree.leaves(tree)])


@pytest.mark.parametrize("name", SETS)
def test_no_point_of_a_convex_set_is_nearer(name):
    """Where z is the point nearest to x, (x - z) . (y - z) <= 0 for all points y of the set."""
    project, inside = SETS[name]
    rng = np.random.default_rng(1)
    draw = lambda: {"w": 2 * rng.normal(size=(2, 3)), "b": rng.normal(size=2)}
    others = [flat(project(draw())) for _ in range(50)]
    for x in (draw() for _ in range(10)):
        z = project(x)
        assert inside(flat(z))
        assert max((flat(x) - flat(z)) @ (y - flat(z)) for y in others) < 1e-12


@pytest.mark.parametrize("name", SETS)
def test_projections_are_jitted_and_mapped(name):
    project, _ = SETS[name]
    x = {"w": RNG.normal(size=(5, 2, 3)), "b": RNG.normal(size=(5, 2))}
    alone = [flat(fg.jit(project)(fg.tree.map(lambda v, i=i: v[i], x))) for i in range(5)]
    mapped = fg.vmap(project)(x)
    for i, y in enumerate(alone):
        found = flat(fg.tree.map(lambda v, i=i: v[i], mapped))
        np.testing.assert_allclose(found, y, rtol=1e-13, atol=1e-15)


def test_a_simplex_needs_numbers():
    with pytest.raises(ValueError, match="0 numbers that are not negative cannot add up to 1"):
        p.projection_simplex({})
    with pytest.raises(ValueError, match="2 numbers that are not negative cannot add up to -1"):
        p.projection_simplex(np.ones(2), -1)
