"""Random draws in traced functions: advice for draws that cannot be traced."""

from __future__ import annotations

import sys
from typing import Any

_STANDARD = {
    "normal": ("m, s", "m + s * {rng}.normal(size=n)"),
    "uniform": ("a, b", "a + (b - a) * {rng}.uniform(size=n)"),
    "exponential": ("scale", "scale * {rng}.exponential(size=n)"),
    "laplace": ("m, s", "m + s * {rng}.laplace(size=n)"),
    "logistic": ("m, s", "m + s * {rng}.logistic(size=n)"),
    "gumbel": ("m, s", "m + s * {rng}.gumbel(size=n)"),
    "lognormal": ("m, s", "fungrad.numpy.exp(m + s * {rng}.normal(size=n))"),
    "rayleigh": ("scale", "scale * {rng}.rayleigh(size=n)"),
    "weibull": ("a", "{rng}.exponential(size=n) ** (1 / a)"),
    "pareto": ("a", "fungrad.numpy.expm1({rng}.exponential(size=n) / a)"),
    "power": ("a", "{rng}.uniform(size=n) ** (1 / a)"),
    "gamma": ("k, scale", "scale * fungrad.scipy.stats.gamma.ppf({rng}.uniform(size=n), k)"),
    "standard_gamma": ("k", "fungrad.scipy.stats.gamma.ppf({rng}.uniform(size=n), k)"),
    "chisquare": ("df", "fungrad.scipy.stats.chi2.ppf({rng}.uniform(size=n), df)"),
    "beta": ("a, b", "fungrad.scipy.stats.beta.ppf({rng}.uniform(size=n), a, b)"),
    "standard_t": ("df", "fungrad.scipy.stats.t.ppf({rng}.uniform(size=n), df)"),
    "multivariate_normal": (
        "m, c",
        "m + {rng}.normal(size=(n, len(m))) @ fungrad.numpy.linalg.cholesky(c).T",
    ),
    "choice": ("x", "x[{rng}.choice(len(x), size=n)]"),
    "permutation": ("x", "x[{rng}.permutation(len(x))]"),
    "permuted": ("x", "x[{rng}.permutation(len(x))]"),
    "shuffle": ("x", "x = x[{rng}.permutation(len(x))]"),
}
"""Parameters of each method of a generator, and a differentiable function with the same numbers,
a location and scale, or the quantile function (inverse of the distribution function) of uniform numbers."""

_INTEGERS = frozenset(
    [
        "binomial",
        "geometric",
        "hypergeometric",
        "integers",
        "logseries",
        "multinomial",
        "multivariate_hypergeometric",
        "negative_binomial",
        "poisson",
        "randint",
        "random_integers",
        "zipf",
    ]
)
"""The methods that draw whole numbers, which do not move with a parameter."""


def generator_classes() -> tuple[type, ...]:
    """Return the classes of NumPy's random number generators, as far as they have been imported.

    Another thread may be importing them now; then no object is of such a class.
    """
    random = sys.modules.get("numpy.random")
    classes = (getattr(random, name, None) for name in ("Generator", "RandomState"))
    return tuple([cls for cls in classes if cls is not None])


def is_generator(x: Any) -> bool:
    """Whether `x` is a random number generator of NumPy."""
    return isinstance(x, generator_classes())


def instead_of_draw(written: str, function: Any) -> str | None:
    """Return the advice for a draw with traced parameters; None if `function` draws nothing.

    `written` is the name by which the function is called.
    """
    if not is_generator(getattr(function, "__self__", None)):
        return None
    name = function.__name__
    rng = written.rpartition(".")[0] or "rng"
    cannot = f"`{written}` cannot draw with traced parameters, for their derivatives would be lost."
    if name in _STANDARD:
        parameters, formula = _STANDARD[name]
        return (
            f"{cannot} For {rng}.{name}({parameters}) write {formula.format(rng=rng)}, which has one; under jit "
            "and vmap pass the numbers drawn as an argument."
        )
    if name in _INTEGERS:
        return (
            f"{cannot} It draws whole numbers, and these have no derivative by the parameters: draw outside of the "
            "transformed function, or with float(x) for a parameter x that is to be a constant; the "
            "derivative of an expectation is that of a sum weighted with probabilities (fungrad.scipy.stats has them)."
        )
    return (
        f"{cannot} Transform standard numbers, {rng}.normal(size=n) or {rng}.uniform(size=n), with functions of "
        "fungrad.numpy, or with the quantile function (ppf) of a distribution of fungrad.scipy.stats; if a constant "
        "parameter is meant, write float(x)."
    )
