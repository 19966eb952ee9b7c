"""Random Python functions in plain NumPy under every transform, against the same functions called on plain values.

A function that is read does on plain values what it did: the same bits, exceptions, lines and effects, in their order.
Transforms give the same results, and derivatives that differences find. An error of fungrad's that says a case cannot
be is counted as refused, by its message; any other difference is a mismatch.

Each function is run in the modes of `ALWAYS`, and in one of `STACKS`, by its number; one of some in those of `SELDOM`, which take long.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import fungrad as fg
from fungrad.core.config import compilation
from fungrad.core.errors import ConcretizationError, LostDerivativeError
from tests.fuzz import driver
from tests.fuzz.campaign import Mismatch
from tests.fuzz.functions_cases import (
    STEP,
    Case,
    Endless,
    NotAProgram,
    Outcome,
    Skipped,
    fingerprint,
    limited,
    shape_of,
)
from tests.fuzz.functions_language import POINTS, draw
from tests.fuzz.functions_language import Function as Function
from tests.fuzz.functions_smaller import smaller as smaller

FAILING = 8
"""One of how many functions may end with an exception at the first point."""
TOLERANCE = 1e-12
SLOPES = 2e-5
"""What derivatives may differ by from differences, relatively."""
CPU_SECONDS = 30

WORDS = ("agreed", "refused", "failed", "skipped")
"""What a mode may come to."""

tally: collections.Counter[str] = collections.Counter()
"""How many functions agreed, were refused, failed and were skipped, by mode, and the refusals by message."""


class Wrong(Exception):
    """Something differs: its kind, and how."""


class Refused(Exception):
    """fungrad says that a case cannot be."""


class Mixed(Exception):
    """A result, by its number, is a float in one mode, and an int on Python's path."""


def _same(kind: str, found: Any, expected: Any, tolerance: float) -> None:
    """Raise Wrong if two results differ."""
    if fg.tree.structure(found) != fg.tree.structure(expected):
        raise Wrong(f"{kind}: structure", f"{found}\nand not\n{expected}")
    pairs = zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True)
    for k, (x, y) in enumerate(pairs):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape == y.shape and (x.dtype, y.dtype) == (np.float64, np.int64) and (x == y).all():
            raise Mixed(kind, k)
        if x.shape != y.shape or x.dtype != y.dtype:
            raise Wrong(f"{kind}: type", f"{x.dtype}{x.shape} and not {y.dtype}{y.shape}")
        scale = float(np.max(np.abs(y), initial=1e-2))
        if not np.allclose(x, y, rtol=tolerance, atol=tolerance * scale):
            raise Wrong(kind, f"{x}\nand not\n{y}")


def _refusal(error: BaseException) -> str | None:
    """Return the message of an error of fungrad's that says a case cannot be."""
    if not isinstance(error, TypeError):
        return None
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    inside = tb is not None and f"{os.sep}fungrad{os.sep}" in tb.tb_frame.f_code.co_filename
    inside = inside or "\nMore: python -m fungrad" in str(error)  # raised at the user's line
    if not inside and not isinstance(error, (ConcretizationError, LostDerivativeError)):
        return None
    text = str(error)
    if text.startswith("at "):
        text = text.partition("\n")[2] or text
    text = re.sub(r"\b(float|int|bool|complex|uint)\d*\[.*?\]", "...", text)
    return re.sub(r"\d+", "0", re.split(r"[:.;,] |\n", text)[0])[:70]


def _transformed(mode: str, found: Outcome, expected: Outcome, tolerance: float) -> None:
    """Compare what a transform gives with what is expected."""
    name = expected.failed[0]
    if found.error is not None:
        if found.failed[0] == name:
            return
        message = _refusal(found.error)
        if message is not None:
            raise Refused(f"{type(found.error).__name__}, {message}")
        raise Wrong(f"{mode}: raises {found.failed[0]}", f"{found.failed} and not {name or 'none'}")
    if name:
        raise Wrong(f"{mode}: no {name}", f"{found.value} and not {expected.failed}")
    _same(mode, found.value, expected.value, tolerance)


# The modes


def _read(case: Case) -> None:
    try:
        read = importlib.import_module("fungrad.reading").read
    except (ImportError, AttributeError):
        raise Skipped from None
    scope = case.loaded.scope()
    f = read(scope["f"])
    for point in range(POINTS):
        args = case.args(point)
        found, expected = case.loaded.call(scope, f, args), case.known[point, args[2]]
        for what in ("failed", "value", "log", "arguments"):
            one, other = getattr(found, what), getattr(expected, what)
            if fingerprint(one) != fingerprint(other):
                raise Wrong(f"read: {what}", f"{one}\nand not\n{other}")


def _jit(case: Case, mode: str, static: bool) -> None:
    scope = case.loaded.scope()
    f = fg.jit(scope["f"], static_argnums=2 if static else ())
    for point in (*range(POINTS), 0):
        args = case.args(point, case.n if static else None)
        expected = case.known[point, args[2]]
        _transformed(mode, case.loaded.call(scope, f, args), expected, TOLERANCE)


def _vmap(case: Case, mode: str, shared: bool, jitted: bool) -> None:
    each = [case.args(point, case.n if shared else None) for point in range(POINTS)]
    try:  # a mapped integer is one of NumPy's, which divides by zero without an error
        lanes = [
            case.known[point, args[2]] if shared else case.run(*args[:2], np.int64(args[2]))
            for point, args in enumerate(each)
        ]
    except NotAProgram:
        raise Skipped from None
    first = shape_of(lanes[0].value)
    if any(lane.error or shape_of(lane.value) != first for lane in lanes):
        raise Skipped
    rows = zip(*[fg.tree.leaves(lane.value) for lane in lanes], strict=True)
    value = fg.tree.unflatten(fg.tree.structure(lanes[0].value), [np.stack(row) for row in rows])
    scope = case.loaded.scope()
    f = fg.vmap(scope["f"], in_axes=(0, 0, None if shared else 0))
    if jitted:
        f = fg.jit(f, static_argnums=2)
    x, t, n = zip(*each, strict=True)
    args = (np.stack(x), np.array(t), case.n if shared else np.array(n))
    expected = lanes[0]._replace(value=value)
    _transformed(mode, case.loaded.call(scope, f, args), expected, TOLERANCE)


def _gradient(f: Callable[..., Any], scalar: bool) -> Callable[..., Any]:
    """Return the gradient, by the array and the float, of the sum of the results."""
    if scalar:
        return fg.grad(f, argnums=(0, 1))

    def pulled(x: Any, t: Any, n: int) -> Any:
        value, pull = fg.vjp(lambda x, t: f(x, t, n), x, t)
        return pull(fg.tree.map(fg.numpy.ones_like, value))

    return pulled


def _points(case: Case) -> tuple[int, ...]:
    """Return the points for derivatives: two of three, by the function's number."""
    number = case.program.number
    return tuple(range(POINTS)) if number is None else (0, 1 + number // len(STACKS) % (POINTS - 1))


def _grad(case: Case, mode: str, order: str) -> None:
    scope = case.loaded.scope()
    f = scope["f"]
    if order == "of jit":
        f = fg.jit(f, static_argnums=2)
    f = _gradient(f, case.scalar)
    if order == "jit":
        f = fg.jit(f, static_argnums=2)
    for point in _points(case):
        args, expected = case.args(point, case.n), case.known[point, case.n]
        if not expected.error:
            expected = expected._replace(value=case.slopes(point))
        _transformed(mode, case.loaded.call(scope, f, args), expected, SLOPES)


def _vmap_grad(case: Case) -> None:
    lanes = [case.known[point, case.n] for point in range(POINTS)]
    if any(lane.error for lane in lanes):
        raise Skipped
    slopes = zip(*[case.slopes(point) for point in range(POINTS)], strict=True)
    expected = lanes[0]._replace(value=tuple(np.stack(rows) for rows in slopes))
    scope = case.loaded.scope()
    f = fg.vmap(_gradient(scope["f"], case.scalar), in_axes=(0, 0, None))
    x, t, _ = zip(*[case.args(point) for point in range(POINTS)], strict=True)
    args = (np.stack(x), np.array(t), case.n)
    _transformed("vmap(grad)", case.loaded.call(scope, f, args), expected, SLOPES)


def _differences(gradient: Callable[..., Any], x: Any, t: float, n: int, step: float) -> Any:
    try:
        with limited():
            rows = [gradient(x + h, t, n) - gradient(x - h, t, n) for h in step * np.eye(len(x))]
    except (Exception, Endless):
        raise Skipped from None  # "grad" says why
    return np.array(rows) / (2 * step)


def _hessian(case: Case) -> None:
    """Compare the hessian by the array with differences of the gradient."""
    if not case.scalar:
        raise Skipped
    f = case.loaded.scope()["f"]
    gradient = fg.grad(f)
    for point in _points(case):
        x, t, n = case.args(point, case.n)
        case.slopes(point)  # skips kinks
        wide, narrow = (_differences(gradient, x, t, n, step) for step in (STEP, STEP / 2))
        if np.abs(wide - narrow).max() > SLOPES * max(np.abs(narrow).max(), 1.0):
            raise Skipped
        expected = case.known[point, case.n]._replace(value=narrow)
        found = case.loaded.call(case.loaded.scope(), fg.hessian(f), (x, t, n))
        _transformed("hessian", found, expected, SLOPES)


@contextmanager
def compiling(when: str) -> Iterator[None]:
    """Context in which kernels are compiled at another time."""
    token = compilation.set(when)
    try:
        yield
    finally:
        compilation.reset(token)


def _native(case: Case) -> None:
    case.loaded.seconds = CPU_SECONDS
    with compiling("eager"):
        _grad(case, "native", "jit")


ALWAYS: dict[str, Callable[[Case], None]] = {
    "read": _read,
    "grad": lambda case: _grad(case, "grad", ""),
    "jit": lambda case: _jit(case, "jit", True),
    "vmap": lambda case: _vmap(case, "vmap", True, False),
}
STACKS: dict[str, Callable[[Case], None]] = {
    "jit of n": lambda case: _jit(case, "jit of n", False),
    "vmap over n": lambda case: _vmap(case, "vmap over n", False, False),
    "jit(grad)": lambda case: _grad(case, "jit(grad)", "jit"),
    "grad(jit)": lambda case: _grad(case, "grad(jit)", "of jit"),
    "vmap(grad)": _vmap_grad,
    "jit(vmap)": lambda case: _vmap(case, "jit(vmap)", True, True),
}
SELDOM: dict[str, tuple[int, Callable[[Case], None]]] = {
    "hessian": (16, _hessian),
    "native": (128, _native),
}
"""Modes, each with one of how many functions it is for."""
MODES = ALWAYS | STACKS | {mode: run for mode, (_, run) in SELDOM.items()}


def modes_of(program: Function) -> list[str]:
    """Return the modes that a function is run in."""
    number = program.number
    if number is None:
        return list(MODES)
    seldom = [mode for mode, (share, _) in SELDOM.items() if number % share == 0]
    return [*ALWAYS, list(STACKS)[number % len(STACKS)], *seldom]


def generate(seed: int) -> Function:
    """Return the function of a seed: the first one drawn that runs."""
    may_fail = seed % FAILING == 0
    for number in range(1000):
        program = draw(1000 * seed + number)
        try:
            with tempfile.TemporaryDirectory() as folder, _quiet():
                case = Case(program, folder)
        except NotAProgram:
            continue
        if may_fail or not case.known[0, case.n].error:
            return program
    raise AssertionError("none of 1000 functions runs")


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"), compiling("off"):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _recording(program: Function) -> Iterator[None]:
    """Context in which loops of few rounds are recorded as well, for two of three functions."""
    from fungrad.reading import builtin, hooks, loops

    number = len(program.source) if program.number is None else program.number // 6
    often = number % 3 > 0
    places = [(hooks, "LEAST", 2), (loops, "LEAST_ROUNDS", 2), (loops, "LEAST_WORK", 0)]
    places.append((builtin, "LEAST", 2))
    kept = [getattr(module, name) for module, name, _ in places]
    for module, name, value in places:
        if often:
            setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(places, kept, strict=True):
            setattr(module, name, value)


def check(program: Function) -> Mismatch | None:
    """Run a function in all modes; return the first thing that differs."""
    first = None
    with tempfile.TemporaryDirectory() as folder, _quiet(), _recording(program):
        try:
            case = Case(program, folder)
        except (NotAProgram, SyntaxError):
            return None
        for mode in modes_of(program):
            try:
                MODES[mode](case)
                word = "agreed"
            except Skipped:
                word = "skipped"
            except Refused as error:
                word = "refused"
                tally[f"refused, {error}"] += 1
            except Mixed as error:
                kind, number = error.args
                word = "refused" if case.mixes(number) else "failed"
                if word == "refused":  # docs/python.md, Numbers
                    tally["refused, an int on one path and a float on the other"] += 1
                else:
                    first = first or Mismatch(f"{kind}: type", "a float and not an int")
            except Wrong as error:
                word = "failed"
                first = first or Mismatch(*error.args)
            tally[f"{mode} {word}"] += 1
            if first and first.kind.endswith("raises Endless"):
                break  # other modes would take as long
    return first


def readable(program: Function) -> str:
    """Return the text of the function."""
    return program.source


def main() -> int:
    """Parse ``--seconds``, and run campaigns, this one among them."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--seconds", type=float)
    own, sys.argv[1:] = parser.parse_known_args()
    if own.seconds is not None:
        os.environ["FUZZ_S"] = str(own.seconds)
    if "functions" in sys.argv[1:]:
        driver.CAMPAIGNS.append("functions")
    return driver.main()
