"""Long programs in pieces: the results, memory, errors and source of one function, whatever the length of a piece."""

import tracemalloc

import hypothesis
import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.bound import run_source
from fungrad.compile.emit import pieces
from fungrad.compile.emit.pieces import Line, Listing, cut, hand_on, lay_out
from fungrad.compile.emit.python import python_lines, python_source
from fungrad.compile.lines import NAME
from fungrad.compile.lower import Program
from fungrad.compile.pipeline import scheduled, simplify
from fungrad.core.evaluate import evaluate
from fungrad.core.trace import record_expr
from fungrad.core.types import type_of
from fungrad.primitives.elementwise import add, mul, neg, sin
from fungrad.primitives.indexing import UpdateSlice
from tests.compile.random_programs import assert_same, programs

LENGTHS = [1, 2, 3, 7]
X = np.linspace(0.0, 1.0, 4)


@pytest.fixture
def short(monkeypatch):
    """Pieces of three lines."""
    monkeypatch.setattr(pieces, "PIECE", 3)


def executed(text, bindings):
    """Return the function ``program`` of a text, as a user who copied it would run it."""
    names = {"np": np, **bindings}
    exec(text, names)
    return names["program"]


@hypothesis.settings(max_examples=150)
@hypothesis.given(programs(20))
def test_random_programs_in_pieces_are_those_of_one_function(case):
    expr, arguments, donated = case
    expr = simplify(expr)
    expected = evaluate(expr, [np.array(x)[()] for x in arguments])
    for length in LENGTHS:
        source = python_source(scheduled(expr, donated), length)
        for function in (run_source(source, np), executed(source.text, source.bindings)):
            given = [np.array(x)[()] for x in arguments]
            results = function(*given)
            assert_same(results, expected)
            arrays = [x for x in results if isinstance(x, np.ndarray)]
            kept = [x for i, x in enumerate(given) if i not in donated]
            for k, x in enumerate(arrays):
                others = [*kept, *expr.constants.values(), *arrays[:k]]
                assert not any(np.shares_memory(x, y) for y in others)
            for i, (x, y) in enumerate(zip(given, arguments, strict=True)):
                assert i in donated or np.array_equal(x, y, equal_nan=True)


@hypothesis.settings(max_examples=100)
@hypothesis.given(programs(20))
def test_pieces_hold_the_lines_of_one_function_in_order(case):
    expr, _, donated = case
    listing = python_lines(scheduled(expr, donated))
    (whole,) = lay_out(listing, 10**6)
    for length in LENGTHS:
        *parts, driver = lay_out(listing, length)
        lines = [x for f in parts or [driver] for x in f.text.splitlines()[1:]]
        assert [x for x in lines if "_handed" not in x] == whole.text.splitlines()[1:]
        assert all(f.text.count("\n") == len(f.origins) for f in parts)


@hypothesis.settings(max_examples=100)
@hypothesis.given(programs(20))
def test_lines_mention_only_what_is_set_and_not_deleted(case):
    expr, _, donated = case
    listing = python_lines(scheduled(expr, donated))
    alive = set(listing.parameters)
    for text, _, reads, writes in listing.body:
        assert alive.issuperset(reads)
        alive.update(writes)
        if text.startswith("del "):
            alive.difference_update(reads)
    assert alive.issuperset(listing.read)


def test_what_is_shown_of_a_long_program(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 4)

    def f(x, y):
        z = fnp.sin(x)
        u = fnp.cos(y)
        for _ in range(2):
            z = z * u
        return z + u

    g = fg.jit(f)
    assert g.source(X, X) == (
        "def _piece0(_handed):\n"
        "    a, b = _handed.pop(0)\n"
        "    c = np.sin(a)\n"
        "    d = np.cos(b)\n"
        "    c = np.multiply(c, d, c)\n"
        "    _handed[1] += c, d\n"
        "\n\n"
        "def _piece1(_handed):\n"
        "    c, d = _handed.pop(1)\n"
        "    c = np.multiply(c, d, c)\n"
        "    c = np.add(c, d, c)\n"
        "    del d\n"
        "    return [c]\n"
        "\n\n"
        "def program(a, b):\n"
        "    _handed = {0: [a, b], 1: []}\n"
        "    _piece0(_handed)\n"
        "    return _piece1(_handed)\n"
    )
    np.testing.assert_array_equal(g(X, X), f(X, X))


def test_what_is_shown_is_what_runs(short, as_written):
    def f(x):
        for i in range(20):
            x = fnp.sin(x) + i
        return x, x * 2

    g = fg.jit(f)
    results = executed(g.source(X), {})(X)
    for found, expected in zip(results, g(X), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_program_of_one_piece_is_one_function():
    f = fg.jit(lambda x: fnp.sin(x) * 2)
    assert f.source(X) == (
        "def program(a):\n    b = np.sin(a)\n    b = np.multiply(b, 2.0, b)\n    return [b]\n"
    )


def test_elements_are_updated_in_place_across_borders(short):
    @fg.as_written
    def f(x):
        total = fnp.zeros(100)
        for i in range(10):
            total = fg.at(total)[i].add(x * i)
        return total

    g = fg.jit(f)
    source = g.source(2.0)
    assert source.count("+= ") >= 10
    assert ".copy()" not in source
    assert source.count("np.zeros") + source.count("np.full") + source.count("broadcast") <= 1
    np.testing.assert_array_equal(g(2.0), f(2.0))


def test_donated_memory_is_used_across_borders(short):
    def f(x, y):
        for _ in range(5):
            x = x * y
            y = fnp.cos(y)
        return x

    x, y = np.full(4, 0.5), X.copy()
    expected = f(x, y)
    found = fg.jit(f, donate_argnums=0)(x, y)
    assert np.shares_memory(found, x)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(y, X)


def test_a_view_made_in_one_piece_keeps_its_array_from_being_overwritten_in_another():
    def f(x):
        y = neg(x)
        view = fnp.reshape(y, (2, 2))
        for _ in range(4):
            x = sin(x)
        return [mul(y, x), add(view, view)]

    expr = simplify(record_expr("f", f, [type_of(X)]))
    expected = evaluate(expr, [X])
    for length in LENGTHS:
        found = run_source(python_source(scheduled(expr), length), np)(X)
        assert_same(found, expected)


def test_arrays_are_freed_where_they_are_read_last(monkeypatch):
    size = 1 << 16

    def chain(x):
        for i in range(30):
            x = fnp.sort(x) + i  # not in place: each needs a new array
        return x

    def peak(length):
        monkeypatch.setattr(pieces, "PIECE", length)
        f = fg.jit(chain)
        x = np.ones(size)
        f(x)
        tracemalloc.start()
        f(x)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most / x.nbytes

    whole = peak(1000)
    for length in LENGTHS:
        assert peak(length) < whole + 0.1


@pytest.mark.parametrize("length", LENGTHS)
def test_errors_name_the_line_in_every_piece(monkeypatch, length):
    monkeypatch.setattr(pieces, "PIECE", length)

    def f(x, i, j):
        y = fnp.sin(x)
        y = y + x[i]  # the first
        for _ in range(5):
            y = fnp.cos(y)
        return y + x[j]  # the second

    g = fg.jit(f)
    good, bad = np.array([0]), np.array([9])
    np.testing.assert_array_equal(g(X, good, good), f(X, good, good))
    for arguments, line in (((X, bad, good), "the first"), ((X, good, bad), "the second")):
        with pytest.raises(IndexError) as error:
            g(*arguments)
        (note,) = error.value.__notes__
        assert note.startswith("raised by `gather")
        assert line in note


def test_tracebacks_show_the_user_s_lines(short):
    def f(x, i):
        for _ in range(5):
            x = fnp.sin(x)
        return x[i]

    g = fg.jit(f)
    with pytest.raises(IndexError) as error:
        g(X, np.array([9]))
    tb, found = error.value.__traceback__, []
    while tb is not None:
        if tb.tb_frame.f_code.co_name == NAME:
            found.append((tb.tb_frame.f_code.co_filename, tb.tb_lineno))
        tb = tb.tb_next
    assert found == [(__file__, f.__code__.co_firstlineno + 3)]


def test_loops_with_a_long_body(short):
    def step(c, x):
        for _ in range(5):
            c = fnp.sin(c) * x
        return c, c.sum()

    def f(c, xs):
        return fg.lax.scan(step, c, xs)

    xs = np.arange(12.0).reshape(3, 4)
    c, expected = X, []
    for x in xs:
        c, y = step(c, x)
        expected.append(y)
    last, sums = fg.jit(f)(X, xs)
    np.testing.assert_array_equal(last, c)
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_allclose(
        fg.grad(lambda c: f(c, xs)[1].sum())(X),
        fg.jacfwd(lambda c: f(c, xs)[1].sum())(X),
        rtol=1e-12,
    )


@pytest.mark.parametrize("transform", [fg.grad, fg.value_and_grad, fg.hessian, fg.jacfwd])
def test_transforms_of_programs_in_pieces(monkeypatch, transform):
    def f(x):
        u = fnp.zeros(4)
        for i in range(4):
            u = fg.at(u)[i].set(fnp.sin(x[i] * u[i - 1] + 1.0))
        return (u * x).sum()

    whole = transform(f)
    expected = fg.jit(whole)(X)
    monkeypatch.setattr(pieces, "PIECE", 4)
    for _ in range(3):  # evaluated, compiled, run again
        found = transform(lambda x: f(x))(X)
    jitted = fg.jit(lambda x: transform(f)(x))
    assert "_piece1" in jitted.source(X)
    for x, y, z in zip(
        fg.tree.leaves(found), fg.tree.leaves(expected), fg.tree.leaves(jitted(X)), strict=True
    ):
        np.testing.assert_array_equal(z, y)
        np.testing.assert_allclose(x, y, rtol=1e-14)


# The cut itself


def lines(count):
    return [Line(f"x{i} = 0", ("made", None), (), (f"x{i}",)) for i in range(count)]


def test_a_cut_leaves_pieces_of_about_the_same_length():
    for count in range(1, 40):
        for length in (1, 2, 3, 7):
            found = cut(lines(count), length)
            assert [x for piece in found for x in piece] == lines(count)
            sizes = [len(piece) for piece in found]
            assert len(found) == -(-count // length)
            assert max(sizes) <= length
            assert max(sizes) - min(sizes) <= 1


def test_deletions_stay_with_the_line_before():
    made = [Line("a = 0", None, (), ("a",)), *[Line("del a", None, ("a",))] * 9, *lines(2)]
    for length in range(1, 5):
        for piece in cut(made, length)[1:]:
            assert not piece[0].text.startswith("del")


def test_a_name_goes_to_the_next_piece_that_mentions_it():
    a = Line("b = f(a)", None, ("a",), ("b",))
    b = Line("c = f(b)", None, ("b",), ("c",))
    c = Line("return [a, c]", None, ("a", "c"))
    assert hand_on(["a", "unused"], [[a], [b], [c]]) == [
        {0: ["a"]},
        {2: ["a"], 1: ["b"]},
        {2: ["c"]},
        {},
    ]


def test_pieces_that_need_nothing_take_nothing():
    listing = Listing((), lines(4), ("x0", "x3"), ("x0", "x3"), {})
    functions = lay_out(listing, 1)
    text = "\n\n".join(f.text for f in functions)
    assert executed(text, {})() == [0, 0]
    assert "_handed.pop(1)" not in text


def test_in_place_updates_mention_what_they_change():
    def f(u, x):
        return [UpdateSlice((1,), (2,), (1,), "add")(neg(u), x)]

    expr = record_expr("f", f, [type_of(X), type_of(X[:1])])
    listing = python_lines(scheduled(expr))
    (update,) = [line for line in listing.body if "+=" in line.text]
    assert len(update.reads) == 2
    expected = Program(expr).compiled()(X, X[2:3])
    assert_same(run_source(python_source(scheduled(expr), 1), np)(X, X[2:3]), expected)
