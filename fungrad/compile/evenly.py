"""How a length is cut into pieces."""

from __future__ import annotations


def evenly(length: int, most: int) -> int:
    """Return a length of which there is a whole number in another one, at most `most`, if one is near that: what is left takes code of its own."""
    fewest = -(-length // most)
    return next((length // n for n in range(fewest, 2 * fewest + 1) if length % n == 0), most)
