"""Programs as people write them for autograd: training loops in plain Python, nothing jitted, nothing drawn.

Each is a generator that is given a `Library`, and runs under fungrad and autograd with the same text. It yields after
every iteration what there is to compare. With `varied`, a source of random numbers, no two iterations
have the same structure; without, all have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from benchmarks.unjitted.library import Library

Program = Callable[[Library, Random | None], Iterator[Any]]
