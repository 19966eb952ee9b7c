"""Kernels of complex numbers against NumPy's functions."""

import itertools
import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.targets import host_kernels
from fungrad.core.config import compilation
from tests.compile import random_kernels as rk
from tests.compile.compiling import check as check_loop
from tests.compile.compiling import emitting, in_mode, needs_compiler
from tests.compile.typed_programs import LAYOUTS, bits, check, close, kernels, run
from tests.optional import needs, optional

pytestmark = needs_compiler

C8, C16 = np.dtype(np.complex64), np.dtype(np.complex128)
DTYPES = pytest.mark.parametrize("dtype", [C8, C16], ids=str)


def tame(dtype, n=1003, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(dtype)


def special(dtype):
    """Numbers of which each part is one of some special ones."""
    info = np.finfo(dtype)
    numbers = [0, 1, 2.5, np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal]
    numbers = np.array([s * x for x in numbers for s in (1, -1)]).astype(info.dtype)
    found = np.empty((len(numbers), len(numbers)), dtype)
    found.real, found.imag = numbers[:, None], numbers
    return found.reshape(-1)


@DTYPES
@pytest.mark.parametrize("space", [(), (5,), (67,), (3, 16), (2, 300)], ids=str)
def test_parts_in_kernels(space, dtype):
    """Operations of kernels against the same kernels run by NumPy's functions."""
    part = np.finfo(dtype).dtype
    made = [("real", part, [dtype]), ("imag", part, [dtype]), ("complex", dtype, [part, part])]
    made = [rk.of_one_operation(*x, space, spread) for x in made for spread in (False, True)]
    for kernel, function in zip(made, host_kernels.compile_kernels(made), strict=True):
        types = kernel.operand_types
        given = [np.resize(special(dtype), t.shape).astype(dtype) for t in types]
        given = [
            x if t.dtype.kind == "c" else x.real.copy() for x, t in zip(given, types, strict=True)
        ]
        expected, found = rk.outcomes(kernel, function, given)
        assert found[0].dtype == expected[0].dtype
        np.testing.assert_array_equal(bits(found[0]), bits(expected[0]))


ARITHMETIC = {
    "add": (0, lambda z, w: z + w),
    "subtract": (0, lambda z, w: z - w),
    "negative": (0, lambda z, w: -z),
    "multiply": (2, lambda z, w: z * w),
    "divide": (2, lambda z, w: z / w),
    "by real numbers": (2, lambda z, w: z * w.real + 2 * w / 3),
    "reciprocal": (2, lambda z, w: fnp.reciprocal(w)),
    "square": (2, lambda z, w: fnp.square(z)),
    "cube": (4, lambda z, w: z**3),
    "absolute": (2, lambda z, w: fnp.abs(z)),
    "conjugate": (0, lambda z, w: fnp.conj(z)),
    "parts": (0, lambda z, w: (z.real - w.imag, w.real + z.imag)),
    "of parts": (0, lambda z, w: fg.lax.complex(w.imag, z.real)),
    "real numbers too": (0, lambda z, w: fnp.conj(z.real) + fnp.real(w.imag)),
    "equal": (0, lambda z, w: (z == w, z != w, z == z.real)),
    "where": (0, lambda z, w: fnp.where(z.real > w.imag, z, w)),
    "tests": (0, lambda z, w: (fnp.isnan(z), fnp.isinf(z), fnp.isfinite(z))),
    "logical": (0, lambda z, w: fnp.logical_and(z, fnp.logical_not(w))),
    "constants": (2, lambda z, w: (z * 2j + (1 - 3j)) * 0.5 - 1),
    "polynomial": (8, lambda z, w: ((z * 0.5 + 1) * z + 2j) * z + w),
}
"""By name: units of the last place that results may be apart, and the function."""


@DTYPES
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name, dtype):
    """Ordinary numbers, and all pairs of special ones, with the warnings."""
    ulps, f = ARITHMETIC[name]
    check(f, tame(dtype), tame(dtype, seed=1), ulps=ulps)
    check(f, tame(dtype, 34).reshape(2, 17), tame(dtype, 34, 1).reshape(2, 17), ulps=ulps)
    numbers = special(dtype)
    pairs = [np.ascontiguousarray(z) for z in np.meshgrid(numbers, numbers)]
    check(f, *pairs, ulps=ulps)
    good = [np.isfinite(z) & (abs(z.real) < 3) & (abs(z.imag) < 3) & (z != 0) for z in pairs]
    calm = [z[good[0] & good[1]] for z in pairs]
    check(f, *calm, ulps=ulps)


@DTYPES
def test_no_error_no_second_run(dtype, made):
    """Numbers that are no special ones are computed by the kernels alone."""
    z, w = tame(dtype), tame(dtype, seed=1)
    for _, f in ARITHMETIC.values():
        kernels(f, (z, w))
        run(f, (z, w), "eager")
        assert not made[-1].failures
        assert made[-1].native is not None or not kernels(f, (z, w))


@pytest.mark.filterwarnings("ignore:Casting complex")
@DTYPES
@pytest.mark.parametrize("other", [*rk.ALL, np.dtype("f2"), C8, C16], ids=str)
def test_casts(other, dtype):
    if other == dtype:
        return
    z = tame(dtype) * 3
    if other.kind in "iu":  # a complex number has no order, and NumPy takes its real part
        check(lambda z: fnp.abs(z).astype(other) + other.type(1), z, ulps=1)
        x = rk.data(np.random.default_rng(0), (1003,), other)
    else:
        check(lambda z: (z.astype(other), z.real.astype(other)), z)
        if other.kind == "c":
            check(lambda z: -z.astype(other), z)
            check(lambda z: -z.astype(other), special(dtype))
        x = tame(C16).real.astype(other)
        if other.kind == "c":
            x = tame(other)
    check(lambda x: -x.astype(dtype), x)


@pytest.mark.filterwarnings("ignore:overflow")
def test_casts_to_fewer_digits_warn():
    z = np.array([1, 1e30, 1e300j, -1e300])
    check(lambda z: -z.astype(C8), z)
    assert run(lambda z: -z.astype(C8), (z,), "eager")[1]


@DTYPES
def test_sums(dtype):
    z = tame(dtype, 3 * 5 * 670).reshape(3, 5, 670)
    for f in (
        lambda z: fnp.sum(z * z, axis=-1),
        lambda z: fnp.sum(z * z.conj()),
        lambda z: fnp.sum(fnp.abs(z) ** 2, axis=(1, 2)),
        lambda z: z / fnp.sum(z * 2, axis=-1, keepdims=True),
        lambda z: fnp.sum(z - 1, axis=0),
        lambda z: fnp.mean(z + 1, axis=-1),
    ):
        assert kernels(f, (z,)) or f(z).shape == (5, 670)
        exact = np.asarray(f(z.astype(C16)))
        (found,), (expected,) = [run(f, (z,), mode)[0] for mode in ("eager", "off")]
        assert (type(found), found.dtype) == (type(expected), expected.dtype)
        assert found.shape == exact.shape
        ours, theirs = [np.abs(x - exact).max() for x in (found, expected)]
        assert ours <= max(theirs, 100 * np.finfo(dtype).eps * np.abs(exact).max())
    nothing = np.full((400, 9), complex(-0.0, -0.0), dtype)
    check(lambda z: fnp.sum(z + z + z, axis=-1), nothing)
    check(lambda z: fnp.sum(z + z + z, axis=-1), nothing[:, :1])
    assert not kernels(lambda z: fnp.prod(z, axis=-1), (z,))
    check(lambda z: fnp.sum(z + 1, axis=-1), np.full((4, 9), complex(np.inf, -np.inf), dtype))


@DTYPES
def test_arrays_may_lie_anyhow(dtype):
    z, w = [tame(dtype, 6 * 35, seed).reshape(6, 35) for seed in (0, 1)]
    for first, second in itertools.product([*LAYOUTS, _barely_aligned], repeat=2):
        check(lambda z, w: z + w - z.conj(), first(z), second(w))
    check(lambda z, w: z - w[:, None] + z, z, w[:, 0])
    empty = np.zeros((0, 3), dtype)
    for f, given in (
        (lambda z: z * 2 + z, empty),
        (lambda z: fnp.sum(z * z), empty),
        (lambda z: z.T - z.T.conj() + 1, z),
    ):
        (found,), (expected,) = [run(f, (given,), mode)[0] for mode in ("eager", "off")]
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(bits(found), bits(expected))


def _barely_aligned(x):
    """Return an array that begins between two complex numbers, as is aligned for NumPy."""
    part = x.real.dtype
    around = np.zeros(2 * x.size + 34, part)
    start = (-around.ctypes.data // part.itemsize) % (2 * 64 // part.itemsize // 4) + 1
    found = around[start : start + 2 * x.size].view(x.dtype).reshape(x.shape)
    found[...] = x
    assert found.flags.aligned
    return found


def test_barely_aligned_arrays_are_between_numbers():
    assert _barely_aligned(tame(C8, 8)).ctypes.data % 8 == 4
    assert _barely_aligned(tame(C16, 8)).ctypes.data % 16 == 8


@DTYPES
def test_views(dtype):
    """Slices, reversed arrays, joins, rolls, reads at index arrays, counts."""
    z = tame(dtype, 40 * 35).reshape(40, 35)
    for f in (
        lambda z: z[1:] - z[:-1],
        lambda z: z[:, 2:] * z[:, :-2] - z[:, 1:-1],
        lambda z: z[:, ::-1] + z.conj(),
        lambda z: z[:, ::2] + z[:, 1::3][:, :1],
        lambda z: z[::2, ::3] + z[1::2, ::3] * 2,
        lambda z: fnp.pad(z, 1)[1:, 1:] * 2,
        lambda z: fnp.concatenate([z, z.conj()], axis=1) + 1,
        lambda z: fnp.roll(z, 1, axis=1) - z,
        lambda z: z[:, np.array([0, 3, 2, 5])] * 2 + z[:, :4],
        lambda z: z + fnp.arange(35, dtype=dtype),
        lambda z: (z * 2).at[1:3].add(z[:2]),
    ):
        (found,), (expected,) = [run(f, (z,), mode)[0] for mode in ("eager", "off")]
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(dtype).eps)
    for f in (lambda z: fg.grad(lambda z: fnp.sum(abs(z[1:] - z[:-1]) ** 2))(z),):
        (found,), (expected,) = [run(f, (z,), mode)[0] for mode in ("eager", "off")]
        error = 20 * np.finfo(dtype).eps * abs(expected).max()
        np.testing.assert_allclose(found, expected, atol=error)


@DTYPES
def test_large_sums_are_in_parts(dtype):
    z = tame(dtype, 3_000_017)
    (found,), (expected,) = [
        run(lambda z: fnp.sum(fnp.exp(1j * z.real) * z.conj()), (z,), mode)[0]
        for mode in ("eager", "off")
    ]
    assert abs(found - expected) <= 1e3 * np.finfo(dtype).eps * abs(expected) + 1e-2 * (dtype == C8)


@DTYPES
def test_scalars(dtype):
    f = lambda z: ((z * z + 1) / z - z.conj()) * 0.5 - 2j
    numbers = [dtype.type(0.5 - 2j), np.array(0.5 - 2j, dtype)]
    for z in [*numbers, 0.5 - 2j] if dtype == C16 else numbers:
        check(f, z, ulps=4)
    (found,), _ = run(f, (numbers[0],), "eager")
    assert type(found) is dtype.type
    check(lambda x: (x * x - 1j) * x - 2j, dtype.type(1).real, ulps=4)


@DTYPES
def test_gradients(dtype):
    z, w = tame(dtype, 300), tame(dtype, 300, 1)
    norm = fg.grad(lambda z, w: fnp.sum(fnp.abs(z * w + z) ** 2), argnums=(0, 1))
    holomorphic = fg.grad(lambda z, w: fnp.sum(z**3 * w + w / z), holomorphic=True)
    parts = fg.grad(lambda z, w: fnp.sum((z * w).real * z.imag))
    for f in (norm, holomorphic, parts):
        assert kernels(f, (z, w))
        exact = fg.tree.leaves(f(z.astype(C16), w.astype(C16)))
        for found, x in zip(run(f, (z, w), "eager")[0], exact, strict=True):
            assert found.dtype == dtype
            assert np.abs(found - x).max() <= 20 * np.finfo(dtype).eps * np.abs(x).max()
    _, pushed = fg.jvp(lambda z: z * z.conj() / 2, (z,), (w,))
    assert np.abs(pushed - (z.conj() * w).real).max() < 20 * np.finfo(dtype).eps * 10


@DTYPES
@in_mode("eager")
def test_loops(mode, dtype, made):
    """Routines have complex numbers too: carries, rows, updates, branches."""
    z = tame(dtype, 12)
    turn = dtype.type(np.exp(0.1j))
    check_loop(
        made, emitting(lambda c, w: (c * w, c.real - w.imag, c == w, -c)), z, z[::-1].copy(), ulps=4
    )
    check_loop(made, lambda z: fg.lax.fori_loop(0, 50, lambda i, y: y * turn, z), z, ulps=100)
    check_loop(
        made, lambda z: fg.lax.scan(lambda c, r: (c * turn + r, fnp.abs(c)), z[0], z), z, ulps=50
    )
    check_loop(
        made, lambda z: fg.lax.fori_loop(0, 9, lambda i, y: y.at[i].add(z[i] * turn), z), z, ulps=8
    )
    check_loop(made, emitting(lambda c, w: c.at[np.array([0, 3, 0])].add(w[:3])), z, z, ulps=8)
    check_loop(made, emitting(lambda c, w: c.at[np.array([0, 3, 0])].multiply(w[:3])), z, z, ulps=8)
    check_loop(made, emitting(lambda c, w: (fnp.sum(w, 0), fnp.sum(c), c[::-1], fnp.concatenate([c, c]))), z,
               tame(dtype, 60).reshape(5, 12), ulps=20)  # fmt: skip
    until = lambda z: fg.lax.while_loop(lambda c: fnp.abs(c) < 50, lambda c: c * c + 1, z)
    check_loop(made, until, dtype.type(0.5 + 0.5j), ulps=8)
    branch = lambda z: fg.lax.fori_loop(
        0, 6, lambda i, y: fg.lax.cond(i % 2 == 0, lambda y: y * turn, lambda y: y - 1j, y), z
    )
    check_loop(made, branch, z, ulps=8)


@DTYPES
@in_mode("eager")
def test_loops_that_fail_warn_as_numpy_does(mode, dtype):
    z = np.array([1, np.finfo(dtype).max], dtype)
    loop = lambda z: fg.lax.fori_loop(0, 3, lambda i, y: y * (2 + 0.5j), z)
    found, expected = [run(loop, (z,), mode) for mode in ("eager", "off")]
    assert found[1] == expected[1] != []
    np.testing.assert_array_equal(bits(found[0][0]), bits(expected[0][0]))


mpmath = optional("mpmath")
ELEMENTARY = ["cos", "cosh", "exp", "log", "sin", "sinh", "sqrt", "tan", "tanh"]
UNITS = {C8: 0.51, C16: 3}
LOSING = {"tan": 6, "tanh": 6}
"""How many units of the last place functions may be wrong by, in each part; the C library is by about as many."""


def arguments(name, dtype, n=150):
    rng = np.random.default_rng(11)
    angles = np.exp(1j * rng.uniform(-np.pi, np.pi, n))
    z = [
        rng.normal(size=n) + 1j * rng.normal(size=n),
        angles,
        angles * (1 + rng.normal(size=n) * 1e-5),
    ]
    z += [rng.uniform(-20, 20, n) + 1j * rng.uniform(-20, 20, n)]
    sizes = np.exp(rng.uniform(-30, 3, (2, n))) * rng.choice([-1, 1], (2, n))
    z += [sizes[0] + 1j * sizes[1], sizes[0] + 0j, 1j * sizes[1]]
    if name in ("log", "sqrt"):
        z += [z[-3] * 1e25, z[-3] * 1e-12]
    return np.concatenate(z).astype(dtype)


def units(found, exact, dtype):
    """Return the error of a part in units of the last place of the exact one."""
    info = np.finfo(dtype)
    place = info.minexp if exact == 0 else max(mpmath.mag(exact) - 1, info.minexp)
    return abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(2) ** (place - info.nmant)


@needs("mpmath")
@DTYPES
@pytest.mark.parametrize("name", ELEMENTARY)
@in_mode("eager")
def test_elementary_functions(mode, name, dtype, made):
    z = arguments(name, dtype)
    f = lambda z: (getattr(fnp, name)(z), -getattr(fnp, name)(z))
    assert kernels(f, (z,))
    (found, _), messages = run(f, (z,), "eager")
    assert made[-1].native is not None
    assert not made[-1].failures
    assert not messages
    bound = LOSING.get(name, UNITS[dtype]) if dtype == C16 else UNITS[dtype]
    with mpmath.workprec(220):
        for x, y in zip(z.tolist(), found.tolist(), strict=True):
            exact = getattr(mpmath, name)(mpmath.mpc(x))
            assert units(y.real, exact.real, dtype) <= bound, x
            assert units(y.imag, exact.imag, dtype) <= bound, x


def alone(f, numbers):
    """Check a function of each number by itself, so that no other has all computed again."""
    found = {}
    for mode in ("off", "eager"):
        token = compilation.set(mode)
        g = fg.jit(lambda z: (f(z), -f(z)))
        for z in numbers:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found[mode, z.tobytes()] = g(np.full(20, z)), {str(w.message) for w in caught}
        compilation.reset(token)
    for z in numbers:
        (x, messages), (y, theirs) = [found[mode, z.tobytes()] for mode in ("eager", "off")]
        assert messages == theirs
        close(x[0], y[0], 8)


@DTYPES
@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary_functions_of_special_numbers(name, dtype):
    """Zeros and their signs, infinities, NaN, large and small numbers: results and warnings are NumPy's."""
    f = getattr(fnp, name)
    numbers = special(dtype)
    check(f, numbers, ulps=8)
    alone(f, numbers)
    calm = np.array([0, 1, -1, 0.5, -0.0]).astype(numbers.real.dtype)
    calm = np.array([complex(x, y) for x in calm for y in calm if x or name != "log"], dtype)
    check(f, calm, ulps=8)
    zero = [part == 0 for part in (f(calm).real, f(calm).imag)]
    (found, *_), _ = run(lambda z: (f(z), -f(z)), (calm,), "eager")
    for where, a, b in zip(
        zero, (found.real, found.imag), (f(calm).real, f(calm).imag), strict=True
    ):
        np.testing.assert_array_equal(np.signbit(a[where]), np.signbit(b[where]))


@DTYPES
def test_gradients_of_elementary_functions(dtype):
    z = tame(dtype, 300)
    f = fg.grad(lambda z: fnp.sum(fnp.exp(1j * z) * fnp.sqrt(z + 3)).real)
    assert kernels(f, (z,))
    ((found,), _), exact = run(f, (z,), "eager"), f(z.astype(C16))
    assert found.dtype == dtype
    assert np.abs(found - exact).max() <= 30 * np.finfo(dtype).eps * np.abs(exact).max()
