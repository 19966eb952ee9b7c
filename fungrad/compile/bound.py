"""Python source of a program as a function: bound to its constants, at the user's lines."""

from __future__ import annotations

import builtins
import inspect
import itertools
import os
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from fungrad.compile.emit.loops import ROUNDS
from fungrad.compile.emit.python import PythonSource
from fungrad.compile.lines import Origins, explain, first_place
from fungrad.compile.tiers import rounds
from fungrad.core.backend import target_of
from fungrad.core.float_warnings import (
    ORIGINS,
    calling_modes,
    float_modes,
    modes_with_calls,
    module_of,
    registry_of,
    usual_modes,
)


def run_source(
    source: PythonSource,
    xp: ModuleType,
    rounds: Callable[..., Iterable[Any]] = rounds,
    calls: bool = True,
    moved: dict[int, tuple[Any, Any]] | None = None,
) -> Callable[..., list[Any]]:
    """Return the function that `source` defines, for arrays of the library `xp`.

    Its loops go over what `rounds` gives. With `calls` it has NumPy call where it would warn, to warn of the user's lines.
    Constants that are on the device already are `moved`, by their identity on the host.
    """
    origins = Origins()
    bindings = {
        "__builtins__": builtins,
        "np": xp,
        ROUNDS: rounds,
        ORIGINS: origins,
        **source.bindings,
    }
    moved = {} if moved is None else moved
    if not target_of(xp).takes_scalars:
        for name, value in source.bindings.items():
            if isinstance(value, (np.ndarray, np.generic)):
                if id(value) not in moved:
                    moved[id(value)] = value, xp.asarray(np.asarray(value, order="C"))
                bindings[name] = moved[id(value)][1]
    name_of_file = _file(source)
    for name, text, recorded in source.functions:
        bindings[name] = _defined(text, name_of_file, bindings)
        origins.place(bindings[name], recorded, bindings)
    if (file := origins.file) is not None:
        bindings |= {"__name__": module_of(file), "__warningregistry__": registry_of(file)}
    function = bindings["program"]

    def run(*arguments: Any) -> list[Any]:
        try:
            return function(*arguments)  # type: ignore[no-any-return]
        except Exception as error:
            explain(error, origins, bindings)
            raise

    def run_with_calls(*arguments: Any) -> list[Any]:
        before = float_modes.get()
        float_modes.set(calling_modes if before is usual_modes else modes_with_calls())
        try:
            return function(*arguments)  # type: ignore[no-any-return]
        except Exception as error:
            explain(error, origins, bindings)
            raise
        finally:
            float_modes.set(before)

    if source.checking is not None:
        from fungrad.compile.targets.device import entered
        from fungrad.compile.targets.graph import Graph

        def bind(other: PythonSource) -> Callable[..., list[Any]]:
            return run_source(other, xp, rounds, calls, moved)

        graph = source.recording and Graph(xp, source.recording, bind, run)
        return entered(xp, run, bind(source.checking), graph)
    return run_with_calls if calls and origins.indirect and target_of(xp).warns else run


def _defined(text: str, file: str, bindings: dict[str, Any]) -> FunctionType:
    """Return the function that `text` defines; `bindings` are its globals.

    Marked as one that is nested in another: a free-threaded Python 3.13 never frees others, nor what their globals
    hold, once there has been a second thread.
    """
    module = compile(text, file, "exec")
    code = next(x for x in module.co_consts if isinstance(x, CodeType))
    return FunctionType(code.replace(co_flags=code.co_flags | inspect.CO_NESTED), bindings)


def _file(source: PythonSource) -> str:
    """Return the file name of generated code for tracebacks: the user's file and function, in <>."""
    origins = itertools.chain.from_iterable(f.origins for f in source.functions)
    place = first_place(origins)  # that of shared programs is not known
    if place is None:
        return "<fungrad program>"
    code, _ = place
    return f"<fungrad program of {os.path.basename(code.co_filename)} (in {code.co_name})>"
