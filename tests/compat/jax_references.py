"""References, with `jax` meaning fungrad; what is written beside is what JAX 0.10.2 gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

EQUAL = np.testing.assert_array_equal
ONLY_HERE = pytest.mark.skipif(jax.__name__ == "jax", reason="JAX has it otherwise, or not at all")


def test_elements_are_read_and_replaced():
    ref = jax.new_ref(jnp.arange(3.0))
    assert repr(ref) == "Ref([0., 1., 2.], dtype=float32)"
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((3,), jnp.float32, 1, 3, 3)
    assert isinstance(ref, jax.Ref)
    assert not isinstance(ref, jax.Array)
    assert isinstance(jax.typeof(ref), jax.ref.AbstractRef)
    before = ref[:2]
    ref[0] = 5.0
    ref[1] += 2
    EQUAL(ref[...], [5, 3, 2])
    EQUAL(before, [0, 1])
    EQUAL(ref[jnp.array([0, 2])], [5, 2])
    assert (ref[-1], jax.ref.get(ref, 1)) == (2, 3)
    assert jax.ref.swap(ref, 0, 9.0) == 5
    jax.ref.addupdate(ref, 0, 1.0)
    jax.ref.set(ref, 2, 7.0)
    EQUAL(jax.freeze(ref), [10, 3, 7])


def test_a_reference_holds_a_copy():
    given = np.arange(3.0)
    ref = jax.new_ref(given)
    given[0] = 9
    EQUAL(ref[...], [0, 1, 2])
    given = np.ones(3, np.float32)
    ref[...] = given
    given[0] = 9
    EQUAL(ref[...], [1, 1, 1])


@ONLY_HERE
@pytest.mark.parametrize(
    ("key", "value", "error", "said"),
    [
        (..., jnp.zeros(4), ValueError, r"shape \(3,\) there, got one of shape \(4,\)"),
        (..., 1.0, ValueError, "not broadcast to"),
        (0, 5, ValueError, r"x.astype\('float32'\)"),
        (..., jnp.arange(3), ValueError, r"x.astype\('float32'\)"),
        (..., jnp.zeros(3, jnp.float16), ValueError, r"x.astype\('float32'\)"),
        (..., [1.0, 2.0, 3.0], TypeError, "jax.numpy.array"),
        (7, 1.0, ValueError, "Out of bound indexer: idx=7, dim=3"),
        ((0, 0), 1.0, IndexError, "too many indices"),
    ],
)
def test_what_cannot_be_assigned(key, value, error, said):
    ref = jax.new_ref(jnp.arange(3.0))
    with pytest.raises(error, match=said):
        ref[key] = value
    EQUAL(ref[...], [0, 1, 2])


@ONLY_HERE
def test_references_are_made_of_arrays():
    for given in ([1.0, 2.0], jax.new_ref(1.0)):
        with pytest.raises(TypeError, match="new_ref takes an array"):
            jax.new_ref(given)
    ref = jax.new_ref(jnp.zeros(2))
    jax.free_ref(ref)
    with pytest.raises(ValueError, match="has been freed"):
        ref[...]


def test_jitted_functions_take_references():
    ref = jax.new_ref(jnp.arange(3.0))

    @jax.jit
    def double(x_ref, y):
        x_ref[...] = x_ref[...] * 2 + y
        return x_ref[0]

    assert [double(ref, 1.0), double(ref, 1.0)] == [1, 3]
    EQUAL(ref[...], [3, 7, 11])
    inner = jax.jit(lambda tree, *, n: tree["a"].__setitem__(n, tree["b"][0]), static_argnames="n")
    inner({"a": ref, "b": jnp.full(2, 8.0)}, n=1)
    EQUAL(ref[...], [3, 8, 11])
    with pytest.raises(ValueError, match="only one reference"):
        jax.jit(lambda a, b: a[...] + b[...])(ref, ref)


def test_jitted_functions_use_references_of_their_callers():
    ref, total = jax.new_ref(jnp.arange(3.0)), jax.new_ref(jnp.float32(0))

    @jax.jit
    def outer(y):
        @jax.jit
        def inner(z):
            total[...] = total[...] + z
            ref[0] += z

        inner(y)
        inner(2 * y)
        return ref[...]

    EQUAL(outer(1.0), [3, 1, 2])
    EQUAL(outer(1.0), [6, 1, 2])
    ref[0] = 0.0
    EQUAL(outer(1.0), [3, 1, 2])  # nothing of it has become a constant
    assert total[...] == 9
    if jax.__name__ != "jax":  # which has no such error
        with pytest.raises(ValueError, match="closes over, too"):
            jax.jit(lambda r: r[...] + ref[...])(ref)


def test_functions_read_what_references_hold_when_they_run():
    @jax.jit
    def outer(x):
        ref = jax.new_ref(x)
        functions = [
            jax.jit(lambda y: ref[...] + y),
            jax.vmap(lambda y: ref[...] + y),
            jax.grad(lambda y: (ref[...] * y).sum()),
        ]
        found = []
        for factor in (1, 2):
            ref[...] = factor * x
            found.append([f(jnp.zeros(1)) for f in functions])
        return found

    for x in (1.0, 5.0):
        EQUAL(outer(x), [[[x]] * 3, [[2 * x]] * 3])


@jax.jit
def with_loops(x):
    ref = jax.new_ref(x)
    lax.fori_loop(0, 3, lambda i, _: ref.__setitem__(..., ref[...] + i), None)

    def turn(carry, x):
        ref[...] += x
        return carry, ref[...]

    _, ys = lax.scan(turn, 0, jnp.arange(3.0))
    lax.cond(x > 0, lambda: ref.__setitem__(..., -ref[...]), lambda: None)
    zs = lax.map(lambda x: ref[...] * x, jnp.arange(2.0))
    return jax.freeze(ref), ys, zs


def test_loops_and_branches_assign():
    value, ys, zs = with_loops(1.0)
    assert value == -7
    EQUAL(ys, [4, 5, 7])
    EQUAL(zs, [0, -7])
    assert jax.grad(lambda x: with_loops(x)[0])(1.0) == -1

    ref = jax.new_ref(jnp.arange(1.0, 4))

    def double(n):
        ref[...] = ref[...] * 2
        return n + 1

    assert lax.while_loop(lambda n: n < 4, double, 0) == 4
    EQUAL(ref[...], [16, 32, 48])
    lax.switch(1, [lambda v: None, lambda v: ref.__setitem__(0, v)], 7.0)
    EQUAL(ref[...], [7, 32, 48])


@ONLY_HERE
def test_loops_end_by_what_references_hold():
    """JAX's conditions go on with what the reference held at first, and never end."""
    ref = jax.new_ref(1.0)

    def double(n):
        ref[...] = ref[...] * 2
        return n + 1

    assert lax.while_loop(lambda n: ref[...] < 100, double, 0) == 7
    assert ref[...] == 128


def test_derivatives():
    ref = jax.new_ref(jnp.arange(3.0))
    assert jax.grad(lambda x: (ref[...] * x).sum())(3.0) == 3

    def stash(x):
        ref[0] = lax.stop_gradient(5 * x)
        return x**2

    assert jax.grad(stash)(3.0) == 6
    EQUAL(ref[...], [15, 1, 2])


@ONLY_HERE
def test_inner_functions_that_do_not_get_at_references():
    ref = jax.new_ref(jnp.arange(3.0))
    with pytest.raises(NotImplementedError, match="return the array, and assign it outside"):
        jax.grad(lambda x: [ref.__setitem__(0, x), x**2][1])(3.0)
    with pytest.raises(NotImplementedError, match="read it before"):
        jax.vmap(lambda x: ref[...] * x)(jnp.arange(2.0))
    EQUAL(ref[...], [0, 1, 2])


def test_places_that_are_traced():
    """One out of bounds is the last one in them, as for XLA's slices."""
    ref = jax.new_ref(jnp.arange(4.0))
    put = jax.jit(lambda ref, i: ref.__setitem__(i, 9.0))
    put(ref, 1)
    EQUAL(ref[...], [0, 9, 2, 3])
    put(ref, 7)
    EQUAL(ref[...], [0, 9, 2, 9])
    take = jax.jit(lambda ref, i: ref[jax.ds(i, 2)])
    EQUAL(take(ref, 1), [9, 2])
    EQUAL(take(ref, 3), [2, 9])
    matrix = jax.new_ref(jnp.arange(1.0, 9).reshape(2, 4))
    jax.jit(lambda ref, i: ref.__setitem__((0, jax.ds(i, 2)), jnp.zeros(2)))(matrix, 1)
    EQUAL(matrix[...], [[1, 0, 0, 4], [5, 6, 7, 8]])
    EQUAL(matrix[:, jax.ds(0, 2, 2)], [[1, 0], [5, 7]])


@ONLY_HERE
def test_hijax_types_are_declared_and_not_traced():
    """As by flax.nnx, which derives from these where it is imported."""
    from jax._src.state.types import AbstractRef
    from jax._src.tree_util import _registry
    from jax.experimental import cur_qdd, hijax
    from jax.extend.core import Effect

    class Mine(hijax.MutableHiType):
        method = hijax.aval_method(lambda self: self)
        property = hijax.aval_property(lambda self: self)

    class Make(hijax.HiPrimitive):
        def is_high(self, *_):
            return True

    hijax.register_hitype(Mine, lambda x: x)
    hijax.control_flow_allowed_effects.add_type(type("E", (Effect,), {}))
    assert AbstractRef is hijax.AbstractRef
    assert issubclass(Mine, hijax.AbstractValue)
    assert hijax.instantiate_zeros(2.0) == 2
    for use in (lambda: Make("make").bind(1.0), lambda: cur_qdd(Mine())):
        with pytest.raises(NotImplementedError, match="Keep arrays in a pytree"):
            use()
    kinds = (list, dict, tuple, type(None), int, type("N", (tuple,), {"_fields": ()}))
    assert [kind in _registry for kind in kinds] == [True, True, True, True, False, False]
