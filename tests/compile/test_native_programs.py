"""Whole functions with kernels against the same functions without."""

import threading

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
import fungrad.scipy.special as fsp
from fungrad.compile import native
from fungrad.compile.targets import host_kernels
from fungrad.core.config import compilation
from fungrad.core.types import type_of
from tests.compile.compiling import compare, needs_compiler, run
from tests.compile.random_functions import random_function

pytestmark = needs_compiler

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 40)), RNG.normal(size=(6, 40))
W, B = RNG.normal(size=(40, 10)) / 6, RNG.normal(size=10)
LABELS, BITS = RNG.integers(0, 10, 6), RNG.integers(0, 1000, (6, 40))
V = RNG.normal(size=200)


def softmax(x):
    e = fnp.exp(x - fnp.max(x, axis=-1, keepdims=True))
    return e / fnp.sum(e, axis=-1, keepdims=True)


def cross_entropy(w, b, x, labels):
    logits = x @ w + b
    shifted = logits - fnp.max(logits, axis=-1, keepdims=True)
    logs = shifted - fnp.log(fnp.sum(fnp.exp(shifted), axis=-1, keepdims=True))
    return -fnp.mean(logs[fnp.arange(len(labels)), labels])


def adam(params, gradients, m, v, t):
    def step(p, g, m, v):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        change = (m / (1 - 0.9**t)) / (fnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return p - 0.01 * change, m, v

    return fg.tree.map(lambda *a: step(*a), params, gradients, m, v)


def likelihood(mean, log_scale, x):
    z = (x - mean) * fnp.exp(-log_scale)
    return -0.5 * fnp.sum(z * z) - x.size * (log_scale + 0.9189385332046727)


def mandelbrot(a, b):
    x, y, count = fnp.zeros_like(a), fnp.zeros_like(b), fnp.zeros(a.shape, int)
    for _ in range(12):
        inside = x * x + y * y < 4
        x, y = fnp.where(inside, x * x - y * y + a, x), fnp.where(inside, 2 * x * y + b, y)
        count = count + inside
    return count, fnp.abs(x)


def distances(x, centers):
    d = fnp.sum((x[:, None, :] - centers[None, :, :]) ** 2, axis=-1)
    return d, fnp.argmin(d, axis=1), fnp.min(d, axis=1)


def layer_norm(x, scale, shift):
    mean = fnp.mean(x, axis=-1, keepdims=True)
    var = fnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / fnp.sqrt(var + 1e-5) * scale + shift


def network(w, b, x):
    return softmax(fnp.tanh(x @ w + b))


def recurrence(x):
    def step(c, row):
        c = fnp.tanh(c * 0.5 + row) + c * row
        return c, c * c - row

    return fg.lax.scan(step, x[0], x)


def until_small(x):
    return fg.lax.while_loop(
        lambda a: fnp.max(fnp.abs(a)) > 0.1, lambda a: a * 0.7 - a * a * 0.01, x
    )


def branches(x):
    return fg.lax.cond(x[0] > 0, lambda a: a * 2 + a * a, lambda a: fnp.sin(a) * 3 - a, x)


def rosenbrock(x):
    return fnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def huber(x, y):
    d = x - y
    return fnp.mean(fnp.where(fnp.abs(d) < 1, 0.5 * d * d, fnp.abs(d) - 0.5))


def hashed(n):
    n = (n ^ (n >> 7)) * 0x45D9F3B
    n = (n ^ (n << 9)) & 0xFFFFFF
    return n % 17 + (n // 3) * 2, n ^ ~n, fnp.maximum(n, n[::-1])


def game(cells):
    around = sum(fnp.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - cells
    return ((around == 3) | ((cells == 1) & (around == 2))).astype(cells.dtype)


def heat(u):
    for _ in range(3):
        u = u.at[1:-1].add(0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]))
    return u


def hvp(f):
    return lambda x: fg.jvp(fg.grad(f), (x,), (fnp.cos(x),))[1]


FUNCTIONS = {
    "softmax": (softmax, X),
    "cross entropy": (cross_entropy, W, B, X, LABELS),
    "gradient of cross entropy": (fg.value_and_grad(cross_entropy, (0, 1)), W, B, X, LABELS),
    "Adam": (adam, *[{"w": W + i, "b": [B + i]} for i in range(1, 5)], 3.0),
    "likelihood": (likelihood, 0.5, 1.0, V),
    "gradient of likelihood": (fg.grad(likelihood, (0, 1, 2)), 0.5, 1.0, V),
    "Mandelbrot": (mandelbrot, *np.meshgrid(np.linspace(-2, 1, 21), np.linspace(-1, 1, 17))),
    "distances": (distances, X.T, Y.T[:5]),
    "gradient of distances": (fg.grad(lambda x, c: fnp.sum(distances(x, c)[2])), X.T, Y.T[:5]),
    "layer norm": (layer_norm, X, V[:40], V[40:80]),
    "gradient of layer norm": (
        fg.grad(lambda *a: fnp.sum(layer_norm(*a) ** 3), (0, 1, 2)), X, V[:40], V[40:80]
    ),
    "network": (network, W, B, X),
    "Jacobian of a network": (fg.jacrev(network, 1), W, B, X),
    "scan": (recurrence, X),
    "gradient of scan": (fg.grad(lambda x: fnp.sum(recurrence(x)[1])), X),
    "while": (until_small, X),
    "forward through while": (lambda x: fg.jvp(until_small, (x,), (x * x,)), X),
    "cond": (branches, V),
    "other branch": (branches, -V),
    "gradient of cond": (fg.grad(lambda x: fnp.sum(branches(x))), V),
    "Rosenbrock": (fg.value_and_grad(rosenbrock), V),
    "Hessian": (fg.hessian(rosenbrock), V[:9]),
    "Hessian-vector product": (hvp(rosenbrock), V),
    "vmap of Hessian-vector products": (fg.vmap(hvp(rosenbrock)), X),
    "Huber": (fg.value_and_grad(huber, (0, 1)), X, Y),
    "vmap of gradients": (fg.vmap(fg.grad(huber)), X, Y),
    "vmap of softmax": (fg.vmap(softmax, 1, 1), X),
    "variance": (lambda x: (fnp.var(x), fnp.std(x, axis=0), fnp.var(x, axis=1, ddof=1)), X),
    "logsumexp": (fg.value_and_grad(lambda x: fnp.sum(fsp.logsumexp(x, axis=1))), X),
    "special": (lambda x: fsp.erf(x) * 2 - fsp.erfc(x) + fsp.gammaln(x * x + 0.5), X),
    "sigmoid": (lambda x: (fsp.expit(x) * 2 + 1 - x, fsp.log_expit(x), fsp.xlogy(x, x * x + 1)), X),
    "polynomial": (lambda x: fnp.polyval(V[:12] / 9, x), X),
    "standardized": (lambda x: (x - fnp.mean(x)) / fnp.std(x), V),
    "clipped": (lambda x: fnp.clip(x * 3, -1, 1) * fnp.sign(x) + fnp.floor(x), V),
    "powers": (lambda x: x**2 + x**3 - abs(x) ** 0.5 + 2.0 ** (x / 3), V),
    "geometry": (lambda x, y: (fnp.hypot(x, y), fnp.arctan2(y, x), fnp.cos(x) * fnp.sin(y)), X, Y),
    "norm": (lambda x: x / fnp.linalg.norm(x, axis=-1, keepdims=True), X),
    "covariance": (lambda x: (x - fnp.mean(x, 1)[:, None]) @ (x * 2 + 1).T / 40, X),
    "heat": (heat, V),
    "gradient of heat": (fg.grad(lambda u: fnp.sum(heat(u) ** 2)), V),
    "scalars": (lambda x, y: fnp.exp(-x * y) * x + y / (x + 3) - x * 2, 0.3, 1.7),
    "complex": (lambda x, y: (fnp.abs(x + 1j * y) * 2 + 1, (x * 2 + 1) * 1j), X, Y),
    "transposed": (lambda x: (x.T * 2 + 1, (x * 2 + 1).T, fnp.swapaxes(x, 0, 1)), X),
    "precisions": (lambda x: (x * 2 + 1).astype("f4").astype("f8") * x, X),
}  # fmt: skip
EXACT = {
    "hash": (hashed, BITS),
    "small hash": (hashed, BITS.astype("u4")),
    "life": (game, (BITS % 2).astype("i1")),
    "logic": (
        lambda x, y: ((x > 0) & (y < x) | ~(x != y), fnp.any(x > y, 1) ^ fnp.all(x < 3, 1)),
        X,
        Y,
    ),
    "counts": (
        lambda n: (fnp.sum(n % 3 == 0, axis=1), fnp.sum(n * 2 + 1), fnp.max(n + 1, 1)),
        BITS,
    ),
    "bytes": (lambda n: (n + 200) * 3 - (n >> 1), BITS.astype("u1")),
    "prod": (lambda n: fnp.prod(n % 3 + 1, axis=-1) * 2, BITS),
    "places": (lambda n: fnp.where(n % 2 == 0, n * 3, n + fnp.arange(40)) * 2, BITS),
}


def single(args):
    return fg.tree.map(lambda x: np.asarray(x, "f4") if type_of(x).dtype == float else x, args)


@pytest.fixture
def kernels(monkeypatch):
    """The kernels that are compiled meanwhile."""
    found, compile_kernels = [], host_kernels.compile_kernels

    def watched(given):
        found.extend(given)
        return compile_kernels(given)

    monkeypatch.setattr(native.host_kernels, "compile_kernels", watched)
    return found


WITHOUT = {"logsumexp", "norm"}  # primitives are most of them
WITHOUT |= {"vmap of softmax"}  # what lies in Fortran's order is to stay so, and is NumPy's


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, kernels):
    function, *args = FUNCTIONS[name]
    compare(function, args, 64)
    assert kernels or name in WITHOUT


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "Hessian"])
def test_functions_of_single_precision(name):
    function, *args = FUNCTIONS[name]
    compare(function, single(args), 64)


@pytest.mark.parametrize("name", EXACT)
def test_functions_of_integers_and_booleans(name, kernels):
    function, *args = EXACT[name]
    compare(function, args, 0)
    assert kernels


@pytest.mark.parametrize("seed", range(25))
def test_random_functions(seed):
    function, args = random_function(np.random.default_rng(1000 + seed), 20)
    compare(function, args, 64)


def test_weak_results():
    function = lambda x, y: (x * 2.0 + 1.0 - x * x + x / 3, y * 2.0 + 1.0 - y * y + y / 3)
    token = compilation.set("eager")
    try:
        g = fg.jit(function)
        for _ in range(2):
            a, b = g(1.5, np.float32(1.5))
    finally:
        compilation.reset(token)
    assert (a.dtype, b.dtype) == (np.float64, np.float32)
    assert g(np.float32(1.5), 1.5)[0].dtype == np.float32
    x = np.ones(4, "f4")
    h = fg.jit(lambda s, x: (s * 2 + 1) * s * s * x)
    assert h(2.0, x).dtype == np.float32


@pytest.mark.parametrize("layout", ["F", "strided", "reversed", "read-only", "broadcast"])
def test_arguments_lie_anyhow(layout):
    x = {
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "reversed": X[::-1, ::-1],
        "read-only": np.frombuffer(X.tobytes()).reshape(X.shape),
        "broadcast": np.broadcast_to(V[:40], (6, 40)),
    }[layout]
    compare(lambda x: (x * 2 + 1, fnp.sum(x * x, axis=-1), softmax(x)), [x], 64)


def test_one_array_twice():
    compare(lambda x, y: (x * 2 + y, x - y * 3), [X, X], 4)
    compare(lambda x: (x * 2 + 1, x * 2 + 1, x, x + 0), [X], 4)


def test_results_are_not_overwritten_by_later_calls():
    token = compilation.set("eager")
    try:
        g = fg.jit(lambda x: (x * 2 + 1, fnp.sum(x * x, axis=1)))
        first = g(X)
        copies = [x.copy() for x in first]
        for _ in range(5):
            g(Y)
    finally:
        compilation.reset(token)
    for x, y in zip(first, copies, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("axes", [(1, 0), (0, 2, 1), (2, 1, 0), (1, 2, 0)], ids=str)
def test_results_lie_as_numpys_do(axes):
    x = np.ones((4, 5, 6)[: len(axes)]).transpose(axes)
    for function in (lambda x: x * 2 + 1, lambda x: fnp.sum(x * x, axis=-1) + x[..., 0]):
        results = [run(function, [x], mode)[0][0] for mode in ("off", "eager")]
        assert results[0].strides == results[1].strides


FOLLOWING = {
    "a function that is no kernel": lambda x: fnp.sort(fnp.exp2(x * 0.4), axis=0),
    "rows that are joined": lambda x: fnp.concatenate([x * 2 + 1, x * 3 - 1]),
    "a sum along the first axis": lambda x: (
        fnp.cumsum(fnp.stack([x, x]) * 2 + 1, axis=0)[0] * 2 + x
    ),
    "an element that is set": lambda x: (fnp.swapaxes(x, 0, 1) * 2 * 1.5).at[2].set(0.75),
    "a conversion": lambda x: x.astype("f4") * 2 + 1,
    "a conversion to booleans": lambda x: fnp.logical_and(x, True) | (x > 2),
    "a conversion of what is repeated": lambda x: (
        fnp.broadcast_to(x[:, :1], (2, len(x), 1)).astype("f4") + x * 0.5
    ),
    "a conversion to complex numbers": lambda x: fnp.real(fnp.exp(1j * x)) * x,
    "a conversion beside what is repeated": lambda x: fnp.hypot(
        fnp.broadcast_to(x, (2, *x.shape)).astype("f2"),
        fnp.log(abs(fnp.broadcast_to(x, (2, *x.shape))) + 0.3),
    ),
    "a product of rows": fg.vmap(
        fg.grad(lambda x: fnp.sum(fnp.einsum("...i,...i->...", x, x) * 2))
    ),
    "a loop": lambda x: fg.lax.fori_loop(0, 3, lambda i, c: fnp.sort(c * 2 + 1, axis=0), x * 2 + 1),
}
HOW = {
    "C": np.ascontiguousarray, "Fortran": np.asfortranarray, "reversed": lambda x: x.T.copy().T[::-1],
    "rows that are one": lambda x: np.broadcast_to(x[:1], x.shape),
    "columns that are one": lambda x: np.broadcast_to(x[:, :1], x.shape),
}  # fmt: skip


@pytest.mark.parametrize("layout", HOW)
@pytest.mark.parametrize("name", FOLLOWING)
@pytest.mark.parametrize("size", [5, 150])
def test_what_follows_an_order_lies_as_without_kernels(name, layout, size):
    x = HOW[layout](RNG.normal(size=(size, size + 3)))
    if name == "a product of rows":
        x = np.stack([x[:9], x[-9:]])
    results = [run(FOLLOWING[name], [x], mode)[0][0] for mode in ("off", "eager")]
    assert results[0].strides == results[1].strides
    np.testing.assert_allclose(results[1], results[0], 1e-12)


def test_what_is_repeated_and_not_converted_is_no_reason_to_fall_back(made):
    """`logaddexp` asks whether numbers are NaN, of what has been computed."""
    signs = np.broadcast_to(np.sign(V[:40] - 1.5), X[:6, :40].shape)
    compare(lambda x, s: fnp.logaddexp(0.0, s * x) * 2, (X[:6, :40].copy(), signs), 64)
    assert made[-1].native is not None
    assert not any(tier.failures for tier in made)


def test_small_stacks():
    """What one pass over a row keeps for the next one is on the stack of a thread."""

    def f(x):
        terms = [fnp.sqrt(abs(x * i + 1)) * x - i / (x * x + i) + x for i in range(1, 60)]
        total = fnp.broadcast_to(fnp.sum(sum(terms), axis=-1)[:, None], x.shape)
        return sum(e / total for e in terms)

    def work():
        compare(f, [np.linspace(1, 2, 3000).reshape(3, 1000)], 64)
        done.append(True)

    done, before = [], threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert done
