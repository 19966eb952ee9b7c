"""Kernels of elements that load and store 16 bytes at once: the same bits, wherever arrays begin."""

import re
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.emit import cuda
from fungrad.compile.targets.device import texts_of
from fungrad.core.config import compilation
from tests.backends import fake_cupy, nvidia
from tests.backends.cuda_on_host import COMPILER
from tests.backends.nvidia import kernels_of


@pytest.fixture
def cupy(monkeypatch):
    module = fake_cupy.make_stand_in()
    monkeypatch.setitem(sys.modules, "cupy", module)
    token = compilation.set("eager")
    yield module
    compilation.reset(token)


def gelu(x, y):
    return 0.5 * x * (1 + fnp.tanh(0.797 * (x + 0.0447 * x * x * x)))


def several(x, y):
    """Outputs of other widths, an operand that is read twice, one number for all, and places."""
    z = x * y[0] + fnp.arange(x.size).astype(x.dtype)
    return z, z > 1, (x * x + y).astype(np.float32), fnp.sin(x) - x


PROGRAMS = [gelu, several]
DTYPES = ["f4", "f8", "f2", "c8", "i2"]


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.parametrize("dtype", DTYPES[:3])
@pytest.mark.parametrize("f", PROGRAMS)
def test_bits(cupy, monkeypatch, f, dtype):
    """A rest that is no pack, and arrays that begin at an element."""
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(2, 1030)).astype(dtype)
    jitted = {least: fg.jit(lambda x, y, f=f: f(x, y)) for least in (1, 1 << 18)}
    for start, stop in ((0, 1024), (0, 1029), (1, 1030), (3, 6)):
        found = []
        for least, g in jitted.items():
            monkeypatch.setattr(cuda, "MANY_ELEMENTS", least)
            args = [
                fake_cupy.ndarray(fake_cupy.alloc(8240).array((1030,), x.dtype, None)) for x in xs
            ]
            for a, x in zip(args, xs):
                a._array[...] = x
            found.append(fg.tree.leaves(g(*[a[start:stop] for a in args])))
        for x, y in zip(*found, strict=True):
            assert x.get().tobytes() == y.get().tobytes()


def text_of(f, dtype, n=1 << 18):
    text, _ = texts_of(kernels_of(f, np.ones(n, dtype), np.ones(n, dtype)))
    return text


@pytest.mark.parametrize("dtype", DTYPES)
def test_packs(dtype):
    text = text_of(lambda x, y: x * y + y, dtype)
    together = min(16 // np.dtype(dtype).itemsize, 8)
    assert len(re.findall(rf"const pack{together}_{dtype} p\d", text)) == 2
    assert "pack" not in text_of(lambda x, y: x * y + y, dtype, 1 << 17)


def test_arrays_in_other_orders_are_loaded_one_by_one():
    for f in (lambda x, y: x[::-1] * y + 1, lambda x, y: x[1:] * y[1:] + 1):
        assert "pack" not in text_of(f, "f4", 1 << 19)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_loads_of_16_bytes(dtype):
    """In NVIDIA's assembly, as NVRTC writes it."""
    pytest.importorskip("nvidia.cuda_nvrtc")
    made = nvidia.ptx(text_of(lambda x, y: x * y + y, dtype), 90)
    wide = "v4" if dtype != "f8" else "v2"
    loads, stores = (
        len(re.findall(rf"{x}\.{wide}", made)) for x in (r"ld\.global\.nc", r"st\.global")
    )
    assert loads == 2 * stores > 0  # the loop is unrolled
