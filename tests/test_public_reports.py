"""Programs in the spirit of public bug reports of other libraries, and their right values, in every transform.

Rows are named by repository and number, and say what went wrong there; none of it may go wrong here.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.fft
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.special as sc
import scipy.stats

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, nn, ops
from fungrad.scipy import fft, integrate, interpolate, ndimage, signal, special, stats
from fungrad.scipy import linalg as sl

pytestmark = [
    pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning"),
]

INF, NAN = np.inf, np.nan
RNG = np.random.default_rng(0)


class Row(NamedTuple):
    """A function, a point, the value there, and derivatives of the sum of its values."""

    f: Any
    x: Any
    value: Any
    first: Any = None
    second: Any = None
    tolerance: float = 1e-9


def agree(found: Any, expected: Any, tolerance: float, way: str) -> None:
    floor = 0 if np.all(np.asarray(expected) != 0) else 1e-12
    np.testing.assert_allclose(found, expected, tolerance, floor, err_msg=way)


def twice(x: Any) -> np.ndarray:
    return np.stack([x, x])


# Special functions at tails, limits and poles

TAIL = np.exp(-40.0)
OF_FUNCTIONS = {
    "jax 2140: gradient of log_sigmoid at 0 was 0": Row(nn.log_sigmoid, 0.0, -np.log(2), 0.5, -0.25),
    "jax 40342: sigmoid had no slope in one tail": Row(special.expit, 40.0, 1 / (1 + TAIL), TAIL / (1 + TAIL) ** 2, -TAIL),
    "jax 39794: slope of expm1 was 0 far to the left": Row(fnp.expm1, -40.0, np.expm1(-40.0), TAIL, TAIL),
    "jax 39799: slope of sqrt was infinite beside 0": Row(fnp.sqrt, 5e-324, np.sqrt(5e-324), 2.2494568972715982e161),
    "jax 39797: slope of i0 was 0 beside 0": Row(special.i0, 1e-300, 1.0, 5e-301, 0.5),
    "jax 38610: betainc had no derivative by a": Row(lambda a: special.betainc(a, 1.0, 0.25), 1.5, 0.125, 0.125 * np.log(0.25)),
    "jax 38610: betainc had no derivative by b": Row(lambda b: lax.betainc(1.0, b, 0.25), 1.5, 1 - 0.75**1.5, -(0.75**1.5) * np.log(0.75)),
    "jax 37635: trigamma at negative half-integers": Row(lax.digamma, -16.5, sc.psi(-16.5), sc.polygamma(1, -16.5)),
    "jax 38608: polygamma at infinity was NaN": Row(lambda x: special.polygamma(2, x), INF, 0.0, 0.0, 0.0),
    "jax 21900: betainc of a tiny parameter": Row(lambda a: special.betainc(a, 1.0, 0.25), 1e-35, 1.0, np.log(0.25)),
    "jax 38243: betaln of a negative integer was NaN": Row(lambda a: special.betaln(a, 2.0), -3.0, -np.log(6)),
    "jax 6535: gammainc at infinity was NaN": Row(lambda x: special.gammainc(1.0, x), INF, 1.0, 0.0, 0.0),
    "jax 39107: gammainc of an infinite parameter was NaN": Row(lambda x: lax.igamma(INF, x), 2.0, 0.0),
    "jax 38270: beta of a negative integer was NaN": Row(lambda x: special.beta(x, 1.0), -2.0, -0.5),
    "jax 39105: beta of an infinite parameter was NaN": Row(lambda y: special.beta(INF, y), 2.0, 0.0),
    "jax 38519: exp1 at infinity was NaN": Row(special.exp1, INF, 0.0, 0.0, 0.0),
    "jax 38519: expi at -infinity was NaN": Row(special.expi, -INF, 0.0, 0.0),
    "jax 38260: xlog1py(0, nan) was 0": Row(lambda y: special.xlog1py(0.0, y), NAN, NAN),
    "jax 3758: zeta of a large argument was NaN": Row(lambda q: special.zeta(1e5, q), 3.0, 0.0, 0.0),
    "jax 10515, 26086: subnormal numbers in the derivative of abs": Row(lambda x: fnp.abs(x * (3 + 4j)), 1e-310, 5e-310, 5.0, None, 1e-5),
}  # fmt: skip

# Distributions at the ends of their supports

OF_DISTRIBUTIONS = {
    "jax 38620: chi2.logpdf(0, 2) was NaN": Row(lambda x: stats.chi2.logpdf(x, 2.0), 0.0, -np.log(2), -0.5, 0.0),
    "jax 40152: its derivative by df was lost": Row(lambda k: stats.chi2.logpdf(0.7, k), 2.0, -0.35 - np.log(2), (np.log(0.35) + np.euler_gamma) / 2),
    "jax 549: expon.logpdf(0) was -inf": Row(stats.expon.logpdf, 0.0, 0.0, -1.0, 0.0),
    "jax 549: beta.logpdf at an end": Row(lambda x: stats.beta.logpdf(x, 1.0, 2.0), 0.0, np.log(2), -1.0, -1.0),
    "jax 38520: dirichlet.logpdf at a corner": Row(lambda a: stats.dirichlet.logpdf(np.array([0.0, 0.5, 0.5]), a), np.array([1.0, 2.0, 1.0]), np.log(3)),
    "jax 5650: poisson.logpmf between integers": Row(lambda mu: stats.poisson.logpmf(1.2, mu), 1.0, -INF, 0.0),
    "jax 5650: beta.logpdf of negative parameters": Row(lambda a: stats.beta.logpdf(0.5, a, -1.1), -1.1, NAN),
    "HIPS/autograd 412: sign of the gradient by a covariance": Row(lambda c: stats.multivariate_normal.logpdf(np.ones(2), np.zeros(2), c), np.eye(2), -1 - np.log(2 * np.pi), [[0.0, 0.5], [0.5, 0.0]]),
}  # fmt: skip

# Linear algebra

IDENTITY, SINGULAR = np.eye(2), np.array([[1.0, 2.0], [2.0, 4.0]])
OF_DET = np.einsum("ac,bd->abcd", np.array([[0.0, 1], [-1, 0]]), np.array([[0.0, 1], [-1, 0]]))
STACK = np.array([np.diag([5.0, -3.0, 0.1]) + 0.5, np.zeros((3, 3)), np.full((3, 3), 1e-9)])
THETA = np.array(10.0)


def normalized(length: Any) -> Any:
    """Return what a state of two complex amplitudes, divided by its length, is measured as."""

    def f(theta: Any) -> Any:
        wave = fnp.exp(-1j * theta)
        amplitudes = fnp.stack([(1 + wave) / 2 * np.sqrt(0.7), (1 - wave) / 2])
        return fnp.abs(amplitudes / length(amplitudes))[0] ** 2

    return f


SHARE = lambda t: 0.7 * np.cos(t / 2) ** 2 / (0.7 * np.cos(t / 2) ** 2 + np.sin(t / 2) ** 2)
OF_MATRICES = {
    "jax 25111: pinv of a zero matrix was NaN": Row(np.linalg.pinv, np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))),
    "jax 25111: pinv of numbers too small to count": Row(np.linalg.pinv, np.diag([1.0, 1e-7, 1e-300, 0]), np.diag([1.0, 1e7, 0, 0])),
    "jax 32666: lstsq by a zero matrix": Row(lambda b: np.linalg.lstsq(np.zeros((2, 1)), b, None)[0], np.ones(2), [0.0], [0.0, 0.0]),
    "jax 12944: lstsq of no equations": Row(lambda a: np.linalg.lstsq(a, np.zeros(0), None)[0], np.zeros((0, 3)), np.zeros(3)),
    "jax 21896: roots of equal eigenvalues": Row(lambda a: fnp.sum(fnp.sqrt(np.linalg.eigvalsh((a + a.T) / 2))), 0.64 * IDENTITY, 1.6, IDENTITY / 1.6),
    "pytorch 149694: second derivatives of det were NaN": Row(np.linalg.det, np.array([[1.0, 0], [1, 1]]), 1.0, [[1, -1], [0, 1]], OF_DET),
    "pytorch 192521: det at equal singular values": Row(np.linalg.det, IDENTITY, 1.0, IDENTITY, OF_DET),
    "pytorch 192521: det of a singular matrix": Row(np.linalg.det, SINGULAR, 0.0, [[4, -2], [-2, 1]], OF_DET),
    "jax 16579: sqrtm had no derivative": Row(sl.sqrtm, np.diag([1.0, 4.0]), np.diag([1.0, 2.0]), [[1 / 2, 1 / 3], [1 / 3, 1 / 4]]),
    "scipy 25924: expm of a stack": Row(sl.expm, STACK, np.stack([scipy.linalg.expm(a) for a in STACK])),
    "HIPS/autograd 612: the norm of complex numbers": Row(normalized(np.linalg.norm), THETA, SHARE(10.0), (SHARE(10 + 1e-5) - SHARE(10 - 1e-5)) / 2e-5, None, 1e-8),
    "HIPS/autograd 370: squares of norms of 0": Row(lambda x: fnp.sum(np.linalg.norm(x[1:] - x[:-1], axis=-1) ** 2), np.array([[1.0], [0], [0], [1]]), 2.0, [[2.0], [-2], [-2], [2]]),
}  # fmt: skip

# Transforms, products, interpolation, signals

GRID = RNG.normal(size=(4, 4))
MASK = np.arange(16).reshape(4, 4) < 8
SIGNAL = RNG.normal(size=5)
KNOTS, HEIGHTS = np.sort(RNG.uniform(-2, 8, 20)), RNG.normal(size=20) + 1j * RNG.normal(size=20)
CORNERS = (np.array([1.0, 2, 3]), np.array([6.0, 5, 4]))
TABLE = np.arange(10.0, 100, 10).reshape(3, 3)
ASKED = np.array([[1.5, 4.5], [2.2, 5.8]])
PLACES = np.array([[-0.4, 0.3, 2.0, 2.9, 3.0]])
TIMES = np.array([0.0, 0.2, 0.5])


def solved(times: Any) -> Any:
    """Return the last value of a solution of y' = -y cos(t), which is exp(sin(first) - sin(last))."""
    return integrate.odeint(lambda y, t: -y * fnp.cos(t), np.array([1.0]), times)[-1, 0]


def of_times(times: Any) -> tuple[Any, Any]:
    y = np.exp(np.sin(times[0]) - np.sin(times[-1]))
    return y, y * np.array([np.cos(times[0]), 0, -np.cos(times[-1])])


OF_SIGNALS = {
    "HIPS/autograd 185: gradient of a masked spectrum": Row(
        lambda x: fnp.sum(fnp.abs(np.fft.fftn(x) * MASK) ** 2), GRID, np.sum(np.abs(np.fft.fftn(GRID) * MASK) ** 2),
        32 * np.fft.ifftn(np.fft.fftn(GRID) * MASK).real,
    ),
    "HIPS/autograd 360: tensordot with complex numbers": Row(lambda x: fnp.abs(np.tensordot(x, np.array([1, 1j]), ([0], [0]))) ** 2, np.ones(2), 2.0, [2.0, 2.0], 2 * IDENTITY),
    "HIPS/autograd 116: derivatives of exp(-x**2) at 0": Row(lambda x: fnp.exp(-(x**2)), 0.0, 1.0, 0.0, -2.0),
    "jax 22466: norms of dct and a longer idct": Row(lambda x: fft.idct(fft.dct(x, norm="ortho"), n=9), SIGNAL, scipy.fft.idct(scipy.fft.dct(SIGNAL, norm="ortho"), n=9)),
    "jax 11008: interp of complex numbers with a period": Row(lambda x: np.interp(x, KNOTS, HEIGHTS, period=0.59), -3.9354, np.interp(-3.9354, KNOTS, HEIGHTS, period=0.59)),
    "jax 36499: an interpolator on a decreasing axis": Row(lambda v: interpolate.RegularGridInterpolator(CORNERS, v)(ASKED), TABLE, [40.0, 48.0]),
    "jax 5687: map_coordinates beyond the last sample": Row(lambda a: ndimage.map_coordinates(a, PLACES, order=1), np.array([5.0, 1, 6]), [0, 3.8, 6, 0, 0]),
    "jax 11097: map_coordinates, mirrored": Row(lambda a: ndimage.map_coordinates(a, PLACES, order=1, mode="mirror"), np.array([5.0, 1, 6]), [3.4, 3.8, 6, 1.5, 1], [0.6 + 0.7, 0.4 + 0.3 + 0.9 + 1, 1 + 0.1]),
    "scipy 6713: zoom lost a row": Row(lambda a: ndimage.zoom(a, 0.125, order=1), np.ones((64, 48)), np.ones((8, 6))),
    "scipy 18675: detrend with a list of breaks": Row(lambda x: signal.detrend(x, bp=[0, 2]), np.array([1.0, 2, 5, 3, 1]), np.zeros(5)),
    "jax 15588: gradient of what is constant": Row(lambda x: well(x), 0.5, 0.0, 0.0),
    "jax 2345: odeint by its times": Row(solved, TIMES, *of_times(TIMES), None, 1e-5),
    "jax 3442: odeint back in time": Row(solved, TIMES[::-1].copy(), *of_times(TIMES[::-1]), None, 1e-5),
}  # fmt: skip


def well(x: Any) -> Any:
    """Return a smooth function that is 0 between -1 and 1, and 1 beyond -1.5 and 1.5."""
    bump = lambda x: fnp.where(x < 0, 0.0, fnp.exp(-1 / fnp.maximum(x, 1e-2)))
    step = lambda x: bump(x) / (bump(x) + bump(1 - x))
    return step((x - 1) / 0.5) + step((-x - 1) / 0.5)


# Indices, updates, branches

AT_A_POINT = lax.ScatterDimensionNumbers((), (0,), (0,))
BEYOND, THREE = np.array([[9]]), np.array([1.0, 2.0, 3.0])


def largest_of(mode: str) -> Any:
    return lambda x: lax.scatter_max(x, BEYOND, np.array([3.5]), AT_A_POINT, mode=mode)


def changed_first(x: Any) -> Any:
    y = x * x
    y[0] += 3
    return fnp.sum(y**2)


OF_INDICES = {
    "jax 12469: gradient of products at repeated places": Row(lambda u: fg.at(np.arange(1.0, 6))[np.array([0, 0, 3])].multiply(u), np.array([2.0, 0, 5]), [0, 2, 3, 20, 5], [0, 2, 4]),
    "jax 40626: scatter_max, clipped": Row(largest_of("clip"), THREE, [1, 2, 3.5], [1, 1, 0]),
    "jax 40626: scatter_max, dropped": Row(largest_of("drop"), THREE, [1, 2, 3], [1, 1, 1]),
    "jax 9296: gradient of segment_prod with zeros": Row(lambda x: ops.segment_prod(x, np.array([0, 0, 1, 1, 2]), 3), np.array([2.0, 0, 0, 0, 5]), [0, 0, 5], [0, 2, 0, 0, 1]),
    "jax 1104: indices made of what is differentiated": Row(lambda x: fg.at(np.zeros(3))[(x - 1).astype(np.int32)].set(x), THREE, THREE, [1, 1, 1], np.zeros((3, 3))),
    "functorch 381: an element changed in place": Row(changed_first, np.array([1.0, 2.0]), 32.0, [16.0, 32.0], np.diag([24.0, 48.0])),
    "jax 2264: grad of cond under vmap": Row(lambda x: lax.cond(x > 0, lambda x: x**2, lambda x: -(x**3), x), -2.0, 8.0, -12.0, 12.0),
}  # fmt: skip

ROWS = OF_FUNCTIONS | OF_DISTRIBUTIONS | OF_MATRICES | OF_SIGNALS | OF_INDICES


@pytest.mark.parametrize("name", ROWS)
def test_values_and_derivatives(name):
    f, x, value, first, second, tolerance = ROWS[name]
    x = np.asarray(x)
    agree(f(x), value, tolerance, "plain")
    agree(fg.jit(f)(x), value, tolerance, "jit")
    agree(fg.vmap(f)(twice(x)), twice(value), tolerance, "vmap")
    total = lambda x: fnp.sum(f(x))
    if first is not None:
        gradient = fg.grad(total)
        agree(gradient(x), first, tolerance, "grad")
        agree(fg.jit(gradient)(x), first, tolerance, "jit of grad")
        agree(fg.vmap(gradient)(twice(x)), twice(first), tolerance, "vmap of grad")
        sums = fg.grad(lambda xs: fnp.sum(fg.vmap(f)(xs)))
        agree(sums(twice(x)), twice(first), tolerance, "grad of vmap")
        agree(fg.jacfwd(total)(x), first, tolerance, "jacfwd")
    if second is not None:
        agree(fg.hessian(total)(x), second, tolerance, "hessian")
        agree(fg.jacrev(fg.jacrev(total))(x), second, tolerance, "reverse twice")


# Programs of another form: what they give, and what they should give


@fg.custom_vjp
def scaled(x, factor):
    return x * factor


scaled.defvjp(lambda x, c: (x * c, (x, c)), lambda kept, g: (g * kept[1], (kept[0] * g).sum()))


@fg.custom_vjp
def added(a, b):
    return a + b


added.defvjp(lambda a, b: (a + b, None), lambda _, g: (g, g))


def scaled_in_a_scan():
    thrice = lambda x, c: lax.scan(lambda x, _: (scaled(x, c), None), x, np.arange(3))[0]
    x, seed = np.arange(6.0).reshape(3, 2), np.ones((3, 2))
    _, pull = fg.vjp(fg.vmap(thrice, (0, None)), x, np.array(2.0))
    return pull(seed), (8 * seed, 12 * x.sum())


def gradients_in_a_scan():
    gradient = fg.grad(lambda x: fg.vmap(lambda x: scaled(x, 2.0).sum())(x).sum())
    _, found = lax.scan(lambda c, _: (c, gradient(c)), np.ones((4, 3)), np.arange(2))
    return found, np.full((2, 4, 3), 2.0)


def loops_of_loops():
    def steps(size, n):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + size), (0, 0.0))[1]

    sizes, counts = np.linspace(0.1, 1, 5), np.arange(5)
    outer = fg.vmap(lambda n: fg.vmap(lambda s: steps(s, n))(sizes))(counts)
    inner = fg.vmap(lambda s: fg.vmap(lambda n: steps(s, n))(counts))(sizes)
    return (outer, inner), (np.outer(counts, sizes), np.outer(sizes, counts))


def custom_rules_of_both_kinds():
    mapped = fg.custom_batching.custom_vmap(added)
    mapped.def_vmap(lambda size, batched, a, b: (added(a, b), True))
    return fg.grad(lambda a: fnp.sum(fg.vmap(mapped)(a, a)))(np.ones(3)), np.full(3, 2.0)


def searched():
    borders = np.array([[1, 4, 5, 7, 9], [1, 2, 5, 7, 9]])
    return fg.vmap(np.searchsorted, (0, None))(borders, 3), np.array([1, 2])


def integers(ufunc: Any, divisor: int) -> Any:
    def program():
        x = np.array([0, 1, -1, -(2**31), 2**31 - 1], np.int32)
        return fg.jit(ufunc)(x, np.full(5, divisor, np.int32)), ufunc(x, np.int32(divisor))

    return program


def powers_that_overflow():
    x, y = np.full(4, 2, np.int8), np.array([6, 7, 8, 64], np.int8)
    found = (
        fg.jit(np.power)(x, y),
        fg.jit(lambda x: x**64)(x),
        fg.jit(lambda x: x[0] ** np.int8(7))(x),
    )
    return found, (np.array([64, -128, 0, 0], np.int8), np.zeros(4, np.int8), np.int8(-128))


def polynomials_that_overflow():
    p = np.array([1, 0, 1])
    return fg.jit(lambda p: np.polyval(p, 2**40 + 1))(p), np.int64(2**41 + 2)


def places_of_maxima():
    x = np.array([[NAN, 1.0, 3.0, 3.0], [2.0, NAN, 0.0, -INF]])
    return fg.jit(lambda x: (np.nanargmax(x), np.nanargmax(x, 1)))(x), (
        np.int64(2),
        np.array([2, 0]),
    )


def reversed_views():
    x = np.arange(12.0).reshape(3, 4)
    found = fg.jit(lambda x: np.cumsum(x, 0))(x[::-1, ::-2]), fg.jit(lambda x: x[:0][::-1])(x)
    return found, (np.cumsum(x[::-1, ::-2], 0), x[:0])


def spectrum():
    x = np.sin(np.linspace(0, 5, 300))
    frequencies, _ = fg.jit(lambda x: signal.welch(x, 60, nperseg=75, nfft=600))(x)
    return frequencies, np.linspace(0, 30, 301)


def eigenvalues_in_a_scan():
    h = np.array([[1.0, 1j], [-1j, 1.0]])  # of eigenvalues 0 and 2
    f = lambda c: lax.scan(lambda s, _: (s + fnp.sum(np.linalg.eigh(s * h)[0]), None), c, None, 2)[
        0
    ]
    return fg.grad(f)(0.3), np.float64(9.0)


def kernel_of_equal_points():
    kernel = lambda x, y: fnp.exp(-fnp.sum((x - y) ** 2))
    x = np.array([0.3, -1.0, 2.0])
    return fg.jacfwd(fg.grad(kernel), 1)(x, x), 2 * np.eye(3)


def power_of_infinity():
    g = fg.grad(lambda z: fnp.power(z, 1.0).real)
    return (g(INF + 0j), fg.jit(g)(INF + 0j)), (np.complex128(1), np.complex128(1))


PROGRAMS = {
    "jax 5832: custom_vjp in scan under vmap": scaled_in_a_scan,
    "jax 4173: grad of vmap of custom_vjp in scan": gradients_in_a_scan,
    "jax 2960: while_loop under two vmaps": loops_of_loops,
    "jax 14150: custom_vjp and custom_vmap of one function": custom_rules_of_both_kinds,
    "pytorch 95888: vmap of searchsorted": searched,
    "jax 37819: integers divided by 0": integers(np.floor_divide, 0),
    "jax 37819: remainders by 0": integers(np.remainder, 0),
    "jax 37819: the least integer divided by -1": integers(np.floor_divide, -1),
    "jax 10692: powers of int8 that overflow": powers_that_overflow,
    "cupy 6661: polyval of large integers": polynomials_that_overflow,
    "cupy 8784: nanargmax": places_of_maxima,
    "cupy 5427: reversed views, also of no elements": reversed_views,
    "scipy 4962: the last frequency of welch": spectrum,
    "jax 2325: eigenvalues of complex matrices in scan": eigenvalues_in_a_scan,
    "pytorch 92075: mixed derivatives of a kernel at equal points": kernel_of_equal_points,
    "jax 18749: gradient of a power at infinity": power_of_infinity,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name):
    found, expected = PROGRAMS[name]()
    found, expected = fg.tree.leaves(found), fg.tree.leaves(expected)
    for x, y in zip(found, expected, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, 1e-12, 1e-12)


# What cannot be computed is refused, in words


def kept_from_vmap():
    kept: list[Any] = []
    fg.vmap(lambda x: (kept.append(x), x)[1])(np.ones(3))
    fnp.sin(kept[0])


X = np.arange(3.0)
REFUSALS = {
    "functorch 1054: a tracer that outlives vmap": (kept_from_vmap, fg.LeakedTracerError, "after `vmap"),
    "pytorch 60365: an array picked by a traced mask": (lambda: fg.vmap(lambda mask: X[mask].sum())(np.eye(3) > 0.5), fg.ConcretizationError, "mask|value"),
    "jax 18226: eig of NaN": (lambda: fg.jit(np.linalg.eig)(np.full((2, 2), NAN)), np.linalg.LinAlgError, "infs or NaNs"),
    "HIPS/autograd 370: gradient by integers": (lambda: fg.grad(lambda x: fnp.sum(x**2))(np.arange(3)), TypeError, "floating-point"),
    "cupy 8014: argmax of nothing": (lambda: fg.jit(np.argmax)(np.zeros(0)), ValueError, "empty sequence"),
    "jax 38520: dirichlet.logpdf where it is infinite": (lambda: stats.dirichlet.logpdf(np.array([0, 0.5, 0.5]), np.full(3, 0.5)), ValueError, "greater than zero"),
}  # fmt: skip


def test_an_array_is_picked_by_a_mapped_mask():
    """PyTorch 60365: refused where functions are not read."""
    masks = np.array([[True, False, True], [False, True, False], [False, False, False]])
    found = fg.vmap(lambda mask: X[mask].sum())(masks)
    np.testing.assert_array_equal(found, [X[mask].sum() for mask in masks])


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name, as_written):
    program, error, words = REFUSALS[name]
    with pytest.raises(error, match=words):
        program()
