"""Floating-point errors in kernels of several operations: reported just where NumPy's functions report them.

A compiler that took operations for free of side effects would leave out those whose results do not matter.
"""

import collections
import itertools

import numpy as np
import pytest

from fungrad.compile.kernels.access import Access
from fungrad.compile.kernels.kernel import Kernel, Output
from fungrad.compile.kernels.operations import BOOL, COMPARISONS, Node
from fungrad.compile.targets import host_kernels
from fungrad.core.types import ArrayType
from tests.compile import random_kernels as rk
from tests.compile.compiling import needs_compiler

pytestmark = needs_compiler


class Builder:
    """Makes a kernel of nested calls: numbers become constants."""

    def __init__(self, space, dtype):
        self.space, self.dtype = space, np.dtype(dtype)
        self.other = np.dtype("f4" if dtype == "f8" else "f8")
        self.bits = np.dtype(f"i{self.dtype.itemsize}")
        access = Access(ArrayType(space, self.dtype), tuple(range(len(space))))
        self.operands = (access, access)
        self.nodes = [Node("load", self.dtype, (), k) for k in range(2)]

    def __call__(self, operation, *operands, dtype=None):
        places = []
        given = [self.nodes[x[0]].dtype for x in operands if type(x) is tuple]
        like = next((d for d in given if d != BOOL), self.dtype)
        for x in operands:
            if type(x) is not tuple:
                self.nodes.append(Node("constant", like, (), like.type(x)))
                x = (len(self.nodes) - 1,)
            places.append(x[0])
        if dtype is None:
            dtype = BOOL if operation in COMPARISONS else self.nodes[places[-1]].dtype
        self.nodes.append(Node(operation, np.dtype(dtype), tuple(places)))
        return (len(self.nodes) - 1,)

    def kernel(self, body):
        (result,) = body(self, (0,), (1,))
        out = Output(result, ArrayType(self.space, self.nodes[result].dtype), True)
        return Kernel(self.space, 0, self.operands, tuple(self.nodes), (out,)).check()


def twice(b, operation, x):
    return b(operation, x, x)


def converted(b, x):
    return b("convert", x, dtype=b.other)


CASES = {
    "where(x > 0, y / x, 0)": lambda b, x, y: b("select", b("gt", x, 0), b("div", y, x), 0),
    "where(x > 0, sqrt(y), 0)": lambda b, x, y: b("select", b("gt", x, 0), b("sqrt", y), 0),
    "where(x != 0, 1 / x, y)": lambda b, x, y: b("select", b("ne", x, 0), b("div", 1, x), y),
    "where(x > 0, y, x * y)": lambda b, x, y: b("select", b("gt", x, 0), y, b("mul", x, y)),
    "where(p, x * y, x * y)": lambda b, x, y: b(
        "select", b("gt", x, 0), *[b("mul", x, y) for _ in range(2)]
    ),
    "sqrt(x) > 0": lambda b, x, y: b("gt", b("sqrt", x), 0),
    "sqrt(x) == y": lambda b, x, y: b("eq", b("sqrt", x), y),
    "isnan(sqrt(x))": lambda b, x, y: twice(b, "ne", b("sqrt", x)),
    "isnan(x - y)": lambda b, x, y: twice(b, "ne", b("sub", x, y)),
    "x - y > 0": lambda b, x, y: b("gt", b("sub", x, y), 0),
    "x - y == 0": lambda b, x, y: b("eq", b("sub", x, y), 0),
    "0 / 0": lambda b, x, y: b("add", x, b("div", b("mul", 0, y), 0)),
    "constants": lambda b, x, y: b("add", x, b("div", 1.0, 0.0)),
    "x / x": lambda b, x, y: twice(b, "div", x),
    "x - x": lambda b, x, y: twice(b, "sub", x),
    "x * 0": lambda b, x, y: b("mul", x, 0),
    "x * 4 > 8": lambda b, x, y: b("gt", b("mul", x, 4), 8),
    "x * x < 0": lambda b, x, y: b("lt", twice(b, "mul", x), 0),
    "x * y == nan": lambda b, x, y: b("eq", b("mul", x, y), np.nan),
    "x * y + nan": lambda b, x, y: b("add", b("mul", x, y), np.nan),
    "max(x * y, nan)": lambda b, x, y: b("max", b("mul", x, y), np.nan),
    "min(x * y, inf)": lambda b, x, y: b("min", b("mul", x, y), np.inf),
    "abs(x * y) < inf": lambda b, x, y: b("lt", b("abs", b("mul", x, y)), np.inf),
    "x * y - x * y": lambda b, x, y: twice(b, "sub", b("mul", x, y)),
    "1 / x < 0": lambda b, x, y: b("lt", b("div", 1, x), 0),
    "copysign(1, x / y)": lambda b, x, y: b("copysign", 1, b("div", x, y)),
    "copysign(x * y, y)": lambda b, x, y: b("copysign", b("mul", x, y), y),
    "signbit(x * y)": lambda b, x, y: b("lt", b("bitcast", b("mul", x, y), dtype=b.bits), 0),
    "convert": lambda b, x, y: converted(b, x),
    "convert > 0": lambda b, x, y: b("gt", converted(b, x), 0),
    "convert twice": lambda b, x, y: b("convert", converted(b, x), dtype=b.dtype),
    "product in between": lambda b, x, y: b(
        "convert", b("mul", converted(b, x), converted(b, y)), dtype=b.dtype
    ),
    "fma > 0": lambda b, x, y: b("gt", b("fma", x, y, 1), 0),
    "floor(x * y) == x": lambda b, x, y: b("eq", b("floor", b("mul", x, y)), x),
}


def special(dtype):
    f = np.finfo(dtype)
    numbers = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, f.max, -f.max, f.tiny, f.max / 3]
    return np.array([*numbers, f.smallest_subnormal, 2.5, 1e-30], dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("space", [(), (19,)], ids=str)
def test_what_does_not_matter_is_reported(space, dtype):
    kernels = [Builder(space, dtype).kernel(body) for body in CASES.values()]
    functions = host_kernels.compile_kernels(kernels)
    counts = collections.Counter()
    for name, kernel, function in zip(CASES, kernels, functions, strict=True):
        signs = not name.startswith(("signbit", "copysign"))  # those of NaNs are anything
        for given in itertools.product(special(dtype), repeat=2):
            arguments = [np.full(space, x)[()] for x in given]
            expected, found = rk.outcomes(kernel, function, arguments)
            assert (found is None) == (expected is None), (name, given)
            counts[name] += found is None
            if found is not None and (signs or not np.isnan(given).any()):
                rk.assert_equal_bits(found[0], expected[0])
    never = {"convert", "convert > 0", "convert twice"} if dtype == "f4" else set()
    assert {name for name in CASES if not counts[name]} == never


FORBIDDEN = {
    "reduce_sum",  # errors depend on the order
    "reduce_prod",
    "copysign",  # signs of NaNs are anything
    "bitcast",
}


def test_random_kernels_of_special_numbers():
    rng = np.random.default_rng(0)
    kernels = []
    while len(kernels) < 30:
        kernel, _ = rk.random_kernel(rng, 28)
        if not any(n.operation in FORBIDDEN for n in kernel.nodes):
            kernels.append(kernel)
    counts = collections.Counter()
    for kernel, function in zip(kernels, host_kernels.compile_kernels(kernels), strict=True):
        for share in (0.5, 0.05, 0.001, 0.0):
            given = [_with_special(rng, x.type, share) for x in kernel.operands]
            expected, found = rk.outcomes(_needed(kernel), function, given)
            assert (found is None) == (expected is None)
            counts[found is None] += 1
            for x, y in zip(found or (), expected or (), strict=True):
                rk.assert_equal_bits(x, y)
    assert min(counts[True], counts[False]) > 5


def _with_special(rng, type_, share):
    x = rk.data(rng, type_.shape, type_.dtype)
    if type_.dtype.kind != "f":
        return x
    return np.where(
        rng.random(type_.shape) < share, rng.choice(special(type_.dtype), type_.shape), x
    )[()]


def _needed(kernel):
    """Return the kernel without nodes that no output depends on, which are not computed."""
    needed = {o.node for o in kernel.outputs}
    for k in range(len(kernel.nodes) - 1, -1, -1):
        if k in needed:
            needed.update(kernel.nodes[k].operands)
    place = {k: n for n, k in enumerate(sorted(needed))}
    nodes = [
        kernel.nodes[k]._replace(operands=tuple(place[i] for i in kernel.nodes[k].operands))
        for k in place
    ]
    outputs = tuple(o._replace(node=place[o.node]) for o in kernel.outputs)
    return Kernel(kernel.space, kernel.rows, kernel.operands, tuple(nodes), outputs).check()
