"""What the campaigns share: mismatches, and how a failing program becomes a ready test."""

from __future__ import annotations

import pprint
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol


class Mismatch(NamedTuple):
    """What is wrong with a program."""

    kind: str
    """One word or phrase: a shrunk program must show a mismatch of the same kind."""
    text: str
    fatal: bool = False
    """Whether the process is spoilt for other programs."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class Campaign(Protocol):
    """A module of this folder.

    Programs are data: they can be compared, sent to another process, and their `repr` makes them again.
    `prepare`, `smaller` and `readable` may be left out.
    """

    __name__: str

    def prepare(self) -> None:
        """Do what all processes need, before they are forked."""

    def generate(self, seed: int) -> Any:
        """Return the program of a seed."""

    def check(self, program: Any) -> Mismatch | None:
        """Run it in all ways; return what differs."""

    def smaller(self, program: Any) -> Iterator[Any]:
        """Yield simpler programs, the simplest first."""

    def readable(self, program: Any) -> str:
        """Return the text of a Python function."""


def shrink(campaign: Campaign, program: Any, mismatch: Mismatch, tries: int = 2000) -> Any:
    """Return the smallest program found that shows a mismatch of the same kind."""
    smaller = getattr(campaign, "smaller", lambda _: ())
    found = True
    while found and tries > 0:
        found = False
        for candidate in smaller(program):
            tries -= 1
            if tries < 0:
                break
            other = campaign.check(candidate)
            if other is not None and other.kind == mismatch.kind:
                program, found = candidate, True
                break
    return program


def ready_test(campaign: Campaign, seed: int, program: Any, mismatch: Mismatch) -> str:
    """Return the text of a test that fails as long as the program does."""
    name = campaign.__name__.rpartition(".")[2]
    shown = getattr(campaign, "readable", lambda _: "")(program)
    comment = "".join(f"    # {line}\n" for line in shown.splitlines())
    made = pprint.pformat(program, width=90, sort_dicts=False).replace("\n", "\n    ")
    first = str(mismatch).replace("\\", "\\\\").replace('"""', "'''")
    return (
        f'"""{first}\n"""\n\n'
        f"from tests.fuzz import {name}\n"
        f"from tests.fuzz.language import *  # noqa: F403\n"
        f"from tests.fuzz.{name} import *  # noqa: F403\n\n\n"
        f"def test_{name}_{seed}():\n"
        f"{comment}"
        f"    program = {made}\n"
        f"    assert {name}.check(program) is None\n"
    )
