"""Which equations become kernels, and that programs of kernels compute what they did."""

import collections

import hypothesis
import numpy as np
import pytest
import scipy.special

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.kernels import fuse as fusing
from fungrad.compile.kernels.fuse import fuse
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.kernel import REDUCTIONS
from fungrad.compile.kernels.operations import OPERATIONS
from fungrad.compile.native import schedule_with_kernels
from fungrad.compile.pipeline import simplify
from fungrad.core.evaluate import evaluate
from tests.compile import random_functions
from tests.compile.exact_fma import fma
from tests.compile.random_programs import assert_same, programs

X = np.linspace(-1.0, 2.0, 60).reshape(5, 12)
ROW, COLUMN = np.linspace(0.5, 1.0, 12), np.linspace(1.0, 2.0, 5)[:, None]
SQUARE = np.linspace(0.0, 1.0, 144).reshape(12, 12)


def fused(f, *args):
    """Return the names of what the program of `f` calls, and its kernels; check what it computes."""
    expr = simplify(fg.make_expr(f)(*args))
    found, kernels = fuse(expr)
    found.check()
    assert [e.primitive for e in found.equations if isinstance(e.primitive, Fused)] == kernels
    assert len(found.sources) in (0, len(found.equations))
    assert (found.inputs, found.outputs, found.types) == (expr.inputs, expr.outputs, expr.types)
    leaves = [np.asarray(x)[()] for x in fg.tree.leaves(args)]
    random_functions.assert_near(evaluate(found, leaves), evaluate(expr, leaves), 16)
    kept = [e.primitive.name for e in found.equations]
    return kept, [k.kernel for k in kernels]


def operations(kernel):
    leaves = ("load", "constant", "iota")
    return collections.Counter(n.operation for n in kernel.nodes if n.operation not in leaves)


def test_a_chain_is_one_kernel():
    kept, (kernel,) = fused(lambda x: abs(-(x * 2 + 1)) / (x * x + 1), X)
    assert kept == ["kernel"]
    assert kernel.space == X.shape
    assert operations(kernel) == {"mul": 2, "add": 2, "neg": 1, "abs": 1, "div": 1}
    assert len(kernel.operands) == len(kernel.outputs) == 1


def test_a_diamond_is_one_kernel():
    def f(x):
        y = x * 2
        return (y + 1) / (y * y + 1) - y

    kept, (kernel,) = fused(f, X)
    assert kept == ["kernel"]
    assert operations(kernel)["mul"] == 2


def test_independent_groups_are_joined_where_they_meet():
    kept, kernels = fused(lambda x, y: (x * 2 + 1) - (y * 3 + 1), X, X + 1)
    assert kept == ["kernel"]
    kept, kernels = fused(lambda x, y: ((x * 2 + 1).sum(1), (y * 3 + 1).sum(1)), X, X + 1)
    assert kept == ["kernel", "kernel"]
    assert [len(k.outputs) for k in kernels] == [1, 1]


def test_groups_on_both_sides_of_a_product_stay_two():
    """Joined, each would need the other first."""

    def f(x):
        y = x * 2 + 1
        z = (y @ SQUARE) * 3 + 1
        return z * y + x

    kept, (first, second) = fused(f, X)
    assert kept == ["kernel", "dot_general", "kernel"]
    assert len(first.outputs) == 1
    assert len(second.operands) == 3


def test_what_waits_for_a_product_holds_nothing_up():
    def f(x):
        a = x * 2 + 1
        b = x * 3 - 1  # of a group that stays open while the product is computed
        c = a @ SQUARE
        d = b * b
        return c * d + b, a

    kept, _ = fused(f, X)
    assert kept[-1] == "kernel"
    assert kept.count("dot_general") == 1


def test_a_group_read_by_two_products():
    def f(x):
        y = x * 2 + 1
        return (y @ SQUARE) * 2 + 1 + (y @ (SQUARE + y[0] * 3)) * y

    fused(f, X)


# Reductions


def softmax(x):
    e = fnp.exp(x - fnp.max(x, axis=-1, keepdims=True))
    return e / fnp.sum(e, axis=-1, keepdims=True)


def reduced(kernel):
    return [n.operation for n in kernel.nodes if n.operation in REDUCTIONS]


def test_softmax_of_plain_reductions_is_one_kernel():
    def f(x):
        top = fnp.broadcast_to(fnp.max(x, axis=-1)[:, None], x.shape)
        e = abs(x - top) + 1
        return e / fnp.broadcast_to(fnp.sum(e, axis=-1)[:, None], x.shape)

    fused(f, X)  # as many kernels as may be
    kept, kernels = fused(lambda x: fnp.exp(x) / fnp.sum(fnp.exp(x), axis=-1, keepdims=True), X)
    assert kept == ["kernel"]
    assert reduced(kernels[0]) == ["reduce_sum"]
    assert (kernels[0].space, kernels[0].rows) == (X.shape, 1)
    assert max(kernels[0].stages) == 1


@pytest.mark.parametrize("axis", [-1, 1, (0, 1), None])
def test_reductions_along_the_last_axes(axis):
    kept, (kernel,) = fused(lambda x: fnp.sum(x * 2 + 1, axis=axis) * 2, X)
    assert kept[0] == "kernel"
    assert reduced(kernel) == ["reduce_sum"]
    assert kernel.rows == (1 if axis in (-1, 1) else 0)


@pytest.mark.parametrize("axis", [0, 1, (0, 1), (0, 2)])
def test_reductions_along_others(axis):
    x = np.stack([X, X + 1, X - 1])
    kept, (kernel,) = fused(lambda x: fnp.sum(x * 2 + 1, axis=axis) * 2, x)
    assert kept[0] == "kernel"
    assert reduced(kernel) == ["reduce_sum"]
    assert kernel.inner_shape == tuple(x.shape[a] for a in np.atleast_1d(axis))


def test_reductions_along_others_that_stay():
    """NumPy rounds partial sums of float16; few columns are short vectors, which many operations do not pay."""
    f = lambda x: fnp.sum(x * 2 + 1, axis=0)
    for x in (X.astype("f2"), X[:, :3]):
        kept, kernels = fused(f, x)
        assert kept[-1] == "reduce_sum"
        assert not any(map(reduced, kernels))
    kept, kernels = fused(lambda x: fnp.sum(fnp.exp(fnp.sin(x)), axis=0), np.ones((500, 15)))
    assert kept[-1] == "reduce_sum"
    assert not any("reduce_sum" in reduced(kernel) for kernel in kernels)


def test_what_is_computed_of_reductions_along_the_first_axis():
    def f(x):
        y = x * x + 1
        total = fnp.sum(y, axis=0)
        z = y / total
        return y, total, z, total * 2, z * fnp.sum(z * z, axis=0)

    for x in (X, SQUARE, np.stack([X, X + 1])):
        kept, (kernel,) = fused(f, x)
        assert kept == ["kernel"]
        assert max(kernel.stages) == 2


@pytest.mark.parametrize(
    "f",
    [
        softmax,
        lambda x: (
            (x - fnp.mean(x, -1, keepdims=True)) / fnp.sqrt(fnp.var(x, -1, keepdims=True) + 1)
        ),
        lambda x: fnp.log(fnp.sum(fnp.exp(x), axis=-1)),
        lambda x: fnp.var(x, axis=-1),
        lambda x: fnp.var(x),
        lambda x: fnp.sum(x * fnp.sum(x, axis=-1, keepdims=True), axis=-1),
        lambda x: fnp.sum(x * fnp.sum(x * 2, axis=(0, 1)), axis=-1),
        lambda x: fnp.max(x * fnp.min(x, -1, keepdims=True), -1) + fnp.sum(x * x, -1),
        lambda x: (fnp.sum(x * x, -1), x * x + 1, fnp.sum(x * x)),
        lambda x: fnp.any(x > 1, axis=-1) & fnp.all(x < 3, axis=-1),
        lambda x: fnp.prod(fnp.cos(x), -1),
        lambda x: fnp.sum(fnp.broadcast_to(fnp.sum(x * 2, -1, keepdims=True), x.shape) * x, -1),
        lambda x: fnp.sum(fnp.broadcast_to(x[0], x.shape), -1) + fnp.sum(x * x, -1),
    ],
    ids=range(13),
)
def test_functions_of_rows(f):
    for x in (X, X[0], X[:, :1], np.stack([X, X + 1]), X.astype("f4")):
        fused(f, x) if x.ndim > 1 else fused(lambda y: f(y[None]), x)


def test_rows_and_elements_escape():
    def f(x):
        y = x * 2 + 1
        total = fnp.sum(y, axis=-1)
        return y, total, y / fnp.broadcast_to(total[:, None], y.shape), total * 2

    _, kernels = fused(f, X)
    assert sum(len(k.outputs) for k in kernels) == 4


def test_rows_of_the_length_of_elements():
    """Of shape [12, 12], where the sums could be read along either axis."""

    def f(x):
        y = x * 2 + 1
        total = fnp.sum(y, axis=-1)
        return y * total, y / total[:, None], (y * total[:, None]).sum(-1) + total

    fused(f, SQUARE)


# What is read, and how


def test_broadcasts_are_read_in_place():
    kept, (kernel,) = fused(lambda x, r, c: (x * r + c) * (r + c) - 2 * c, X, ROW, COLUMN)
    assert "kernel" in kept
    assert {x.axes for x in kernel.operands} >= {(0, 1), (1,)}
    kept, (kernel,) = fused(lambda x, r: x * r + 1 - r, X, ROW)
    assert kept == ["kernel"]
    assert [x.axes for x in kernel.operands] == [(0, 1), (1,)]


def test_one_array_along_two_axes():
    _, (kernel,) = fused(lambda x: x[:, None] * x[None, :] + 1 - x[None, :], ROW)
    assert {x.axes for x in kernel.operands} == {(0,), (1,)}


def test_places_are_counted():
    def f(x):
        rows = fg.lax.broadcasted_iota(np.dtype(int), x.shape, 0)
        columns = fg.lax.broadcasted_iota(np.dtype(int), x.shape, 1)
        return fnp.where(rows * 3 > columns, x, 0.0) + columns

    kept, _ = fused(f, X)
    assert kept[-1] == "kernel"


def test_constants():
    kept, (kernel,) = fused(lambda x: x * SQUARE[0] + np.float64(3) - np.pi, X)
    assert kept == ["kernel"]
    constants = [n.value for n in kernel.nodes if n.operation == "constant"]
    assert sorted(constants) == [3.0, np.pi] or sorted(constants) == [3.0 - np.pi]
    assert len(kernel.operands) == 2


def test_a_broadcast_that_is_returned():
    def f(x):
        y = x * 2 + 1
        return fnp.broadcast_to(y, (3, *y.shape)), fnp.broadcast_to(x[0], (4, 12)), y * y

    fused(f, X)


# What is left as it was


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (2, 0, 3)])
def test_nothing_of_size_zero_is_fused(shape):
    assert fused(lambda x: x * 2 + x * x - 1, np.ones(shape))[1] == []
    assert fused(lambda x: fnp.sum(x * 2 + x, axis=-1) * 2 + 1, np.ones((*shape, 1)))[1] == []


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: x * 2, X),  # one pass
        (lambda x: x * 2 + 1, np.float64(2)),  # few scalars
        (lambda x: x * 2 + 1, X.astype("g")),
        (lambda x: fnp.cumsum(fnp.sort(x)), X),
        (lambda x: x.reshape(-1)[1:].reshape(59, 1), X),
    ],
    ids=range(5),
)
def test_what_is_not_worth_it_stays(f, x):
    expr = simplify(fg.make_expr(f)(x))
    found, kernels = fuse(expr)
    assert kernels == []
    assert found is expr or found.equations == expr.equations


def test_scalars_are_fused_from_four_operations_on():
    counts = []
    for n in range(1, 7):
        expr = simplify(fg.make_expr(lambda x, n=n: _times(x, n))(2.0))
        counts.append(len(fuse(expr)[1]))
    assert counts == [0] * (fusing.SCALARS - 1) + [1] * (6 - fusing.SCALARS + 1)


def _times(x, n):
    for _ in range(n):
        x = x * x
    return x


def test_short_inner_loops_are_left_to_numpy():
    f = lambda x: (x - fnp.broadcast_to(fnp.sum(x, -1)[:, None], x.shape)) * 2 + 1
    assert fused(f, np.ones((1000, 2)))[1] == []
    assert fused(f, np.ones((8, 2)))[1] != []
    assert fused(lambda x: x * 2 + 1, np.ones((1000, 2)))[1] != []  # its axes are one loop


def test_a_kernel_is_not_larger_than_the_largest(monkeypatch, as_written):
    monkeypatch.setattr(fusing, "LARGEST", 10)
    kept, kernels = fused(lambda x: _alternating(x, 45), X * 0.1)
    assert kept == ["kernel"] * 5
    assert all(sum(operations(k).values()) <= 10 for k in kernels)
    kept, kernels = fused(lambda x: _alternating(x, 9) + _alternating(-x, 9) + 1, X * 0.1)
    assert all(sum(operations(k).values()) <= 20 for k in kernels)


def _alternating(x, n):
    for i in range(n):
        x = x * x if i % 2 else x - 0.5
    return x


def test_long_programs(as_written):
    kept, _ = fused(lambda x: _alternating(x, 2000), X * 0.1)
    assert kept == ["kernel"] * len(kept)
    assert len(kept) == -(-2000 // fusing.LARGEST)


def test_effects_and_failures_keep_their_place():
    """Callbacks and checks run in the order they were in."""
    seen = []

    def f(x):
        y = x * 2 + 1
        fg.debug.callback(lambda a: seen.append(float(a.sum())), y)
        z = y * y - 3
        fg.debug.callback(lambda a: seen.append(float(a.sum())), z)
        return z + y

    expr = simplify(fg.make_expr(f)(X))
    evaluate(fuse(expr)[0], [X])
    np.testing.assert_allclose(seen, [np.sum(X * 2 + 1), np.sum((X * 2 + 1) ** 2 - 3)])


def test_loops_and_branches_have_kernels():
    def f(x):
        def step(c, row):
            c = (c + row) * 0.5 + 1
            return c, c * c - row

        c, rows = fg.lax.scan(step, x[0], x)
        return fg.lax.cond(fnp.sum(c) > 0, lambda a: a * 2 + 1 - a * a, lambda a: a - 1, c), rows

    x = np.ones((3, 1 << 16))  # smaller ones are routines
    _, kernels = schedule_with_kernels(simplify(fg.make_expr(f)(x)))
    assert {k.kernel.space for k in kernels} == {(1 << 16,)}
    assert len(kernels) >= 3


# Random programs


@pytest.mark.parametrize("seed", range(60))
def test_random_functions(seed):
    function, given = random_functions.random_function(np.random.default_rng(seed), 20)
    fused(function, *given)


def test_random_functions_have_kernels():
    counts = collections.Counter()
    for seed in range(60):
        function, given = random_functions.random_function(np.random.default_rng(seed), 20)
        expr = simplify(fg.make_expr(function)(*given))
        _, kernels = fuse(expr)
        counts[min(len(kernels), 2)] += 1
        for kernel in kernels:
            counts.update(reduced(kernel.kernel))
            counts["rows"] += kernel.kernel.rows > 0
            counts["results"] += len(kernel.kernel.outputs) > 1
    assert counts[1] > 10
    assert counts[2] > 10
    assert all(counts[k] > 3 for k in ("reduce_sum", "reduce_max", "rows", "results")), counts


@hypothesis.settings(max_examples=60)
@hypothesis.given(programs(16))
def test_random_programs(drawn):
    expr, arguments, _ = drawn
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setitem(OPERATIONS, "fma", fma)  # of what cancels, each digit counts
        expr = simplify(expr)
        found, _ = fuse(expr)
        found.check()
        results = zip(evaluate(found, arguments), evaluate(expr, arguments), strict=True)
        # Sines, and what is computed of complex numbers, are rounded otherwise than NumPy's, and that may decide what is equal.
        rounded = any(t.dtype.kind == "c" for t in expr.types)
        rounded |= any(e.primitive.name == "sin" for e in expr.equations)
        for x, y in results:
            if not rounded:
                assert_same([x], [y], signs=False)
            elif y.dtype.kind in "fc":
                assert_same([x], [y], rtol=1e3 * np.finfo(y.dtype).eps, signs=False)


def test_reductions_join_before_what_is_no_kernel_closes_a_group():
    """Else their operands would be written, to be read again."""

    def f(x):
        y = fnp.exp(x) * 2
        return fnp.sum(y, 0), fnp.sum(y, 1), fnp.max(y, 1)

    found, (kernel,) = fused(f, np.linspace(0, 1, 600).reshape(20, 30))
    assert operations(kernel)["reduce_sum"] == 1
    assert operations(kernel)["reduce_max"] == 1
    assert [out.of_elements for out in kernel.outputs] == [True, False, False]
    assert found == ["kernel", "reduce_sum"]


@pytest.mark.parametrize("shape", [(600,), (200, 3)])
def test_what_reductions_would_slow_down_they_do_not_join(shape):
    """A sum of all is on one thread; rows of three elements are no loops."""

    def f(x):
        y = fnp.exp(x) * 2
        return fnp.cumsum(y, 0), fnp.sum(y, -1)

    _, (kernel,) = fused(f, np.linspace(0, 1, 600).reshape(shape))
    assert "reduce_sum" not in operations(kernel)


def test_gates_are_one_loop():
    def gates(x):
        i, f, o = (fg.nn.sigmoid(part) for part in (x[0], x[1], x[2]))
        return o * fnp.tanh(f * x[3] + i * fg.nn.log_sigmoid(x[4]))

    assert fused(gates, np.linspace(-1, 1, 500).reshape(5, 100))[0] == ["kernel"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sin", "exp", "expit", "sqrt"])
def test_functions_that_numpy_is_slow_at_are_kernels_alone(name, dtype):
    f = getattr(scipy.special if name == "expit" else np, name)
    slow = name == "expit" or (name == "sin" and dtype is np.float64)
    assert len(fg.jit(lambda x: f(x)).lower(np.ones(100, dtype)).kernels) == slow


def test_elements_at_index_arrays_are_a_kernel_alone_and_rows_are_not():
    x, indices = np.arange(60.0), np.array([3, 59, -1, 3])
    taken = fg.jit(lambda x: x[indices])
    assert len(taken.lower(x).kernels) == 1
    assert not fg.jit(lambda x: x[indices]).lower(np.ones((60, 8))).kernels
    compiled = taken.lower(x).compile()
    np.testing.assert_array_equal(compiled(x), x[indices])
