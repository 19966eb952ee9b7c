"""Rows for primitives/linalg.py."""

from tests.samples.row import Sample

ROWS: list[Sample] = []
