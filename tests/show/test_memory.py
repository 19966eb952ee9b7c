"""`fungrad.show.memory`: peaks that are known, and those that are measured."""

import tracemalloc

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.show.living import WIDTH, chart

N = 100_000  # 800 kB


def measured(function, *args):
    """Return the bytes that a call takes at its peak, once compiled."""
    jitted = fg.jit(function)
    for _ in range(2):
        jitted(*args)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        result = jitted(*args)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del result
    return peak - before


def test_the_peak_and_what_holds_it():
    def f(x):
        a = fnp.sin(x)
        b = fnp.cos(x)  # the peak: a, b
        c = fnp.sum(a * b)
        return c * x[:10]

    found = fg.show.memory(f)(np.ones(1000))
    assert found.peak == 16_000
    assert (found.given, found.constants) == (8000, 0)
    assert [(row.bytes, row.share, row.operation) for row in found] == [
        (8000, 0.5, "sin"),
        (8000, 0.5, "cos"),
    ]
    assert "a = fnp.sin(x)" in found.rows[0].line
    assert "# the peak: a, b" in found.rows[1].line
    assert max(moment.most for moment in found.moments) == found.peak
    assert found.moments[-1].held == 80


def test_what_is_overwritten_is_said_to_be_of_its_last_maker():
    found = fg.show.memory(lambda x: fnp.exp(fnp.sin(x)))(np.ones(10))
    assert [(row.bytes, row.operation) for row in found] == [(80, "exp")] or [
        row.operation for row in found
    ] == ["sin"]
    assert found.peak == 80


def test_loops_hold_what_their_bodies_hold():
    def f(x):
        def body(carry, row):
            outer = fnp.outer(carry, row)
            return fnp.sum(outer @ outer, axis=0), None

        return lax.scan(body, x[0], fnp.tanh(x))[0]

    found = fg.show.memory(f)(np.ones((20, 50)))
    assert found.peak == pytest.approx(8 * (20 * 50 + 2 * 50 * 50), rel=0.02)
    within = [row for row in found if row.within == "scan"]
    assert [row.bytes for row in within][:2] == [20_000, 20_000]
    assert all("outer" in row.line for row in within[:2])
    assert sum(row.bytes for row in found) == found.peak


def layer(x):
    for _ in range(6):
        x = fnp.sin(x) * fnp.cos(x)
    return x


def recomputing(x):
    for _ in range(4):
        x = fg.checkpoint(layer)(x)
    return fnp.sum(x)


def recomputing_steps(x):
    step = fg.checkpoint(lambda c, _: (layer(c), None))
    return fnp.sum(lax.scan(step, x, None, length=5)[0])


PROGRAMS = {
    "a sum": (lambda x: fnp.sum(fnp.sin(x) * fnp.cos(x)), 0.02),
    "a result": (lambda x: (fnp.sin(x), fnp.cos(x) + x), 0.02),
    "a gradient": (fg.grad(lambda x: fnp.sum(fnp.sin(x) * fnp.exp(-x * x))), 0.02),
    "a product": (
        lambda x: fnp.reshape(x, (1000, 100)) @ fnp.reshape(x, (1000, 100)).T,
        0.02,
    ),
    "a loop": (
        lambda x: (
            lax.scan(lambda c, r: (c * r, c), 1.0, fnp.exp(x[:1000]))[1] + fnp.sum(fnp.sin(x))
        ),
        0.05,
    ),
    "a gradient of a loop": (
        fg.grad(lambda x: fnp.sum(lax.scan(lambda c, r: (c * r, fnp.sin(c)), x[0], x[:50_000])[1])),
        0.2,  # what the functions of loops keep from round to round is not known
    ),
    "checkpoints": (recomputing, 0.02),
    "a gradient with checkpoints": (fg.grad(recomputing), 0.02),
    "a gradient of a loop of checkpoints": (fg.grad(recomputing_steps), 0.05),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_peak_is_what_is_measured(name):
    function, tolerance = PROGRAMS[name]
    x = np.linspace(0.5, 1.0, N)
    expected = fg.show.memory(function)(x).peak
    assert measured(function, x) == pytest.approx(expected, rel=tolerance)


def test_the_holders_are_the_peak():
    for function, _ in PROGRAMS.values():
        found = fg.show.memory(function)(fg.ShapeDtypeStruct((N,), float))
        assert sum(row.bytes for row in found) == found.peak
        assert sum(row.share for row in found) == pytest.approx(1)


def test_what_is_within_checkpoints_is_counted():
    x = fg.ShapeDtypeStruct((N,), float)
    found = fg.show.memory(fg.grad(recomputing))(x)
    within = [row for row in found if row.within == "checkpoint"]
    assert len(within) > 10
    assert all("layer" in row.line for row in within)
    assert (
        found.peak
        < fg.show.memory(fg.grad(lambda x: fnp.sum(layer(layer(layer(layer(x)))))))(x).peak
    )
    analysis = fg.jit(fg.grad(recomputing)).lower(x).compile().memory_analysis()
    assert analysis.temp_size_in_bytes == found.peak - 8 * N
    with_kernels = fg.show.memory(fg.grad(recomputing), kernels=True)(x)
    assert with_kernels.peak < found.peak / 2
    rows = fg.show.memory(recomputing_steps)(x)
    assert {row.within for row in rows} == {"", "scan checkpoint"}


def test_kernels_take_less():
    def f(x):
        return fnp.sum(fnp.sin(x) * fnp.cos(x))

    x = np.ones(1000)
    assert fg.show.memory(f, kernels=True)(x).peak < fg.show.memory(f)(x).peak


def test_copies_of_results_and_constants():
    constant = np.ones(50)
    found = fg.show.memory(lambda x: (x, x[:10] * 1.0 + constant[:10]))(np.ones(100))
    assert found.peak == 800 + 80
    assert "copy of a result" in [row.operation for row in found]
    assert found.constants in (80, 400)


def test_nothing_is_held():
    for function in (lambda x: x + 1.0, lambda x: ()):
        found = fg.show.memory(function)(1.0)
        assert (found.peak, found.rows) == (0, [])
        assert "0 B at the peak" in str(found)
        assert "0 B at the peak" in found._repr_html_()


def test_the_chart():
    def f(x):
        for _ in range(100):
            x = fnp.sin(x) + fnp.cos(x)
        return x

    found = fg.show.memory(f)(np.ones(100))
    lines = chart(found.moments)
    assert max(map(len, lines)) <= WIDTH + 10 + len(" 1,000 steps")
    assert lines[0].startswith(" 1.60 kB │")
    assert "█" in lines[0]
    assert chart([])[-1].endswith("0 steps")
    html = found._repr_html_()
    assert "<svg" in html
    assert html.count("<rect") == len(found.moments)
