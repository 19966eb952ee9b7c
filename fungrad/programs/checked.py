"""The primitive that runs a program and returns its failures as a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core.checks import collecting
from fungrad.core.config import setting, settings
from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType, array_type, tangent_type
from fungrad.programs.analysis import placed
from fungrad.programs.closing import tangent
from fungrad.programs.effects import quiet
from fungrad.programs.one_by_one import Iterative

LENGTH = 512
"""Bytes of a message: an array has a length that is known beforehand."""


def encoded(message: str) -> np.ndarray[Any, Any]:
    """Return a message as bytes, padded with zeros or cut off."""
    text = np.zeros(LENGTH, np.uint8)
    utf8 = message.encode()[:LENGTH]
    text[: len(utf8)] = list(utf8)
    return text


def decoded(text: np.ndarray[Any, Any]) -> str:
    """Return the message of `encoded`."""
    return bytes(text).rstrip(b"\0").decode(errors="ignore")


@primitive
class Checked(Iterative):
    """Run `program`, collecting failures of `kinds`; results are the first one's message, and outputs.

    Where an index out of bounds has ended the run, the outputs are zeros.
    """

    program: Program
    kinds: frozenset[str]

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        outputs = [tangent_type(t) for t in self.program.expr.output_types]
        return (array_type((LENGTH,), np.dtype(np.uint8)), *outputs)

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        chosen = settings.get()
        nans = chosen.nans_checked or "nan" in self.kinds
        divisions = chosen.divisions_checked or "div" in self.kinds
        outputs: Sequence[Any]
        with (
            collecting(self.kinds) as failures,
            setting(nans_checked=nans, divisions_checked=divisions),
        ):
            try:
                outputs = self.program(*operands)
            except IndexError as error:
                if "index" not in self.kinds:
                    raise
                failures.append(error)
                outputs = [xp.zeros(t.shape, t.dtype) for t in self.abstract_eval()[1:]]
        return (xp.asarray(encoded(_text(failures[0]) if failures else "")), *outputs)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        moving = [i for i, t in enumerate(tangents) if t is not None]
        derivative = quiet(tangent(self.program, moving))
        pushed = derivative(*operands, *[tangents[i] for i in moving])
        types = self.program.expr.output_types
        return (None, *placed(pushed, [i for i, t in enumerate(types) if t.inexact], len(types)))


def _text(failure: Exception) -> str:
    return "\n".join([Exception.__str__(failure), *getattr(failure, "__notes__", ())])
