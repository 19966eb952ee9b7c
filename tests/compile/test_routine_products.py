"""Products of matrices that are neither small nor large: routines of their own, on several threads."""

import itertools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit import llvm_threads
from fungrad.compile.emit.llvm_threads import PART
from fungrad.compile.emit.products import TERMS
from fungrad.compile.emit.written import routine_assembly
from fungrad.compile.kernels import products
from fungrad.compile.kernels.products import LARGEST, MEDIUM, MOST, SHORTEST, parts_of
from fungrad.compile.targets import host
from fungrad.core.config import compilation
from tests.compile.compiling import in_mode, needs_compiler, routines

pytestmark = needs_compiler

RNG = np.random.default_rng(11)
WAYS = {
    "a b": lambda a, b: a @ b,
    "a' b": lambda a, b: fnp.asarray(a).T @ b,
    "a b'": lambda a, b: a @ fnp.asarray(b).T,
    "a' b'": lambda a, b: fnp.asarray(a).T @ fnp.asarray(b).T,
}


def factors(way, m, k, n, dtype=float):
    a, b = RNG.normal(size=(m, k)), RNG.normal(size=(k, n))
    a, b = (a.T if "a'" in way else a), (b.T if "b'" in way else b)
    return np.ascontiguousarray(a, dtype), np.ascontiguousarray(b, dtype)


def check_product(way, a, b):
    """Each element is as exact as sums of so many terms are; Higham, Accuracy and Stability (2002), section 3.5."""
    f = WAYS[way]
    found = fg.jit(lambda a, b: f(a, b))(a, b)
    exact, sizes = (
        f(a.astype(float), b.astype(float)),
        f(abs(a).astype(float), abs(b).astype(float)),
    )
    terms = a.shape[0] if "a'" in way else a.shape[1]
    assert (found.dtype, found.shape) == (a.dtype, exact.shape)
    assert found.flags.c_contiguous
    assert found.flags.writeable
    unit = np.finfo(a.dtype).eps / 2
    bound = terms * unit * sizes + (terms * np.finfo(float).eps * sizes)
    assert (np.abs(found - exact) <= bound).all()
    return found


@in_mode("eager")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((64, 128, 512), "f4"),
        ((100, 100, 100), "f4"),
        ((333, 101, 77), "f4"),
        ((16, 300, 300), "f4"),
        ((300, 16, 300), "f4"),
        ((300, 300, 16), "f4"),
        ((64, 128, 512), "f8"),
        ((333, 101, 77), "f8"),
        ((16, 300, 300), "f8"),
    ],
)
def test_products(shape, way, dtype, mode, made):
    a, b = factors(way, *shape, dtype)
    assert len(routines(WAYS[way], (a, b))) == 1
    check_product(way, a, b)
    assert made[-1].native is not None
    assert not made[-1].failures


@in_mode("eager")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_of_any_sizes(way, dtype, mode, made):
    """Sums of small integers are exact, in any order."""
    for shape in ((61, 83, 67), (66, 300, 129), (17, 700, 33), (190, 16, 95), (54, 129, 64)):
        a, b = [np.rint(x) for x in factors(way, *shape, dtype)]
        assert len(routines(WAYS[way], (a, b))) == 1
        found = fg.jit(lambda a, b: WAYS[way](a, b))(a, b)
        np.testing.assert_array_equal(found, WAYS[way](a.astype(int), b.astype(int)))
    assert not any(tier.failures for tier in made)


@in_mode("eager")
def test_products_of_all_sizes_are_one_function(mode, monkeypatch):
    texts, machine_code = [], host.machine_code
    monkeypatch.setattr(host, "machine_code", lambda text: texts.append(text) or machine_code(text))
    host._product.cache_clear()
    for way, shape in itertools.product(WAYS, ((101, 67, 90), (90, 201, 67))):
        check_product(way, *factors(way, *shape, "f4"))
    long = [text for text in texts if text.count("\n") > 300]
    assert len(long) <= 1  # none, if it is kept on disk
    assert len(texts) > len(long)


@in_mode("eager")
@pytest.mark.parametrize(
    ("way", "m"),
    [*[("a b", m) for m in (510, 505, 520)], *itertools.product(WAYS, (512, 509))],
)
def test_the_number_of_threads_changes_nothing(way, m, mode, made, monkeypatch):
    a, b = factors(way, m, 280, 256, "f4")
    assert m * 280 * 256 >= 4 * PART
    found = []
    for threads in (1, 2, 3, 8):
        monkeypatch.setenv("FUNGRAD_NUM_THREADS", str(threads))
        found.append(check_product(way, a, b))
    assert not any(tier.failures for tier in made)
    for x in found:
        np.testing.assert_array_equal(x, found[0])


@in_mode("eager")
@pytest.mark.parametrize("read", [lambda a: a, lambda a: a[:, ::-1], lambda a: a[::-1]])
@pytest.mark.parametrize("way", WAYS)
def test_many_parts_on_several_threads(way, read, mode, made, monkeypatch):
    monkeypatch.setattr(products, "PART", 1 << 17)
    monkeypatch.setattr(llvm_threads, "PART", 1 << 17)
    monkeypatch.setenv("FUNGRAD_NUM_THREADS", "3")
    monkeypatch.setattr(products, "has_wide_registers", lambda: False)
    assert parts_of(131, 256, 90, 4, turned=True).number >= 8
    a, b = factors(way, 131, 90, 256, "f4")
    f = WAYS[way]
    found = fg.jit(lambda a, b: f(read(a), b))(a, b)
    a = read(a).astype(float)
    np.testing.assert_allclose(found, f(a, b.astype(float)), rtol=0, atol=2e-4)
    assert not made[-1].failures


def test_room_for_copies_is_for_each_thread_and_not_for_each_part():
    a, b = np.ones((64, 1024)), np.ones((1024, 1024))
    repeated = lambda a, b: fnp.broadcast_to(a[:, None], (64, 32, 1024)).reshape(2048, 1024) @ b
    (routine,) = fg.jit(repeated).lower(a, b).kernels

    def room(threads):
        share = lambda parts, copies: llvm_threads.share_of(routine, parts, threads, copies)
        written, found = routine_assembly(routine.steps, share)
        assert written.parts >= 16
        return found

    first = 2048 * 1024 * 8  # bytes of the first matrix, which each thread repeats
    assert (
        first < room(1) < 1.25 * first
    )  # strips of both take the rest: how wide depends on the registers
    assert room(2) <= 2 * room(1)


@in_mode("eager")
@pytest.mark.parametrize(
    "order", [np.asfortranarray, lambda x: x[::-1, ::-1], lambda x: np.repeat(x, 2, 1)[:, ::2]]
)
def test_arguments_in_any_order_of_memory(order, mode, made):
    a, b = factors("a b", 80, 90, 100)
    check_product("a b", order(a), order(b))
    assert not made[-1].failures


@in_mode("eager")
def test_what_no_number_is(mode, made):
    a, b = factors("a b", 80, 90, 100)
    a[3, 5], a[4, 6], b[5, 7] = np.nan, np.inf, 0.0
    with np.errstate(invalid="ignore"):
        expected = a @ b
    found = fg.jit(lambda a, b: a @ b)(a, b)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))


@in_mode("eager")
def test_in_programs(mode, made):
    w1, w2, x = [RNG.normal(size=s) / 10 for s in ((100, 96), (96, 80), (120, 100))]

    def loss(params, x):
        y = fnp.tanh(x @ params[0]) @ params[1]
        return fnp.sum(y * y)

    f = fg.grad(loss)
    found = fg.jit(f)((w1, w2), x)
    token = compilation.set("off")
    expected = fg.jit(lambda p, x: f(p, x))((w1, w2), x)
    compilation.reset(token)
    assert len(routines(f, ((w1, w2), x))) >= 4
    for g, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-11, atol=1e-12)
    assert made[0].native is not None
    assert not made[0].failures


@in_mode("eager")
def test_factors_that_lie_in_another_order_are_copied(mode, made):
    a, b = factors("a b", 90, 90, 90)

    def f(a, b):
        turned = fnp.tanh(a.T)  # lies as a.T does
        return turned @ b, b @ turned.T, turned[::-1] @ b

    found = fg.jit(f)(a, b)
    t = np.tanh(a.T)
    assert made[-1].native is not None
    assert not made[-1].failures
    for x, y in zip(found, (t @ b, b @ t.T, t[::-1] @ b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)
        assert x.flags.c_contiguous


def test_views_that_are_read_elsewhere_stay():
    a, b = factors("a' b", 90, 90, 90)
    f = fg.jit(lambda a, b: (a.T @ b, a.T + b))
    for x, y in zip(f(a, b), (a.T @ b, a.T + b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    assert routines(lambda a, b: (a.T @ b, a.T + b), (a, b))


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((SHORTEST - 1, 500, 500), "f8"),
        ((500, SHORTEST - 1, 500), "f8"),
        ((500, 500, SHORTEST - 1), "f8"),
        ((MOST // 10_000 + 1, 100, 100), "f4"),
        ((100, 100, MEDIUM // 10_000 + 20), "f8"),
        ((100, 100, 100), "i8"),
        ((100, 100, 100), "c16"),
    ],
)
def test_other_products_are_blas(shape, dtype):
    m, k, n = shape
    assert m * k * n > LARGEST
    assert not routines(WAYS["a b"], (np.zeros((m, k), dtype), np.zeros((k, n), dtype)))


@in_mode("eager")
def test_axes_are_joined(mode, made):
    x, y = RNG.normal(size=(20, 30, 40)), RNG.normal(size=(20, 30, 50))
    w = RNG.normal(size=(40, 60))
    ways = {
        "batches": lambda x, y, w: x @ w,
        "weights": lambda x, y, w: fnp.tensordot(x, y, ((0, 1), (0, 1))),
        "rows": lambda x, y, w: fnp.tensordot(x.transpose(2, 0, 1), y, ((1, 2), (0, 1))),
    }
    for f in ways.values():
        found, expected = fg.jit(f)(x, y, w), f(x, y, w)
        assert len(routines(f, (x, y, w))) == 1
        assert found.strides == expected.strides
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    assert not any(tier.failures for tier in made)
    crossed = lambda x, y: fnp.tensordot(x, y.transpose(1, 0, 2), ((0, 1), (1, 0)))
    assert not routines(lambda x, y: fnp.tensordot(x, y, ((1, 0), (0, 1))), (x[:, :20], y[:, :20]))
    np.testing.assert_allclose(fg.jit(crossed)(x, y), crossed(x, y), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("way", WAYS)
@in_mode("eager")
def test_parts_of_columns_and_of_rows(way, wide, mode, monkeypatch):
    """On processors with many wide registers, and on others; with parts of one length that are no multiples of a tile."""
    monkeypatch.setattr(products, "has_wide_registers", lambda: wide)
    shift = 2 * wide  # what has been compiled for the other tile is not to be found
    for shape in ((520 + shift, 260, 256), (256, 262 + shift, 512), (518 + shift, 300, 301)):
        a, b = factors(way, *shape, "f4")
        assert routines(WAYS[way], (a, b))
        check_product(way, a, b)


def test_what_is_copied_for_each_part_is_small(monkeypatch):
    monkeypatch.setattr(products, "has_wide_registers", lambda: True)
    assert parts_of(1024, 1024, 1024, 4, False) == (16, False, True)
    assert parts_of(1024, 1024, 256, 4, False) == (16, True, False)
    assert parts_of(2048, 64, 4096, 4, False) == (32, False, False)
    assert parts_of(2048, 512, 512, 4, True) == (32, False, True)
    assert parts_of(512, 2048, 512, 4, True) == (32, True, True)
    assert parts_of(1009, 1013, 1000, 4, False) == (15, False, True)
    assert parts_of(777, 777, 777, 4, False) == (12, False, True)
    assert parts_of(100, 100, 100, 4, False) == (1, True, False)


@in_mode("eager")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("dtype", "terms"),
    [
        *[("f4", n) for n in (TERMS, TERMS + 1, 3 * TERMS, 5 * TERMS + 77)],
        *[("f8", n) for n in (TERMS + 1, 5 * TERMS + 77)],
    ],
)
def test_long_sums_are_added_up_in_parts(way, dtype, terms, mode):
    a, b = factors(way, 37, terms, 29, dtype)
    found = fg.jit(WAYS[way])(a, b)
    exact = WAYS[way](a.astype("g"), b.astype("g"))
    size = np.linalg.norm(a.astype(float)) * np.linalg.norm(b.astype(float)) / 33
    assert routines(WAYS[way], (a, b))
    assert np.abs(found - exact).max() <= 2 * np.finfo(dtype).eps * size


@in_mode("eager")
def test_arguments_that_repeat_elements_are_no_reason_to_fall_back(mode, made):
    bias = np.broadcast_to(np.linspace(-1, 1, 6), (4, 6))

    def loop(x, bias, scale):
        return lax.scan(lambda c, s: (fnp.tanh(c * s + bias), c + bias), x, scale)

    x, scale = RNG.normal(size=(4, 6)), np.linspace(0.5, 1.0, 9)
    found = fg.jit(loop)(x, bias, scale)
    assert made[-1].native is not None
    assert not made[-1].failures
    token = compilation.set("off")
    expected = fg.jit(lambda *a: loop(*a))(x, bias, scale)
    compilation.reset(token)
    for y, z in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-14, atol=1e-15)
        assert y.strides == z.strides


@in_mode("eager")
@pytest.mark.parametrize("loop", [False, True])
def test_but_what_is_converted_of_them_lies_as_numpys(loop, mode, made):
    row = np.broadcast_to(np.linspace(-1, 1, 6, dtype=np.float32), (4, 6))

    def once(x):
        return x.astype(np.float64)

    def often(x):
        return lax.fori_loop(0, 3, lambda i, c: c * 0.5, x.astype(np.float64))

    f = often if loop else once
    found = fg.jit(lambda x: f(x))(row)
    token = compilation.set("off")
    expected = fg.jit(lambda x: f(x))(row)
    compilation.reset(token)
    np.testing.assert_array_equal(found, expected)
    assert found.strides == expected.strides


@in_mode("eager")
@pytest.mark.parametrize("shape", [(0, 0, 0), (3, 0, 2), (0, 3, 2), (3, 2, 0)], ids=str)
def test_products_over_empty_axes_are_numpys(mode, shape):
    m, k, n = shape
    a, b = np.ones((m, k)), np.ones((k, n))
    found = fg.jit(lambda a, b: a @ b * 2.0 + 1.0)(a, b)
    np.testing.assert_array_equal(found, a @ b * 2.0 + 1.0)
    assert fg.jit(lambda x: fnp.linalg.cholesky(x))(np.zeros((0, 0))).shape == (0, 0)


@in_mode("eager")
def test_what_is_made_of_products_of_transposed_matrices_is_in_kernels(mode, made):
    x, y, w = RNG.normal(size=(210, 170)), RNG.normal(size=(210, 180)), RNG.normal(size=(170, 180))

    def step(x, y, w, mean):
        mean = 0.9 * mean + 0.1 * (fnp.sort(x.T) @ y)
        return w - mean / (fnp.sqrt(mean * mean) + 1e-3), mean

    kernels = [*map(str, fg.jit(step).lower(x, y, w, w).kernels)]
    assert [text.startswith("{ routine") for text in kernels] == [True, False]
    found, expected = fg.jit(step)(x, y, w, w), step(x, y, w, w)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        assert a.strides == b.strides
    assert not any(tier.failures for tier in made)


AMID = {
    "a product": lambda x: x @ x,
    "of one row": lambda x: x[:1] @ x,
    "of one column": lambda x: x @ x[:, :1],
    "of vectors": lambda x: fnp.outer(x[0], x[1]),
    "a stack": lambda x: fnp.einsum("ij,ik->ijk", x, x),
    "of a stack": lambda x: fnp.stack([x, x + 1.0]) @ x,
    "of several axes": lambda x: fnp.tensordot(fnp.stack([x, x + 1.0]), x, 1),
}


@in_mode("eager")
@pytest.mark.parametrize("size", [6, 13])
@pytest.mark.parametrize("name", AMID)
def test_what_is_padded_on_all_sides(mode, name, size):
    x = RNG.normal(size=(size, size))
    for sides in (((1, 0), (0, 3)), ((2, 1), (2, 1)), ((0, 0), (1, 1))):

        def f(x, sides=sides):
            y = AMID[name](x)
            return fnp.pad(y, (*[(0, 0)] * (y.ndim - 2), *sides))

        assert routines(f, (x,))
        np.testing.assert_allclose(fg.jit(f)(x), f(x), rtol=1e-12, atol=1e-11)
