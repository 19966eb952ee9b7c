"""What stands for SciPy's functions that `fungrad.scipy` has too: those take what is traced, SciPy's own all else.

Compiled code takes no tracers, whatever is converted before it, and under `jit` the checks of SciPy's Python need values that
nobody has.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from fungrad.compat.numpy.callers import FUNGRAD, vars_of, whose
from fungrad.core.tracer import Tracer, current_trace
from fungrad.numpy.promotion import has_tracer

Function = Callable[..., Any]

MODULES = (
    *("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal"),
    *("special", "stats"),
)
"""The modules of SciPy of which fungrad has a mirror."""


def stand_ins(name: str) -> Iterator[tuple[Any, str, Any]]:
    """Yield what is replaced of a module of SciPy that is imported: an owner, a name, and what stands there instead."""
    theirs, ours = sys.modules[f"scipy.{name}"], importlib.import_module(f"fungrad.scipy.{name}")
    for key in ours.__all__:
        original, traced = getattr(theirs, key, None), getattr(ours, key)
        if original is None or original is traced or isinstance(original, np.ufunc):
            continue
        if isinstance(original, type):
            if not isinstance(traced, type) or not issubclass(traced, original):
                yield original, "__new__", _maker(original, traced)
        elif hasattr(traced, "methods"):  # a distribution
            for method in traced.methods:
                yield type(original), method, _method(getattr(type(original), method), traced)
        elif callable(original):
            yield theirs, key, _switch(original, traced)


def _switch(original: Function, traced: Function) -> Function:
    """Return the function that hands what is traced to fungrad's."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if current_trace.get() is not None and _reach(args, kwargs):
            if whose(sys._getframe(1)) != FUNGRAD:
                return traced(*args, **kwargs)
        return original(*args, **kwargs)

    return function


def _method(original: Function, distribution: Any) -> Function:
    """Return the method of a distribution that hands what is traced to fungrad's distribution."""
    name = original.__name__

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if current_trace.get() is not None and _reach(args, kwargs):
            if whose(sys._getframe(1)) != FUNGRAD:
                return getattr(distribution, name)(*args, **kwargs)
        return original(self, *args, **kwargs)

    return method


def _maker(kind: Any, traced: Function) -> Function:
    """Return what makes an object of a class, or fungrad's in place of one that holds something traced."""

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is kind and current_trace.get() is not None and _reach(args, kwargs):
            if whose(sys._getframe(1)) != FUNGRAD:
                return traced(*args, **kwargs)
        return object.__new__(cls)

    return __new__


def _reach(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether something traced is among the arguments, or a function there holds it."""
    if has_tracer(args) or (kwargs and has_tracer(kwargs.values())):
        return True
    return any(_holds(x) for x in (*args, *kwargs.values()) if callable(x))


def _holds(function: Any) -> bool:
    """Whether a function has something traced in a closure, a default, or an object that it is a method of."""
    if isinstance(function, functools.partial):
        return _reach(function.args, function.keywords) or _holds(function.func)
    if type(function) is MethodType:
        return has_tracer(vars_of(function.__self__).values()) or _holds(function.__func__)
    if type(function) is not FunctionType:
        return has_tracer(vars_of(function).values())
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    held = [*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return has_tracer(held) or any(_holds(x) for x in held if type(x) is FunctionType and x is not function)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


class AfterImport:
    """A finder that calls a function with the name of each of `MODULES` after it has been imported."""

    def __init__(self, imported: Callable[[str], None]) -> None:
        self._imported = imported

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Find what the path has, if it is one of the modules."""
        package, _, name = fullname.partition(".")
        if package != "scipy" or name not in MODULES:
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
