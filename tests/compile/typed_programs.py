"""Programs run with kernels and without, compared bit by bit, warnings and all."""

import warnings

import numpy as np

import fungrad as fg
from fungrad.core.config import compilation
from tests.compile import random_kernels as rk


def run(function, args, mode):
    """Return what the third call of a function returns, and the messages of its warnings."""
    token = compilation.set(mode)
    try:
        g = fg.jit(lambda *a: function(*a))
        for _ in range(3):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = fg.tree.leaves(g(*args))
        return found, sorted({str(w.message) for w in caught})
    finally:
        compilation.reset(token)


def kernels(function, args):
    """Return the kernels and routines of a function."""
    token = compilation.set("eager")
    try:
        return fg.jit(lambda *a: function(*a)).lower(*args).kernels
    finally:
        compilation.reset(token)


def bits(x):
    """Return the bits of an array, those of one NaN for all of them."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind == "c":
        x = x.view(x.real.dtype)
    if x.dtype.kind in "fV":
        x = np.where(np.isnan(x), np.full_like(x, np.nan), x)
        x = x.view(f"u{x.dtype.itemsize}")
    return x


def in_order(x):
    """Return floating-point numbers as integers in the same order, in which neighbours are 1 apart."""
    size = x.dtype.itemsize
    found = np.ascontiguousarray(x).view(f"i{size}").astype(np.int64)
    return np.where(found < 0, np.int64(-(2 ** (8 * size - 1))) - found, found)


def apart(x, y):
    """Return by how many units of the last place two arrays differ at most; NaNs are equal."""
    nan = np.isnan(x)
    np.testing.assert_array_equal(nan, np.isnan(y))
    return np.abs(in_order(x) - in_order(y))[~nan].max(initial=0)


def close(x, y, ulps):
    """Check that numbers are so many units of the last place apart: of complex ones, of the greater part."""
    if x.dtype.kind != "c":
        assert apart(x, y) <= ulps
        return
    for a, b in ((x.real, y.real), (x.imag, y.imag)):
        np.testing.assert_array_equal(
            np.where(np.isfinite(b), 0, a), np.where(np.isfinite(b), 0, b)
        )
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
    ordinary = np.isfinite(y)
    x, y = x[ordinary], y[ordinary]
    info = np.finfo(y.dtype)
    size = np.maximum(np.maximum(np.abs(y.real), np.abs(y.imag)), info.tiny)
    for a, b in ((x.real, y.real), (x.imag, y.imag)):
        assert (np.abs(a - b) <= ulps * info.eps * size).all()


def check(function, *args, ulps=0):
    """Check that a function has kernels, and gives with them what it does without, warnings and all."""

    def two(*args):  # a kernel is of two operations at least
        found = fg.tree.leaves(function(*args))
        return [*found, found[0] == found[0]]

    assert kernels(two, args)
    expected, messages = run(two, args, "off")
    found, ours = run(two, args, "eager")
    assert ours == messages
    for x, y in zip(found, expected, strict=True):
        assert type(x) is type(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if ulps and x.dtype.kind in "fcV":
            close(x, y, ulps)
        else:
            np.testing.assert_array_equal(bits(x), bits(y))


LAYOUTS = [rk.LAYOUTS[k] for k in ("C", "Fortran", "strided", "reversed", "misaligned")]
