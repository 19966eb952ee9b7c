"""Large arrays that NumPy's functions compute in blocks of rows, until there are kernels."""

import warnings

import numpy as np
import pytest
from hypothesis import given

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import bound, lower
from fungrad.compile.background import BACKGROUND
from fungrad.compile.budget import BUDGET
from fungrad.compile.emit.python import python_source
from fungrad.compile.loops import blocks
from fungrad.compile.loops.blocks import in_blocks
from fungrad.compile.pipeline import scheduled, simplify
from fungrad.compile.targets import host
from fungrad.core.config import compilation
from tests.compile.compiling import in_mode
from tests.compile.random_programs import assert_same, programs, reference

LARGE = 1 << 10
N = 1000
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, N))
ROWS = RNG.normal(size=(N, 7))
SMALL = RNG.normal(size=7)


@pytest.fixture
def made(monkeypatch):
    """What is computed in blocks meanwhile; arrays of a kilobyte are large."""
    found = []

    def noted(expr, large, much):
        found.append(in_blocks(expr, large, much))
        return found[-1]

    monkeypatch.setattr(lower, "LARGE", LARGE)
    monkeypatch.setattr(lower, "MUCH", 2 * LARGE)
    monkeypatch.setattr(blocks, "BYTES", LARGE)
    monkeypatch.setattr(blocks, "in_blocks", noted)
    return found


def once(function, args, mode):
    """Return what the first call gives, and the warnings of it."""
    token = compilation.set(mode)
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            results = fg.tree.leaves(fg.jit(lambda *a: function(*a))(*args))
        return results, [(w.category, str(w.message), w.lineno) for w in found]
    finally:
        compilation.reset(token)


def check(function, *args):
    """Check the first call against NumPy's functions of whole arrays: same bits, order in memory and warnings."""
    expected, complaints = once(function, args, "off")
    found, complaints_too = once(function, args, "background")
    assert complaints_too == complaints
    assert_same(found, expected)
    for x, y in zip(found, expected, strict=True):
        assert np.ndim(x) < 2 or x.strides == y.strides
    others = [x for x in fg.tree.leaves(args) if isinstance(x, np.ndarray)]
    own = [x for x in found if isinstance(x, np.ndarray)]
    for n, x in enumerate(own):
        assert x.flags.writeable
        assert not any(np.shares_memory(x, z) for z in [*own[:n], *others])


def gelu(x):
    return 0.5 * x * (1 + fnp.tanh(0.8 * (x + 0.04 * x**3)))


PROGRAMS = {
    "elements": (gelu, X),
    "a gradient": (lambda x: fg.grad(lambda x: fnp.sum(gelu(x)))(x), X),
    "several results": (lambda x, y: (x * y + 1, fnp.sin(x) * y, fnp.exp(x) - y), X, Y),
    "a sum of it all": (lambda x: fnp.sum(fnp.exp(x) * fnp.sin(x) + x), X),
    "results in between": (lambda x: fnp.cumsum(gelu(x)) * gelu(x) + 1, X),
    "rows": (lambda x, w: fnp.tanh(x * w + 1) * 2, ROWS, SMALL),
    "softmax": (lambda x: fg.numpy.exp(x - fnp.max(x, 1, keepdims=True)) / 3 * x, ROWS),
    "sums of rows": (lambda x: fnp.sqrt(fnp.sum(x * x, -1) + 1) * 2, ROWS),
    "rows and columns": (lambda x, y: fnp.sin(x * y[:, None]) + y[:, None] * 2, ROWS, X),
    "all pairs": (lambda x: fnp.mean(fnp.sqrt((x[:, None] - x) ** 2 + 1)), X[:150]),
    "dtypes": (lambda x: (fnp.where(x > 0, x, -x).astype("f4") * 2 > 1, x.astype(int) % 3 * 2), X),
    "complex": (lambda x, y: fnp.abs(fnp.exp(1j * x) * y + 2), X, Y),
    "even": (lambda x: fnp.sin(x) * 2 + x, X[:512]),
    "a prime number": (gelu, X[:997]),
    "strided": (lambda x, y: fnp.sin(x) * 2 + y, X[::2], Y[::-2]),
    "another loop": (
        lambda x: fg.lax.fori_loop(0, 3, lambda i, y: fnp.sin(y) * 2 + y * i, x) * 2 + gelu(x),
        X,
    ),
    "counted": (lambda x: fnp.arange(float(N)) * x + fnp.sin(x) * 2, X),
    "scalars": (lambda x, a: fnp.sin(x * a) * a + fnp.exp(a), X, 2.5),
}


@in_mode("background")
@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(made, name):
    check(*PROGRAMS[name])
    (expr,) = made
    assert expr is not None
    assert any(isinstance(e.primitive, blocks.Blocks) for e in expr.equations)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: fnp.sin(x) + 1, (X,)),  # hardly more than one call
        (gelu, (X[:100],)),
        (gelu, (RNG.normal(size=(2, 1000)),)),  # two long rows
        (lambda x: gelu(x.T), (ROWS,)),  # which is not to lie in C order
        (lambda x: fnp.flip(fnp.sort(x)), (X,)),
    ],
)
def test_what_is_left_alone(made, function, args, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST", 500)
    check(function, *args)
    assert made in ([], [None])


@pytest.mark.parametrize("function", [gelu, lambda x: x.T * 2 + gelu(x).T])
@pytest.mark.parametrize("x", [np.asfortranarray(ROWS), ROWS[:, ::-1], ROWS[::2], ROWS[::2, ::3]])
def test_results_lie_as_arguments_do(made, function, x):
    check(function, x)


def test_warnings_are_given_once(made):
    def f(x):
        return fnp.log(x) * 2 + x / 0.0

    check(f, np.linspace(-1.0, 1.0, N))
    assert made[0] is not None


@pytest.mark.usefixtures("made")
def test_warnings_may_be_errors():
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        once(lambda x: fnp.log(x) * 2 + x, (np.linspace(-1.0, 1.0, N),), "background")


def test_after_a_warning_arrays_are_whole(made):
    token = compilation.set("background")
    try:
        f = fg.jit(lambda x: fnp.log(x) * 2 + x * 3)
        with np.errstate(all="ignore"):
            expected = f(-X)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for _ in range(2):
                np.testing.assert_array_equal(f(-X), expected)
        assert len(found) == 2
    finally:
        compilation.reset(token)


def test_donated_arguments_are_taken_whole(made):
    token = compilation.set("background")
    try:
        (expected,), _ = once(gelu, (X,), "off")
        found = fg.jit(gelu, donate_argnums=0)(X.copy())
        np.testing.assert_array_equal(found, expected)
        assert not made
    finally:
        compilation.reset(token)


@pytest.mark.usefixtures("made")
def test_where_there_is_no_compiler_all_calls_are_in_blocks(monkeypatch):
    sizes = []

    def tanh(x, *out):
        sizes.append(x.size)
        return tanh.of_numpy(x, *out)

    tanh.of_numpy = np.tanh
    monkeypatch.setattr(host, "available", lambda: False)
    monkeypatch.setattr(BUDGET, "limited", False)
    token = compilation.set("background")
    try:
        f = fg.jit(gelu)
        expected = f(X)
        monkeypatch.setattr(np, "tanh", tanh)
        for _ in range(6):
            np.testing.assert_array_equal(f(X), expected)
            BACKGROUND.wait()
    finally:
        compilation.reset(token)
    assert sizes == 48 * [125]


def test_without_kernels_none_are_made(made):
    once(gelu, (X,), "off")
    assert not made


@given(programs())
def test_random_programs(drawn):
    expr, arguments, _ = drawn
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(blocks, "BYTES", 1)
        patch.setattr(blocks, "FEWEST", 1)
        found = in_blocks(simplify(expr), 1, 1)
        if found is None:
            return
        steps = scheduled(found).check()
        run = bound.run_source(python_source(steps), np)
        given = [np.array(x)[()] for x in arguments]
        assert_same(run(*given), reference(expr, arguments))
        assert_same(given, arguments)
