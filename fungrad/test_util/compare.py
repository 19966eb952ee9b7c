"""Comparison of arrays and trees, and messages about their differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fungrad import float0, tree
from fungrad.extend.backend import to_host
from fungrad.extend.packages import Glossary
from fungrad.extend.trees import difference, leaves_with_paths
from fungrad.extend.types import is_array, kind_of

_FUNCTION = "A function of arrays, numbers and pytrees of them."

GLOSSARY = Glossary(
    {
        "args": "Its arguments, a tuple.",
        "atol": "Error allowed to each element, beside that of `rtol`; by default `rtol` of the largest element of the\n"
        "    expected array, and of 1 at least.",
        "err_msg": "What the message of an error begins with.",
        "f": _FUNCTION,
        "rtol": "Error allowed to each element, as a part of it; by default 1e-7, 1e-4 in single, 1e-2 in half precision\n"
        "    (3e-2 for bfloat16), 0 for integers.",
    },
    imports={
        "np": "import numpy as np",
        "fg": "import fungrad as fg",
        "fnp": "import fungrad.numpy as fnp",
    },
)
"""Documentation of the checks' parameters."""

RTOL = {"bfloat16": 3e-2, "float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}
"""By dtype; 1e-7 for the other inexact ones."""

SHOWN = 4
"""How many leaves that differ are spoken of."""

Tolerances = Callable[[Any, Any], tuple[float, float]]
"""Relative and absolute, of two arrays of one shape."""


class Mismatch(NamedTuple):
    """Two leaves that differ.

    Attributes
    ----------
    path
        Where they are in the tree.
    excess
        How many times the error allowed the worst error is.
    text
        How they differ.
    """

    path: str
    excess: float
    text: str


def is_inexact(x: Any) -> bool:
    """Whether an array has tangents: of floating-point or complex numbers."""
    return x.dtype != float0 and kind_of(x.dtype) in "fc"


def as_array(x: Any) -> np.ndarray[Any, Any]:
    """Return an array or a number as an array of NumPy."""
    return to_host(x) if is_array(x) else np.asarray(x)


def usual_tolerances(rtol: float | None, atol: float | None) -> Tolerances:
    """Return the tolerances of `assert_allclose`."""

    def tolerances(x: Any, y: Any) -> tuple[float, float]:
        if not (is_inexact(x) or is_inexact(y)):
            return rtol or 0.0, atol or 0.0
        usual = max(RTOL.get(d.name, 1e-7) for d in (x.dtype, y.dtype))
        relative = usual if rtol is None else rtol
        if atol is not None:
            return relative, atol
        sizes = np.abs(_wide(y))
        return relative, relative * float(sizes[np.isfinite(sizes)].max(initial=1.0))

    return tolerances


def _wide(x: Any) -> Any:
    """Return numbers in at least double precision, so that differences neither overflow nor round."""
    return x.astype(np.result_type(x.dtype, float) if kind_of(x.dtype) in "fc" else float)


def number(x: Any) -> str:
    """Return an element of an array as text, short where it is not exact."""
    x = _plain(x) if isinstance(x, np.generic) else x
    return f"{x:.8g}" if isinstance(x, (float, complex)) else str(x)


def _plain(x: Any) -> Any:
    """Return an element as a number of Python's, if it is one."""
    if kind_of(x.dtype) not in "biufc":
        return x
    return x.item() if x.dtype.kind in "biufc" else float(x)  # of ml_dtypes


def _apart(x: Any, y: Any, rtol: float, atol: float) -> tuple[Any, Any, Any]:
    """Return which elements differ, the errors, and the errors allowed."""
    with np.errstate(all="ignore"):
        same = (x == y) | ((x != x) & (y != y))
        if kind_of(x.dtype) not in "biufc" or kind_of(y.dtype) not in "biufc":
            return ~same, np.where(same, 0.0, np.inf), np.zeros(x.shape)
        a, b = _wide(x), _wide(y)
        allowed = atol + rtol * np.abs(np.where(np.isfinite(b), b, 0))
        error = np.where(same, 0.0, np.abs(a - b))
        error = np.where(np.isnan(error), np.inf, error)
        exact = not (rtol or atol)  # then integers beyond 2**53 count too
        return ~same & ((error > allowed) | exact), error, allowed


def _off(x: Any, y: Any) -> str:
    error = abs(int(x) - int(y)) if isinstance(x, int) and isinstance(y, int) else abs(x - y)
    return f"off by {number(error)}" + (f", {100 * error / abs(y):.3g} %" if y else "")


def _mismatch(path: str, x: Any, y: Any, tolerances: Tolerances) -> Mismatch | None:
    """Return how two arrays of one shape differ, in their worst element."""
    rtol, atol = tolerances(x, y)
    wrong, error, allowed = _apart(x, y, rtol, atol)
    if not np.any(wrong):
        return None
    with np.errstate(all="ignore"):
        excess = np.where(wrong, np.where(allowed > 0, error / allowed, np.inf), -1.0)
    most = excess.max()  # of those as bad as that, as where none is allowed, the largest error
    index = np.unravel_index(int(np.argmax(np.where(excess == most, error, -1.0))), x.shape)
    type_ = f"{y.dtype.name}[{','.join(map(str, y.shape))}]"
    what = f"{type_} differs"
    if index:
        what = f"{np.count_nonzero(wrong)} of {x.size} elements of {type_} differ; worst at {[*map(int, index)]}"
    text = f"{what}: found {number(x[index])}, expected {number(y[index])}"
    if np.isfinite(error[index]):
        text += (
            f", {_off(_plain(x[index]), _plain(y[index]))} (allowed {float(allowed[index]):.3g})"
        )
    return Mismatch(path, float(most), text)


def mismatches(
    actual: Any, expected: Any, tolerances: Tolerances, check_dtypes: bool = True
) -> list[Mismatch]:
    """Return where two trees differ, the worst first; a difference of structures is the only one told."""
    mismatch = difference(tree.structure(expected), actual, exact=True)
    if mismatch is not None:
        return [
            Mismatch(mismatch[0].replace("the root", ""), math.inf, f"structure: {mismatch[1]}")
        ]
    pairs = zip(leaves_with_paths(actual), tree.leaves(expected), strict=True)
    told: list[Mismatch] = []
    for (path, a), b in pairs:
        x, y = as_array(a), as_array(b)
        if x.shape != y.shape:
            text = f"shape: found {x.shape}, expected {y.shape}"
            told.append(Mismatch(path, math.inf, text))
        elif check_dtypes and x.dtype != y.dtype:
            text = f"dtype: found {x.dtype}, expected {y.dtype}"
            told.append(Mismatch(path, math.inf, text))
        elif y.dtype != float0 and (apart_in := _mismatch(path, x, y, tolerances)):
            told.append(apart_in)
    return sorted(told, key=lambda m: -m.excess)


def described(told: list[Mismatch], what: str = "") -> str:
    """Return the lines of a message on trees that differ."""
    lines = [f"{what}{m.path}: {m.text}" if what + m.path else m.text for m in told[:SHOWN]]
    more = [f"... and {len(told) - SHOWN} more leaves differ"] if len(told) > SHOWN else []
    return "\n  ".join(lines + more)


@GLOSSARY.public
def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: float | None = None,
    atol: float | None = None,
    *,
    check_dtypes: bool = True,
    err_msg: str = "",
) -> None:
    """Check that two pytrees are equal in structure and shapes, and in values up to rounding.

    NaN is equal to NaN, and an infinity to one of its sign. The error names the leaves that differ by their paths, the worst
    first, and of each the worst element.

    Parameters
    ----------
    actual
        A pytree of arrays and numbers, of NumPy or CuPy.
    desired
        What it should be.
    check_dtypes
        Whether dtypes must be equal, too; a Python float has the dtype float64.

    Raises
    ------
    AssertionError
        If they differ.

    Examples
    --------
    >>> assert_allclose({"w": np.ones(2), "b": 0.5}, {"w": np.ones(2), "b": 0.5 + 1e-12})
    >>> try:
    ...     assert_allclose({"w": np.array([1.0, 2.0, 3.5])}, {"w": np.array([1.0, 2.0, 3.0])})
    ... except AssertionError as error:
    ...     print(error)
    assert_allclose: ['w']: 1 of 3 elements of float64[3] differ; worst at [2]: found 3.5, expected 3, off by 0.5, 16.7 % (allowed 6e-07)
    """
    told = mismatches(actual, desired, usual_tolerances(rtol, atol), check_dtypes)
    if told:
        raise AssertionError(f"{err_msg or 'assert_allclose'}: {described(told)}")
