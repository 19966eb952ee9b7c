"""docs/lax.md names all of `fungrad.lax`, and is up to date."""

import re

from fungrad import lax
from fungrad.lax import exclusions, linalg
from tests.lax.page import PAGE, page


def test_every_name_is_on_the_page():
    found = set(re.findall(r"^\| `(\w+)` \|", page(), re.MULTILINE))
    assert {*lax.__all__} - {"linalg"} | {*linalg.__all__} <= found
    left_out = page().partition("## Left out")[2]
    assert set(exclusions.EXCLUDED) <= set(re.findall(r"`([\w.]+)`", left_out))


def test_every_name_has_a_description():
    without = [line for line in page().splitlines() if re.search(r"\| \.? *\|$", line)]
    assert without == []


def test_the_page_is_up_to_date():
    assert PAGE.read_text("utf-8") == page(), "run `make docs-grid`"
