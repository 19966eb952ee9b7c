"""Arrays of CuPy's in files and in minibatches, shown with a strict stand-in."""

import contextlib
import sys

import numpy as np
import pytest

from fungrad import random, training
from tests.backends import fake_cupy


@pytest.fixture
def cupy(monkeypatch):
    module = fake_cupy.make_module()
    if fake_cupy.BACKEND == "numpy":
        monkeypatch.setattr(fake_cupy.ndarray, "device", contextlib.nullcontext())
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_files(cupy, tmp_path):
    tree = {"x": cupy.asarray(np.arange(6.0).reshape(2, 3)), "n": cupy.asarray(np.int32(3))}
    training.save(tmp_path / "a", tree)
    found = training.load(tmp_path / "a", tree)
    np.testing.assert_array_equal(found["x"], np.arange(6.0).reshape(2, 3))
    assert (type(found["n"]), found["n"].shape, found["n"].dtype) == (np.ndarray, (), np.int32)


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("key", [None, random.PRNGKey(3)])
def test_minibatches(cupy, prefetch, key):
    x = np.arange(20).reshape(10, 2)
    for a, b in zip(
        training.minibatches({"x": cupy.asarray(x)}, 4, key=key, prefetch=prefetch),
        training.minibatches({"x": x}, 4, key=key),
        strict=True,
    ):
        assert type(a["x"]) is cupy.ndarray
        np.testing.assert_array_equal(a["x"].get(), b["x"])


def test_a_key_of_cupy(cupy):
    x, key = np.arange(5), random.PRNGKey(3)
    found = list(training.minibatches(x, 5, key=cupy.asarray(key)))
    np.testing.assert_array_equal(found, list(training.minibatches(x, 5, key=key)))
