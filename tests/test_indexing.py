"""`x[key]` and the array that `x[key] = values` makes, against NumPy."""

import functools
import re

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.errors import ConcretizationError
from fungrad.core.mode import VALUES
from fungrad.core.nesting import trace_of
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import type_of
from fungrad.numpy.indexing import COMBINE, getitem, setitem_functional
from fungrad.primitives.contraction import DotGeneral, dot_general
from fungrad.primitives.dynamic import DynamicSlice
from fungrad.primitives.indexing import (
    UFUNCS,
    Gather,
    Scatter,
    UpdateSlice,
    take,
    take_along_axis,
)
from fungrad.primitives.rounds import write_in_rounds
from fungrad.primitives.slices import Slice
from tests.samples import contraction

SHAPES = [(), (5,), (3, 4), (3, 4, 2), (2, 3, 4, 5)]
ONE = [0, 2, 1]
MASK1 = np.array([True, False, True])
MASK2 = np.arange(12).reshape(3, 4) % 3 == 0
NONE = np.zeros(3, bool)
I = np.array

# For each number of axes, keys of an array of that shape; a list of one key stands for a list index.
KEYS = {
    0: [(), ..., None, (None, ...), (None, None), True, False, (True, None), I(True), np.False_],
    1: [
        *(0, 4, -1, -5, np.int8(2), I(3), I(-2), True, False, None, ..., (), (..., 1), (1, ...)),
        *(slice(None), slice(1, 4), slice(-3, None), slice(None, None, 2), slice(None, None, -1)),
        *(slice(4, 0, -2), slice(3, 1), slice(10, 20), slice(-100, 100), slice(2, 3, -1)),
        *(slice(np.int64(1), I(3)), (slice(1, 4), None), (None, slice(3, None, -1), None)),
        *([0, 3, 1], [-1, -5, 0, 0], [], [[0, 1], [2, 3]], I([[4]]), range(3), ((0, 1),)),
        *(I([1, 2], np.uint8), np.zeros((0, 2), int), (None, [1, 2]), ([1, 2], None)),
        *([True, False, True, False, True], np.zeros(5, bool), np.ones(5, bool)),
        *(
            (np.ones(5, bool), None),
            (True, [1, 2]),
            ([1, 2], True),
            (False, [1]),
            ([[0], [1]], True),
        ),
    ],
    2: [
        *(
            0,
            -1,
            (1, 2),
            (-1, -1),
            (slice(None), 1),
            (0, slice(None)),
            (..., 3),
            (2, ...),
            (..., 1, 2),
        ),
        *((slice(1, 3), slice(None, None, 2)), (slice(None, None, -1), slice(None, None, -1))),
        *(
            (slice(None), slice(3, 0, -1)),
            (1, slice(3, None, -2)),
            (None, 1),
            (1, None),
            (1, None, 2),
        ),
        *((None, slice(None), None, 2), (slice(0, 0), 1), (slice(None), slice(None)), (..., None)),
        *(ONE, (ONE,), (ONE, ONE), (ONE, 1), (1, ONE), (slice(None), ONE), (ONE, slice(1, 3))),
        *((slice(2, 0, -1), ONE), (I([[0], [1]]), I([[0, 3, 1]])), (I([[0], [2]]), slice(1, None))),
        *((slice(None), I([[0, 1], [2, 3]])), (None, ONE), (ONE, None), (ONE, None, ONE)),
        *(
            (ONE, ..., ONE),
            (..., ONE),
            (ONE, ...),
            (I(1), ONE),
            (I([0, 1]), I(2)),
            ([2], [1, 1, -1]),
        ),
        *(MASK1, (MASK1,), (MASK1, 1), (1, [True, False, True, True]), MASK2, (MASK2,), NONE),
        *((MASK2, None), (None, MASK2), (MASK1, slice(1, 3)), (slice(1, None), [True] * 4)),
        *(
            (MASK1, [0, 3]),
            ([0, 2], [False, True, True, False]),
            (True, 1),
            (..., True),
            (True, ONE),
        ),
        *((slice(None), True), (0, slice(None), True), ([], []), ([], slice(None)), (ONE, [])[:1]),
    ],
    3: [
        *(1, (1, 2, 1), (slice(None), 1), (..., 0), (1, ..., 1), (slice(1, 2), 2), (0, None, 1)),
        *(
            (ONE, slice(None), [1, 0, 1]),
            (slice(None), ONE, [1, 0, 1]),
            (ONE, [1, 0, 1], slice(None)),
        ),
        *((0, slice(None), [1, 0]), (slice(None), 0, [1, 0]), (slice(None), [1, 0], 0), (0, ONE)),
        *((0, ..., [1, 0]), (slice(None), ..., [1, 0]), (slice(None), ONE, ..., [1, 0, 1])),
        *(
            (ONE, None, ONE),
            (None, ONE, ONE),
            (slice(None), ONE, None, [0, 1, 1]),
            (..., None, ONE, 1),
        ),
        *(
            MASK1,
            MASK2,
            (MASK2, 1),
            (MASK2, slice(None)),
            (1, [True, False, True, True], slice(None)),
        ),
        *((slice(None), slice(None), [True, False]), (MASK1, slice(None), [0, 1]), (None, MASK2)),
        *(
            (slice(None), np.arange(8).reshape(4, 2) % 3 == 0),
            np.arange(24).reshape(3, 4, 2) % 5 == 0,
        ),
        *(
            (I([[0, 1]]), slice(None), I([[0], [1], [1]])),
            (slice(2), I([[0, 1]]), slice(None, None, -1)),
        ),
        *((slice(None, None, -1), ONE, slice(None, None, -1)), (2, slice(None, None, -1), [0, 1])),
        *(
            (slice(None), True, ONE),
            (slice(None), True, slice(None), [0, 1]),
            (True, False),
            (1, True),
        ),
    ],
    4: [
        *(
            1,
            (..., 2),
            (1, ..., 2),
            (0, 1, 2, 3),
            (slice(None), [0, 2], [1, 1]),
            (..., [0, 2], [1, 1]),
        ),
        *(
            (slice(None), [0, 2], slice(None), [1, 1]),
            (0, slice(None), [0, 2]),
            (0, 1, slice(None), ONE),
        ),
        *(
            (slice(None), 0, ..., [0, 1, 2, 3]),
            (slice(None), 0, [0, 1], slice(None)),
            ([1, 0], MASK1),
        ),
        *(
            (slice(None), [0, 1], ..., [0, 1], slice(None)),
            (slice(None), MASK2),
            (slice(None), MASK2, 0),
        ),
        *((1, MASK2, slice(None)), (MASK2, 0)[:0], ([0, 1], slice(None), slice(None), [4, -1])),
        *((slice(None), I(0), slice(None), I(1)), (None, 1, None, [0, 2], None, ..., None)),
        *(
            (slice(None, None, -1), slice(1, 3), slice(3, 0, -2), slice(None)),
            (1, slice(2), ..., [0, 4]),
        ),
        *(
            (0, ..., None, [1, 2]),
            (..., [[0], [1]], [2, 3], 0),
            (slice(None), [0, 1], [0, 1], [0, 1]),
        ),
    ],
}
CASES = [(n, key) for n, keys in KEYS.items() for key in keys]
SETTABLE = ["set", "add", "mul", "min", "max"]


def sample(shape, dtype=float, seed=0):
    values = np.random.default_rng(seed).permutation(np.arange(1, 1 + int(np.prod(shape))))
    return (values.reshape(shape) / 4).astype(dtype)


def describe(case):
    text = re.sub(r"\s+|array", "", f"{case[0]}:{case[1]!r}")
    for long, short in [
        ("slice", "s"),
        ("None", "_"),
        ("True", "T"),
        ("False", "F"),
        ("Ellipsis", "..."),
    ]:
        text = text.replace(long, short)
    return text[:60]


def read(x, key):
    """Index a tracer of `x` and return the value and the number of equations."""
    with Trace("t", VALUES) as trace:
        result = getitem(trace.new_input(type_of(x), x), key)
        assert trace_of((result,)) is trace
        value = known_value(result)
        assert type_of(value) == result._type
        return value, len(trace.equations)


def write(x, key, values, kind="set", **options):
    """Return what writing gives, on tracers of `x` and `values`; `x` must not change."""
    before = np.array(x)
    with Trace("t", VALUES) as trace:
        if isinstance(values, np.ndarray):
            values = trace.new_input(type_of(values), values)
        new = setitem_functional(trace.new_input(type_of(x), x), key, values, kind, **options)
        value = known_value(new)
        assert (new.shape, new.dtype) == (np.shape(x), x.dtype)
    np.testing.assert_array_equal(x, before)
    return value


def written(x, key, values, kind):
    """Do the same with NumPy."""
    x = np.array(x)
    if kind == "set":
        x[key] = values
    else:
        ufunc = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[kind]
        ufunc.at(x, key, np.broadcast_to(values, x[key].shape))  # NumPy 2.4 gets it wrong itself
    return x


def same(actual, expected):
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-13)


def test_the_table_is_big():
    assert len(CASES) >= 150


@pytest.mark.parametrize("case", CASES, ids=describe)
def test_getitem(case):
    n, key = case
    x = sample(SHAPES[n])
    value, _ = read(x, key)
    same(value, x[key])


@pytest.mark.parametrize("case", CASES, ids=describe)
def test_setitem(case):
    n, key = case
    x = sample(SHAPES[n])
    shape = x[key].shape
    for kind in SETTABLE:
        updates = sample(shape, seed=1) * 2
        same(write(x, key, updates, kind), written(x, key, updates, kind))
        same(write(x, key, 2.5, kind), written(x, key, 2.5, kind))
        if shape and not is_mask(key):
            row = sample((1, *shape[1:]), seed=2) * 2
            same(write(x, key, row, kind), written(x, key, row, kind))
            same(write(x, key, row[0], kind), written(x, key, row[0], kind))


def is_mask(key):
    return np.asarray(key, object).size and getattr(key, "dtype", None) == np.bool_


def traced_key(key, trace):
    """Return a key with tracers for the arrays in it."""
    if isinstance(key, tuple):
        return tuple(traced_key(k, trace) for k in key)
    if isinstance(key, list):
        key = np.asarray(key, int if key == [] else None)
    if isinstance(key, np.ndarray | np.generic):
        return trace.new_input(type_of(key), key)
    return key


@pytest.mark.parametrize("case", CASES, ids=describe)
def test_tracers_in_the_key(case):
    n, key = case
    x = sample(SHAPES[n])
    expected = x[key]
    values = sample(expected.shape, seed=1)
    with Trace("t", VALUES) as trace:
        t = trace.new_input(type_of(x), x)
        key = traced_key(key, trace)
        same(known_value(getitem(t, key)), expected)
        new = setitem_functional(t, key, values)
        same(known_value(new), written(x, case[1], values, "set"))
        if any(type(k) is Tracer for k in (key if type(key) is tuple else (key,))):
            same(known_value(getitem(x, key)), expected)


@given(st.data())
def test_basic_indices(data):
    x = sample(data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)))
    key = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True))
    value, equations = read(x, key)
    same(value, x[key])
    assert equations <= 3
    values = sample(x[key].shape, seed=1)
    for kind in SETTABLE:
        same(write(x, key, values, kind), written(x, key, values, kind))


@given(st.data())
def test_integer_array_indices(data):
    x = sample(data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4)))
    key = data.draw(hnp.integer_array_indices(x.shape))
    same(read(x, key)[0], x[key])
    for kind in SETTABLE:
        values = sample(x[key].shape, seed=1)
        expected = written(x, tuple(map(np.ascontiguousarray, key)), values, kind)
        same(write(x, key, values, kind), expected)


@given(st.data())
def test_mixed_indices(data):
    x = sample(data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)))
    common = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=3))
    key = []
    for n in x.shape:
        choices = st.sampled_from(["int", "slice", "array", "stretched", "mask", "none"])
        match data.draw(choices):
            case "int":
                key.append(data.draw(st.integers(-n, n - 1)))
            case "slice":
                key.append(data.draw(st.slices(n)))
            case "array":
                key.append(data.draw(hnp.arrays(int, common, elements=st.integers(-n, n - 1))))
            case "stretched":
                shape = tuple(data.draw(st.sampled_from([1, m])) for m in common)
                key.append(data.draw(hnp.arrays(int, shape, elements=st.integers(-n, n - 1))))
            case "mask":
                key.append(data.draw(hnp.arrays(bool, n)))
            case "none":
                key += [None, slice(None)]
    if data.draw(st.booleans()):
        key[-1:] = [...]
    key = tuple(key)
    try:
        expected = x[key]
    except IndexError as error:
        with pytest.raises(IndexError, match=re.escape(str(error).strip())):
            read(x, key)
        return
    same(read(x, key)[0], expected)
    values = sample(expected.shape, seed=1)
    same(write(x, key, values, "add"), written(x, key, values, "add"))


@pytest.mark.parametrize(
    ("key", "equations"),
    [
        ((), 0),
        (..., 0),
        ((slice(None), slice(None, 7)), 0),
        (1, 1),
        ((1, 2), 1),
        ((slice(None), 1), 1),
        (slice(1, 3), 1),
        (None, 1),
        (slice(None, None, -1), 1),
        ((None, 1, slice(1, 3)), 1),
        (ONE, 1),
        ((ONE, ONE), 1),
        (MASK1, 1),
        ((slice(None), ONE), 3),
        (MASK2, 2),
    ],
    ids=str,
)
def test_number_of_equations(key, equations):
    assert read(sample((3, 4)), key)[1] == equations


BAD_KEYS = [
    *(3, -4, (0, 4), (slice(None), -5), (0, 0, 0), (..., 0, 0, 0), (..., ...), 10**30, 1.0, 1j, "a"),
    *(b"a", {}, NotImplemented, np.float64(1), [0.5], [None], [0, 3], (slice(None), [0, -5]), ([0], [0], [0])),
    *(([0, 1], [0, 1, 2]), I([1.0]), np.array([]), [[0], [1, 2]], [slice(1)], slice(None, None, 0)),
    *(slice(1.5), slice("a", None), MASK2.T, MASK1[:2], (0, MASK1), (MASK1, MASK1), (MASK2, 0)),
    *(np.zeros((3, 4, 1), bool), (False, ONE), (MASK1, ONE), ([0, 1], MASK2), I([None]), (0, "a")),
    *((ONE, 4), (-4, ONE), (None, 0, 4), set()),
]  # fmt: skip


@pytest.mark.parametrize("key", BAD_KEYS, ids=lambda k: describe((2, k)))
def test_errors_are_numpys(key):
    x = sample((3, 4))
    with pytest.raises((IndexError, TypeError, ValueError)) as expected:
        x[key]
    for attempt in [lambda: read(x, key), lambda: write(x, key, 1.0)]:
        with pytest.raises(expected.type, match=f"^{re.escape(str(expected.value))}$"):
            attempt()


@pytest.mark.parametrize("index", [I([0, 3]), I(3), I([[-4]])], ids=str)
def test_traced_indices_are_checked_when_they_are_used(index):
    x = sample((3, 4))
    with Trace("t", VALUES) as trace:
        key = trace.new_input(type_of(index), index)
        element = getitem(trace.new_input(type_of(x), x), key)
        with pytest.raises(IndexError, match="is out of bounds for axis 0 with size 3"):
            known_value(element)


def test_too_many_traced_indices():
    with Trace("t") as trace:
        i = trace.new_input(type_of(1))
        with pytest.raises(IndexError, match="array is 1-dimensional, but 2 were indexed"):
            getitem(trace.new_input(type_of(np.zeros(3))), (i, i))
        f = trace.new_input(type_of(np.zeros(2)))
        with pytest.raises(IndexError, match=r"must be of integer \(or boolean\) type"):
            getitem(trace.new_input(type_of(np.zeros(3))), f)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        (slice(None), np.zeros(3)),
        (slice(None), np.zeros((2, 3, 4))),
        ((slice(None), [0, 1]), np.zeros((3, 3))),
        (MASK1, np.zeros((3, 4))),
        ((0, 0), np.zeros(2)),
        (MASK2, np.zeros(3)),
    ],
    ids=str,
)
def test_errors_of_values_are_numpys(key, values):
    x = sample((3, 4))
    with pytest.raises(ValueError) as expected:  # noqa: PT011
        written(x, key, values, "set")
    with pytest.raises(ValueError, match=f"^{re.escape(str(expected.value))}$"):
        write(x, key, values)


def test_values_are_cast_as_by_assignment():
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    same(write(x, 0, 1.9), written(x, 0, 1.9, "set"))
    same(write(x, (0, [0, 1]), np.array([1.9, -1.9])), [[1, -1, 2], [3, 4, 5]])
    same(write(x, 0, [1, 2, 3]), [[1, 2, 3], [3, 4, 5]])
    same(write(x, 0, np.float32(7.5)), [[7, 7, 7], [3, 4, 5]])
    with pytest.raises(OverflowError):
        write(x, 0, 300)
    with pytest.raises(TypeError):
        write(x, 0, 1j)
    assert write(np.zeros(2, complex), 0, 1).dtype == complex
    same(write(np.zeros(2, bool), 0, 5), [True, False])


def test_extra_unit_axes_of_values():
    x = sample((3, 4))
    values = sample((1, 1, 4))
    for key in [1, slice(None), [0, 2]]:
        same(write(x, key, values), written(x, key, values, "set"))


def test_last_of_duplicates_wins():
    x = np.zeros(4)
    same(write(x, [1, 1, 2, 1], np.arange(1.0, 5)), [0, 4, 3, 0])
    index = np.zeros((2, 3), int)
    for key in [index, index.T, index[::-1]]:
        same(write(x, key, np.arange(6.0).reshape(key.shape)), [5, 0, 0, 0])


def test_unique_indices():
    x = sample((5, 2))
    key = [3, 0, 4]
    for kind in SETTABLE:
        values = sample((3, 2), seed=1) * 2
        same(write(x, key, values, kind, unique=True), written(x, key, values, kind))
    with Trace("t", VALUES) as trace:
        same(known_value(getitem(trace.new_input(type_of(x), x), key, unique=True)), x[key])


def test_tracers_in_a_list():
    x = sample((5,))
    with Trace("t", VALUES) as trace:
        t = trace.new_input(type_of(x), x)
        i, j = (trace.new_input(type_of(n), n) for n in (3, np.int64(-1)))
        same(known_value(getitem(t, [i, j, 0])), x[[3, -1, 0]])
        same(known_value(getitem(t, i)), x[3])
        same(known_value(setitem_functional(t, i, 9.0)), written(x, 3, 9.0, "set"))


def test_mask_without_value():
    x = sample((3, 4))
    with Trace("jit(f)") as trace:
        t = trace.new_input(type_of(x))
        mask = trace.new_input(type_of(MASK1))
        for attempt in [
            lambda: getitem(t, mask),
            lambda: getitem(t, (mask, 0)),
            lambda: setitem_functional(t, mask, np.zeros((2, 4))),
        ]:
            with pytest.raises(
                ConcretizationError, match=r"jit\(f\)(.|\n)*fungrad.numpy.where.*where="
            ):
                attempt()
        for kind in SETTABLE:  # one value for all elements: a choice, no values of the mask needed
            assert setitem_functional(t, mask, 1.0, kind)._type == t._type
            assert setitem_functional(t, mask, np.zeros(4), kind)._type == t._type


@pytest.mark.parametrize(
    "key",
    [
        np.zeros(0, bool),
        np.zeros((0, 4), bool),
        np.zeros((3, 0), bool),
        (slice(None), np.zeros(0, bool)),
    ],
    ids=["1-d", "rows", "columns", "second"],
)
def test_a_mask_without_elements_fits_axes_of_any_length(key):
    x = sample((3, 4))

    def read(x, key):
        return x[key]

    def write(x, key):
        y = x * 1
        y[key] = 7.0
        return y

    for f in (read, write):
        fixed = functools.partial(f, key=key)
        same(fg.vjp(fixed, x)[0], f(x, key))
        same(fg.jit(fixed)(x), f(x, key))
        same(fg.vmap(fixed)(x[None])[0], f(x, key))
        if not isinstance(key, tuple):
            same(fg.jit(f)(x, key), f(x, key))
    same(fg.jit(lambda x: x[x[:0, 0] > 0])(x), x[x[:0, 0] > 0])
    for wrong in (np.zeros((2, 0), bool), np.zeros((0, 3), bool)):
        with pytest.raises(IndexError):
            read(x, wrong)
        with pytest.raises(IndexError):
            fg.jit(functools.partial(read, key=wrong))(x)


def test_slice_bound_without_value(as_written):
    with Trace("jit(f)") as trace:
        n = trace.new_input(type_of(1))
        with pytest.raises(ConcretizationError, match="static_argnums"):
            getitem(trace.new_input(type_of(np.zeros(3))), slice(n))


def test_unknown_kind():
    with Trace("t") as trace, pytest.raises(ValueError, match="kind is one of"):
        setitem_functional(trace.new_input(type_of(np.zeros(3))), 0, 1.0, "div")
    assert list(COMBINE) == SETTABLE


# The primitives, beyond what their rows in tests/samples say


@pytest.mark.parametrize("kind", SETTABLE)
def test_scatter_in_rounds(kind, rng):
    x = sample((4, 3, 2))
    indices = rng.integers(-3, 3, (2, 20))
    updates = sample((20, 2), seed=1)
    out = np.array(x)
    ufunc = getattr(np, UFUNCS[kind] or "", None)
    write_in_rounds(np, ufunc, out, updates, tuple(indices))
    same(out, Scatter(kind)(x, updates, *indices))


@pytest.mark.parametrize("zeros", [[0], [1], [0, 1], [0, 2], [1, 3], [0, 1, 2, 3]], ids=str)
def test_derivative_of_products_with_zeros(zeros):
    x, index = sample((3,)), np.array([1, 1, 2, 1])
    updates = sample((4,), seed=1)
    updates[zeros] = 0
    directions = sample((3,), seed=2), sample((4,), seed=3)
    scatter, h = Scatter("mul"), 1e-5
    tangent = scatter.jvp((*directions, None), scatter(x, updates, index), x, updates, index)
    ahead, behind = (
        scatter(x + s * directions[0], updates + s * directions[1], index) for s in (h, -h)
    )
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["min", "max"])
def test_ties_share_the_derivative(kind):
    x, updates, index = np.array([2.0, 1.0, 5.0]), np.array([2.0, 2.0]), np.array([0, 0])
    scatter = Scatter(kind)
    out = scatter(x, updates, index)
    tangents = np.array([3.0, 4.0, 5.0]), np.array([6.0, 9.0])
    same(scatter.jvp((*tangents, None), out, x, updates, index), [6, 4, 5])
    same(scatter.jvp((tangents[0], None, None), out, x, updates, index), [1, 4, 5])
    same(scatter.jvp((None, tangents[1], None), out, x, updates, index), [5, 0, 0])


def test_nan_elsewhere_does_not_spoil_the_derivative():
    x, updates, index = np.array([np.nan, 1.0]), np.array([2.0]), np.array([1])
    scatter = Scatter("max")
    out = scatter(x, updates, index)
    same(scatter.jvp((np.array([3.0, 4.0]), None, None), out, x, updates, index), [3, 0])


@pytest.mark.parametrize("key", [1, -1, (1, 2), (slice(None), 1), (slice(0, 3, 2), 1)], ids=str)
def test_a_store_is_one_equation(key):
    x = sample((3, 4))
    values = np.asarray(sample((), seed=1) if np.ndim(x[key]) == 0 else sample(x[key].shape))
    with Trace("t", VALUES) as trace:
        old, new = (trace.new_input(type_of(a), a) for a in (x, values))
        setitem_functional(old, key, new)
        assert len(trace.equations) == 1
    same(write(x, key, values), written(x, key, values, "set"))


def test_a_gradient_of_elements_has_no_reshapes():
    def f(x):
        y = fnp.zeros(3)
        for i in range(1, 3):
            y[i] = x[i] * x[i - 1]
        return y.sum()

    text = fg.jit(fg.grad(f)).source(np.ones(3))
    assert "reshape" not in text
    assert "[2] += " in text or "[1] += " in text


def test_source_of_elements_at_integers_of_numpy():
    at, after = np.int64(11), np.int64(12)  # no other test has this slice: they are interned
    element = Slice((at,), (after,), (1,), (0,))
    assert element.expression("x") == "x[11]"
    assert UpdateSlice.at(element).assignment("x", "y") == "x[11] = y"


def test_scalar_indices_do_not_give_a_view():
    x = sample((3, 2))
    assert not np.shares_memory(Gather()(x, np.int64(1)), x)


@pytest.mark.parametrize("kind", ["set", "add"])
def test_updates_in_place(kind):
    x, updates = sample((5, 3)), sample((2, 3), seed=1)
    for primitive, operands in [
        (Scatter(kind, True), (updates, np.array([3, 1]))),
        (UpdateSlice((1, 0), (5, 3), (2, 1), kind), (updates,)),
    ]:
        expected = primitive(x, *operands)
        names = ["x", "updates", "index"][: len(operands) + 1]
        scope = dict(zip(names, (np.array(x), *operands), strict=True))
        exec(primitive.assignment(*names), scope)
        same(scope["x"], expected)
    assert Scatter(kind).assignment("x", "updates", "index") is None


def test_take_and_take_along_axis(rng):
    x = sample((3, 4, 2))
    for axis, n in enumerate(x.shape):
        for shape in [(), (5,), (2, 3)]:
            index = rng.integers(-n, n, shape)
            same(take(x, np.asarray(index), axis), np.take(x, index, axis))
        index = rng.permuted(np.indices(x.shape)[axis], axis=axis)
        for unique in [False, True]:
            same(take_along_axis(x, index, axis, unique), np.take_along_axis(x, index, axis))


@pytest.mark.parametrize("row", contraction.ROWS, ids=str)
def test_source_of_products(row):
    x, y = row.operands
    expected = row.primitive(x, y)
    source = row.primitive.expression("x", "y")
    if source is not None:
        same(eval(source, {"np": np, "x": x, "y": y}), expected)
    out = np.empty_like(expected)
    source = row.primitive.call_into("out", "x", "y")
    if source is not None:
        eval(source, {"np": np, "x": x, "y": y, "out": out})
        same(out, expected)
    assert row.primitive.call_into("x", "x", "y") is None


def test_the_axes_of_a_product_are_learned_when_it_is_applied():
    with Trace("t") as trace:
        x, y = (trace.new_input(type_of(np.zeros((3, 3)))) for _ in "xy")
        dot_general(x, y, ([0], [0]))
        assert trace.equations[0][0].expression("x", "y") == "np.dot(x.T, y)"


@pytest.mark.parametrize(
    ("shapes", "contracting", "batch_axes", "error"),
    [
        (((3,), (4,)), ((0,), (0,)), ((), ()), "differ in length"),
        (((3, 3), (3,)), ((0,), (0,)), ((0,), (0,)), "not distinct"),
    ],
    ids=["lengths", "distinct"],
)
def test_wrong_products(shapes, contracting, batch_axes, error):
    types = tuple(type_of(np.zeros(shape)) for shape in shapes)
    with pytest.raises(ValueError, match=error):
        DotGeneral(contracting, batch_axes).abstract_eval(*types)
    with pytest.raises(TypeError, match="different dtypes"):
        DotGeneral(contracting).abstract_eval(types[0], type_of(np.zeros(3, int)))


def test_wrong_operands():
    x, i = type_of(np.zeros((3, 2))), type_of(np.zeros(4, int))
    for indices in [(), (i, i, i)]:
        with pytest.raises(ValueError, match="1 to 2 index arrays"):
            Gather().abstract_eval(x, *indices)
    for bad in [type_of(np.zeros(4)), type_of(np.zeros(4, bool)), type_of(np.zeros(3, int))]:
        with pytest.raises(TypeError, match="integer arrays of one shape"):
            Gather().abstract_eval(x, i, bad)
    with pytest.raises(TypeError, match=r"updates of shape \(4, 2\)"):
        Scatter("set").abstract_eval(x, x, i)
    with pytest.raises(ValueError, match="kind is one of"):
        Scatter("sub").abstract_eval(x, type_of(np.zeros((4, 2))), i)
    with pytest.raises(TypeError, match="takes updates of type"):
        UpdateSlice((0, 0), (2, 2), (1, 1)).abstract_eval(x, x)
    with pytest.raises(ValueError, match="kind is"):
        UpdateSlice((0, 0), (3, 2), (1, 1), "mul").abstract_eval(x, x)
    for dropped in [(0,), (2,), (-1,), (1, 1)]:
        where = (0, 1), (2, 2), (1, 1)
        with pytest.raises(ValueError, match="not distinct axes of length 1"):
            Slice(*where, dropped).abstract_eval(x)
        with pytest.raises(ValueError, match="not distinct axes of length 1"):
            UpdateSlice(*where, "set", dropped).abstract_eval(x, x)
        with pytest.raises(ValueError, match="not distinct axes of length 1"):
            DynamicSlice((1,), (1,), (1,), dropped).abstract_eval(x, type_of(np.int64(0)))


def test_an_element_at_the_end_of_what_is_rolled():
    x = np.arange(37.0)  # the same bounds are cut out as slices, which are made of NumPy's integers
    f = fg.jit(lambda x: (fnp.roll(x, np.int64(1)), x[36:37].reshape(()) * 2))
    for found, expected in zip(f(x), (np.roll(x, 1), 72.0), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert "int64" not in str(fg.make_expr(lambda x: fnp.roll(x, np.int64(1)))(x))


@pytest.mark.parametrize("kind", ["set", "add", "subtract", "multiply", "min", "max"])
@pytest.mark.parametrize("dtype", ["?", "i4", "u1", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("values", [2, 0.7, [1.7, 0.6], [2, 3], [0.5 + 1j, 1]], ids=str)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_changed_elements_are_the_same_traced_and_not(kind, dtype, values):
    """Values of another kind too: the result is rounded once, at the end, as in JAX."""
    x = np.array([3, 2, 1]).astype(dtype)
    y = np.array(values) if isinstance(values, list) else values

    def change(x, y):
        return getattr(fg.at(x)[np.array([0, 0])], kind)(y)

    expected = change(x, y)
    for found in (fg.jit(change)(x, y), fg.vmap(change, (0, None))(x[None], y)[0]):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_floats_added_to_integers_are_rounded_once():
    x = np.array([-1, 0, -1])
    assert fg.at(x)[[0, 0, 1]].add(0.6).tolist() == [0, 0, -1]
    assert fg.jit(lambda y: fg.at(x)[[0, 0, 1]].add(y))(0.6).tolist() == [0, 0, -1]


def test_a_mask_without_elements_is_not_taken_for_integers(as_written):
    array, mask = np.arange(6.0).reshape(2, 3), np.zeros((0, 3), bool)
    with pytest.raises(fg.ConcretizationError, match=r"fungrad\.at\(array\)\[mask\]\.get\(\)"):
        fg.vmap(lambda m: array[m])(np.stack([mask, mask]))
    with pytest.raises(fg.ConcretizationError, match=r"fungrad\.at\(array\)\[mask\]\.get\(\)"):
        fg.grad(lambda x: (array[np.ones((0, 3)) * x > 0] * x).sum())(1.0)
    assert fg.vmap(lambda m: fg.at(array)[m].get())(np.stack([mask, mask])).shape == (2, 0)


class Column:
    """Converts to an array, and is none: such as a column of a table of pandas'."""

    def __init__(self, values):
        self.values = np.array(values)
        self.dtype, self.shape, self.nbytes = self.values.dtype, self.values.shape, 1

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype or self.dtype)


@pytest.mark.parametrize("key", [[True, False, True], [0, 2]])
def test_columns_of_tables_are_indices(key):
    x = np.arange(3.0)
    np.testing.assert_array_equal(x[Column(key)], [0, 2])
    gradient = fg.grad(lambda x: (x[Column(key)] ** 2).sum())(x)
    np.testing.assert_array_equal(gradient, [0, 0, 4])


class Named(np.ndarray):
    """An array of a subclass, as libraries have them."""


@pytest.mark.parametrize(
    "key",
    [
        lambda i, m: (i, i),
        lambda i, m: (slice(None), i),
        lambda i, m: (i, None),
        lambda i, m: (i[:, None], [2, 0]),
        lambda i, m: (m, slice(None)),
        lambda i, m: (m, i),
        lambda i, m: (..., i),
    ],
)
def test_indices_of_a_subclass(key):
    """They are index arrays as others are: what they take are copies."""
    indices = np.array([0, 2]).view(Named), np.array([True, False, True, False]).view(Named)
    x = np.arange(24.0).reshape(4, 6)[:, ::2]

    @fg.jit
    def changed(x):
        taken = x[key(*indices)]
        taken[...] += 1
        return x, taken

    same, taken = changed(x)
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(taken, np.asarray(x[key(*indices)]) + 1)
    assert type(taken) is np.ndarray


REPEATED = np.array([0, 2, 0, 1])
OF_GRADIENTS = pytest.mark.parametrize(
    "gradient",
    [fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: lambda x: fg.vjp(f, x)[1](1.0)[0]],
    ids=["grad", "jit", "vjp"],
)


@OF_GRADIENTS
def test_elements_that_are_read_twice_have_both_derivatives(gradient):
    f = lambda x: fnp.sum((x * 2)[REPEATED] * np.arange(1.0, 5))
    np.testing.assert_array_equal(gradient(f)(np.ones(3)), [8, 8, 4])


@OF_GRADIENTS
def test_of_several_updates_of_an_element_the_last_alone_has_a_derivative(gradient):
    f = lambda u: fnp.sum(fg.at(fnp.zeros(3))[REPEATED].set(u * 2) * np.arange(1.0, 4))
    np.testing.assert_array_equal(gradient(f)(np.ones(4)), [0, 6, 2, 4])
