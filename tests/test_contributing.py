"""The recipes of CONTRIBUTING.md: each diff is applied to a copy of the repository, and its commands are run there."""

import dataclasses
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patches import PatchError, apply

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


@dataclasses.dataclass
class Recipe:
    """A section of the guide that holds a diff."""

    title: str
    diff: str
    commands: list[str]

    def apply(self, root):
        """Apply the diff to the copy at `root`; return the files that changed."""
        try:
            return apply(self.diff, root)
        except PatchError as error:
            pytest.fail(
                f"CONTRIBUTING.md, recipe {self.title!r}: {error}\n\n"
                "The repository has changed under the diff. To renew it: save the block, apply it to a clean checkout by "
                "`git apply --reject`, make by hand the changes of the .rej files, run the commands below the block, and put "
                "the output of `git diff` in the place of the block.",
                pytrace=False,
            )


def recipes(text):
    """Return the recipes of a guide: each section with a diff has one, and one block of commands."""
    found = []
    for section in re.split(r"^### ", text, flags=re.MULTILINE):
        diffs, commands = [
            re.findall(rf"^```{kind}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
            for kind in ("diff", "sh")
        ]
        if diffs:
            (diff,), (block,) = diffs, commands
            found.append(Recipe(section.partition("\n")[0], diff, block.splitlines()))
    return found


RECIPES = recipes(GUIDE)
TITLES = [recipe.title for recipe in RECIPES]


@pytest.fixture
def copy(tmp_path):
    """Return a copy of the repository: of what tests and linters read, and what Python has made of it."""
    for name in ("fungrad", "tests", "tools", "docs"):
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("_build", "*.opt-*", ".*")
        )
    for path in [*ROOT.glob("*.md"), ROOT / "pyproject.toml"]:
        shutil.copy(path, tmp_path)
    return tmp_path


def run(root, *command):
    """Run a Python command in a copy, with the modules that are there; fail with what it prints."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PYTHON"))}
    environment |= {"PYTHONPATH": str(root)}
    result = subprocess.run(
        [sys.executable, *command],
        cwd=root, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if result.returncode:
        pytest.fail(f"{shlex.join(command)}: {result.returncode}\n{result.stdout}", pytrace=False)


def test_there_is_a_recipe_for_each_kind_of_operation():
    assert len(RECIPES) == 4
    assert GUIDE.count("```diff") == 4


@pytest.mark.parametrize("recipe", RECIPES, ids=TITLES)
def test_a_recipe_works(recipe, copy):
    recipe.apply(copy)
    for command in recipe.commands:
        python, *arguments = shlex.split(command)
        assert python == "python"
        if arguments[:2] == ["-m", "pytest"]:
            arguments += ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        run(copy, *arguments)


def test_the_recipes_go_together_and_pass_the_linters_that_are_here(copy):
    changed = {path for recipe in RECIPES for path in recipe.apply(copy) if path.endswith(".py")}
    if importlib.util.find_spec("ruff"):
        run(copy, "-m", "ruff", "check", "--no-cache", *sorted(changed))
        run(copy, "-m", "ruff", "format", "--no-cache", "--check", *sorted(changed))
    if importlib.util.find_spec("mypy"):
        if (
            ROOT / ".mypy_cache"
        ).exists():  # what it knows of files that the recipes leave as they are
            shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")
        run(copy, "-m", "mypy", *sorted(path for path in changed if path.startswith("fungrad/")))


# What applies the diffs

FILE = "a\nb\nc\nd\n\na\nb\n"


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        ("@@ -1,3 +1,3 @@\n b\n-c\n+C\n d\n", "a\nb\nC\nd\n\na\nb\n"),
        ("@@ -90,2 +91,3 @@ elsewhere\n c\n+new\n d\n", "a\nb\nc\nnew\nd\n\na\nb\n"),
        ("@@ -4,2 +4,1 @@\n d\n-\n@@ -6 +5,2 @@\n a\n+e\n", "a\nb\nc\nd\na\ne\nb\n"),
    ],
)
def test_hunks_are_found_by_their_lines(tmp_path, diff, expected):
    (tmp_path / "x.txt").write_text(FILE)
    assert apply(f"--- a/x.txt\n+++ b/x.txt\n{diff}", tmp_path) == ["x.txt"]
    assert (tmp_path / "x.txt").read_text() == expected


@pytest.mark.parametrize(
    ("diff", "message"),
    [
        ("--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n a\n-B\n+c\n", "x.txt, @@ -1,2 .* no line 'B'"),
        ("--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,1 @@\n a\n-b\n", "its lines are there 2 times"),
        ("--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,1 @@\n c\n-b\n", "its lines are there 0 times"),
        ("--- a/y.txt\n+++ b/y.txt\n@@ -1 +1 @@\n-a\n+b\n", "y.txt: there is no such file"),
        ("--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,3 @@\n c\n+e\n", "not those of the header; at 'end of"),
        ("--- a/x.txt\n+++ b/x.txt\n@@ -1,1 +1,2 @@\n c\n d\n", "not those of the header; at ' d'"),
        ("--- a/x.txt\n+++ b/y.txt\n", r"there must be '\+\+\+ b/x.txt'"),
        ("--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-c\n+b\nc\n", "neither a file nor a hunk: 'c'"),
        ("@@ -1 +1 @@\n-a\n+b\n", "the first line: neither a file nor a hunk"),
    ],
)  # fmt: skip
def test_a_diff_that_does_not_fit_is_refused_and_changes_nothing(tmp_path, diff, message):
    (tmp_path / "x.txt").write_text(FILE)
    with pytest.raises(PatchError, match=message):
        apply(diff, tmp_path)
    assert (tmp_path / "x.txt").read_text() == FILE


def test_a_diff_makes_new_files(tmp_path):
    diff = "--- /dev/null\n+++ b/y.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    assert apply(diff, tmp_path) == ["y.txt"]
    assert (tmp_path / "y.txt").read_text() == "a\nb\n"
    with pytest.raises(PatchError, match=r"y\.txt: there is such a file already"):
        apply(diff, tmp_path)
    with pytest.raises(PatchError, match="there must be"):
        apply("--- /dev/null\n@@ -0,0 +1 @@\n+a\n", tmp_path)


def test_a_recipe_that_no_longer_fits_says_how_to_renew_it(tmp_path):
    (tmp_path / "x.txt").write_text(FILE)
    diff = "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-A\n+b\n"
    with pytest.raises(pytest.fail.Exception, match=r"'Adding'.* no line 'A'\n\n.*--reject"):
        Recipe("Adding", diff, []).apply(tmp_path)
