"""A Python without threads, processes and LLVM, as CPython on WebAssembly is, runs everything by NumPy's functions. docs/browser.md says what was tried there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PRELUDE = """
import numpy, optree, scipy.fft, scipy.linalg, scipy.special, scipy.stats  # those of the browser are built for it
import _thread, os, sys, threading, warnings

class Lacking:
    NAMES = {"llvmlite", "multiprocessing", "_multiprocessing", "_posixsubprocess", "subprocess", "cupy", "mpi4py"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.NAMES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in list(sys.modules):
    if name.partition(".")[0] in Lacking.NAMES:
        del sys.modules[name]
sys.meta_path.insert(0, Lacking())

def refuse(*args, **kwargs):
    raise RuntimeError("can't start new thread")

_thread.start_new_thread = threading._start_new_thread = threading._start_joinable_thread = refuse
for name in ("fork", "register_at_fork", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
sys.platform = "emscripten"
warnings.simplefilter("error")

import numpy as np
import fungrad as fg, fungrad.numpy as fnp

x = np.linspace(0.1, 2.0, 5)
f = lambda x: fnp.sum(fnp.sin(x) * x)
df = np.cos(x) * x + np.sin(x)
"""

PROGRAMS = {
    "gradients": """
for _ in range(200):  # as often as has kernels compiled elsewhere
    np.testing.assert_allclose(fg.grad(f)(x), df)
""",
    "jit of vmap": """
compiled = fg.jit(fg.vmap(fg.grad(f)))
for _ in range(200):
    np.testing.assert_allclose(compiled(x[:, None]), df[:, None])
""",
    "large arrays": """
many = np.tile(x, 100_000)
for _ in range(20):
    np.testing.assert_allclose(fg.jit(fg.grad(f))(many), np.tile(df, 100_000))
""",
    "loops": """
total = lambda x: fg.lax.scan(lambda c, a: (c * a + a, None), 0.0, x)[0]
slope = fg.jit(fg.grad(total))
for _ in range(50):
    fg.test_util.assert_allclose(slope(x), fg.jacfwd(total)(x))
until = fg.jit(lambda a: fg.lax.while_loop(lambda a: a < 100.0, lambda a: 2.0 * a, a))
assert until(3.0) == 192.0
""",
    "random numbers": """
draw = lambda: fg.random.normal(fg.random.key(0), (1000, 100))
np.testing.assert_array_equal(fg.jit(draw)(), draw())
""",
    "an optimizer": """
from fungrad import optim
adam = optim.adam(0.1)
state, p = adam.init(x), x
for _ in range(100):
    updates, state = adam.update(fg.grad(lambda p: fnp.sum(p**2))(p), state, p)
    p = optim.apply_updates(p, updates)
assert np.max(np.abs(p)) < 0.1
""",
    "programs shown": """
assert "sin" in str(fg.make_expr(f)(x))
assert "<svg" in fg.show.graph(f)(x)._repr_svg_()
assert "def " in fg.to_source(fg.grad(f))(x)
""",
    "a report": """
import runpy
sys.argv[1:] = []
runpy.run_module("fungrad", run_name="__main__")
""",
}


def run(program):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FUNGRAD_")}
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_threads_processes_and_llvm(name):
    done = run(PROGRAMS[name])
    assert not done.returncode, done.stderr
    assert not done.stderr


def test_what_needs_a_thread_says_so():
    done = run("""
from fungrad import training
batches = training.minibatches((np.arange(10.0),), 2, prefetch=2)
print(next(iter(batches)))
""")
    assert done.returncode
    assert "can't start new thread" in done.stderr
