"""Stand-ins for SciPy's functions: fungrad's for traced values, SciPy's own for all else.

Compiled code takes no tracers, whatever is converted before it, and under `jit` the checks of SciPy's Python need values that
nobody has.
"""

from __future__ import annotations

import functools
import importlib
import math
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.numpy import holders
from fungrad.compat.numpy.callers import FUNGRAD, whose
from fungrad.compat.numpy.reaching import reach
from fungrad.core.frames import caller_of
from fungrad.core.tracer import Tracer, current_trace
from fungrad.numpy.promotion import has_tracer
from fungrad.numpy.unruled import NotConstant, of_constants
from fungrad.numpy.views import is_scalar

Function = Callable[..., Any]

MODULES = (
    *("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal"),
    *("cluster.vq", "sparse", "sparse.linalg", "spatial.distance", "special", "stats"),
)
"""Modules of SciPy with a mirror in fungrad."""

_HELPERS = "_lib.array_api_compat.common._helpers"
WATCHED = (*MODULES, _HELPERS)
"""The modules in which something is replaced, once they are imported."""


def is_ready(name: str) -> bool:
    """Whether a module of SciPy is imported, and not only by fungrad's import in progress."""
    mirror = sys.modules.get(f"fungrad.scipy.{name}")
    return f"scipy.{name}" in sys.modules and (mirror is None or hasattr(mirror, "__all__"))


def stand_ins(name: str) -> Iterator[tuple[Any, str, Any]]:
    """Yield the replacements in an imported module of SciPy: owner, name, stand-in."""
    if name == _HELPERS:
        helpers = sys.modules[f"scipy.{name}"]
        yield helpers, "is_writeable_array", _writeable(helpers.is_writeable_array)
        return
    theirs = sys.modules[f"scipy.{name}"]
    if name == "sparse":
        yield from holders.operators()
    if name == "stats":
        for kind in (theirs.rv_continuous,):
            for each in ("ppf", "isf"):
                yield kind, each, _quantile(getattr(kind, each))
    for key, original, traced in mirrored(name):
        if isinstance(original, type):
            yield original, "__init__", _initializer(original, traced)
        elif hasattr(traced, "methods"):  # a distribution
            for each in traced.methods:
                yield type(original), each, method(getattr(type(original), each), traced)
        else:
            yield theirs, key, switch(original, traced)


def mirrored(name: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield names of functions, classes and distributions of a SciPy module, with both versions."""
    from fungrad.compat.numpy import signatures  # few programs need it

    theirs, ours = sys.modules[f"scipy.{name}"], importlib.import_module(f"fungrad.scipy.{name}")
    for key in (*ours.__all__, *signatures.MORE.get(name, ())):
        original = getattr(theirs, key, None)
        rule = signatures.OF_SCIPY.get(key)
        if original is None or isinstance(original, np.ufunc):
            continue
        traced = signatures.under(original, rule) if rule else getattr(ours, key)
        if original is traced:
            continue
        if isinstance(original, type):
            if not isinstance(traced, type) or not issubclass(traced, original):
                yield key, original, traced
        elif hasattr(traced, "methods") or callable(original):
            yield key, original, traced


def numbers() -> Iterator[tuple[Any, str, Any]]:
    """Yield stand-ins for functions of `math`, which take no tracers, in user code and SciPy's Python."""
    from fungrad.scipy import special

    for name in _MATH:
        yield math, name, _of_number(getattr(math, name), getattr(fnp, name))
    for name, ours in (("erf", "erf"), ("erfc", "erfc"), ("gamma", "gamma"), ("lgamma", "gammaln")):
        yield math, name, _of_number(getattr(math, name), getattr(special, ours))
    yield math, "log", _of_number(math.log, _log)


_MATH = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos"),
    *("cosh", "degrees", "exp", "exp2", "expm1", "fabs", "fmod", "hypot", "isfinite", "isinf"),
    *("isnan", "log10", "log1p", "log2", "pow", "radians", "sin", "sinh", "sqrt", "tan", "tanh"),
)
"""The functions of `math` that mean the same as NumPy's."""


def _log(x: Any, *base: Any) -> Any:
    return fnp.log(x) / fnp.log(*base) if base else fnp.log(x)


def _of_number(original: Function, ours: Function) -> Function:
    @functools.wraps(original)
    def function(*args: Any) -> Any:
        return ours(*args) if any(type(x) is Tracer for x in args) else original(*args)

    return function


def _writeable(original: Function) -> Function:
    """Return the test whether elements of an array can be assigned: not of a traced scalar."""

    @functools.wraps(original)
    def is_writeable_array(x: Any) -> bool:
        return not is_scalar(x) if type(x) is Tracer else original(x)

    return is_writeable_array


def switch(original: Function, traced: Function) -> Function:
    """Return the function that hands traced values to fungrad's."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if _is_ours(args, kwargs):
            return _first(traced, original, args, kwargs)
        return original(*args, **kwargs)

    return function


def _first(traced: Function, original: Function, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call fungrad's function, or SciPy's, if that is Python, for arguments that fungrad's lacks.

    Arguments that are constants are handed on as plain arrays.
    """
    args, kwargs = with_constants(args, kwargs)
    if not reach(args, kwargs):
        return original(*args, **kwargs)
    try:
        return traced(*args, **kwargs)
    except (TypeError, ValueError) as refusal:
        try:
            return original(*args, **kwargs)
        except Exception:
            raise refusal from None


def with_constants(args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return arguments with arrays in the place of constants that are traced."""
    return tuple([_plain(x) for x in args]), {name: _plain(x) for name, x in kwargs.items()}


def _plain(x: Any) -> Any:
    x = holders.unwrapped(x)
    try:
        return of_constants(x)
    except NotConstant:
        return x


def method(original: Function, distribution: Any) -> Function:
    """Return the method of a distribution that hands traced values to fungrad's distribution."""
    name, of = original.__name__, distribution.name

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Others, such as vonmises_line, have the methods of the class on another support.
        if _is_ours(args, kwargs) and getattr(self, "name", of) == of:
            theirs = functools.partial(original, self)
            return _first(getattr(distribution, name), theirs, args, kwargs)
        return original(self, *args, **kwargs)

    return method


def _quantile(original: Function) -> Function:
    """Return the method for quantiles, whose derivative follows from that of the distribution function.

    By the implicit function theorem: where ``F(x; shapes) = q``, ``f dx + dF = dq``.
    """
    name = original.__name__
    inverted, sign = ("cdf", 1) if name == "ppf" else ("sf", -1)

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if current_trace.get() is None or not has_tracer((*args, *kwargs.values())):
            return original(self, *args, **kwargs)
        from fungrad.custom_derivatives import custom_jvp
        from fungrad.transforms.autodiff import jvp

        shapes, loc, scale = self._parse_args(*args[1:], **kwargs)

        @custom_jvp
        def quantile(q: Any, *rest: Any) -> Any:
            return original(self, q, *rest)

        @quantile.defjvp
        def of_tangents(primals: Any, tangents: Any) -> Any:
            x = quantile(*primals)
            of_shapes = functools.partial(getattr(self, inverted), x)
            _, moved = jvp(of_shapes, primals[1:], tangents[1:])
            return x, sign * (tangents[0] - moved) / self.pdf(x, *primals[1:])

        return quantile(*[fnp.asarray(x) * 1.0 for x in (args[0], *shapes, loc, scale)])

    return method


def _initializer(kind: Any, traced: Function) -> Function:
    """Return the initializer of a class: for traced values, fungrad's object does the work."""
    original = kind.__init__

    handed = holders.handed(kind)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is kind and _is_ours(args, kwargs):
            args, kwargs = with_constants(args, kwargs)
            if reach(args, kwargs):
                self._traced, self.__class__ = traced(*args, **kwargs), handed
                return
        original(self, *args, **kwargs)

    return __init__


def _is_ours(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is one for fungrad's function: of something traced, and not from fungrad itself."""
    if current_trace.get() is None or not reach(args, kwargs):
        return False
    return whose(caller_of([_is_ours.__code__.co_filename])) != FUNGRAD


class AfterImport:
    """A finder that calls a function after each module of `WATCHED` is imported."""

    def __init__(self, imported: Callable[[str], None]) -> None:
        self._imported = imported

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Find one of the modules on the path."""
        name = fullname.removeprefix("fungrad.").removeprefix("scipy.")
        if name == fullname or name not in WATCHED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        loader: Any = None if spec is None else spec.loader
        if loader is None:
            return None
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._imported(name)

        loader.exec_module = exec_module
        return spec
