"""Reasons for which a loop or branch is left to Python, or an attempt to record it begins again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fungrad.core.errors import ConcretizationError, FungradError

__all__ = [
    "Assigns",
    "Grows",
    "Keeps",
    "Looks",
    "NotAtFirst",
    "NotRecorded",
    "NotYet",
    "Rebinds",
    "Shorter",
    "Uneven",
    "WritesTo",
    "is_ours",
    "told",
]


class NotRecorded(BaseException):
    """A loop or branch stays Python's own; the message says why. No error: nobody else catches it."""


class NotAtFirst(NotRecorded):
    """The first round of a loop differs from the others, perhaps."""


class Keeps(NotRecorded):
    """The derivative of a loop keeps something of each round, and nobody knows how many there are."""


class Shorter(NotRecorded):
    """Python knows after how many rounds a loop breaks, which its list is to have room for."""


class NotYet(NotRecorded):
    """A body changes something from outside that is to be handed in and out: the attempt begins again."""


class WritesTo(NotYet):
    """A loop or branch writes to an array from outside, by a function that it calls or an object."""

    def __init__(self, message: str, array: Any) -> None:
        super().__init__(message)
        self.array = array


class Assigns(NotYet):
    """A loop or branch assigns attributes of objects, or elements of lists and dicts."""

    def __init__(self, slots: Sequence[Any]) -> None:
        super().__init__(f"it assigns {', '.join(x.shown for x in slots)}")
        self.slots = slots


class Grows(NotYet):
    """A loop appends to a list from outside."""

    def __init__(self, message: str, items: Any) -> None:
        super().__init__(message)
        self.items = items


class Uneven(NotYet):
    """The two ways of a branch append different numbers of elements to lists."""

    def __init__(self, patterns: Sequence[Any]) -> None:
        super().__init__("its two ways append different numbers of elements to a list")
        self.patterns = patterns


class Looks(Grows):
    """A loop looks at a list from outside to which it appends."""


class Rebinds(NotYet):
    """A loop gives variables new arrays, which it writes to, and does not write to those it was given."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(f"it writes to {', '.join(sorted(names))}, assigned anew")
        self.names = names


def told(reason: BaseException, label: str) -> str:
    """Return why an attempt has ended: of fungrad's errors the line and the first sentence."""
    text = str(reason)
    if isinstance(reason, NotRecorded):
        return text
    place, _, message = text.partition("\n")
    found = re.match(r"at .*?:(\d+) \(in .*?\): (.*)", place)
    if found is None:
        return f"{type(reason).__name__}: {text}"
    if isinstance(reason, ConcretizationError):
        return f"a value is needed in line {found[1]}: {found[2]}"
    first, *_ = re.split(r"[.:] |[.:]$", message.removeprefix(f"{label}: ").partition("\n")[0])
    return f"line {found[1]}: {first}"


def is_ours(error: Exception) -> bool:
    """Whether an error was raised by fungrad's own code, not by the user's that it calls."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = "" if traceback is None else str(traceback.tb_frame.f_globals.get("__name__"))
    return module.startswith("fungrad.reading.") and not isinstance(error, FungradError)
