"""``python -m tests.affected [REVISION]``: the tests that concern the files changed since a revision, HEAD if none is given.

A map of folders, since a record of what each test executes says little here: nearly all tests execute `fungrad/core`, and making the
record takes twice the time of the tests (pytest-testmon, tried on tests/core and tests/optim).
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent

ALWAYS = ("tests/test_layers.py", "tests/test_hygiene.py", "tests/test_public.py")
"""Tests of the text of all files."""
ALL = ("tests", "fungrad")
TABLES = ("tests/test_primitives.py", "tests/test_compositions.py", "tests/test_programs.py")
DOCS = (
    "tests/introductions",
    "tests/test_site.py",
    "tests/test_documentation.py",
    "tests/test_contributing.py",
)
CONCERNS: dict[str, tuple[str, ...]] = {
    "fungrad/core": ALL,
    "fungrad/primitives": (
        *TABLES,
        "tests/backends",
        "tests/compile",
        "tests/lax",
        "tests/numpy",
        "tests/scipy",
        "tests/show",
    ),
    "fungrad/rewrite": (*TABLES, "tests/control", "tests/transforms", "tests/test_checkify.py"),
    "fungrad/compile": (
        *TABLES,
        "tests/backends",
        "tests/compile",
        "tests/control",
        "tests/show",
        "tests/fuzz",
        "tests/transforms",
    ),
    "fungrad/transforms": (
        *TABLES,
        "tests/control",
        "tests/core",
        "tests/transforms",
        "tests/show",
    ),
    "fungrad/programs": (
        "tests/test_compositions.py",
        "tests/control",
        "tests/compile",
        "tests/lax",
        "tests/scipy",
    ),
    "fungrad/numpy": (
        *TABLES,
        "tests/core",
        "tests/lax",
        "tests/numpy",
        "tests/scipy",
        "tests/test_indexing.py",
        "tests/transforms",
    ),
    "fungrad/lax": ("tests/control", "tests/lax"),
    "fungrad/scipy": ("tests/random", "tests/scipy"),
    "fungrad/nn": ("tests/example_libraries", "tests/nn", "tests/optim"),
    "fungrad/sharding": ("tests/distributed/test_sharding.py", "tests/distributed/test_overlap.py"),
    "fungrad/distributed": (
        "tests/distributed/test_sharding.py",
        "tests/distributed/test_ranks.py",
    ),
    "fungrad/test_util": ("tests/test_test_util.py", "tests/test_check.py"),
    "fungrad/extend": ("tests/test_extend.py", "tests/test_contributing.py"),
    "fungrad/experimental": (
        "tests/test_checkify.py",
        "tests/scipy/test_integrate.py",
        "tests/scipy/test_sparse.py",
    ),
    "fungrad/custom_batching.py": ("tests/control/test_custom_vmap.py",),
    "fungrad/custom_derivatives.py": ("tests/control",),
    "fungrad/ad_checkpoint.py": ("tests/control/test_checkpoint.py",),
    "fungrad/conventions.py": ("tests/test_conventions.py", "tests/test_dtypes.py"),
    "fungrad/leaks.py": ("tests/test_settings.py",),
    "fungrad/limits.py": ("tests/test_settings.py", "tests/control/test_scan_memory.py"),
    "fungrad/profiling.py": ("tests/test_profile.py",),
    "fungrad/tree_util.py": ("tests/test_tree.py",),
    "fungrad/typing.py": ("tests/typing",),
    "fungrad/__init__.pyi": ("tests/typing",),
    "pytest_fungrad.py": ("tests/test_plugin.py",),
    "tests/samples": TABLES,
    "tests/programs": ("tests/test_programs.py",),
    "tests/check.py": ("tests/test_check.py", *TABLES),
    "examples": ("tests/test_examples.py",),
    "notebooks": ("tests/test_notebooks.py",),
    "tools": ("tests/test_contributing.py", "tests/typing", "tests/test_site.py"),
    "docs": DOCS,
    "pyproject.toml": ALL,
}
"""Tests that concern a folder or file, beside those of the same name in tests/ and the examples in its docstrings."""


def changed(revision: str) -> list[str]:
    """Return the paths of the files that differ from a revision, or that git does not know yet."""
    commands = [
        ["git", "diff", "--name-only", "--no-renames", revision],
        ["git", "ls-files", "--others", "--exclude-standard"],
    ]
    return [
        line
        for command in commands
        for line in subprocess.run(
            command, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.splitlines()
    ]


def concerned(path: str) -> set[str]:
    """Return the tests that concern a changed file."""
    top, *rest = Path(path).parts
    if top == "tests" and (Path(path).name.startswith("test_") or "programs" in rest[:-1]):
        found = {path}
    elif top == "tests" and len(rest) > 1:
        found = {f"tests/{rest[0]}"}  # a helper, or a table
    elif top == "fungrad" and rest:
        name = rest[0].removesuffix(".py").removesuffix(".pyi")
        found = {f"tests/{name}", f"tests/test_{name}.py", path}
    else:
        found = set(DOCS) if path.endswith(".md") else set()
    for part in (Path(path), *Path(path).parents):
        found.update(CONCERNS.get(part.as_posix(), ()))
    return found


def affected(paths: Iterable[str]) -> list[str]:
    """Return the tests that concern changed files, without those in a folder that is among them."""
    found = set(ALWAYS).union(*map(concerned, paths))
    there = {p for p in found if (ROOT / p).is_dir() or (p.endswith(".py") and (ROOT / p).exists())}
    return sorted(p for p in there if not any(q.as_posix() in there for q in Path(p).parents))


if __name__ == "__main__":
    print(*affected(changed(*(sys.argv[1:] or ["HEAD"]))))
