"""The special functions, their first and second derivatives, against mpmath: at random points beside those that are hard."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest

from tests.fuzz.campaign import Mismatch

pytest.importorskip("mpmath")

from tests.scipy.test_special_mpmath import WALKS, faults

CHUNK = 100


class Point(NamedTuple):
    """A program of this campaign."""

    name: str
    point: tuple[float | int, ...]


def generate(seed: int) -> Point:
    """Return the point of a seed."""
    rng = random.Random(seed)
    name = list(WALKS)[seed % len(WALKS)]
    walk = WALKS[name]
    chosen = [rng.choice(list(grid)) for grid in walk.grids]
    spread = walk.spread * rng.choice([0.0, 1.0, 1.0])
    return Point(
        name,
        tuple(x * (1 + spread * rng.uniform(-1, 1)) if isinstance(x, float) else x for x in chosen),
    )


def check(point: Point) -> Mismatch | None:
    """Return what differs."""
    found = faults(point.name, [point.point])
    return Mismatch(f"special function {point.name}", "\n".join(found)) if found else None
