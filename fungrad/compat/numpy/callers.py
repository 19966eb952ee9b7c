"""Callers of NumPy's functions while a trace is open: whether they make arrays for traced values."""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from fungrad.core.float_warnings import ORIGINS
from fungrad.core.frames import is_installed, package_of
from fungrad.core.tracer import Tracer

__all__ = ["FUNGRAD", "LIBRARY", "NUMPY", "USER", "calls", "holds_tracer", "stores", "whose"]

FUNGRAD, NUMPY, LIBRARY, USER = range(4)


def whose(frame: FrameType) -> int:
    """Return whose code runs in a frame: fungrad's, NumPy's, another installed library's, or the user's."""
    if ORIGINS in frame.f_globals:  # a compiled program, which has the user's file and module
        return FUNGRAD
    return _whose(package_of(frame), frame.f_code.co_filename)


@functools.lru_cache(maxsize=1 << 10)
def _whose(package: str, filename: str) -> int:
    if filename.startswith("<doctest"):  # an example, which runs in the module that it explains
        return USER
    if package in ("fungrad", "numpy"):
        return FUNGRAD if package == "fungrad" else NUMPY
    return LIBRARY if is_installed(filename) else USER


def calls(frame: FrameType, name: str, function: Any) -> bool:
    """Whether a function is written in the code that runs in a frame, by its name or another.

    Else it is compiled code, called from there, that calls it, and could not work on what is traced.
    """
    names = frame.f_code.co_names
    return name in names or any(frame.f_globals.get(other) is function for other in names)


@functools.lru_cache(maxsize=1 << 10)
def stores(code: CodeType) -> bool:
    """Whether a function assigns elements of arrays: ``a[i] = x``, ``a += x``, ``np.fill_diagonal``."""
    if not _FILLING.isdisjoint(code.co_names):
        return True
    return any(
        x.opname in ("STORE_SUBSCR", "STORE_SLICE")
        or (x.opname == "BINARY_OP" and x.argrepr.endswith("="))
        for x in dis.get_instructions(code)
    )


_FILLING = frozenset(
    ["at", "copyto", "fill", "fill_diagonal", "out", "place", "put", "put_along_axis", "putmask"]
)


def holds_tracer(frame: FrameType) -> bool:
    """Whether a frame's local variable, its elements or attributes of `self` are traced."""
    while "array_api_compat" in str(frame.f_globals.get("__name__")) and frame.f_back is not None:
        frame = frame.f_back  # which calls NumPy's functions for others
    variables = frame.f_locals
    return _any_traced(variables.values()) or _any_traced(vars_of(variables.get("self")).values())


def vars_of(x: Any) -> dict[str, Any]:
    """Return the attributes of an object that has a dict of them."""
    attributes = getattr(x, "__dict__", None)
    return attributes if type(attributes) is dict else {}


def _any_traced(values: Iterable[Any]) -> bool:
    for x in list(values):
        kind = type(x)
        if kind is Tracer:
            return True
        if kind is list or kind is tuple or kind is dict:
            parts = x.values() if kind is dict else x[:_LOOKED_AT]
            if any(type(part) is Tracer for part in parts):
                return True
    return False


_LOOKED_AT = 64
"""How many elements of a list are looked at."""
