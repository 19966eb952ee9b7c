"""Fixtures of the tests of compilation."""

import pytest

from fungrad.compile import lower
from fungrad.compile.tiers import Tier
from fungrad.core.config import compilation


@pytest.fixture
def mode(request):
    """When kernels are compiled: "background" if the test does not say otherwise."""
    token = compilation.set(getattr(request, "param", "background"))
    yield compilation.get()
    compilation.reset(token)


@pytest.fixture
def made(monkeypatch):
    """The tiers that are made meanwhile."""
    found = []

    class Watched(Tier):
        def __init__(self, *args):
            super().__init__(*args)
            found.append(self)

    monkeypatch.setattr(lower, "Tier", Watched)
    return found
