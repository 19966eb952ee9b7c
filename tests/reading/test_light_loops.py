"""Loops of little work: where all has values, Python runs them once they have been recorded often enough."""

import numpy as np
import pytest

import fungrad as fg
from fungrad.core.types import is_array
from fungrad.reading import loops
from fungrad.reading.sites import LIGHT, PATIENCE


@pytest.fixture
def recorded(monkeypatch):
    """The numbers of rounds of the loops that were recorded."""
    counts, outcome = [], loops._Rows.outcome

    def counted(self):
        counts.append(self.rows.count)
        return outcome(self)

    monkeypatch.setattr(loops._Rows, "outcome", counted)
    return counts


def test_a_loop_of_little_work_is_pythons_after_some_calls(recorded):
    def f(x, n):
        total = 0.0
        for i in range(n):
            total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
        return np.sqrt(1.0 + total)

    x = np.linspace(0.1, 0.9, 202)
    first = fg.grad(f)(x, 9)
    for _ in range(PATIENCE + 2):
        assert np.allclose(fg.grad(f)(x, 9), first)
    assert recorded == [9] * PATIENCE
    fg.grad(f)(x, 200)  # more work than `LIGHT`
    assert recorded[PATIENCE:] == [200]
    fg.jit(lambda x: f(x, 9))(x)
    assert recorded[PATIENCE + 1 :] == [9]
    fg.vmap(lambda x: f(x, 9))(np.stack([x, x]))
    assert recorded[PATIENCE + 2 :] == [9]


def test_loops_inside_count_by_their_rounds(recorded):
    def f(x):
        y = x
        for _ in range(20):
            for i in range(20):
                y = np.sin(y) * x[i]
        return y.sum()

    x = np.linspace(0.1, 0.9, 20)
    for _ in range(PATIENCE + 2):
        fg.grad(f)(x)
    assert recorded.count(20) == 2 * (PATIENCE + 2)
    assert LIGHT < 20 * 20 * 2


def test_no_text_is_made_of_what_is_no_array():
    class Record:
        def __repr__(self):
            raise AssertionError

    assert not is_array(Record())
    assert not is_array((Record(),))
