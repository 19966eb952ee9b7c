"""Signatures of `fungrad.scipy` beside SciPy's: each keyword that SciPy takes is taken, or refused with a reason."""

import functools
import importlib
import inspect

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import fungrad as fg
from fungrad.scipy import integrate, optimize

MODULES = [
    "cluster.vq", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "sparse.linalg",
    "spatial.distance", "spatial.transform", "special", "stats",
]  # fmt: skip
STAR = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
OURS_ALONE = {"odeint": "the signature is JAX's, with SciPy's keywords"}


def parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None


def stand_ins():
    """Yield the name and both functions of each stand-in that is not SciPy's own."""
    for module in MODULES:
        ours, theirs = [
            importlib.import_module(f"{p}.scipy.{module}".removeprefix("."))
            for p in ("fungrad", "")
        ]
        for name in sorted(ours.__all__):
            found, expected = getattr(ours, name), getattr(theirs, name, None)
            is_ufunc = isinstance(
                expected, np.ufunc
            )  # their keywords are those of NumPy's protocol
            if expected is None or found is expected or is_ufunc or not callable(expected):
                continue
            yield f"{module}.{name}", found, expected
            if isinstance(expected, type) and isinstance(found, type):
                for method in sorted(vars(expected)):
                    public = not method.startswith("_") and callable(getattr(expected, method))
                    if public and hasattr(found, method):
                        yield (
                            f"{module}.{name}.{method}",
                            getattr(found, method),
                            getattr(expected, method),
                        )


STAND_INS = {name: pair for name, *pair in stand_ins() if parameters(pair[1]) is not None}


def test_there_are_many():
    assert len(STAND_INS) > 150


@pytest.mark.parametrize("name", STAND_INS)
def test_keywords_are_scipys(name):
    ours, theirs = map(parameters, STAND_INS[name])
    if name.split(".")[-1] in OURS_ALONE or isinstance(
        STAND_INS[name][1], scipy.stats._multivariate.multi_rv_generic
    ):
        pytest.skip("compared by calls below, or made by a class of its own")
    takes_others = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in ours.values())
    missing = [k for k, p in theirs.items() if k not in ours and p.kind not in STAR]
    assert takes_others or not missing


@pytest.mark.parametrize("name", STAND_INS)
def test_positions_are_scipys(name):
    ours, theirs = map(parameters, STAND_INS[name])
    if name.split(".")[-1] in OURS_ALONE:
        pytest.skip(OURS_ALONE[name.split(".")[-1]])
    by_position = [
        [k for k, p in found.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        for found in (ours, theirs)
    ]
    for mine, other in zip(*by_position, strict=False):
        assert mine == other


T = np.linspace(0, 1, 6)
CALLS = {
    "bisect": lambda a, **k: optimize.bisect(lambda x: x**3 - a, 0.0, 3.0, **k),
    "brenth": lambda a, **k: optimize.brenth(lambda x: x**3 - a, 0.0, 3.0, **k),
    "brentq": lambda a, **k: optimize.brentq(lambda x: x**3 - a, 0.0, 3.0, **k),
    "ridder": lambda a, **k: optimize.ridder(lambda x: x**3 - a, 0.0, 3.0, **k),
    "toms748": lambda a, **k: optimize.toms748(lambda x: x**3 - a, 0.0, 3.0, **k),
    "newton": lambda a, **k: optimize.newton(lambda x: x**3 - a, 1.0, **k),
    "root_scalar": lambda a, **k: optimize.root_scalar(lambda x: x**3 - a, x0=1.0, **k).root,
    "fixed_point": lambda a, **k: optimize.fixed_point(lambda x: 0.5 * (x + a / x), 1.0, **k),
    "root": lambda a, **k: optimize.root(lambda x: x**3 - a, np.ones(1), **k).x,
    "least_squares": lambda a, **k: optimize.least_squares(lambda x: x**3 - a, np.ones(1), **k).x,
    "curve_fit": lambda a, **k: optimize.curve_fit(
        lambda t, b: b * t, T, a * T + T**2 * a, np.ones(1), **k
    )[0],
    "minimize": lambda a, **k: optimize.minimize(lambda x: np.sum((x - a) ** 2), np.ones(1), **k).x,
    "minimize_scalar": lambda a, **k: optimize.minimize_scalar(lambda x: (x - a) ** 2, **k).x,
    "quad": lambda a, **k: integrate.quad(lambda x: a * x, 0.0, 1.0, **k)[0],
    "quad_vec": lambda a, **k: integrate.quad_vec(lambda x: a * x, 0.0, 1.0, **k)[0],
    "odeint": lambda a, **k: integrate.odeint(lambda y, t: -a * y, np.ones(1), T, **k),
    "solve_ivp": lambda a, **k: integrate.solve_ivp(
        lambda t, y: -a * y, (0, 1), np.ones(1), **{"t_eval": T, **k}
    ).y,
}  # fmt: skip
GIVEN = {"x0", "p0", "t_eval"}


def gradient(name, **options):
    return fg.grad(lambda a: np.sum(CALLS[name](a, **options)))(2.0)


def defaults(name):
    scipys = getattr(scipy.optimize, name, None) or getattr(scipy.integrate, name)
    return {
        k: p.default
        for k, p in parameters(scipys).items()
        if p.default is not p.empty and k not in GIVEN
    }


@pytest.mark.parametrize(("name", "keyword"), [(n, k) for n in CALLS for k in defaults(n)])
def test_scipys_default_of_each_keyword_is_taken(name, keyword):
    with np.errstate(all="ignore"):
        found = gradient(name, **{keyword: defaults(name)[keyword]})
        np.testing.assert_allclose(found, gradient(name), rtol=1e-5)


@pytest.mark.parametrize("name", CALLS)
def test_unknown_keywords_are_refused_by_name(name):
    with pytest.raises(TypeError, match="tolerence"):
        gradient(name, tolerence=1e-3)


def test_points_and_weights_of_quad():
    def ours(a, **options):
        return integrate.quad(lambda x: np.abs(x - 0.3) ** a, 0.0, 1.0, **options)[0]

    for options in (
        {"points": [0.3]},
        {"weight": "cos", "wvar": 3.0},
        {"weight": "sin", "wvar": 2.0},
    ):
        expected = scipy.integrate.quad(lambda x: np.abs(x - 0.3) ** 1.5, 0.0, 1.0, **options)[0]
        np.testing.assert_allclose(
            fg.jvp(functools.partial(ours, **options), (1.5,), (1.0,))[0], expected, rtol=1e-7
        )
    by_frequency = fg.grad(
        lambda w: integrate.quad(lambda x: x, 0.0, 1.0, weight="sin", wvar=w)[0]
    )(2.0)
    exact = lambda w: np.sin(w) / w**2 - np.cos(w) / w
    np.testing.assert_allclose(by_frequency, (exact(2 + 1e-5) - exact(2 - 1e-5)) / 2e-5, rtol=1e-6)


def test_keywords_of_odeint():
    def final(k, **options):
        return integrate.odeint(lambda y, t: -k * y, np.ones(1), T, **options)[-1, 0]

    expected = fg.grad(final)(2.0)
    first = fg.grad(
        lambda k: integrate.odeint(lambda t, y, k: -k * y, np.ones(1), T, args=(k,), tfirst=True)[
            -1, 0
        ]
    )
    np.testing.assert_allclose(first(2.0), expected, rtol=1e-6)
    np.testing.assert_allclose(
        fg.grad(lambda k: final(k, atol=[1e-8], hmax=0.0))(2.0), expected, rtol=1e-5
    )


@pytest.mark.parametrize(("name", "options", "message"), [
    ("quad", {"full_output": 1}, "full_output=True cannot be used.*leave it out"),
    ("quad", {"weight": "alg", "wvar": (0.5, 0.5)}, "write the weight into the integrand"),
    ("quad_vec", {"full_output": True}, "full_output=True cannot be used.*leave it out"),
    ("odeint", {"full_output": True}, "full_output=True cannot be used.*leave it out"),
    ("odeint", {"tcrit": [0.5]}, "tcrit=.*by a call of its own"),
])  # fmt: skip
def test_refused_keywords_say_what_to_do(name, options, message):
    with pytest.raises(TypeError, match=message):
        gradient(name, **options)
