"""Segments, flat vectors and checks of derivatives against JAX's."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jtu = pytest.importorskip("jax.test_util")
flatten_util = pytest.importorskip("jax.flatten_util")

import fungrad as fg  # noqa: E402
import fungrad.flatten_util  # noqa: E402

IDS = np.array([0, 2, 2, -1, 0, 5, 7, 2])


@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_max", "segment_min"])
def test_segments(name):
    draw = np.random.default_rng(1)
    ours, theirs = (getattr(lib.ops, name) for lib in (fg, jax))
    for data in (draw.normal(size=(8, 2)), draw.integers(0, 9, 8), draw.normal(size=8) > 0):
        for how in (
            {},
            {"num_segments": 4},
            {"num_segments": 9, "mode": "clip"},
            {"bucket_size": 3},
        ):
            if data.dtype == bool and (
                name in ("segment_sum", "segment_prod") or "bucket_size" in how
            ):
                continue
            a, b = ours(data, IDS, **how), theirs(data, IDS, **how)
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_flat_vectors():
    trees = [{"b": 1.0, "a": np.ones((2, 2))}, [np.float32([1, 2]), (np.ones(1), 1j)], None, 3.0]
    trees += [[np.int32([3]), np.int32(4)], (np.zeros((0, 2)), np.ones(2))]
    for tree in trees:
        (a, ours), (b, theirs) = (lib.ravel_pytree(tree) for lib in (fg.flatten_util, flatten_util))
        np.testing.assert_array_equal(a, b, strict=True)
        for x, y in zip(fg.tree.leaves(ours(3 * a)), jax.tree.leaves(theirs(3 * b)), strict=True):
            np.testing.assert_array_equal(x, y, strict=True)


def test_checks_of_the_same_functions():
    for f, right in ((lambda x: x**2, True), (lambda x: abs(x - 0.30001), False)):
        for lib in (fg.test_util, jtu):
            try:
                lib.check_grads(f, (0.3,), 2)
                found = True
            except AssertionError:
                found = False
            assert found == right
