"""The purposes of traces, and their notes beside the program that they record.

Most traces note little, so the defaults are attributes of the classes: to make one costs next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import CodeType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.backend import NUMPY, Target

NOTHING: Any = MappingProxyType({})
"""In place of a dict in which there is nothing yet."""


class Mode(NamedTuple):
    """The purpose of a trace.

    Attributes
    ----------
    with_values
        Whether the inputs have values, so that values can be asked for.
    bake
        Whether captured arrays become constants of the program instead of inputs to it.
    rewriting
        Whether rules are run on the equations of another trace, and not a user's function.
    ambient
        Whether values made from nothing are recorded here while the trace is the innermost.
    branch
        Whether the function, a branch or a loop's body, may never run. So operations on tracers of enclosing traces, or
        on constants alone, are recorded here too.
    runs_all
        Whether all that is recorded runs at the end, so that what can fail may be put off until then.
    order
        How often what is recorded will be differentiated, if it will be.
    staged
        Whether the trace is of a branch or within one, so that what it records may never run.
    """

    with_values: bool = False
    bake: bool = False
    rewriting: bool = False
    ambient: bool = True
    branch: bool = False
    runs_all: bool = False
    order: int = 1
    staged: bool = False


TYPES = Mode()
"""A function of arguments whose types alone are known, as under `vmap`."""
VALUES = Mode(with_values=True)
"""A function of known arguments, as under `vjp`."""
GRADIENT = VALUES._replace(runs_all=True)
"""Likewise, where all that is recorded runs, as under `grad`."""
PROGRAM = Mode(bake=True)
"""A program that is kept, as under `jit`: captured arrays are its constants."""
RULES = PROGRAM._replace(rewriting=True)
"""A program that rules make from another one."""
TANGENTS = RULES._replace(ambient=False)
"""The tangents beside the primal values of such a program."""
BRANCH = Mode(branch=True, staged=True)
"""A branch or the body of a loop."""


class Facts:
    """Notes on a run of a function; the first four hold for the enclosing traces, too."""

    depends_on: float = math.inf
    """The lowest level whose values Python saw."""
    reshaped = False
    """Whether layouts decided which results are views."""
    assigned = False
    """Whether elements were assigned."""
    repeats = False
    """Whether a loop without reverse mode was recorded."""
    cuts: Mapping[tuple[CodeType, int], tuple[int, str, dict[str, Any]]] = NOTHING
    """The user's lines that made a constant of a variable, with the first one and how: see `strict.py`."""
    holds_rules = False
    """Whether an equation holds a rule of Python's, so that no program may be made of them."""
    late: frozenset[int] = frozenset()
    """The results of equations that can fail and were not computed when recorded."""
    failed: Exception | None = None
    """The error of one of these that has failed since."""
    opener = 0
    """The `id` of the frame that opened the trace; 0 if nothing is put off."""
    started = 0.0
    """When it was opened, where somebody observes."""
    sizes: Mapping[int, int] = NOTHING
    """How many variables enclosing traces had then, by level."""

    def join(self, inner: Facts) -> None:
        """Take up the facts of a trace within this one."""
        self.depends_on = min(self.depends_on, inner.depends_on)
        self.reshaped |= inner.reshaped
        self.assigned |= inner.assigned
        self.repeats |= inner.repeats


class Given:
    """Facts known about the inputs of a trace."""

    xp: ModuleType = np
    """The array library of known inputs."""
    target: Target = NUMPY
    """The compiler's facts about this library."""
    on_host = False
    """Whether the inputs are NumPy's."""
    layouts: Mapping[int, Any] = NOTHING
    """The layouts of those that do not lie in C order."""
    still: frozenset[int] = frozenset()
    """Inputs made of values that have no tangent."""
    answers: Any = None
    """The `Answers` for one call's arguments, where inputs have no values; None if there are none."""
