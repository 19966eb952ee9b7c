"""Derivatives held against differences: the names of `jax.test_util`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fungrad import float0, jvp, linearize, tree, vjp
from fungrad.extend.packages import Glossary
from fungrad.extend.programs import name_of
from fungrad.extend.types import kind_of, type_of
from fungrad.test_util.compare import (
    GLOSSARY,
    Tolerances,
    as_array,
    described,
    is_inexact,
    mismatches,
)
from fungrad.test_util.diagnosis import Along, explanation, labels_of

__all__ = ["check_grads", "check_jvp", "check_vjp"]

STEP = 1e-4

_TOLERANCE = {"bfloat16": 1e-1, "float16": 1e-2, "float32": 2e-3, "complex64": 1e-3}
"""Tolerances of derivatives by dtype, from `jax.test_util`. Others: 1e-5, and 0 for integers."""

_NAMES = {
    "fwd": ("JVP", "forward mode"),
    "rev": ("VJP", "reverse mode"),
    "lin": ("LIN", "linearize"),
}

_GLOSSARY = Glossary(
    {
        **GLOSSARY.parameters,
        "atol": "Absolute and relative tolerance: a number, or a dict of them by dtype. They are multiplied by the number of\n"
        "    elements of an array; by default they are those of JAX for the dtype, 1e-5 for double precision.",
        "rtol": "As `atol`.",
        "eps": "The step of the differences.",
    },
    imports=GLOSSARY.imports,
)


def random_like(draws: np.random.RandomState, x: Any) -> Any:
    """Return normal numbers of the shape and dtype of `x`, Python numbers too; integers get zeros."""
    value = np.asarray(x)
    if value.dtype == float0 or kind_of(value.dtype) not in "fc":
        return np.zeros(value.shape, float0)
    numbers = np.asarray(draws.randn(*value.shape))
    if kind_of(value.dtype) == "c":
        numbers = numbers + 1j * draws.randn(*value.shape)
    return numbers.astype(value.dtype) if hasattr(x, "dtype") else type(x)(numbers)


def _moved(args: Any, direction: Any, step: float) -> Any:
    """Return the arguments moved along a direction, in the dtypes they have."""

    def moved(x: Any, t: Any) -> Any:
        if getattr(t, "dtype", None) == float0:
            return x
        return np.asarray(x + step * t, x.dtype)[()] if hasattr(x, "dtype") else x + step * t

    return tree.map(moved, args, direction)


def _quotient(f: Callable[..., Any], args: Any, direction: Any, high: float, low: float) -> Any:
    """Return the difference of the results of `f` at two steps in a direction, by that of the steps."""

    def quotient(above: Any, below: Any) -> Any:
        above, below = as_array(above), as_array(below)
        if not is_inexact(above):
            return np.zeros(above.shape, float0)
        with np.errstate(invalid="ignore"):  # of equal infinities
            change = np.where(above == below, above.dtype.type(0), above - below)
        return (change * above.dtype.type(1 / (high - low))).astype(above.dtype)

    above, below = [f(*_moved(args, direction, step)) for step in (high, low)]
    return tree.map(quotient, above, below)


def tolerance(
    given: Any, dtypes: Sequence[Any], by_name: Mapping[str, float] = _TOLERANCE
) -> float:
    """Return the tolerance for numbers of some dtypes: given for all dtypes or some, else the usual."""
    if given is not None and not isinstance(given, dict):
        return float(given)
    chosen = {np.dtype(k): float(v) for k, v in (given or {}).items()}
    usual = [
        by_name.get(d.name, 1e-5 if d != float0 and kind_of(d) in "fc" else 0.0) for d in dtypes
    ]
    return max([chosen.get(d, u) for d, u in zip(dtypes, usual, strict=True)], default=0.0)


def _apart(actual: Any, expected: Any, atol: Any, rtol: Any) -> str:
    """Return how two trees differ; "" if they do not."""
    return described(mismatches(actual, expected, functools.partial(_tolerances, atol, rtol)))


def _tolerances(atol: Any, rtol: Any, x: Any, y: Any) -> tuple[float, float]:
    relative, absolute = (tolerance(t, (x.dtype, y.dtype)) * y.size for t in (rtol, atol))
    return relative, absolute


def _conjugate(x: Any) -> Any:
    return np.conj(x) if getattr(x, "dtype", None) != float0 else x


def _inner(a: Any, b: Any) -> float:
    """Return the real part of the sum of products, of the inexact leaves."""
    pairs = zip(map(as_array, tree.leaves(a)), map(as_array, tree.leaves(b)), strict=True)
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in pairs if x.dtype != float0))


def _what(text: str, what: str) -> str:
    return f"{text} {what}" if text else what


def _check_primal(actual: Any, expected: Any, how: dict[str, Any], text: str) -> None:
    told = _apart(actual, expected, how["atol"], how["rtol"])
    if told:
        raise AssertionError(f"{_what(text, 'primal')} is not the result of the function: {told}")


def _rounding(out: Any, weights: Any = None) -> float:
    """Return by how much results may be rounded: each, or the sum of their products with weights."""
    leaves = [as_array(x) for x in tree.leaves(out)]
    weighted = [as_array(w) for w in tree.leaves(out if weights is None else weights)]
    roundings = [0.0]
    for x, w in zip(leaves, weighted, strict=True):
        if is_inexact(x) and x.size:
            each = np.spacing(np.abs(x)).astype(float) * (1 if weights is None else np.abs(w))
            roundings.append(float(np.max(each) if weights is None else np.sum(each)))
    return max(roundings) if weights is None else sum(roundings)


def _check_along(
    what: str,
    along: Along,
    direction: Any,
    labels: Sequence[str],
    tolerances: Tolerances,
    step: float,
) -> None:
    """Raise AssertionError if a derivative differs from the difference along a direction."""
    told = along.apart(direction, step, tolerances)
    if told:
        why = explanation(along, direction, labels, tolerances, step)
        raise AssertionError(
            f"{what} disagrees with differences:\n  along a random direction: {told}{why}"
        )


def _check_jvp(
    f: Any, f_jvp: Any, args: Any, labels: Sequence[str], how: dict[str, Any], text: str
) -> None:
    """Do as `check_jvp`; `labels` name the leaves of the arguments."""
    tangents = tree.map(functools.partial(random_like, np.random.RandomState(0)), args)
    _check_primal(f_jvp(args, tangents)[0], f(*args), how, text)
    along = Along(
        lambda t: f_jvp(args, t)[1], functools.partial(_quotient, f, args), _rounding(f(*args))
    )
    close = functools.partial(_tolerances, how["atol"], how["rtol"])
    _check_along(_what(text, "tangent"), along, tangents, labels, close, how["eps"])


def _check_vjp(
    f: Any, f_vjp: Any, args: Any, labels: Sequence[str], how: dict[str, Any], text: str
) -> None:
    """Do as `check_vjp`; `labels` name the leaves of the arguments."""
    out, pull = f_vjp(*args)
    _check_primal(out, f(*args), how, text)
    tangents, cotangents = tree.map(
        functools.partial(random_like, np.random.RandomState(0)), (args, out)
    )
    pulled = tree.map(_conjugate, pull(tree.map(_conjugate, cotangents)))
    told = mismatches(pulled, tangents, lambda x, y: (0.0, np.inf), check_dtypes=False)
    if told:
        raise AssertionError(
            f"{_what(text, 'cotangent')} is unlike the arguments: {described(told)}"
        )

    def quotient(direction: Any, high: float, low: float) -> Any:
        return _inner(_quotient(f, args, direction, high, low), cotangents)

    along = Along(lambda t: _inner(t, pulled), quotient, _rounding(out, cotangents))
    dtypes = [as_array(x).dtype for x in tree.leaves((tangents, cotangents))]
    relative, absolute = [tolerance(how[name], dtypes) for name in ("rtol", "atol")]
    _check_along(
        _what(text, "cotangent"),
        along,
        tangents,
        labels,
        lambda x, y: (relative, absolute),
        how["eps"],
    )


@_GLOSSARY.public
def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: Any = None,
    rtol: Any = None,
    eps: float = STEP,
    err_msg: str = "",
) -> None:
    """Check a tangent of `f`, along one direction drawn at random, against a central difference.

    Parameters
    ----------
    f_jvp
        What is checked: it takes the arguments and the tangents, two tuples, and returns the results of `f` and their
        tangents, as ``functools.partial(fungrad.jvp, f)`` does.

    Raises
    ------
    AssertionError
        If results or tangents differ.

    Examples
    --------
    >>> check_jvp(fnp.sin, lambda x, t: (fnp.sin(*x), fnp.cos(*x) * t[0]), (np.ones(2),))
    """
    how = {"atol": atol, "rtol": rtol, "eps": eps}
    _check_jvp(f, f_jvp, tuple(args), labels_of(f, args), how, err_msg)


@_GLOSSARY.public
def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: Any = None,
    rtol: Any = None,
    eps: float = STEP,
    err_msg: str = "",
) -> None:
    """Check a cotangent of `f`, by its product with a random direction, against a central difference.

    Parameters
    ----------
    f_vjp
        What is checked: it takes the arguments and returns the results of `f` and the function that pulls cotangents
        back, as ``functools.partial(fungrad.vjp, f)`` does.

    Raises
    ------
    AssertionError
        If results or cotangents differ.

    Examples
    --------
    >>> check_vjp(fnp.sin, lambda x: (fnp.sin(x), lambda ct: (ct * fnp.cos(x),)), (np.ones(2),))
    """
    how = {"atol": atol, "rtol": rtol, "eps": eps}
    _check_vjp(f, f_vjp, tuple(args), labels_of(f, args), how, err_msg)


@_GLOSSARY.public
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] | str = ("fwd", "rev"),
    atol: Any = None,
    rtol: Any = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of a function against central differences.

    In each order one direction is drawn at random, the same every time, so that it takes few calls of `f`. The error
    of a wrong derivative names the argument and its element. By differences at three steps it says whether the rule
    is wrong, `f` is not smooth there, or the step is not suitable.

    Parameters
    ----------
    order
        Derivatives of this order and all below it are checked, in each combination of `modes`.
    modes
        Some of "fwd", forward mode; "rev", reverse mode; "lin", `linearize`.

    Raises
    ------
    AssertionError
        If a derivative differs from its difference.
    ValueError
        If a mode is none of these.

    Examples
    --------
    >>> check_grads(lambda x, y: fnp.sin(x) * y, (np.array([1.0, 2.0]), 3.0), order=2)
    >>> @fg.custom_jvp
    ... def product(x, y):
    ...     return x * y
    >>> _ = product.defjvp(lambda x, t: (product(*x), t[0] * x[1] + 2.0 * t[1]))
    >>> try:
    ...     check_grads(product, (3.0, np.array([4.0, 5.0])), order=1, modes=("fwd",))
    ... except AssertionError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    check_grads(product), order 1 (forward mode): JVP tangent disagrees with differences:
      along a random direction: 2 of 2 elements of float64[2] differ; worst at [1]: found ..., expected ..., off by ... (allowed ...)
      by argument: wrong by y (off by ...); right by x
      worst element: y[0]: 1 of 2 elements of float64[2] differ; worst at [0]: found 2, expected 3, off by 1, 33.3 % (allowed 8e-05)
      by step: off by ... at steps 0.0002, 0.0001, 5e-05 (order 0.0): the error does not shrink with the step and differences agree with one another, so the derivative rule is wrong
    """
    modes = (modes,) if isinstance(modes, str) else modes
    wrong = [m for m in modes if m not in ("fwd", "rev", "lin")]
    if wrong:
        raise ValueError(f"modes are a tuple of some of 'fwd', 'rev' and 'lin'; got {modes!r}")
    how = {"atol": atol, "rtol": rtol, "eps": eps or STEP}
    _check_orders(f, tuple(args), order, tuple(modes), how)


def _linearized(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    out, linear = linearize(f, *primals)
    return out, linear(*tangents)


def _pulled(f: Callable[..., Any], *args: Any) -> Any:
    out, pull = vjp(f, *args)
    return pull(tree.map(_tangent_like, out))


def _tangent_like(x: Any) -> Any:
    """Return an array as a tangent: integers have none."""
    return x if is_inexact(type_of(x)) else np.zeros(np.shape(x), float0)


def _check_orders(
    f: Any, args: Any, order: int, modes: tuple[str, ...], how: dict[str, Any]
) -> None:
    """Check the derivatives of a function, those of its derivatives in each mode, and so on."""
    of_f = labels_of(f, args)
    pending: list[tuple[Any, Any, list[str], tuple[str, ...]]] = [(f, args, of_f, ())]
    while pending:
        g, primals, labels, done = pending.pop(0)
        for mode in modes:
            names, spoken = zip(*[_NAMES[m] for m in (mode, *done)], strict=True)
            text = f"check_grads({name_of(f)}), order {len(names)} ({' of '.join(spoken)}): {' of '.join(names)}"
            if mode == "rev":
                _check_vjp(g, functools.partial(vjp, g), primals, labels, how, text)
                higher, moved, named = functools.partial(_pulled, g), primals, labels
            else:
                higher = functools.partial(jvp if mode == "fwd" else _linearized, g)
                _check_jvp(g, higher, primals, labels, how, text)
                moved = (primals, tree.map(_tangent_like, primals))
                named = [*labels, *[f"the tangent of {label}" for label in labels]]
            if len(names) < order:
                pending.append((higher, moved, named, (mode, *done)))
