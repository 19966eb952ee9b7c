"""Kernels in parts, on several threads."""

import os

import numpy as np
import pytest

from fungrad.compile.emit import llvm_threads
from fungrad.compile.fallback import Rerun
from fungrad.compile.targets import host, host_kernels
from tests.compile import random_kernels as rk

pytestmark = pytest.mark.skipif(
    not host.available() or os.name != "posix",
    reason="no compiler, or no threads of POSIX",
)


def test_each_thread_tells_of_its_flags(monkeypatch):
    """A part that another thread does, or the end that is no whole block, makes NumPy compute all again."""
    monkeypatch.setenv("FUNGRAD_NUM_THREADS", "3")
    monkeypatch.setattr(llvm_threads, "PART", 1)
    kernel = rk.of_one_operation("div", "f8", ["f8", "f8"], (100_003,))
    (compiled,) = host_kernels.compile_kernels([kernel])
    x = np.ones(100_003)
    np.testing.assert_array_equal(compiled(x, 2 * x), x / 2)
    for place in (0, 40_000, 70_000, 100_002):
        y = x.copy()
        y[place] = 0
        with pytest.raises(Rerun):
            compiled(x, y)


@pytest.mark.parametrize("threads", ["2", "3", "7"])
def test_any_number_of_threads_gives_the_same(threads, monkeypatch):
    monkeypatch.setattr(llvm_threads, "PART", 1)
    rng = np.random.default_rng(int(threads))
    for space in [(5,), (40_000,), (40_001,), (200, 300), (7, 3, 11), (3, 20_000)]:
        for _ in range(6):
            kernel, arrays = rk.random_kernel(rng, 20, space)
            results = []
            for number in ("1", threads):
                monkeypatch.setenv("FUNGRAD_NUM_THREADS", number)
                (compiled,) = host_kernels.compile_kernels([kernel])
                try:
                    found = compiled(*arrays)
                except Rerun:
                    found = None
                results.append(found)
            first, second = [x if type(x) is tuple or x is None else (x,) for x in results]
            assert (first is None) == (second is None)
            for x, y in zip(first or (), second or (), strict=True):
                rk.assert_equal_bits(x, y)


def test_small_kernels_have_one_thread():
    kernel = rk.of_one_operation("add", "f8", ["f8", "f8"], (1000, 1000))
    assert llvm_threads.threads_for(kernel, 1000, 8) == 1
    kernel = rk.of_one_operation("add", "f8", ["f8", "f8"], (10_000, 1000))
    assert llvm_threads.threads_for(kernel, 1000, 8) > 1


def test_a_number_of_threads_that_is_none(monkeypatch):
    monkeypatch.setenv("FUNGRAD_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="FUNGRAD_NUM_THREADS is 'many'"):
        host.threads()
