"""PolyBench's kernels under transforms: loops over elements, branches and updates in place, as they are written."""

import numpy as np
import pytest

import fungrad as fg
from tests.reading.polybench import KERNELS
from tests.reading.polybench.checking import error_of_gradient

SIZE = 8
TEXTS = [
    pytest.param(kernel, function, id=f"{kernel.name}-{form}")
    for kernel in KERNELS
    for form, function in (("loops", kernel.function), ("slices", kernel.slices))
    if function is not None
]
texts = pytest.mark.parametrize(("kernel", "function"), TEXTS)


def assert_close(answer, expected):
    assert answer.dtype == expected.dtype
    np.testing.assert_allclose(answer, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@texts
def test_jit_computes_what_numpy_does(kernel, function, rng):
    jitted = fg.jit(function, static_argnums=kernel.static)
    for arguments in (kernel.make_arguments(SIZE), kernel.make_generic(SIZE, rng)):
        assert_close(jitted(*arguments), function(*arguments))


@texts
def test_jitted_gradient_agrees_with_differences(kernel, function, rng):
    arguments = kernel.make_generic(SIZE, rng)
    weights = rng.standard_normal(function(*arguments).shape)

    def loss(*args):
        return np.sum(weights * function(*args))

    gradient = fg.jit(fg.grad(loss, kernel.differentiated), static_argnums=kernel.static)
    found = gradient(*arguments)
    for _ in range(3):
        assert error_of_gradient(kernel, loss, arguments, found, rng) <= 1e-7


@texts
def test_vmap_computes_what_a_loop_does(kernel, function, rng):
    batch = [kernel.make_generic(SIZE, rng) for _ in range(3)]
    axes = [None] * len(batch[0])
    arguments = list(batch[0])
    for i in kernel.differentiated:
        axes[i], arguments[i] = 0, np.stack([one[i] for one in batch])
    answers = fg.vmap(function, tuple(axes))(*arguments)
    assert_close(answers, np.stack([function(*one) for one in batch]))
