"""What the tests of kernels that run on this machine have in common."""

import numpy as np
import pytest

import fungrad.numpy as fnp
from fungrad.compile.targets import host

needs_compiler = pytest.mark.skipif(
    not host.available(), reason="no llvmlite, or no CPython of 64 bits: nothing compiles kernels"
)

X = np.linspace(1.0, 2.0, 100)


def f(x):
    return fnp.sum(1 / x * 2 + x * x) * 3


def in_mode(name):
    return pytest.mark.parametrize("mode", [name], indirect=True, ids=[name])
