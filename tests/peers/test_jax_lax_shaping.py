"""`fungrad.lax` and `jax.lax`: shapes, slices, gather, scatter and contractions drawn at random."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402
import fungrad.lax  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402

DRAWS = 10
"""How many calls of each kind are drawn; the seeds are fixed. XLA compiles them, which takes long."""


def computed(lib, np_, call, moving, fixed, directions, batches, fixed_batch):
    """Return values, derivatives and batches of ``call(lax, moving, fixed)``.

    `moving` are arrays to differentiate by, unless there are no `directions`; `fixed` are those of integers.
    """
    lax = lib.lax

    def f(*arrays):
        return call(lax, arrays, fixed)

    def loss(*arrays):
        y = f(*arrays)
        weights = np.cos(np.arange(np.prod(np.shape(y), dtype=int))).reshape(np.shape(y))
        return np_.sum(y * weights)

    every = tuple(range(len(moving)))
    out = {"value": f(*moving), "vmap": lib.vmap(f)(*batches)}
    out["vmap first"] = lib.vmap(f, (0, *[None] * (len(every) - 1)))(batches[0], *moving[1:])
    if fixed:
        out["vmap fixed"] = lib.vmap(lambda i: call(lax, moving, i))(fixed_batch)
        out["vmap both"] = lib.vmap(lambda x, i: call(lax, x, i))(batches, fixed_batch)
    if directions is not None:
        out["jvp"] = lib.jvp(f, moving, directions)[1]
        out["grad"] = lib.grad(loss, every)(*moving)
        if fixed:
            out["vmap grad"] = lib.vmap(
                lambda x, i: lib.grad(loss_of(lib, np_, call, i), every)(*x)
            )(batches, fixed_batch)
    return out


def loss_of(lib, np_, call, fixed):
    return lambda *arrays: np_.sum(np_.cos(call(lib.lax, arrays, fixed)))


def agree(calls):
    """Check that calls give the same in both libraries; JAX compiles all of them at once.

    For each name there are a function, and the arguments of `arrays_of`.
    """
    arrays = {name: arrays_of(np.random.default_rng(0), *call[1:]) for name, call in calls.items()}

    def results(lib, np_, arrays):
        return {name: computed(lib, np_, calls[name][0], *arrays[name]) for name in calls}

    theirs = jax.jit(lambda arrays: results(jax, jax.numpy, arrays))(arrays)
    for name, ours in results(fg, fnp, arrays).items():
        for what, found in ours.items():
            leaves = jax.tree.leaves(theirs[name][what])
            for x, y in zip(fg.tree.leaves(found), leaves, strict=True):
                assert (np.shape(x), x.dtype) == (y.shape, y.dtype), (name, what)
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12, err_msg=f"{name} {what}")


def arrays_of(rng, moving, fixed=(), fixed_batch=(), smooth=True):
    """Return arrays to differentiate by and those of integers; directions and batches."""
    directions = tuple(rng.normal(size=x.shape).astype(x.dtype) for x in moving)
    batches = tuple(rng.normal(size=(3, *x.shape)).astype(x.dtype) for x in moving)
    directions = directions if smooth else None
    return tuple(moving), tuple(fixed), directions, batches, tuple(fixed_batch)


def shuffled(rng, items):
    return tuple(int(i) for i in rng.permutation(list(items)))


def chosen(rng, items, most):
    """Return some of the items, in any order."""
    items = list(items)
    return shuffled(rng, items)[: rng.integers(0, min(len(items), most) + 1)]


def windows(rng):
    """Draw an operand's shape, indices (one and three), sizes of windows and which axes belong together."""
    shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 4)))
    axes = range(len(shape))
    batching = chosen(rng, axes, 1)
    others = [a for a in axes if a not in batching]
    mapped = chosen(rng, others, 3) or tuple(others[:1])  # JAX is wrong where there is none
    dropped = tuple(sorted(chosen(rng, others, 2)))
    stack = [int(n) for n in rng.integers(1, 4, rng.integers(0, 2))]
    of_indices = tuple(int(rng.integers(0, len(stack) + 1)) for _ in batching)
    for a, b in zip(batching, of_indices, strict=True):
        stack.insert(b, shape[a])
    lacking = {*dropped, *batching}
    sizes = tuple(1 if a in lacking else int(rng.integers(1, n + 1)) for a, n in enumerate(shape))
    indices = rng.integers(-1, 5, (4, *stack, len(mapped)))
    ndim = len(stack) + len(shape) - len(lacking)
    offsets = tuple(sorted(shuffled(rng, range(ndim))[: len(shape) - len(lacking)]))
    return shape, indices[0], indices[1:], sizes, (offsets, dropped, mapped, batching, of_indices)


def updates_shape(stack, sizes, numbers):
    offsets, dropped, _, batching, _ = numbers
    window = iter([n for a, n in enumerate(sizes) if a not in dropped + batching])
    rest = iter(stack)
    return tuple(
        next(window) if i in offsets else next(rest) for i in range(len(stack) + len(offsets))
    )


def drawn_gather(seed):
    rng = np.random.default_rng(seed)
    shape, indices, batch, sizes, numbers = windows(rng)
    mode = ["clip", "fill"][seed % 2]  # with None, JAX's derivative is not that of its values

    def call(lax, moving, fixed):
        dims = lax.GatherDimensionNumbers(*numbers)
        return lax.gather(moving[0], fixed[0], dims, sizes, mode=mode, fill_value=7.0)

    return call, [rng.normal(size=shape)], [indices], [batch]


SCATTERS = "scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_max"


def drawn_scatter(seed):
    rng = np.random.default_rng(100 + seed)
    kind = SCATTERS[seed % len(SCATTERS)]
    shape, indices, batch, sizes, numbers = windows(rng)
    stack = indices.shape[:-1]
    mode = [None, "clip", "drop"][seed % 3]

    def call(lax, moving, fixed):
        dims = lax.ScatterDimensionNumbers(*numbers)
        return getattr(lax, kind)(moving[0], fixed[0], moving[1], dims, mode=mode)

    moving = [rng.normal(size=shape), rng.normal(size=updates_shape(stack, sizes, numbers))]
    # JAX has no derivative of the others where windows may overlap.
    linear = kind in ("scatter", "scatter_add", "scatter_sub")
    return call, moving, [indices], [batch], linear


def drawn_slice(seed):
    rng = np.random.default_rng(200 + seed)
    shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
    sizes = tuple(int(rng.integers(1, n + 1)) for n in shape)
    starts = list(rng.integers(-6, 6, (len(shape),)).astype(np.int32))
    batch = list(rng.integers(-6, 6, (len(shape), 3)))

    def take(lax, moving, fixed):
        return lax.dynamic_slice(moving[0], fixed, sizes)

    def put(lax, moving, fixed):
        return lax.dynamic_update_slice(*moving, fixed)

    x, update = rng.normal(size=shape), rng.normal(size=sizes)
    return (take, [x], starts, batch) if seed % 2 else (put, [x, update], starts, batch)


def drawn_pad(seed):
    rng = np.random.default_rng(300 + seed)
    shape = tuple(rng.integers(0, 4, rng.integers(0, 4)))
    config = []
    for n in shape:
        inner = int(rng.integers(0, 3))
        whole = int(n + max(n - 1, 0) * inner)
        low = int(rng.integers(-whole, 4))
        config.append((low, int(rng.integers(-whole - low, 4)), inner))

    def call(lax, moving, fixed):
        return lax.pad(*moving, config)

    return call, [rng.normal(size=shape), rng.normal(size=())]


def drawn_product(seed):
    rng = np.random.default_rng(400 + seed)
    lengths = {name: int(rng.integers(1, 4)) for name in "bcdklmn"}
    batch, summed = chosen(rng, range(2), 2), chosen(rng, range(2, 4), 2)
    names = "bckldmn"
    free_x, free_y = chosen(rng, [4, 5], 2), chosen(rng, [4, 6], 2)
    of_x = [names[i] for i in shuffled(rng, batch + summed + free_x)]
    of_y = [names[i] for i in shuffled(rng, batch + summed + free_y)]
    pairs = tuple(
        ([of_x.index(names[i]) for i in group], [of_y.index(names[i]) for i in group])
        for group in (summed, batch)
    )
    dtypes = [np.float64, np.complex128] if seed % 3 == 0 else [np.float64, np.float64]
    x, y = [
        rng.normal(size=[lengths[n] for n in of]).astype(dtype)
        for of, dtype in zip((of_x, of_y), dtypes, strict=True)
    ]

    def call(lax, moving, fixed):
        return lax.dot_general(*moving, pairs)

    return call, [x, y], (), (), seed % 3 != 0


@pytest.mark.parametrize(
    "drawn", [drawn_gather, drawn_scatter, drawn_slice, drawn_pad, drawn_product]
)
def test_calls_drawn_at_random(drawn):
    agree({f"seed {seed}": drawn(seed) for seed in range(DRAWS)})


X, Y = np.arange(12.0).reshape(3, 4), np.arange(4.0)
STACK = np.arange(24.0).reshape(2, 3, 4)
CALLS = {
    "broadcast": (lambda lax, x, _: lax.broadcast(x[0], (2, 1)), X),
    "broadcast_in_dim": (lambda lax, x, _: lax.broadcast_in_dim(x[0], (2, 3, 5, 4), (1, 3)), X),
    "broadcast_in_dim one": (
        lambda lax, x, _: lax.broadcast_in_dim(x[0], (2, 3, 4), (1, 2)),
        X[:, :1],
    ),
    "broadcast_to_rank": (lambda lax, x, _: lax.broadcast_to_rank(x[0], 4), X),
    "broadcast_like": (lambda lax, x, _: lax.broadcast_like(x[0], x[1]), Y, X),
    "collapse": (lambda lax, x, _: lax.collapse(x[0], 1), STACK),
    "collapse some": (lambda lax, x, _: lax.collapse(x[0], 0, -1), STACK),
    "concatenate": (lambda lax, x, _: lax.concatenate(x, 1), X, X[:, :2]),
    "expand_dims": (lambda lax, x, _: lax.expand_dims(x[0], (0, -1)), X),
    "squeeze": (lambda lax, x, _: lax.squeeze(x[0], (0, -1)), X[None, ..., None]),
    "full": (lambda lax, x, _: lax.full((2, 3), x[0]), Y[1]),
    "full_like": (lambda lax, x, _: x[0] + lax.full_like(x[0], 2, shape=(3, 1)), X),
    "iota": (lambda lax, x, _: x[0] * lax.broadcasted_iota(float, (3, 4), 1), X),
    "reshape": (lambda lax, x, _: lax.reshape(x[0], (8, 3), (2, 0, 1)), STACK),
    "rev": (lambda lax, x, _: lax.rev(x[0], (0, 2)), STACK),
    "split": (lambda lax, x, _: lax.split(x[0], (1, 0, 3), 1)[2], X),
    "stack": (lambda lax, x, _: lax.stack(x, 1), X, X + 1),
    "unstack": (lambda lax, x, _: lax.unstack(x[0], -1)[1], X),
    "tile": (lambda lax, x, _: lax.tile(x[0], (2, 3)), X),
    "transpose": (lambda lax, x, _: lax.transpose(x[0], (1, 2, 0)), STACK),
    "slice": (lambda lax, x, _: lax.slice(x[0], (1, 0), (3, 4), (1, 3)), X),
    "slice_in_dim": (lambda lax, x, _: lax.slice_in_dim(x[0], -3, None, 2, 1), X),
    "index_in_dim": (lambda lax, x, _: lax.index_in_dim(x[0], -1, 1), X),
    "dot": (lambda lax, x, _: lax.dot(*x), X, Y),
    "batch_matmul": (lambda lax, x, _: lax.batch_matmul(*x), STACK, STACK.swapaxes(1, 2)),
}
INDEXED = {
    "dynamic_index_in_dim": (lambda lax, x, i: lax.dynamic_index_in_dim(x[0], i[0], 1, False), X),
    "dynamic_slice_in_dim": (lambda lax, x, i: lax.dynamic_slice_in_dim(x[0], i[0], 2, 1), X),
    "no negative start": (
        lambda lax, x, i: lax.dynamic_slice_in_dim(x[0], i[0], 2, allow_negative_indices=False),
        X,
    ),
    "dynamic_update_index_in_dim": (
        lambda lax, x, i: lax.dynamic_update_index_in_dim(*x, i[0], 0),
        X,
        Y,
    ),
    "dynamic_update_slice_in_dim": (
        lambda lax, x, i: lax.dynamic_update_slice_in_dim(*x, i[0], 0),
        X,
        X[:2],
    ),
    "index_take": (
        lambda lax, x, i: lax.index_take(x[0], (i[0][None], i[0][None] + 1), (0, 2)),
        STACK,
    ),
}


def test_calls():
    agree({name: (call, moving) for name, (call, *moving) in CALLS.items()})


def test_calls_with_indices():
    indices = [np.int64(-2)], [np.array([-4, 1, 4])]
    agree({name: (call, moving, *indices) for name, (call, *moving) in INDEXED.items()})


@pytest.mark.parametrize(
    ("dtypes", "preferred"),
    [
        ((np.float32, np.float64), None),
        ((np.int8, np.int64), None),
        ((np.int8, np.int8), np.int32),
        ((np.float16, np.float16), np.float32),
        ((np.float64, np.float64), np.float32),
    ],
)
def test_dtypes_of_products(dtypes, preferred):
    x, y = [(40 * np.ones((2, 2))).astype(d) for d in dtypes]
    ours = fg.lax.dot(x, y, preferred_element_type=preferred)
    theirs = jax.lax.dot(x, y, preferred_element_type=preferred)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


def test_ragged_dot():
    x, y = np.arange(15.0).reshape(5, 3), STACK.swapaxes(1, 2)[:, :3]
    sizes = np.array([3, 1])  # the last row is in no group

    def call(lax, moving, fixed):
        return lax.ragged_dot(*moving, sizes)

    ours = fg.value_and_grad(lambda *a: call(fg.lax, a, ()).sum(), (0, 1))(x, y)
    theirs = jax.value_and_grad(lambda *a: call(jax.lax, a, ()).sum(), (0, 1))(x, y)
    for a, b in zip(fg.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b)


@pytest.mark.parametrize(
    ("shapes", "sizes", "pairs", "ragged", "group"),
    [
        (((5, 3), (2, 3, 4)), (2,), (((1,), (1,)), ((), ())), [0], [0]),
        (((4, 5, 3), (4, 2, 3, 6)), (2,), (((2,), (2,)), ((0,), (0,))), [1], [1]),
        (((2, 5, 3, 4), (3, 2, 2, 4, 6)), (3, 2, 2), (((3,), (3,)), ((2, 0), (0, 1))), [1], [2]),
        (((5, 4), (5, 3)), (2,), (((0,), (0,)), ((), ())), [0], []),
        (((2, 4, 5, 3), (3, 5, 2, 6)), (2, 3, 2), (((3, 2), (0, 1)), ((0,), (2,))), [2], []),
        (((4, 5, 3), (4, 3, 2)), (2,), (((2,), (1,)), ((0,), (0,))), [0], []),
    ],
)
def test_ragged_dot_general(shapes, sizes, pairs, ragged, group):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=shape) for shape in shapes)
    lengths = rng.integers(0, 3, sizes)

    def results(lib):
        numbers = lib.lax.RaggedDotDimensionNumbers(pairs, ragged, group)
        f = lambda x, y: lib.lax.ragged_dot_general(x, y, lengths, numbers)
        loss = lambda x, y: (f(x, y) ** 3).sum()
        slope = lib.grad(loss, (0, 1))(x, y) if group else ()  # JAX has no others
        return f(x, y), slope, lib.jvp(f, (x, y), (y.sum() + x, x.sum() * y))[1]

    for a, b in zip(fg.tree.leaves(results(fg)), jax.tree.leaves(results(jax)), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, 1e-10, 1e-10)


def test_scatter_apply():
    numbers = (), (0,), (0,)
    x, indices = np.arange(4.0), np.array([[2], [1], [9]])
    ours = fg.lax.scatter_apply(
        x, indices, fnp.cos, fg.lax.ScatterDimensionNumbers(*numbers), update_shape=(3,)
    )
    theirs = jax.lax.scatter_apply(
        x,
        indices,
        jax.numpy.cos,
        jax.lax.ScatterDimensionNumbers(*numbers),
        update_shape=(3,),
    )
    np.testing.assert_allclose(ours, theirs)
