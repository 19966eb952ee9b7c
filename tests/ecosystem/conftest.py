"""What tests of `tools/ecosystem.py` share."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "tools" / "ecosystem.py"


@pytest.fixture
def tool():
    """The module anew: tests set some of its names."""
    spec = importlib.util.spec_from_file_location("tools_ecosystem", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
