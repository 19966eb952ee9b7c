"""Fixtures of tests of the GPU's programs."""

import pytest

from fungrad.core.config import compilation


@pytest.fixture
def eager():
    """Kernels are made at the first call."""
    token = compilation.set("eager")
    yield
    compilation.reset(token)
