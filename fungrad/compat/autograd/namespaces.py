"""Modules of autograd with all names of NumPy's or SciPy's: fungrad's functions, else theirs."""

from __future__ import annotations

import builtins
import contextlib
import functools
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from fungrad.compat.autograd.boxes import getval
from fungrad.compat.autograd.rules import primitive
from fungrad.compat.standing_in import lacks
from fungrad.core.tracer import Tracer
from fungrad.numpy.promotion import has_tracer


def either(traced: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that is `traced` if an argument is, and else NumPy's, which makes plain arrays."""

    @functools.wraps(theirs)
    def function(*args: Any, **kwargs: Any) -> Any:
        if not (has_tracer(args) or has_tracer(kwargs.values())):
            return theirs(*args, **kwargs)
        # Arrays of boxes have the numbers' dtype where autograd's hold objects.
        given = [None if x is object else x for x in args]
        named = {name: None if x is object else x for name, x in kwargs.items()}
        return traced(*given, **named)

    return function


CREATE = [
    "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "empty",
    "empty_like", "eye", "fromfunction", "full", "full_like", "geomspace", "identity", "indices",
    "linspace", "logspace", "meshgrid", "ones", "ones_like", "tri", "zeros", "zeros_like",
]  # fmt: skip
"""Functions whose results fungrad traces, so that boxes can be assigned; autograd's are plain."""


INTEGERS = ["int8", "int16", "int32", "int64", "integer"]


@functools.cache
def _of_values(dtype: type) -> type:
    """Return a class of integers that takes boxes for their values, without derivatives."""
    new = lambda cls, *args: dtype(*map(getval, args))
    return type(dtype.__name__, (dtype,), {"__new__": new})


def names_of(name: str, ours: Any, theirs: Any, absent: Mapping[str, str]) -> Callable[[str], Any]:
    """Return ``__getattr__`` for the module `name`: names of `ours`, or `theirs` as primitives.

    Each is made once: a primitive keeps the rules that a program defines for it.
    """
    made: dict[str, tuple[Any, Any]] = {}

    def __getattr__(attribute: str) -> Any:
        if f"{name}.{attribute}" in absent or not hasattr(theirs, attribute):
            raise AttributeError(lacks(f"{name}.{attribute}", absent), name=attribute)
        own = getattr(theirs, attribute)
        if theirs is np and attribute in ("fft", "linalg", "random"):
            raise AttributeError(name=attribute)  # a module that has taken over this function asks
        known = made.get(attribute)
        if known is None or known[0] is not own:
            known = made[attribute] = own, standing_for(attribute, own)
        return known[1]

    def standing_for(attribute: str, own: Any) -> Any:
        if theirs is np and attribute in INTEGERS:
            return _of_values(own)
        try:
            counterpart = getattr(ours, attribute)
        except AttributeError:
            callable_ = isinstance(own, (FunctionType, BuiltinFunctionType, np.ufunc))
            return primitive(own) if callable_ else own
        return either(counterpart, own) if attribute in CREATE and theirs is np else counterpart

    return __getattr__


def fill(module: dict[str, Any], theirs: ModuleType) -> None:
    """Put the functions, classes and numbers of `theirs` into a module, whose ``__dict__`` libraries wrap."""
    look_up = module["__getattr__"]
    for name, value in vars(theirs).items():
        if name not in module and (callable(value) or isinstance(value, (int, float))):
            with contextlib.suppress(AttributeError):
                module[name] = look_up(name)


def plain_names(module: ModuleType) -> list[str]:
    """Return the public names of a module that autograd's has too: no modules, and none of Python's."""
    return [
        name
        for name in dir(module)
        if not name.startswith("_")
        and not isinstance(getattr(module, name, None), ModuleType)
        and not hasattr(builtins, name)
    ]


def is_traced(x: Any) -> bool:
    """Return whether an array, or one in lists, is traced or NumPy's, rather than Python's numbers."""
    if isinstance(x, (list, tuple)):
        return any(map(is_traced, x))
    return type(x) is Tracer or isinstance(x, (np.ndarray, np.generic))
