"""What the tests of kernels that run on this machine have in common."""

import contextlib
from unittest import mock

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.targets import host, host_kernels
from fungrad.core.config import compilation
from fungrad.core.types import type_of

needs_compiler = pytest.mark.skipif(
    not host.available(), reason="no llvmlite, or no CPython of 64 bits: nothing compiles kernels"
)

X = np.linspace(1.0, 2.0, 100)


def f(x):
    return fnp.sum(1 / x * 2 + x * x) * 3


def in_mode(name):
    return pytest.mark.parametrize("mode", [name], indirect=True, ids=[name])


def run(function, args, mode):
    """Return the leaves of what is returned at the third call."""
    token = compilation.set(mode)
    try:
        g = fg.jit(lambda *a: function(*a))
        for _ in range(3):
            found = g(*args)
        return fg.tree.leaves(found), [type_of(x).weak for x in fg.tree.leaves(found)]
    finally:
        compilation.reset(token)


def compare(function, args, ulps):
    """Check results with kernels against those without.

    Floating-point numbers are within so many units in the last place of the largest one of an array; with 0, equal.
    Return both.
    """
    expected, weak = run(function, args, "off")
    found, weak_too = run(function, args, "eager")
    assert weak_too == weak
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        which = f"result {number}, {y.dtype}{[*y.shape]}"
        assert type(x) is type(y), which
        assert (x.dtype, x.shape) == (y.dtype, y.shape), which
        if ulps and x.dtype.kind in "fc":
            largest = np.abs(y).max(initial=np.finfo(y.dtype).tiny)
            apart = np.abs(x - y).max(initial=0)
            assert apart <= ulps * np.finfo(x.dtype).eps * largest, which
        else:
            np.testing.assert_array_equal(x, y, which)
    own = [x for x in found if isinstance(x, np.ndarray)]
    others = [x for x in fg.tree.leaves(args) if isinstance(x, np.ndarray)]
    for n, x in enumerate(own):
        assert x.flags.writeable
        assert not any(np.shares_memory(x, z) for z in [*own[:n], *others])
    return found, expected


def routines(function, args):
    """Return the loops of a function that are routines, as they are shown."""
    kernels = map(str, fg.jit(function).lower(*args).kernels)
    return [text for text in kernels if text.startswith("{ routine")]


@contextlib.contextmanager
def routines_compiled():
    """The routines that are compiled meanwhile, as they are shown."""
    found = []
    compile_kernels = host_kernels.compile_kernels

    def compile_shown(kernels):
        found.extend(text for text in map(str, kernels) if text.startswith("{ routine"))
        return compile_kernels(kernels)

    with mock.patch.object(host_kernels, "compile_kernels", compile_shown):
        yield found


def compare_routines(function, args, ulps):
    """Check what routines compute, as `compare` does; return them, as they are shown."""
    with routines_compiled() as found:
        compare(function, args, ulps)
    assert found
    return found


def check(made, function, *args, ulps=0):
    """Check a function with a loop against itself without kernels: routines run it, and never give up. Return these, as they are shown."""
    before = fg.tree.map(np.copy, args)
    found = compare_routines(function, args, ulps)
    assert made[-1].native is not None
    assert not any(tier.failures for tier in made)
    for x, y in zip(fg.tree.leaves(args), fg.tree.leaves(before), strict=True):
        np.testing.assert_array_equal(x, y)
    return found


def emitting(body):
    """Return a loop whose steps give what a body computes of a carry that changes."""

    def step(c, *rest):
        return (~c if c.dtype == bool else c + 1), body(c, *rest)

    return lambda x, *rest: fg.lax.scan(lambda c, _: step(c, *rest), x, length=3)


def looks_on_disk(tier):
    """Look whether the kernels of a tier are on disk, if that has not been done; else return False."""
    if tier.recall is None:
        return False
    tier.compile(make=False)
    tier._asked = None
    return True


def assembly(function, *args):
    """Return LLVM's assembly of the kernels of a jitted function."""
    return [host_kernels.assembly(kernel)[0] for kernel in fg.jit(function).lower(*args).kernels]
