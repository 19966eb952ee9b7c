"""Values, first and second derivatives of the special functions against mpmath, at points that are hard.

Tiny and huge arguments, poles, branch points, both tails: where a formula that is right loses its digits. `check` walks
one function, over its own points and over random ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.scipy import special

mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp.clone()

POLES = (ValueError, ZeroDivisionError, mpmath.libmp.NoConvergence)
"""What mpmath raises at poles."""

TINY = (1e-200, 1e-18, 1e-8, 1e-3)
SMALL = (0.1, 0.5, 0.9)
LARGE = (1.0, 1.5, 2.5, 7.3, 18.0)
TAIL = (30.0, 50.0, 300.0)
HUGE = (1e5, 1e10, 1e100)


def signed(points: Sequence[float]) -> tuple[float, ...]:
    """Return the points on both sides of 0."""
    return (*[-x for x in reversed(points)], *points)


def beside(*centres: float, by: Sequence[float] = (1e-3, 1e-8)) -> tuple[float, ...]:
    """Return points beside others."""
    return tuple(c + s * d for c in centres for d in by for s in (-1, 1))


@dataclasses.dataclass(frozen=True)
class Walk:
    """How a function is checked.

    Attributes
    ----------
    oracle
        The function of mpmath's numbers.
    grids
        Points of each argument; all combinations are taken.
    by
        Positions of arguments to differentiate by, all by default.
    tolerance
        Of the errors of value, first and second derivatives, relative to what is computed plus what a change of the
        arguments by their own size would change in it, at first order.
    spread
        By how much random points are off the grid, relatively.
    without
        Tells which points to leave out.
    digits
        To how many digits difference quotients are computed, at least.
    """

    oracle: Callable[..., Any]
    grids: tuple[Sequence[Any], ...]
    by: tuple[int, ...] | None = None
    tolerance: tuple[float, float, float] = (1e-13, 1e-12, 1e-12)
    spread: float = 0.05
    without: Callable[..., bool] = lambda *_: False
    digits: int = 40


def difference_quotient(f: Callable[..., Any], point: Sequence[Any], orders: Sequence[int]) -> Any:
    """Return a derivative of mpmath's function, to about 60 digits."""
    moving = [i for i, n in enumerate(orders) if n]
    if not moving:
        return f(*point)
    (i, *_), rest = moving, list(orders)
    rest[i] = 0
    x = point[i]

    def along(y: Any) -> Any:
        return difference_quotient(f, [*point[:i], y, *point[i + 1 :]], rest)

    return mp.diff(along, x, orders[i])


class Quotients:
    """Difference quotients of mpmath's function at a point, of orders up to 2, to about as many digits as `mp` has.

    All are made of the same values, each of which is computed once.
    """

    def __init__(self, f: Callable[..., Any], point: Sequence[Any]) -> None:
        self.f = f
        self.point = point
        self.step = mp.ldexp(1, -mp.prec - 10)
        self.precision = 3 * (mp.prec + 20)  # second differences lose two thirds
        self.values: dict[tuple[int, ...], Any] = {}

    def value(self, *moved: tuple[int, int]) -> Any:
        """Return the value where arguments are moved by a number of steps: pairs of position and number."""
        offsets = dict(moved)
        key = tuple(offsets.get(i, 0) for i in range(len(self.point)))
        if key not in self.values:
            at = [x + n * self.step if n else x for x, n in zip(self.point, key, strict=True)]
            self.values[key] = self.f(*at)
        return self.values[key]

    def first(self, i: int, *moved: tuple[int, int]) -> Any:
        """Return the first derivative by an argument, where others are moved."""
        return (self.value((i, 1), *moved) - self.value((i, -1), *moved)) / (2 * self.step)

    def second(self, i: int, j: int) -> Any:
        """Return the second derivative by two arguments."""
        if i == j:
            both = self.value((i, 1)) + self.value((i, -1))
            return (both - 2 * self.value()) / self.step**2
        return (self.first(i, (j, 1)) - self.first(i, (j, -1))) / (2 * self.step)

    def derivative(self, orders: Sequence[int]) -> Any:
        """Return the derivative of some orders in the arguments."""
        moving = [i for i, n in enumerate(orders) for _ in range(n)]
        with mp.workprec(self.precision):
            found = (self.value, self.first, self.second)[len(moving)](*moving)
        return +found


def digits_for(point: Sequence[Any]) -> int:
    """Return to how many digits a difference quotient at a point is to be computed."""
    sizes = [abs(math.log10(abs(x))) for x in point if isinstance(x, float) and x]
    return int(1.1 * max(sizes, default=0))


def orders_of(by: Sequence[int], count: int, degree: int) -> list[tuple[int, ...]]:
    """Return the multi-indices of all derivatives of a degree."""
    chosen = itertools.combinations_with_replacement(by, degree)
    return [tuple(c.count(i) for i in range(count)) for c in chosen]


def derivative(f: Callable[..., Any], orders: Sequence[int]) -> Callable[..., Any]:
    """Return the derivative by fungrad."""
    for i, n in enumerate(orders):
        for _ in range(n):
            f = fg.grad(f, i)
    return f


def faults(name: str, points: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return what is wrong about a function at some points."""
    walk = WALKS[name]
    f = FUNCTIONS.get(name) or getattr(special, name)
    found = []
    for point in points:
        if walk.without(*point):
            continue
        mp.dps = walk.digits + digits_for(point)
        exact = [mp.mpf(x) if isinstance(x, float) else x for x in point]
        quotients = Quotients(walk.oracle, exact)
        by = walk.by if walk.by is not None else tuple(range(len(point)))
        for degree in (0, 1, 2):
            for orders in orders_of(by, len(point), degree):
                try:
                    expected = quotients.derivative(orders)
                except POLES:
                    continue  # a pole
                with np.errstate(all="ignore"):
                    got = float(derivative(f, orders)(*point))
                scale = abs(expected)
                noise = abs(quotients.derivative([0] * len(point))) * mp.mpf(10) ** (
                    20 - mp.dps
                ) + mp.mpf(1e-300)
                if not (mp.isfinite(expected) and mp.im(expected) == 0):
                    continue
                error = abs(got - expected) if math.isfinite(got) else mp.inf
                if math.isinf(got) and got * expected > 0 and abs(expected) > mp.mpf(1.7e308):
                    continue
                allowed = walk.tolerance[degree]
                if error <= allowed * scale + noise:
                    continue
                for i in range(len(point)):
                    if not isinstance(point[i], float):
                        continue
                    higher = tuple(n + (i == j) for j, n in enumerate(orders))
                    with contextlib.suppress(*POLES):
                        scale += abs(exact[i] * difference_quotient(walk.oracle, exact, higher))
                if not error <= allowed * scale + noise:
                    found.append(
                        f"{name}{point} by {orders}: {got!r}, should be {mp.nstr(expected, 17)} "
                        f"(error {mp.nstr(error / scale if scale else error, 3)})"
                    )
    return found


def check(name: str, rng: np.random.Generator, count: int = 5) -> None:
    """Check a function at `count` random points near those of its grids."""
    walk = WALKS[name]
    points = []
    for _ in range(count):
        grids = [grid[rng.integers(len(grid))] for grid in walk.grids]
        points.append(
            tuple(
                x * (1 + walk.spread * rng.uniform(-1, 1)) if isinstance(x, float) else x
                for x in grids
            )
        )
    found = faults(name, points)
    assert not found, "\n".join(found)


# What mpmath lacks, or gives less precisely.


def normal_cdf(x: Any) -> Any:
    """Return the distribution function of the standard normal distribution."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


def inverse(f: Callable[..., Any], slope: Callable[..., Any], start: Callable[..., Any]) -> Any:
    """Return the inverse of a function, by Newton's method from what is nearly it."""

    def function(y: Any) -> Any:
        x = mp.mpf(float(start(float(y))))
        digits = [mp.dps]
        while digits[-1] > 16:  # each step doubles the right digits, so the first need few
            digits.append(digits[-1] // 2 + 4)
        for n in reversed(digits):
            with mp.workdps(n + 15):
                x -= (f(x) - y) / slope(x)
        return x

    return function


def bell(x: Any) -> Any:
    """Return the derivative of the error function."""
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


def power_transform(logarithm: Callable[..., Any]) -> Callable[..., Any]:
    """Return (exp(p log) - 1) / p."""
    return lambda x, p: mp.expm1(p * logarithm(x)) / p if p else logarithm(x)


def owens(h: Any, a: Any) -> Any:
    """Return Owen's function, the integral that it is defined by."""
    ends = mp.linspace(0, a, 5)
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), ends) / (2 * mp.pi)


def beta_cdf(a: Any, b: Any, x: Any) -> Any:
    """Return the regularized incomplete beta function."""
    return mp.betainc(a, b, 0, x, regularized=True)


def student_cdf(df: Any, t: Any) -> Any:
    """Return Student's distribution function."""
    tail = beta_cdf(df / 2, mp.mpf(0.5), df / (df + t * t)) / 2
    return tail if t < 0 else 1 - tail


def scaled(f: Callable[..., Any], factor: Callable[..., Any]) -> Callable[..., Any]:
    """Return the product of a function with one of its last argument."""
    return lambda *x: f(*x) * factor(x[-1])


def fix(f: Callable[..., Any], *leading: Any) -> Callable[..., Any]:
    """Return a function with its first arguments fixed."""
    return functools.partial(f, *leading)


def by_last(
    name: str, oracle: Callable[..., Any], *grids: Sequence[Any], **more: Any
) -> dict[str, Walk]:
    """Return the row of a function that is differentiated by its last argument."""
    return {name: Walk(oracle, grids, by=(len(grids) - 1,), tolerance=SMOOTH, **more)}


REAL = (*signed((*TINY, *SMALL, *LARGE, *TAIL)), 0.0)
MODERATE = (*signed((*TINY, *SMALL, *LARGE)), 0.0)
POSITIVE = (*TINY, *SMALL, *LARGE, *TAIL)
NARROW = (1e-8, 0.1, 0.5, 1.0, 7.3, 18.0)
UNIT = (*TINY, *SMALL, *beside(0.5), 1 - 1e-3, 1 - 1e-8, 1 - 1e-15)
GAMMA = (
    *signed((1e-18, 1e-8, 1e-3)), *SMALL, *LARGE, 100.0, -0.5, -1.5, -5.3, -20.7,
    *beside(-1.0, -2.0, -7.0, 1.0, 2.0),
)  # fmt: skip
RGAMMA = (
    *GAMMA, *signed((1e-200,)), *range(-5, 1), -20,
    *beside(0.0, -1.0, -3.0, -5.0, by=(1e-1, 1e-2, 1e-4, 1e-6, 1e-10, 1e-15)),
)  # fmt: skip
MODULI = (*signed((1e-200, 1e-8, 1e-3, *SMALL)), 0.0, -1.0, -7.3, -300.0, -1e5, 1 - 1e-3, 1 - 1e-8)
PHASES = (1e-8, 1.0, math.pi / 2, -10.0)
PARAMETERS = (-5.0, -1e-8, 0.0, 0.5, 0.9)
POWERS = (-2.0, -1e-8, -1e-20, 0.0, 1e-20, 1e-8, 0.5, 1.0, 2.0, 18.0)
RATIOS = (1e-100, 1e-8, 0.5, -1e-8, -0.4, 2.5, 10.0)
ORDERS = (0.0, 0.5, 1.0, 2.0, 3.3, -0.5)

SMOOTH = (1e-12, 1e-12, 1e-11)
"""Where SciPy's own value is a few hundred units in the last place off."""
ROUGH = (2e-10, 2e-10, 2e-10)
"""Where SciPy's own value has lost more; its derivatives are made of such values."""

WALKS: dict[str, Walk] = {
    # Gamma functions
    "gamma": Walk(mp.gamma, (GAMMA,)),
    "gammaln": Walk(lambda x: mp.log(abs(mp.gamma(x))), ((*GAMMA, *HUGE),)),
    "loggamma": Walk(mp.loggamma, ((*POSITIVE[1:], 1e10),)),
    "rgamma": Walk(mp.rgamma, (tuple(map(float, RGAMMA)),)),
    "digamma": Walk(mp.digamma, ((*GAMMA, *HUGE),)),
    **{f"polygamma{n}": Walk(fix(mp.polygamma, n), (NARROW,)) for n in (1, 2, 5)},
    "poch": Walk(
        lambda a, m: mp.gammaprod([a + m], [a]),
        ((1e-200, 1e-20, 0.3, 30.0, 1e5, -1.3, -1 + 1e-8), (0.6, 1.5, 1e-20, 3.3)),
        tolerance=SMOOTH,
        without=lambda a, m: a == -1 + 1e-8 and m < 1e-3,  # a + m is rounded
    ),
    "binom": Walk(
        mp.binomial, ((0.3, 1.0, 2.5, 30.0, -0.5), (0.5, 1.5, 1e-8, 1e-20, 3.3, 10.0)), tolerance=SMOOTH
    ),
    "beta": Walk(mp.beta, ((0.3, 1.0, 2.5, 30.0), (0.1, 0.5, 3.3, 100.0)), tolerance=SMOOTH),
    "betaln": Walk(
        lambda a, b: mp.log(mp.beta(a, b)),
        ((1e-100, 1e-8, 0.3, 2.5, 30.0, 1e4), (1e-20, 0.5, 3.3, 100.0, 1e4)),
        tolerance=(1e-11, 1e-12, 1e-12),
    ),
    "zeta": Walk(
        lambda s, q: mp.zeta(s, q),
        ((1.0001, 1.5, 5.0), (1e-3, 0.5, 1.0, 7.3, 300.0)),
        without=lambda s, q: s <= 1,
    ),
    "zeta of Riemann": Walk(
        mp.zeta, ((1 + 1e-8, 1.001, 1.5, 2.0, 7.3, 30.0, 0.5, 0.0, -0.5, -1.0, -2.0, -3.0, -7.3, 1e-8),)
    ),
    # Error functions and the normal distribution
    "erf": Walk(mp.erf, (MODERATE,), digits=200),
    "erfc": Walk(mp.erfc, (MODERATE,), digits=200),
    "erfcx": Walk(
        lambda x: mp.exp(x * x) * mp.erfc(x), ((*MODERATE, *beside(8.0), *TAIL, 1e5, 1e10),), digits=200
    ),
    "erfi": Walk(mp.erfi, (MODERATE,)),
    "dawsn": Walk(lambda x: bell(x) * mp.erfi(x) * mp.pi / 4, ((*MODERATE, *beside(8.0)),)),
    "erfinv": Walk(
        inverse(mp.erf, bell, special.erfinv), (signed((1e-18, 1e-8, 1e-3, *SMALL, 1 - 1e-8)),)
    ),
    "erfcinv": Walk(
        inverse(mp.erfc, lambda x: -bell(x), special.erfcinv),
        ((1e-100, 1e-18, 1e-8, 1e-3, *SMALL, 1 + 1e-8, 1.5, 1.999, 2 - 1e-13),),
    ),
    "ndtr": Walk(normal_cdf, (REAL,), digits=340, without=lambda x: x < -37),
    "log_ndtr": Walk(
        lambda x: mp.log(normal_cdf(x)), ((*REAL, -1e5, -1e10, -40.0, -14.5, -5.1, 8.0),), digits=340
    ),
    "ndtri": Walk(inverse(normal_cdf, mp.npdf, special.ndtri), ((1e-200, 1e-100, *UNIT),)),
    "ndtri_exp": Walk(
        inverse(
            lambda x: mp.log(normal_cdf(x)), lambda x: mp.npdf(x) / normal_cdf(x), special.ndtri_exp
        ),
        ((-1e5, -300.0, -50.0, -7.3, -2.0, -1.0, -0.1, -1e-3, -1e-8),),
        tolerance=SMOOTH,
    ),
    "owens_t": Walk(owens, ((0.1, 7.3), (-2.0,))),
    "fresnel_s": Walk(mp.fresnels, (MODERATE,), without=lambda x: abs(x) < 1e-100),
    "fresnel_c": Walk(mp.fresnelc, (MODERATE,)),
    # Exponential and trigonometric integrals
    "exp1": Walk(mp.e1, (POSITIVE,)),
    "expi": Walk(mp.ei, (signed(POSITIVE),)),
    **by_last("expn", mp.expint, (0, 1, 2, 3, 10), (1e-8, 0.1, 1.0, 7.3, 50.0, 300.0)),
    "exprel": Walk(lambda x: mp.expm1(x) / x if x else mp.mpf(1), (REAL,), digits=200),
    "si": Walk(mp.si, (REAL,)),
    "ci": Walk(mp.ci, (POSITIVE,)),
    "shi": Walk(mp.shi, (REAL,), digits=200),
    "chi": Walk(mp.chi, (POSITIVE,), digits=200),
    "spence": Walk(
        lambda x: mp.polylog(2, 1 - x), ((*TINY, *SMALL, *beside(1.0), *LARGE, 300.0, 1e5, 1e10),)
    ),
    "wrightomega": Walk(lambda x: mp.lambertw(mp.exp(x)).real, ((*REAL, 1e5, 1e10),), digits=200),
    "lambertw": Walk(
        lambda x: mp.lambertw(x).real, ((*POSITIVE, 0.0, *HUGE, -1e-200, -1e-8, -0.1, -0.36),)
    ),
    # Bessel and Airy functions
    "j0": Walk(fix(mp.besselj, 0), (MODERATE,)),
    "j1": Walk(fix(mp.besselj, 1), (MODERATE,)),
    "y0": Walk(fix(mp.bessely, 0), (NARROW,)),
    "y1": Walk(fix(mp.bessely, 1), (NARROW,)),
    "i0": Walk(fix(mp.besseli, 0), (REAL,)),
    "i1": Walk(fix(mp.besseli, 1), (REAL,), without=lambda x: 0 < abs(x) < 1e-100),
    "k0": Walk(fix(mp.besselk, 0), (NARROW,)),
    "k1": Walk(fix(mp.besselk, 1), (NARROW,)),
    "i0e": Walk(scaled(fix(mp.besseli, 0), lambda x: mp.exp(-abs(x))), (signed(NARROW),)),
    "i1e": Walk(scaled(fix(mp.besseli, 1), lambda x: mp.exp(-abs(x))), (signed(NARROW),)),
    "k0e": Walk(scaled(fix(mp.besselk, 0), mp.exp), (NARROW,)),
    "k1e": Walk(scaled(fix(mp.besselk, 1), mp.exp), (NARROW,)),
    **by_last("jv", mp.besselj, ORDERS, NARROW),
    **by_last("yv", mp.bessely, ORDERS, NARROW),
    **by_last("iv", mp.besseli, ORDERS, NARROW),
    "ive": Walk(
        scaled(mp.besseli, lambda x: mp.exp(-abs(x))), (ORDERS, NARROW), by=(1,), tolerance=SMOOTH
    ),
    "kv": Walk(mp.besselk, ((0.0, 3.3), (1e-3, 2.5, 50.0))),
    "kve": Walk(scaled(mp.besselk, mp.exp), ((0.0, 3.3), (1e-3, 2.5, 50.0))),
    "airy_ai": Walk(mp.airyai, ((*MODERATE, 30.0),)),
    "airy_aip": Walk(lambda x: mp.airyai(x, 1), ((*MODERATE, 30.0),)),
    "airy_bi": Walk(mp.airybi, ((*MODERATE, 30.0),)),
    "airy_bip": Walk(lambda x: mp.airybi(x, 1), ((*MODERATE, 30.0),)),
    # Hypergeometric functions and elliptic integrals
    **by_last("hyp0f1", mp.hyp0f1, (0.5, 1.0, 3.3), (1e-8, 0.1, -0.5, 1.0, -7.3, 18.0, 0.0)),
    **by_last("hyp1f1", mp.hyp1f1, (0.5, -0.7), (1.0, 3.3), (1e-8, 0.1, -0.5, -7.3, 18.0, 0.0)),
    **by_last("hyp2f1", mp.hyp2f1, (0.5, -0.7), (1.0, 3.3), (2.2,), (1e-8, -0.5, 0.9, -7.3, 0.0)),
    # SciPy's values, of which derivatives are made, lose digits beside whole b: 1e-12 at 0.01, 5e-7 at 1e-6.
    **by_last("hyperu", mp.hyperu, (0.5, 1.0), (1.0, 3.3), (1e-3, 0.1, 1.0), without=lambda _, b, __: 0 < abs(b - round(b)) < 0.04),
    "ellipk": Walk(mp.ellipk, (MODULI,)),
    "ellipe": Walk(mp.ellipe, (MODULI,)),
    "ellipkm1": Walk(lambda p: mp.ellipk(1 - p), ((*TINY[1:], *SMALL, 1.0, 1.1, 1.5, 2.5, 7.3, 300.0),)),
    "ellipkinc": Walk(mp.ellipf, (PHASES, PARAMETERS)),
    "ellipeinc": Walk(mp.ellipe, (PHASES, PARAMETERS)),
    # Elementary functions
    "exp2": Walk(lambda x: mp.mpf(2) ** x, (REAL,)),
    "exp10": Walk(lambda x: mp.mpf(10) ** x, (REAL,)),
    "expm1": Walk(mp.expm1, (REAL,), digits=200),
    "log1p": Walk(mp.log1p, ((*POSITIVE, *[-x for x in TINY], 1e10, 0.0, -0.5, -0.9, -1 + 1e-8),)),
    "cbrt": Walk(lambda x: mp.sign(x) * mp.cbrt(abs(x)), (signed((*POSITIVE, *HUGE)),)),
    "cosm1": Walk(lambda x: -2 * mp.sin(x / 2) ** 2, (REAL,)),
    "sinc": Walk(lambda x: mp.sinc(mp.pi * x), (MODERATE,)),
    "powm1": Walk(
        lambda x, y: mp.expm1(y * mp.log(x)),
        ((1e-8, 0.5, 1 - 1e-8, 1.0, 1 + 1e-8, 2.5, 30.0), (-30.0, *POWERS)),
        digits=300,
    ),
    "expit": Walk(lambda x: 1 / (1 + mp.exp(-x)), (REAL,), digits=200),
    "logit": Walk(lambda x: mp.log(x / (1 - x)), (UNIT,), without=lambda x: x < 1e-100),
    "log_expit": Walk(lambda x: -mp.log1p(mp.exp(-x)), (REAL,), digits=200),
    "softplus": Walk(lambda x: mp.log1p(mp.exp(x)), (REAL,), digits=200),
    "logaddexp": Walk(
        lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), ((-50.0, -1.0, 30.0), (0.0, 300.0, -300.0)), digits=700
    ),
    "logaddexp2": Walk(
        lambda x, y: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y, 2),
        ((-50.0, -1.0, 30.0), (0.0, 300.0, -300.0)),
        digits=400,
    ),
    "arctan2": Walk(mp.atan2, (signed((1e-100, 1e-8, 1.0, 1e10)), (-1.5, 1e-100, 1e-8, 2.5, 1e10))),
    "hypot": Walk(mp.hypot, (signed((1e-100, 1e-8, 1.0, 1e10)), (-1.5, 1e-100, 1e-8, 2.5, 1e10))),
    "arcsinh": Walk(mp.asinh, ((*REAL, *HUGE[:2]),)),
    "arccosh": Walk(mp.acosh, ((*beside(1.0)[1::2], *LARGE[1:], *TAIL, *HUGE[:2]),)),
    "arctanh": Walk(mp.atanh, (signed((*TINY, *SMALL, 1 - 1e-3, 1 - 1e-8)),)),
    "arcsin": Walk(mp.asin, (signed((*TINY, *SMALL, 1 - 1e-3, 1 - 1e-8)),)),
    "arccos": Walk(mp.acos, (signed((*TINY, *SMALL, 1 - 1e-3, 1 - 1e-8)),)),
    "arctan": Walk(mp.atan, ((*REAL, *HUGE[:2]),)),
    "tan": Walk(mp.tan, (MODERATE,)),
    "power": Walk(mp.power, ((1e-200, 1e-8, 1.0, 2.5, 30.0), (-2.5, -1.0, 1e-8, 0.5, 1.0, 2.0, 3.3))),
    # Entropies, losses, power transforms
    "xlogy": Walk(lambda x, y: x * mp.log(y), ((0.0, 1e-8, 1.5, -2.0), (1e-200, 1e-8, 0.5, 1.0, 1e10))),
    "xlog1py": Walk(
        lambda x, y: x * mp.log1p(y), ((0.0, 1e-8, 1.5, -2.0), (-0.5, 1e-200, 1e-8, 0.5, 1e10))
    ),
    "entr": Walk(lambda x: -x * mp.log(x), ((*POSITIVE, *HUGE),)),
    "rel_entr": Walk(lambda x, y: x * mp.log(x / y), ((1e-100, 1e-8, 1.0, 1.5), (1e-50, 1e-8, 1.0, 1.5))),
    "kl_div": Walk(
        lambda x, y: x * mp.log(x / y) - x + y, ((1e-100, 1e-8, 1.0, 1.5), (1e-50, 1e-8, 1.0, 1.5))
    ),
    "huber": Walk(
        lambda d, r: r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2),
        ((1e-8, 0.5, 1.3, 1e8), (1e-100, 1e-9, 0.0, 0.6, -3.0, 1e9, 1e50)),
    ),
    "pseudo_huber": Walk(
        lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1),
        ((1e-8, 0.5, 1.5, 1e8), (1e-30, 1e-8, 0.0, 0.5, -3.0, 1e8, 1e50)),
        digits=200,
    ),
    "boxcox": Walk(power_transform(mp.log), ((1e-8, 0.5, 1 - 1e-8, 2.5, 1e10), POWERS), digits=250),
    "boxcox1p": Walk(power_transform(mp.log1p), ((1e-100, 1e-8, 0.5, -0.5, 2.5, 1e10), POWERS), digits=250),
    "inv_boxcox": Walk(
        lambda y, p: mp.exp(mp.log1p(p * y) / p) if p else mp.exp(y), (RATIOS, (-0.09, *POWERS[1:-1])), digits=250
    ),
    "inv_boxcox1p": Walk(
        lambda y, p: mp.expm1(mp.log1p(p * y) / p) if p else mp.expm1(y),
        (RATIOS, (-0.09, *POWERS[1:-1])),
        digits=250,
    ),
    # Distribution functions, by their parameters too
    "gammainc": Walk(
        lambda a, x: mp.gammainc(a, 0, x, regularized=True),
        ((0.1, 18.0, 300.0), (1e-100, 0.1, 18.0, 290.0)),
        tolerance=(1e-12, 1e-11, 1e-10),
        digits=200,
    ),
    "gammaincc": Walk(
        lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
        ((0.1, 1.0, 18.0), (1e-8, 0.1, 2.5, 18.0, 50.0)),
        tolerance=(1e-12, 1e-11, 1e-10),
    ),
    "betainc": Walk(beta_cdf, ((0.1, 2.5, 30.0), (0.1, 3.3), (1e-8, 0.3, 0.9)), tolerance=(1e-12, 1e-11, 1e-10)),
    "stdtr": Walk(student_cdf, ((0.5, 3.3, 30.0), (-7.3, -1.0, 0.1, 7.3)), tolerance=(1e-12, 1e-11, 1e-10)),
}  # fmt: skip

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "fresnel_s": lambda x: special.fresnel(x)[0],
    "fresnel_c": lambda x: special.fresnel(x)[1],
    "si": lambda x: special.sici(x)[0],
    "ci": lambda x: special.sici(x)[1],
    "shi": lambda x: special.shichi(x)[0],
    "chi": lambda x: special.shichi(x)[1],
    "airy_ai": lambda x: special.airy(x)[0],
    "airy_aip": lambda x: special.airy(x)[1],
    "airy_bi": lambda x: special.airy(x)[2],
    "airy_bip": lambda x: special.airy(x)[3],
    **{f"polygamma{n}": functools.partial(special.polygamma, n) for n in (1, 2, 5)},
    "zeta of Riemann": lambda s: special.zeta(s),
    "lambertw": lambda x: special.lambertw(x).real,
    **{
        name: getattr(fnp, name)
        for name in (
            "logaddexp",
            "logaddexp2",
            "arctan2",
            "hypot",
            "arcsinh",
            "arccosh",
            "arctanh",
            "arcsin",
            "arccos",
            "arctan",
            "tan",
            "power",
        )
    },
}
"""Those of another name, or of several results."""


@pytest.mark.parametrize("name", WALKS)
def test_values_and_derivatives(name):
    found = faults(name, list(itertools.product(*WALKS[name].grids)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "x", [[0.0, 40.0, 3.0, -5.0], [700.0, 0.0, -20.0, 699.0], [1.0, 1.0, 1.0, -300.0]]
)
def test_sums_of_exponentials_where_one_term_outweighs_the_others(x):
    mp.dps = 700
    weights = [mp.exp(a) for a in x]
    p = [a / sum(weights) for a in weights]
    rest = [sum(b for j, b in enumerate(p) if j != i) for i in range(4)]  # 1 - p
    hessian = [[p[i] * (rest[i] if i == j else -p[j]) for j in range(4)] for i in range(4)]
    slopes = [[rest[i] if i == j else -p[j] for j in range(4)] for i in range(4)]
    # d^2 log p_i / dx_j dx_k is that of -logsumexp, for every i
    x = np.array(x)
    cases = [
        (fg.grad(special.logsumexp)(x), p),
        (fg.hessian(special.logsumexp)(x), hessian),
        (fg.jacrev(special.softmax)(x), hessian),
        (fg.jacfwd(special.softmax)(x), hessian),
        (fg.jacrev(special.log_softmax)(x), slopes),
        (fg.jacfwd(special.log_softmax)(x), slopes),
        (-fg.hessian(lambda x: special.log_softmax(x)[1])(x), hessian),
    ]
    for found, expected in cases:
        np.testing.assert_allclose(found, np.array(expected, float), rtol=1e-12, atol=1e-305)
