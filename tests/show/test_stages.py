"""`fungrad.show.stages`."""

import io

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.targets import host
from fungrad.core.config import setting

NAMES = ["expression", "simplified", "schedule", "code", "kernels"]


def f(x):
    y = fnp.sin(x) + fnp.sin(x)
    return fnp.sum(y * 2.0)


def test_each_stage_is_what_lower_gives():
    x = np.ones(5)
    found = fg.show.stages(f)(x)
    lowered = fg.jit(f).lower(x)
    assert [stage.name for stage in found][:5] == NAMES
    assert found["expression"].text == str(lowered.expr)
    assert found[1].text == str(lowered.simplified)
    assert found["schedule"].text == str(lowered.schedule)
    assert found["code"].text == lowered.source
    assert [str(kernel) for kernel in found["kernels"].made] == list(map(str, lowered.kernels))
    assert found["expression"].size == f"{len(lowered.expr.equations)} equations"
    assert found["code"].size == "7 lines"
    assert all(stage.seconds > 0 for stage in found)
    assert len(found["simplified"].made.equations) < len(found["expression"].made.equations)


@pytest.mark.skipif(not host.available(), reason="without llvmlite there is no machine code")
def test_machine_code():
    found = fg.show.stages(f)(np.ones(5))
    assert len(found) == 6
    assert "define" in found["machine code"].text


def test_it_is_traced_anew():
    traced = []

    @fg.jit
    def g(x):
        traced.append(x)
        return x + 1

    g(1.0)
    fg.show.stages(g)(1.0)
    fg.show.stages(g)(1.0)
    assert len(traced) == 3
    assert g.cache_info().currsize == 1


def test_static_arguments_and_types_alone():
    power = fg.jit(lambda x, n: x**n, static_argnums=1)
    found = fg.show.stages(power)(fg.ShapeDtypeStruct((3,), float), 2)
    assert found["expression"].size == "1 equation"


def test_loops_are_counted_and_folded():
    def loop(x):
        return lax.fori_loop(0, 5, lambda i, c: fnp.sin(c) * i, x)

    found = fg.show.stages(loop)(np.ones(3))
    html = found._repr_html_()
    assert "body: " in html
    assert html.count("<details") >= len(found) + 2  # the body in two expressions


def test_long_programs_say_what_is_left_out(as_written):
    def long(x):
        for _ in range(100):
            x = fnp.sin(x) * 2
        return x

    found = fg.show.stages(long)(np.ones(3))
    left = len(found["code"].text.splitlines()) - 60
    assert f"... {left:,} more lines are in .text" in str(found)


def test_text_and_rich():
    found = fg.show.stages(lambda x: x * 2)(np.ones(3))
    for stage in found:
        assert f"{stage.name}: {stage.size}" in str(found)
    Console = pytest.importorskip("rich.console").Console
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(found)
    text = console.export_text()
    assert "np.multiply(a, 2.0)" in text
    assert "schedule: " in text


def test_no_arguments_and_errors():
    assert fg.show.stages(lambda: np.ones(3))()["expression"].size == "0 equations"
    with pytest.raises(TypeError, match="show"):
        fg.show.stages(3)
    branching = fg.show.stages(lambda x: x if x > 0 else -x)
    assert "cond" in branching(1.0)["expression"].text
    with setting(reading=False), pytest.raises(fg.ConcretizationError):
        branching(1.0)
