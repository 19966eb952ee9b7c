"""PolyBench's kernels in plain NumPy agree with other ways to compute the same, on published and on generic data."""

import copy
import inspect

import numpy as np
import pytest

from tests.reading.polybench import KERNELS

SIZE = 9
OF_SLICES = [kernel for kernel in KERNELS if kernel.slices is not None]
named = {"ids": lambda kernel: kernel.name}


def test_the_suite_is_whole():
    assert len({kernel.name for kernel in KERNELS}) == 30
    assert len({kernel.function for kernel in KERNELS}) == 30


@pytest.mark.parametrize("kernel", KERNELS, **named)
def test_kernel_agrees_with_its_oracle(kernel, rng):
    for arguments in (kernel.make_arguments(SIZE), kernel.make_generic(SIZE, rng)):
        answer = kernel.function(*arguments)
        assert isinstance(answer, np.ndarray)
        assert answer.dtype == np.float64
        assert np.isfinite(answer).all()
        expected = kernel.oracle(*arguments)
        np.testing.assert_allclose(
            answer, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max()
        )


@pytest.mark.parametrize("kernel", OF_SLICES, **named)
def test_slices_compute_the_same_as_loops(kernel, rng):
    for arguments in (kernel.make_arguments(SIZE), kernel.make_generic(SIZE, rng)):
        expected = kernel.function(*arguments)
        answer = kernel.slices(*arguments)
        np.testing.assert_allclose(
            answer, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max()
        )


@pytest.mark.parametrize("kernel", KERNELS, **named)
def test_kernels_are_pure(kernel):
    arguments = kernel.make_arguments(SIZE)
    before = copy.deepcopy(arguments)
    for function in filter(None, (kernel.function, kernel.slices)):
        answer = function(*arguments)
        assert not any(np.shares_memory(answer, x) for x in arguments)
        for now, once in zip(arguments, before, strict=True):
            np.testing.assert_array_equal(now, once)


@pytest.mark.parametrize("kernel", KERNELS, **named)
def test_rows_name_arguments_that_are_there(kernel):
    arguments = kernel.make_arguments(SIZE)
    assert len(inspect.signature(kernel.function).parameters) == len(arguments)
    for place in kernel.differentiated:
        assert np.asarray(arguments[place]).dtype == np.float64
    for place in kernel.static:
        assert type(arguments[place]) is int
        assert place not in kernel.differentiated
