"""Loops on small arrays, which are one function of machine code each, against NumPy's functions."""

import re

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
import fungrad.scipy.linalg as fsl
from fungrad import lax
from fungrad.compile.emit.written import routine_assembly
from tests.compile.compiling import check, emitting, needs_compiler

pytestmark = needs_compiler

X = np.arange(24.0).reshape(4, 6)
A, B = np.arange(12.0).reshape(3, 4) - 5, np.arange(20.0).reshape(4, 5) - 8
TWICE = np.array([2, 0, 2, -1])
ROWS = np.array([[0, 3], [1, -3]])


def updating(body, steps=3):
    """Return a loop whose steps compute the next carry."""
    return lambda x, *rest: lax.fori_loop(0, steps, lambda i, c: body(c, *rest), x)


def parts(x):
    """Return what moves elements in all ways."""
    i, j = np.array([2, 0, 2, -1]), np.array([1, -1, 1, 0])
    moved = [x[1:3, ::2], x[::-1, 1], x.T.reshape(-1), fnp.roll(x, (1, 2), (0, 1)), x[i], x[i, j]]
    moved += [fnp.concatenate([x, x[:1]]), fnp.stack([x, x], axis=1), fnp.pad(x, 2)]
    moved += [x.at[i, j].set(x[0, 0]), x.at[1].set(x[2]), fnp.broadcast_to(x[:, :1], (4, 9))]
    if x.dtype.kind != "f":  # of which NumPy warns, if they are NaN
        moved += [x.at[i].min(x[::-1]), x.at[i].max(x[::-1])]
    return [*moved, lax.dynamic_slice(x, (1, 9), (2, 2))]


EMITTING = {
    "slices": lambda x: (x[1:3, 2:], x[::2, 1::3], x[1], x[:, 2], x[3, 4], x[1:2]),
    "slices of slices": lambda x: x[1:, ::2][:, 1:][::2],
    "reversed": lambda x: (x[::-1], x[:, ::-1], x[::-1, ::-2], fnp.flip(x)),
    "permuted": lambda x: (x.T, fnp.transpose(x.reshape(2, 2, 6), (2, 0, 1)), x.T[::-1]),
    "reshaped": lambda x: (x.reshape(3, 8), x.T.reshape(8, 3), x.T.reshape(-1), x.reshape(2, 2, 6)),
    "reshaped slices": lambda x: (x[:, ::2].reshape(2, 6), x[::-1].reshape(-1), x[:, 1:2].reshape(4)),
    "broadcast": lambda x: (fnp.broadcast_to(x[:, 1:2], (4, 3)), fnp.broadcast_to(x, (2, 4, 6))),
    "broadcast and moved": lambda x: fnp.broadcast_to(x[:, None], (4, 3, 6))[::-1, 1:].reshape(8, 6),
    "axes of length 1": lambda x: (x[None], x[:, None, :, None], x[None, 1:2].squeeze()),
    "concatenated": lambda x: (fnp.concatenate([x[::-1], x, x[:1]]), fnp.concatenate([x.T, x.T[:, ::2]], 1)),
    "stacked": lambda x: [fnp.stack([x, x[::-1], x], axis=k) for k in (0, 1, 2)],
    "stacked scalars": lambda x: fnp.stack([x[0, 0], x[1, 1], x[3, 5]]),
    "rolled": lambda x: [fnp.roll(x, n, 0) for n in (0, 1, -1, 4, 9)],
    "rolled as one": lambda x: (fnp.roll(x, 5), fnp.roll(x.T, -7)),
    "rolled along two axes": lambda x: [fnp.roll(x, n, (0, 1)) for n in ((1, 2), (0, -1), (4, 6))],
    "padded": lambda x: (lax.pad(x, 7.0, ((1, 2, 0), (0, 0, 1))), fnp.pad(x, ((0, 1), (2, 0)))),
    "cropped": lambda x: (lax.pad(x, 7.0, ((-1, -1, 0), (-2, 3, 0))), lax.pad(x, 7.0, ((2, -3, 0),) * 2)),
    "padded within": lambda x: [lax.pad(x, 7.0, w) for w in (((1, -2, 2), (-2, 1, 1)), ((-1, -4, 1), (-4, 0, 2)))],
    "padded by itself": lambda x: lax.pad(x, x[1, 1], ((0, 1, 0), (-1, 0, 0))),
    "nothing left inside": lambda x: lax.pad(x, 7.0, ((-4, 2, 0), (0, 0, 0))),
    "gathered": lambda x, i, j: (x[i], x[:, i], x[i, i], x[j], x[j, j[::-1]], x.T[i], x[::-1, ::2][j]),
    "gathered elements": lambda x, i, j: (x[i[0], i[3]], x.reshape(-1)[j], fnp.take(x, j, axis=1)),
    "repeated": lambda x: (fnp.tile(x, (2, 1)), fnp.repeat(x, 2, axis=0)),
    "triangles": lambda x: (fnp.tril(x), fnp.triu(x, 1), fnp.diagonal(x)),
    "updated": lambda x: (x.at[1:3].set(0), x.at[::2, 1].add(x[1::2, 0]), x.at[1, 2].set(5)),
    "updated by its own elements": lambda x: (x.at[1:].set(x[:-1]), x.at[:-1].add(x[1:]), x.at[0].set(x[1, 0])),
    "scattered": lambda x, i, j: (x.at[i].set(x[::-1]), x.at[:, i].set(3.0), x.at[i, i].set(x[:, 0])),
    "scattered sums": lambda x, i, j: (x.at[i].add(x), x.at[j].add(1), x.at[i, i].add(x[0, :4])),
    "scattered products": lambda x, i, j: (x.at[i].multiply(2), x.at[j, 1].multiply(x[j, 0])),
    "results that are scalars": lambda x: (x[1, 2], fnp.sum(x), x.reshape(-1)[3]),
    "all ways": parts,
    "sums": lambda x: [fnp.sum(x, axis=a) for a in (0, 1, None, (0, 1))],
    "sums of three axes": lambda x: [fnp.sum(x.reshape(2, 2, 6), axis=a) for a in (0, 1, 2, (0, 1), (0, 2), (1, 2))],
    "sums of what is not in order": lambda x: (fnp.sum(x.T, 0), fnp.sum(x[:, ::-2], 0), fnp.sum(x[::2].T, 1)),
    "products": lambda x: [fnp.prod(x[:2, :5] - 2, axis=a) for a in (0, 1, None)],
    "extremes": lambda x: [f(-((x - 9) ** 2), axis=a) for f in (fnp.max, fnp.min) for a in (0, 1, None)],
    "any and all": lambda x: [f(x > 11, axis=a, keepdims=True) for f in (fnp.any, fnp.all) for a in (0, 1, None)],
    "elementwise": lambda x: fnp.where(x > 9, x * 2, 1 - x) + fnp.maximum(x[::-1], x[:, :1]),
    "counting": lambda x: x + fnp.arange(6.0) + fnp.arange(4.0)[:, None],
    "nothing": lambda x: (),
    "one result twice": lambda x: (x * 2, x * 2, x),
    "a constant result": lambda x, i, j: (i, j, np.arange(3.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", EMITTING)
def test_steps_that_are_exact(made, name):
    body = EMITTING[name]
    more = (TWICE, ROWS) if body.__code__.co_argcount == 3 else ()
    check(made, emitting(body), X, *more)


DTYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "?")


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_moved_elements(made, dtype):
    check(made, emitting(parts), (X % 7 % 2 if dtype == "?" else X).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES[:-1])
def test_dtypes_of_numbers(made, dtype):
    def step(x):
        found = [f(x, axis=a) for f in (fnp.max, fnp.min) for a in (0, 1, None)]
        found += [lax.reduce_sum(x, axes) for axes in ((0,), (1,), (0, 1))]
        found += [x.at[TWICE].add(x), x.at[TWICE].multiply(x), x @ x.T, x.T @ x, x * x - x]
        return found

    check(made, emitting(step), (X % 5).astype(dtype))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
def test_reductions_of_booleans(made, name):
    """Two that are true are true, in a sum, too: of rows with none, one, some and all."""
    x = np.array([[1, 1, 0, 1, 0, 1], [0] * 6, [1] * 6, [0, 0, 1, 0, 0, 0]], bool)
    how = {"dtype": bool} if name in ("sum", "prod") else {}
    check(made, emitting(lambda x: [getattr(fnp, name)(x, a, **how) for a in (0, 1, None)]), x)


def test_extremes_of_integers(made):
    i, j = np.array([2, 0, 2, -1]), np.array([[1, -1], [1, 0]])
    body = lambda x, i, j: (x.at[i].min(x[::-1]), x.at[j].max(9), x.at[i, j[0, 0]].max(x[0, 0]))
    check(made, emitting(body), X.astype(int), i, j)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8"])
def test_dtypes_of_indices(made, dtype):
    n = np.array([0, 3, 2, 1], dtype)
    check(
        made, emitting(lambda x, n: (x[n], x.at[n].add(x), x[n[1]], x.at[n[1], n[2]].set(0))), X, n
    )


# Slices at places that are computed

STARTS = np.array([[0, 0], [1, 2], [-1, -2], [3, 5], [7, 99], [-5, -50], [-2, 4]])
LARGE = np.array([[2**64 - 1, 3], [2**63, 0], [1, 2**63 + 5]], "u8")


@pytest.mark.parametrize(
    "starts",
    [STARTS, STARTS.astype("i1"), abs(STARTS).astype("u2"), LARGE],
    ids=lambda a: a.dtype.name,
)
def test_places_that_are_computed(made, starts):
    def step(c, start):
        i, j = start
        part = lax.dynamic_slice(c, (i, j), (2, 3))
        c = lax.dynamic_update_slice(c, part[::-1] * 2, (j, i))
        row = lax.dynamic_index_in_dim(c, i, 0, keepdims=False)
        return lax.dynamic_update_index_in_dim(c, row[::-1] + 1, j, 0), (part, row)

    check(made, lambda x, starts: lax.scan(step, x, starts), X, starts)


def test_elements_at_a_counter(made):
    def step(i, c):
        c = c.at[i].set(c[3 - i] + c[i, 2]).at[i, i + 1].add(c[-1, i])
        return c.at[:, i].multiply(2)

    check(made, lambda x: lax.fori_loop(0, 4, step, x), X)


def test_a_dynamic_update_of_its_own_elements(made):
    def step(c, i):
        c = lax.dynamic_update_slice(c, c[:3], (i, 0))
        return lax.dynamic_update_slice(c, lax.dynamic_slice(c, (i, 1), (2, 4)), (0, i)), ()

    check(made, lambda x, i: lax.scan(step, x, i), X, np.array([1, 0, 2, 1]))


# Products

LENGTHS = (1, 2, 3, 5, 8, 17, 33)


def matrix(rows, columns, dtype="f8"):
    return (np.arange(rows * columns) % 7 - 3).reshape(rows, columns).astype(dtype)


def product(a, b):
    """Return a loop of products in all layouts, of numbers that are small integers."""

    def step(c, _):
        x, y = a + c, b - c
        # A @ B with either one laid out as rows or as columns, and of what is not in order
        layouts = [x @ y, fnp.copy(x.T).T @ y, x @ fnp.copy(y.T).T, x[::-1] @ y[:, ::-1]]
        layouts += [y.T @ x.T, x @ x.T, x.T @ x, y.T @ y]
        vectors = [x @ y[:, 0], x[0] @ y, x[0] @ y[:, -1], fnp.outer(x[:, 0], y[0]), y.T @ x[0]]
        return c + 1, (layouts, vectors)

    return lax.scan(step, a[0, 0] * 0, length=2)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(
    ("dtype", "shapes"),
    [("f8", "nkm mnk kmn"), ("f4", "mnk"), ("i2", "kmn")],
    ids=["f8", "f4", "i2"],
)
def test_products(made, n, dtype, shapes):
    """Each length as that of rows, of columns and of what is summed over, in every dtype."""
    others = {"m": LENGTHS[LENGTHS.index(n) - 1], "k": LENGTHS[LENGTHS.index(n) - 3], "n": n}
    for shape in [[others[x] for x in text] for text in shapes.split()]:
        check(made, product, matrix(*shape[:2], dtype), matrix(*shape[1:], dtype))


@pytest.mark.parametrize("n", LENGTHS)
def test_square_products_of_any_numbers(made, n, rng):
    a = rng.normal(size=(n, n)) / n
    check(made, updating(lambda c, a: c @ a + a.T @ c - a), a, a[::-1], ulps=32)


EINSUMS = ("bij,bjk->bik", "bij,bkj->ikb", "ijb,jkb->bik", "ijk,jkl->il", "ijk,kjl->li", "ijk,ijk->",
           "ijk,lkj->il", "ij,kl->ijkl", "bi,bi->b", "bij,bj->bi", "abij,abjk->abik", "bij,bij->ib")  # fmt: skip


@pytest.mark.parametrize("text", EINSUMS)
def test_contractions(made, text):
    sizes = dict(zip("abijkl", (2, 3, 4, 5, 6, 2), strict=True))
    first, second = text.split("->")[0].split(",")
    x, y = [
        matrix(1, int(np.prod(s))).reshape(s)
        for t in (first, second)
        for s in [[sizes[a] for a in t]]
    ]
    check(made, emitting(lambda c, y: fnp.einsum(text, c, y)), x, y)


# Linear systems


def system(a, b):
    """Return a loop of all that is solved, of matrices that are not singular."""

    def step(c, _):
        m, eye = a + c, fnp.eye(a.shape[-1], dtype=a.dtype)
        sign, log = fnp.linalg.slogdet(m)
        found = (fnp.linalg.solve(m, b), fnp.linalg.inv(m), fnp.linalg.det(m), sign, log)
        square = fnp.swapaxes(m, -1, -2) @ m + eye
        return c / 2, (found, fnp.linalg.cholesky(square))

    return lax.scan(step, a.dtype.type(0.25), length=2)


SYSTEMS = [("f8", 2), ("f4", 9), ("f8", 1)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 16])
@pytest.mark.parametrize("stack", [(), (3,), (2, 2)], ids=str)
def test_systems(made, rng, n, stack):
    """Each size with each dtype and number of columns, and with each stack of one of these: all pairs."""
    chosen = SYSTEMS if stack == () else [SYSTEMS[(n + len(stack)) % 3]]
    for dtype, columns in chosen:
        a = rng.normal(size=(*stack, n, n)) / 4 + 2 * np.eye(n)[rng.permutation(n)]
        b = rng.normal(size=(*stack, n, columns))
        check(made, system, a.astype(dtype), b.astype(dtype), ulps=64 * n)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("trans", [0, 1])
def test_triangular_systems(made, rng, lower, unit, trans):
    a, b = rng.normal(size=(5, 5)) / 4 + 2 * np.eye(5), rng.normal(size=(5, 3))
    solve = lambda c, a: fsl.solve_triangular(a, c, lower=lower, unit_diagonal=unit, trans=trans)
    check(made, updating(solve), b[:, 0], a, ulps=64)
    check(made, emitting(solve), b, a, ulps=64)  # of which SciPy gives columns one after the other


def test_vectors_that_are_solved_for(made, rng):
    a = rng.normal(size=(4, 4)) + 4 * np.eye(4)
    check(made, updating(lambda c, a: fnp.linalg.solve(a, c) + c[::-1]), a[0], a, ulps=64)


def test_determinants_of_permutations(made):
    stack = np.stack(
        [
            np.eye(4)[list(p)]
            for p in ([0, 1, 2, 3], [1, 0, 2, 3], [1, 2, 0, 3], [3, 2, 1, 0], [1, 2, 3, 0])
        ]
    )
    check(
        made,
        emitting(lambda c, s: (fnp.linalg.det(s * c), fnp.linalg.slogdet(-s * c)[0])),
        1.0,
        stack,
        ulps=4,
    )


# Programs


def newton(a):
    return lax.while_loop(lambda x: abs(x * x - a) > 1e-9, lambda x: (x + a / x) / 2, a)


def rows_of_newton(a):
    return lax.scan(lambda c, x: (c + newton(x), newton(x + c)), 1.0, a)


def scan_in_while(x):
    inner = lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c[::-1]), x[0], x)[1] / 3
    return lax.while_loop(lambda x: fnp.max(x) > 0.5, inner, x)


def choosing(x):
    def step(c, i):
        c = lax.cond((i & 1) == 0, lambda c: c * 2, lambda c: c[::-1] - i.astype(c.dtype), c)
        chosen = [lambda c: c, lambda c: c + c[0], lambda c: fnp.roll(c, 1) * 3]
        return lax.switch(i - 1, chosen, c), lax.cond(c[0] > c[1], lambda: c.T, lambda: -c)

    return lax.scan(step, x, fnp.arange(5))


def swapped(x, y):
    return lax.fori_loop(0, 5, lambda i, c: (c[1], c[0], c[0][::-1], c[3]), (x, y, x + y, x))


def collatz(n):
    odd = lambda n: (n & 1) == 1
    step = lambda c: (fnp.where(odd(c[0]), 3 * c[0] + 1, c[0] >> 1), c[1] + 1)
    return lax.while_loop(lambda c: c[0] != 1, step, (n, 0))


def kalman(m, p, f, q, h, r, ys):
    def step(carry, y):
        m, p = f @ carry[0], f @ carry[1] @ f.T + q
        s = h @ p @ h.T + r
        k = fnp.linalg.solve(s, h @ p).T
        e = y - h @ m
        return (m + k @ e, p - k @ s @ k.T), e @ fnp.linalg.solve(s, e) + fnp.linalg.slogdet(s)[1]

    return lax.scan(step, (m, p), ys)


def recurrence(w, xs):
    def step(c, x):
        c = fnp.tanh(w @ c + x)
        return c, c[::-1]

    return lax.scan(step, xs[0], xs)


def loss(w, xs):
    last, rows = recurrence(w, xs)
    return fnp.sum(last * last) + fnp.sum(fnp.sin(rows))


V, W = np.linspace(-1, 1, 5), (np.arange(25.0).reshape(5, 5) % 4 - 2) / 8
XS = np.cos(np.arange(35.0)).reshape(7, 5)
FILTER = (V, np.eye(5), W + np.eye(5), np.eye(5), W[:2] + 1, np.eye(2), XS[:, :2])
PROGRAMS = {
    "scalars": (newton, 2.0),
    "while in scan": (rows_of_newton, np.arange(1.0, 6)),
    "scan in while": (scan_in_while, XS + 2),
    "choices": (choosing, V),
    "carries that are swapped": (swapped, V, V * 2),
    "a carry that is a view of itself": (updating(lambda c: c[::-1]), V),
    "a carry that is transposed": (lambda x: fnp.sum(updating(lambda c: c.T)(x), 0), W + np.arange(5)),
    "a part of it": (updating(lambda c: fnp.broadcast_to(c[1:2, ::-1], c.shape)), W),
    "a carry that never changes": (lambda x: lax.scan(lambda c, r: (c, r + c), x[0], x), XS),
    "no carry": (lambda x: lax.scan(lambda c, r: (None, fnp.roll(r, 1) @ x), None, x[:5]), W),
    "no rows": (lambda x: lax.scan(lambda c, _: (c @ x, None), x, length=4), W),
    "last row first": (lambda x: lax.scan(lambda c, r: (c[::-1] * r, c - r), x[0], x, reverse=True), XS),
    "one step": (lambda x: lax.scan(lambda c, r: (c * r, c[::-1]), x[0], x), XS[:1]),
    "a condition that never holds": (lambda x: lax.while_loop(lambda c: c[0] > 9, lambda c: c + 1, x), V),
    "integers": (collatz, 27),
    "a number of steps": (lambda n, x: lax.fori_loop(0, n, lambda i, c: c * 0.5 + c[i], x), 4, V),
    "results that are inputs": (lambda x: (lax.fori_loop(0, 3, lambda i, c: c[::-1], x), x), V),
    "trees": (lambda x: lax.scan(lambda c, r: ({"a": c["b"][0], "b": (c["b"][1] + r, c["a"])}, None), {"a": x[0], "b": (x[1], x[2])}, x)[0], XS),
    "each row": (lambda x: lax.map(lambda r: fnp.roll(r, 1) * fnp.sum(r), x), XS),
    "compiled within": (lambda x: lax.scan(lambda c, r: (fg.jit(fnp.flip)(c) + r, c), x[0], x), XS),
    "two loops": (lambda x: recurrence(W, recurrence(W, x)[1] * 2), XS),
    "elements that change places": (updating(lambda c, x: (lambda a, b: c.at[0].set(b).at[1].set(a + x[0]))(c[0], c[1])), V, XS[0]),
    "indices from the end": (lambda x: lax.fori_loop(-3, 0, lambda i, c: c.at[i].set(c[i + 1]), x), V),
    "no such branch": (lambda x, k: lax.fori_loop(0, 9, lambda i, c: lax.switch(i + k, [lambda c: c + 1, lambda c: c[::-1]], c), x), V, -4),
    "one result twice": (lambda x: (updating(lambda c: c[::-1])(x),) * 2, V),
    "a filter": (kalman, *FILTER),
    "gradient of a filter": (fg.grad(lambda *a: fnp.sum(kalman(*a)[1]), (0, 2, 3)), *FILTER),
    "recurrence": (recurrence, W, XS),
    "gradient": (fg.value_and_grad(loss, (0, 1)), W, XS),
    "vmap": (fg.vmap(recurrence, (None, 0)), W, np.stack([XS, XS[::-1], XS * 2])),
    "vmap of gradients": (fg.vmap(fg.grad(loss), (None, 0)), W, np.stack([XS, XS[::-1]])),
    "jvp": (lambda w, x: fg.jvp(recurrence, (w, x), (x[:5], x)), W, XS),
    "hessian": (fg.hessian(lambda v: loss(W + fnp.outer(v, v), XS[:3])), V),
    "gradient of loops in loops": (fg.grad(lambda x: fnp.sum(updating(lambda c: c + fnp.sin(recurrence(W, c * 0.5)[1]))(x))), XS),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(made, name):
    function, *args = PROGRAMS[name]
    check(made, function, *args, ulps=64)


@pytest.mark.parametrize("name", ["recurrence", "gradient", "a filter", "choices", "vmap", "jvp"])
def test_programs_of_single_precision(made, name):
    function, *args = PROGRAMS[name]
    check(made, function, *fg.tree.map(lambda x: np.asarray(x, "f4"), args), ulps=64)


CONSTANTS = {
    "f8": [np.nan, np.inf, -np.inf, -0.0, 5e-324], "f4": [np.nan, -np.inf, -0.0, 1e-45, 0.1],
    "?": [True, False, True, True, False], "i1": [-128, 127, 0, 1, -1],
    "i8": [-(2**63), 2**63 - 1, 0, 1, 2], "u8": [2**64 - 1, 0, 1, 2**63, 5],
}  # fmt: skip


@pytest.mark.parametrize("dtype", CONSTANTS)
def test_constants(made, dtype):
    x = np.array(CONSTANTS[dtype], dtype)
    check(made, emitting(lambda c: (x, fnp.where(c > 5, x, x[::-1]), x[3], x[:, None] == x)), V)


def test_not_a_number(made):
    x = np.where(X % 5 == 3, np.nan, np.where(X % 7 == 1, np.inf, X))
    extremes = [lambda x, f=f, a=a: f(x, axis=a) for f in (fnp.max, fnp.min) for a in (0, 1, None)]
    body = lambda x, i: ([f(x) for f in extremes], x.at[i].set(x[::-1]), fnp.maximum(x, x[::-1]))
    check(made, emitting(body), x, TWICE)
    check(
        made, emitting(lambda x, i: (x @ abs(x.T), fnp.sum(x, 0), fnp.maximum(x, 3))), abs(x), TWICE
    )


@pytest.mark.parametrize("n", [1023, 1024, 1030, 5000])
def test_carries_that_are_overwritten(made, n):
    """From some kilobytes on, a kernel writes the next carry over the last one; rows end within a vector."""

    def step(i, state):
        x, y, z = state
        return y * 0.5 + i, x - y * 0.25, fnp.cumsum(z) / n + x

    x = np.linspace(0, 1, n, dtype="f4")
    check(made, lambda x: lax.fori_loop(0, 7, step, (x, x + 1, x)), x, ulps=8)


def test_carries_that_change_places(made):
    def step(i, state):
        x, y = state
        return y * 2, x * 0.5 + 1

    x = np.linspace(0, 1, 3001, dtype="f4")
    check(made, lambda x: lax.fori_loop(0, 5, step, (x, x + 1)), x, ulps=4)


def test_what_a_loop_overwrites_is_read_after_it(made):
    def f(x):
        y = x * 2
        z = lax.fori_loop(0, 5, lambda i, z: z * 0.5 + x, y)
        (w, _), rows = lax.scan(lambda c, _: ((c[0] * 0.5, c[1] + 1), c[0]), (z, x), length=3)
        return y, z, w, rows

    check(made, f, np.linspace(0, 1, 3001, dtype="f4"), ulps=4)


def test_small_carries_are_not_in_what_is_returned_until_a_loop_has_ended():
    """Other calls might look there: so LLVM would store and load them in each step."""
    newton = lambda x: lax.fori_loop(0, 100, lambda i, y: 0.5 * (y + x / y), x)
    (kernel,) = fg.jit(newton).lower(np.float32(2)).kernels
    text = routine_assembly(kernel.steps)[0].text
    (place,) = re.findall(r"(%\w+) = getelementptr ptr, ptr %outputs, i64 0\n", text)
    (output,) = re.findall(rf"(%\w+) = load ptr, ptr {place}\n", text)
    (read,) = re.finditer(rf"getelementptr float, ptr {output}, i64 0\n", text)
    assert read.start() > text.rindex("\nexit")
