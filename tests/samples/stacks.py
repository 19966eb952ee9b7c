"""Rows of `fungrad.primitives.stacks`."""

import numpy as np

from fungrad.primitives.stacks import TakenAsHermitian, Triangle
from tests.samples.row import Sample, complexes, integers, reals

ROWS = [
    Sample(Triangle(True), (reals(3, 3),), lambda x: np.where(np.tri(3, dtype=bool), x, 0)),
    Sample(
        Triangle(False, 1),
        (reals(2, 3, 4),),
        lambda x: np.where(np.tri(3, 4, 0, bool), 0, x),
        name="upper-stack",
    ),
    Sample(
        Triangle(True, -1),
        (complexes(4, 3),),
        lambda x: np.where(np.tri(4, 3, -1, bool), x, 0),
        name="complex",
    ),
    Sample(Triangle(True), (integers(2, 2),), np.tril, name="integers"),
    Sample(Triangle(True), (reals(0, 3),), np.tril, name="empty"),
    # Of matrices that are Hermitian, the derivative is by convention not that by differences:
    # tests/numpy/test_linalg.py has it.
    Sample(TakenAsHermitian(), (reals(3, 3),), lambda x: x),
    Sample(TakenAsHermitian(), (complexes(2, 2, 2),), lambda x: x, name="complex-stack"),
    Sample(TakenAsHermitian(), (reals(0, 0),), lambda x: x, name="empty"),
]
