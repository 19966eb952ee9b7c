"""fungrad.nn.initializers against JAX's: the same key, the same numbers."""

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.nn.initializers")

from fungrad import random  # noqa: E402
from fungrad.nn import initializers as ours  # noqa: E402

NAMES = [name for name in dir(theirs) if not name.startswith("_")]
MADE = [name for name in NAMES if name not in ("Initializer", "zeros", "ones", "constant")]
MADE.remove("variance_scaling")


def test_all_names_are_there():
    assert sorted(ours.__all__) == sorted(NAMES)


def same(f, g, shape, dtype):
    x, y = f(random.key(3), shape, dtype), np.asarray(g(jax.random.key(3), shape, dtype))
    assert (x.shape, x.dtype) == (y.shape, y.dtype)
    eps = np.finfo(x.dtype).eps
    np.testing.assert_allclose(x, y, rtol=32 * eps, atol=8 * eps)


@pytest.mark.parametrize("dtype", [None, np.float32, np.float64])
@pytest.mark.parametrize("name", MADE)
def test_initializer(name, dtype):
    same(getattr(ours, name)(), getattr(theirs, name)(), (3, 4, 5), dtype)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", sorted({*MADE} - {"orthogonal", "delta_orthogonal"}))
def test_two_bytes_are_equal_bit_for_bit(name, dtype):
    """JAX has no orthogonal matrices of these."""
    f, g = getattr(ours, name)(), getattr(theirs, name)()
    x, y = f(random.key(3), (3, 40, 50), dtype), g(jax.random.key(3), (3, 40, 50), dtype)
    assert x.dtype == y.dtype
    np.testing.assert_array_equal(x, np.asarray(y))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("distribution", ["truncated_normal", "normal", "uniform"])
@pytest.mark.parametrize("mode", ["fan_in", "fan_out", "fan_avg", "fan_geo_avg"])
def test_variance_scaling(mode, distribution, dtype):
    arguments = (1.5, mode, distribution, 0, (1, 3), 2)
    f, g = ours.variance_scaling(*arguments), theirs.variance_scaling(*arguments)
    same(f, g, (3, 4, 2, 5), dtype)


def test_constants():
    for name in ("zeros", "ones"):
        same(getattr(ours, name), getattr(theirs, name), (2, 3), np.float32)
    same(ours.constant(-7), theirs.constant(-7), (2, 3), None)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: ours.variance_scaling(1.0, "fan", "normal"), None),
        (lambda: ours.variance_scaling(1.0, "fan_in", "gauss"), None),
        (ours.he_normal, (3,)),
        (ours.orthogonal, (3,)),
        (ours.delta_orthogonal, (3, 3)),
        (ours.delta_orthogonal, (3, 3, 2)),
    ],
)
def test_errors(make, shape):
    with pytest.raises(ValueError, match=r"nn\.initializers"):
        make()(random.key(0), shape)
