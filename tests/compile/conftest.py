"""Fixtures of the tests of compilation."""

import pytest

from fungrad.compile import lower
from fungrad.compile.budget import BUDGET
from fungrad.compile.targets import store
from fungrad.compile.tiers import Tier
from fungrad.core.config import compilation


@pytest.fixture
def mode(request, monkeypatch):
    """When kernels are compiled: "background" if the test does not say otherwise, whatever that takes."""
    monkeypatch.setattr(BUDGET, "limited", False)
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


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for object files, which is not there yet."""
    found = tmp_path / "cache"
    monkeypatch.setenv("FUNGRAD_CACHE_DIR", str(found))
    monkeypatch.setattr(store, "_written", [store.LIMIT])  # as in a new process
    return found
