"""Kernels as CUDA's C, run by the host, against the same kernels run by NumPy's functions."""

import math

import numpy as np
import pytest

from fungrad.compile.emit.cuda import cuda_text
from fungrad.compile.emit.cuda_types import prelude
from tests.backends import cuda_on_host
from tests.compile import random_kernels as rk

pytestmark = pytest.mark.skipif(cuda_on_host.COMPILER is None, reason="there is no C compiler")


def run(kernels, arguments):
    """Return what kernels give of their arguments, each a list of arrays."""
    texts = [cuda_text(kernel, f"kernel{k}") for k, kernel in enumerate(kernels)]
    text = "\n".join([x.text for x in texts])
    module = cuda_on_host.RawModule(prelude(text) + text)
    found = []
    for kernel, written, given in zip(kernels, texts, arguments, strict=True):
        arrays = [np.ascontiguousarray(x) for x in given]
        outputs = [np.empty(t.shape, t.dtype) for t in kernel.output_types]
        new = [x for k, x in enumerate(outputs) if k not in kernel.over]
        scratch = [np.full(written.scratch // 8, np.nan)] if written.scratch else []
        for name, blocks, threads in written.launches:
            cuda_on_host.run(module, name, blocks, threads, *arrays, *new, *scratch)
        found.append(
            [arrays[kernel.over[k]] if k in kernel.over else x for k, x in enumerate(outputs)]
        )
    return found


def check(drawn):
    drawn = [(kernel, arguments) for kernel, arguments in drawn if not kernel.safe]
    kernels, arguments = [x for x, _ in drawn], [x for _, x in drawn]
    expected = [kernel.interpret(*given) for kernel, given in drawn]
    for kernel, found, wanted in zip(kernels, run(kernels, arguments), expected, strict=True):
        for x, y in zip(found, wanted, strict=True):
            try:
                rk.assert_equal_bits(x, np.asarray(y))
            except AssertionError as error:
                raise AssertionError(
                    f"{error}\n{kernel}\n{cuda_text(kernel, 'kernel').text}"
                ) from None
    return len(drawn)


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed):
    rng = np.random.default_rng(seed)
    assert check([rk.random_kernel(rng) for _ in range(8)]) >= 4


@pytest.mark.parametrize("space", [(20_011,), (3, 9001), (2, 3, 4099), (16_384,), (4099, 3)])
def test_random_kernels_of_many_places(space):
    """Rows that several blocks share, and with rests."""
    rng = np.random.default_rng(math.prod(space))
    assert check([rk.random_kernel(rng, 14, space) for _ in range(6)])
