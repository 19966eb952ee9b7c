"""Elementary functions that long kernels call, and kernels that LLVM takes in pieces."""

import time
import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.emit import writer
from fungrad.compile.kernels import called
from fungrad.compile.kernels.operations import FUNCTIONS
from fungrad.compile.targets import host, host_kernels
from fungrad.core.config import compilation
from fungrad.scipy import special
from tests.compile.compiling import compare, needs_compiler

pytestmark = needs_compiler

DTYPES = ("f4", "f8")
BINARY = {"arctan2", "fmod", "hypot", "logaddexp", "logaddexp2", "power"}


def function_of(name):
    """Return what records a function of `FUNCTIONS`."""
    return getattr(np, name, None) or getattr(special, name)


@pytest.fixture
def assemblies(monkeypatch):
    """What is compiled meanwhile, as LLVM's assembly."""
    found = []
    assembly = host_kernels.assembly

    def noted(kernel):
        text, table = assembly(kernel)
        found.append(text)
        return text, table

    monkeypatch.setattr(host_kernels, "assembly", noted)
    return found


@pytest.fixture
def all_called(monkeypatch):
    """Have all functions called, however few there are."""
    monkeypatch.setattr(called, "SPELLED", 0)
    monkeypatch.setattr(called, "FEW", 0)


def spelled_out(function, args):
    """Return the results of kernels that call nothing."""
    before = called.SPELLED
    called.SPELLED = 1 << 30
    try:
        return fg.jit(lambda *a: function(*a))(*args)
    finally:
        called.SPELLED = before


def both(function, *args, monkeypatch):
    """Return the results of kernels that call functions, and of kernels that do not."""
    with monkeypatch.context() as patch:
        patch.setenv("FUNGRAD_CACHE_DIR", "off")
        token = compilation.set("eager")
        try:
            found = fg.jit(lambda *a: function(*a))(*args)
            expected = spelled_out(function, args)
        finally:
            compilation.reset(token)
    return found, expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_has_the_same_bits_called(name, dtype, all_called, assemblies, monkeypatch):
    f = function_of(name)
    x, y = [np.linspace(a, b, 37).astype(dtype) for a, b in ((0.05, 0.95), (0.3, 1.9))]
    x = x + 1 if name == "arccosh" else x
    args = (x, y) if name in BINARY else (x,)
    found, expected = both(lambda *a: f(*a) * 2, *args, monkeypatch=monkeypatch)
    assert f"@elementary.{name}." in assemblies[0]
    assert all("@elementary." not in text for text in assemblies[1:])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (4,), (7,), (1001,), (5, 6), (6, 1, 5)])
def test_shapes_and_sums(shape, all_called, monkeypatch):
    x = np.linspace(0.1, 2.0, max(int(np.prod(shape)), 1)).reshape(shape)

    def f(x):
        y = fnp.exp(-x) * fnp.sin(x) + fnp.cos(x)
        return y, y.sum(), y.sum(axis=-1) if x.ndim else y, y.max(axis=0) if x.ndim else y

    found, expected = both(f, x, monkeypatch=monkeypatch)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_functions_of_the_same_operand_are_one_call(all_called, assemblies, monkeypatch):
    x = np.linspace(0.1, 2.0, 8)
    both(lambda x: fnp.sin(x) * fnp.cos(x) + fnp.tanh(x), x, monkeypatch=monkeypatch)
    calls = [line for line in assemblies[0].splitlines() if "call fastcc" in line]
    assert len({line.split("@")[1].split("(")[0] for line in calls}) == 1
    assert "@elementary.sin.cos.tanh.v" in calls[0]


@pytest.mark.parametrize("x", [[0.5] * 6 + [1e300], [np.inf, 0.5], [np.nan, 1e18]])
def test_where_a_function_does_not_hold_numpys_is_called(x, all_called, monkeypatch):
    x = np.array(x)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found, expected = both(lambda x: fnp.sin(x) * 3, x, monkeypatch=monkeypatch)
        plain = np.sin(x) * 3
    np.testing.assert_allclose(found, plain, rtol=1e-15)
    np.testing.assert_array_equal(found, expected)
    assert len(seen) in (0, 3)


def chain(n):
    @fg.as_written
    def f(x):
        for _ in range(n):
            x = fnp.sin(x) * 1.01 + fnp.exp(-x * x) / (1 + x)
        return x

    return f


def test_a_long_kernel_and_its_gradient():
    """Beyond `SPELLED` operations, with more outputs than addresses are kept of, and in several blocks."""
    x = np.linspace(0.1, 1.0, 11)
    compare(fg.value_and_grad(lambda x: chain(40)(x).sum()), (x,), 64)
    compare(fg.hessian(lambda x: chain(4)(x).sum()), (x,), 64)

    def with_many_outputs(x):
        results = []
        for k in range(60):
            x = fnp.maximum(x * 0.99, 0.01 * k) + fnp.sin(x)
            results.append(x)
        return results

    compare(with_many_outputs, (x,), 64)


@pytest.mark.parametrize("dtype", ["f2", "c16", "f4"])
def test_long_kernels_of_other_dtypes(dtype):
    x = np.linspace(0.1, 1.0, 19).astype(dtype)
    compare(chain(20), (x,), 64)


@pytest.mark.parametrize("shape", [(9, 33), (40, 3)])
def test_long_kernels_of_columns(shape):
    x = np.linspace(0.1, 1.0, int(np.prod(shape))).reshape(shape)
    compare(lambda x: chain(20)(x).sum(axis=0), (x,), 64)


def test_assembly_grows_with_the_program_and_not_with_its_functions(assemblies, monkeypatch):
    x, lines = np.linspace(0.1, 1.0, 16), {}
    for n in (40, 80):
        both(chain(n), x, monkeypatch=monkeypatch)
        lines[n] = [text.count("\n") for text in assemblies]
        assemblies.clear()
    (called_40, spelled_40), (called_80, _) = lines[40], lines[80]
    assert called_80 < 2.1 * called_40
    assert spelled_40 > 2 * called_40


def test_llvms_time_grows_no_faster_than_a_program(monkeypatch, assemblies):
    """In ratios of a thread's own time: a basic block of tens of thousands of lines took ten times as long a line."""
    token = compilation.set("eager")
    monkeypatch.setenv("FUNGRAD_CACHE_DIR", "off")
    try:
        for n in (60, 600):
            fg.jit(lambda x, n=n: plain_chain(x, n))(np.linspace(0.1, 1.0, 10))
    finally:
        compilation.reset(token)
    each = []
    for text in assemblies:
        before = time.thread_time()
        host.machine_code(text)
        each.append((time.thread_time() - before) / text.count("\n"))
    short, long = each
    assert long < 3 * short
    assert writer.BLOCK < 2000


def plain_chain(x, n):
    for _ in range(n):
        x = fnp.maximum(x * 0.9, 1 - x) * fnp.where(x > 0.5, x, 1.0)
    return x
