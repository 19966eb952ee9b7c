"""Derivatives held against differences: the names of `jax.test_util`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.glossary import Glossary
from fungrad.core.types import float0, kind_of
from fungrad.transforms.autodiff import jvp, linearize, vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
__dir__ = __all__.copy

STEP = 1e-4

_TOLERANCE = {"bfloat16": 1e-1, "float16": 1e-2, "float32": 2e-3, "complex64": 1e-3}
"""Of derivatives, by dtype: the figures of `jax.test_util`. For the other inexact ones it is 1e-5, for integers 0."""

_GLOSSARY = Glossary(
    {
        "f": "A function of arrays, numbers and pytrees of them.",
        "args": "Its arguments, a tuple.",
        "atol": "Absolute and relative tolerance: a number, or a dict of them by dtype. They are multiplied by the number of\n"
        "    elements of an array; by default they are those of JAX for the dtype, 1e-5 for double precision.",
        "rtol": "As `atol`.",
        "eps": "The step of the differences.",
        "err_msg": "What the message of an error begins with.",
    },
    imports={
        "np": "import numpy as np",
        "fg": "import fungrad as fg",
        "fnp": "import fungrad.numpy as fnp",
    },
)


def _like(draws: np.random.RandomState, x: Any) -> Any:
    """Return normal numbers of the shape and dtype of `x`, a Python number for one; nothing moves integers."""
    value = np.asarray(x)
    if value.dtype == float0 or kind_of(value.dtype) not in "fc":
        return np.zeros(value.shape, float0)
    found = np.asarray(draws.randn(*value.shape))
    if kind_of(value.dtype) == "c":
        found = found + 1j * draws.randn(*value.shape)
    return found.astype(value.dtype) if hasattr(x, "dtype") else type(x)(found)


def _moved(args: Any, direction: Any, step: float) -> Any:
    """Return the arguments moved along a direction, in the dtypes they have."""

    def moved(x: Any, t: Any) -> Any:
        if getattr(t, "dtype", None) == float0:
            return x
        return np.asarray(x + step * t, x.dtype)[()] if hasattr(x, "dtype") else x + step * t

    return tree.map(moved, args, direction)


def _difference(f: Callable[..., Any], args: Any, direction: Any, step: float) -> Any:
    """Return the central difference of the results of `f` along a direction."""

    def quotient(high: Any, low: Any) -> Any:
        high, low = np.asarray(high), np.asarray(low)
        if high.dtype == float0 or kind_of(high.dtype) not in "fc":
            return np.zeros(high.shape, float0)
        with np.errstate(invalid="ignore"):  # of equal infinities
            change = np.where(high == low, high.dtype.type(0), high - low)
        return (change * high.dtype.type(0.5 / step)).astype(high.dtype)

    return tree.map(quotient, f(*_moved(args, direction, step)), f(*_moved(args, direction, -step)))


def _tolerance(given: Any, dtypes: Sequence[Any]) -> float:
    if given is not None and not isinstance(given, dict):
        return float(given)
    chosen = {np.dtype(k): float(v) for k, v in (given or {}).items()}
    usual = [
        _TOLERANCE.get(d.name, 1e-5 if d != float0 and kind_of(d) in "fc" else 0.0) for d in dtypes
    ]
    return max(chosen.get(d, u) for d, u in zip(dtypes, usual, strict=True))


def _check_close(what: str, found: Any, expected: Any, atol: Any, rtol: Any, text: str) -> None:
    what = f"{text} {what}" if text else what
    a, b = tree.structure(found), tree.structure(expected)
    if a != b:
        raise AssertionError(f"{what}: the structure is {a}, and should be {b}")
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            raise AssertionError(
                f"{what}: of shape {x.shape} and dtype {x.dtype}; should be {y.shape}, {y.dtype}"
            )
        if x.dtype == float0:
            continue
        wide = np.result_type(x.dtype, np.float32) if kind_of(x.dtype) in "fc" else x.dtype
        absolute, relative = (_tolerance(t, (x.dtype, y.dtype)) * x.size for t in (atol, rtol))
        np.testing.assert_allclose(
            x.astype(wide), y.astype(wide), rtol=relative, atol=absolute, err_msg=what
        )


def _conjugate(x: Any) -> Any:
    return np.conj(x) if getattr(x, "dtype", None) != float0 else x


def _inner(a: Any, b: Any) -> Any:
    """Return the real part of the sum of products, of the inexact leaves."""
    pairs = zip(map(np.asarray, tree.leaves(a)), map(np.asarray, tree.leaves(b)), strict=True)
    return sum(np.sum(np.real(np.conj(x) * y)) for x, y in pairs if x.dtype != float0)


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
    args = tuple(args)
    tangents = tree.map(functools.partial(_like, np.random.RandomState(0)), args)
    out, moved = f_jvp(args, tangents)
    _check_close("primal", out, f(*args), atol, rtol, err_msg)
    _check_close("tangent", moved, _difference(f, args, tangents, eps), atol, rtol, err_msg)


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
    """Check a cotangent of `f`, by its product with one direction drawn at random, against a central difference.

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
    args = tuple(args)
    draw = functools.partial(_like, np.random.RandomState(0))
    out, pull = f_vjp(*args)
    _check_close("primal", out, f(*args), atol, rtol, err_msg)
    tangents, cotangents = tree.map(draw, (args, out))
    pulled = tree.map(_conjugate, pull(tree.map(_conjugate, cotangents)))
    expected = _inner(_difference(f, args, tangents, eps), cotangents)
    _check_close("cotangent", _inner(tangents, pulled), expected, atol, rtol, err_msg)


@_GLOSSARY.public
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Any = None,
    rtol: Any = None,
    eps: float | None = None,
) -> None:
    r"""Check the derivatives of a function against central differences.

    In each order one direction is drawn at random, the same every time, so that it takes few calls of `f`.

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
    ... def f(x):
    ...     return x * x
    >>> _ = f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    >>> try:
    ...     check_grads(f, (3.0,), order=1)
    ... except AssertionError as error:
    ...     print(str(error).split("\n")[2])
    JVP tangent
    """
    wrong = [m for m in modes if m not in ("fwd", "rev", "lin")]
    if wrong or isinstance(modes, str):
        raise ValueError(f"modes are a tuple of some of 'fwd', 'rev' and 'lin'; got {modes!r}")
    _check_orders(
        f, tuple(args), order, tuple(modes), {"atol": atol, "rtol": rtol, "eps": eps or STEP}, ""
    )


def _linearized(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    out, linear = linearize(f, *primals)
    return out, linear(*tangents)


def _pulled(f: Callable[..., Any], *args: Any) -> Any:
    out, pull = vjp(f, *args)
    return pull(out)


def _check_orders(
    f: Any, args: Any, order: int, modes: tuple[str, ...], how: dict[str, Any], text: str
) -> None:
    pushed = (args, args)
    for mode in modes:
        name = {"fwd": "JVP", "rev": "VJP", "lin": "LIN"}[mode]
        said = f"{name} of {text}" if text else name
        if mode == "rev":
            check_vjp(f, functools.partial(vjp, f), args, err_msg=said, **how)
            higher, next_args = functools.partial(_pulled, f), args
        else:
            higher, next_args = functools.partial(jvp if mode == "fwd" else _linearized, f), pushed
            check_jvp(f, higher, args, err_msg=said, **how)
        if order > 1:
            _check_orders(higher, next_args, order - 1, modes, how, said)
