"""The map of the code is current: ARCHITECTURE.md, its drawings and printouts, the design notes, the sizes of pages."""

import re
from pathlib import Path

from tests.test_hygiene import run_blocks
from tests.transforms.test_path import CALLS, HOME, calls_of
from tools import layers

ROOT = Path(__file__).parent.parent
MAP = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
NOTES = sorted((ROOT / "docs" / "design").glob("*.md"))


def test_pages_are_short():
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 900
    assert len(MAP.encode()) <= 14_000
    assert max(len(note.read_bytes()) for note in NOTES) < 5_000


def test_printouts_are_what_is_printed():
    assert run_blocks(ROOT / "ARCHITECTURE.md") > 5


def test_the_layers_are_drawn_from_the_imports():
    assert layers.MARKS.search(MAP)
    drawn = layers.MARKS.sub(lambda match: f"{match[1]}{layers.drawing()}{match[2]}", MAP)
    assert drawn == MAP, "python tools/layers.py"


def test_shares_are_drawn():
    assert [layers.share(part, 4) for part in (0, 1, 2, 3)] == ["·", "○", "○", "●"]


def test_the_path_of_a_gradient_is_that_of_a_call():
    _, files = calls_of(CALLS["grad"][0])
    said = re.search(r"The files of such a call, in order: (.*?)\n\n", MAP, re.DOTALL)[1]
    named = set(re.findall(r"`([a-z_]+/[a-z_]+\.py)`", said))
    assert named == {Path(file).relative_to(HOME).as_posix() for file in files}


def test_every_package_is_on_the_map():
    packages = {path.parent.name for path in (ROOT / "fungrad").glob("*/__init__.py")}
    small = {"example_libraries", "experimental"}
    assert {name for name in packages - small if f"`{name}/`" not in MAP} == set()


def test_files_that_notes_name_are_there():
    known = {path.name for path in ROOT.glob("fungrad/**/*")}
    known |= {path.name for path in ROOT.glob("t*/**/*")} | {path.name for path in ROOT.glob("*")}
    for note in NOTES:
        named = re.findall(r"`(?:\w+/)*(\w+\.py)`", note.read_text("utf-8"))
        assert {name for name in named if name not in known} == set(), note.name


def test_notes_are_numbered():
    assert [note.name[:2] for note in NOTES] == [f"{n:02}" for n in range(1, len(NOTES) + 1)]
    for note in NOTES:
        assert note.read_text("utf-8").startswith(f"# {int(note.name[:2])}. ")
