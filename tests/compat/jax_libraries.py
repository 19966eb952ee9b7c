"""What libraries built on JAX do, and programs seldom, run by tests/compat/test_jax.py with `jax` meaning fungrad. All of it passes by JAX."""

import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend import linear_util
from jax.interpreters import partial_eval
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

X = jnp.arange(6.0).reshape(2, 3)


def test_axes_of_meshes_without_devices():
    mesh = AbstractMesh((2, 3), ("x", "y"))
    assert mesh.shape_tuple == (("x", 2), ("y", 3))
    assert (mesh.axis_names, mesh.axis_sizes, mesh.size) == (("x", "y"), (2, 3), 6)
    assert mesh.axis_types == (AxisType.Auto,) * 2
    assert not mesh.empty
    assert jax.sharding.get_abstract_mesh().empty
    assert mesh == AbstractMesh((2, 3), ("x", "y")) != AbstractMesh((3, 2), ("x", "y"))


def test_specs_are_shown_and_changed():
    spec = PartitionSpec("x", None, ("a", "b"))
    assert repr(spec) == "P('x', None, ('a', 'b'))"
    assert repr(PartitionSpec(None)) == "P(None,)"
    mesh = AbstractMesh((2,), ("x",))
    sharding = NamedSharding(mesh, PartitionSpec())
    assert sharding.update(spec=PartitionSpec("x")).spec == PartitionSpec("x")
    assert sharding.update(spec=PartitionSpec("x")).mesh == mesh


def test_types_lie_along_no_axis_of_a_mesh():
    assert jax.typeof(X).sharding.spec == PartitionSpec(None, None)
    assert jax.typeof(X).sharding.mesh.empty
    found = []
    jax.jit(lambda x: found.append(x.aval.sharding.spec) or x)(X)
    assert found == [PartitionSpec(None, None)]


def test_named_tuples_become_other_nodes_without_a_warning():
    class Sizes(collections.namedtuple("Sizes", "width height")):
        pass

    jax.tree_util.register_pytree_node(
        Sizes, lambda x: ((x.width,), x.height), lambda height, parts: Sizes(*parts, height)
    )
    assert jax.tree.leaves(Sizes(1, 2)) == [1]
    assert jax.tree.map(lambda x: 10 * x, Sizes(1, 2)) == Sizes(10, 2)


def test_shapes_of_anything():
    for x, shape in ((None, ()), ("name", ()), ([1, 2], (2,)), (3.0, ())):
        assert jnp.shape(x) == shape
        assert jnp.ndim(x) == len(shape)
        assert jnp.size(x) == int(np.prod(shape))


def test_keys_are_compared():
    keys = jax.random.split(jax.random.key(0), 3)
    key = keys[1]
    expected = [False, True, False]
    for run in (lambda f: f, jax.jit):
        np.testing.assert_array_equal(run(lambda a, b: a == b)(keys, key), expected)
        np.testing.assert_array_equal(run(lambda a, b: a != b)(keys, key), np.logical_not(expected))
        np.testing.assert_array_equal(run(jnp.equal)(keys, key), expected)
        np.testing.assert_array_equal(run(jnp.not_equal)(key, keys), np.logical_not(expected))
        np.testing.assert_array_equal(run(jnp.isclose)(keys, key), expected)
        assert run(jnp.allclose)(keys, keys)
        assert not run(jnp.allclose)(keys, key)
        assert run(jnp.array_equal)(keys, keys)
        assert not run(jnp.array_equal)(keys, keys[::-1])
    np.testing.assert_array_equal(jax.vmap(lambda a: a == key)(keys), expected)
    for wrong in (lambda: keys == 1, lambda: keys < key, lambda: jax.jit(jnp.less)(keys, key)):
        with pytest.raises(TypeError):
            wrong()


def test_masks_of_jaxs_arrays():
    mask = jnp.array([True, False, True])
    x = jnp.arange(3.0)
    assert x.mean(where=mask) == np.mean(x, where=mask) == 1
    out = np.zeros(3)
    np.add(np.ones(3), x, out=out, where=mask)
    np.testing.assert_array_equal(out, [1, 0, 3])


@pytest.mark.parametrize("axis", [jnp.array(1), np.int32(1)], ids=["array", "scalar"])
def test_axes_given_as_arrays(axis):
    assert jnp.sum(X, axis=axis).shape == jnp.max(X, axis).shape == (2,)
    assert jnp.expand_dims(X, axis).shape == (2, 1, 3)
    assert jnp.concatenate([X, X], axis=axis).shape == (2, 6)
    assert jnp.sum(X, axis=(axis, 0)).shape == ()
    assert jnp.moveaxis(X, axis, 0).shape == (3, 2)
    assert jax.scipy.special.logsumexp(X, axis=axis).shape == (2,)


def test_integers_of_python_wrap():
    x = jnp.array([5], jnp.uint16)
    for run in (lambda f: f, jax.jit):
        assert run(lambda x: x * -1)(x)[0] == 65531
        assert run(lambda x: jnp.maximum(x, -1))(x)[0] == 65535
        assert run(lambda x: jnp.where(x > 9, x, -1))(x)[0] == 65535
        assert run(lambda x: x + 300)(x.astype(jnp.int8))[0] == 49
        assert run(lambda x: x == 257)(jnp.array([1], jnp.uint8))[0]
        assert run(lambda x: x < -1)(x)[0]
        with pytest.raises(TypeError, match="negative powers"):
            run(lambda x: x**-1)(x)
        with pytest.raises(OverflowError):
            run(lambda x: x + 5_000_000_000)(jnp.array([1], jnp.int32))


def test_linear_functions_are_pytrees():
    _, pullback = jax.vjp(jnp.sin, 0.5)
    assert jax.tree.leaves(pullback)
    cos = np.cos(0.5)
    np.testing.assert_allclose(
        jax.jit(lambda x: jax.vjp(jnp.sin, x)[1])(0.5)(2.0)[0], 2 * cos, 1e-6
    )
    np.testing.assert_allclose(
        jax.jit(lambda x: jax.linearize(jnp.sin, x)[1])(0.5)(2.0), 2 * cos, 1e-6
    )
    transposed = jax.linear_transpose(lambda x: 2.0 * x, 1.0)
    assert jax.jit(lambda f, c: f(c))(transposed, 3.0)[0] == 6
    chosen = lax.cond(True, lambda f: f(3.0)[0], lambda f: 0.0 * f(3.0)[0], transposed)
    assert chosen == 6


def test_cotangents_of_integers_are_not_looked_at():
    _, pullback = jax.vjp(lambda x: (2 * x, jnp.int32(3), x > 0), jnp.ones(2))
    for cotangent in (jnp.int32(1), np.zeros((), jax.dtypes.float0)):
        np.testing.assert_array_equal(
            pullback((jnp.ones(2), cotangent, jnp.ones(2, bool)))[0], [2, 2]
        )
    with pytest.raises((TypeError, ValueError)):
        pullback((jnp.ones(2), jnp.ones(4), jnp.ones(2, bool)))


def test_checkpoint_hands_on_arrays():
    f = jax.checkpoint(lambda tree: tree["a"].astype(jnp.float32) * 2)
    assert f({"a": 1}) == 2
    powers = jax.checkpoint(
        lambda x, n: x.sum() ** n if isinstance(n, int) else 0.0, static_argnums=1
    )
    assert powers(2.0, 3) == 8
    assert jax.grad(powers)(2.0, 3) == 12
    assert jax.remat(lambda x: x.shape)(1.0) == ()


def test_results_of_jit_may_be_weak():
    double = jax.jit(lambda x: 2.0 * x)
    assert double(1.0).weak_type
    assert (double(1.0) * jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16
    assert not double(jnp.float32(1)).weak_type
    both = jax.jit(lambda x: {"a": x * x, "b": x * jnp.ones(2)})(1.0)
    assert both["a"].weak_type
    assert not both["b"].weak_type
    assert both["a"] == 1


def test_static_arguments_said_both_ways_are_not_completed():
    seen = []

    @functools.partial(jax.jit, static_argnums=1, static_argnames="flag")
    def f(x, n, flag=True):
        seen.append((isinstance(n, int), isinstance(flag, bool)))
        return x

    f(1.0, 2, flag=False)
    f(1.0, 2, False)
    f(1.0, n=2, flag=False)
    assert seen == [(True, True), (True, False), (False, True)]


def test_what_no_unknown_is_needed_for_is_known():
    unknown = partial_eval.PartialVal.unknown(jax.typeof(jnp.float32(0)))

    @jax.jit
    def f(x):
        inner = linear_util.wrap_init(
            lambda y: [x * y, jax.jit(jnp.sin)(x) + jnp.ones(()) * 2], debug_info=None
        )
        _, outs, _ = partial_eval.trace_to_jaxpr_nounits(inner, [unknown])
        assert [p.is_known() for p in outs] == [False, True]
        return outs[1].get_known()

    np.testing.assert_allclose(f(0.5), np.sin(0.5) + 2, 1e-6)


def test_products_of_eight_bits_that_share_no_dtype():
    x = jnp.ones((2, 3), jnp.float8_e4m3fn)
    y = jnp.ones((3, 2), jnp.float8_e5m2)
    dims = (((1,), (0,)), ((), ()))
    product = functools.partial(
        lax.dot_general, dimension_numbers=dims, preferred_element_type=jnp.float32
    )
    for run in (lambda f: f, jax.jit):
        np.testing.assert_array_equal(run(product)(x, y), np.full((2, 2), 3, np.float32))
    assert jax.grad(lambda x: product(x, y).sum())(x).dtype == x.dtype
