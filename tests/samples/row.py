"""What a row of the table of primitives says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.primitive import Primitive


@dataclasses.dataclass(frozen=True)
class Sample:
    """One call of a primitive on small arrays, with what it must give.

    Attributes
    ----------
    primitive
        The primitive with its parameters.
    operands
        NumPy arrays. Values are chosen away from kinks and singularities, where derivatives exist.
    oracle
        Computes the same with plain NumPy or SciPy, by other means than `impl` where there are any.
    linear
        Groups of operand positions in which the primitive is jointly linear: each group is checked
        by the transpose identity. By default what the primitive itself declares.
    gaps
        Rules the primitive is declared to lack, of "jvp", "transpose", "batch"; each is also
        checked to raise `MissingRuleError`.
    name
        Tells apart rows of one primitive.
    tolerance
        Relative tolerance against the oracle, for float64.
    matrices
        Whether operands are matrices of a kind (invertible, positive definite, ...), which they would not
        be with their elements in another order: batches are then of multiples of them.
    fixed
        Positions of operands by which there is no derivative; to ask for it is checked to raise
        `MissingRuleError`.
    """

    primitive: Primitive
    operands: tuple[np.ndarray, ...]
    oracle: Callable[..., Any]
    linear: tuple[tuple[int, ...], ...] | None = None
    gaps: frozenset[str] = frozenset()
    name: str = ""
    tolerance: float = 1e-12
    matrices: bool = False
    fixed: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.primitive.name}{'-' if self.name else ''}{self.name}"


def reals(*shape: int, low: float = 0.3, high: float = 0.9, seed: int = 0) -> np.ndarray:
    """Return distinct float64 numbers between `low` and `high`."""
    return np.random.default_rng(seed).uniform(low, high, shape)


def complexes(*shape: int, low: float = 0.3, high: float = 0.9, seed: int = 0) -> np.ndarray:
    """Return complex128 numbers with both parts between `low` and `high`."""
    return reals(*shape, low=low, high=high, seed=seed) + 1j * reals(
        *shape, low=low, high=high, seed=seed + 1
    )


def integers(*shape: int, low: int = 0, high: int = 10, seed: int = 0) -> np.ndarray:
    """Return int64 numbers in [low, high)."""
    return np.random.default_rng(seed).integers(low, high, shape)


def booleans(*shape: int, seed: int = 0) -> np.ndarray:
    """Return random booleans."""
    return np.random.default_rng(seed).random(shape) < 0.5
