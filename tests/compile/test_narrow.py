"""Kernels of float16 and of ml_dtypes' bfloat16, against NumPy's functions and against exact results."""

import numpy as np
import pytest
import scipy.special

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.kernels import functions, operations
from fungrad.compile.kernels.meaning import Namespace
from fungrad.compile.targets import host_kernels
from fungrad.core.errors import ExprError
from fungrad.scipy.special import softmax
from tests.compile import random_kernels as rk
from tests.compile.compiling import check as check_loop
from tests.compile.compiling import emitting, in_mode, needs_compiler
from tests.compile.typed_programs import LAYOUTS, apart, bits, check, in_order, kernels, run

F4, F8, HALF = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16)
ml_dtypes = pytest.importorskip("ml_dtypes")
BRAIN = np.dtype(ml_dtypes.bfloat16)
DTYPES = pytest.mark.parametrize("dtype", [HALF, BRAIN], ids=["float16", "bfloat16"])
DIVISIONS = ["floor_divide", "fmod", "remainder"]
BINARY = ["arctan2", "hypot", "logaddexp", "logaddexp2", "power", *DIVISIONS]
UNARY = [n for n in functions.__all__ if n not in ("SAFE", *BINARY)]


def every(dtype):
    """All numbers of a dtype."""
    return np.arange(1 << 16, dtype=np.uint16).view(dtype)


def tame(dtype, n=1003, seed=0):
    return np.random.default_rng(seed).uniform(0.25, 2, n).astype(dtype)


def meant(name, *operands):
    """What a function of kernels is, run by NumPy's functions operation by operation."""
    namespace = Namespace()
    loads = [namespace.node("load", x.dtype, value=i) for i, x in enumerate(operands)]
    out = getattr(namespace, name)(*loads)
    nodes, required, places = namespace.finished()
    assert not any(node.operation in operations.FUNCTIONS for node in nodes)
    found = []
    for node in nodes:
        if node.operation in ("constant", "load"):
            found.append(node.value if node.operation == "constant" else operands[node.value])
        else:
            found.append(operations.compute(node, [found[i] for i in node.operands]))
    safe = [np.broadcast_to(found[i], operands[0].shape) for i in required]
    return found[places[out.index]], np.all(safe, axis=0) if safe else np.ones(
        operands[0].shape, bool
    )


def rounded(x, dtype):
    """Return float64's numbers in a narrow dtype, rounded once."""
    if dtype == HALF:
        return x.astype(HALF)
    near = x.astype(F4)
    toward = np.where(np.abs(near.astype(F8)) > np.abs(x), np.float32(0), near)
    inexact = near.astype(F8) != x
    below = np.where(toward == near, near, np.nextafter(near, np.float32(0)))
    odd = (below.view(np.uint32) | 1).view(F4)
    return np.where(inexact & np.isfinite(near), odd, near).astype(BRAIN)


@pytest.mark.filterwarnings("ignore")
@DTYPES
@pytest.mark.parametrize("name", UNARY)
def test_every_number(name, dtype):
    """Elementary functions are within one unit of the last place of the exact results, of all numbers."""
    x = every(dtype)
    found, safe = meant(name, x)
    assert found.dtype == dtype
    exact = getattr(np if hasattr(np, name) else scipy.special, name)(x.astype(F8))
    if name == "gammaln":  # SciPy's is infinite for subnormal numbers
        safe &= np.abs(x.astype(F8)) > np.finfo(F8).tiny
    assert safe.sum() > 20_000
    assert apart(found[safe], rounded(exact, dtype)[safe]) <= 1


@pytest.mark.filterwarnings("ignore")
@DTYPES
@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_numbers(name, dtype):
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 1 << 16, (2, 60_000), dtype=np.uint16).view(dtype)
    near = rng.uniform(-4, 4, (2, 60_000)).astype(dtype)
    x, y = np.concatenate([x, near[0]]), np.concatenate([y, near[1]])
    found, safe = meant(name, x, y)
    safe |= name not in DIVISIONS
    assert safe.sum() > 50_000
    exact = getattr(np, name)(x.astype(F8), y.astype(F8))
    assert apart(found[safe], rounded(exact, dtype)[safe]) <= 1


def as_many_as(x, *numbers):
    """Return numbers as arrays of the shape of another, again and again."""
    assert all(z.size <= x.size for z in numbers)
    return [np.resize(z, x.shape) for z in numbers]


ARITHMETIC = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "chain": lambda x, y: (x + y) * x - y * y,
    "negative": lambda x, y: -x + y,
    "absolute": lambda x, y: abs(x) * y,
    "square": lambda x, y: fnp.square(x) + y,
    "reciprocal": lambda x, y: fnp.reciprocal(x) + y,
    "sqrt": lambda x, y: fnp.sqrt(x) * y,
    "floor": lambda x, y: fnp.floor(x) - fnp.ceil(y),
    "trunc": lambda x, y: fnp.trunc(x) * fnp.rint(y),
    "maximum": lambda x, y: fnp.maximum(x, y) + fnp.minimum(x, y),
    "clip": lambda x, y: fnp.clip(x, -1, 1) * y,
    "copysign": lambda x, y: fnp.copysign(x, y) + x,
    "sign": lambda x, y: fnp.sign(x) * y,
    "signbit": lambda x, y: fnp.where(fnp.signbit(x), y, x),
    "comparisons": lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y),
    "where": lambda x, y: fnp.where(x < y, x, y),
    "isnan": lambda x, y: (fnp.isnan(x + y), fnp.isinf(x + y), fnp.isfinite(x + y)),
    "logical": lambda x, y: fnp.logical_and(x, fnp.logical_not(y)),
}


@needs_compiler
@DTYPES
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name, dtype):
    """Results are NumPy's to the bit: of ordinary numbers, and of all pairs of special ones, with the warnings."""
    f = ARITHMETIC[name]
    x, y = tame(dtype) - dtype.type(1), tame(dtype, seed=1)
    check(f, x, y)
    check(f, x[:34].reshape(2, 17), y[:34].reshape(2, 17))
    info = ml_dtypes.finfo(dtype)
    special = [0, 1, 0.5, 3, np.inf, np.nan, info.max, info.smallest_subnormal, info.tiny, 1.375]
    special = np.array([s * float(z) for z in special for s in (1, -1)]).astype(dtype)
    check(f, *as_many_as(x, *np.meshgrid(special, special)))  # by the same kernel
    calm = special[np.abs(special.astype(F8)) < float(info.max)]
    check(f, *as_many_as(x, calm, np.full_like(calm, 1.375)))


@needs_compiler
@pytest.mark.filterwarnings("ignore:(overflow|invalid value)")
@DTYPES
@pytest.mark.parametrize("other", [*rk.ALL, HALF, BRAIN], ids=str)
def test_casts(other, dtype):
    """Conversions are NumPy's to the bit, to a narrow dtype and from it."""
    if other == dtype:
        return
    check(lambda x: x.astype(dtype), _numbers(other))
    if other.kind in "iu":  # NumPy does not say what numbers out of range become
        x = np.linspace(0 if other.kind == "u" else -120, 120, 999).astype(dtype)
    else:
        x = every(dtype)
    check(lambda x: x.astype(other), x)
    check(lambda x: (((x * x + x) * x - x) / x).astype(other), dtype.type(1.5))


def _numbers(dtype):
    rng = np.random.default_rng(3)
    if dtype.itemsize == 2 and dtype.kind in "fV":
        return every(dtype)
    if dtype.kind in "iub":
        return rk.data(rng, (4003,), dtype)
    exponents = np.exp2(rng.integers(-30, 17, 20_000))
    x = rng.uniform(-1, 1, 20_000) * exponents
    # halfway between numbers of float16 and of bfloat16, and beside that
    grid = np.round(x / exponents * 2**12) / 2**12 * exponents
    near = np.concatenate([grid, grid * (1 + 2**-40), grid * (1 - 2**-40), grid * (1 + 2**-22)])
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.99, 65520, 2**-24, 2**-25, 1e-300]
    return np.concatenate([x, near, special]).astype(dtype)


@needs_compiler
def test_rounding_to_float16_is_one_rounding():
    x = _numbers(F8)
    x = x[np.abs(x) < 65504]
    check(lambda x: x.astype(HALF), x)
    expected, _ = run(lambda x: x.astype(HALF), (x,), "off")
    assert (expected[0] != x.astype(F4).astype(HALF)).any()


@needs_compiler
@DTYPES
def test_overflow_warns_where_numpy_does(dtype):
    top = ml_dtypes.finfo(dtype).max
    x = np.array([1, top, 2], dtype)
    for f in (lambda x: x + x, lambda x: x * 1 * x, lambda x: x.astype(np.float64) * 2 + 1):
        check(f, x)
    wide = np.array([1, 1e6, 3e38], np.float32)
    check(lambda x: (x + 1).astype(dtype), wide)
    assert run(lambda x: (x + 1).astype(HALF), (wide,), "eager")[1]
    with np.errstate(over="ignore"):
        assert not run(lambda x: (x + 1).astype(HALF), (wide,), "eager")[1]


REDUCTIONS = {
    "max": lambda x: fnp.max(x, axis=-1),
    "min": lambda x: fnp.min(x + 1, axis=(1, 2)),
    "any": lambda x: fnp.any(x > 1, axis=-1),
}
SUMS = {
    "sum": lambda x: fnp.sum(x * x, axis=-1),
    "all axes": lambda x: fnp.sum(x * x),
    "norm": lambda x: x / fnp.sum(x * x, axis=-1, keepdims=True),
    "softmax": lambda x: softmax(x, axis=-1),
}


@needs_compiler
@DTYPES
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    x = tame(dtype, 3 * 5 * 67).reshape(3, 5, 67)
    check(REDUCTIONS[name], x)
    x[0, 1, 2] = np.nan
    check(REDUCTIONS[name], x)


@needs_compiler
@DTYPES
@pytest.mark.parametrize("name", SUMS)
def test_sums_are_no_worse_than_numpys(name, dtype):
    x = tame(dtype, 3 * 5 * 670).reshape(3, 5, 670)
    f = SUMS[name]
    assert kernels(f, (x,))
    exact = np.asarray(f(x.astype(F8)))
    (found,), (expected,) = [run(f, (x,), mode)[0] for mode in ("eager", "off")]
    assert (found.dtype, found.shape, type(found)) == (dtype, exact.shape, type(expected))
    ours, theirs = [np.abs(z.astype(F8) - exact).max() for z in (found, expected)]
    assert ours <= max(theirs, np.abs(exact).max() * float(ml_dtypes.finfo(dtype).eps))


@needs_compiler
@DTYPES
def test_products_are_numpys(dtype):
    """A product of which a part overflows is infinite in NumPy: none is a kernel's."""
    x = np.array([[300, 300, 1e-3, 1e-3]] * 5, HALF)
    assert not kernels(lambda x: fnp.prod(x, axis=-1), (x,))
    assert not kernels(lambda x: fnp.prod(x.astype(dtype), axis=0), (x,))


@needs_compiler
@DTYPES
def test_arrays_may_lie_anyhow(dtype):
    x, y = [tame(dtype, 6 * 35, seed).reshape(6, 35) for seed in (0, 1)]
    for first in LAYOUTS:
        for second in LAYOUTS:
            check(lambda x, y: x * y + x, first(x), second(y))
    check(lambda x, y: x * y[:, None] + x, x, y[:, 0])
    check(lambda x, y: fnp.exp(x) * fnp.sin(y) * fnp.cos(x) - y, dtype.type(0.5), np.array(y[0, 0]))
    empty = np.zeros((0, 3), dtype)
    for f in (lambda x: x * 2 + x, lambda x: fnp.sum(x * x)):
        (found,), (expected,) = [run(f, (empty,), mode)[0] for mode in ("eager", "off")]
        np.testing.assert_array_equal(bits(found), bits(expected))


@needs_compiler
@DTYPES
def test_views(dtype):
    """Slices, reversed arrays, joins, rolls, reads at index arrays, counts."""
    x = tame(dtype, 40 * 35).reshape(40, 35)
    for f in (
        lambda x: x[1:] - x[:-1],
        lambda x: x[:, 2:] * x[:, :-2] - x[:, 1:-1],
        lambda x: x[:, ::-1] + x * x,
        lambda x: x[::2, ::3] + x[1::2, ::3] * x[::2, ::3],
        lambda x: fnp.pad(x, 1)[1:, 1:] + dtype.type(1),
        lambda x: fnp.concatenate([x, -x], axis=1) + dtype.type(1),
        lambda x: fnp.roll(x, 1, axis=1) - x,
        lambda x: x[:, np.array([0, 3, 2, 5])] + x[:, :4],
        lambda x: x + fnp.arange(35).astype(dtype),
    ):
        (found,), (expected,) = [run(f, (x,), mode)[0] for mode in ("eager", "off")]
        np.testing.assert_array_equal(bits(found), bits(expected))


@needs_compiler
@DTYPES
def test_gradients(dtype):
    x, w = tame(dtype, 300).reshape(3, 100), tame(dtype, 100, 1)

    def f(x, w):
        return fnp.sum(fnp.tanh(x * w) * x - x**3)

    grad = fg.grad(f, argnums=(0, 1))
    assert kernels(grad, (x, w))
    expected = fg.grad(f, argnums=(0, 1))(x.astype(F8), w.astype(F8))
    for found, exact in zip(run(grad, (x, w), "eager")[0], expected, strict=True):
        assert found.dtype == dtype
        error = np.abs(found.astype(F8) - exact).max()
        assert error <= 8 * float(ml_dtypes.finfo(dtype).eps) * np.abs(exact).max()


@DTYPES
def test_powers_are_products(dtype):
    x = every(dtype)
    with np.errstate(all="ignore"):
        for n in (-3, -1, 3, 5, 16):
            namespace = Namespace()
            out = namespace.power(namespace.node("load", dtype, value=0), n)
            assert len(namespace.nodes) < 30
            found = [x]
            for node in namespace.nodes[1:]:
                given = [found[i] for i in node.operands]
                constant = node.operation == "constant"
                found.append(node.value if constant else operations.compute(node, given))
            exact = rounded(x.astype(F8) ** n, dtype)
            large = np.abs(exact.astype(F8)) > np.finfo(F4).tiny  # no overflow of a divisor
            assert apart(found[out.index][large], exact[large]) <= 1


@needs_compiler
@DTYPES
@in_mode("eager")
def test_loops(mode, dtype, made):
    """Routines have narrow numbers too: carries, rows, updates in place."""
    x = tame(dtype, 12)
    one = dtype.type(0.5)
    check_loop(made, emitting(lambda c, w: (c * w, fnp.max(c), c < w)), x, x[::-1].copy())
    check_loop(made, lambda x: fg.lax.fori_loop(0, 50, lambda i, y: y * one + x, x), x)
    check_loop(made, lambda x: fg.lax.fori_loop(0, 9, lambda i, y: y.at[i].add(x[i] * one), x), x)
    scattered = lambda c, w: c.at[np.array([0, 3, 0, 5])].add(w[:4])
    check_loop(made, emitting(scattered), x, x[::-1].copy())
    rows = tame(dtype, 60).reshape(5, 12)
    check_loop(made, emitting(lambda c, w: fnp.max(w, axis=0) + c), x, rows)


@needs_compiler
@DTYPES
def test_products_of_matrices_are_left_to_numpy(dtype):
    x = tame(dtype, 16).reshape(4, 4)
    loop = lambda x: fg.lax.fori_loop(0, 5, lambda i, y: ((y @ x) * 0.25).astype(dtype), x)
    (found,), (expected,) = [run(loop, (x,), mode)[0] for mode in ("eager", "off")]
    np.testing.assert_array_equal(bits(found), bits(expected))


@needs_compiler
def test_vectors_that_llvm_rounds():
    """At 16 numbers it fails for processors that have no registers for so many: a failure ends the process."""
    x = tame(HALF, 1000)
    (kernel,) = kernels(lambda x: x * x + x, (x,))
    text, _ = host_kernels.assembly(kernel)
    assert "fptrunc.v8f16.v8f32" in text
    assert "fptrunc.v16f16" not in text


@needs_compiler
@in_mode("eager")
def test_processors_that_do_not_convert_have_no_kernels_of_float16(mode, made, monkeypatch):
    monkeypatch.setattr(host_kernels, "has_halves", lambda: False)
    x = tame(HALF, 100)
    for f, given, native in [
        (lambda x: fnp.tanh(x) * x, x, False),
        (lambda x: fnp.tanh(x.astype(HALF)) * 2, x.astype(F4), False),
        (lambda x: fnp.tanh(x) * x, x.astype(BRAIN), True),
        (lambda x: fnp.tanh(x) * x, x.astype(F4), True),
    ]:
        fg.jit(f)(given)
        assert (made[-1].native is not None) is native


@DTYPES
def test_kernels_compute_with_no_narrow_numbers(dtype):
    for name in ("add", "reduce_sum", "lt"):
        with pytest.raises(ExprError, match="kernels have no"):
            rk.of_one_operation(name, dtype, [dtype] * 2, (5,))


def test_order_of_numbers():
    x = np.array([-np.inf, -1, -(2.0**-24), -0.0, 2.0**-24, 1, np.inf], HALF)
    assert (np.diff(in_order(x)) > 0).all()
    assert in_order(x)[4] - in_order(x)[2] == 2


NAMED = [n for n in UNARY if hasattr(np, n)]


@needs_compiler
@DTYPES
@pytest.mark.parametrize("name", NAMED)
def test_elementary_functions(name, dtype):
    """Compiled, within one unit of the last place of NumPy's results, with the warnings."""
    f = getattr(fnp, name)
    x = tame(dtype, 500) / dtype.type(2) if name != "arccosh" else tame(dtype) + dtype.type(1)
    check(f, x, ulps=1)
    special = [0, 1, 2, 30, 1e4, np.inf, np.nan, ml_dtypes.finfo(dtype).smallest_subnormal]
    special = np.array([s * float(z) for z in special for s in (1, -1)]).astype(dtype)
    check(f, *as_many_as(x, special), ulps=1)
    check(lambda x: f(f(x)) * x, x[x > 0.5], ulps=4)


@needs_compiler
@DTYPES
@pytest.mark.parametrize("name", BINARY)
def test_elementary_functions_of_two_numbers(name, dtype):
    f = getattr(fnp, name)
    x = tame(dtype)
    check(f, x, tame(dtype, seed=1), ulps=1)
    special = [0, 1, 2.5, 30, np.inf, np.nan, ml_dtypes.finfo(dtype).smallest_subnormal]
    special = np.array([s * float(z) for z in special for s in (1, -1)]).astype(dtype)
    check(f, *as_many_as(x, *np.meshgrid(special, special)), ulps=1)
