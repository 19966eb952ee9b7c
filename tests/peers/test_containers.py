"""The blocks of docs/containers.md, each with the package it is about."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "containers.md"
BLOCKS = re.findall(
    r"^## (.+?)\n.*?```python(?: skip)?\n(.*?)```", PAGE.read_text(), re.DOTALL | re.MULTILINE
)
PACKAGES = {
    "SciPy's sparse arrays": "scipy",
    "scikit-learn": "sklearn",
    "pandas": "pandas",
    "xarray": "xarray",
    "pint": "pint",
    "astropy": "astropy",
}


def test_each_package_has_a_block():
    assert [name for name, _ in BLOCKS] == sorted(PACKAGES, key=[name for name, _ in BLOCKS].index)
    assert PAGE.read_text().count("```python") == len(BLOCKS)


@pytest.mark.parametrize(("name", "block"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_blocks_run(name, block):
    pytest.importorskip(PACKAGES[name])
    exec(compile(block, str(PAGE), "exec"), {"__name__": "containers"})
