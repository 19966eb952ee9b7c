"""Which of SciPy's public functions can be differentiated as they are, with `fungrad.compat.numpy` and without.

``python -m tests.compat.scipy_walk [module ...] [--list]`` calls every public function of SciPy's modules with the first sample
arguments that it takes, and compares the gradient by one of them, in one direction, with central differences. ``--list`` names the functions
that have no derivative, with the reason.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib
import inspect
import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compat.numpy import tracing

MODULES = (
    *("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse"),
    *("sparse.linalg", "spatial", "spatial.distance", "special", "stats"),
)
SECONDS = 5

RNG = np.random.default_rng(1)
X = np.array([0.31, 0.72, 0.45, 0.93, 0.58, 0.17])
Y = np.array([1.2, 0.4, 2.1, 0.9, 1.6, 0.7])
A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
B = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.4], [0.1, 0.4, 1.0]])
V = np.array([1.0, 2.0, 0.5])
LONG = 0.3 + np.sin(np.arange(40.0)) + 0.1 * np.arange(40.0)
GRID = np.cos(np.arange(42.0)).reshape(6, 7)
POINTS = np.array([[0.1, 0.2], [0.9, 0.4], [0.5, 0.8], [0.2, 0.7], [0.6, 0.1]])
TIMES = np.array([0.0, 0.2, 0.5, 0.7, 1.1, 1.6])

ANY: list[tuple[Any, ...]] = [
    (X,), (X, Y), (A,), (A, V), (A, B), (GRID,), (X, 2), (2, X), (LONG,), (LONG, X), (V, V[::-1].copy()),
    (POINTS,), (POINTS, POINTS[::-1].copy()), (0.7,), (0.7, 1.3), (2, 0.7), (A, B, A), (X, Y, X + 0.1), (A, B, A, B),
]  # fmt: skip
FIRST: dict[str, list[tuple[Any, ...]]] = {
    "linalg": [(A,), (A, B), (A, V), (V,), (V, V), (A, B, A), (A, B, A, B), (V, V, V)],
    "ndimage": [(GRID,), (GRID, 2), (GRID, 1.5), (GRID, [0.2, 0.5, 0.3]), (GRID, np.ones((3, 3)))],
    "signal": [(LONG,), (LONG, X), (X,), (LONG, 5), (GRID, A), (X, Y, LONG), (2, 0.3)],
    "special": [(0.3,), (1.0, 0.3), (2.0, 1.0, 0.3), (2.0, 1.5, 1.0, 0.3), (2, 0.3), (2, 1, 0.3), (2, 1.5, 0.3), (X,)],
    "fft": [(LONG,), (GRID,)],
    "interpolate": [(TIMES, Y), (TIMES, Y, X)],
    "integrate": [(Y, TIMES), (Y,), (LONG[:33],)],
    "spatial": [(POINTS,), (POINTS, POINTS[::-1] ** 2)],
    "spatial.distance": [(X, Y), (POINTS,), (POINTS, POINTS[::-1] ** 2), (X, Y, 2), (X, Y, Y)],
}  # fmt: skip


def _decay(t: Any, y: Any, k: Any) -> Any:
    return -k * y


def _sparse(kind: str) -> Callable[..., Any]:
    def made(x: Any) -> Any:
        import scipy.sparse

        return getattr(scipy.sparse, kind)((x, ([0, 1, 2, 0, 1, 2], [0, 1, 2, 2, 0, 1]))) @ V

    return made


def _of(path: str, call: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return a function of an array that looks up what it calls when it is called, as a user's does."""
    module, _, name = path.rpartition(".")
    return lambda x: call(getattr(importlib.import_module(f"scipy.{module}"), name), copy.copy(x))


# Functions that take functions, make objects, or need special arguments: the call as a function of `x`, and `x`.
CALLS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "integrate.quad": (lambda f, x: f(lambda t: np.exp(-x * t), 0, 1)[0], 0.7),
    "integrate.dblquad": (lambda f, x: f(lambda s, t: np.exp(-x * t * s), 0, 1, 0, 1)[0], 0.7),
    "integrate.nquad": (lambda f, x: f(lambda t: np.exp(-x * t), [[0, 1]])[0], 0.7),
    "integrate.quad_vec": (lambda f, x: f(lambda t: np.exp(-x * t), 0, 1)[0], 0.7),
    "integrate.fixed_quad": (lambda f, x: f(lambda t: np.exp(-x * t), 0, 1)[0], 0.7),
    "integrate.solve_ivp": (lambda f, x: f(_decay, (0, 1), [1.0], t_eval=[0.5, 1.0], args=(x,), rtol=1e-8, atol=1e-10).y, 0.7),
    "integrate.odeint": (lambda f, x: f(_decay, [1.0], [0.0, 1.0], args=(x,), tfirst=True), 0.7),
    "integrate.tanhsinh": (lambda f, x: f(lambda t: np.exp(-x * t), 0, 1).integral, 0.7),
    "optimize.brentq": (lambda f, x: f(lambda t: t**3 - x, 0, 2), 0.7),
    "optimize.brenth": (lambda f, x: f(lambda t: t**3 - x, 0, 2), 0.7),
    "optimize.bisect": (lambda f, x: f(lambda t: t**3 - x, 0, 2), 0.7),
    "optimize.ridder": (lambda f, x: f(lambda t: t**3 - x, 0, 2), 0.7),
    "optimize.toms748": (lambda f, x: f(lambda t: t**3 - x, 0, 2), 0.7),
    "optimize.newton": (lambda f, x: f(lambda t: t**3 - x, 1.0), 0.7),
    "optimize.root_scalar": (lambda f, x: f(lambda t: t**3 - x, bracket=(0, 2)).root, 0.7),
    "optimize.fixed_point": (lambda f, x: f(lambda t: np.cos(x * t), 0.5), 0.7),
    "optimize.root": (lambda f, x: f(lambda t: t**3 - x, np.ones(3)).x, V),
    "optimize.fsolve": (lambda f, x: f(lambda t: t**3 - x, np.ones(3)), V),
    "optimize.minimize": (lambda f, x: f(lambda t: ((t - x) ** 2).sum() + (t**4).sum(), np.ones(3)).x, V),
    "optimize.minimize_scalar": (lambda f, x: f(lambda t: (t - x) ** 2 + t**4).x, 0.7),
    "optimize.least_squares": (lambda f, x: f(lambda t: t**3 - x, np.ones(3)).x, V),
    "optimize.curve_fit": (lambda f, x: f(lambda t, a, b: a * t + b * t * t, TIMES, x)[0], Y),
    "optimize.nnls": (lambda f, x: f(A, x)[0], V),
    "optimize.rosen": (lambda f, x: f(x), X),
    "optimize.rosen_der": (lambda f, x: f(x), X),
    "optimize.rosen_hess": (lambda f, x: f(x), X),
    "optimize.rosen_hess_prod": (lambda f, x: f(x, Y), X),
    "interpolate.BarycentricInterpolator": (lambda f, y: f(TIMES, y)(0.33), Y),
    "interpolate.KroghInterpolator": (lambda f, y: f(TIMES, y)(0.33), Y),
    "interpolate.barycentric_interpolate": (lambda f, y: f(TIMES, y, 0.33), Y),
    "interpolate.krogh_interpolate": (lambda f, y: f(TIMES, y, 0.33), Y),
    "interpolate.RBFInterpolator": (lambda f, y: f(POINTS, y)(POINTS[:2] * 0.9), V[[0, 1, 2, 0, 1]]),
    "interpolate.Rbf": (lambda f, y: f(TIMES, y)(0.33), Y),
    "interpolate.interp1d": (lambda f, y: f(TIMES, y)(0.33), Y),
    "interpolate.UnivariateSpline": (lambda f, y: f(TIMES, y)(0.33), Y),
    "interpolate.make_smoothing_spline": (lambda f, y: f(TIMES, y)(0.33), Y),
    "interpolate.RegularGridInterpolator": (lambda f, y: f((TIMES,), y)([0.33]), Y),
    "interpolate.interpn": (lambda f, y: f((TIMES,), y, [0.33]), Y),
    "interpolate.griddata": (lambda f, y: f(POINTS, y, POINTS[:2] * 0.9 + 0.02), V[[0, 1, 2, 0, 1]]),
    "interpolate.BPoly": (lambda f, y: f(y[:, None], [0.0, 1.0])(0.33), Y),
    "interpolate.PPoly": (lambda f, y: f(y[:, None], [0.0, 1.0])(0.33), Y),
    "interpolate.BSpline": (lambda f, y: f(np.arange(10.0), y, 3)(4.33), Y),
    "interpolate.AAA": (lambda f, y: f(TIMES, y)(0.33), Y),
    "interpolate.pade": (lambda f, y: f(y, 2)[0](0.33), Y),
    "interpolate.lagrange": (lambda f, y: f(TIMES, y)(0.33), Y),
    "interpolate.make_interp_spline": (lambda f, y: f(TIMES, y)(0.33), Y),
    "interpolate.make_lsq_spline": (lambda f, y: f(TIMES, y, [0, 0, 0, 0, 1.6, 1.6, 1.6, 1.6])(0.33), Y),
    "interpolate.splev": (lambda f, y: f(0.33, (np.r_[[0.0] * 4, 0.5, 0.7, [1.6] * 4], y, 3)), Y),
    "signal.lfilter": (lambda f, x: f([0.3, 0.2], [1.0, -0.5], x), LONG),
    "signal.filtfilt": (lambda f, x: f([0.3, 0.2], [1.0, -0.5], x), LONG),
    "signal.sosfilt": (lambda f, x: f([[0.3, 0.2, 0, 1, -0.5, 0]], x), LONG),
    "signal.sosfiltfilt": (lambda f, x: f([[0.3, 0.2, 0, 1, -0.5, 0]], x), LONG),
    "signal.freqz": (lambda f, b: abs(f(b, [1.0, -0.5], 8)[1]), V),
    "signal.freqs": (lambda f, b: abs(f(b, [1.0, 0.5], np.arange(1.0, 5))[1]), V),
    "signal.savgol_filter": (lambda f, x: f(x, 5, 2), LONG),
    "signal.resample": (lambda f, x: f(x, 20), LONG),
    "signal.resample_poly": (lambda f, x: f(x, 2, 3), LONG),
    "signal.decimate": (lambda f, x: f(x, 2), LONG),
    "signal.upfirdn": (lambda f, x: f([1.0, 0.5], x, 2, 3), LONG),
    **{
        f"signal.{name}": (lambda f, b: f(b, [1.0, 0.3, 0.7], 2.0, 0.5), V[:2])
        for name in ("lp2bp", "lp2bs")
    },
    "signal.chirp": (lambda f, x: f(TIMES, x, 1.0, 3.0), 0.7),
    "signal.gausspulse": (lambda f, x: f(TIMES, x), 0.7),
    "signal.lsim": (lambda f, x: f(([1.0], [1.0, 0.5]), x, TIMES[:1] + np.arange(6.0))[1], Y),
    "linalg.solve_triangular": (lambda f, a: f(a, V), A),
    "linalg.cho_solve": (lambda f, b: f((np.linalg.cholesky(A), True), b), V),
    "linalg.lu_solve": (lambda f, b: f((A, np.arange(3)), b), V),
    "linalg.solve_banded": (lambda f, a: f((1, 1), a, V), A),
    "linalg.solveh_banded": (lambda f, a: f(a, V, lower=True), np.array([[4.0, 3.0, 5.0], [1.0, 0.5, 0.0]])),
    "linalg.fractional_matrix_power": (lambda f, a: f(a, 0.3), A),
    "linalg.cho_factor": (lambda f, a: np.triu(f(a)[0]), A),
    "linalg.eig_banded": (lambda f, a: f(a)[0], A),
    "linalg.hankel": (lambda f, a: f(a, V), V),
    "linalg.matmul_toeplitz": (lambda f, a: f(a, A), V),
    "linalg.solve_toeplitz": (lambda f, a: f(a, V), V[[1, 0, 2]]),
    "linalg.solve_circulant": (lambda f, a: f(a, V), V[[1, 0, 2]]),
    "linalg.subspace_angles": (lambda f, a: f(a, B[:, :2]), A[:, :2]),
    "linalg.funm": (lambda f, a: f(a, np.exp), A),
    "ndimage.map_coordinates": (lambda f, x: f(x, [[1.2, 3.3], [2.1, 4.4]]), GRID),
    "ndimage.affine_transform": (lambda f, x: f(x, [[0.9, 0.1], [0.1, 0.8]]), GRID),
    "ndimage.zoom": (lambda f, x: f(x, 1.7), GRID),
    "ndimage.rotate": (lambda f, x: f(x, 20.0), GRID),
    "ndimage.gaussian_filter": (lambda f, x: f(x, 1.1), GRID),
    "ndimage.gaussian_filter1d": (lambda f, x: f(x, 1.1), GRID),
    "ndimage.shift": (lambda f, x: f(x, 0.4), GRID),
    "spatial.geometric_slerp": (lambda f, x: f([1.0, 0.0], [0.0, 1.0], x), X),
    "spatial.distance_matrix": (lambda f, x: f(x, POINTS + 0.33), POINTS),
    "spatial.distance.mahalanobis": (lambda f, x: f(x, V, B), V * 1.3 + 0.1),
    "spatial.distance.minkowski": (lambda f, x: f(x, Y, 3), X),
    "stats.gaussian_kde": (lambda f, x: f(X)(x), Y),
    "sparse.diags": (lambda f, x: f([x], offsets=[0]) @ Y, X),
    "sparse.diags_array": (lambda f, x: f([x], offsets=[0]) @ Y, X),
    "sparse.linalg.spsolve": (lambda f, x: f(_csc(A), x), V),
    "sparse.linalg.cg": (lambda f, x: f(A, x, rtol=1e-10)[0], V),
    "sparse.linalg.gmres": (lambda f, x: f(A, x, rtol=1e-10)[0], V),
    "sparse.linalg.bicgstab": (lambda f, x: f(A, x, rtol=1e-10)[0], V),
    **{
        f"sparse.{kind}": (lambda f, x: f((x, ([0, 1, 2, 0, 1, 2], [0, 1, 2, 2, 0, 1]))) @ V, X)
        for kind in ("coo_array", "csr_array", "csc_array", "coo_matrix", "csr_matrix", "csc_matrix")
    },
    **{
        f"interpolate.{kind}": (lambda f, y: f(TIMES, y)(0.33), Y)
        for kind in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator")
    },
}  # fmt: skip


def _minimum(x: Any) -> Any:
    """Return where the gradient of the function that is minimized above is zero, by Newton's method."""
    t = np.ones(3)
    for _ in range(50):
        t = t - (2 * (t - x) + 4 * t**3) / (2 + 12 * t**2)
    return t


# What differences are taken of instead: these solvers stop at a tolerance, as large as the differences.
EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "optimize.minimize": lambda f, x: _minimum(x),
    "optimize.curve_fit": lambda f, y: np.linalg.lstsq(np.stack([TIMES, TIMES**2], 1), y)[0],
}
LEFT_OUT = {
    "integrate.cubature": "of arrays for a function and its limits it makes arrays of 700 MB",
    "ndimage.distance_transform_cdt": "of floating-point numbers it crashes",
}


def _csc(a: Any) -> Any:
    import scipy.sparse

    return scipy.sparse.csc_array(a)


class Case(NamedTuple):
    """A function of an array, and where its derivative is taken."""

    module: str
    name: str
    function: Callable[[Any], Any]
    x: Any
    exact: Callable[[Any], Any] | None = None
    """What the differences are taken of, if not of the function."""


def cases(module: str) -> Iterator[Case]:
    """Yield a case for each function of a module of SciPy that some sample arguments suit."""
    theirs = importlib.import_module(f"scipy.{module}")
    for name in sorted(set(theirs.__all__)):
        found = getattr(theirs, name)
        path = f"{module}.{name}"
        if path in LEFT_OUT:
            continue
        if path in CALLS:
            call, x = CALLS[path]
            exact = _of(path, EXACT[path]) if path in EXACT else None
            yield Case(module, name, _of(path, call), x, exact)
        elif module == "stats" and hasattr(found, "cdf") and not isinstance(found, type):
            yield from _of_distribution(name)
        elif callable(found) and not isinstance(found, type):
            for args in [*FIRST.get(module, []), *(ANY if module != "ndimage" else [])]:
                places = [i for i, a in enumerate(args) if _is_float(a)]
                place = places[-1 if module == "special" else 0]
                case = Case(module, name, _of(path, _at(args, place)), args[place])
                if _smooth(case):
                    yield case
                    break


def _is_float(x: Any) -> bool:
    return isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")


def _at(args: tuple[Any, ...], place: int) -> Callable[[Any, Any], Any]:
    """Return a call with `x` at a place; some functions of SciPy write into what they are given."""
    return lambda f, x: f(*copy.deepcopy(args[:place]), x, *copy.deepcopy(args[place + 1 :]))


METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "pmf", "logpmf")


def _of_distribution(name: str) -> Iterator[Case]:
    """Yield a case for each method of a distribution, by its argument, or by `loc` of one of counts."""
    from scipy.stats._distr_params import distcont, distdiscrete

    shapes = {**dict(distcont), **{k: v for k, v in distdiscrete if isinstance(k, str)}}.get(name)
    if shapes is None:
        return
    import scipy.stats

    frozen = getattr(scipy.stats, name)(*shapes)
    for method in METHODS:
        if hasattr(scipy.stats.rv_continuous, method) and isinstance(
            getattr(scipy.stats, name), scipy.stats.rv_continuous
        ):
            x = 0.37 if method in ("ppf", "isf") else float(frozen.ppf(0.37))

            def call(dist: Any, x: Any, method: str = method) -> Any:
                return getattr(dist, method)(x, *shapes, loc=0.1 * x, scale=1 + 0.1 * x)

            yield Case("stats", f"{name}.{method}", _of(f"stats.{name}", call), x)


# What a case gives


def total(result: Any) -> Any:
    """Return a weighted sum of all floating-point numbers in what a function returns."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    found = []
    for part in parts:
        if isinstance(part, (tuple, list)):
            found.append(total(part))
        elif hasattr(part, "dtype") or isinstance(part, (float, complex)):
            a = fnp.asarray(part)
            if a.dtype.kind in "fc" and a.size:
                a = fnp.real(a) + fnp.imag(a)
                found.append(fnp.sum(fnp.cos(np.arange(a.size)) * fnp.ravel(a)))
        elif hasattr(part, "__array__") and not isinstance(part, type):
            found.append(total(fnp.asarray(part)))
        elif dataclass_like(part):
            found.append(total(list(vars(part).values())))
    if not found:
        raise TypeError("no numbers")
    return sum(found[1:], found[0])


def dataclass_like(x: Any) -> bool:
    """Whether an object is a bundle of results."""
    return type(x).__module__.startswith("scipy.") and bool(getattr(x, "__dict__", None))


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Stop what takes more than `SECONDS`, and keep warnings to itself."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def difference(case: Case, h: float = 1e-5) -> tuple[float, float]:
    """Return central differences in one direction, of two widths."""
    direction, function = _direction(case.x), case.exact or case.function
    found = []
    for step in (h, 2 * h):
        up, down = (float(total(function(case.x + s * step * direction))) for s in (1, -1))
        found.append((up - down) / (2 * step))
    return found[0], found[1]


def _direction(x: Any) -> Any:
    """Return in which direction to go from `x`; that of a square matrix is symmetric."""
    if not np.ndim(x):
        return 1.0
    direction = np.cos(np.arange(np.size(x)) + 0.5).reshape(np.shape(x))
    return direction + direction.T if np.shape(x) == (3, 3) else direction


def _close(a: float, b: float, tolerance: float) -> bool:
    return bool(np.isfinite(a) and abs(a - b) <= tolerance * (1 + abs(a) + abs(b)))


def _smooth(case: Case) -> bool:
    """Whether a function takes the arguments and has a derivative there that is not zero."""
    try:
        with limited():
            again = total(case.function(case.x)) == total(case.function(case.x))
            near, far = difference(case)
    except Exception:
        return False
    return bool(again) and near != 0 and _close(near, far, 1e-4)


def outcome(case: Case) -> str:
    """Return "" if the gradient agrees with differences, else what is wrong."""
    try:
        with limited():
            expected, _ = difference(case)
            gradient = fg.grad(lambda x: total(case.function(x)))(case.x)
            found = float(np.sum(gradient * _direction(case.x)))
    except Exception as error:
        text = " ".join(str(error).split())
        return f"{type(error).__name__}: {text[-230:]}"
    return "" if _close(found, expected, 1e-4) else f"differs: {found} and {expected}"


class Row(NamedTuple):
    """What was found of a case."""

    case: Case
    before: str
    after: str


def walk(modules: tuple[str, ...]) -> list[Row]:
    """Try every case of some modules, without and with compat."""
    rows = []
    for module in modules:
        tried = [case for case in cases(module) if _smooth(case)]
        before = [outcome(case) for case in tried]
        with tracing():
            after = [outcome(case) for case in tried]
        rows += [Row(*row) for row in zip(tried, before, after, strict=True)]
    return rows


def table(rows: list[Row]) -> str:
    """Return how many functions of each module have a derivative."""
    lines = [
        "| module | functions tried | differentiated by themselves | with compat |",
        "|---|--:|--:|--:|",
    ]
    modules = dict.fromkeys([row.case.module for row in rows])
    for module in [*modules, "all"]:
        own = [row for row in rows if module in (row.case.module, "all")]
        before, after = (sum(not row[i] for row in own) for i in (1, 2))
        lines.append(f"| {module} | {len(own)} | {before} | {after} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=inspect.cleandoc(__doc__ or ""))
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    rows = walk(tuple(given.modules))
    if given.list:
        for row in rows:
            if row.after:
                mark = "LOST" if not row.before else "    "
                print(f"{mark} {row.case.module}.{row.case.name}: {row.after}")
    print(table(rows))


if __name__ == "__main__":
    main()
