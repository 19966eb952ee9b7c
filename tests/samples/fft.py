"""Rows for primitives/fft.py."""

from tests.samples.row import Sample

ROWS: list[Sample] = []
