"""Packages that the tests can do without: those that need a missing one are skipped by name, and the rest of a module runs."""

import importlib
from typing import Any

import numpy as np
import pytest


def optional(name: str) -> Any:
    """Return a module; None where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def needs(name: str) -> pytest.MarkDecorator:
    """Return the mark of tests that need a package. One that needs it as a whole says `pytest.importorskip`."""
    return pytest.mark.skipif(optional(name) is None, reason=f"could not import {name!r}")


ml_dtypes = optional("ml_dtypes")
BFLOAT16 = pytest.param(
    getattr(ml_dtypes, "bfloat16", None), marks=needs("ml_dtypes"), id="bfloat16"
)
"""A parameter of tests: the dtype that ml_dtypes adds to NumPy's."""


def eps_of(dtype: object) -> float:
    """Return the distance from 1 to the next larger number of a dtype, one of ml_dtypes' too."""
    return float((ml_dtypes or np).finfo(dtype).eps)
