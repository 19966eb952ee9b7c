"""Lines of the cells of notebooks are called as IPython calls them."""

import subprocess
import sys

import pytest

from fungrad.core.errors import line_name

PROGRAM = '''
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="nocolor")
for cell in (
    "import fungrad as fg, fungrad.numpy as fnp",
    """def f(x):
    x[0] = 1.0
    return x
try:
    fg.jit(f)(fnp.ones(2))
except TypeError as error:
    print(error)
""",
    """with fg.explain_cache_misses():
    for i in range(2):
        fg.jit(lambda x: x)(1.0)
""",
    "fg.vmap(lambda x: f(x))(fnp.ones((2, 2)))",
):
    shell.run_cell(cell, store_history=True)
'''


def test_cells():
    pytest.importorskip("IPython")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    text = done.stdout + done.stderr
    assert "at Cell In[2], line 2 (in f): x[0] = 1.0" in text
    assert "Cell In[3], line 3 has made a new function, as it did before" in text
    assert ".py:" not in text.replace("site-packages", "")


def test_files():
    assert line_name("/a/b.py", 3) == "b.py:3"
