"""Programs with kernels on disk: from a key to functions of machine code, without writing these anew.

A file has the program's Python, its constants, and where its machine code is kept. The key is a hash of all that these depend on: the program
(`canonical.py`), the sources of fungrad, the versions of Python and NumPy. On what machine they were made stands in the file.
Files are kept, found and trusted as object files are (`targets/store.py`).
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fungrad.compile import processor
from fungrad.compile.background import importing
from fungrad.compile.canonical import Unspeakable, read, spelled, text_of
from fungrad.compile.emit.pieces import Definition, Origin
from fungrad.compile.emit.python import PythonSource
from fungrad.compile.fallback import NotKept
from fungrad.compile.targets import store
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive

FORMAT = 1
"""Version of the content of files."""
_NAME = re.compile(r"[A-Za-z_]\w*")


def key_of(expr: Expr, *options: Sequence[int]) -> bytes | None:
    """Return the key of a simplified program compiled with `options`; None if it cannot be kept."""
    try:
        text = text_of(expr)
    except Unspeakable:
        return None
    return hashlib.sha256(repr((_versions(), options, text)).encode()).digest()


@functools.cache
def _versions() -> tuple[Any, ...]:
    """Return the facts, beside the program and LLVM, on which its compilation depends."""
    return FORMAT, sys.version_info[:2], np.__version__, processor.threads(), _sources()


def _sources() -> str:
    """Return a hash of names, sizes and times of fungrad's modules, by which Python too tells changes."""
    top = os.path.dirname(os.path.dirname(__file__))
    found, pending = [], [top]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    about = status.st_size, status.st_mtime_ns
                    found.append((entry.path[len(top) :], *about))
                elif "." not in entry.name and entry.is_dir():
                    pending.append(entry.path)
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()


def _known_key(expr: Expr, options: tuple[Sequence[int], ...]) -> bytes | None:
    """Return the key where something can be kept; it is computed once."""
    if not (store.is_used() and processor.is_installed()):
        return None
    known = vars(expr).setdefault("_keys", {})
    if options not in known:
        known[options] = key_of(expr, *options)
    return known[options]  # type: ignore[no-any-return]


def recalled(expr: Expr, *options: Sequence[int]) -> PythonSource | None:
    """Return a simplified program with kernels, compiled with `options`, from disk; None if it has none.

    Raises
    ------
    NotKept
        If it has to be compiled.
    """
    key = _known_key(expr, options)
    data = store.get(key) if key else None
    if data is None:
        raise NotKept
    about, host = json.loads(data), _host()
    if host.missing() or about["machine"] != _machine():
        raise NotKept
    try:
        bindings = {name: read(text) for name, text in about["values"].items()}
        bindings |= {name: read(text).impl for name, text in about["primitives"].items()}
    except (Unspeakable, ImportError):
        raise NotKept from None
    for name, (code, places) in about["kernels"].items():
        bindings[name] = host.recalled(host.Stored(bytes.fromhex(code), tuple(places)))
        if bindings[name] is None:
            raise NotKept
    functions = [
        Definition(name, text, [_origin(expr, k) for k in lines])
        for name, text, lines in about["functions"]
    ]
    return PythonSource(tuple(functions), bindings, *about["flags"]) if functions else None


def keep(source: PythonSource | None, expr: Expr, *options: Sequence[int]) -> None:
    """Keep a program with kernels, if all that it refers to has a text; None for one without kernels."""
    key, host = _known_key(expr, options), _host()
    if key is None or host.missing():
        return
    about: dict[str, Any] = {"machine": _machine(), "functions": []}
    values, primitives, kernels = {}, {}, {}
    if source is not None:
        numbers = {id(x): k for k, x in enumerate(expr.sources) if x is not None}
        for name, text, origins in source.functions:
            lines = [-1 if x is None else numbers.get(id(x[1]), -1) for x in origins]
            about["functions"].append([name, text, lines])
        try:
            for name in {*_NAME.findall(source.text)} & source.bindings.keys():
                value = source.bindings[name]
                if (stored := host.stored_of(value)) is not None:
                    kernels[name] = [stored.key.hex(), stored.places]
                elif isinstance(of := getattr(value, "__self__", None), Primitive):
                    primitives[name] = spelled(of)
                    if value != read(primitives[name]).impl:
                        return
                else:
                    values[name] = spelled(value)
        except Unspeakable:
            return
        about["flags"] = [source.loops, source.kernels_only]
    about |= {"values": values, "primitives": primitives, "kernels": kernels}
    store.put(key, json.dumps(about).encode())


def _machine() -> str:
    """Return the processor, the versions and the options that machine code depends on."""
    return repr(_host().compiler())


def _host() -> ModuleType:
    """Return the module that runs machine code: programs that are not on disk do not need it."""
    with importing:
        from fungrad.compile.targets import host

    return host


def _origin(expr: Expr, number: int) -> Origin | None:
    """Return the origin of a line that stands for an equation of the program; a negative `number` is none."""
    if number < 0:
        return None
    return expr.equations[number].primitive, expr.sources[number]
