"""Reductions over segments, against loops over them."""

import itertools
import pickle

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import ops
from fungrad.core.config import setting

IDS = np.array([0, 2, 2, -1, 0, 5, 7, 2])
REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
EMPTY = {
    "sum": lambda dtype: 0,
    "prod": lambda dtype: 1,
    "max": lambda dtype: -np.inf if dtype.kind == "f" else np.iinfo(dtype).min,
    "min": lambda dtype: np.inf if dtype.kind == "f" else np.iinfo(dtype).max,
}


def by_loops(name, data, ids, count):
    found = []
    for i in range(count):
        rows = data[ids == i]
        empty = np.full(data.shape[1:], EMPTY[name](data.dtype), data.dtype)
        found.append(REDUCTIONS[name](rows, axis=0) if len(rows) else empty)
    return np.array(found, data.dtype).reshape(count, *data.shape[1:])


def sample(*shape, dtype=float):
    return np.random.default_rng(0).normal(size=shape).round(2).astype(dtype) * 3


@pytest.mark.parametrize("name", REDUCTIONS)
def test_values_and_derivatives(name):
    function = getattr(ops, f"segment_{name}")
    for shape, dtype in itertools.product([(8,), (8, 2)], [float, np.float32, np.int32]):
        data = sample(*shape, dtype=dtype)
        for count in (6, 3, None):
            expected = by_loops(name, data, IDS, 8 if count is None else count)
            for f in (function, lambda x, ids, n: fg.jit(lambda x: function(x, ids, n))(x)):
                found = f(data, IDS, count)
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                np.testing.assert_allclose(found, expected, rtol=1e-6)
    fg.test_util.check_grads(lambda x: function(x, IDS, 6)[np.array([0, 2, 5])], (sample(8, 2),), 2)
    batch = sample(3, 8)
    np.testing.assert_allclose(
        fg.vmap(lambda x: function(x, IDS, 6))(batch),
        [by_loops(name, x, IDS, 6) for x in batch],
    )


def test_modes_and_buckets():
    data = sample(8)
    clipped = ops.segment_sum(data, IDS, 6, mode="clip")
    np.testing.assert_allclose(clipped, by_loops("sum", data, np.clip(IDS, 0, 5), 6))
    np.testing.assert_array_equal(
        clipped, ops.segment_sum(data, IDS, 6, mode=fg.lax.GatherScatterMode.CLIP)
    )
    for name in REDUCTIONS:
        f = getattr(ops, f"segment_{name}")
        np.testing.assert_allclose(f(data, IDS, 6, bucket_size=3), f(data, IDS, 6))
    counts = fg.jit(lambda ids: ops.segment_sum(1, ids, num_segments=3))(IDS)
    np.testing.assert_array_equal(counts, [2, 0, 3])
    assert ops.segment_max(np.array([True, False]), np.array([0, 0]), 2).tolist() == [True, False]
    assert ops.segment_sum(np.zeros((0, 2)), np.zeros(0, int)).shape == (0, 2)
    assert pickle.loads(pickle.dumps(ops.segment_max)) is ops.segment_max


def test_errors():
    data = sample(8)
    with pytest.raises(TypeError, match="segment_sum: segment_ids are integers, got dtype float64"):
        ops.segment_sum(data, data)
    with pytest.raises(ValueError, match="num_segments is -1"):
        ops.segment_min(data, IDS, -1)
    with pytest.raises(ValueError, match="leave out_sharding out"):
        ops.segment_min(data, IDS, 2, out_sharding=object())
    with (
        setting(reading=False),
        pytest.raises(
            fg.ConcretizationError, match=r"(?s)test_ops.*segment_max: the number of segm"
        ),
    ):
        fg.jit(ops.segment_max)(data, IDS)
    with pytest.raises(ValueError, match=r"broadcast"):
        ops.segment_sum(fnp.ones(3), IDS)


def test_the_number_of_segments_is_that_of_the_values_at_hand():
    data = sample(8)
    largest = fg.jit(ops.segment_max)
    for ids in (IDS, IDS[::-1].copy(), IDS + 2):
        np.testing.assert_array_equal(largest(data, ids), ops.segment_max(data, ids))


def test_negative_segments_are_left_out_however_far_from_0():
    ids = np.array([0, -1, 1, -2, -3])
    found = fg.jit(lambda x: fg.ops.segment_sum(x, ids, 2))(np.array([1.0, 2.0, 4.0, 8.0, 16.0]))
    np.testing.assert_array_equal(found, [1, 4])
