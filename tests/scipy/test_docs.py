"""docs/scipy.md names what the modules of `fungrad.scipy` have."""

import importlib
import re
from pathlib import Path

import fungrad.scipy
from tests.folding import each

PAGE = (Path(__file__).parents[2] / "docs" / "scipy.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"## (\S+)\n\n(.*?)\n\nLeft out:", PAGE, re.DOTALL))


def test_every_module_has_a_section():
    found = {name.partition(".")[0] for name in SECTIONS}
    assert found == set(fungrad.scipy.__all__)


@each("module", SECTIONS)
def test_the_names_are_those_of_the_module(module):
    names = importlib.import_module(f"fungrad.scipy.{module}").__all__
    assert sorted(re.findall(r"`(\w+)`", SECTIONS[module])) == sorted(names)
