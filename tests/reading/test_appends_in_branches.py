"""Lists to which both ways of a branch append: one loop, whichever way its rounds take."""

import math

import numpy as np
import pytest

from tests.reading.one_loop import check_one_loop, check_results

X = np.linspace(-1.02, 1.31, 60)


def either(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v * 2)
        else:
            out.append(-v)
    return np.sum(np.array(out) ** 2)


def one_of_three(x):
    out = []
    for v in x:
        if v > 0.5:
            out.append(v * 2)
        elif v > 0:
            out.append(v * 3)
        else:
            out.append(math.exp(v))
    return sum(out) * out[3]


def two_lists(x):
    a, b = [], []
    for v in x:
        if v > 0:
            a.append(v)
            b.append(v * v)
        else:
            a.append(0.5)
            b.append(v)
    return np.dot(a, b)


class Recorder:
    def __init__(self):
        self.kept = []

    def step(self, v):
        if v > 0:
            self.kept.append(v)
        else:
            self.kept.append(v * v)


def of_an_object(x):
    recorder = Recorder()
    for v in x:
        recorder.step(v)
    return np.sum(np.array(recorder.kept) * np.arange(len(recorder.kept)))


LOOPS = (either, one_of_three, two_lists, of_an_object)


def uneven(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v * v)  # noqa: PERF401
    return np.sum(out)


def rows_written_later(x):
    out, y = [], np.zeros(2)
    for v in x[:12]:
        if v > 0:
            out.append(y)
        else:
            out.append(y)
        y[0] += v
    return np.stack(out).sum()


def once(x):
    out = [x[0]]
    if x[-1] > 0:
        out.append(x[1] * 3)
    else:
        out.append(x[2])
    return sum(out)


def looked_at(x):
    out = [1.0]
    for v in x:
        if v > 0:
            out.append(out[-1] * 0.9 + v)
        else:
            out.append(out[-1])
    return out[-1]


def different(x):
    """A number on one way and a tuple on the other."""
    out = []
    for v in x[:12]:
        if v > 0:
            out.append(v)
        else:
            out.append((v, 1.0))
    return sum(y if isinstance(y, float) else y[0] * y[1] for y in out) + len(out)


FUNCTIONS = (*LOOPS, uneven, rows_written_later, once, looked_at, different)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_they_are_one_loop(f):
    check_one_loop(f, X)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_are_pythons(f):
    check_results(f, X)
