"""The layout of the modules that `to_source` writes: long lines are parted, imports sorted."""

import ast
import importlib.util
import subprocess
import sys
import tokenize
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from fungrad.show.formatting import WIDTH, import_sections, parted
from tests.samples import rows

LONG = "operand_of_the_function"
"""A name of 23 characters."""

LAYOUTS = {
    "a short line": ("x = f(y)  # a comment", "x = f(y)  # a comment"),
    "a call in one more line": (
        f"x = numpy.function({LONG}, {LONG}, {LONG}, axis=-1)  # a comment",
        f"x = numpy.function(\n    {LONG}, {LONG}, {LONG}, axis=-1\n)",
    ),
    "a call in many": (
        f"x = f({LONG}, [{LONG}, {LONG}, {LONG}], {{'a': {LONG}, **b}}, *c, **d)",
        f"x = f(\n    {LONG},\n    [{LONG}, {LONG}, {LONG}],\n    {{'a': {LONG}, **b}},\n    *c,\n    **d\n)",
    ),
    "the longest brackets": (
        f"    return g(y)[0] + numpy.function({LONG}, {LONG}, {LONG})[:, 1]",
        f"    return g(y)[0] + numpy.function(\n        {LONG}, {LONG}, {LONG}\n    )[:, 1]",
    ),
    "a comprehension": (
        f"x = [f(a, b, {LONG}, {LONG}) for a, b in zip({LONG}, {LONG}) if a]",
        f"x = [\n    f(a, b, {LONG}, {LONG})\n    for a, b in zip({LONG}, {LONG}) if a\n]",
    ),
    "texts": (
        f"x = f('({LONG}, {LONG}' '{LONG}, {LONG}', f'{{f({LONG}, y)}}')",
        f"x = f(\n    '({LONG}, {LONG}'\n    '{LONG}, {LONG}',\n    f'{{f({LONG}, y)}}'\n)",
    ),
    "no brackets": (f"{LONG} = {LONG} + {LONG} + {LONG} + {LONG}",) * 2,
    "a text over several lines": (f'"""{LONG}\n{LONG}({LONG}, {LONG}, {LONG}, {LONG})"""',) * 2,
}
"""Of each kind of source, a text and its layout."""


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    text, expected = LAYOUTS[name]
    assert parted(text) == expected
    assert ast.dump(ast.parse(expected.strip())) == ast.dump(ast.parse(text.strip()))
    assert parted(expected) == expected


def test_imports_are_sorted():
    given = ["import scipy.special", "from math import pi", "import zlib", "import numpy as np"]
    assert import_sections(given) == (
        "import zlib\nfrom math import pi\n\nimport numpy as np\nimport scipy.special"
    )


def assert_lines_are_parted(text: str) -> None:
    """Lines are as long as they may be, except texts, and brackets that hold nothing to part."""
    assert parted(text) == text
    tokens = list(tokenize.generate_tokens(StringIO(text).readline))
    strings = {
        n for t in tokens if t.type == tokenize.STRING for n in range(t.start[0], t.end[0] + 1)
    }
    for number, line in enumerate(text.split("\n"), 1):
        assert len(line) <= WIDTH or number in strings or "f'" in line or 'f"' in line, line


def check_imports(*paths: Path) -> None:
    """Let ruff say that it would leave the order of the modules' imports as it is."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "I"]
    done = subprocess.run([*command, *map(str, paths)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[:3000] + done.stderr[-1000:]


def test_every_primitive(tmp_path):
    """Layouts of programs with their gradients are looked at in test_source_alone.py."""
    samples = {sample.primitive.name: sample for sample in reversed(rows())}
    for i, (name, sample) in enumerate(samples.items()):
        for xp in ("numpy", "cupy")[: 1 if i % 4 else 2]:  # of which little but names differs
            write = fg.to_source(lambda *xs, f=sample.primitive: f(*xs), name="f", xp=xp)
            try:
                text = write(*sample.operands)
            except NotImplementedError:
                continue  # what cannot be written, which test_source.py lists
            assert_lines_are_parted(text)
            (tmp_path / f"{name}_for_{xp}.py").write_text(text)
    assert len([*tmp_path.iterdir()]) >= 200
    if importlib.util.find_spec("ruff"):
        check_imports(tmp_path)


def test_loops_and_nested_arguments():
    rng = np.random.default_rng(0)
    layers = [{"weight": rng.normal(size=(7, 7)), "bias": rng.normal(size=7)} for _ in range(6)]

    def steps(layers, x, *, number_of_steps):
        def step(carry, row):
            for layer in layers:
                row = np.tanh(row @ layer["weight"] + layer["bias"])
            return carry + row, {"row": row, "mean": np.mean(row)}

        carry, stored = lax.scan(step, x[0], x)
        chosen = lax.switch(number_of_steps, [np.sin, np.cos, lambda x: x[::-1]], carry)
        return lax.while_loop(lambda y: np.sum(y) < 9, lambda y: y * 2 + 1, chosen), stored

    total = lambda *args, **given: np.sum(steps(*args, **given)[1]["row"])
    x = rng.normal(size=(4, 7))
    for name, f in {"steps": steps, "slopes": fg.value_and_grad(total, (0, 1))}.items():
        assert_lines_are_parted(fg.to_source(f, name=name)(layers, x, number_of_steps=3))
