"""What libraries built on JAX do, and programs seldom, run by tests/compat/test_jax.py with `jax` meaning fungrad. All of it passes by JAX."""

import collections
import enum
import functools
import gc
import inspect
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src import literals, pjit
from jax._src.api_util import infer_argnums_and_argnames
from jax._src.interpreters import batching
from jax._src.numpy import index_tricks
from jax._src.numpy import vectorize as gufuncs
from jax._src.numpy.array_methods import _IndexUpdateHelper, _IndexUpdateRef
from jax._src.numpy.util import promote_args_inexact, promote_dtypes_complex
from jax.experimental import io_callback, sparse
from jax.experimental.sparse.linalg import lobpcg_standard, spsolve
from jax.extend import core as extend_core
from jax.extend import linear_util
from jax.extend.core import primitives as P
from jax.flatten_util import ravel_pytree
from jax.interpreters import partial_eval
from jax.scipy.optimize import minimize
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

X = jnp.arange(6.0).reshape(2, 3)


def test_arrays_of_numpys_to_which_traced_ones_are_added():
    def f(x):
        total = other = np.ones(3)
        parts = [np.zeros(3)]
        total += x
        parts[0] -= 2 * x
        total *= x
        return jnp.sum(total) + jnp.sum(parts[0]) + other[0]

    x = jnp.arange(3.0)
    for transform in (jax.grad, lambda f: jax.jit(jax.grad(f)), jax.jacfwd, jax.jacrev):
        np.testing.assert_array_equal(transform(f)(x), [-1.0, 1.0, 3.0])
    assert jax.vmap(f)(jnp.ones((2, 3))).tolist() == [1.0, 1.0]


def test_constants_of_transforms_may_leave_them():
    kept = []

    def build(x):
        mask = jnp.tril(jnp.ones((2, 2))) > 0
        kept.extend([mask, jnp.zeros_like(x), jnp.float32(2), jnp.eye(2)[0], jnp.arange(3) ** 2])
        kept.extend([jnp.zeros(3).at[0].set(1.0), jnp.linspace(0.0, 1.0, 3), jnp.array([1, 2])])
        flat, unravel = ravel_pytree({"a": jnp.ones(2), "b": {"c": jnp.zeros((2, 2))}})
        kept.extend([flat, unravel(flat)["a"], lax.fori_loop(0, 3, lambda i, c: c + i, 0)])
        kept.append(jax.pure_callback(np.sin, jax.typeof(flat), flat))
        return jnp.sum(mask) * x

    x = jnp.float32(3)
    for run in (jax.grad, jax.vmap, jax.jacfwd, lambda f: lambda x: jax.jvp(f, (x,), (x,))):
        del kept[:]
        run(build)(jnp.ones(2) if run is jax.vmap else x)
        for value in kept:
            assert isinstance(value, jax.Array)
            assert isinstance(value + 0, jax.Array)
            assert (value + 0).shape == value.shape == np.asarray(value).shape
    assert jax.jit(jax.grad(build))(x) == 3


def test_members_of_enumerations_are_integers():
    class Status(enum.IntEnum):
        NORMAL = 0
        BAD = 2

    bad = Status.BAD
    for run in (lambda f: f, jax.jit):
        np.testing.assert_array_equal(run(lambda x: bad * x + x * bad)(X), 4 * X)
        assert run(lambda s: s + 1)(bad) == 3
        assert run(lambda: jnp.where(True, bad, 1.0))() == 2
    assert lax.fori_loop(0, 3, lambda i, c: c + 1, bad) == 5
    assert lax.cond(True, lambda s: s, lambda s: 1 - s, bad).weak_type
    assert jax.grad(lambda x, s: x * s)(1.0, bad) == jnp.array(bad) == 2


def test_integers_to_negative_powers():
    n = jnp.arange(-3, 4)
    for run in (lambda f: f, jax.jit, jax.vmap):
        np.testing.assert_array_equal(run(lambda n: (-1) ** n)(n), [-1, 1, -1, 1, -1, 1, -1])
        np.testing.assert_array_equal(run(lambda n: np.int32(2) ** n)(n), [0, 0, 0, 1, 2, 4, 8])
        found = run(lambda n: jnp.power(jnp.int8(3), n))(n)
        np.testing.assert_array_equal(found[:4], [-1197088493, 703701817, 2111105451, 1])
        with pytest.raises(TypeError, match="negative powers"):
            run(lambda n: n**-1)(n)
    np.testing.assert_array_equal(n.at[:2].power(n[:2])[:2], [1197088493, 0])


def test_sparse_arrays():
    a = jnp.array([[4.0, 0, 1], [1, 3, 0]])
    v = jnp.arange(3.0)
    for kind in (sparse.BCOO, sparse.BCSR):
        m = kind.fromdense(a)
        np.testing.assert_array_equal(m.todense(), a)
        np.testing.assert_array_equal(jax.jit(lambda m, v: m @ v)(m, v), a @ v)
        np.testing.assert_array_equal(kind.fromdense(a, nse=6) @ a.T, a @ a.T)
        assert repr(m) == f"{kind.__name__}(float32[2, 3], nse=4)"
    m = sparse.BCOO.fromdense(a)
    np.testing.assert_array_equal((2 * m + m.T.T - m * a).todense(), 3 * a - a * a)
    np.testing.assert_array_equal(sparse.sparsify(lambda m, v: v[:2] @ m + v)(m, v), v[:2] @ a + v)
    np.testing.assert_array_equal(jax.grad(lambda v: jnp.sum(m @ v))(v), a.sum(0))
    b = sparse.BCSR.fromdense(a[:, :2])
    for run in (lambda f: f, jax.jit):
        found = run(spsolve)(b.data, b.indices, b.indptr, v[:2])
        np.testing.assert_allclose(found, [0, 1 / 3], atol=1e-6)


def test_private_names_of_arguments_and_numbers():
    promoted = promote_dtypes_complex(jnp.ones(2), jnp.arange(2))
    assert [x.dtype for x in promoted] == [jnp.complex64] * 2
    assert promote_args_inexact("f", X, 1)[1].dtype == jnp.float32
    with pytest.raises(TypeError, match="f requires ndarray or scalar arguments"):
        promote_args_inexact("f", X, [1])
    signature = inspect.signature(lambda a, b, *, c=1: None)
    assert infer_argnums_and_argnames(signature, None, ("b", "c")) == ((1,), ("b", "c"))
    assert infer_argnums_and_argnames(signature, 0, None) == ((0,), ("a",))
    assert jax.make_jaxpr(jax.jit(jnp.sin))(1.0).eqns[0].primitive is pjit.jit_p is P.jit_p
    three = literals.TypedInt(3, np.dtype("int32"))
    assert repr(three) == "TypedInt(3, dtype=int32)"
    assert three.aval.weak_type
    assert jnp.sum(X * three) == 45
    assert isinstance(jnp.c_, index_tricks.CClass)
    assert index_tricks.RClass()[1:3, 5].shape == (3,)


def test_bits_of_generators():
    key = jnp.array([1, 2, 3, 4], jnp.uint32)
    after, bits = lax.rng_bit_generator(key, (2, 3))
    assert after.tolist() == [1, 2, 5, 4]
    assert bits.ravel()[::4].tolist() == [512747620, 1383286907]
    three_fry = lax.RandomAlgorithm.RNG_THREE_FRY
    after, bits = jax.jit(lambda k: lax.rng_bit_generator(k, (2, 3), algorithm=three_fry))(key)
    assert after.tolist() == [1, 2, 6, 4]
    assert bits[:, 1].tolist() == [740599976, 2425682526]


def test_a_search_does_not_begin_at_nan():
    def found(x):
        return minimize(lambda x: jnp.sum(jnp.log(x) + 1 / x), x, method="BFGS")[:3]

    for run in (lambda f: f, jax.jit):
        x, success, status = run(found)(jnp.array([-1.0]))
        assert (float(x[0]), bool(success), int(status)) == (-1.0, False, 5)


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


def test_equations_are_inverted_one_by_one():
    """As distrax's `Lambda` does: by primitives, with the numbers that equations have as literals."""
    primitives = jax.extend.core.primitives
    inverses = {
        lax.exp_p: lax.log_p.bind,
        lax.tanh_p: lax.atanh_p.bind,
        lax.add_p: lambda y, c: lax.sub_p.bind(y, c),
        lax.mul_p: lambda y, c: lax.div_p.bind(y, c),
        lax.integer_pow_p: lambda x, *, y: lax.pow_p.bind(x, 1.0 / y),
    }

    def inverse(jaxpr, consts, y):
        values = {jaxpr.outvars[0]: y}
        for eqn in reversed(jaxpr.eqns):
            (variable,) = [v for v in eqn.invars if isinstance(v, jax.extend.core.Var)]
            literals = [v.val for v in eqn.invars if isinstance(v, jax.extend.core.Literal)]
            y = values[eqn.outvars[0]]
            if eqn.primitive is primitives.jit_p:
                body = eqn.params["jaxpr"]
                closed = jax.make_jaxpr(functools.partial(inverse, body.jaxpr, body.consts))(y)
                params = {k: x for k, x in eqn.params.items() if k != "jaxpr"}
                (values[variable],) = eqn.primitive.bind(y, jaxpr=closed, **params)
            else:
                params = {k: x for k, x in eqn.params.items() if k == "y"}
                values[variable] = inverses[eqn.primitive](y, *literals, **params)
        return values[jaxpr.invars[0]]

    def f(x):
        return jax.jit(lambda y: 3.0 * jnp.tanh(y) + 1.0)(2 * x) ** 3

    for x in (jnp.array([0.1, 0.2]), jnp.float32(0.3)):
        closed = jax.make_jaxpr(f)(x)
        assert [eqn.primitive.name for eqn in closed.eqns] == ["mul", "jit", "integer_pow"]
        assert closed.eqns[-1].params["y"] == 3
        back = jax.jit(functools.partial(inverse, closed.jaxpr, closed.consts))(f(x))
        np.testing.assert_allclose(back, x, rtol=1e-5)


def test_equations_have_the_parameters_of_jax():
    def params(f, *args):
        eqns = jax.make_jaxpr(f)(*args).eqns
        return {eqn.primitive.name: eqn.params for eqn in eqns}

    made = params(lambda x: lax.broadcast_in_dim(x, (2, 3), (1,)).astype(jnp.int32), X[0])
    assert made["broadcast_in_dim"]["broadcast_dimensions"] == (1,)
    assert made["convert_element_type"]["new_dtype"] == np.dtype("int32")
    made = params(lambda x, y: jnp.transpose(x @ y)[::-1].reshape(9), X.T, X)
    assert made["dot_general"]["dimension_numbers"] == (((1,), (0,)), ((), ()))
    assert made["transpose"]["permutation"] == (1, 0)
    assert made["rev"]["dimensions"] == (0,)
    assert made["reshape"]["new_sizes"] == (9,)
    names = [eqn.primitive.name for eqn in jax.make_jaxpr(jax.nn.sigmoid)(X).eqns]
    assert "logistic" in names
    (eqn,) = jax.make_jaxpr(jnp.reciprocal)(X).eqns
    assert (eqn.primitive.name, eqn.params["y"]) == ("integer_pow", -1)


def test_arrays_without_axes_are_constants_and_numbers_are_not():
    """As optimistix compares programs: where one begins with an array of 0, another has what is computed."""
    begin, weights = jnp.array(0), jnp.arange(3.0)

    def f(x, i):
        return (x + weights) * weights + 1.5 * i

    closed = jax.make_jaxpr(lambda x: f(x, begin))(X[0])
    assert sorted(c.shape for c in closed.consts) == [(), (3,)]
    expected = f(X[0], begin)
    np.testing.assert_array_equal(
        jax.core.eval_jaxpr(closed.jaxpr, closed.consts, X[0])[0], expected
    )
    assert jax.make_jaxpr(lambda x: x * np.float32(2) + 1.5)(X[0]).consts == []


def test_programs_run_by_their_equations_alone():
    def f(x, y):
        z = jnp.where(x > 1, 2 * x, y) @ y.T
        return (z.astype(jnp.int32) & 3).sum(), jnp.sort(z + jnp.float32(1), axis=0), 1 / (1 + z)

    closed = jax.make_jaxpr(f)(X, X)
    assert closed.eqns[0].primitive is lax.gt_p
    assert isinstance(closed.eqns[0].invars[1], jax.extend.core.Literal)
    for run in (jax.core.eval_jaxpr, jax.jit(jax.core.eval_jaxpr, static_argnums=0)):
        for ours, expected in zip(run(closed.jaxpr, closed.consts, X, X), f(X, X), strict=True):
            np.testing.assert_array_equal(ours, expected)


def test_primitives_are_bound_with_the_parameters_of_equations():
    inert = {"sharding": None}
    x, three = jnp.array([1.0, 2.0]), jnp.array([1, 3])
    cases = [
        (lax.select_n_p.bind(x > 1, x, -x), [1, -2]),
        (lax.pow_p.bind(x, 2.0), [1, 4]),
        (lax.integer_pow_p.bind(x, y=2), [1, 4]),
        (lax.convert_element_type_p.bind(x, new_dtype=np.dtype("int32"), weak_type=False, **inert), [1, 2]),
        (lax.exp_p.bind(jnp.zeros(2), accuracy=None), [1, 1]),
        (lax.transpose_p.bind(X, permutation=(1, 0)), X.T),
        (lax.reduce_sum_p.bind(X, axes=(1,), out_sharding=None), [3, 12]),
        (lax.reshape_p.bind(X, new_sizes=(6,), dimensions=None, **inert), range(6)),
        (lax.concatenate_p.bind(x, x, dimension=0), [1, 2, 1, 2]),
        (lax.and_p.bind(three, jnp.array([3, 2])), [1, 2]),
        (lax.not_p.bind(three), [-2, -4]),
        (lax.sort_p.bind(-x, dimension=0, is_stable=True, num_keys=1)[0], [-2, -1]),
        (lax.broadcast_in_dim_p.bind(x, shape=(2, 2), broadcast_dimensions=(1,), **inert), [[1, 2]] * 2),
        (lax.iota_p.bind(dtype=np.dtype("int32"), shape=(3,), dimension=0, **inert), [0, 1, 2]),
        (lax.argmax_p.bind(x, axes=(0,), index_dtype=np.dtype("int32")), 1),
        (lax.clamp_p.bind(jnp.float32(0), x - 1.5, jnp.float32(0.25)), [0, 0.25]),
    ]  # fmt: skip
    for given, expected in cases:
        np.testing.assert_array_equal(given, np.asarray(expected))


def test_numbers_stay_weak_in_branches_and_loops():
    """So the body of a loop is traced once: what it takes as a number it returns as one."""

    def weak(tree):
        return [x.weak_type for x in jax.tree.leaves(tree)]

    x = jnp.float32(2)
    for transform in (lambda f: f, jax.jit):
        assert weak(transform(lambda p: lax.cond(p, lambda: 1.0, lambda: 2.0))(True)) == [True]
        chosen = transform(lambda p: lax.cond(p, 1, lambda a: a, (2, 3), lambda a: a[0] + a[1]))
        assert weak(chosen(True)) == weak(chosen(False)) == [True]
        assert (
            transform(lambda p: jnp.int8(3) * lax.cond(p, lambda: 1, lambda: 2))(True).dtype
            == np.int8
        )
        mixed = transform(lambda p: lax.cond(p, lambda y: y, lambda y: 2 * y, x))(True)
        assert weak(mixed) == [False]
    loop = jax.jit(
        lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * n, 2 * c[2]), (0, 1.0, 1.0))
    )  # fmt: skip
    assert weak(loop(x)) == [True, False, True]
    carry, (i, y, two) = jax.jit(
        lambda: lax.scan(lambda c, y: (c + 1, (c, y, 2.0)), 0, jnp.arange(3.0))
    )()
    assert weak((carry, i, y, two)) == [True, True, False, True]

    count = []

    def body(state):
        count.append(None)
        depth, steps, y = state
        new = 0, 1, 2 * y
        depth, steps, y = lax.cond(
            steps == 0,
            new,
            lambda a: a,
            (state, new),
            lambda a: (a[0][0] + 1, a[0][1] + a[1][1], y),
        )
        return depth, steps, y

    result = jax.jit(lambda y: lax.while_loop(lambda s: s[1] < 4, body, (0, 0, y)))(x)
    assert [float(v) for v in result] == [3, 4, 4]
    assert len(count) == 1


def test_arrays_of_the_host_are_numpys():
    got = jax.device_get({"a": (X, jnp.float32(2)), "b": [None, 2.0, np.float32(1)]})
    assert [type(x) for x in jax.tree.leaves(got)] == [np.ndarray, np.ndarray, float, np.ndarray]
    assert set(jax.device_get(jnp.arange(3))) == {0, 1, 2}


@pytest.mark.filterwarnings("error")
def test_functions_of_numpy_testing_compare_without_a_warning():
    nans = jnp.array([1.0, jnp.nan])
    np.testing.assert_array_equal(nans, nans)
    np.testing.assert_array_almost_equal(jnp.log(nans), jnp.log(nans))
    np.testing.assert_array_less(nans, nans + 1)
    for compare in (np.testing.assert_array_equal, np.testing.assert_allclose):
        with pytest.raises(AssertionError, match="Mismatched elements: 1 / 2"):
            compare(nans, nans.at[0].set(2.0))


def test_updates_out_of_bounds():
    x = jnp.zeros(4)
    put = functools.partial(jnp.put, inplace=False)
    np.testing.assert_array_equal(put(x, jnp.array([-1, 9]), jnp.array([1.0, 2.0])), [0, 0, 0, 2])
    np.testing.assert_array_equal(put(x, jnp.array([-9, 2]), 1.0), [1, 0, 1, 0])
    along = functools.partial(jnp.put_along_axis, axis=1, inplace=False)
    x, at = jnp.zeros((2, 3)), jnp.array([[7], [-1]])
    for run in (lambda f: f, jax.jit):
        np.testing.assert_array_equal(run(along)(x, at, 1.0), [[0, 0, 0], [0, 0, 1]])
        clipped = run(functools.partial(along, mode="clip"))(x, at, 1.0)
        np.testing.assert_array_equal(clipped, [[0, 0, 1], [0, 0, 1]])
    with pytest.raises(ValueError, match="same ndim"):
        along(x, jnp.array([0]), 1.0)


def test_dtypes_of_complex_numbers():
    assert jnp.iscomplexobj(jnp.complex64)
    assert jnp.iscomplexobj(1j)
    assert not jnp.iscomplexobj(jnp.float32)
    assert jnp.isrealobj(X)
    to_complex = jax._src.dtypes.to_complex_dtype
    assert to_complex("int8") == to_complex(jnp.bfloat16) == np.complex64
    assert to_complex("int64") == np.complex128


def test_roots_of_traced_polynomials():
    roots = jax.jit(lambda p: jnp.roots(p, strip_zeros=False))(jnp.array([1.0, -3.0, 2.0]))
    np.testing.assert_allclose(np.sort(np.real(roots)), [1, 2], rtol=1e-5)


def test_what_tells_shapes_apart_says_so():
    for broadcast in (jnp.broadcast_shapes, lax.broadcast_shapes):
        assert broadcast((3, 1), (2,)) == (3, 2)
        with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
            broadcast((2,), (3,))


def test_stacked_normal_distributions():
    normal = jax.scipy.stats.multivariate_normal
    cov = jnp.array([[1.0, 0.3], [0.3, 2.0]])
    x, means = jnp.ones(2), jnp.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    each = [normal.logpdf(x, mean, cov) for mean in means]
    np.testing.assert_allclose(normal.logpdf(x, means, cov), np.stack(each), rtol=1e-6)
    np.testing.assert_allclose(normal.pdf(x, means, cov), np.exp(np.stack(each)), rtol=1e-6)
    stacked = normal.logpdf(x, means[0], jnp.stack([cov, 2 * cov]))
    np.testing.assert_allclose(stacked[0], each[0], rtol=1e-6)
    assert normal.logpdf(x[0].astype(jnp.float16), jnp.float16(0), 1.0).dtype == jnp.float16
    slope = jax.grad(lambda mean: normal.logpdf(x, mean, cov))(jnp.zeros(2))
    np.testing.assert_allclose(slope, np.linalg.solve(np.asarray(cov), [1, 1]), rtol=1e-5)
    with pytest.raises(ValueError, match="incompatible shapes"):
        normal.logpdf(x, means[0], jnp.ones(2))


def test_roots_of_log_densities():
    """As blackjax's marginal distributions by Laplace's method: 32 bits also where a density computes in 64."""
    norm, y, start = jax.scipy.stats.norm, jnp.array([0.1, 0.4]), jnp.zeros(2)

    def log_joint(x, scale):
        return norm.logpdf(x, 0.0, scale).sum() + norm.logpdf(y, x, 1.0).sum()

    def mode(log_scale):
        def solved(g, b):
            return jnp.linalg.solve(jax.jacobian(g)(jnp.zeros_like(start)), b)

        def residual(x):
            return jax.grad(log_joint)(x, jnp.exp(log_scale))

        return lax.custom_root(residual, start, lambda f, x: y / 2, solved)

    x, slope = mode(jnp.array(0.0)), jax.jacobian(mode)(jnp.array(0.0))
    np.testing.assert_allclose(x, y / 2)
    np.testing.assert_allclose(slope, y / 2, rtol=1e-6)
    assert slope.dtype == jnp.float32


def test_traced_arrays_are_not_fetched():
    np.testing.assert_array_equal(jax.jit(lambda x: jax.device_get([x, 2.0])[0] * 2)(X), 2 * X)


def test_pytrees_are_close():
    from jax._src.public_test_util import check_close

    check_close([X, 1.0], [X + 1e-6, 1.0])
    check_close(X, X + 0.1, atol={np.float32: 0.1}, rtol={np.float32: 0.1})
    with pytest.raises(AssertionError):
        check_close([X], [X + 0.1])
    with pytest.raises(AssertionError):
        check_close(X, X[:1])


def test_infinities_in_the_place_of_nan_are_replaced():
    x = jnp.array([jnp.nan, jnp.inf, -jnp.inf, 1.0])
    least, most = jnp.finfo(x.dtype).min, jnp.finfo(x.dtype).max
    np.testing.assert_array_equal(jnp.nan_to_num(x), [0, most, least, 1])
    np.testing.assert_array_equal(jnp.nan_to_num(x, nan=-jnp.inf), [least, most, least, 1])
    np.testing.assert_array_equal(jnp.nan_to_num(x, nan=-jnp.inf, neginf=5.0), [5, most, 5, 1])
    np.testing.assert_array_equal(jnp.nan_to_num(x, posinf=-jnp.inf), [0, least, least, 1])
    np.testing.assert_array_equal(jnp.nan_to_num(1j * x)[3], 1j)
    assert jnp.nan_to_num(jnp.arange(3)).dtype == jnp.int32
    np.testing.assert_array_equal(jax.grad(lambda x: jnp.nan_to_num(x).sum())(x), [0, 0, 0, 1])


def test_types_are_told_as_they_are_where_64_bits_are_off():
    told = [str(jax.typeof(x)) for x in (1.0, 1, 1j, True, X, jnp.asarray(1.0))]
    assert told == [
        "~float32[]",
        "~int32[]",
        "~complex64[]",
        "bool[]",
        "float32[2,3]",
        "~float32[]",
    ]
    assert jnp.iscomplexobj(jax.ShapeDtypeStruct((2,), jnp.complex64))


def test_densities_of_traced_numbers_are_of_32_bits():
    dtypes, stats = [], jax.scipy.stats

    def seen(x):
        found = stats.norm.logpdf(X[0], x), stats.norm.logpdf(1.0, x), stats.gamma.logpdf(x, 2.0)
        dtypes.extend([y.dtype for y in found])
        return x.sum()

    for transform in (jax.jit, jax.grad, jax.vmap):
        transform(seen)(X[0])
    assert set(dtypes) == {np.dtype(np.float32)}


def test_results_of_branches_are_weak_where_those_of_the_first_are():
    operands = jnp.asarray(1.0), jnp.float32(1.0)  # a weak one, and one that is not
    weak, strong = (lambda x, y: x), (lambda x, y: y)

    def results(x, *operands):
        return (
            lax.cond(x > 0, strong, weak, *operands),
            lax.cond(x > 0, weak, strong, *operands),
            lax.switch(1, [weak, strong], *operands),
            lax.switch(1, [strong, weak], *operands),
        )

    for run in (lambda f: f, jax.jit):
        assert [x.weak_type for x in run(results)(1.0, *operands)] == [True, False, True, False]


def test_rolling_by_traced_numbers():
    x = jnp.arange(12).reshape(3, 4)
    rows = jax.vmap(jnp.roll)(x, -jnp.arange(3))
    np.testing.assert_array_equal(rows, [[0, 1, 2, 3], [5, 6, 7, 4], [10, 11, 8, 9]])
    np.testing.assert_array_equal(jax.jit(jnp.roll)(x, 2), np.roll(x, 2))


def test_functions_are_traced_once_however_often_they_are_jitted():
    traced = []

    def double(x):
        traced.append(x.shape)
        return 2 * x

    for n in range(3):
        for options in {}, {"inline": True}, {"static_argnums": ()}:
            np.testing.assert_array_equal(jax.jit(double, **options)(jnp.full(2, n)), [2 * n] * 2)
    assert traced == [(2,)]
    assert jax.jit(double, static_argnums=0)(np.float32(2)) == 4  # it has no program in common
    jax.jit(double)(jnp.ones(3))
    assert traced == [(2,), (), (3,)]
    jax.clear_caches()
    jax.jit(double)(jnp.ones(3))
    assert traced == [(2,), (), (3,), (3,)]


def test_what_functions_were_compiled_to_goes_with_them():
    def make():
        return jax.jit(lambda x: jnp.sin(x) + 1)

    def g(x):
        return make()(x)

    jax.jit(g)(1.0)
    alive = weakref.ref(g)
    del g
    gc.collect()
    assert alive() is None


def test_methods_are_compiled_for_each_object():
    class Scale:
        def __init__(self, by):
            self.by = by

        def of(self, x):
            return self.by * x

        __call__ = of

    assert [float(jax.jit(f)(2.0)) for f in (Scale(1), Scale(2), Scale(3).of, Scale(4).of)] == [
        2,
        4,
        6,
        8,
    ]


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["called", "jitted"])
def test_errors_of_callbacks_are_those_of_the_program(wrap):
    def failing(x):
        raise KeyError("nothing there")

    shape = jax.ShapeDtypeStruct((), np.float32)

    def pure(x):
        return jax.pure_callback(failing, shape, x)

    def ordered(x):
        return io_callback(failing, shape, x, ordered=True)

    for f in pure, ordered:
        with pytest.raises(jax.errors.JaxRuntimeError, match="nothing there") as caught:
            jax.block_until_ready(wrap(f)(jnp.float32(1)))
        assert isinstance(caught.value, RuntimeError)


def test_errors_of_debug_callbacks():
    def failing(x):
        raise KeyError("nothing there")

    def f(x):
        jax.debug.callback(failing, x)
        return x

    with pytest.raises(KeyError):
        f(jnp.float32(1))

    def run(x):
        jax.block_until_ready(jax.jit(f)(x))
        jax.effects_barrier()

    with pytest.raises(jax.errors.JaxRuntimeError, match="nothing there"):
        run(jnp.float32(1))


def test_functions_within_checkpoint_are_traced():
    states = [extend_core.get_opaque_trace_state()]

    def seen(x):
        states.append(extend_core.get_opaque_trace_state())
        return jnp.sin(x)

    seen(1.0)
    jax.checkpoint(seen)(1.0)
    seen(1.0)
    jax.grad(jax.checkpoint(seen))(1.0)
    same = [state == states[0] for state in states]
    assert same[:4] == [True, True, False, True]
    assert not any(same[4:])


def weak(*results):
    """Whether each result is weak."""
    return [jax.typeof(x).weak_type for x in jax.tree.leaves(results)]


def test_derivatives_of_weak_numbers_are_weak():
    def strong(x):
        return jnp.float32(2) * x

    for f, is_weak in ((jnp.sin, True), (lambda x: x * x + 1, True), (strong, False)):
        assert weak(jax.grad(f)(2.0), jax.jit(jax.grad(f))(2.0), jax.jacrev(f)(2.0)) == [True] * 3
        value, pullback = jax.vjp(f, 2.0)
        pushed, derivative = jax.linearize(f, 2.0)
        assert weak(pullback(value)) == [True]
        values = value, pushed, derivative(1.0), jax.jvp(f, (2.0,), (1.0,))
        assert weak(values, jax.value_and_grad(f)(2.0)[0]) == [is_weak] * 6
        half = jnp.ones((), jnp.bfloat16)
        assert (jax.grad(f)(2.0) * half).dtype == jnp.bfloat16


def test_weak_arrays_that_functions_close_over_stay_weak():
    one, half = jnp.asarray(1.0), jnp.ones(2, jnp.bfloat16)

    def f(x):
        return x * one, one

    assert weak(jax.jit(f)(half), jax.vmap(f)(half)) == [False, True] * 2
    assert [x.weak_type for x in jax.eval_shape(f, half)] == [False, True]
    assert jax.make_jaxpr(f)(half).out_avals[1].weak_type


def test_loops_that_start_with_numbers_are_traced_once():
    traced = []

    def step(carry, y):
        traced.append(carry)
        return carry + y, carry

    for run in (lambda f: f, jax.jit):
        results = run(lambda: lax.scan(step, 0.0, jnp.ones(3, jnp.float32)))()
        assert weak(results) == [False, True]
        results = run(lambda: lax.fori_loop(0, 3, lambda i, x: step(x, 2.0)[0], 1.0))()
        assert weak(results) == [True]
        ends = run(
            lambda: lax.while_loop(
                lambda x: x[1] < 3, lambda x: (step(x[0], jnp.float32(1))[0], x[1] + 1), (0.0, 0)
            )
        )()
        assert weak(ends) == [False, True]
    assert len(traced) <= 6  # that of `scan` may be known from before


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["called", "jitted"])
def test_what_moves_elements_keeps_weakness(wrap):
    x = jnp.asarray([1.0])[0] * 0 + jnp.asarray(1.0)  # strong
    one = jnp.asarray(1.0)

    def f(x):
        kept = [
            jnp.array(one),
            jnp.asarray(one),
            jnp.full(2, one),
            one[None],
            jnp.expand_dims(one, 0),
            jnp.broadcast_to(one, (2,)),
            jnp.concatenate([one[None], one[None]]),
            jnp.stack([one, one]),
            jnp.where(x > 0, one, 2),
            jnp.select([x > 0], [one], 0.0),
            one[None].at[0].set(2.0),
            jnp.squeeze(one[None]),
            jnp.zeros_like(one),
        ]
        lost = [
            one.astype(jnp.float32),
            jnp.float32(one),
            jnp.sum(one),
            jnp.array([one, one]),
            one * x,
        ]
        return kept, lost

    kept, lost = wrap(f)(x)
    assert weak(kept) == [True] * len(kept)
    assert weak(lost) == [False] * len(lost)


def test_sums_and_eigenvalues_of_sparse_arrays():
    a = np.array([[4.0, 0, 1], [1, 3, 0]], np.float32)
    m = sparse.BCOO.fromdense(jnp.array(a))
    for axes in ((0,), (1,), (0, 1)):
        np.testing.assert_array_equal(sparse.bcoo_reduce_sum(m, axes=axes).todense(), a.sum(axes))
    b = np.diag(2.0 ** np.arange(12, dtype=np.float32))
    start = jnp.array(np.random.RandomState(0).randn(12, 2).astype(np.float32))
    for matrix in (jnp.array(b), lambda v: jnp.array(b) @ v):
        values, vectors, _ = lobpcg_standard(matrix, start)
        np.testing.assert_allclose(values, [2048, 1024], rtol=1e-5)
        np.testing.assert_allclose(abs(vectors[[11, 10], [0, 1]]), 1, rtol=1e-3)


@pytest.mark.filterwarnings("ignore:jax.scipy.special.lpmn_values")
def test_associated_legendre_functions():
    z = np.array([-0.3, 0.0, 0.7, 1.0], np.float32)
    for is_normalized in (False, True):
        found = jax.scipy.special.lpmn_values(3, 3, jnp.array(z), is_normalized)
        assert found.shape == (4, 4, 4)
        scale = np.sqrt(7 / (4 * np.pi)) if is_normalized else 1
        np.testing.assert_allclose(found[0, 3], scale * (5 * z**3 - 3 * z) / 2, atol=1e-6)
        scale = np.sqrt(7 / (4 * np.pi) / 720) if is_normalized else 1
        np.testing.assert_allclose(found[3, 3], -15 * scale * (1 - z * z) ** 1.5, atol=1e-5)
    with pytest.raises(NotImplementedError):
        jax.scipy.special.lpmn_values(2, 3, jnp.array(z), True)


def test_what_is_computed_at_once_within_jit():
    def f(x):
        with jax.core.eval_context():
            n = int((jnp.arange(3) + 1).sum())
        return x * n

    assert jax.jit(f)(2.0) == 12
    assert isinstance(X.at, _IndexUpdateHelper)
    assert isinstance(X.at[0], _IndexUpdateRef)
    assert jax.sharding.auto_axes(out_sharding=None)(f) is not None


def test_bytes_of_traced_arrays_as_another_dtype():
    x = jnp.arange(4.0)
    for dtype, y in (("complex64", x), ("int32", x), ("int8", x), ("float32", x + 1j)):
        expected = np.asarray(y).view(dtype)
        for found in (y.view(dtype), jax.jit(lambda y: y.view(dtype))(y)):  # noqa: B023
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == dtype
            assert not found.weak_type
    size = jax.grad(lambda x: jnp.abs(x.view(jnp.complex64)).sum())
    np.testing.assert_allclose(size(jnp.array([3.0, 4.0])), [0.6, 0.8], rtol=1e-6)
    with pytest.raises(ValueError, match=r"."):
        jax.jit(lambda x: x.view(jnp.complex64))(x[:3])


def test_numbers_that_are_moved_are_weak():
    moved = {
        "broadcast_to": lambda x: jnp.broadcast_to(x, (3,)),
        "expand_dims": lambda x: jnp.expand_dims(x, 0),
        "reshape": lambda x: jnp.reshape(x, (1,)),
        "ravel": jnp.ravel,
        "atleast_1d": jnp.atleast_1d,
        "zeros_like": jnp.zeros_like,
        "of lax": lambda x: lax.broadcast_in_dim(x, (2,), ()),
    }
    for name, f in moved.items():
        for number in (2, 2.5):
            for run in (f, jax.jit(f), lambda x: jax.jit(lambda: f(x))()):  # noqa: B023
                assert run(number).weak_type, name


def test_parts_of_vectorize():
    inputs, outputs = gufuncs._parse_gufunc_signature("(m,n),(n),()->(m),()")
    assert (inputs, outputs) == ([("m", "n"), ("n",), ()], [("m",), ()])
    for wrong in ("(m,n)", "m->(n)", "(m)->n", "(m+1)->()"):
        with pytest.raises(ValueError, match="not a valid gufunc signature"):
            gufuncs._parse_gufunc_signature(wrong)
    args = jnp.ones((4, 1, 2, 3)), jnp.ones((5, 3)), jnp.ones(())
    shape, sizes = gufuncs._parse_input_dimensions(args, inputs, "here")
    assert (shape, sizes) == ((4, 5), {"m": 2, "n": 3})
    with pytest.raises(ValueError, match="inconsistent size for core dimension 'n': 4 vs 3 here"):
        gufuncs._parse_input_dimensions((args[0], jnp.ones(4), 1.0), inputs, "here")
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        gufuncs._parse_input_dimensions((jnp.ones(3), *args[1:]), inputs, "here")
    with pytest.raises(TypeError, match="expected 3, got 2 here"):
        gufuncs._parse_input_dimensions(args[:2], inputs, "here")
    checked = gufuncs._check_output_dims(lambda x: (x, x.sum()), sizes, outputs, "here")
    assert len(checked(jnp.ones(2))) == 2
    with pytest.raises(ValueError, match="inconsistent size"):
        checked(jnp.ones(3))
    f, rest, options = gufuncs._apply_excluded(
        lambda *a, **k: (a, k), {1, "b"}, (1, 2, 3), {"b": 4, "c": 5}
    )
    assert ([*rest], options) == ([1, 3], {"c": 5})
    assert f(7, 8, c=6) == ((7, 2, 8), {"c": 6, "b": 4})


def test_classes_that_libraries_ask_for():
    assert not isinstance(jnp.ones(2), jax.stages.ArgInfo)
    info = jax.stages.ArgInfo(jax.typeof(jnp.ones(2)), donated=False)
    assert (info.shape, info.dtype, info.donated) == ((2,), jnp.float32, False)
    assert not batching.is_vmappable(jnp.ones(2))


class Described:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


@pytest.mark.parametrize("dtype", [float, "float32", np.float32, jnp.float32, np.dtype("f4")])
def test_what_has_a_shape_and_a_dtype_stands_for_an_array(dtype):
    x, f = Described((3,), dtype), lambda x: 2 * x
    wide = jax.dtypes.canonicalize_dtype(dtype)
    for made in (
        jax.eval_shape(f, x),
        jax.jit(f).eval_shape(x),
        jax.jit(f).lower(x).out_info,
        jax.eval_shape(lambda t: t["a"], {"a": x}),
        *jax.make_jaxpr(f)(x).out_avals,
    ):
        assert (made.shape, made.dtype) == ((3,), wide)
    (back,) = jax.linear_transpose(f, x)(jnp.ones(3, wide))
    assert (back.tolist(), back.dtype) == ([2.0] * 3, wide)
    for call in (jax.jit(f), jax.vmap(f), jnp.sin):
        with pytest.raises((TypeError, ValueError)):
            call(Described((3,), float))


@jax.tree_util.register_pytree_node_class
class Converting:
    """Made anew, it computes with its leaves."""

    def __init__(self, x):
        self.x = x if isinstance(x, float) else jnp.astype(x, float)

    def tree_flatten(self):
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

    @jax.jit
    def scaled(self, by):
        return self.x * by


@pytest.mark.parametrize("x", [0.5, jnp.ones(3), jnp.arange(3)])
def test_classes_that_compute_when_they_are_made_anew(x):
    p = Converting(x)
    want = (2 * np.asarray(p.x)).tolist()
    assert p.scaled(2.0).tolist() == p.scaled(by=2.0).tolist() == want
    assert jax.jit(lambda p: p.scaled(2.0))(p).tolist() == want
    assert jax.jit(lambda a: a[0])([p]).x.tolist() == np.asarray(p.x).tolist()
    assert (
        jax.grad(lambda p: jnp.sum(p.scaled(2.0)))(p).x.tolist() == np.full_like(want, 2).tolist()
    )


def test_all_names_of_a_module_are_imported():
    for module, names in {
        "jax": "jit lax numpy vmap",
        "jax.numpy": "abs float32 linalg pi sin",
        "jax.numpy.linalg": "norm cholesky",
        "jax.lax": "scan cond add",
        "jax.scipy.special": "logsumexp erf",
        "jax.tree_util": "tree_map tree_transpose",
    }.items():
        found = {}
        exec(f"from {module} import *", found)
        assert not set(names.split()) - set(found)
        assert not [name for name in found if name[:1] == "_" and name != "__builtins__"]


def test_names_that_are_only_imported():
    """Calling them is an error."""
    from jax import ffi
    from jax._src.dispatch import apply_primitive
    from jax._src.pjit import auto_axes
    from jax.experimental import colocated_python
    from jax.experimental.colocated_python import func
    from jax.experimental.custom_partitioning import custom_partitioning
    from jax.extend import ifrt_programs
    from jax.interpreters import mlir

    ffi.register_ffi_target("name", None, platform="cpu", api_version=1)
    assert not isinstance(jnp.ones(2), mlir.LoweringRuleContext)
    assert apply_primitive
    assert ifrt_programs
    for refused in (ffi.ffi_call, mlir.LoweringRuleContext, func):
        with pytest.raises((NotImplementedError, TypeError)):
            refused("name", None)
    assert auto_axes(abs) is abs is auto_axes(axes="x")(abs)
    partitioned = custom_partitioning(lambda x: x + 1)
    partitioned.def_partition(partition=None, infer_sharding_from_operands=None)
    assert jax.jit(partitioned)(1) == 2 == colocated_python.colocated_python(lambda x: x + 1)(1)


def test_programs_are_saved():
    from jax import export

    exported = export.export(jax.jit(lambda x: {"y": 2 * x}))(jax.ShapeDtypeStruct((3,), "f4"))
    loaded = export.deserialize(exported.serialize())
    for program in (exported, loaded):
        assert isinstance(program, export.Exported)
        assert program.call(jnp.ones(3, "f4"))["y"].tolist() == [2.0] * 3
        assert isinstance(program.call(np.ones(3, "f4"))["y"], jax.Array)
        assert program.in_avals[0].shape == program.out_avals[0].shape == (3,)
    assert jax.grad(lambda x: jnp.sum(loaded.call(x)["y"]))(jnp.ones(3, "f4")).tolist() == [2.0] * 3
    with pytest.raises(ValueError, match=r"jax\.jit"):
        export.export(abs)


def test_trees_are_transposed_by_their_leaves():
    leaves = jax.tree.structure((0, 0)), jax.tree.structure([0, 0])
    for transpose in (jax.tree.transpose, jax.tree_util.tree_transpose):
        assert transpose(*leaves, ((1, 2), [3, 4])) == [(1, 3), (2, 4)]
        with pytest.raises(TypeError):
            transpose(*leaves, ((1, 2), (3, 4, 5)))
    assert jax.tree.transpose(leaves[0], None, ([1, 2], [3, 4])) == [(1, 3), (2, 4)]


def test_sparse_vectors_are_multiplied():
    row = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 0.0, 3.0]))
    x, a = jnp.arange(4.0), jnp.arange(8.0).reshape(4, 2)
    assert (row @ x).tolist() == (x @ row).tolist() == 11.0
    assert (row @ a).tolist() == (a.T @ row).tolist() == [22.0, 27.0]
    assert jax.grad(lambda x: row @ x)(x).tolist() == [0.0, 2.0, 0.0, 3.0]


def test_one_uniform_number_between_bounds_of_shape_1():
    key, one = jax.random.key(0), jnp.ones(1)
    number = jax.random.uniform(key)
    for low, high in ((0 * one, 2.0), (0 * one, 2 * one), (0.0, 2 * one)):
        made = jax.random.uniform(key, (), minval=low, maxval=high)
        assert made.tolist() == ([2 * number.item()] if np.shape(low) else 2 * number.item())
    assert jax.jit(lambda m: jax.random.uniform(key, minval=m))(0 * one).shape == (1,)


@pytest.mark.parametrize(
    "dtype", [np.float32, "float32", np.dtype("f4"), jnp.float32, np.ones(1, "f4")]
)
def test_limits_of_dtypes_however_they_are_named(dtype):
    assert jnp.finfo(dtype).eps == np.finfo("f4").eps
    if not isinstance(dtype, np.ndarray):
        assert jax.dtypes.canonicalize_dtype(dtype) == np.float32


def test_arrays_are_of_one_class(tmp_path, monkeypatch):
    """In modules that ask for the class of an array, as equinox does to read one."""
    (tmp_path / "asking_for_classes.py").write_text("""
import jax.numpy as jnp
names = set(jnp.__dict__)
of_arrays = type(jnp.array(0)) is type(jnp.ones(2)) is type(jnp.asarray(1.0) + 1)
others = type(1) is int and isinstance(int, type) and type("A", (), {})().__class__.__name__ == "A"
one: type[int] = int
""")
    monkeypatch.syspath_prepend(tmp_path)
    import asking_for_classes

    assert asking_for_classes.of_arrays
    assert asking_for_classes.others
    assert {"sin", "linalg", "float32", "abs"} <= asking_for_classes.names


def test_classes_with_functions_to_map_them_are_refused():
    class Own:
        pass

    jax.tree_util.register_pytree_node(Own, lambda x: ((x.y,), None), lambda _, y: own(*y))

    def own(y):
        made = Own()
        made.y = y
        return made

    batching.register_vmappable(Own, int, int, None, None, None)
    try:
        assert jax.vmap(lambda x: 2 * x)(jnp.ones(2)).tolist() == [2.0, 2.0]
        assert batching.is_vmappable(own(1))
        if batching.__name__.startswith("fungrad"):
            with pytest.raises(NotImplementedError, match="register_vmappable"):
                jax.vmap(lambda x: x.y)(own(jnp.ones(2)))
    finally:
        batching.unregister_vmappable(Own)
    assert not batching.is_vmappable(own(1))
