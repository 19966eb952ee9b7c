"""The primitives that leave elements of their operands out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from fungrad.core.primitive import Primitive
from fungrad.primitives.demanded import kept, void
from fungrad.primitives.dynamic import DynamicSlice
from fungrad.primitives.elementwise import clamp, fmax, fmin, maximum, minimum, select
from fungrad.primitives.indexed import IndexedSlice
from fungrad.primitives.indexing import Gather, Scatter, Update
from fungrad.primitives.slices import Slice

CHOICES = (select, void, kept)
EXTREMA = (maximum, minimum, fmax, fmin, clamp)
SLICES = (Slice, DynamicSlice, IndexedSlice)
PICKS = (*SLICES, Gather)
WRITES = (Update, Scatter)
NARROWING = frozenset([*CHOICES, *EXTREMA])
PRODUCTS = frozenset([void, *EXTREMA])
"""Primitives whose rules multiply a tangent by zeros or voids, as products with booleans do."""


Masked: TypeAlias = bool | None
"""Whether only some elements of a result are demanded; None if none is."""


class Guarding(Primitive):
    """A primitive that holds programs, whose selections leave elements of its operands out."""

    selects: bool
    """Whether a selection by booleans is among its equations."""

    def guarded(
        self, masked: Sequence[Masked], linear: Sequence[bool]
    ) -> tuple[Any, Sequence[int], Sequence[Masked]] | None:
        """Return the primitive that also takes masks, and selects results by them.

        It is linear in the operands in `linear`. With it come the order of its operands, among those of this primitive
        and then the masks, and the results that are selected, of those in `masked`. None if that changes no cotangent.
        """
        raise NotImplementedError

    def narrowed(self, linear: Sequence[bool]) -> Sequence[bool]:
        """Return flags of operands: whether some of their elements may not be demanded."""
        raise NotImplementedError

    def demanded(self, position: int, operands: Sequence[Any]) -> Any:
        """Return the mask of the demanded elements of an operand in `narrowed`."""
        raise NotImplementedError
