"""From a program to something that runs on arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fungrad.compile.python_source import PythonSource, python_source
from fungrad.compile.simplify import simplify
from fungrad.core.backend import namespace
from fungrad.core.errors import describe_source
from fungrad.core.evaluate import evaluate
from fungrad.core.expr import Expr
from fungrad.core.trace import Tracer

CHUNK = 1 << 13
"""Equations up to which a program becomes one Python function; longer ones are evaluated."""


class Program:
    """An `Expr` that can be called: compiled for arrays, recorded again on tracers.

    Compilation happens at the first call on arrays, separately for NumPy and CuPy.
    """

    def __init__(self, expr: Expr, donated: Sequence[int] = ()) -> None:
        self.expr = simplify(expr)
        self.donated = tuple(donated)
        self._compiled: dict[ModuleType, Callable[..., list[Any]]] = {}
        self._source: PythonSource | None = None
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return the outputs for `arguments`, arrays or tracers, one for each input."""
        xp: ModuleType = np
        for x in arguments:
            cls = type(x)
            if cls is not np.ndarray and cls is not np.float64:
                if cls is Tracer:
                    return evaluate(self.expr, arguments)
                if xp is np and not isinstance(x, np.generic):
                    xp = namespace((x,))
        return (self._compiled.get(xp) or self.compiled(xp))(*arguments)

    @property
    def source(self) -> PythonSource:
        """The program as Python source."""
        if self._source is None:
            self._source = python_source(self.expr, self.donated)
        return self._source

    def compiled(self, xp: ModuleType = np) -> Callable[..., list[Any]]:
        """Return the function of arrays, for the array library `xp`."""
        with self._lock:
            if xp not in self._compiled:
                self._compiled[xp] = self._compile(xp)
            return self._compiled[xp]

    def _compile(self, xp: ModuleType) -> Callable[..., list[Any]]:
        if len(self.expr.equations) > CHUNK:
            return _evaluator(self.expr)
        source = self.source
        bindings = {"np": xp, **source.bindings}
        if xp is not np:
            bindings |= {
                name: xp.asarray(value)
                for name, value in source.bindings.items()
                if isinstance(value, (np.ndarray, np.generic))
            }
        exec(compile(source.text, "<fungrad program>", "exec"), bindings)
        function = bindings["program"]

        def run(*arguments: Any) -> list[Any]:
            try:
                return function(*arguments)
            except Exception as error:
                _explain(error, source, function.__code__)
                raise

        return run


def _explain(error: Exception, source: PythonSource, code: Any) -> None:
    """Note on `error` which primitive raised it and where the user called that."""
    tb = error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code is code:
            origin = source.lines[tb.tb_lineno - 1]
            if origin is not None:
                primitive, place = origin
                error.add_note(f"raised by `{primitive}`, from {describe_source(place)}")
            return
        tb = tb.tb_next


def _evaluator(expr: Expr) -> Callable[..., list[Any]]:
    inputs = set(expr.inputs) | set(expr.constants)

    def run(*arguments: Any) -> list[Any]:
        outputs = evaluate(expr, arguments)
        return [
            x.copy() if np.ndim(x) and _is_shared(v, x, inputs) else x
            for v, x in zip(expr.outputs, outputs, strict=True)
        ]

    return run


def _is_shared(v: int, x: Any, inputs: set[int]) -> bool:
    return v in inputs or x.base is not None


