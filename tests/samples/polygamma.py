"""Rows for primitives/polygamma.py."""

import numpy as np

from fungrad.primitives.polygamma import Polygamma
from tests.samples.row import Sample, reals


def by_recurrence(m, x):
    """Sum the series of DLMF 5.15.1 up to a large number, and the rest by DLMF 5.15.8."""
    k = np.arange(1000).reshape(-1, *[1] * x.ndim)
    far = x + 1000
    total = (1 / (x + k) ** (m + 1)).sum(0)
    rest = far**-m / m + far ** -(m + 1) / 2 + (m + 1) * far ** -(m + 2) / 12
    factorials = np.vectorize(lambda n: float(np.prod(np.arange(1, n + 1))))(m)
    return (-1) ** (m + 1) * factorials * (total + rest)


ORDERS = np.array([1.0, 2.0, 3.0])

ROWS = [Sample(Polygamma(), (ORDERS, reals(3) + 1), by_recurrence, fixed=(0,), tolerance=1e-11)]
