"""Reasons for which a program has no kernels to run, or its kernels do not give the results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fungrad.core.float_warnings import float_modes, modes_that_call, usual_modes
from fungrad.core.state import borrow


class Rerun(BaseException):
    """A kernel cannot give the result, or its warnings: NumPy's functions are to compute it.

    No `Exception`, so that nobody notes on it where it came from.
    """


class Unfit(Rerun):
    """An argument lies in memory as kernels do not take it. Those that lie otherwise, they go on taking."""


class Elsewhere(Rerun):
    """An argument is on another device than the one at hand."""


class Refused(Rerun):
    """A device runs no kernel of the program, now or later."""


class NotKept(LookupError):
    """A program with kernels is not on disk."""


def _rerun(kind: str, flag: int) -> None:
    raise Rerun


borrow(float_modes, usual_modes, lambda: np.geterrcall() is _rerun)
RERUN_MODES = modes_that_call(_rerun)
"""Error modes of NumPy's functions between kernels: a warning leads to a rerun."""


def in_order(arguments: Iterable[Any]) -> bool:
    """Whether arrays lie in C order."""
    return all(np.ndim(x) < 2 or x.flags.c_contiguous for x in arguments)


def layout(arguments: Iterable[Any]) -> tuple[Any, ...]:
    """Return how arrays, whose shapes are known, lie in memory."""
    return tuple([getattr(x, "strides", None) for x in arguments])
