"""How many numbers of `fungrad.random` are those of `jax.random`, to the bit: the table of docs/random.md.

Run it with ``python -m tests.peers.random_counts``.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from fungrad import random
from tests.peers.test_jax_random import CLOSE, EXACT, FLOATS, OF_MATRICES, N

Draw = Callable[[Any, Any, Any], Any]

DRAWS: dict[str, Draw] = {
    "uniform": lambda r, k, dt: r.uniform(k, (N,), dt),
    "uniform of bounds": lambda r, k, dt: r.uniform(k, (N,), dt, -0.1, 0.7),
    "normal": lambda r, k, dt: r.normal(k, (N,), dt),
    "bernoulli": lambda r, k, dt: r.bernoulli(k, np.linspace(0, 1, N).astype(dt)),
    "rademacher": lambda r, k, dt: r.rademacher(k, (N,), dt),
    **EXACT,
    **CLOSE,
    "poisson": lambda r, k, dt: r.poisson(k, np.linspace(0, 100, N).astype(dt)),
}
OF_INTEGERS: dict[str, Draw] = {
    "bits": lambda r, k, dt: r.bits(k, (N,), dt),
    "randint": lambda r, k, dt: r.randint(k, (N,), 0, 100, dt),
    "split": lambda r, k, dt: r.key_data(r.split(k, N)),
    "fold_in": lambda r, k, dt: r.key_data(r.fold_in(k, 7)),
}


def counted(draw: Draw, dtype: Any) -> str:
    """Return how many numbers are equal, of how many."""
    equal = total = 0
    for seed in range(3):
        mine = np.asarray(draw(random, random.key(seed), dtype))
        theirs = np.asarray(draw(jax.random, jax.random.key(seed), dtype))
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        unsure = mine.dtype.kind in "fV"
        both = np.isnan(mine) & np.isnan(theirs) if unsure else np.zeros(mine.shape, bool)
        equal += int(((mine == theirs) | both).sum())
        total += mine.size
    return f"{equal:,} of {total:,}"


def rows() -> Iterator[str]:
    """Yield the lines of the table."""
    names = ["float16", "bfloat16", "float32", "float64"]
    yield f"| | {' | '.join(f'`{n}`' for n in names)} |"
    yield "|---|---|---|---|---|"
    for name, draw in DRAWS.items():
        cells = [
            "" if name in OF_MATRICES and np.dtype(d).itemsize < 4 else counted(draw, d)
            for d in FLOATS
        ]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    kinds = ["u1", "u2", "u4", "u8"]
    yield f"| | {' | '.join(f'`{np.dtype(k)}`' for k in kinds)} |"
    yield "|---|---|---|---|---|"
    for name, draw in OF_INTEGERS.items():
        yield f"| {name} | {' | '.join(counted(draw, np.dtype(k)) for k in kinds)} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("\n".join(rows()))
