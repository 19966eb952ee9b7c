"""How collectives are begun early and waited for late; the processes themselves are in test_ranks.py."""

import time

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.interpret import interpret
from fungrad.compile.lower import Program
from fungrad.compile.passes import overlap
from fungrad.compile.passes.overlap import overlapped
from fungrad.compile.segments import _steps
from fungrad.core.trace import record_expr
from fungrad.core.types import array_type
from fungrad.primitives import ranks
from fungrad.primitives.collectives import AllGather, PMax, PSum, Ranks
from fungrad.primitives.elementwise import div
from fungrad.primitives.ranks import (
    Agreed,
    Lone,
    Overlapping,
    Spread,
    Start,
    Together,
    Total,
)


class Mirror(Ranks):
    """Two processes that have the same; the log tells what was begun and waited for, in order."""

    def __init__(self, name="i"):
        self.name, self.log, self.ways = name, [], []

    def __repr__(self):
        return repr(self.name)

    def meet(self, collective, *operands):
        self.log.append(collective.name)
        return self._of(collective, *operands)

    def together(self, collectives, operands, way):
        self.log.append(("together", *[c.name for c in collectives]))
        self.ways.append(way)
        return tuple([self._of(c, x) for c, x in zip(collectives, operands, strict=True)])

    def begin(self, collectives, operands, way):
        self.ways.append(way)
        self.log.append(("start", *[c.name for c in collectives]))
        return Begun(self, collectives, operands)

    def _of(self, collective, x):
        return {
            PSum: lambda: x + x,
            Total: lambda: x + x,
            PMax: lambda: x,
            Lone: lambda: x,
            Agreed: lambda: x,
            Spread: lambda: x,
            AllGather: lambda: np.stack([x, x]),
        }[type(collective)]()


class Begun:
    def __init__(self, axis, collectives, operands):
        self.axis, self.collectives = axis, collectives
        self.operands = operands
        self.values = [np.array(x) for x in operands]

    def __getitem__(self, index):
        return self

    def results(self):
        self.axis.log.append(("wait", *[c.name for c in self.collectives]))
        for x, before in zip(self.operands, self.values, strict=True):
            np.testing.assert_array_equal(x, before)  # not overwritten on the way
        pairs = zip(self.collectives, self.operands, strict=True)
        return tuple([self.axis._of(c, x) for c, x in pairs])


AXIS = Mirror()


@pytest.fixture(autouse=True)
def short_messages_too(monkeypatch):
    monkeypatch.setattr(ranks, "ASIDE", 0)


def total(x, axis=AXIS):
    return PSum(axis, 2)(x)


def recorded(f, *xs):
    types = [array_type(np.shape(x), np.asarray(x).dtype) for x in xs]
    return record_expr("f", f, types)


def names(expr):
    """Return the names of the equations, and what is begun and waited for."""
    return [
        (e.primitive.name, *[c.name for c in e.primitive.collectives])
        if isinstance(e.primitive, Overlapping)
        else e.primitive.name
        for e in expr.equations
    ]


X = np.linspace(0.1, 0.9, 6)


def check(f, *xs):
    """Return the program of `f`, apart and checked, having compared what it computes with what `f` does."""
    expr = recorded(f, *xs)
    found = overlapped(expr)
    found.check()
    expected = [np.asarray(y) for y in f(*xs)]
    program = Program(expr)
    for run in (program, program, lambda *xs: interpret(program.schedule, xs)):
        given = [np.array(x) for x in xs]
        for got, y in zip(run(*given), expected, strict=True):
            np.testing.assert_array_equal(got, y)
        for got, x in zip(given, xs, strict=True):
            np.testing.assert_array_equal(got, x)
    assert names(overlapped(found)) == names(found)
    return found


def test_what_is_computed_in_the_meantime():
    found = check(lambda x: [fnp.sin(total(fnp.cos(x))), fnp.exp(fnp.tanh(x))], X)
    assert names(found) == [
        *("cos", ("start", "p_sum"), "tanh", "exp", ("wait", "p_sum"), "sin"),
    ]


def test_alone_it_stays_whole():
    found = check(lambda x: [fnp.sin(total(fnp.cos(x)))], X)
    assert names(found) == ["cos", "p_sum", "sin"]


def test_sums_of_one_axis_and_dtype_are_one_message():
    single = X.astype("f4")
    other = Mirror("j")

    def f(x, y):
        return [total(x), total(fnp.sin(x)), total(y), total(fnp.cos(x), other), PMax(AXIS, 2)(x)]

    found = names(check(f, X, single))
    assert ("start", "p_sum", "p_sum") in found
    assert found.count(("start", "p_sum")) == 2
    assert ("start", "p_max") in found


def test_checks_are_one_message():
    found = names(check(lambda x: [Agreed(AXIS, 2)(fnp.sin(x * k)) for k in range(1, 4)], X))
    assert [n for n in found if n[0] == "together"] == [("together", *["agreed"] * 3)]


def agreed(x, axis=AXIS):
    return Agreed(axis, 2)(x)


OTHER = Mirror("j")


def ways(f, *xs):
    """Return what the messages of a program say of how results are computed."""
    expr = overlapped(recorded(lambda *xs: [f(*xs)], *xs))
    assert "agreed" not in str(names(expr))
    said = [e.primitive.way for e in expr.equations if isinstance(e.primitive, (Start, Together))]
    return [way for way in said if way]


@pytest.mark.parametrize(
    ("f", "axes"),
    [
        (lambda x: agreed(total(x) / 2.0), "i"),
        (lambda x: agreed(fnp.sin(total(x))) + agreed(fnp.sum(total(fnp.cos(x))) * 3.0), "i"),
        (lambda x: agreed(agreed(total(total(x), OTHER)), OTHER), "ij"),
        (lambda x: agreed(fnp.concatenate([total(x)[1:], PMax(AXIS, 2)(x)])), "i"),
        (lambda x: agreed(fnp.reshape(AllGather(AXIS, 2)(x), -1)), "i"),
    ],
)
def test_what_is_known_to_be_the_same_is_not_compared(f, axes):
    """But how it is computed, by the first message along an axis."""
    check(lambda x: [f(x)], X)
    assert len(ways(f, X)) == len(axes)
    AXIS.ways.clear(), OTHER.ways.clear()
    Program(recorded(lambda x: [f(x)], X), at_once=True)(X)
    said = [way for axis in (AXIS, OTHER) for way in axis.ways if way]
    assert sorted(said) == sorted(ways(f, X))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: agreed(fnp.sin(x)),
        lambda x: agreed(total(x) * x),
        lambda x: agreed(total(x) * Spread(AXIS, 2)(x)),  # which each may have given another of
        lambda x: agreed(total(x) * np.cos(X)),  # and which each may have closed over another of
        lambda x: agreed(total(x, OTHER)),
        lambda x: agreed(total(Spread(AXIS, 2)(x), OTHER)),
        lambda x: agreed(fnp.broadcast_to(fnp.zeros_like(x)[0], 3)),  # nothing says how
    ],
)
def test_what_may_differ_is_compared(f):
    found = check(lambda x: [f(x)], X)
    assert "agreed" in str(names(found))
    assert all(getattr(e.primitive, "way", 0) == 0 for e in found.equations)


def test_another_way_is_told():
    """What is compared is another number where any part of it is another."""
    others = (
        lambda x: total(x) * 2.0,
        lambda x: total(x) * 3.0,
        lambda x: total(x) + 2.0,
        lambda x: total(x)[1:],
        lambda x: total(x)[:1],
        lambda x: PMax(AXIS, 2)(x) * 2.0,
        lambda x: total(fnp.sin(total(x))) * 2.0,
        lambda x: fnp.sum(total(x) * 2.0),
    )
    numbers = [ways(lambda x, f=f: agreed(f(x)), X) for f in others]
    assert len({n for (n,) in numbers}) == len(others)
    assert numbers == [ways(lambda x, f=f: agreed(f(x)), X) for f in others]


def test_ways_of_what_takes_the_place_of_sums():
    """A factor that another process has another of is told, where each computes for itself what one has alone."""

    def gradient(factor, other=1.0):
        def f(x, ct):
            y = total(x * other)  # of its own
            return total(Lone(AXIS, 2)(ct) * factor) * y

        return ways(f, X, 0.5)

    assert gradient(2.0) == gradient(2.0) == gradient(2.0, 3.0)
    assert gradient(2.0) != gradient(4.0)
    assert len(gradient(2.0)) == 1


def test_sums_stay_where_no_message_says_how():
    f = lambda x: [total(Lone(AXIS, 2)(fnp.sum(x)) / 2.0)]
    assert "p_sum" in names(overlapped(recorded(f, X)))


def test_messages_are_of_bounded_size(monkeypatch):
    monkeypatch.setattr(overlap, "BUCKET", 2 * X.nbytes)
    found = names(check(lambda x: [total(fnp.sin(x * k)) for k in range(1, 6)], X))
    assert [len(n) - 1 for n in found if n[0] == "start"] == [2, 2, 1]
    first = found.index(("start", "p_sum", "p_sum"))
    assert found[first:].count("sin") == 3  # which are computed meanwhile


def test_each_waits_for_what_it_needs():
    """A chain of sums, each of which reads the one before, with work beside it."""

    def f(x):
        y, beside = x, x
        for _ in range(5):
            y, beside = total(fnp.sin(y)), fnp.cos(beside)
        return [y, beside]

    found = names(check(f, X))
    assert found.count("p_sum") + found.count(("start", "p_sum")) == 5
    assert found.index(("start", "p_sum")) < found.index("cos")


def test_short_messages_are_waited_for_at_once(monkeypatch):
    monkeypatch.setattr(ranks, "ASIDE", 3 * X.nbytes)

    def f(x):
        y = [total(fnp.sin(x) * k) for k in range(1, 3)]
        return [*y, fnp.cos(x), total(y[0] * x)]

    found = names(check(f, X))
    assert found.count(("together", "p_sum", "p_sum")) == found.count("p_sum") == 1
    assert "start" not in str(found)


def test_gradients_are_begun_by_layers():
    """The last layer's is on its way while those before are computed."""
    ws = [np.eye(3) * k for k in range(1, 4)]

    def loss(*ws):
        h = np.ones((2, 3))
        for w in ws:
            h = fnp.tanh(h @ Spread(AXIS, 2)(w))
        return div(total(fnp.sum(h)), np.float64(2.0))

    def gradient(*ws):
        return list(fg.grad(loss, tuple(range(len(ws))))(*ws))

    for bucket, messages in ((1, 3), (1 << 20, 1)):
        before, overlap.BUCKET = overlap.BUCKET, bucket
        try:
            found = names(check(gradient, *ws))
        finally:
            overlap.BUCKET = before
        begun = [i for i, n in enumerate(found) if "total" in n and n[0] != "wait"]
        assert len(begun) == messages
        assert "spread" not in found
        last = len(found) - 1 - found[::-1].index("dot_general")
        assert sum(i < last for i in begun) == messages - 1


def test_a_sum_of_what_one_process_has_alone_needs_no_message():
    def f(x):
        seed = Lone(AXIS, 2)(fnp.sum(x))
        return [PSum(AXIS, 2)(div(seed, np.float64(2.0))), PMax(AXIS, 2)(x)]

    found = names(overlapped(recorded(f, X)))
    assert "lone" not in found
    assert "p_sum" not in str(found)
    assert "p_max" in str(found)


@pytest.mark.parametrize(
    "f",
    [
        lambda seed, x: [total(seed * seed)],
        lambda seed, x: [total(seed + 1.0)],
        lambda seed, x: [total(1.0 / seed)],
        lambda seed, x: [total(seed * x)],
        lambda seed, x: [total(seed + fnp.sum(x))],
        lambda seed, x: [total(seed * X)],  # which another process may have another of
        lambda seed, x: [PSum(Mirror("j"), 2)(seed)],
        lambda seed, x: [total(seed * total(x, Mirror("j")))],
    ],
)
def test_sums_of_what_is_not_alone_stay(f):
    found = overlapped(recorded(lambda x: f(Lone(AXIS, 2)(fnp.sum(x)), x), X))
    assert "p_sum" in names(found) or ("start", "p_sum") in names(found)


def run_apart(f, *xs):
    """Return the names of the equations of a program, and what they give."""
    found = overlapped(recorded(f, *xs))
    found.check()
    return names(found), Program(found)(*map(np.array, xs))


def test_sums_of_what_is_linear_in_what_one_has_alone_need_no_message():
    """As in the derivative of tensor parallel layers: the loss is a function of what has been summed."""

    def f(x, w, ct):
        y = total(x)
        seed = Lone(AXIS, 2)(ct)
        ct = y * fnp.broadcast_to(seed / 4.0, y.shape)
        ct = ct + -ct * 3.0
        return [total(fnp.reshape(ct, (2, 3))), total(ct + w)]

    w = np.cos(X)
    found, (once, with_w) = run_apart(f, X, w, 0.5)
    assert found.count(("start", "p_sum")) + found.count("p_sum") == 2  # of x, and of what each has
    ct = 2 * X * 0.125 * -2
    np.testing.assert_allclose(once, ct.reshape(2, 3))
    np.testing.assert_allclose(with_w, 2 * (ct + w))  # both are the first, in this test
    before = found.index("lone")
    assert "lone" not in found[before + 1 :]


def test_effects_stay_in_order():
    said = []

    def f(x):
        fg.debug.callback(lambda v: said.append("first"), total(x)[0], ordered=True)
        fg.debug.callback(lambda v: said.append("second"), x[0], ordered=True)
        return [fnp.sin(x)]

    program = Program(recorded(f, X), at_once=True)
    program(X)
    fg.effects_barrier()
    assert said == ["first", "second"]


def test_it_shows_in_the_schedule():
    jitted = fg.jit(lambda x: (total(fnp.sin(x)), total(fnp.cos(x)), fnp.exp(x)))
    text = str(jitted.lower(X).schedule)
    assert text.index("start[") < text.index("exp") < text.index("wait[")


def test_parts_broadcast_for_themselves():
    """Between parts there is nothing as large as what is broadcast, but what a message or the caller reads."""

    def f(x, y):
        z = fnp.broadcast_to(fnp.exp(y), (1000, 3))
        scaled = z * fnp.sum(total(x))  # where it is waited for
        return fnp.sum(scaled + 1), total(fnp.broadcast_to(y, (2, 3))), z

    xs = np.array([1.0, 2.0]), np.array([0.5, 0.25, 0.125])
    expr = overlapped(recorded(f, *xs))
    between = {v for s in _steps(expr) for v in s.outputs} - {*expr.outputs}
    shapes = {expr.types[v].shape for v in between}
    assert (1000, 3) not in shapes
    assert (2, 3) in shapes
    z = np.broadcast_to(np.exp(xs[1]), (1000, 3))
    ours = Program(recorded(f, *xs), at_once=True)(*xs)
    np.testing.assert_allclose(ours[0], np.sum(z * 6 + 1))
    np.testing.assert_array_equal(ours[1], np.broadcast_to(2 * xs[1], (2, 3)))
    np.testing.assert_array_equal(ours[2], z)
    assert ours[2].flags.writeable


def test_in_the_body_of_a_loop():
    def f(x):
        def body(c, _):
            y = total(fnp.sin(c))
            z = fnp.cos(fnp.exp(-c))
            return y * 0.1 + z, z

        return list(fg.lax.scan(body, x, length=3))

    expr = recorded(f, X)
    AXIS.log.clear()
    got = Program(expr, at_once=True)(X)
    assert AXIS.log == [("start", "p_sum"), ("wait", "p_sum")] * 3
    for a, b in zip(got, f(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-15)


def test_nothing_is_seen_to_where_nothing_is_left_to_compute():
    found = names(check(lambda x: [total(fnp.sin(x)) / 2.0, total(fnp.cos(x)) / 2.0], X))
    assert ("together", "p_sum", "p_sum") in found
    assert "start" not in str(found)


def test_what_nothing_else_reads_is_read_at_once():
    """A step down a gradient is taken with it, not when all others are there."""

    def f(w, x):
        ct = total(fnp.sum(fnp.tanh(x)) * x)
        g = fnp.outer(x, ct)
        return [w - g * 0.5, total(fnp.sin(ct)) * x]

    w = np.ones((X.size, X.size))
    found = names(check(f, w, X))
    assert found.index("subtract") < len(found) - 1 - found[::-1].index("p_sum")


def test_long_programs():
    """Time grows with the number of equations, not with its square."""

    def f(x):
        found = []
        for _ in range(6000):
            x = fnp.sin(x)
            found.append(total(x))
        return found

    expr = recorded(f, X)
    begun = time.perf_counter()
    found = overlapped(expr)
    assert time.perf_counter() - begun < 10
    assert sum(isinstance(e.primitive, Together) for e in found.equations) == 1
