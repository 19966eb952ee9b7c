"""What loops and branches say to mistakes, and what they do at the edges."""

import re

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core.config import setting

XS = np.arange(6.0).reshape(3, 2)


def raises(error, message):
    return pytest.raises(error, match=re.escape(message))


def both(f):
    """Call `f` with arrays and with tracers."""
    return [lambda: f(XS), lambda: fg.jit(f)(XS)]


@pytest.mark.parametrize("traced", [False, True])
def test_carry_of_another_dtype(traced):
    def step(c, x):
        return {"n": c["n"] + 0.5, "x": c["x"]}, None

    def f(xs):
        return lax.scan(step, {"n": np.zeros(2, int), "x": xs[0]}, xs)

    with pytest.raises(TypeError) as caught:
        both(f)[traced]()
    message = str(caught.value)
    assert "test_control_errors.py" in message
    assert "scan(step): the carry must keep its structure, shapes and dtypes" in message
    table = [line.split() for line in message.splitlines() if line.startswith("  ")]
    assert table == [
        ["takes", "returns"],
        ["['n']", "int64[2]", "float64[2]", "<-", "differ"],
        ["['x']", "float64[2]", "float64[2]"],
    ]
    assert "write 0.0 instead of 0" in message


@pytest.mark.parametrize("traced", [False, True])
def test_carry_of_another_shape_or_structure(traced):
    def longer(xs):
        return lax.scan(lambda c, x: (fnp.concatenate([c, c]), None), xs[0], xs)

    with pytest.raises(TypeError, match=r"result +float64\[2\] +float64\[4\] +<- differ"):
        both(longer)[traced]()

    def another(xs):
        return lax.scan(lambda c, x: ((c, c), None), xs[0], xs)

    with pytest.raises(TypeError, match=r"\[1\] +nothing +float64\[2\] +<- differ"):
        both(another)[traced]()

    def listed(xs):
        return lax.scan(lambda c, x: ([c[0]], None), (xs[0],), xs)

    with pytest.raises(TypeError, match=r"structures: .*\(\*,\)\) and .*\[\*\]"):
        both(listed)[traced]()


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (
            lambda xs: lax.scan(lambda c, x: c, 0.0, xs),
            TypeError,
            "scan(<lambda>): the function must return a pair (carry, y)",
        ),
        (
            lambda xs: lax.scan(lambda c, x: (c, x), 0.0),
            ValueError,
            "xs holds no arrays to go over: give the length",
        ),
        (
            lambda xs: lax.scan(lambda c, x: (c, x), 0.0, (xs, xs[:2])),
            ValueError,
            "xs must have one length along axis 0, got\n  xs[0]: float64[3,2]\n  xs[1]: float64[2,2]",
        ),
        (
            lambda xs: lax.scan(lambda c, x: (c, x), 0.0, xs, length=4),
            ValueError,
            "  length: 4",
        ),
        (
            lambda xs: lax.scan(lambda c, x: (c, x), 0.0, {"a": xs[0, 0]}),
            ValueError,
            "xs['a'] is a scalar of type float64[]",
        ),
        (
            lambda xs: lax.scan(lambda c, x: (c, x), 0.0, length=xs.sum()),
            TypeError,
            "length must be a Python integer",
        ),
        (lambda xs: lax.scan(0, 0.0, xs), TypeError, "scan takes a function, not 0"),
        (
            lambda xs: lax.map(lambda x: x, xs, batch_size=-1),
            ValueError,
            "batch_size must be a positive integer, got -1",
        ),
        (lambda xs: lax.map(lambda x: x, xs, batch_size="a"), ValueError, "got 'a'"),
        (lambda xs: lax.map(lambda x: x, None), ValueError, "map(<lambda>): xs holds no arrays"),
        (
            lambda xs: lax.scan(lambda c, x: (c, x), 0.0, length=-1),
            ValueError,
            "length must not be negative, got -1",
        ),
        (
            lambda xs: lax.scan(lambda c, x: (c, x), 0.0, xs, unroll=-1),
            ValueError,
            "unroll must be a bool or a positive integer, got -1",
        ),
        (
            lambda xs: lax.cond(None, abs, abs, 1.0),
            TypeError,
            "cond: pred must be a scalar, got None",
        ),
        (
            lambda xs: lax.fori_loop(None, 3, lambda i, c: c, xs),
            TypeError,
            "fori_loop(<lambda>): lower: None of type NoneType is not an array",
        ),
        (
            lambda xs: lax.while_loop(lambda c: c, lambda c: c - 1, xs[0]),
            TypeError,
            "while_loop(<lambda>): cond_fun must return a boolean scalar, got float64[2]",
        ),
        (
            lambda xs: lax.while_loop(lambda c: c > 0, lambda c: (c, c), xs[0, 1]),
            TypeError,
            "[1]     nothing",
        ),
        (
            lambda xs: lax.fori_loop(0.5j, 3, lambda i, c: c, xs),
            TypeError,
            "fori_loop(<lambda>): lower must be an integer or a real number, got complex128[]",
        ),
        (
            lambda xs: lax.fori_loop(0, 3, lambda i, c: c[:1], xs),
            TypeError,
            "result  float64[3,2]  float64[1,2]   <- differ",
        ),
        (
            lambda xs: lax.cond(xs > 0, abs, abs, 1.0),
            TypeError,
            "cond: pred must be a scalar, got bool[3,2]. For a choice by element, use fungrad.numpy.where",
        ),
        (
            lambda xs: lax.cond(xs[0, 0] > 0, abs, abs, 1.0, operand=1.0),
            TypeError,
            "give operands by position or as operand=, not both",
        ),
        (
            lambda xs: lax.cond(True, 1, abs, xs),
            TypeError,
            "cond: true_fun takes a function, not 1",
        ),
        (
            lambda xs: lax.switch(xs[0, 0], [abs, abs], 1.0),
            TypeError,
            "switch: index must be an integer, got float64[]",
        ),
        (lambda xs: lax.switch(0, []), ValueError, "switch: branches is empty"),
    ],
)
def test_mistakes(f, error, message, traced):
    f = both(f)[traced]
    with raises(error, message):
        f()


def test_branches_that_differ():
    f = fg.jit(lambda x: lax.cond(x > 0, lambda x: (x, 1), lambda x: (x, fnp.ones(3)), x))
    with pytest.raises(TypeError) as caught:
        f(1.0)
    message = str(caught.value)
    assert "cond: the functions must return the same structure, shapes and dtypes" in message
    assert re.search(r"\[1\] +int64\[\] +float64\[3\] +<- differ", message)
    with pytest.raises(
        TypeError, match=r"branches\[0\] +branches\[2\]\n +result +float64\[\] +float64\[3,2\]"
    ):
        fg.jit(lambda i: lax.switch(i, [lambda: 1.0, lambda: 2.0, lambda: XS]))(1)


def test_a_branch_may_return_a_python_number():
    f = fg.jit(lambda x: lax.cond(x > 0, lambda: x, lambda: 0))
    assert f(np.float32(2)).dtype == np.float32
    assert f(np.float32(-2)) == 0


def test_carries_that_start_as_python_numbers():
    xs = np.ones(3, np.float32)
    for run in (lambda f: f(xs), lambda f: fg.jit(f)(xs)):
        total, sums = run(lambda xs: lax.scan(lambda c, x: (c + x, c), 0, xs))
        assert total.dtype == sums.dtype == np.float32
        assert (
            run(lambda xs: lax.fori_loop(0, 3, lambda i, c: c + i * xs[0], 0.0)).dtype == np.float32
        )
        count = run(lambda xs: lax.while_loop(lambda c: c < 3, lambda c: c + xs[0], 0))
        assert count.dtype == np.float32


@pytest.mark.parametrize(
    "run",
    [
        lambda f: fg.jit(fg.grad(f)),
        lambda f: fg.grad(fg.jit(f)),
        lambda f: lambda x: fg.vmap(fg.grad(f))(np.stack([x, x])),
    ],
)
def test_reverse_mode_of_while(run):
    def f(x):
        return lax.while_loop(lambda x: x < 10, lambda x: x * x, x)

    with pytest.raises(fg.MissingRuleError) as caught:
        run(f)(2.0)
    message = str(caught.value)
    assert "test_control_errors.py" in message
    assert "backward pass" in message
    for alternative in ("scan", "fori_loop with bounds", "custom_root", "jvp", "without jit"):
        assert alternative in message
    assert fg.grad(f)(2.0) == 32  # where values are known Python runs the loop
    assert fg.jit(lambda x: fg.jvp(f, (x,), (1.0,)))(2.0)[1] == 32


def test_values_in_a_loop():
    """The body may look at values where they are known: un-jitted, and under grad."""

    def collatz(c, _):
        return (c // 2 if c % 2 == 0 else 3 * c + 1), c

    last, seen = lax.scan(collatz, 6, length=5)
    assert (int(last), seen.tolist()) == (8, [6, 3, 10, 5, 16])

    def leaky(w, xs):
        def step(c, x):
            return (c + w * x if x > 0 else c - x), None

        return lax.scan(step, 0.0, xs)[0]

    assert fg.grad(leaky)(2.0, np.array([1.0, -1.0, 3.0])) == 4
    assert fg.jit(leaky)(2.0, np.array([1.0, -1.0, 3.0])) == leaky(2.0, np.array([1.0, -1.0, 3.0]))
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match=r"scan\(step\)"):
        fg.jit(leaky)(2.0, np.array([1.0]))


def test_arrays_in_a_loop_are_read_only():
    def step(c, x):
        c += x
        return c, None

    start = np.zeros(2)
    with pytest.raises(ValueError, match="read-only") as caught:
        lax.scan(step, start, XS)
    assert "write c = c + x" in caught.value.__notes__[0]
    assert not start.any()


def test_traced_carries_are_arguments_too():
    """Also where the loop is unrolled because its body looks at values."""

    def step(c, x):
        if x > 0:
            c[0] = x
        return c, c

    with pytest.raises(TypeError, match=r"an argument of .* is changed in place"):
        fg.grad(lambda c: lax.scan(step, c, np.ones(3))[1].sum())(np.zeros(2))

    def copying(c, x):
        c = c.copy()
        if x > 0:
            c[0] = c[0] * x
        return c, c

    def changed(c):
        last, _ = lax.scan(copying, c, np.ones(2))
        last[1] = 2 * c[0]
        return last.sum()

    np.testing.assert_array_equal(fg.grad(changed)(np.ones(2)), [3, 0])
    gradient = fg.grad(lambda c: lax.scan(copying, c, np.array([2.0, -1.0, 3.0]))[1].sum())(
        np.ones(2)
    )
    np.testing.assert_array_equal(gradient, [2 + 2 + 6, 3])


def test_results_share_no_memory():
    start = np.zeros(2)
    for f in (
        lambda c: lax.scan(lambda c, x: (c, None), c, XS)[0],
        lambda c: lax.while_loop(lambda c: c[0] > 0, lambda c: c, c),
        lambda c: lax.fori_loop(0, 0, lambda i, c: c, c),
    ):
        for g in (f, fg.jit(f)):
            found = g(start)
            assert not np.shares_memory(found, start)
            assert found.flags.writeable


@pytest.mark.parametrize("jit", [False, True])
def test_no_steps(jit):
    run = fg.jit if jit else lambda f: f
    last, ys = run(lambda xs: lax.scan(lambda c, x: (c + x.sum(), {"y": x[:1] * c}), 1.0, xs))(
        XS[:0]
    )
    assert last == 1
    assert ys["y"].shape == (0, 1)
    assert fg.grad(lambda c: lax.scan(lambda c, x: (c * x.sum(), None), c, XS[:0])[0])(1.0) == 1
    assert run(lambda xs: lax.map(lambda x: x.sum(), xs))(XS[:0]).shape == (0,)
    assert run(lambda x: lax.fori_loop(3, 1, lambda i, c: c * 2, x))(5.0) == 5
    np.testing.assert_array_equal(
        fg.jit(lambda xs: lax.map(lambda x: x * 2, xs, batch_size=2))(XS), 2 * XS
    )


def test_a_leaked_tracer_names_the_loop():
    kept = []

    def step(c, x):
        kept.append(c)
        return c + x, None

    fg.jit(lambda xs: lax.scan(step, 0.0, xs[0]))(XS)
    with pytest.raises(fg.LeakedTracerError, match=r"after `scan\(step\)` has\s+returned"):
        kept[0] + 1


def test_loops_are_one_equation_under_jit():
    expr = fg.make_expr(lambda xs: lax.scan(lambda c, x: (c + x, c), 0.0, xs[:, 0]))(XS)
    assert [e.primitive.name for e in expr.equations].count("scan") == 1
    assert len(expr.equations) < 5


def test_a_million_steps_take_no_stack():
    n = 200_000
    total = fg.jit(lambda x: lax.fori_loop(0, n, lambda i, c: c + x, 0.0))
    assert abs(total(0.5) - n / 2) < 1e-6
    assert abs(fg.grad(total)(0.5) - n) < 1e-6


def test_a_later_call_finds_its_program():
    from fungrad.transforms.call import programs

    def loss(w):
        return lax.scan(lambda c, x: (fnp.tanh(c * w + x), None), w, XS)[0].sum()

    for x in XS[:2]:  # run step by step at first, then compiled
        fg.grad(loss)(x)
    misses = programs.misses
    fg.grad(loss)(XS[2])
    assert programs.misses == misses


def test_errors_in_a_body_name_its_line():
    def step(c, x):
        return fnp.linalg.cholesky(c - 10 * x * fnp.eye(2)), None

    with pytest.raises(np.linalg.LinAlgError) as caught:
        fg.jit(lambda c: lax.scan(step, c, np.ones(2)))(np.eye(2))
    assert "return fnp.linalg.cholesky" in "".join(caught.value.__notes__)


def test_copies_made_inside_can_be_changed():
    """Also those of arrays of an enclosing function, which are computed outside."""

    def filled(x, b):
        y = fnp.array(x)
        y[0] = b
        z = x * 2
        z[1:][0] += b
        z[:1] = y[:1]
        return y.sum() + (z * x).sum()

    def loss(x):
        return lax.scan(lambda c, b: (c + filled(x, b), None), x[0], x)[0]

    def by_hand(x):
        c = x[0]
        for b in x:
            c = c + filled(x, b)
        return c

    x = np.array([0.5, 2.0, -1.0])
    for transform in (lambda f: f, fg.jit, fg.grad, lambda f: fg.jit(fg.grad(f))):
        np.testing.assert_allclose(transform(loss)(x), transform(by_hand)(x))

    def outside(x):
        y = x * 1

        def step(c, b):
            y[0] = b
            return c, None

        return lax.scan(step, 0.0, x)[0]

    with pytest.raises(TypeError, match="make the array inside, or return the new one"):
        fg.jit(outside)(x)


def test_at_in_loops_of_plain_arrays():
    """NumPy's arrays have no ``at``, so such a body is traced."""
    filled = lax.fori_loop(0, 3, lambda i, x: x.at[i].set(i * 2.0), np.zeros(4))
    np.testing.assert_array_equal(filled, [0, 2, 4, 0])
    last, _ = lax.scan(lambda c, x: (c.at[0].add(x), None), np.zeros(2), np.ones(3))
    np.testing.assert_array_equal(last, [3, 0])
    last = lax.while_loop(lambda c: c[0] < 3, lambda c: c.at[0].add(1), np.zeros(2))
    np.testing.assert_array_equal(last, [3, 0])
    chosen = lax.cond(True, lambda x: x.at[1].set(5), lambda x: x, np.zeros(2))
    np.testing.assert_array_equal(chosen, [0, 5])
    with pytest.raises(AttributeError, match="'att'"):
        lax.fori_loop(0, 3, lambda i, x: x.att, np.zeros(4))


def test_types_of_no_steps():
    assert lax.scan(lambda c, x: (c * 0.5, c), 0, np.zeros(0))[0].dtype == float
    assert lax.fori_loop(0, 0, lambda i, c: c * 0.5, 1).dtype == float
    assert lax.while_loop(lambda c: c < 0, lambda c: c * 0.5, 1).dtype == float


def test_branches_compute_only_what_is_taken():
    """What a branch computes of values it closes over is computed in the branch."""
    f = lambda x: lax.cond(x > 0, lambda: fnp.sqrt(x), lambda: 0.0 * x)
    for gradient in (
        fg.jit(fg.grad(f)),
        fg.grad(fg.jit(f)),
        lambda x: fg.vmap(fg.grad(f))(x[None]),
    ):
        assert gradient(np.float64(0)) == 0
    assert fg.jit(f)(-1.0) == 0

    def positive(rows):
        return lax.scan(
            lambda c, r: (lax.cond(r > 0, lambda c: c + fnp.log(r), lambda c: c, c), None),
            0.0,
            rows,
        )[0]

    assert fg.jit(positive)(np.array([-1.0, 0.0, 2.0])) == np.log(2.0)


def test_batches_compute_only_what_takes_part():
    x = np.array([0.0, 4.0])
    f = lambda x: lax.cond(x > 0, fnp.sqrt, lambda x: x, x)
    np.testing.assert_array_equal(fg.grad(lambda x: fg.vmap(f)(x).sum())(x), [1, 0.25])
    np.testing.assert_array_equal(fg.vmap(fg.grad(f))(x), [1, 0.25])
    np.testing.assert_array_equal(fg.vmap(f)(x - 5), x - 5)
    assert fg.vmap(f)(x[:0]).shape == (0,)

    def euclid(a, b):
        return lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b))[0]

    np.testing.assert_array_equal(fg.vmap(euclid, (0, None))(np.array([4, 6, 7]), 6), [2, 6, 1])
    steps = lambda a: lax.while_loop(lambda s: s < a - 1, lambda s: s + fnp.log(a - s) * 0 + 1, 0.0)
    np.testing.assert_array_equal(fg.vmap(steps)(np.array([2.0, 5.0])), [1, 4])


def test_batches_compute_nothing_at_poles_for_calls_that_are_done():
    def f(n, z):
        return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, fnp.arctan(c[1])), (n, z))[1]

    z = np.array([1j, 0.5j])  # arctan(1j) is infinite, and NumPy warns
    np.testing.assert_array_equal(fg.vmap(f)(np.array([0, 1]), z), [1j, np.arctan(0.5j)])


def test_advice_names_what_differs():
    start = np.zeros(2)
    for step, words in (
        (lambda c, x: ((c, c), None), "as the pytree it came in"),
        (lambda c, x: (c[:1], None), "must be the same in each iteration"),
        (lambda c, x: (c.astype(np.float32), None), "of the dtypes it makes"),
    ):
        with pytest.raises(TypeError, match=words):
            lax.scan(step, start, XS)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("f", "note"),
    [
        (
            lambda xs: lax.cond(xs[0, 0] > 0, lambda x: x, lambda x: x),
            "cond(pred, true_fun, false_fun",
        ),
        (lambda xs: lax.switch(xs[0, 0].astype(int), [lambda x: x] * 2), "switch(index, branches"),
        (lambda xs: lax.fori_loop(0, 3, lambda c: c, xs), "body_fun(i, val)"),
        (lambda xs: lax.scan(lambda c: c, 0.0, xs), "f(carry, x)"),
    ],
)
def test_functions_of_the_wrong_number_of_arguments(f, note, traced):
    with pytest.raises(TypeError, match="positional argument") as caught:
        both(f)[traced]()
    assert any(note in n for n in caught.value.__notes__)


def test_an_operand_for_each_branch():
    f = lambda x: lax.cond(x > 0, x, lambda x: 2 * x, -x, lambda x: 3 * x)
    assert (f(2.0), f(-2.0), fg.jit(f)(-2.0)) == (4, 6, 6)
