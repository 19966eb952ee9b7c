"""Rows for primitives/special.py."""

from tests.samples.row import Sample

ROWS: list[Sample] = []
