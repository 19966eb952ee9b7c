"""How programs, jitted functions and tracers show themselves in a notebook."""

import html.parser

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.show.html import FIRST, MOST, of_expr
from fungrad.show.tables import safely

VOID = {"rect", "line"}


class Checker(html.parser.HTMLParser):
    """Collects text, and fails for tags that are not closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags, self.titles = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.titles.append(dict(attributes).get("title"))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def parsed(text):
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    return checker


def shown(text):
    return "".join(parsed(text).text)


def test_an_expr_has_types_and_lines():
    def f(x, y):
        z = fnp.sin(x)
        return z * y  # here

    text = shown(fg.make_expr(f)(np.ones(3), np.ones(3, np.float32))._repr_html_())
    assert "{ lambda a:float64[3] b:float32[3] ." in text
    assert "c:float64[3] = sin a" in text
    assert "(in f): z = fnp.sin(x)" in text
    assert "return z * y  # here" in text
    assert text.rstrip().endswith("return (e,) }")


def test_bodies_are_folded():
    def f(x):
        return lax.scan(lambda c, r: (c + fnp.sum(fnp.sin(r)), None), 0.0, x)[0]

    found = parsed(fg.make_expr(f)(np.ones((4, 3)))._repr_html_())
    assert found.tags.count("details") == 1
    assert "body: 3 equations" in "".join(found.text)
    assert "reduce_sum" in "".join(found.text)


def test_derivatives_name_their_pass():
    text = shown(fg.make_expr(fg.grad(lambda x: fnp.sum(fnp.tanh(x))))(np.ones(3))._repr_html_())
    assert "backward pass" in text


@pytest.mark.parametrize(
    "program",
    [
        lambda: fg.make_expr(lambda: ())(),
        lambda: fg.make_expr(lambda x: x)(1.0),
        lambda: fg.make_expr(lambda x: (x, {"a": [x, 2.0]}, ()))(np.ones(2)),
        lambda: fg.make_expr(lambda p: p["<b>"] * p["w"][0])({"<b>": 1.0, "w": (2.0,)}),
        lambda: fg.make_expr(lambda x: x + np.ones((2, 2)))(np.ones(2)),
        lambda: fg.make_expr(lambda i: fg.random.normal(fg.random.key(0), (2,)) * i)(1),
    ],
    ids=["empty", "identity", "nested", "names", "constants", "keys"],
)
def test_programs_of_all_kinds(program):
    expr = program()
    text = shown(expr._repr_html_())
    assert "failed" not in text
    assert "return (" in text
    for equation in expr.equations:
        assert equation.primitive.name in text


def test_names_are_escaped():
    f = fg.jit(lambda x: x < 2)
    f(1.0)
    text = f._repr_html_()
    assert "jit(&lt;lambda&gt;)" in text
    assert "<lambda>" not in text
    assert "jit(<lambda>)" in shown(text)


def test_long_programs_are_folded_and_counted():
    @fg.as_written
    def f(x):
        for _ in range(1000):
            x = fnp.sin(x) * x
        return x

    expr = fg.make_expr(f)(np.ones(2))
    n = len(expr.equations)
    assert n == MOST
    found = parsed(expr._repr_html_())
    text = "".join(found.text)
    assert found.tags.count("details") == 1
    assert f"{n - FIRST:,} more equations" in text
    assert text.count(" = sin ") == 1000
    assert "not shown" not in text

    longer = fg.make_expr(lambda x: f(f(x)))(np.ones(2))
    text = shown(longer._repr_html_())
    assert text.count(" = sin ") == MOST // 2
    assert f"{len(longer.equations) - MOST:,} more are not shown" in text


def test_a_jitted_function_shows_its_programs():
    @fg.jit
    def f(p, x):
        return p["w"] * x

    assert "0 of at most 256 programs" in shown(f._repr_html_())
    f({"w": 1.0}, np.ones(3))
    f({"w": 1.0}, np.ones(4))
    found = parsed(f._repr_html_())
    text = "".join(found.text)
    assert found.tags.count("details") == 2
    assert "float64[], float64[3]" in text or "float64[]*, float64[3]" in text
    assert "float64[4]" in text
    power = fg.jit(lambda x, n: x**n, static_argnums=1)
    power(2.0, 3)
    assert "1=3" in shown(power._repr_html_())


def test_tracers():
    seen = []

    def f(x):
        seen.append(x._repr_html_())
        kept.append(x)
        return fnp.sum(x * x)

    kept = []
    fg.grad(f)(np.array([1.0, 2.0]))
    fg.jit(f)(np.ones(2))
    assert "Tracer float64[2] of grad(f)[1. 2.]" in shown(seen[0])
    assert "of jit(f): it has no value" in shown(seen[1])
    assert "which has returned" in shown(kept[0]._repr_html_())
    assert "it is one of the function's arguments" in shown(seen[0])


def test_tracers_say_which_line_made_them():
    seen, kept = [], []

    def f(x):
        y = fnp.sin(x)  # <here>
        z = y * 2 + fnp.cos(y) - fnp.exp(y) * fnp.tanh(y) / fnp.sqrt(1 + y**2) + fnp.arctan(y) + 12
        seen.extend([y._repr_html_(), z._repr_html_()])
        kept.append(y)
        return fnp.sum(z)

    for transform in (fg.grad, fg.jit, fg.vmap):
        seen.clear()
        transform(f)(np.array([1.0, 2.0]))
        line = f.__code__.co_firstlineno + 1
        assert f"it was computed at test_html.py:{line} (in f): y = fnp.sin(x)  # <here>" in shown(
            seen[0]
        )
        found = parsed(seen[1])
        assert f"test_html.py:{line + 1} (in f): z = y * 2" in "".join(found.text)
        assert "…" in "".join(found.text)  # a long line is cut, and whole where the mouse is
        assert any(title and title.endswith("fnp.arctan(y) + 12") for title in found.titles)
    for tracer in kept:
        text = shown(tracer._repr_html_())
        assert "which has returned" in text
        assert f"test_html.py:{line} (in f): y = fnp.sin(x)" in text


def test_what_fails_hides_nothing():
    """A notebook shows nothing but a traceback if a representation raises."""

    class Broken:
        def __repr__(self):
            return "<a broken thing>"

    def failing():
        raise ValueError("no <luck>")

    text = shown(safely(failing, Broken()))
    assert "<a broken thing>" in text
    assert "failed: ValueError: no <luck>" in text

    class Worse:
        def __repr__(self):
            raise ValueError

    assert "Worse object" in shown(safely(failing, Worse()))


def test_a_broken_program_is_still_shown():
    expr = fg.make_expr(lambda x: x + 1)(1.0)
    broken = fg.Expr(expr.inputs, expr.equations, (99,), expr.types)
    assert "failed: " in shown(of_expr(broken))


def test_ipython_asks_the_class():
    """It displays an object by its method, unless that has any attribute that is asked for."""
    formatters = pytest.importorskip("IPython.core.formatters")
    formatter = formatters.DisplayFormatter()
    data, _ = formatter.format(fg.make_expr(lambda x: x * 2)(1.0))
    assert "multiply" in data["text/html"]
    assert "multiply" in data["text/plain"]
