"""The server that programs are forked from: one for each process of pytest."""

from collections.abc import Iterator

import pytest

from tests.compat.processes import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server
