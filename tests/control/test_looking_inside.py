"""What loops and branches look like in programs and in their source."""

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax

X = np.ones(3)


def step(c, x):
    return lax.cond(c > 0, lambda c: fnp.sin(c) * x, lambda c: c, c), c


def test_a_program_shows_the_programs_inside():
    text = str(fg.make_expr(lambda c, xs: lax.scan(step, c, xs, reverse=True))(1.0, X))
    lines = [line.strip() for line in text.splitlines()]
    assert any("= scan[length=3, reverse]" in line for line in lines)
    assert any(line.startswith("body: { lambda") for line in lines)
    assert any(line.startswith("branches[0]: { lambda") for line in lines)
    assert any("= sin " in line for line in lines)
    loop = str(fg.make_expr(lambda x: lax.while_loop(lambda c: c < 3, lambda c: c * x, x))(2.0))
    assert "cond: {" in loop
    assert "body: {" in loop


def test_source_shows_the_programs_inside():
    source = fg.jit(lambda c, xs: lax.scan(step, c, xs)).source(1.0, X)
    assert "def _loop" in source
    assert "_loop0([" in source
    assert "np.sin(" in source
    compile(source, "source", "exec")  # what is added are comments
