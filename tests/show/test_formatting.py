"""The layout of the modules that `to_source` writes: that of `ruff format`, in lines of 100 characters."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from fungrad.show.formatting import WIDTH, formatted
from tests.samples import rows

LONG = "operand_of_the_function"
"""A name of 23 characters."""

LAYOUTS = {
    "quotes": ("f('a', \"b\", 'c\"d', 'e\\'f', b'g', f'{x}', f'{x[\"y\"]}')", None),
    "numbers": ("x = 1e+38 + 1e-05 + 2j + -1.5e300", "x = 1e38 + 1e-05 + 2j + -1.5e300\n"),
    "powers": (
        "x = y ** 2 + y[0] ** 2 + (-1) ** n + 2 ** -n + -2 ** n + a.b ** c",
        "x = y**2 + y[0] ** 2 + (-1) ** n + 2**-n + -(2**n) + a.b**c\n",
    ),
    "slices": (
        "x[1:n, :-1, n + 1:, :len(y):2, ::-1, f(x):, ...]",
        "x[1:n, :-1, n + 1 :, : len(y) : 2, ::-1, f(x) :, ...]\n",
    ),
    "precedence": (
        "x = (a + b) * c - (d - (e + f)) ** (g @ h) // (not i) if (j or k) and (l < m) else (n := 1)",
        "x = (a + b) * c - (d - (e + f)) ** (g @ h) // (not i) if (j or k) and l < m else (n := 1)\n",
    ),
    "a call in one more line": (
        f"x = numpy.function({LONG}, {LONG}, {LONG}, axis=-1)",
        f"x = numpy.function(\n    {LONG}, {LONG}, {LONG}, axis=-1\n)\n",
    ),
    "a call in many": (
        f"x = f({LONG}, [{LONG}, {LONG}, {LONG}], {{'a': {LONG}, **b}}, *c, **d)",
        f"""x = f(
    {LONG},
    [{LONG}, {LONG}, {LONG}],
    {{"a": {LONG}, **b}},
    *c,
    **d,
)
""",
    ),
    "targets and results": (
        f"{', '.join(f'{LONG}{i}' for i in range(5))} = {LONG}, {LONG}, {LONG}, {LONG}",
        "(\n"
        + "".join(f"    {LONG}{i},\n" for i in range(5))
        + ") = (\n"
        + f"    {LONG},\n" * 4
        + ")\n",
    ),
    "one target": ("x, = f((y,))", "(x,) = f((y,))\n"),
    "a sum": (
        f"x = {LONG} * {LONG} + {LONG} * {LONG} - {LONG}",
        f"x = (\n    {LONG} * {LONG}\n    + {LONG} * {LONG}\n    - {LONG}\n)\n",
    ),
    "a product that ends in brackets": (
        f"x = {LONG} @ numpy.function({LONG}, {LONG}, {LONG})",
        f"x = {LONG} @ numpy.function(\n    {LONG}, {LONG}, {LONG}\n)\n",
    ),
    "a choice": (
        f"x = f({LONG}) if isinstance({LONG}, {LONG}) else g({LONG})",
        f"x = (\n    f({LONG})\n    if isinstance({LONG}, {LONG})\n    else g({LONG})\n)\n",
    ),
    "conditions": (
        f"if {LONG} and {LONG} or {LONG} and {LONG}:\n  return",
        f"if (\n    {LONG}\n    and {LONG}\n    or {LONG}\n    and {LONG}\n):\n    return\n",
    ),
    "comprehensions": (
        f"x = [f({LONG}, {LONG}) for {LONG} in {LONG} if {LONG}]; y = all(z for z, in w)",
        f"""x = [
    f({LONG}, {LONG})
    for {LONG} in {LONG}
    if {LONG}
]
y = all(z for (z,) in w)
""",
    ),
    "definitions": (
        f'''class A(B):
    """Say what it is."""
    x = 1
    @property
    def f(self, {LONG}, /, {LONG}1=(1, 2), *, a=None, **{LONG[:11]}):
        def g(): return lambda: (yield)
        return g
def h({LONG}0, {LONG}1, {LONG}2, *, {LONG}3): pass''',
        f'''class A(B):
    """Say what it is."""

    x = 1

    @property
    def f(
        self, {LONG}, /, {LONG}1=(1, 2), *, a=None, **{LONG[:11]}
    ):
        def g():
            return lambda: (yield)

        return g


def h(
    {LONG}0,
    {LONG}1,
    {LONG}2,
    *,
    {LONG}3,
):
    pass
''',
    ),
    "statements": (
        """
def f():
    with a as (b, c), d: x += yield e
    while y := g(): del z['a'], w
    else: raise E('f') from e
    try: assert x, 'y'
    except (A, B) as error: pass
    finally: return (yield from h)
    for i, j in k: global l
    match x:
        case 1: pass""",
        """def f():
    with a as (b, c), d:
        x += yield e
    while y := g():
        del z["a"], w
    else:
        raise E("f") from e
    try:
        assert x, "y"
    except (A, B) as error:
        pass
    finally:
        return (yield from h)
    for i, j in k:
        global l
    match x:
        case 1:
            pass
""",
    ),
    "comments": (
        f"x = 'y'  # str\nz = f({LONG})  # {LONG} {LONG} {LONG}\nw = 1",
        f'x = "y"  # str\nz = f({LONG})\nw = 1\n',
    ),
    "bytes of an array": (
        f"X = packed('{'abc' * 60}', (1, 2))",
        f'X = packed(\n    "{("abc" * 30)[:88]}"\n    "{("bca" * 30)[:88]}"\n    "cabc",\n    (1, 2),\n)\n',
    ),
}
"""Of each kind of source, a text and its layout."""


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    text, expected = LAYOUTS[name]
    found = formatted(text)
    if expected is None:  # of which Python decides how some are written
        assert 'f("a", "b", \'c"d\', "e\'f", b"g", f"{x}",' in found
    else:
        assert found == expected
    assert ast.dump(ast.parse(found)) == ast.dump(ast.parse(text))
    assert formatted(found) == found


def test_docstrings_are_filled():
    words = " ".join(["word"] * 40)
    text = f'def f():\n    """{words}\n\n      a\\\\b\n    """\n'
    found = formatted(text)
    assert max(map(len, found.splitlines())) <= WIDTH
    assert ast.get_docstring(ast.parse(found).body[0]).split() == [*words.split(), "a\\b"]
    assert formatted(found) == found


def check_with_ruff(*paths: Path) -> None:
    """Let ruff say that it would leave the layout of the modules, and the order of their imports, as it is."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--no-cache", "--diff"]
    command += ["--line-length", str(WIDTH), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[:3000] + done.stderr[-1000:]
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "I"]
    done = subprocess.run([*command, *map(str, paths)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[:3000] + done.stderr[-1000:]


needs_ruff = pytest.mark.skipif(
    importlib.util.find_spec("ruff") is None, reason="ruff is not installed"
)


@needs_ruff
def test_ruff_leaves_layouts_as_they_are(tmp_path):
    for i, (text, _) in enumerate(LAYOUTS.values()):
        (tmp_path / f"layout{i}.py").write_text(formatted(text))
    check_with_ruff(tmp_path)


@needs_ruff
def test_ruff_leaves_every_primitive_as_it_is(tmp_path):
    """Layouts of programs with their gradients are looked at in test_source_alone.py."""
    samples = {sample.primitive.name: sample for sample in reversed(rows())}
    for i, (name, sample) in enumerate(samples.items()):
        for xp in ("numpy", "cupy")[: 1 if i % 4 else 2]:  # of which little but names differs
            write = fg.to_source(lambda *xs, f=sample.primitive: f(*xs), name="f", xp=xp)
            try:
                (tmp_path / f"{name}_for_{xp}.py").write_text(write(*sample.operands))
            except NotImplementedError:
                continue  # what cannot be written, which test_source.py lists
    check_with_ruff(tmp_path)
    assert len([*tmp_path.iterdir()]) >= 200


@needs_ruff
def test_ruff_leaves_loops_and_nested_arguments_as_they_are(tmp_path):
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
        text = fg.to_source(f, name=name)(layers, x, number_of_steps=3)
        (tmp_path / f"{name}.py").write_text(text)
        assert max(map(len, text.splitlines())) <= WIDTH
    check_with_ruff(tmp_path)
