"""Sums of everything in parts: the same for any number of threads."""

import os

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.emit import llvm_threads
from fungrad.compile.fallback import Rerun
from fungrad.compile.kernels import partial
from fungrad.compile.kernels.fuse import fuse
from fungrad.compile.kernels.partial import in_parts
from fungrad.compile.pipeline import simplify
from fungrad.compile.targets import host_kernels
from tests.compile import random_kernels as rk
from tests.compile.compiling import needs_compiler

RNG = np.random.default_rng(0)


def total(x):
    return fnp.sum(x * x + 1) * 2


def mixed(x, y, c):
    z = x * y + c
    return fnp.sum(z), fnp.max(z) * c, fnp.all(z > -100), fnp.sum(z * x) - fnp.min(z)


PROGRAMS = [
    (total, [(1000,)]),
    (total, [(1003,)]),
    (total, [(7, 143)]),
    (mixed, [(1001,), (1001,), ()]),
    (mixed, [(50, 41), (41,), ()]),
    (mixed, [(50, 41), (50, 1), ()]),
    (mixed, [(3, 50, 7), (50, 1), ()]),
    (mixed, [(50, 6, 7), (6, 1), ()]),
]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(llvm_threads, "PART", 1)
    monkeypatch.setattr(partial, "PART", 100)
    monkeypatch.setattr(partial, "FEWEST", 1)


def kernel_of(f, args, every=True):
    (kernel,) = [k.kernel for k in fuse(simplify(fg.make_expr(f)(*args)), every=every)[1]]
    return kernel


@needs_compiler
@pytest.mark.skipif(os.name != "posix", reason="no threads of POSIX")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize(("f", "shapes"), PROGRAMS, ids=[f"{f.__name__} {s}" for f, s in PROGRAMS])
def test_any_number_of_threads_gives_the_same(small, monkeypatch, f, shapes, dtype):
    args = [rk.data(RNG, shape, np.dtype(dtype)) for shape in shapes]
    args = [x % 7 if dtype == "i4" else x for x in args]
    kernel = kernel_of(f, args)
    assert in_parts(kernel) is not None
    args = [x.reshape(t.shape)[()] for x, t in zip(args, kernel.operand_types, strict=True)]
    expected = kernel.interpret(*args)
    for number in ("1", "2", "3"):
        monkeypatch.setenv("FUNGRAD_NUM_THREADS", number)
        (compiled,) = host_kernels.compile_kernels([kernel])
        found = compiled(*args)
        for x, y in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
            rk.assert_equal_bits(x, y)


@needs_compiler
@pytest.mark.parametrize("place", [0, 450, 999, 1002])
def test_errors_in_parts_and_in_the_rest(small, monkeypatch, place):
    monkeypatch.setenv("FUNGRAD_NUM_THREADS", "2")
    x = np.ones(1003)
    kernel = kernel_of(lambda x: fnp.sum(1 / x + x), [x])
    (compiled,) = host_kernels.compile_kernels([kernel])
    assert compiled(x) == 2006
    x[place] = 0
    with pytest.raises(Rerun):
        compiled(x)
    kernel = kernel_of(lambda x: fnp.sum(fnp.sin(x) + x), [x])  # of arguments that it is safe for
    (compiled,) = host_kernels.compile_kernels([kernel])
    x[place] = 1e300
    with pytest.raises(Rerun):
        compiled(x)


@needs_compiler
def test_errors_of_what_is_computed_of_sums(small):
    x = np.ones(1000)
    kernel = kernel_of(lambda x: 1 / (fnp.sum(x + x) - 2000), [x])
    (compiled,) = host_kernels.compile_kernels([kernel])
    with pytest.raises(Rerun):
        compiled(x)
    assert compiled(2 * x) == 1 / 2000


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fnp.sum(x * 2, 1) + 1,  # rows
        lambda x: fnp.sum((x - fnp.sum(x)) ** 2),  # two rounds
        lambda x: (lambda y: (y, fnp.sum(y)))(x * 2 + 1),  # elements
        lambda x: fnp.sum(fnp.roll(x, 3, 0) * x),
    ],
)
def test_what_is_not_in_parts(small, f):
    assert in_parts(kernel_of(f, [RNG.normal(size=(50, 41))], every=False)) is None


def test_parts_follow_from_the_size_alone(monkeypatch):
    expr = simplify(fg.make_expr(total)(np.ones(3 << 20)))
    (kernel,) = [k.kernel for k in fuse(expr)[1]]
    assert in_parts(kernel).parts.space == (48, 1 << 16)
    monkeypatch.setenv("FUNGRAD_NUM_THREADS", "5")
    assert in_parts(kernel).parts.space == (48, 1 << 16)
    expr = simplify(fg.make_expr(total)(np.ones(10_000)))
    (kernel,) = [k.kernel for k in fuse(expr)[1]]
    assert in_parts(kernel) is None


@pytest.mark.parametrize("shape", [(10**6,), (10**7,), (1000, 1000), (1 << 20,), (777, 1024)])
def test_parts_are_equal_where_they_can_be(monkeypatch, shape):
    monkeypatch.setattr(partial, "FEWEST", 1)
    cut = in_parts(kernel_of(total, [np.broadcast_to(1.0, shape)]))
    assert cut.rest is None
    assert np.prod(cut.parts.space) == np.prod(shape)
    assert cut.last.space == cut.parts.space[:1]


def test_what_is_left_of_a_prime_number_of_elements(monkeypatch):
    monkeypatch.setattr(partial, "FEWEST", 1)
    cut = in_parts(kernel_of(total, [np.broadcast_to(1.0, 1_000_003)]))
    assert np.prod(cut.parts.space) + np.prod(cut.rest.space) == 1_000_003


def long(x):
    y = x
    for _ in range(8):
        y = fnp.minimum(y * 2 + x, 9)
    return y


@needs_compiler
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("length", [8192, 8193, 8256, 16_384, 16_640, 20_011, 24_575])
def test_last_blocks_of_long_kernels_are_shorter(length, dtype):
    x = rk.data(RNG, (2, length), np.dtype("i4")).astype(dtype) % 7 - 3
    lowered = fg.jit(lambda x: fnp.sum(long(x), 1)).lower(x)
    assert len(lowered.kernels) == 1
    assert np.array_equal(lowered.compile()(x), np.sum(long(x), 1))


@needs_compiler
def test_long_kernels_stand_once():
    kernel = kernel_of(lambda x: fnp.sum(long(x)), [np.broadcast_to(1.0, 10**6)])
    text, _ = host_kernels.assembly(kernel)
    assert text.count("constrained.fmul") - text.count("declare") < 2 * 8


@needs_compiler
@pytest.mark.parametrize("reduce", [fnp.any, fnp.all])
@pytest.mark.parametrize("length", [1, 3, 7, 16, 33, 100])
def test_truths_across_lanes(reduce, length):
    f = fg.jit(lambda x: reduce(x * 2 > 1, axis=1))
    x = np.concatenate([np.eye(length), 1 - np.eye(length), np.zeros((1, length))])
    assert np.array_equal(f.lower(x).compile()(x), reduce(x * 2 > 1, axis=1))
