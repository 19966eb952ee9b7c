"""The primitives that leave elements of their operands out."""

from __future__ import annotations

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
