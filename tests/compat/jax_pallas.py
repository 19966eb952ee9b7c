"""Kernels of Pallas, interpreted, with `jax` meaning fungrad; what is written beside is what JAX 0.10.2 gives."""

import functools
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as plgpu

EQUAL = np.testing.assert_array_equal
F32 = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
X = jnp.arange(8.0)
A = jnp.arange(16.0).reshape(4, 4)
call = functools.partial(pl.pallas_call, interpret=True)
ONLY_HERE = pytest.mark.skipif(jax.__name__ == "jax", reason="JAX has it otherwise, or not at all")


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def blocks(length):
    return pl.BlockSpec((length,), lambda i: (i,))


def test_kernels_under_transforms():
    f = call(double, F32((8,)))
    EQUAL(f(X), 2 * X)
    EQUAL(jax.jit(f)(X), 2 * X)
    EQUAL(jax.vmap(f)(jnp.stack([X, -X])), [2 * X, -2 * X])
    EQUAL(jax.jvp(f, (X,), (X,))[1], 2 * X)


def test_only_interpreted():
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU backend"):
        pl.pallas_call(double, F32((8,)))(X)
    EQUAL(pl.pallas_call(double, X, interpret=pltpu.InterpretParams())(X), 2 * X)


@pytest.mark.parametrize("length", [1, 2, 3, 8])
def test_blocks(length):
    """The last block of 3 goes beyond the end: what is there is not kept."""
    grid = pl.cdiv(8, length)
    f = call(double, F32((8,)), grid=grid, in_specs=[blocks(length)], out_specs=blocks(length))
    EQUAL(f(X), 2 * X)
    EQUAL(jax.vmap(f)(jnp.stack([X, -X])), [2 * X, -2 * X])
    spec = pl.GridSpec((grid,), [blocks(length)], blocks(length))
    EQUAL(call(double, F32((8,)), grid_spec=spec)(X), 2 * X)


def test_blocks_of_other_kinds():
    def sums(x_ref, o_ref):
        o_ref[...] = x_ref[...].sum(keepdims=True)

    f = call(sums, F32((3,)), grid=3, in_specs=[blocks(3)], out_specs=blocks(1))
    EQUAL(f(X), [3, 12, np.nan])  # beyond the end nothing is known
    row = pl.BlockSpec((None, 4), lambda i: (i, 0))

    def shift(x_ref, o_ref):
        assert x_ref.shape == (4,)
        o_ref[...] = x_ref[...] + pl.program_id(0)

    EQUAL(
        call(shift, F32((4, 4)), grid=4, in_specs=[row], out_specs=row)(A),
        A + np.arange(4)[:, None],
    )
    by_elements = pl.BlockSpec((pl.Element(2),), lambda i: (i * 3,))
    f = call(double, F32((4,)), grid=(2,), in_specs=[by_elements], out_specs=blocks(2))
    EQUAL(f(X), [0, 2, 6, 8])
    backwards = pl.BlockSpec((2,), lambda i: (3 - i,))
    f = call(double, F32((6,)), grid=(3,), in_specs=[backwards], out_specs=blocks(2))
    EQUAL(f(X), [12, 14, 8, 10, 4, 6])
    tile = pl.BlockSpec((2, 4), lambda i, j: (i, j))
    x = jnp.arange(35.0).reshape(5, 7)
    EQUAL(call(double, x, grid=(3, 2), in_specs=[tile], out_specs=tile)(x), 2 * x)
    where = pl.BlockSpec(memory_space=pltpu.VMEM)
    EQUAL(call(double, X, in_specs=[where], out_specs=where)(X), 2 * X)


def test_places_in_the_grid():
    def number(o_ref):
        i = pl.program_id(0)
        o_ref[i] = i + pl.num_programs(0)

    EQUAL(call(number, jax.ShapeDtypeStruct((8,), jnp.int32), grid=(8,))(), np.arange(8, 16))
    with pytest.raises(ValueError, match=r"Axis 1 is out of bounds for grid \(3,\)"):
        call(lambda o_ref: o_ref.__setitem__(0, pl.program_id(1)), F32((3,)), grid=3)()


@ONLY_HERE
def test_no_place_in_a_grid():
    with pytest.raises(ValueError, match="in kernels alone"):
        pl.program_id(0)


def test_products_of_matrices_by_blocks():
    def kernel(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...] @ y_ref[...]

    specs = [
        pl.BlockSpec((2, 2), lambda i, j, k: (i, k)),
        pl.BlockSpec((2, 2), lambda i, j, k: (k, j)),
    ]
    out = pl.BlockSpec((2, 2), lambda i, j, k: (i, j))
    f = call(kernel, F32((4, 4)), grid=(2, 2, 2), in_specs=specs, out_specs=out)
    EQUAL(f(A, A), A @ A)
    if jax.__name__ != "jax":  # which has no derivative backwards
        gradient = jax.grad(lambda x: (f(x, A) * A).sum())(A)
        np.testing.assert_allclose(gradient, A @ A.T, rtol=1e-6)


def test_memory_to_work_with():
    def kernel(x_ref, y_ref, o_ref, sums):
        sums[...] = jnp.zeros_like(sums)

        def turn(k, carry):
            sums[...] += x_ref[:, pl.ds(k * 2, 2)] @ y_ref[pl.ds(k * 2, 2), :]
            return carry

        lax.fori_loop(0, 2, turn, None)
        o_ref[...] = sums[...]

    for space in (pl.ANY, pltpu.VMEM):
        f = call(kernel, F32((4, 4)), scratch_shapes=[space((4, 4), jnp.float32)])
        EQUAL(f(A, A), A @ A)

    def running(x_ref, o_ref, sum_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        sum_ref[...] += x_ref[...].sum(keepdims=True)
        o_ref[...] = sum_ref[...]

    memory = [pltpu.VMEM((1,), jnp.float32)]
    f = call(
        running,
        F32((4,)),
        grid=(4,),
        in_specs=[blocks(2)],
        out_specs=blocks(1),
        scratch_shapes=memory,
    )
    EQUAL(f(X), [1, 6, 15, 28])

    def scoped(x_ref, o_ref):
        def inner(ref):
            ref[...] = x_ref[...] * 3
            o_ref[...] = ref[...]

        pl.run_scoped(inner, pl.ANY((8,), jnp.float32))

    EQUAL(call(scoped, X)(X), 3 * X)


def test_what_nothing_is_written_to():
    def nothing(o_ref):
        pass

    EQUAL(call(nothing, F32((2,)))(), [np.nan, np.nan])
    EQUAL(call(nothing, jax.ShapeDtypeStruct((1,), jnp.int32))(), [-(2**31)])
    EQUAL(call(nothing, jax.ShapeDtypeStruct((1,), jnp.int4))().astype(int), [-8])

    def first(x_ref, o_ref):
        o_ref[0] = 9.0

    EQUAL(call(first, X, input_output_aliases={0: 0})(X), [9, 1, 2, 3, 4, 5, 6, 7])


def test_pytrees():
    def kernel(given, made):
        made["sum"][...] = given["x"][...] + given["y"][...]

    EQUAL(call(kernel, {"sum": X})({"x": X, "y": X})["sum"], 2 * X)

    def both(x_ref, o_ref, p_ref):
        o_ref[...], p_ref[...] = x_ref[...], -x_ref[...]

    found = call(both, [X, X])(X)
    assert type(found) is tuple
    EQUAL(found, [X, -X])


def test_loops_and_elements():
    def twice(x_ref, o_ref):
        @pl.loop(0, 8)
        def _(i):
            o_ref[i] = x_ref[i] * 2

    EQUAL(call(twice, X)(X), 2 * X)

    def powers(n_ref, o_ref):
        def turn(carry):
            i, power = carry
            o_ref[i] = power
            return i + 1, power * 2

        lax.while_loop(lambda carry: carry[0] < n_ref[0], turn, (0, jnp.float32(1)))
        lax.cond(n_ref[0] > 3, lambda: o_ref.__setitem__(7, 100.0), lambda: None)

    EQUAL(call(powers, F32((8,)))(jnp.array([5])), [1, 2, 4, 8, 16, np.nan, np.nan, 100])

    def sums(x_ref, o_ref):
        def turn(carry, i):
            o_ref[i] = carry
            return carry + x_ref[i], None

        lax.scan(turn, jnp.float32(0), jnp.arange(8))

    EQUAL(call(sums, X)(X), [0, 0, 1, 3, 6, 10, 15, 21])

    def taken(x_ref, i_ref, o_ref):
        o_ref[...] = x_ref[i_ref[...]]

    EQUAL(call(taken, F32((3,)))(X, jnp.array([3, -1, 9])), [3, 7, 7])

    def parts(x_ref, o_ref):
        o_ref[pl.ds(0, 4)] = x_ref[pl.ds(0, 4, 2)]
        o_ref.at[4:8][pl.ds(0, 2)] = x_ref.at[pl.ds(1, 2)][...]

    EQUAL(call(parts, X)(X), [0, 2, 4, 6, 1, 2, np.nan, np.nan])


def test_masks():
    def kernel(x_ref, o_ref):
        places = jnp.arange(8)
        x = plgpu.load(x_ref.at[pl.ds(0, 8)], mask=places < 5, other=-1.0)
        plgpu.store(o_ref.at[...], x, mask=places > 2)

    EQUAL(call(kernel, X)(X), [np.nan] * 3 + [3, 4, -1, -1, -1])


def test_a_rule_for_the_way_back():
    def kernel(x_ref, o_ref):
        e = jnp.exp(x_ref[...] - jnp.max(x_ref[...], axis=-1, keepdims=True))
        o_ref[...] = e / e.sum(-1, keepdims=True)

    rows = pl.BlockSpec((2, 4), lambda i: (i, 0))
    inner = call(kernel, F32((4, 4)), grid=(2,), in_specs=[rows], out_specs=rows)
    softmax = jax.custom_vjp(inner)
    softmax.defvjp(
        lambda x: (inner(x),) * 2, lambda y, g: (y * (g - (y * g).sum(-1, keepdims=True)),)
    )
    x = jnp.sin(A)
    np.testing.assert_allclose(softmax(x), jax.nn.softmax(x), rtol=1e-6)
    expected = jax.grad(lambda x: (jax.nn.softmax(x) * A).sum())(x)
    np.testing.assert_allclose(
        jax.grad(lambda x: (softmax(x) * A).sum())(x), expected, rtol=1e-5, atol=1e-6
    )


@ONLY_HERE
@pytest.mark.parametrize(
    ("kernel", "options", "error", "said"),
    [
        (lambda x, o: 1, {}, ValueError, "should return None"),
        (lambda x, o: o.__setitem__(..., x[...] > 1), {}, ValueError, "astype"),
        (lambda x, o: o.__setitem__(..., 1.0), {}, ValueError, "not broadcast"),
        (lambda x, o: x.__setitem__(0, 1.0), {}, NotImplementedError, "input_output_aliases"),
        (double, {"in_specs": [blocks(2)] * 2}, ValueError, "2 specs are given for 1 arrays"),
        (double, {"in_specs": [pl.BlockSpec((2, 2), None)]}, ValueError, "as many axes"),
        (
            double,
            {"grid": 4, "in_specs": [pl.BlockSpec((2,), lambda i: (i, 0))]},
            ValueError,
            "got 2",
        ),
        (
            double,
            {"out_shape": F32((4,)), "input_output_aliases": {0: 0}},
            ValueError,
            "one shape and dtype",
        ),
        (double, {"grid": "ab"}, TypeError, "grid takes numbers"),
        (double, {"scratch_shapes": [3]}, TypeError, "scratch_shapes takes shapes"),
        (double, {"grid_spec": pl.GridSpec(), "grid": 3}, ValueError, "not both"),
    ],
)
def test_what_is_refused(kernel, options, error, said):
    with pytest.raises(error, match=said):
        call(kernel, **{"out_shape": F32((8,)), **options})(X)


@ONLY_HERE
def test_what_is_for_accelerators():
    params = pltpu.CompilerParams(dimension_semantics=("parallel",))
    EQUAL(call(double, X, compiler_params=params)(X), 2 * X)
    from jax.experimental.pallas import mosaic_gpu

    for function in (pltpu.roll, plgpu.atomic_add, mosaic_gpu.wgmma, pl.core_map):
        with pytest.raises(NotImplementedError, match="interpret=True"):
            function(X, 1, 0)
    assert not hasattr(pltpu, "no_such_name")
    with pytest.raises(ImportError, match="written for GPUs"):
        importlib.import_module("jax.experimental.pallas.ops")


def test_numbers():
    assert (pl.cdiv(7, 2), pl.cdiv(jnp.int32(7), 2), pl.align_to(5, 4)) == (4, 4, 8)
    assert [pl.next_power_of_2(n) for n in (0, 1, 5, 8)] == [1, 1, 8, 8]
    assert (pl.strides_from_shape((2, 3)), pl.multiple_of(4, 2)) == ((3, 1), 4)
    assert repr(pl.ds(2, 3)) == "Slice(start=2, size=3, stride=1)"
    assert (repr(pl.dslice(3)), pl.ds(None)) == ("Slice(start=0, size=3, stride=1)", slice(None))
