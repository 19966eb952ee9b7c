"""Tables of stand-ins for functions of Python, `math`, NumPy and SciPy in functions that were read.

The stand-ins take what is traced, and are the functions themselves for all else. Nothing is put in the place of anything:
a call asks, while a trace is open.
"""

from __future__ import annotations

import builtins
import cmath
import importlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fungrad.compat.numpy import holders, scipys, stand_ins
from fungrad.compat.numpy.reaching import reach
from fungrad.compat.numpy.replacing import replacement
from fungrad.reading.registry import WRITING

Function = Callable[..., Any]


class Table:
    """Stand-ins by the object that they stand for, and by the methods of classes.

    Modules of SciPy are taken up as they are imported.
    """

    def __init__(self) -> None:
        self._of: dict[int, tuple[Any, Any]] = {}
        self._methods: dict[tuple[type, str], Any] = {}
        self._taken: frozenset[str] = frozenset()  # modules of SciPy's that objects were of
        self._mirrored: frozenset[str] = frozenset()
        # Inside of a block of `tracing`, others stand in the places of functions.
        makers = [(replacement.original(x), make) for x, make in _makers()]
        self._makers = {id(original): (original, make) for original, make in makers}

    def get(self, x: Any) -> Any:
        """Return the stand-in for an object, or None."""
        found = self._of.get(id(x))
        if found is not None:
            return found[1]
        maker = self._makers.get(id(x))
        if maker is not None:
            made = maker[1]()
            self._of[id(x)] = x, made
            return made
        ours = _of_same_name(x)
        if ours is not None:
            self._of[id(x)] = x, stand_ins.of_traced(x, ours)
            return self._of[id(x)][1]
        return self._of[id(x)][1] if self._take_up(x) and id(x) in self._of else None

    def has(self, x: Any) -> bool:
        """Whether something stands for an object, which is not made for that."""
        x = replacement.original(x)  # which a function that is read may meet in a later call
        known = id(x) in self._makers or id(x) in self._of
        return known or is_of_arrays(x) or self._may_be_scipys(x)

    def hands_on(self, x: Any) -> bool:
        """Whether NumPy itself hands the arguments of a function on, unless they are lists of traced values."""
        return is_of_arrays(x) and (id(x) in _HANDED_ON or id(x) not in self._makers)

    def _may_be_scipys(self, x: Any) -> bool:
        home = getattr(x, "__module__", None) or getattr(type(x), "__module__", None)
        return isinstance(home, str) and (home.startswith("scipy.") or home == "statistics")

    def method(self, owner: type, name: str) -> Any:
        """Return the stand-in for a method of a class of SciPy's, or None."""
        self._take_up(owner)
        return self._methods.get((owner, name))

    def _take_up(self, x: Any) -> bool:
        """Add the stand-ins for the SciPy module of an object, and return whether they are new."""
        home = getattr(x, "__module__", None)
        package, _, rest = (home if isinstance(home, str) else "").partition(".")
        if package == "statistics" and getattr(x, "__name__", "") in _STATISTICS:
            self._of[id(x)] = x, _of("numbers", x.__name__)()
            return True
        if package != "scipy" or rest in self._taken:
            return False
        self._taken |= {rest}
        ready = {
            name for name in scipys.MODULES if f"{rest}.".startswith(f"{name}.")
        } - self._mirrored
        self._mirrored |= ready
        for name in sorted(ready):
            for _, found, traced in scipys.mirrored(name):
                original = replacement.original(found)
                if isinstance(original, type):
                    self._of[id(original)] = original, _constructor(original, traced)
                elif hasattr(traced, "methods"):  # a distribution
                    self._of[id(original)] = original, scipys.switch(original, traced)
                    for method in traced.methods:
                        stand_in = scipys.method(getattr(type(original), method), traced)
                        self._methods[type(original), method] = stand_in
                else:
                    self._of[id(original)] = original, scipys.switch(original, traced)
        if rest.startswith("spatial."):
            from fungrad.reading import scipy_objects

            for original, made in scipy_objects.of_module(rest):
                self._of[id(original)] = original, made
        return True


_HANDED_ON = frozenset(
    [id(getattr(np, name)) for name in stand_ins.COMPUTING]
    + [id(getattr(np.linalg, name)) for name in stand_ins.LINALG]
)
_OF_ARRAYS = {
    "numpy": "fungrad.numpy",
    "numpy.fft": "fungrad.numpy.fft",
    "numpy.linalg": "fungrad.numpy.linalg",
}
"""Modules of NumPy, and those that have fungrad's functions of the same names."""


def is_of_arrays(x: Any) -> bool:
    """Whether an object is a function of NumPy, which hands traced arrays on, but no lists of them."""
    if isinstance(x, np.ufunc):
        return getattr(np, x.__name__, None) is x
    if isinstance(x, type) or getattr(x, "__module__", None) not in _OF_ARRAYS:
        return False
    return hasattr(x, "__name__") and x.__name__ not in WRITING


def _of_same_name(x: Any) -> Function | None:
    """Return fungrad's function for one of NumPy, or None."""
    if not is_of_arrays(x):
        return None
    home = _OF_ARRAYS["numpy" if isinstance(x, np.ufunc) else x.__module__]
    return getattr(importlib.import_module(home), x.__name__, None)


def _constructor(kind: Any, traced: Any) -> Function:
    """Return the maker of objects of a class of SciPy's: fungrad's object if an argument is traced."""
    handed = holders.handed(kind)

    def make(*args: Any, **kwargs: Any) -> Any:
        if not reach(args, kwargs):
            return kind(*args, **kwargs)
        args, kwargs = scipys.with_constants(args, kwargs)
        if not reach(args, kwargs):
            return kind(*args, **kwargs)
        made = object.__new__(handed)
        object.__setattr__(made, "_traced", traced(*args, **kwargs))
        return made

    return make


def _of_numpy(module: Any, name: str, home: str) -> Callable[[], Function]:
    """Return what makes the stand-in for a function of NumPy of fungrad's function of that name."""

    def make() -> Function:
        ours = getattr(importlib.import_module(home), name)
        return stand_ins.of_traced(getattr(module, name), ours)

    return make


_BUILTIN = (
    *("all", "any", "complex", "float", "format", "getattr", "hasattr", "int", "isinstance"),
    *("max", "min", "repr", "round", "sorted", "str", "sum", "type"),
)
"""Functions and types of Python that take tracers only by a stand-in."""

_STATISTICS = frozenset(["mean", "fmean", "median", "pstdev", "stdev", "pvariance", "variance"])

_COMPLEX = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "isfinite", "isinf"),
    *("isnan", "log10", "sin", "sinh", "sqrt", "tan", "tanh"),
)
"""The functions of `cmath` that mean the same as NumPy's, of complex numbers."""


def _of_math(name: str, home: str, ours: str, module: Any = math) -> Callable[[], Function]:
    def make() -> Function:
        from fungrad.reading import numbers

        function = getattr(importlib.import_module(home), ours)
        made = numbers.of_number if module is math else numbers.of_complex
        return made(getattr(module, name), function)

    return make


_HOMES = {name: f"fungrad.reading.{name}" for name in ("builtin", "numbers", "raising")}
"""Modules of stand-ins, which are imported when one of their functions is called."""


def _of(module: str, name: str) -> Callable[[], Function]:
    """Return what looks up a stand-in in a module beside this."""
    return lambda: getattr(importlib.import_module(_HOMES[module]), name)


def _makers() -> Iterator[tuple[Any, Callable[[], Function]]]:
    """Yield functions of Python, `math` and NumPy with the maker of the stand-in for each."""
    for name in (*stand_ins.CREATING, *stand_ins.CONVERTING, *stand_ins.COMPUTING):
        if name != "asarray_chkfinite":
            yield getattr(np, name), _of_numpy(np, name, "fungrad.numpy")
    for name in stand_ins.LINALG:
        yield getattr(np.linalg, name), _of_numpy(np.linalg, name, "fungrad.numpy.linalg")
    yield (
        np.asarray_chkfinite,
        lambda: stand_ins.of_traced(np.asarray_chkfinite, stand_ins._checked),
    )
    yield np.require, lambda: stand_ins.of_traced(np.require, stand_ins._require)
    trimmed = np.polynomial.polyutils.trimseq
    # A coefficient that is 0 may have a derivative, so none is left out.
    yield trimmed, lambda: stand_ins.of_traced(trimmed, lambda seq: seq)
    yield np.fromiter, lambda: stand_ins.fromiter(np.fromiter)
    yield np.ndenumerate, _of_numpy(np, "ndenumerate", "fungrad.numpy")
    for kind, name in (
        (np.isscalar, "isscalar"),
        (np.vectorize, "vectorize"),
        (np.float64, "real"),
    ):
        yield kind, _of("builtin", name)
    for name in ("errstate", "seterr"):
        yield getattr(np, name), _of("raising", name)
    for name in scipys._MATH:
        yield getattr(math, name), _of_math(name, "fungrad.numpy", name)
    for name, ours in (("erf", "erf"), ("erfc", "erfc"), ("gamma", "gamma"), ("lgamma", "gammaln")):
        yield getattr(math, name), _of_math(name, "fungrad.scipy.special", ours)
    for name in (
        "log",
        "fsum",
        "prod",
        "dist",
        "isclose",
        "floor",
        "ceil",
        "trunc",
        "hypot",
        "modf",
        "ldexp",
        "factorial",
        "comb",
    ):
        yield getattr(math, name), _of("numbers", name)
    for name in _COMPLEX:
        yield getattr(cmath, name), _of_math(name, "fungrad.numpy", name, cmath)
    for name in ("phase", "polar", "rect"):
        yield getattr(cmath, name), _of("numbers", name)
    for name in _BUILTIN:
        yield getattr(builtins, name), _of("builtin", f"of_{name}")
