"""Rows for primitives/naming.py."""

from fungrad.primitives.naming import Named
from tests.samples.row import Sample, booleans, complexes, integers, reals

ROWS = [
    Sample(Named("h"), (reals(2, 3),), lambda x: x),
    Sample(Named("h"), (complexes(3),), lambda x: x, name="complex"),
    Sample(Named("h"), (integers(3),), lambda x: x, name="integers"),
    Sample(Named("h"), (booleans(2, 2),), lambda x: x, name="booleans"),
]
