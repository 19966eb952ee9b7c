"""Chex: assertions, dataclasses that are pytrees, variants of tests."""

import unittest

import chex
import jax
import jax.numpy as jnp
import numpy as np


@chex.dataclass
class Particle:
    position: chex.Array
    momentum: chex.Array
    steps: int = 0


@chex.dataclass(frozen=True, mappable_dataclass=False)
class Settings:
    scale: float
    shift: chex.Array


def dataclasses():
    @jax.jit
    def leapfrog(p, dt):
        force = jax.grad(lambda q: -jnp.sum(q**4) / 4)
        half = p.momentum + dt / 2 * force(p.position)
        position = p.position + dt * half
        return p.replace(
            position=position, momentum=half + dt / 2 * force(position), steps=p.steps + 1
        )

    p = Particle(position=jnp.arange(3.0), momentum=jnp.ones(3))
    for _ in range(5):
        p = leapfrog(p, 0.1)
    s = jax.tree.map(lambda x: 2 * x, Settings(scale=1.5, shift=jnp.arange(2)))
    return p, s.scale, s.shift, dict(p)["steps"], len(jax.tree.leaves(p))


def _fails(assertion, *args, **options):
    try:
        assertion(*args, **options)
    except AssertionError:
        return True
    return False


def assertions():
    x, y = jnp.ones((2, 3)), np.ones((2, 3), np.int32)
    tree = {"a": x, "b": (jnp.zeros(()),)}
    calls = [
        (chex.assert_shape, x, (2, 3)),
        (chex.assert_shape, x, (2, None)),
        (chex.assert_shape, [x, y], (3, 2)),
        (chex.assert_rank, x, 2),
        (chex.assert_rank, [x, y], {1, 3}),
        (chex.assert_type, x, float),
        (chex.assert_type, [x, y], [float, int]),
        (chex.assert_type, y, float),
        (chex.assert_equal_shape, [x, y]),
        (chex.assert_equal_shape_prefix, [x, jnp.ones((2, 5))], 1),
        (chex.assert_axis_dimension, x, 1, 4),
        (chex.assert_axis_dimension_gt, x, 1, 2),
        (chex.assert_tree_all_finite, tree),
        (chex.assert_tree_all_finite, {"a": jnp.array([jnp.nan])}),
        (chex.assert_trees_all_close, tree, jax.tree.map(lambda v: v + 1e-9, tree)),
        (chex.assert_trees_all_close, tree, jax.tree.map(lambda v: v + 1, tree)),
        (chex.assert_trees_all_equal, tree, jax.tree.map(jnp.copy, tree)),
        (chex.assert_trees_all_equal_shapes, tree, {"a": x, "b": (x,)}),
        (chex.assert_trees_all_equal_structs, tree, {"a": x, "b": [x]}),
        (chex.assert_trees_all_equal_dtypes, tree, tree),
        (chex.assert_scalar_in, 0.5, 0, 1),
        (chex.assert_scalar_positive, -1.0),
        (chex.assert_numerical_grads, lambda v: jnp.sum(jnp.tanh(v)), (jnp.ones(2),), 1),
        (chex.assert_is_broadcastable, (3,), (2, 3)),
        (chex.assert_is_divisible, 6, 4),
        (chex.assert_not_both_none, None, None),
    ]
    return [_fails(*call) for call in calls]


def traced_assertions():
    seen = []

    @jax.jit
    @chex.assert_max_traces(n=2)
    def f(x):
        chex.assert_shape(x, (None,))
        chex.assert_type(x, float)
        seen.append(x.shape)
        return jnp.sum(x)

    results = [f(jnp.ones(3)), f(jnp.ones(4)), f(jnp.zeros(3))]
    chex.clear_trace_counter()
    return results, len(seen)


def checked_values():
    @chex.chexify
    @jax.jit
    def f(x):
        chex.assert_tree_all_finite(x)
        return jnp.log(x)

    good = f(jnp.array([1.0, 2.0]))
    f.wait_checks()
    f(jnp.array([1.0, jnp.inf]))
    return good, _fails(f.wait_checks)


class _Case(chex.TestCase):
    @chex.all_variants(with_pmap=False)
    def test_sum(self):
        f = self.variant(lambda x: jnp.sum(x**2))
        np.testing.assert_allclose(f(jnp.arange(3.0)), 5.0)

    @chex.variants(with_jit=True, without_jit=True)
    def test_cumulative(self):
        @self.variant
        def f(x):
            return jax.lax.scan(lambda c, v: (c + v, c * v), 0.0, x)

        np.testing.assert_allclose(f(jnp.arange(4.0))[0], 6.0)


def variants():
    result = unittest.TestResult()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(_Case)
    suite.run(result)
    problems = result.errors + result.failures
    if problems:
        raise AssertionError(problems[0][1])
    return result.testsRun


def without_jit_and_dimensions():
    calls = []
    with chex.fake_jit():
        y = jax.jit(lambda x: (calls.append(1), x * 2)[1])(jnp.ones(2))
    dims = chex.Dimensions(B=3, T=2, F=4)
    x = jnp.zeros(dims["BTF"])
    chex.assert_shape(x, dims["BTF"])
    return y, len(calls), x.shape
