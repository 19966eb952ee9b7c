"""Print how many lines of fungrad a branch adds and removes, by packages: ``python tools/size.py [REVISION]``.

Compared are the files as they are, those that git does not track yet too, with where the branch left `main`, or with a
revision. What is smaller and does the same is better.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = "fungrad/*.py"


def git(root: Path, *words: str) -> str:
    """Return what git prints; "" where it fails."""
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def start_of_branch(root: Path) -> str:
    """Return the commit where the branch left `main`; the last commit on `main` itself."""
    bases = (git(root, "merge-base", "HEAD", name).strip() for name in ("origin/main", "main"))
    return next(filter(None, bases), "HEAD")


def package_of(file: str) -> str:
    """Return the package that a file is in, or the module that it is.

    >>> package_of("fungrad/optim/base.py"), package_of("fungrad/tree.py")
    ('optim', 'tree')
    """
    return file.split("/")[1].removesuffix(".py")


def changes(root: Path, base: str) -> dict[str, tuple[int, int]]:
    """Return the numbers of added and of removed lines of each package since a revision."""
    added, removed = Counter[str](), Counter[str]()
    for row in git(root, "diff", "--numstat", "--no-renames", base, "--", FILES).splitlines():
        more, less, file = row.split("\t")
        added[package_of(file)] += int(more)
        removed[package_of(file)] += int(less)
    for file in git(root, "ls-files", "--others", "--exclude-standard", "--", FILES).splitlines():
        added[package_of(file)] += len((root / file).read_text("utf-8").splitlines())
    return {name: (added[name], removed[name]) for name in sorted({*added, *removed})}


def report(root: Path, base: str) -> str:
    """Return the table: added, removed and the difference, and the lines that there are now."""
    found = changes(root, base)
    rows = [*found.items(), ("fungrad", tuple(map(sum, zip(*found.values()))) or (0, 0))]
    total = sum(len(path.read_text("utf-8").splitlines()) for path in root.glob("fungrad/**/*.py"))
    lines = [f"{name:<20}{more:>+8}{-less:>+8}{more - less:>+8}" for name, (more, less) in rows]
    return "\n".join([*lines, f"{total:,} lines since {base[:12]}"])


if __name__ == "__main__":
    print(report(ROOT, sys.argv[1] if len(sys.argv) > 1 else start_of_branch(ROOT)))
