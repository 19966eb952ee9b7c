"""Keys that are used twice, where `fungrad.debug_key_reuse` asks for that to be an error.

Keys are NumPy's arrays, which remember nothing. So their values are remembered, and how often each may still be used:
once, and once more for each time that it has been made or cloned. That happens when programs run: each use is an
equation with an effect, which there is only where the setting is on.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fungrad.core.backend import to_host
from fungrad.core.config import settings
from fungrad.core.errors import FungradError, here
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType, is_key, type_of


class KeyReuseError(FungradError, RuntimeError):
    """Random numbers were drawn from a key that some had been drawn from (`fungrad.debug_key_reuse`).

    Examples
    --------
    >>> import fungrad as fg
    >>> key = fg.random.key(0)
    >>> with fg.debug_key_reuse():
    ...     try:
    ...         fg.random.normal(key) + fg.random.normal(key)
    ...     except fg.KeyReuseError:
    ...         print("key, other = fg.random.split(key)")
    key, other = fg.random.split(key)
    """


KEPT = 1 << 16
"""How many keys are remembered."""


class _Uses:
    """Remaining uses of a key, and its last user."""

    __slots__ = ("allowed", "last")

    def __init__(self) -> None:
        self.allowed: list[None] = []  # as many as uses; each operation on it is one step
        self.last = ("", "")


def _known(words: bytes, uses: dict[bytes, _Uses]) -> _Uses:
    """Return the record of a key: an unknown one may be used once."""
    known = uses.get(words)
    if known is None:
        known = uses.setdefault(words, _Uses())
        known.allowed.append(None)
    return known


class _OfKeys(Primitive):
    """Base of notes on keys; there are no results."""

    multiple_results = True
    effect = True
    differentiable = False

    def abstract_eval(self, keys: ArrayType) -> tuple[ArrayType, ...]:
        return ()

    def impl(self, xp: Any, keys: Any) -> tuple[Any, ...]:
        uses = settings.get().key_uses
        if uses is not None:
            for key in np.asarray(to_host(keys)).reshape(-1):
                self.note(key.tobytes(), uses)
            for words in [*itertools.islice(uses, max(0, len(uses) - KEPT))]:
                uses.pop(words, None)
        return ()

    def note(self, words: bytes, uses: dict[bytes, _Uses]) -> None:
        raise NotImplementedError

    def batch(self, size: int, batched: tuple[bool, ...], keys: Any) -> Any:
        return self(keys)


@primitive
class MakeKeys(_OfKeys):
    """Allow for one more use of keys."""

    def note(self, words: bytes, uses: dict[bytes, _Uses]) -> None:
        uses.setdefault(words, _Uses()).allowed.append(None)


@primitive
class CloneKeys(_OfKeys):
    """Allow for one more use of keys than if they had not been cloned."""

    def note(self, words: bytes, uses: dict[bytes, _Uses]) -> None:
        _known(words, uses).allowed.append(None)


@primitive
class UseKeys(_OfKeys):
    """Use keys up; the function of that name does, at that line."""

    function: str
    place: str

    remembered = False

    def note(self, words: bytes, uses: dict[bytes, _Uses]) -> None:
        known = _known(words, uses)
        try:
            known.allowed.pop()
        except IndexError:
            function, place = known.last
            raise KeyReuseError(
                f"random.{self.function} uses a key that random.{function} has used, at {place}\nIt is used again at "
                f"{self.place}\nThe numbers would depend on each other. Make new keys of it first, key, other = "
                "random.split(key); or, if that is meant, use random.clone(key)."
            ) from None
        known.last = (self.function, self.place)


def note_use(name: str, key: Any) -> None:
    """Note a function's use of a typed key; raise `KeyReuseError`, now or at run time, if it is used up."""
    if settings.get().key_uses is not None and is_key(type_of(key).dtype):
        UseKeys(name, here())(key)


def note_made(keys: Any, cloned: bool = False) -> Any:
    """Return keys; note that they are new, or clones, if they are typed."""
    if settings.get().key_uses is not None and is_key(type_of(keys).dtype):
        (CloneKeys() if cloned else MakeKeys())(keys)
    return keys
