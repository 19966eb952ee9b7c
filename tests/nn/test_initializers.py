"""fungrad.nn.initializers in all precisions; tests/peers/test_jax_nn_initializers.py has the numbers."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import random
from fungrad.nn import initializers
from tests.optional import BFLOAT16, eps_of

KEY = random.key(11)
DTYPES = [np.float16, BFLOAT16, np.float32, np.float64]
SHAPE = (200, 300)
SPREAD = {
    "glorot_normal": np.sqrt(2 / 500),
    "glorot_uniform": np.sqrt(2 / 500),
    "he_normal": np.sqrt(2 / 200),
    "he_uniform": np.sqrt(2 / 200),
    "lecun_normal": np.sqrt(1 / 200),
    "lecun_uniform": np.sqrt(1 / 200),
    "normal": 0.01,
}
"""The standard deviation of each."""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SPREAD)
def test_mean_and_spread(name, dtype):
    init = getattr(initializers, name)()
    x = init(KEY, SHAPE, dtype)
    assert (x.shape, x.dtype) == (SHAPE, np.dtype(dtype))
    np.testing.assert_array_equal(fg.jit(lambda key: init(key, SHAPE, dtype))(KEY), x)
    np.testing.assert_array_equal(getattr(initializers, name)(dtype=dtype)(KEY, SHAPE), x)
    x = x.astype(float) / SPREAD[name]
    n = np.sqrt(x.size)
    assert abs(x.mean()) < 5 / n + (
        0.01 if np.dtype(dtype).name == "bfloat16" else 0
    )  # of few numbers
    assert abs(x.std() - 1) < 5 / n + (0.01 if np.dtype(dtype).itemsize == 2 else 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ends(dtype):
    x = initializers.uniform(3.0)(KEY, SHAPE, dtype)
    assert x.dtype == np.dtype(dtype)
    assert 0 <= x.min() < 0.1
    assert 2.9 < x.max() <= 3
    x = initializers.truncated_normal(0.5, lower=-1.0, upper=1.5)(KEY, SHAPE, dtype)
    assert x.dtype == np.dtype(dtype)
    assert -0.5 <= x.min() < -0.49
    assert 0.7 < x.max() <= 0.75  # bfloat16 has few numbers up there
    assert np.all(initializers.constant(7)(None, (2,), dtype) == np.full(2, 7, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_orthogonal_columns(dtype):
    eps = eps_of(dtype)
    q = initializers.orthogonal(2.0)(KEY, (3, 10, 8), dtype)
    assert q.dtype == np.dtype(dtype)
    q = q.astype(float).reshape(30, 8)
    np.testing.assert_allclose(q.T @ q, 4 * np.eye(8), atol=20 * eps)
    kernel = initializers.delta_orthogonal()(KEY, (3, 4, 6), dtype)
    assert kernel.dtype == np.dtype(dtype)
    middle = kernel[1].astype(float)
    np.testing.assert_allclose(middle @ middle.T, np.eye(4), atol=10 * eps)
    assert np.all(kernel[[0, 2]] == 0)


def test_orthogonal_integers_are_refused():
    with pytest.raises((TypeError, ValueError)):
        initializers.orthogonal()(KEY, (3, 3), np.int8)
