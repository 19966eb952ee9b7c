"""Examples of functions that have no docstring of their own, as it is made from tables or from that of NumPy's function.

They are in a file `examples.txt` beside the modules of a package, in the order of the names.
"""

from __future__ import annotations

import functools
import pkgutil


@functools.lru_cache(maxsize=64)
def examples_of(package: str) -> dict[str, str]:
    """Return the examples of a package by the names of its functions, none if it has no such file."""
    try:
        data = pkgutil.get_data(package, "examples.txt")
    except (ImportError, OSError):
        data = None
    _, *blocks = (data or b"").decode().strip().split("\n\n")
    return {name: example for name, _, example in [block.partition("\n") for block in blocks]}
