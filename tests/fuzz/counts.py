"""Counts of campaigns that add up over runs.

``python -m tests.fuzz --counts FILE`` keeps them, and ``python -m tests.fuzz.counts FILE ...`` prints them.

A file holds one entry for each campaign and version of what was run, with the seeds that are done. A later run leaves these out.
"""

from __future__ import annotations

import collections
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

Entry = dict[str, Any]
"""The campaign, the version, ranges of seeds as pairs, the tally, and seeds of mismatches by kind."""


def version() -> str:
    """Return the commit of the repository, and the versions of Python and NumPy."""
    folder = Path(__file__).parent
    said = subprocess.run(
        ["git", "describe", "--always"], cwd=folder, capture_output=True, text=True, check=False
    )
    commit = said.stdout.strip() or "unknown"
    return f"{commit}, Python {platform.python_version()}, NumPy {np.__version__}"


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in order, where those that touch are one."""
    made: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if made and start <= made[-1][1]:
            made[-1] = made[-1][0], max(stop, made[-1][1])
        elif start < stop:
            made.append((start, stop))
    return made


class Counts:
    """The counts of all runs of a campaign, kept in a file if there is one."""

    def __init__(self, campaign: str, path: str | None) -> None:
        self.path = Path(path) if path else None
        known = json.loads(self.path.read_text()) if self.path and self.path.exists() else []
        self.others: list[Entry] = known
        own = {"campaign": campaign, "version": version() if path else ""}
        for entry in known:
            if all(entry[key] == value for key, value in own.items()):
                self.entry: Entry = entry
                break
        else:
            self.entry = own | {"seeds": [], "tally": {}, "mismatches": {}}
            self.others.append(self.entry)
        same = [entry for entry in known if entry["campaign"] == campaign]
        self.before = joined((a, b) for entry in same for a, b in entry["seeds"])

    def left(self, start: int, stop: int) -> tuple[int, int]:
        """Return the first part of a range of seeds that earlier runs have left; it may be empty."""
        for first, end in self.before:
            if first <= start < end:
                start = end
            elif start < first < stop:
                stop = first
        return start, max(start, stop)

    def add(self, start: int, stop: int, tally: collections.Counter[str]) -> None:
        """Take note of seeds that are done, with their tally."""
        self.entry["seeds"] = joined([*map(tuple, self.entry["seeds"]), (start, stop)])
        self.entry["tally"] = dict(collections.Counter(self.entry["tally"]) + tally)

    def failed(self, seed: int, kind: str) -> None:
        """Take note of a mismatch."""
        self.entry["mismatches"].setdefault(kind, []).append(seed)

    def save(self) -> None:
        """Write the file."""
        if self.path is not None:
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.others, indent=1) + "\n", "utf-8")
            os.replace(new, self.path)


def table(entries: Iterable[Entry]) -> str:
    """Return tables of programs and mismatches by version, and of outcomes by mode."""
    lines = ["| campaign | version | programs | mismatches |", "|---|---|---|---|"]
    modes: dict[str, collections.Counter[str]] = {}
    for entry in entries:
        programs = sum(b - a for a, b in entry["seeds"])
        wrong = sum(map(len, entry["mismatches"].values()))
        lines.append(f"| {entry['campaign']} | {entry['version']} | {programs:,} | {wrong} |")
        for what, count in entry["tally"].items():
            mode, _, word = what.rpartition(" ")
            if word in ("agreed", "refused", "failed", "skipped"):
                modes.setdefault(mode, collections.Counter())[word] += count
    lines += ["", "| mode | agreed | refused | failed | skipped |", "|---|---|---|---|---|"]
    for mode, counts in modes.items():
        words = (counts[word] for word in ("agreed", "refused", "failed", "skipped"))
        lines.append(f"| {mode} | {' | '.join(f'{count:,}' for count in words)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(entry for path in sys.argv[1:] for entry in json.loads(Path(path).read_text())))
