"""`tools/size.py` counts the lines that a branch adds and removes."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def size():
    spec = importlib.util.spec_from_file_location("size", ROOT / "tools" / "size.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_added_and_removed_lines_are_counted_by_packages(size, tmp_path):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    def write(name, text):
        path = tmp_path / "fungrad" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    git("init", "-b", "main")
    write("optim/base.py", "a\nb\nc\n")
    write("tree.py", "a\n")
    git("add", ".")
    git("commit", "-m", "first")
    assert size.changes(tmp_path, "HEAD") == {}
    assert size.report(tmp_path, "HEAD").splitlines()[0].split() == ["fungrad", "+0", "+0", "+0"]
    git("checkout", "-b", "other")
    write("optim/base.py", "a\n")
    write("optim/new.py", "a\nb\nc\nd\n")  # which git does not track
    git("commit", "-a", "-m", "second")
    write("tree.py", "a\nb\n")  # not committed
    base = size.start_of_branch(tmp_path)
    assert size.changes(tmp_path, base) == {"optim": (4, 2), "tree": (1, 0)}
    last = size.report(tmp_path, base).splitlines()
    assert last[-2].split() == ["fungrad", "+5", "-2", "+3"]
    assert last[-1].startswith("7 lines since ")
