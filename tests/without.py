"""A plugin for pytest: modules are collected as if the packages of HIDDEN were not installed.

`python -m pytest -p tests.without --collect-only tests`. Their tests are not made, which would take most of the time: it prints
those that say they need a package that is missing.
"""

import importlib.machinery
import os
import re
import sys
from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

ABSENT = re.compile("could not import '(.*)'")


class Hidden:
    """Finds none of some packages."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Raise an error for a hidden package; leave others to other finders."""
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    sys.meta_path.insert(0, Hidden(os.environ["HIDDEN"].split(",")))  # type: ignore[arg-type]


def needed(marks: object) -> Iterator[str]:
    """Yield the missing packages that marks name, and those of parameters."""
    for mark in marks if isinstance(marks, (list, tuple)) else [marks]:
        if mark.name == "skipif" and mark.args[0]:
            yield from ABSENT.findall(mark.kwargs.get("reason", ""))
        if mark.name == "parametrize":
            values = [x for x in mark.args[1] if isinstance(x, ParameterSet)]
            yield from [f"{name} (some)" for x in values for name in needed([*x.marks])]


def asked(function: object) -> Iterator[str]:
    """Yield the packages that a test itself asks for."""
    code = getattr(function, "__code__", None)
    if code and "importorskip" in code.co_names:
        hidden = os.environ["HIDDEN"].split(",")
        yield from [
            x for x in code.co_consts if isinstance(x, str) and x.partition(".")[0] in hidden
        ]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module, name: str, obj: object
) -> list[pytest.Item]:
    """Make no tests."""
    if name.startswith("test"):
        names = {*needed(getattr(obj, "pytestmark", [])), *asked(obj)}
        if names:
            print(f"{collector.nodeid}::{name} needs {', '.join(sorted(names))}")
    return []
