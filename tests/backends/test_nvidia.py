"""Kernels as NVIDIA's compilers make them, where their wheels are installed; no card is needed."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from benchmarks.native import arrays, learning, science
from benchmarks.workloads.native import program
from fungrad import lax
from fungrad.compile.kernels.routine import Routine
from fungrad.compile.targets.device import texts_of
from tests.backends import nvidia
from tests.backends import test_device_loops as loops
from tests.backends.nvidia import kernels_of
from tests.backends.test_device_kernels import chain, many_sums, polynomial, softmax
from tests.backends.test_device_plans import PROGRAMS, gradient
from tests.compile import random_kernels as rk

pytest.importorskip("nvidia.cuda_nvrtc")
pytest.importorskip("nvidia.cuda_nvcc")

SPILLED = 256
"""Bytes that a thread may spill: its first cache has room for them."""
BESIDE = 256
"""So many threads beside each other."""
SHARED = 48 << 10
"""Bytes that a block may share without being asked for."""


def dtypes(x):
    narrow = [x.astype(t) for t in ("f2", "f4", "i1", "u4", "i8", "c8", "c16")]
    return [(fnp.sum(y * y + y, -1), fnp.where(x > 1, y, y + y)) for y in narrow]


def check(kernels, architecture):
    """Hold each launch to its registers, spills and shared memory; return how many there were."""
    text, texts = texts_of(kernels)
    found = nvidia.figures(text, architecture)
    launches = {launch for each in texts for launch in each.launches}
    for name, blocks, threads in launches:
        registers, spilled, shared = found[name]
        assert registers * threads <= 1 << 16, name  # more are refused
        beside = threads if blocks == 1 else BESIDE  # threads that share the cache
        assert spilled * beside <= SPILLED * BESIDE, (name, registers, spilled)
        assert shared <= SHARED, (name, shared)
    return len(launches)


@pytest.mark.parametrize("architecture", [80, 90])
def test_kernels_of_programs(architecture):
    x = np.ones((64, 64))
    kernels = [k for f in [*PROGRAMS, *map(gradient, PROGRAMS)] for k in kernels_of(f, x, x)]
    for f in (softmax, many_sums, dtypes):
        for shape in ((5, 6000), (3, 9000), (64, 100), (9000, 3)):
            kernels += kernels_of(f, np.ones(shape))
    kernels += kernels_of(gradient(chain), np.ones(50), np.ones((20, 50)))
    kernels += kernels_of(polynomial, np.ones(50))
    kernels += kernels_of(lambda x: [fnp.argmax(x, 0), fnp.argmin(x, 1), fnp.tril(x)], x)
    assert check(kernels, architecture) > 40


@pytest.mark.parametrize("seed", range(4))
def test_random_kernels(seed):
    rng = np.random.default_rng(seed)
    drawn = [kernel for kernel, _ in [rk.random_kernel(rng) for _ in range(20)]]
    assert check([kernel for kernel in drawn if not kernel.safe], 90) >= 10


@pytest.mark.parametrize("architecture", [75, 90, 120])
def test_loops_of_one_block(architecture):
    kernels = [k for f in loops.PROGRAMS for k in kernels_of(f, loops.X, loops.ROWS)]
    for f in (loops.system, loops.swapped, loops.nested, loops.wide):
        kernels += kernels_of(loops.gradient(f), loops.X, loops.ROWS)
    for name in ("kalman", "runge_kutta", "lstm_step", "scan_rnn"):
        kernels += kernels_of(*row(name))
    assert sum(isinstance(k, Routine) for k in kernels) >= 16
    assert check(kernels, architecture) >= 20


def row(name):
    """Return a row of the benchmarks as a function, and its arguments."""
    (found,) = [r for m in (arrays, learning, science) for r in m.ROWS if r.name == name]
    return program(found, fg, fnp, lax), *found.args()
