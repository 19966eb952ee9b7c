"""Taylor mode against nested `jvp`, alone and with the other transforms; what it costs; what it refuses."""

import math
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import tree
from fungrad.core.primitive import Primitive, primitive
from fungrad.experimental.jet import jet
from fungrad.programs.loops.cond import cond
from fungrad.programs.loops.loops import fori_loop, scan
from fungrad.programs.loops.while_loop import while_loop
from fungrad.programs.rules.custom_jvp import custom_jvp
from fungrad.programs.solvers.root import custom_root
from fungrad.rewrite.taylor import jet_expr
from fungrad.scipy import integrate, special
from fungrad.transforms.call import programs
from tests.backends.fake_cupy import make_module
from tests.check import functions, moving
from tests.programs import PROGRAMS as PLAIN_PROGRAMS
from tests.samples import rows
from tests.samples.row import reals
from tests.test_compositions import PROGRAMS

ORDER = 3
X4 = reals(4)


def random_series(rng, x, order=ORDER):
    """Return derivatives of a path that starts at the tree `x`: a list in place of each leaf."""

    def derivative(leaf):
        found = rng.uniform(-0.3, 0.3, np.shape(leaf))
        if np.asarray(leaf).dtype.kind == "c":
            found = found + 1j * rng.uniform(-0.3, 0.3, np.shape(leaf))
        return found.astype(np.asarray(leaf).dtype)[()]

    return tree.map(lambda leaf: [derivative(leaf) for _ in range(order)], x)


def along(x, series):
    """Return the path as a function of time."""

    def path(t):
        def at(leaf, terms):
            return leaf + sum(c * (t**k / math.factorial(k)) for k, c in enumerate(terms, 1))

        return tree.map(at, x, series)

    return path


def nested(f, x, series, order=ORDER):
    """Return derivatives of `f` along the path: a list in place of each leaf of its result."""
    path = along(x, series)
    g = lambda t: f(*path(t))
    found = []
    for _ in range(order):
        g = (lambda h: lambda t: fg.jvp(h, (t,), (1.0,))[1])(g)
        found.append(g(0.0))
    return tree.map(lambda *ys: list(ys), *found)


def assert_close(found, expected, rtol=1e-11):
    found, expected = tree.leaves(found), tree.leaves(expected)
    assert all(isinstance(x, (np.ndarray, np.generic)) for x in found)
    fg.test_util.assert_allclose(found, expected, rtol)


def check(f, args, rng, rtol=1e-11, order=ORDER):
    """Check `jet` of `f` along a curved path."""
    series = random_series(rng, args, order)
    value, found = jet(f, args, series)
    assert_close(tree.map(np.asarray, value), tree.map(np.asarray, f(*args)))
    assert_close(found, nested(f, args, series, order), rtol)


# Against nested jvp


@pytest.mark.parametrize("name", PROGRAMS)
def test_small_programs(name, rng):
    with fg.checking():
        check(PROGRAMS[name].f, (PROGRAMS[name].x,), rng)


@pytest.mark.parametrize("name", sorted(PLAIN_PROGRAMS)[::12])
def test_programs_of_users(name, rng):
    check(PLAIN_PROGRAMS[name].changed, PLAIN_PROGRAMS[name].args, rng)


def test_primitives(rng):
    chosen = [s for s in rows() if "jvp" not in s.gaps and moving(s)][::40]
    for sample in chosen:
        f, xs = next(functions(sample))
        if all(np.asarray(x).dtype.itemsize >= 8 for x in xs):
            check(f, xs, rng, 1e-9)


def square_root(a):
    def newton(f, x):
        for _ in range(60):
            x = x - f(x) / (2 * x)
        return x

    return custom_root(lambda x: x * x - a, a, newton, lambda g, y: y / g(1.0))


SOLVERS = {
    "root": (square_root, fnp.sqrt, 0.7),
    "integral": (lambda a: integrate.quad(lambda t: fnp.exp(a * t), 0.0, 1.0)[0], None, 0.7),
    "linear system": (
        lambda x: fnp.linalg.solve(fnp.eye(4) * 3 + fnp.outer(x, x), fnp.sin(x)),
        None,
        X4,
    ),
    "eigenvalues": (lambda x: fnp.linalg.eigvalsh(fnp.diag(x) + fnp.outer(x, x)), None, X4),
    "cholesky": (lambda x: fnp.linalg.cholesky(fnp.eye(4) + fnp.outer(x, x)), None, X4),
    "determinant": (lambda x: fnp.linalg.det(fnp.diag(x) + fnp.outer(x, x) ** 2), None, X4),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers(name, rng):
    f, closed, x = SOLVERS[name]
    series = random_series(rng, (x,))
    _, found = jet(f, (x,), series)
    assert_close(found, nested(closed or f, (x,), series), 1e-9)


ROWS = np.arange(1.0, 6.0) / 10


def with_scan(x):
    last, rows = scan(lambda c, r: (fnp.sin(c) * x + r, c * r * x), x * 1.0, ROWS)
    return last + fnp.sum(rows)


def as_a_loop(x):
    total, last = 0.0, x
    for r in ROWS:
        total = total + last * r * x
        last = fnp.sin(last) * x + r
    return last + total


def squared(x):
    while x < 5.0:
        x = x * x + 0.7
    return x


@custom_jvp
def own_exp(x):
    return fnp.exp(x)


@own_exp.defjvp
def _own_exp_rule(primals, tangents):
    out = own_exp(*primals)
    return out, out * tangents[0]


CONTROL = {
    "scan": (with_scan, as_a_loop),
    "cond": (lambda x: cond(x > 0, lambda x: fnp.sin(x) * x, fnp.exp, x), lambda x: fnp.sin(x) * x),
    "fori_loop": (
        lambda x: fori_loop(0, 2, lambda i, c: fnp.sin(c) * x, x),
        lambda x: fnp.sin(fnp.sin(x) * x) * x,
    ),
    "while_loop": (lambda x: while_loop(lambda c: c < 5.0, lambda c: c * c + 0.7, x), squared),
    "custom_jvp": (lambda x: own_exp(x) * own_exp(2 * x), lambda x: fnp.exp(3 * x)),
}


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow_and_custom_rules(name, rng):
    g, written_out = CONTROL[name]
    series = random_series(rng, (0.7,), 4)
    value, found = jet(g, (0.7,), series)
    assert_close(value, written_out(np.float64(0.7)))
    expected = nested(written_out, (0.7,), series, 4)
    assert_close(found, expected)
    assert_close(fg.jit(lambda x: jet(g, (x,), series)[1])(0.7), expected)
    twice = fg.vmap(lambda x: jet(g, (x,), series)[1][-1])(np.array([0.7, 0.7]))
    assert_close(twice, np.stack([expected[-1]] * 2))


def f(x, y):
    return {"a": fnp.tanh(x @ y) / (1 + fnp.sum(x * x)), "b": (x * y[0], special.erf(x))}


ARGS = (reals(2, 2, seed=1), reals(2, seed=2))


def test_rules_whose_tangents_rest():
    """A product of series that end: no term is left of the third order."""
    g = custom_jvp(lambda x: x * 1.0)
    g.defjvp(lambda primals, tangents: (g(*primals), fg.stop_gradient(tangents[0])))
    _, found = jet(lambda x: g(x) * g(x), (0.7,), ([1.0, 0.5, 0.3, 0.2],))
    np.testing.assert_allclose(found, [1.4, 2.0, 0.0, 0.0], rtol=1e-15)


def test_straight_line_is_the_directional_derivative(rng):
    v = rng.normal(size=4)
    g = lambda x: fnp.sum(fnp.sin(x) * x[::-1] ** 2)
    _, (first, second) = jet(g, (X4,), ([v, 0 * v],))
    assert float(first) == pytest.approx(fg.grad(g)(X4) @ v, rel=1e-13)
    assert float(second) == pytest.approx(v @ fg.hessian(g)(X4) @ v, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 5])
def test_orders(order, rng):
    check(f, ARGS, rng, order=order)


def test_order_0():
    value, found = jet(f, ARGS, ([], []))
    assert_close(value, f(*ARGS))
    assert found == {"a": [], "b": ([], [])}


def test_taylor_coefficients(rng):
    def divided(series):
        return [c / math.factorial(k) for k, c in enumerate(series, 1)]

    x, y = random_series(rng, ARGS)
    _, expected = jet(f, ARGS, (x, y))
    _, found = jet(f, ARGS, (divided(x), divided(y)), factorial_scaled=False)
    assert_close(found["a"], divided(expected["a"]))
    assert_close(found["b"][1], divided(expected["b"][1]))


# With the other transforms


def jet_of(g, series):
    return lambda *args: jet(g, args, series)


def test_jit(rng):
    series = random_series(rng, ARGS)
    expected = jet(f, ARGS, series)
    assert_close(fg.jit(jet_of(f, series))(*ARGS), expected)
    assert_close(jet(fg.jit(f), ARGS, series), expected)
    assert_close(fg.jit(lambda s: jet(f, ARGS, s))(series), expected)


def test_vmap(rng):
    series = random_series(rng, ARGS)
    batch = [np.stack([x, 1.1 * x, 0.9 * x]) for x in ARGS]
    found = fg.vmap(jet_of(f, series))(*batch)
    each = [jet(f, xs, series) for xs in zip(*batch, strict=True)]
    assert_close(found, tree.map(lambda *ys: np.stack(ys), *each))
    directions = np.stack([series[1], [2 * c for c in series[1]]], axis=1)  # order, batch, element
    found = fg.vmap(lambda s: jet(f, ARGS, (series[0], list(s))), in_axes=1)(directions)
    each = [jet(f, ARGS, (series[0], list(directions[:, i]))) for i in range(2)]
    assert_close(found, tree.map(lambda *ys: np.stack(ys), *each))


def test_grad_of_jet_and_jet_of_grad():
    g = lambda x: fnp.sum(fnp.exp(fnp.sin(x)) * x)
    third = lambda x: jet(g, (x,), ([1.0, 0.0, 0.0],))[1][2]
    fourth = fg.grad(third)(0.4)
    _, derivatives = jet(g, (0.4,), ([1.0, 0.0, 0.0, 0.0],))
    _, of_gradient = jet(fg.grad(g), (0.4,), ([1.0, 0.0, 0.0],))
    assert float(fourth) == pytest.approx(float(derivatives[3]), rel=1e-12)
    assert float(of_gradient[2]) == pytest.approx(float(derivatives[3]), rel=1e-12)


def test_gradient_by_the_series():
    """The derivative of the second derivative along v by v is 2 H v."""
    g = lambda x: fnp.sum(fnp.sin(x) * x[::-1])
    v = np.array([1.0, -1.0, 0.5, 2.0])
    second = lambda v: jet(g, (X4,), ([v, np.zeros(4)],))[1][1]
    np.testing.assert_allclose(fg.grad(second)(v), 2 * fg.hvp(g)(X4, v), rtol=1e-12)


def test_jet_of_jet():
    """Mixed derivatives: levels do not mix."""
    g = lambda x, y: fnp.sin(x * y) * x
    inner = lambda x: jet(lambda y: g(x, y), (0.7,), ([1.0, 0.0],))[1][1]
    _, found = jet(inner, (0.3,), ([1.0, 0.0],))
    by_y = fg.grad(fg.grad(g, 1), 1)
    expected = [fg.grad(by_y)(0.3, 0.7), fg.grad(fg.grad(by_y))(0.3, 0.7)]
    np.testing.assert_allclose([float(x) for x in found], expected, rtol=1e-12)


def test_values_can_be_asked_for(as_written):
    seen = []

    def g(x):
        y = fnp.sin(x)
        seen.append(float(y))
        return y * x if y > 0 else -y

    value, (slope,) = jet(g, (0.5,), ([1.0],))
    assert seen == [math.sin(0.5)]
    assert float(value) == pytest.approx(0.5 * math.sin(0.5))
    assert float(slope) == pytest.approx(math.sin(0.5) + 0.5 * math.cos(0.5))


def test_a_second_call_finds_the_program():
    g = lambda x: fnp.tanh(x) * x
    jet(g, (0.5,), ([1.0, 0.0],))
    misses = programs.misses
    jet(lambda x: fnp.tanh(x) * x, (0.7,), ([0.1, 2.0],))
    assert programs.misses == misses
    jet(g, (0.5,), ([1.0, 0.0, 0.0],))
    assert programs.misses == misses + 1


# Types


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.complex128])
def test_dtypes(dtype):
    x = np.array([0.3, 0.5], dtype)
    value, series = jet(lambda x: fnp.sin(x) / x, (x,), ([np.ones(2, dtype), np.zeros(2, dtype)],))
    assert [y.dtype for y in (value, *series)] == [dtype] * 3
    wide = x.astype(np.complex128)
    exact = np.cos(wide) / wide - np.sin(wide) / wide**2
    np.testing.assert_allclose(series[0], exact, atol=10 * float(np.finfo(dtype).eps))


def test_functions_that_are_not_holomorphic(rng):
    z = np.array([0.3 + 0.4j, 1 - 2j])
    check(lambda z: fnp.abs(z) * fnp.conj(z) + fnp.real(z) ** 3, (z,), rng)


def test_integers_rest():
    g = lambda x, n: {"x": x**2 * n, "n": n + 1, "positive": x > 0}
    zeros = [np.zeros(3, fg.float0)] * 2
    n = np.arange(3)
    for of_n in (zeros, [0 * n, 0 * n]):
        value, series = jet(g, (2.0, n), ([1.0, 0.0], of_n))
        np.testing.assert_array_equal(series["x"], [4.0 * n, 2.0 * n])
        np.testing.assert_array_equal(value["n"], n + 1)
        for name, shape in (("n", (3,)), ("positive", ())):
            assert [(c.shape, c.dtype) for c in series[name]] == [(shape, fg.float0)] * 2


@pytest.mark.parametrize("jitted", [False, True])
def test_cupy(monkeypatch, jitted, rng):
    """Shown with the strict stand-in: arrays of CuPy give arrays of CuPy."""
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    g = lambda x: (fnp.tanh(x) / x, fnp.ones(4), fnp.sum(x))
    series = random_series(rng, (X4,))
    moved = tree.map(cupy.asarray, series)
    on_device = lambda x: jet(g, (x,), moved)
    found = (fg.jit(on_device) if jitted else on_device)(cupy.asarray(X4))
    expected = jet(g, (X4,), series)
    for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert type(a) is cupy.ndarray
        np.testing.assert_allclose(a.get(), b, rtol=1e-13)


def test_results_that_rest():
    g = lambda x: (fnp.ones(2), 3.0, fnp.floor(x), fg.stop_gradient(x) * x)
    value, series = jet(g, (1.5,), ([2.0, 3.0],))
    assert_close(value, (np.ones(2), np.float64(3), np.float64(1), np.float64(2.25)))
    zero = np.float64(0)
    expected = ([np.zeros(2)] * 2, [zero] * 2, [zero] * 2, [np.float64(3.0), np.float64(4.5)])
    assert_close(series, expected)


def test_jumps_and_kinks(rng):
    x = np.array([0.5, -1.5, 2.5])
    check(lambda x: fnp.sort(x) * fnp.maximum(x, 0.0) ** 2 + fnp.abs(x) ** 3, (x,), rng)


def test_zero_series_stay_exact():
    """A path that goes nowhere has no derivatives, and no NaN from what is constant."""
    _, series = jet(lambda x: fnp.exp(fnp.log(x) * x), (2.0,), ([0.0, 0.0],))
    assert [float(c) for c in series] == [0.0, 0.0]


# What it costs: equations of the program, which for a scalar are primitives that run


def cost(f, order, *args):
    expr = fg.make_expr(f)(*args)
    wrt = range(expr.captured, len(expr.inputs))
    return len(jet_expr(expr, wrt, order, scaled=True).equations)


COSTS = {
    "sin": (fnp.sin, 170),
    "exp": (fnp.exp, 110),
    "tanh": (fnp.tanh, 180),
    "log": (fnp.log, 110),
    "quotient": (lambda x: fnp.sin(x) / (1 + x), 260),
    "power": (lambda x: x**2.5, 350),
    "arctan": (fnp.arctan, 180),
    "gammaln": (special.gammaln, 330),
    "sin of sin": (lambda x: fnp.sin(fnp.sin(x)), 330),
}


@pytest.mark.parametrize("name", COSTS)
def test_cost_of_order_8(name):
    g, bound = COSTS[name]
    assert cost(g, 8, 0.3) <= bound
    # Twice the order is up to 2^3 times the work.
    assert cost(g, 16, 0.3) <= 8 * cost(g, 8, 0.3)


def test_rules_of_linear_functions_cost_one_application_for_each_order():
    assert cost(lambda x: -x[::2] / 3.0 + 1.0, ORDER, X4) <= 6 * (ORDER + 1)


def test_loops_are_run_once():
    """The body of a loop is on series: it does not double with each order."""
    expr = fg.make_expr(with_scan)(0.7)
    wrt = range(expr.captured, len(expr.inputs))
    sizes = []
    for order in (4, 8):
        equations = jet_expr(expr, wrt, order, scaled=True).equations
        (loop,) = [e.primitive for e in equations if e.primitive.name == "scan"]
        sizes.append(len(loop.body.expr.equations))
    assert sizes[1] <= 4 * sizes[0]


def test_long_programs():
    def chain(x):
        for _ in range(400):
            x = fnp.sin(x) * 1.0001
        return x

    value, found = jet(chain, (0.3,), ([1.0, 0.0, 0.0],))
    y, y1, y2, y3 = 0.3, 1.0, 0.0, 0.0
    for _ in range(400):
        s, c = 1.0001 * math.sin(y), 1.0001 * math.cos(y)
        y3 = c * y3 - 3 * s * y1 * y2 - c * y1**3
        y2 = c * y2 - s * y1**2
        y, y1 = s, c * y1
    np.testing.assert_allclose([value, *found], [y, y1, y2, y3], rtol=1e-11)


def test_high_order():
    order = 60
    _, found = jet(fnp.exp, (0.3,), ([1.0] + [0.0] * (order - 1),))
    np.testing.assert_allclose(found, np.full(order, math.exp(0.3)), rtol=1e-12)


@primitive
class Noted(Primitive):
    """Counts how often it runs; has no results."""

    calls: tuple[list[int]] = ([],)

    multiple_results = True
    differentiable = False
    effect = True
    interned = False

    def __hash__(self):
        return id(self)

    def infer(self, types):
        return ()

    def impl(self, xp, x):
        self.calls[0].append(1)
        return ()


def test_effects_happen_once():
    noted = Noted()

    def g(x):
        noted(x)
        return fnp.sin(x)

    jet(g, (0.5,), ([1.0, 0.0],))
    assert noted.calls[0] == [1]
    noted.calls[0].clear()
    jet(lambda x: fori_loop(0, 3, lambda i, c: g(c), x), (0.5,), ([1.0, 0.0, 0.0],))
    assert noted.calls[0] == [1, 1, 1]


def test_equal_effects_happen_each():
    noted = Noted(calls=([],))

    def g(x):
        noted(x)
        noted(x)
        return fnp.sin(x)

    fg.jit(lambda x: jet(g, (x,), ([1.0, 0.0],)))(0.5)
    assert noted.calls[0] == [1, 1]
    noted.calls[0].clear()
    loop = lambda x: fori_loop(0, 3, lambda i, x: g(x), x)
    fg.jit(lambda x: jet(loop, (x,), ([1.0, 0.0],)))(0.5)
    assert noted.calls[0] == [1] * 6
    series = jet_expr(fg.make_expr(g)(0.5), [0], 2, scaled=True)
    assert [e.primitive for e in series.equations].count(noted) == 2


# What it refuses


@pytest.mark.parametrize(
    ("primals", "series", "kind", "message"),
    [
        (2.0, ([1.0],), TypeError, r"jet\(sin\): primals must be a tuple or list, not float"),
        ((2.0,), 1.0, TypeError, r"series must be a tuple or list, not float"),
        ((2.0,), (1.0,), TypeError, "with a list of derivatives in place of each leaf"),
        (([2.0, 1.0],), ([1.0, 0.0],), TypeError, "with a list of derivatives in place of each"),
        ((2.0, 1.0), ([1.0],), ValueError, "got 2 primals and 1 series"),
        ((2.0, 1.0), ([1.0], [1.0, 0.0]), ValueError, r"got the lengths \[1, 2\]; fill up"),
        ((X4,), ([1.0],), TypeError, r"derivative of order 1 of leaf 0 has type float64\[\]"),
        (
            (X4,),
            ([X4, X4[:2]],),
            TypeError,
            r"order 2 of leaf 0 has type float64\[2\].*float64\[4\]",
        ),
        (
            (X4,),
            ([X4 * 1j],),
            TypeError,
            r"has type complex128\[4\], but belongs to .* float64\[4\]",
        ),
        (
            (2,),
            ([1],),
            TypeError,
            "order 1 of leaf 0 has type int64.*int64.*, which has no derivative.*float0",
        ),
        (
            (np.arange(2),),
            ([0],),
            TypeError,
            r"it must be zero, of the same shape; pass np.zeros\(\(2,\), fungrad.float0",
        ),
        ((np.arange(2),), ([np.zeros(3, fg.float0)],), TypeError, "of the same shape"),
        ((2.0,), ([1.0] * 171,), ValueError, "have order 171.*factorial_scaled=False"),
        ((2.0,), (["a"],), TypeError, "order 1 of leaf: 'a' of type str is not an array"),
    ],
)
def test_errors(primals, series, kind, message):
    with pytest.raises(kind, match=message):
        jet(fnp.sin, primals, series)


def test_a_missing_derivative_names_the_line():
    g = lambda v: special.jv(v, 0.5)
    with pytest.raises(fg.MissingRuleError, match=r"test_jet.py.*g = lambda v"):
        jet(g, (1.5,), ([1.0],))


def test_constants_of_the_same_bits_keep_their_dtypes():
    def f(x):
        positive = fnp.where(x > np.float64(0), x * x, np.float64(0))
        return positive, fnp.floor(x).astype(np.int64) + np.int64(0)

    for g in (f, fg.jit(f)):
        (value, count), (series, _) = jet(g, (2.5,), ([1.0, 0.0],))
        assert (value, count, count.dtype) == (6.25, 2, np.int64)
        assert list(series) == [5.0, 2.0]
