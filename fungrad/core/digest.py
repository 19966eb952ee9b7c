"""Numbers that stand for texts, the same in all processes, which Python's own `hash` is not."""

from __future__ import annotations

import hashlib


def digest(text: str) -> bytes:
    """Return 8 bytes that differ for different texts, but for a chance of 2**-64."""
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
