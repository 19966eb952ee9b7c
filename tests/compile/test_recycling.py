"""The memory of large results: used again once nobody refers to them, and never before."""

import gc
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.emit.llvm_recycling import LARGE, LEAST, MOST, MOST_UNTOLD, SLOTS
from fungrad.compile.targets import host, recycling
from tests.compile.compiling import in_mode

pytestmark = pytest.mark.skipif(
    not (recycling.recycles() and host.available()), reason="nothing is recycled here"
)
OURS, USUAL = "fungrad", "default_allocator"


def g(x):
    return fnp.sin(x) * 2 + 1


def expected(x):
    return np.sin(x) * 2 + 1


@pytest.fixture(params=[LEAST, LARGE])
def large(request):
    """Arrays of a size that is recycled; nothing is kept when the test begins."""
    gc.collect()
    recycling.give_back()
    yield np.linspace(0, 1, request.param // 8)
    recycling.give_back()


def address(x):
    return x.__array_interface__["data"][0]


@in_mode("eager")
def test_memory_is_used_again_once_nobody_has_it(mode, large):
    f = fg.jit(g)
    x = f(large)
    first = address(x)
    view = x[5:]
    del x
    y = f(large)
    assert address(y) != first  # the view has it
    np.testing.assert_allclose(view, expected(large)[5:], rtol=1e-14)
    assert recycling.kept() == 0
    del view
    assert recycling.kept() == large.nbytes
    z = f(large + 1)
    assert address(z) == first
    assert recycling.kept() == 0
    np.testing.assert_allclose(y, expected(large), rtol=1e-14)
    np.testing.assert_allclose(z, expected(large + 1), rtol=1e-14)


@in_mode("eager")
def test_other_arrays_are_numpys(mode, large):
    f = fg.jit(g)
    x = f(large)
    assert get_handler_name(x) == OURS
    others = [f(large[:100]), np.empty(LARGE), np.sin(large), x.copy(), x * 2]
    assert {get_handler_name(y) for y in others} == {USUAL}
    assert get_handler_name() == USUAL


@in_mode("eager")
def test_results_are_arrays_like_others(mode, large):
    f = fg.jit(g)
    x = f(large)
    assert x.flags.owndata
    assert x.flags.writeable
    wanted = expected(large)
    y = pickle.loads(pickle.dumps(x))
    np.testing.assert_array_equal(x, y)
    x.resize(2 * x.size, refcheck=False)
    np.testing.assert_allclose(x[: wanted.size], wanted, rtol=1e-14)
    assert not x[wanted.size :].any()
    x.resize(7, refcheck=False)
    np.testing.assert_allclose(x, wanted[:7], rtol=1e-14)
    x.resize(0, refcheck=False)
    assert x.size == 0


@in_mode("eager")
def test_what_a_smaller_array_was_made_of_serves_no_larger_one(mode, large):
    f = fg.jit(lambda x: g(x))
    x = f(large)
    x.shape = 2, -1
    del x
    for factor in (1, 2, 3, 1):
        y = f(np.tile(large, factor))
        np.testing.assert_allclose(y, expected(np.tile(large, factor)), rtol=1e-14)
        del y
    assert recycling.kept() == (1 + 2 + 3) * large.nbytes


@pytest.mark.parametrize(
    ("size", "count", "most"),
    [
        (LEAST, SLOTS + 3, SLOTS * LEAST),
        (LARGE - 8, MOST_UNTOLD // LARGE + 3, MOST_UNTOLD),
        (MOST // 4 + 8000, 4, MOST),
    ],
)
@in_mode("eager")
def test_not_more_is_kept_than_is_said(mode, size, count, most):
    gc.collect()
    recycling.give_back()
    f, x = fg.jit(g), np.ones(size // 8)
    held = [f(x) for _ in range(count)]
    held.clear()
    assert most - size <= recycling.kept() <= most
    recycling.give_back()
    assert recycling.kept() == 0


@in_mode("eager")
def test_less_than_the_least_is_not_kept(mode):
    f, x = fg.jit(g), np.ones(LEAST // 8 - 1)
    gc.collect()
    recycling.give_back()
    f(x)
    assert recycling.kept() == 0


@in_mode("eager")
def test_memory_is_traced(mode, large):
    f = fg.jit(g)
    f(large)
    tracemalloc.start()
    x = f(large)
    now, most = tracemalloc.get_traced_memory()
    del x
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert large.nbytes <= now <= most < large.nbytes + 10_000
    assert after < 10_000


@in_mode("eager")
def test_threads_do_not_share_results(mode, large):
    f = fg.jit(g)
    f(large)
    wrong = []

    def work(k):
        x = large + k
        held = []
        for i in range(12):
            held.append(f(x))
            if i % 3 == k % 3:
                held = held[-1:]
        wrong.extend([k for y in held if not np.allclose(y, expected(x), rtol=1e-12)])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert 0 <= recycling.kept() <= SLOTS * large.nbytes


PROGRAM = f"""
import os, sys
import numpy as np
import fungrad as fg, fungrad.numpy as fnp
f = fg.jit(lambda x: fnp.sin(x) * 2 + 1)
x = np.linspace(0, 1, {LEAST // 8})
kept = sys.kept = [f(x), f(x)]
f(x)
class Late:
    def __del__(self, kept=kept):
        kept.clear()
late = sys.late = Late()
pid = os.fork()
y = f(x + 1)
assert np.allclose(y, np.sin(x + 1) * 2 + 1)
if pid:
    _, status = os.waitpid(pid, 0)
    assert status == 0
print("done")
"""


def test_arrays_that_outlive_python_and_forks():
    environment = {**os.environ, "FUNGRAD_COMPILE": "eager"}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == ["done", "done"]
