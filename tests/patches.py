"""Apply unified diffs, strictly: a hunk must fit its file in one place exactly, wherever that is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

NEW = "--- /dev/null"
"""The line in the place of a file's old path, where the file is new."""
HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class PatchError(Exception):
    """A diff that is malformed, or does not fit the files."""


@dataclasses.dataclass
class Hunk:
    """Lines of a file, and those that take their place."""

    path: str
    header: str
    old: list[str]
    new: list[str]


def hunks(diff: str) -> Iterator[Hunk]:
    """Yield the hunks of a diff that changes files, in order; their line numbers are not looked at."""
    path = ""
    lines = iter(diff.splitlines())
    for line in lines:
        if line.startswith("--- a/"):
            path = line.removeprefix("--- a/")
            if next(lines, "") != f"+++ b/{path}":
                raise PatchError(f"{path}: after '{line}' there must be '+++ b/{path}'")
            continue
        if line == NEW:
            header = next(lines, "")
            if not header.startswith("+++ b/"):
                raise PatchError(
                    f"after '{line}' there must be '+++ b/' and a path, not {header!r}"
                )
            path = header.removeprefix("+++ b/")
            continue
        counts = HUNK.match(line)
        if not path or counts is None:
            raise PatchError(f"{path or 'the first line'}: neither a file nor a hunk: {line!r}")
        hunk = Hunk(path, line, [], [])
        wanted = tuple(int(n or 1) for n in counts.groups())
        while (len(hunk.old), len(hunk.new)) != wanted:
            line = next(lines, "end of the diff")
            sign, text = line[:1] or " ", line[1:]
            if sign != "+":
                hunk.old.append(text)
            if sign != "-":
                hunk.new.append(text)
            if sign not in " +-" or len(hunk.old) > wanted[0] or len(hunk.new) > wanted[1]:
                raise PatchError(
                    f"{path}, {hunk.header}: the numbers of lines are not those of the header; at {line!r}"
                )
        yield hunk


def apply(diff: str, root: Path) -> list[str]:
    """Apply a diff to the files under `root`; return the paths of those that changed."""
    texts: dict[str, list[str]] = {}
    done: dict[str, int] = {}
    for hunk in hunks(diff):
        path = hunk.path
        if path not in texts:
            is_new, exists = not hunk.old, (root / path).exists()
            if is_new and exists:
                raise PatchError(f"{path}: there is such a file already")
            if not is_new and not exists:
                raise PatchError(f"{path}: there is no such file")
            texts[path] = [] if is_new else (root / path).read_text("utf-8").split("\n")
            if is_new:
                hunk.new.append("")  # the last line ends
        lines, start, n = texts[path], done.get(path, 0), len(hunk.old)
        places = [i for i in range(start, len(lines) - n + 1) if lines[i : i + n] == hunk.old]
        if len(places) != 1:
            unknown = [line for line in hunk.old if line not in lines[start:]]
            why = (
                f"it has no line {unknown[0]!r}"
                if unknown
                else f"its lines are there {len(places)} times"
            )
            raise PatchError(f"{path}, {hunk.header}: does not fit the file: {why}")
        (i,) = places
        lines[i : i + n] = hunk.new
        done[path] = i + len(hunk.new)
    for path, lines in texts.items():
        (root / path).write_text("\n".join(lines), "utf-8")
    return list(texts)
