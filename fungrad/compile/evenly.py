"""How a length is cut into pieces."""

from __future__ import annotations


def evenly(length: int, most: int) -> int:
    """Return a divisor of `length` near `most` and at most that, if there is one; else `most`."""
    fewest = -(-length // most)
    return next((length // n for n in range(fewest, 2 * fewest + 1) if length % n == 0), most)
