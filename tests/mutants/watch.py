"""A plugin of pytest's that writes which test is running and which have failed, to the file that FUNGRAD_MUTANTS_LOG names.

A process that is killed, or that dies, has written so too.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


class Watch:
    """Writes a line for each test: its beginning, and its failure."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, word: str, name: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{word} {name}\n")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.write("begin", nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.write("fail", report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.write("fail", report.nodeid)


def pytest_configure(config: pytest.Config) -> None:
    path = os.environ.get("FUNGRAD_MUTANTS_LOG")
    if path and not hasattr(
        config, "workerinput"
    ):  # of several processes, the first is told of all
        config.pluginmanager.register(Watch(Path(path)), "fungrad_mutants")
