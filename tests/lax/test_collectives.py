"""Collectives against NumPy on the stacked operands of all calls, under every transform."""

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core.axes import open_axes
from fungrad.core.config import checking
from fungrad.primitives import collectives
from fungrad.primitives.collectives import Collective
from tests.backends.fake_cupy import make_module
from tests.samples.row import reals
from tests.test_primitives import is_concrete


@dataclasses.dataclass(frozen=True)
class Row:
    """A collective across the axis "i", and the same of the stacked operands ``x[i]`` of all calls."""

    name: str
    function: Callable[[Any], Any]
    shape: tuple[int, ...]
    oracle: Callable[[np.ndarray], np.ndarray]

    def __str__(self) -> str:
        return self.name


def same(x: np.ndarray, calls: int = 3) -> np.ndarray:
    """Return what all calls get alike."""
    return np.stack([x] * calls)


def parts(x: np.ndarray, axis: int) -> np.ndarray:
    """Return x[call] split into three along an axis: the parts come first."""
    return np.stack(np.split(x, 3, axis + 1))


SHAPE = (2, 3)
ROWS = [
    Row("psum", lambda x: lax.psum(x, "i"), SHAPE, lambda x: same(x.sum(0))),
    Row("pmean", lambda x: lax.pmean(x, "i"), SHAPE, lambda x: same(x.mean(0))),
    Row("pmax", lambda x: lax.pmax(x, "i"), SHAPE, lambda x: same(x.max(0))),
    Row("pmin", lambda x: lax.pmin(x, "i"), SHAPE, lambda x: same(x.min(0))),
    Row("psum of products", lambda x: lax.psum(x * x, "i"), SHAPE, lambda x: same((x**2).sum(0))),
    Row("all_gather", lambda x: lax.all_gather(x, "i"), SHAPE, same),
    Row(
        "all_gather-axis",
        lambda x: lax.all_gather(x, "i", axis=-1),
        SHAPE,
        lambda x: same(np.moveaxis(x, 0, -1)),
    ),
    Row(
        "all_gather-tiled",
        lambda x: lax.all_gather(x, "i", axis=1, tiled=True),
        SHAPE,
        lambda x: same(np.concatenate(list(x), 1)),
    ),
    Row("psum_scatter", lambda x: lax.psum_scatter(x, "i"), (3, 2), lambda x: x.sum(0)),
    Row(
        "psum_scatter-dimension",
        lambda x: lax.psum_scatter(x, "i", scatter_dimension=-1),
        SHAPE,
        lambda x: x.sum(0).T,
    ),
    Row(
        "psum_scatter-tiled",
        lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
        (2, 6),
        lambda x: parts(x, 1).sum(1),
    ),
    Row(
        "all_to_all",
        lambda x: lax.all_to_all(x, "i", 1, 0),
        SHAPE,
        lambda x: np.einsum("kai->ika", x),
    ),
    Row(
        "all_to_all-tiled",
        lambda x: lax.all_to_all(x, "i", -1, -2, tiled=True),
        (2, 6),
        lambda x: np.stack([np.concatenate(list(part), 0) for part in parts(x, 1)]),
    ),
    Row("pswapaxes", lambda x: lax.pswapaxes(x, "i", 1), SHAPE, lambda x: x.swapaxes(0, 2)),
    Row(
        "ppermute",
        lambda x: lax.ppermute(x, "i", [(0, 2), (1, 0), (2, 1)]),
        SHAPE,
        lambda x: x[[1, 2, 0]],
    ),
    Row(
        "ppermute-partial",
        lambda x: lax.ppermute(x, "i", [(2, 0)]),
        SHAPE,
        lambda x: np.stack([x[2], 0 * x[0], 0 * x[0]]),
    ),
    Row("pshuffle", lambda x: lax.pshuffle(x, "i", [2, 0, 1]), SHAPE, lambda x: x[[2, 0, 1]]),
    Row("pbroadcast", lambda x: lax.pbroadcast(x, "i", 1), SHAPE, lambda x: same(x[1])),
    Row(
        "axis_index",
        lambda x: x * lax.axis_index("i"),
        SHAPE,
        lambda x: x * np.arange(3).reshape(3, 1, 1),
    ),
    Row("axis_size", lambda x: x * lax.axis_size("i"), SHAPE, lambda x: 3 * x),
]

rows = pytest.mark.parametrize("row", ROWS, ids=str)


@pytest.fixture(autouse=True)
def checked():
    with checking():
        yield
    assert not open_axes()


def named(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return fg.vmap(function, axis_name="i", **options)


def operand(row: Row, *batch: int, seed: int = 0) -> np.ndarray:
    return reals(*batch, *row.shape, seed=seed)


def close(found: Any, expected: Any) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@rows
def test_values(row):
    x = operand(row, 3)
    expected = row.oracle(x)
    close(named(row.function)(x), expected)
    close(fg.jit(named(row.function))(x), expected)
    close(named(fg.jit(row.function))(x), expected)
    moved = np.moveaxis(x, 0, -1)
    close(named(row.function, in_axes=-1, out_axes=1)(moved), np.moveaxis(expected, 0, 1))


@rows
def test_an_operand_that_all_calls_share(row):
    x = operand(row)
    f = named(lambda i, x: row.function(x) + 0 * i, in_axes=(0, None))
    close(f(np.arange(3), x), row.oracle(same(x)))
    g = named(lambda i: row.function(x) + 0 * i)  # a plain array within
    close(g(np.arange(3)), row.oracle(same(x)))
    close(named(row.function, in_axes=None, axis_size=3)(x), row.oracle(same(x)))


@rows
def test_batches(row):
    x = operand(row, 4, 3)
    expected = np.stack([row.oracle(one) for one in x])
    close(fg.vmap(named(row.function))(x), expected)
    close(named(fg.vmap(row.function), in_axes=1, out_axes=1)(x), expected)
    close(fg.vmap(named(row.function), axis_name="j")(x), expected)
    close(named(fg.jit(fg.vmap(row.function)), in_axes=1, out_axes=1)(x), expected)


@rows
def test_derivatives(row):
    x, t = operand(row, 3), operand(row, 3, seed=1)
    expected = (row.oracle(x + 1e-6 * t) - row.oracle(x - 1e-6 * t)) / 2e-6
    ct = reals(*expected.shape, seed=2)
    inside = named(lambda x, t: fg.jvp(row.function, (x,), (t,))[1])(x, t)
    outside = fg.jvp(named(row.function), (x,), (t,))[1]
    np.testing.assert_allclose(inside, expected, rtol=1e-8)
    close(outside, inside)
    pairing = np.sum(ct * inside)
    for transform in (lambda f: f, fg.jit):
        pull = named(transform(lambda x, ct: fg.vjp(row.function, x)[1](ct)[0]))
        np.testing.assert_allclose(np.sum(pull(x, ct) * t), pairing, rtol=1e-12)
        close(fg.vjp(transform(named(row.function)), x)[1](ct)[0], pull(x, ct))
    # An operand, a cotangent or both that all calls share:
    for x_axis, ct_axis in ((None, 0), (0, None), (None, None)):
        pull = lambda x, ct: fg.vjp(row.function, x)[1](ct)[0]
        given = [a if axis == 0 else a[0] for a, axis in ((x, x_axis), (ct, ct_axis))]
        alike = [a if axis == 0 else same(a[0]) for a, axis in ((x, x_axis), (ct, ct_axis))]
        found = named(pull, in_axes=(x_axis, ct_axis), axis_size=3)(*given)
        close(found, named(pull)(*alike))


@rows
def test_second_derivatives(row):
    x, t = operand(row, 3), operand(row, 3, seed=1)

    def gradient(x):
        return fg.grad(lambda x: fnp.sum(fnp.sin(row.function(x))))(x)

    def total(x):
        return np.sum(np.sin(row.oracle(x)))

    pair = np.sum(t * named(gradient)(x))
    np.testing.assert_allclose(pair, (total(x + 1e-6 * t) - total(x - 1e-6 * t)) / 2e-6, rtol=1e-7)
    close(fg.grad(lambda x: fnp.sum(fnp.sin(named(row.function)(x))))(x), named(gradient)(x))
    moved = named(lambda x, t: fg.jvp(gradient, (x,), (t,))[1])(x, t)
    difference = (named(gradient)(x + 1e-6 * t) - named(gradient)(x - 1e-6 * t)) / 2e-6
    np.testing.assert_allclose(moved, difference, rtol=1e-7, atol=1e-9)


def test_rows_use_every_collective():
    used = set()
    for row in ROWS:

        def f(x, row=row):
            found = row.function(x)
            used.update(type(equation[0]) for equation in found._owner.equations)
            return found

        named(f)(operand(row, 3))
    declared = {c for c in vars(collectives).values() if is_concrete(c)}
    assert {c for c in declared if issubclass(c, Collective)} <= used


# Values of other kinds


@pytest.mark.parametrize("dtype", ["f2", "f4", "c8", "i1", "u8", "?"])
def test_dtypes(dtype):
    x = np.array([[0, 1], [1, 1], [1, 0]], dtype)
    summed = named(lambda x: lax.psum(x, "i"))(x)
    assert summed.dtype == (np.int64 if dtype == "?" else dtype)
    assert summed[0].tolist() == [2, 2]
    moved = {
        "pbroadcast": (lambda x: lax.pbroadcast(x, "i", 2), x[2]),
        "ppermute": (lambda x: lax.ppermute(x, "i", [(2, 0)]), x[2]),
        "pmax": (lambda x: lax.pmax(x, "i"), x[1]),
        "all_gather": (lambda x: lax.all_gather(x, "i"), x),
    }
    for name, (f, expected) in moved.items():
        found = named(f)(x)
        assert found.dtype == dtype, name
        assert np.array_equal(found[0], expected), name
    mean = named(lambda x: lax.pmean(x, "i"))(x)
    assert mean.dtype == np.mean(x, 0).dtype
    assert np.allclose(mean[0], np.mean(x, 0), rtol=1e-3)


def test_sums_of_small_integers_wrap_whether_mapped_or_not():
    x = np.full(300, 1, np.int8)
    assert named(lambda x: lax.psum(x, "i"))(x)[0] == 300 - 256
    shared = named(lambda i, x: lax.psum(x, "i") + 0 * i, in_axes=(0, None))
    assert shared(x, np.int8(1))[0] == 300 - 256
    assert shared(x, np.ones(2, np.int8))[0].tolist() == [300 - 256] * 2
    assert named(lambda x: lax.pmean(x, "i"))(x)[0] == 1


def test_pytrees():
    x = {"a": np.arange(3.0), "b": (np.arange(6.0).reshape(3, 2), None)}
    found = named(lambda x: lax.psum(x, "i"), out_axes=None)(x)
    assert found["a"] == 3.0
    assert found["b"][0].tolist() == [6.0, 9.0]
    assert found["b"][1] is None
    assert named(lambda x: lax.all_gather(x, "i"), out_axes=None)(x)["b"][0].shape == (3, 2)


def test_what_is_not_traced_is_summed_at_once():
    found = []

    def f(x):
        found.extend([lax.psum(1, "i"), lax.psum(True, "i"), lax.psum(np.ones(2), "i")])
        found.extend([lax.pmean(2, "i"), lax.psum(np.bool_(True), "i")])
        return x

    named(f)(np.ones(3))
    assert [type(x) for x in found] == [int, int, np.ndarray, float, np.int64]
    assert [x.tolist() if hasattr(x, "tolist") else x for x in found] == [3, 3, [3.0, 3.0], 2.0, 3]


def test_results_that_all_calls_share_need_no_axis():
    x = np.arange(3.0)
    for f in (lax.psum, lax.pmean, lax.pmax, lax.all_gather):
        found = named(lambda x: f(x, "i"), out_axes=None)(x)  # noqa: B023
        assert np.array_equal(found, named(lambda x: f(x, "i"))(x)[0])  # noqa: B023
    with pytest.raises(ValueError, match="differs between the calls mapped over"):
        named(lambda x: x * lax.axis_index("i"), out_axes=None)(x)


def test_ties_share_the_derivative_of_extrema_and_nan_counts_as_extremum():
    x = np.array([[1.0, 2.0], [3.0, 2.0], [3.0, 0.0]])
    g = named(lambda x: fg.grad(lambda x: fnp.sum(lax.pmax(x, "i")))(x))(x)
    assert g.tolist() == [[0, 1.5], [1.5, 1.5], [1.5, 0]]  # of the sum over three calls
    assert np.isnan(named(lambda x: lax.pmax(x, "i"))(np.array([1.0, np.nan]))).all()


def test_axes_without_calls_and_with_one():
    empty = np.zeros((0, 2))
    assert named(lambda x: lax.psum(x, "i"), out_axes=None)(empty).tolist() == [0, 0]
    assert named(lambda x: lax.ppermute(x, "i", []))(empty).shape == (0, 2)
    assert named(lambda x: lax.psum_scatter(x, "i", tiled=True))(np.ones((1, 4))).shape == (1, 4)
    with pytest.raises(ValueError, match="zero-size array to reduction"):
        named(lambda x: lax.pmax(x, "i"))(empty)


# Several names

X = reals(2, 3, 6)


def over_both(function: Callable[..., Any]) -> Callable[..., Any]:
    return fg.vmap(fg.vmap(function, axis_name="j"), axis_name="i")


def flat(function: Callable[..., Any]) -> Any:
    """Apply across one axis "k" in place of i and j."""
    found = fg.vmap(function, axis_name="k")(X.reshape(6, 6))
    return found.reshape(2, 3, *found.shape[1:])


@pytest.mark.parametrize(
    "call",
    [
        lax.psum,
        lax.pmean,
        lax.pmin,
        lax.all_gather,
        lambda x, name: lax.all_gather(x, name, axis=-1, tiled=True),
        lax.psum_scatter,
        lambda x, name: lax.psum_scatter(fnp.stack([x, x, 2 * x]), name, scatter_dimension=1),
        lambda x, name: lax.all_to_all(x, name, 0, 0),
        lambda x, name: lax.all_to_all(fnp.outer(x, x), name, 0, 1, tiled=True),
        lambda x, name: lax.pswapaxes(fnp.outer(x, x), name, 1),
        lambda x, name: lax.pbroadcast(x, name, 4),
        lambda x, name: x * lax.axis_index(name) + lax.axis_size(name),
    ],
    ids=range(12),
)
def test_several_names_are_one_axis(call):
    close(over_both(lambda x: call(x, ("i", "j")))(X), flat(lambda x: call(x, "k")))
    gradient = lambda name: fg.grad(lambda x: fnp.sum(fnp.sin(call(x, name))))
    close(over_both(gradient(("i", "j")))(X), flat(gradient("k")))


def test_names_apart():
    found = over_both(lambda x: (lax.psum(x, "i"), lax.pmax(x, "j"), lax.psum(x, ())))(X)
    close(found[0], np.broadcast_to(X.sum(0), X.shape))
    close(found[1], np.broadcast_to(X.max(1, keepdims=True), X.shape))
    close(found[2], X)


def test_an_inner_axis_hides_an_outer_one_of_the_same_name():
    def outer(x):
        before = lax.psum(x[0, 0], "i")
        return named(lambda y: lax.psum(y, "i"))(x), before, lax.psum(x[0, 0], "i")

    inner, before, after = named(outer)(X)
    close(inner, np.broadcast_to(X.sum(1, keepdims=True), X.shape))
    close(before, same(X[:, 0, 0].sum(), 2))
    close(after, before)


@rows
def test_on_cupy(row, monkeypatch):
    xp = make_module()
    monkeypatch.setitem(sys.modules, "cupy", xp)
    x = operand(row, 3)
    found = named(row.function)(xp.asarray(x))
    assert isinstance(found, xp.ndarray)
    close(found.get(), row.oracle(x))
    gradient = fg.grad(lambda x: fnp.sum(fnp.sin(named(row.function)(x))))
    close(gradient(xp.asarray(x)).get(), gradient(x))


# Errors

ERRORS = {
    "unbound": (
        lambda x: lax.psum(x, "k"),
        NameError,
        r"unbound axis name: 'k' \(open here: 'i'\)",
    ),
    "groups": (
        lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2]]),
        NotImplementedError,
        "psum: axis_index_groups must be None. Give groups an axis of their own",
    ),
    "twice": (lambda x: lax.pmax(x, ("i", "i")), ValueError, "pmax: axis_name has a name twice"),
    "unhashable": (
        lambda x: lax.psum(x, ([],)),
        TypeError,
        r"an axis name must be hashable, got \[\]",
    ),
    "type": (lambda x: lax.psum("a", "i"), TypeError, "psum: 'a' of type str is not an array"),
    "to": (
        lambda x: lax.all_gather(x, "i", to="reduced"),
        ValueError,
        "to must be 'varying', got 'r",
    ),
    "axis": (
        lambda x: lax.all_gather(x, "i", axis=2, tiled=True),
        ValueError,
        "lax.all_gather: axis 2 is no axis of an array of 2 axes",
    ),
    "not an axis": (
        lambda x: lax.pswapaxes(x, "i", 0.5),
        TypeError,
        "all_to_all: split_axis must be an integer, got 0.5 of type float",
    ),
    "length": (
        lambda x: lax.psum_scatter(x, "i"),
        ValueError,
        r"axis 0 \(scatter_dimension\) of the operand float64\[2,4\] has length 2; it must be 3, the size",
    ),
    "multiple": (
        lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True),
        ValueError,
        r"axis 1 \(split_axis\) of .* has length 4; it must be a multiple of 3",
    ),
    "pairs": (lambda x: lax.ppermute(x, "i", [(0, 1, 2)]), ValueError, "must hold pairs"),
    "no pairs": (lambda x: lax.ppermute(x, "i", [1, 2, 0]), ValueError, "must hold pairs"),
    "destination": (
        lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]),
        ValueError,
        "each destination must be an index below the size of the axis, 3, and occur once",
    ),
    "source": (lambda x: lax.ppermute(x, "i", [(3, 1)]), ValueError, "ppermute: each source must"),
    "integers": (
        lambda x: lax.ppermute(x, "i", [(0.0, 1)]),
        TypeError,
        "an index in perm must be an integer, got 0.0",
    ),
    "names": (
        lambda x: lax.ppermute(x, ("i", "j"), [(0, 1)]),
        NameError,
        "unbound axis name: 'j'",
    ),
    "shuffle": (
        lambda x: lax.pshuffle(x, "i", [0, 1]),
        ValueError,
        "pshuffle: perm must hold each of the 3 indices along 'i' once",
    ),
    "broadcast": (
        lambda x: lax.pbroadcast(x, "i", 3),
        ValueError,
        "pbroadcast: source must be at least 0 and below the size of the axis, 3; got 3",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, error, message = ERRORS[name]
    with pytest.raises(error, match=message):
        named(function)(np.ones((3, 2, 4)))


def test_permutations_take_one_name():
    for f in (lax.ppermute, lax.pshuffle):
        with pytest.raises(NotImplementedError, match=r"takes one axis name, got \('i', 'j'\)"):
            over_both(lambda x: f(x, ("i", "j"), []))(X)  # noqa: B023
