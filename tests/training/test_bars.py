"""Bars of progress: that loops compute what they do without one, and what is drawn."""

import functools
import io
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import debug, lax, random, training
from fungrad.training import bars

ROOT = Path(__file__).parents[2]
X = np.linspace(0.5, 1.5, 3)


class Fake:
    """What stands for tqdm: keeps what is drawn."""

    made = []

    def __init__(self, total=None, desc=None):
        self.total, self.desc, self.n, self.seen, self.closed = total, desc, 0, [], 0
        Fake.made.append(self)

    def update(self, n):
        assert not self.closed
        self.n += n
        self.seen.append(self.n)

    def close(self):
        self.closed += 1


@pytest.fixture
def drawn(monkeypatch):
    monkeypatch.setattr(bars, "_tqdm", lambda: Fake)
    Fake.made.clear()
    yield Fake.made
    assert all(bar.closed == 1 for bar in Fake.made)
    assert bars._open.get() == ()


def step(c, x):
    c = {"a": fnp.sin(c["a"]) + 0.1 * x[0], "n": c["n"] + 1}
    return c, (c["a"] * x[1], {"n": c["n"]})


def scanned(scan, n, reverse=False):
    xs = np.linspace(0, 1, n).astype("f4"), np.arange(n) % 3
    return lambda x: scan(step, {"a": x, "n": 0}, xs, reverse=reverse)


def looped(loop, n, lower=2):
    return lambda x: loop(lower, lower + n, lambda i, c: fnp.sin(c) + 0.01 * i, x)


TRANSFORMS = {
    "eager": lambda f: f,
    "jit": fg.jit,
    "vmap": lambda f: lambda x: fg.vmap(f)(x + X),
    "jit vmap": lambda f: lambda x: fg.jit(fg.vmap(f))(x + X),
    "vmap jit": lambda f: lambda x: fg.vmap(fg.jit(f))(x + X),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,)),
    "grad": lambda f: fg.grad(lambda x: sum(map(fnp.sum, floats(f(x))))),
    "jit grad": lambda f: fg.jit(fg.grad(lambda x: sum(map(fnp.sum, floats(f(x)))))),
    "vmap grad": lambda f: lambda x: fg.vmap(fg.grad(lambda x: sum(map(fnp.sum, floats(f(x))))))(x + X),
    "hessian": lambda f: fg.hessian(lambda x: sum(map(fnp.sum, floats(f(x))))),
    "vjp": lambda f: lambda x: fg.vjp(lambda x: floats(f(x)), x)[0],
    "disable_jit": lambda f: lambda x: off(f, x),
    "float32": lambda f: lambda x: f(np.float32(x)),
}  # fmt: skip


def floats(tree):
    return [x for x in fg.tree.leaves(tree) if np.dtype(x.dtype).kind == "f"]


def off(f, x):
    with fg.disable_jit():
        return f(x)


def same(a, b):
    assert fg.tree.structure(a) == fg.tree.structure(b)
    for x, y in zip(fg.tree.leaves(a), fg.tree.leaves(b), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if x.dtype == fg.float0:
            continue
        rtol = 1e-5 if x.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-14)


LOOPS = {
    "scan": lambda wrap, n: scanned(wrap(lax.scan), n),
    "reverse": lambda wrap, n: scanned(wrap(lax.scan), n, reverse=True),
    "fori_loop": lambda wrap, n: looped(wrap(lax.fori_loop), n),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize(
    ("n", "every", "seen"),
    [(12, 4, [4, 8, 12]), (11, 4, [7, 11]), (3, 5, [3]), (251, None, [*range(3, 252, 2)])],
    ids=["whole", "rest", "few", "usual"],
)
def test_loops(drawn, name, transform, n, every, seen):
    """The same results, one bar for each run, and the steps that it shows."""
    with_bar = transform(LOOPS[name](lambda f: training.progress(f, every=every, desc="d"), n))
    without = transform(LOOPS[name](lambda f: f, n))
    for _ in range(2):
        drawn.clear()
        same(with_bar(0.5), without(0.5))
        (bar,) = drawn
        assert (bar.total, bar.desc) == (n, "d")
        assert bar.seen == seen
        assert bar.closed == 1


def test_no_steps(drawn):
    for n in (0, -3):
        assert training.progress(lax.fori_loop)(0, n, lambda i, c: c + 1, 5) == 5
    c, ys = training.progress(lax.scan)(lambda c, x: (c + x, c), 0.0, np.zeros((0, 2)).sum(1))
    assert (c, ys.shape) == (0.0, (0,))
    assert drawn == []


def test_bounds_of_other_kinds(drawn):
    progress = training.progress
    for lower, upper in [(0.5, 3), (np.int32(1), 4), (-2, 2), (1, np.float32(3.5))]:
        for wrap in (lambda f: f, fg.jit):
            found, wanted = [
                wrap(functools.partial(f, lower, upper, lambda i, c: c * 2 + i))(1.0)
                for f in (progress(lax.fori_loop, every=2), lax.fori_loop)
            ]
            assert found == wanted


def test_an_index_does_not_widen(drawn):
    f = fg.jit(lambda x: training.progress(lax.fori_loop)(0, 5, lambda i, c: c + i, x))
    assert f(np.float32(1)).dtype == np.float32


def test_other_carries(drawn):
    """Keys, None, and Python's numbers."""
    keys = random.split(random.key(0), 10)

    def draw(c, key):
        return c, (random.uniform(key), key, None)

    _, (u, k, none) = training.progress(lax.scan, every=3)(draw, (None, 1), keys)
    np.testing.assert_array_equal(u, fg.vmap(random.uniform)(keys))
    assert (k == keys).all()
    assert none is None


def test_what_the_body_closes_over_is_differentiated(drawn):
    def f(scan, w):
        return scan(lambda c, _: (fnp.tanh(w * c), None), 0.5, length=20)[0]

    bar = training.progress(lax.scan, every=4)
    for wrap in (lambda f: f, fg.jit):
        same(wrap(fg.grad(lambda w: f(bar, w)))(1.3), fg.grad(lambda w: f(lax.scan, w))(1.3))
    for shown in drawn:
        assert shown.seen[-1] == 20
        assert max(shown.seen) == 20


def test_a_body_that_looks_at_values(drawn):
    def body(i, c):
        return c // 2 if c % 2 == 0 else 3 * c + 1

    assert training.progress(lax.fori_loop, every=10)(0, 111, body, 27) == 1


def test_loops_within_loops(drawn):
    def inner(c, x):
        return training.progress(lax.fori_loop, desc="inner", every=2)(
            0, 4, lambda i, c: c + i * x, c
        ), None

    def outer(x):
        return training.progress(lax.scan, desc="outer", every=1)(inner, x, np.arange(3.0))[0]

    for f in (outer, fg.jit(outer)):
        drawn.clear()
        assert f(1.0) == 19.0
        assert [bar.desc for bar in drawn] == ["outer", "inner", "inner", "inner"]
        assert drawn[0].seen == [1, 2, 3]
        assert all(bar.seen == [2, 4] for bar in drawn[1:])


def test_effects_of_the_body_happen_once(drawn):
    seen = []

    def body(i, c):
        debug.callback(lambda i: seen.append(int(i)), i)
        return c * 1.1

    f = lambda x: training.progress(lax.fori_loop, every=3)(0, 7, body, x)
    for g in (f, fg.jit(f), fg.grad(f), fg.jit(fg.grad(f))):
        seen.clear()
        g(1.0)
        assert seen == list(range(7))


def test_a_branch_that_some_elements_take(drawn):
    def f(x):
        loop = lambda x: training.progress(lax.fori_loop, every=2)(0, 4, lambda i, c: c + i, x)
        return lax.cond(x > 0, loop, lambda x: x, x)

    np.testing.assert_array_equal(fg.vmap(f)(np.array([-1.0, 1.0, 2.0])), [-1.0, 7.0, 8.0])
    assert drawn
    assert all(bar.seen == [2, 4] for bar in drawn)


class Broken(Exception):
    pass


def failing(at):
    def check(i):
        if i == at:
            raise Broken

    def body(i, c):
        debug.callback(check, i)
        return c + 1

    return lambda x: training.progress(lax.fori_loop, every=2)(0, 10, body, x)


@pytest.mark.parametrize("at", [0, 5, 9])
@pytest.mark.parametrize("name", ["eager", "jit", "vmap", "vmap jit", "grad", "jit grad", "jvp"])
def test_a_bar_is_closed_where_the_loop_raises(drawn, name, at):
    f = TRANSFORMS[name](lambda x: fnp.asarray(failing(at)(x)))
    for _ in range(3):
        drawn.clear()
        with pytest.raises(Broken):
            f(1.0)
        assert [bar.closed for bar in drawn] == [1]
        assert bars._open.get() == ()


def test_a_bar_outside_stays_open_where_a_loop_within_raises(drawn):
    def body(i, c):
        with pytest.raises(Broken):
            failing(3)(c)
        return c + 1

    assert training.progress(lax.fori_loop, every=1, desc="outer")(0, 3, body, 0.0) == 3
    outer, *inner = drawn
    assert outer.seen == [1, 2, 3]
    assert [bar.seen for bar in inner] == [[2]] * 3


def test_an_interrupt_closes_the_bar(drawn):
    def interrupt(i):
        if i == 5:
            raise KeyboardInterrupt

    def body(i, c):
        debug.callback(interrupt, i)
        return c + 1

    for wrap in (lambda f: f, fg.jit):
        with pytest.raises(KeyboardInterrupt):
            wrap(lambda x: training.progress(lax.fori_loop)(0, 10, body, x))(1.0)
        assert bars._open.get() == ()


def test_threads_have_bars_of_their_own(drawn):
    f = fg.jit(looped(training.progress(lax.fori_loop, every=1), 50))
    wanted = f(0.5)
    found = []
    threads = [threading.Thread(target=lambda: found.append(f(0.5))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 8
    assert len(drawn) == 9
    assert all(bar.seen == list(range(1, 51)) for bar in drawn)


def test_a_program_with_a_bar_is_traced_once(drawn):
    traced = []

    def f(x):
        traced.append(x)
        return training.progress(lax.scan, every=2)(lambda c, _: (c + 1, None), x, length=6)[0]

    g = fg.jit(f)
    assert [g(1.0), g(2.0)] == [7.0, 8.0]
    assert len(traced) == 1
    assert len(drawn) == 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: p(lax.while_loop), TypeError, "a while_loop has no known length"),
        (lambda p: p(np.sin), TypeError, "takes lax.scan, lax.fori_loop or an iterable"),
        (lambda p: p(lax.scan, every=0), ValueError, "every must be at least 1, got 0"),
        (lambda p: p(lax.scan, every=1.5), TypeError, "integer"),
        (lambda p: p([1], every=2), TypeError, "for an iterable give tqdm's miniters"),
        (
            lambda p: fg.jit(lambda n: p(lax.fori_loop)(0, n, lambda i, c: c, 1.0))(3),
            TypeError,
            "the bounds are traced",
        ),
        (lambda p: p(lax.scan)(step, 1.0), ValueError, "give the length"),
        (lambda p: p(lax.scan)(step, 1.0, np.zeros(3), 4), ValueError, "must have one length"),
        (lambda p: p(lax.scan)(step, 1.0, 3.0), ValueError, "goes over axis 0 of xs"),
        (lambda p: p(lax.scan)(lambda c, x: c, 1.0, np.ones(3)), TypeError, "must return a pair"),
    ],
)
def test_errors(drawn, call, error, message):
    with pytest.raises(error, match=message):
        call(training.progress)


def test_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    for loop in (lax.scan, [1, 2]):
        with pytest.raises(ImportError, match=r"pip install 'fungrad\[progress\]'"):
            training.progress(loop)


def test_tqdm_itself():
    """With the real one: lines that end in 100 %."""
    pytest.importorskip("tqdm")
    for f in (
        looped(training.progress(lax.fori_loop, file=(out := io.StringIO()), desc="loop"), 30),
        fg.jit(scanned(training.progress(lax.scan, file=out, desc="loop"), 30)),
    ):
        out.seek(0)
        out.truncate()
        f(0.5)
        last = out.getvalue().split("\r")[-1]
        assert last.startswith("loop: 100%|")
        assert "30/30" in last
        assert last.endswith("\n")
    quiet = io.StringIO()
    assert list(training.progress(range(3), file=quiet, total=3)) == [0, 1, 2]
    assert "3/3" in quiet.getvalue()
    looped(training.progress(lax.fori_loop, file=quiet, disable=True), 30)(0.5)
    batches = training.progress(training.minibatches(np.arange(6), 2), file=quiet)
    assert batches.total == 3
    assert len(list(batches)) == 3


def test_tqdm_is_not_imported_before_it_is_needed():
    program = "import sys; from fungrad import training; training.minibatches; training.save; print('tqdm' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == "False\n"
