"""The documentation of `fungrad.nn` is whole: what docstrings leave out is added from the glossary."""

import inspect
import re

from fungrad import nn
from fungrad.nn import initializers
from fungrad.nn.glossary import PARAMETERS, RAISES
from tests.folding import each

FUNCTIONS = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (nn, initializers)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
}


@each("name", FUNCTIONS)
def test_documentation_is_whole(name):
    text = inspect.getdoc(FUNCTIONS[name])
    section = re.search(r"\nParameters\n-+\n(.*?)(\n\n[A-Z]|\Z)", text, re.DOTALL)
    headings = re.findall(r"^\S.*", section[1], re.MULTILINE) if section else []
    described = [x.strip("*") for h in headings for x in h.split(" : ")[0].split(", ")]
    assert sorted(described) == sorted(inspect.signature(FUNCTIONS[name]).parameters)
    assert "\n    \n" not in text + "\n"
    assert re.match("Return[ ,]", text)
    assert ">>> " in text


def test_the_glossary_has_no_entry_that_none_needs():
    used = {p for f in FUNCTIONS.values() for p in inspect.signature(f).parameters}
    assert {*PARAMETERS} <= used
    assert {*RAISES} <= {*PARAMETERS}
