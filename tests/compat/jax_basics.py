"""A program written for JAX, run by tests/compat/test_jax.py with `jax` meaning fungrad: one function for each thing it shows."""

import copy
import functools
import importlib
import inspect
import pickle
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import checkify


def test_arrays_are_of_jaxs_class():
    x = jnp.arange(3.0)
    assert isinstance(x, jax.Array)
    assert not isinstance(x, np.ndarray)  # as JAX has it, where a module speaks of both
    assert isinstance(x.sum(), jax.Array)
    assert isinstance(x[0], jax.Array)
    assert not isinstance(np.ones(3), jax.Array)
    assert repr(x) == "Array([0., 1., 2.], dtype=float32)"
    assert x.devices() == {x.device} == set(jax.devices())
    assert x.block_until_ready() is x
    assert x.aval.shape == (3,)
    assert not x.weak_type
    assert type(np.asarray(x)) is np.ndarray
    assert type(np.sin(x)) is np.ndarray
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert type(y) is type(x)
        np.testing.assert_array_equal(y, x)


def test_updates_make_new_arrays():
    x = y = jnp.arange(3.0)
    y += 1
    np.testing.assert_array_equal(x, [0, 1, 2])
    np.testing.assert_array_equal(y, [1, 2, 3])
    np.testing.assert_array_equal(x.at[jnp.array([0, 7])].add(5.0), [5, 1, 2])

    @jax.jit
    def f(x):
        y = x
        y += 1
        return x, y

    before, after = f(x)
    np.testing.assert_array_equal(before, [0, 1, 2])
    np.testing.assert_array_equal(after, [1, 2, 3])


def test_results_of_transforms():
    f = jax.jit(lambda tree: {"a": tree["a"] * 2, "b": tree["a"].sum()})
    out = f({"a": jnp.ones(2)})
    assert all(type(x) is type(jnp.ones(1)) for x in jax.tree.leaves(out))
    x = jnp.arange(3.0)
    value, gradient = jax.value_and_grad(lambda x: jnp.sum(x**2))(x)
    assert isinstance(value, jax.Array)
    np.testing.assert_array_equal(gradient, 2 * x)
    out, pullback = jax.vjp(jnp.sin, x)
    assert pullback(jnp.ones(3))[0].dtype == jnp.float32
    assert jax.jvp(jnp.sin, (x,), (x,))[1].devices()
    assert isinstance(jax.vmap(lambda a: a * 2)(x), jax.Array)
    total, partial = lax.scan(lambda c, a: (c + a.at[...].get(), c), jnp.float32(0), x)
    assert total.block_until_ready() == 3
    assert isinstance(partial, jax.Array)

    @jax.custom_vjp
    def g(x):
        return x.at[0].set(0).sum()

    g.defvjp(lambda x: (g(x), x), lambda x, t: (t * x.at[0].set(7),))
    np.testing.assert_array_equal(jax.grad(g)(x), [7, 1, 2])


def test_numbers_of_32_bits():
    assert jnp.arange(3).dtype == jnp.int32
    assert jnp.asarray(np.ones(3)).dtype == np.float32
    assert jnp.sin(np.ones(3)).dtype == jnp.zeros(2, float).dtype == jnp.float32
    assert (jnp.arange(3) / jnp.arange(1, 4)).dtype == jnp.float32
    with jax.enable_x64(True):
        assert jnp.sin(np.ones(3)).dtype == jnp.arange(3.0).dtype == jnp.float64
        assert jax.config.jax_enable_x64
    assert jnp.float32(3).dtype == np.dtype(jnp.float32) == jnp.float32 == np.float32
    assert jnp.issubdtype(jnp.float32, jnp.floating)
    assert jnp.finfo(jnp.ones(1)).eps == np.finfo(np.float32).eps
    assert jnp.bool_.dtype == bool


def test_names():
    from jax import flatten_util, tree_util
    from jax.scipy.stats import norm

    assert jax.__version_info__ >= (0, 4)
    assert tree_util.tree_leaves([1, 2]) == [1, 2]
    flat, unravel = flatten_util.ravel_pytree({"a": jnp.ones(2)})
    assert isinstance(flat, jax.Array)
    assert unravel(flat)["a"].shape == (2,)
    assert norm.logpdf(jnp.zeros(2)).shape == (2,)
    jax.config.update("jax_no_such_option", 3)
    assert jax.config.jax_no_such_option == 3
    with pytest.raises(ImportError, match="written for GPUs"):
        importlib.import_module("jax.experimental.rnn")
    assert jnp.dot(jnp.ones(2), jnp.ones(2), precision="highest", preferred_element_type=None) == 2


def test_arguments_that_libraries_give():
    x = jnp.arange(6.0).reshape(2, 3)
    pooled = jax.vmap(lambda row, reduce, n: reduce(row) + n, (0, None, None))(x, jnp.mean, 1)
    np.testing.assert_array_equal(pooled, [2, 5])
    assert jnp.expand_dims(x, range(1, 3)).shape == (2, 1, 1, 3)
    assert jnp.astype(2.5, jnp.int32) == 2
    found = jnp.unravel_index(jnp.array([5, 6, -1, -9], jnp.int16), (2, 3))
    np.testing.assert_array_equal(found, [[1, 1, 1, 0], [2, 2, 2, 0]])
    assert jnp.result_type(x) == jnp.result_type(float) == jnp.float32
    product = jnp.einsum("ij,kj->ik", x, x, _dot_general=lax.dot_general)
    np.testing.assert_array_equal(product, x @ x.T)
    with pytest.raises(NotImplementedError, match="_dot_general"):
        jnp.einsum("ij,kj->ik", x, x, _dot_general=max)
    with jax.numpy_dtype_promotion("standard"):
        packed, factors = jnp.linalg.qr(x, mode="raw")
    assert (packed.shape, factors.shape) == ((3, 2), (2,))


def test_nothing_given_is_written_to():
    x = jnp.zeros((3, 3))
    with pytest.raises(ValueError, match="inplace=False"):
        jnp.fill_diagonal(x, 1.0)
    np.testing.assert_array_equal(jnp.fill_diagonal(x, 1.0, inplace=False), np.eye(3))
    np.testing.assert_array_equal(jnp.put(x, jnp.array([0, 99]), 5.0, inplace=False)[0], [5, 0, 0])
    np.testing.assert_array_equal(jnp.place(x, x == 0, 2.0, inplace=False), np.full((3, 3), 2))
    jax.scipy.linalg.lu_factor(jnp.eye(3) + x, overwrite_a=True)
    with pytest.raises(NotImplementedError, match="no argument 'out'"):
        jnp.add(x, x, x)
    np.testing.assert_array_equal(x, np.zeros((3, 3)))
    assert (
        jnp.linalg.eigvals(jnp.eye(2)).dtype
        == jnp.roots(jnp.array([1.0, -1.0])).dtype
        == jnp.complex64
    )


def test_dtypes_of_64_bits_that_are_asked_for():
    x = jnp.ones(2)
    for make in (
        lambda: jnp.zeros(2, np.float64),
        lambda: jnp.arange(3, dtype=jnp.int64),
        lambda: x.astype("float64"),
        lambda: x.view(jnp.float64),
        lambda: jnp.float64(3),
        lambda: jax.jit(lambda x: x.astype(jnp.float64))(x),
        lambda: jax.random.normal(jax.random.key(0), (2,), np.float64),
    ):
        with pytest.warns(UserWarning, match="Explicitly requested dtype"):
            assert make().dtype in (np.float32, np.int32)
    assert jnp.zeros(2, float).dtype == x.astype(float).dtype == np.float32  # without a word
    assert jnp.promote_types(np.float64, np.int32) == jnp.promote_types(float, int) == np.float64
    assert jnp.promote_types(np.uint32, np.int8) == np.int32


X = jnp.float32(1)
LOOPS = {
    "scan": (lambda b: lax.scan(lambda c, _: (b(c), None), X, length=2)[0], jnp.int32),
    "fori_loop": (lambda b: lax.fori_loop(0, 2, lambda i, c: b(c), X), lambda c: (c, c)),
    "while_loop": (lambda b: lax.while_loop(lambda c: c < 3, b, X), lambda c: c + jnp.ones(2)),
    "cond": (lambda b: lax.cond(True, lambda c: c, b, X), lambda c: c > 0),
    "switch": (lambda b: lax.switch(1, [lambda c: c, b], X), lambda c: 1),
}


@pytest.mark.parametrize("of", [lambda f: f, jax.jit, jax.vmap, lambda f: functools.partial(f)])
@pytest.mark.parametrize("name", ["associative_scan", "reduce", "reduce_window", "piecewise"])
def test_functions_that_functions_take_have_no_64_bits_either(name, of):
    seen, x = [], jnp.ones((3, 2))

    def add(a, b):
        seen.extend([jnp.ones(2).dtype, jnp.eye(2).dtype, (a + b).dtype])
        return a + b

    two = {
        "associative_scan": lambda: lax.associative_scan(of(add), x),
        "reduce": lambda: lax.reduce(x, 0.0, jax.jit(add), (0,)),
        "reduce_window": lambda: lax.reduce_window(x, 0.0, add, (1, 1), (1, 1), "VALID"),
        "piecewise": lambda: jnp.piecewise(x, [x > 0], [lambda a: add(a, a), 0.0]),
    }
    assert two[name]().dtype == np.float32
    assert {*seen} == {np.dtype(np.float32)}


def test_associative_scans_take_leaves_in_any_containers():
    class Pair(NamedTuple):
        a: jax.Array
        b: jax.Array

    x = Pair(jnp.arange(4.0), jnp.ones(4))
    found = lax.associative_scan(lambda x, y: (x.a + y.a, x.b * y.b), x)
    assert type(found) is Pair
    assert found.a.tolist() == [0, 1, 3, 6]
    with pytest.raises(TypeError, match="structure"):
        lax.associative_scan(lambda x, y: x.a + y.a, x)


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit])
@pytest.mark.parametrize("name", LOOPS)
def test_types_of_carries_and_branches(name, jit):
    f, changed = LOOPS[name]
    assert jit(lambda: f(lambda c: c + 1))().dtype == np.float32
    with pytest.raises(TypeError, match="structure, shapes and dtypes"):
        jit(lambda: f(changed))()


def test_without_jit_one_branch_is_called():
    with jax.disable_jit():
        assert lax.cond(True, lambda: 1, lambda: X) == 1


def test_numpys_functions_and_scalars_meet_arrays():
    x = jnp.arange(3.0)
    for y in (np.float64(2) * x, np.float32(2) - x, np.ones(3) + x, np.int64(1) < x, np.sum(x)):
        assert isinstance(y, jax.Array)
        assert y.dtype in (np.float32, bool)
    np.testing.assert_array_equal(np.float32(2) - x, [2, 1, 0])
    np.testing.assert_array_equal(np.float32(1) < x, [False, False, True])
    for y in (np.concatenate([x, x]), np.stack([x, np.ones(3)]), np.multiply(x, 2), np.sort(x)):
        assert type(y) is np.ndarray
    assert np.concatenate([x, np.arange(2)]).dtype == np.float64


def test_keys_have_a_dtype_of_their_own():
    for key in (jax.random.key(0), jax.random.split(jax.random.key(0))):
        assert key.dtype.type.__name__ == "prng_key"
        assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        assert jax.jit(lambda k: k)(key).dtype == key.dtype


def test_comparisons_of_whole_arrays_are_traced():
    x = np.array([1.0, np.nan])
    for compare, kwargs in (
        (jnp.array_equal, {}),
        (jnp.array_equal, {"equal_nan": True}),
        (jnp.allclose, {"equal_nan": True}),
        (jnp.array_equiv, {}),
    ):
        traced = jax.jit(lambda a, b, f=compare, k=kwargs: f(a, b, **k))
        for y in (x, np.arange(2.0)):
            assert traced(x, y).dtype == jnp.bool_
            assert traced(x, y) == compare(x, y, **kwargs)


def test_index_checks_find_what_is_clipped_otherwise():
    take = jax.jit(lambda x, i: x[i])
    x = jnp.ones(2)
    assert take(x, 10) == 1
    error, _ = checkify.checkify(take, errors=checkify.index_checks)(x, 10)
    assert "out of bounds" in error.get()
    error, y = checkify.checkify(take, errors=checkify.user_checks)(x, 10)
    assert error.get() is None
    assert y == 1


def test_transformed_functions_have_signatures_of_their_own():
    def f(x, *, y=1):
        return x

    for g in (jax.jit(f), jax.vmap(f), jax.grad(f)):
        assert str(inspect.signature(g, follow_wrapped=False)) == "(x, *, y=1)"


def test_types_say_where_arrays_are():
    x = jnp.ones(2)
    assert jax.typeof(x).sharding.is_fully_replicated
    assert jax.typeof(x) == jax.core.ShapedArray((2,), jnp.float32)
    jax.jit(lambda x: jax.typeof(x).sharding.device_set and x)(x)


def test_modules_that_are_absent_have_no_dunder_names():
    for name, module in list(sys.modules.items()):  # as unittest's assertWarns does
        if name.partition(".")[0] == "jax":
            assert getattr(module, "__warningregistry__", None) is None


def test_pmap_says_which_argument_has_no_such_axis():
    with pytest.raises(ValueError, match=r"along axis 0, but that has the shape \(\)"):
        jax.pmap(lambda x, n: x * n)(jnp.ones((1, 2)), 3)
    np.testing.assert_array_equal(
        jax.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(jnp.ones((1, 2)), 3), [[3, 3]]
    )


def test_small_floats_and_integers_are_of_their_kinds():
    x = jnp.ones(2, jnp.bfloat16)
    for dtype in (x.dtype, x.dtype.type, jnp.bfloat16, "bfloat16", jnp.float8_e4m3fn):
        assert jnp.issubdtype(dtype, jnp.floating)
        assert jax.dtypes.issubdtype(dtype, jnp.inexact)
        assert jnp.issubdtype(dtype, np.generic)
        assert not jnp.issubdtype(dtype, jnp.integer)
        assert not jnp.issubdtype(dtype, jnp.float32)
        assert not jnp.issubdtype(dtype, jnp.complexfloating)
    assert jnp.issubdtype(x.dtype, jnp.bfloat16)
    assert not jnp.issubdtype(jnp.float32, jnp.bfloat16)
    assert jnp.issubdtype(jnp.int4, jnp.signedinteger)
    assert not jnp.issubdtype(jnp.int4, jnp.unsignedinteger)
    assert jnp.issubdtype(jnp.uint4, jnp.unsignedinteger)
    assert jnp.issubdtype(jnp.uint4, jnp.integer)
