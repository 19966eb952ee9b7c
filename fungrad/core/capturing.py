"""Captures of a traced function: arrays, numbers and tracers of other traces become inputs.

Arrays are copied: NumPy tells neither who else looks at one nor when somebody writes to it.

Design: docs/design/06-captured-arrays-are-copied.md.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np

from fungrad.core.constants import Constants
from fungrad.core.mode import NOTHING
from fungrad.core.recorder import CLOSED
from fungrad.core.recording import Recording
from fungrad.core.snapshot import LARGE, copied, place, same_bits, snapshot
from fungrad.core.tracer import Tracer, new_tracer
from fungrad.core.types import ArrayType, is_number, type_of


class Capturing(Recording):
    """The part of a trace that captures values from outside."""

    __slots__ = ()

    large: ClassVar[int] = LARGE

    def capture(self, value: Any) -> int:
        """Return the variable that stands for `value`, an array or a tracer of another trace."""
        if type(value) is Tracer:
            # An array may be assigned to later: what is captured of a tracer is its present variable.
            key: Hashable = (value._owner.level, value._variable)
            known = self.lookups.captured.get(key)
            if known is not None:
                return known[0]
            if value._owner.into is CLOSED:
                return self.capture(value._owner.kept(value))
            type_ = value._type
            value = new_tracer(value._owner, value._variable, type_)
        else:
            type_ = type_of(value)
            key = None
            plain = isinstance(value, np.generic)
            if not plain and is_number(value):
                value, plain = np.asarray(value)[()], True
            if not self.given.target.takes_scalars and (plain or isinstance(value, np.ndarray)):
                value = self.given.xp.asarray(value)
            elif not plain and not self.mode.rewriting:
                if value.nbytes >= self.large:
                    key = (type_.weak, *place(value))
                    known = self.lookups.captured.get(key)
                    if known is not None and same_bits(known[1], value):
                        return known[0]
                # A program that constants are baked into outlives the trace, and who promises anything now.
                value = copied(value) if self.mode.bake else snapshot(value)
        v = self.add_input(type_, value, self.mode.bake and type(value) is not Tracer)
        if key is not None:
            if self.lookups.captured is NOTHING:
                self.lookups.captured = {}
            self.lookups.captured[key] = (v, value)
        return v

    def add_input(self, type_: ArrayType, value: Any, constant: bool = False) -> int:
        """Return a new variable with a value of its own: captured, or a `constant` of the program."""
        turn, me = self.turn, get_ident()  # as `Turn` does, in a third of the time
        try:
            if turn.setdefault(0, me) != me:
                turn.wait()
            v = len(self.types)
            self.types.append(type_)
            if constant:
                self.constants[v] = value
            else:
                if self.values is not None:
                    self.values[v] = value
                self.captures[v] = value
            turn.pop(0, None)
        except BaseException:
            turn.give_back()
            raise
        return v

    def constant(self, variable: int, ask: bool = False) -> Any:
        """Return the value of a variable that depends on no input, though these have none; else None.

        With `ask` it is needed: `asked` is what enclosing traces give.
        """
        if self.lookups.constants is None:
            self.lookups.constants = Constants()
        return self.lookups.constants.value(self, variable, ask)

    def kept(self, x: Tracer) -> Any:
        """Return the array that a constant of this closed trace becomes wherever it is referenced; else raise."""
        if not self.keeps(x):
            x._owner.raise_leaked((x,))
        return x._memory

    def keeps(self, x: Tracer) -> bool:
        """Make an array of a tracer of this closed trace, if it is a constant; whether it was one."""
        from fungrad.core.kept import keep_constant  # few programs need it

        return keep_constant(self, x)
