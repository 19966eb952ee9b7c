"""Random generators of NumPy and of Python, and signs that one has been used."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from fungrad.core.draws import generator_classes


def generator_types() -> frozenset[type]:
    """Return the classes of generators of the modules that somebody has imported."""
    pythons = getattr(sys.modules.get("random"), "Random", None)
    numpys = generator_classes()
    return frozenset(numpys if pythons is None else (*numpys, pythons))


def shared_generator() -> Any:
    """Return the generator of ``numpy.random.normal`` and the like; None before NumPy imports it."""
    return getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None)


def is_new(shared: Any) -> bool:
    """Whether nothing was drawn from NumPy's shared generator since it was made, or given a seed."""
    first, used = position_of(shared)  # it is a Mersenne twister
    return bool(used == 623 or (used == 624 and first != 1 << 31))


def state_of(generator: Any) -> Any:
    """Return all that the next numbers of a generator follow from."""
    if hasattr(generator, "getstate"):  # of Python
        return generator.getstate()
    if hasattr(generator, "get_state"):  # numbers that are left over from a pair count, too
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def position_of(shared: Any) -> Any:
    """Return a value that changes whenever NumPy's shared generator is used, in under a microsecond."""
    bits = shared._bit_generator
    if type(bits).__name__ != "MT19937":
        return bits.state
    words = _Words.from_address(bits.ctypes.state_address)
    return words[0], words[624]


_Words = ctypes.c_uint32 * 625
"""How a Mersenne twister lies in memory: 624 words, and how many of them have been used."""


def same(a: Any, b: Any) -> bool:
    """Whether two states are the same."""
    if type(a) is dict:
        return all(same(a[key], b[key]) for key in a)
    return np.array_equal(a, b) if type(a) is np.ndarray else bool(a == b)
