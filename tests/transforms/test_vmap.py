"""`vmap`: against a Python loop, for every way to say which axes are mapped."""

import collections

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax

Pair = collections.namedtuple("Pair", "a b")


def loop(f, in_axes, out_axes, *args):
    """What `vmap` means, for flat arguments and results."""
    size = next(np.shape(x)[a] for x, a in zip(args, in_axes) if a is not None)
    results = [
        f(*[x if a is None else np.take(x, i, a) for x, a in zip(args, in_axes)])
        for i in range(size)
    ]
    single = not isinstance(results[0], tuple)
    columns = [results] if single else list(zip(*results))
    axes = [out_axes] * len(columns) if not isinstance(out_axes, tuple) else out_axes
    stacked = [c[0] if a is None else np.stack(c, a) for c, a in zip(columns, axes)]
    return stacked[0] if single else tuple(stacked)


def check(f, in_axes, out_axes, *args):
    axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    expected = loop(f, axes, out_axes, *args)
    for g in (fg.vmap(f, in_axes, out_axes), fg.jit(fg.vmap(f, in_axes, out_axes))):
        result = g(*args)
        if not isinstance(expected, tuple):
            result, wanted = (result,), (expected,)
        else:
            wanted = expected
        for r, e in zip(result, wanted, strict=True):
            assert type(r) is np.ndarray
            assert (r.shape, r.dtype) == (e.shape, e.dtype)
            assert r.flags.writeable
            assert not any(np.shares_memory(r, x) for x in args)
            np.testing.assert_allclose(r, e, rtol=1e-13, atol=1e-14)


IN_AXES = [(x, y) for x in (0, 1, 2, -1, -2, -3, None) for y in (0, 1, -1, None)]


@pytest.mark.parametrize(("in_x", "in_y"), IN_AXES[:-1])
@pytest.mark.parametrize("out", [0, 1, -1, -2])
def test_axes(in_x, in_y, out, rng):
    x = rng.normal(size=(4, 4, 4)[: 2 + (in_x is not None)])
    y = rng.normal(size=(4, 4)[: 1 + (in_y is not None)])
    check(lambda x, y: fnp.sin(x) @ y * 2, (in_x, in_y), out, x, y)


@pytest.mark.parametrize("in_axes", [0, (0, 0), [0, 0], (0, None), (None, 0), (-1, 0)])
def test_forms_of_in_axes(in_axes, rng):
    x, y = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    check(lambda x, y: (x * y, x - 1), in_axes, 0, x, y)


@pytest.mark.parametrize("out_axes", [0, 1, (0, 1), (1, 0), (-1, 0), (1, -2)])
def test_forms_of_out_axes(out_axes, rng):
    x = rng.normal(size=(5, 3))
    check(lambda x: (x * 2, fnp.cumsum(x)), (0,), out_axes, x)


def test_trees_and_prefixes(rng):
    tree = {"w": rng.normal(size=(3, 2)), "p": Pair(rng.normal(size=(2, 3)), rng.normal(size=4))}
    x = rng.normal(size=(2, 3))

    def f(tree, x):
        y = tree["w"] * fnp.sum(tree["p"].a) + fnp.sum(tree["p"].b)
        return {"y": y, "rest": [x, (tree["p"].b,)]}

    result = fg.vmap(
        f,
        in_axes=({"w": 0, "p": Pair(1, None)}, -1),
        out_axes={"y": 1, "rest": [0, None]},
    )(tree, x)
    wanted = [
        f({"w": tree["w"][i], "p": Pair(tree["p"].a[:, i], tree["p"].b)}, x[:, i]) for i in range(3)
    ]
    np.testing.assert_allclose(result["y"], np.stack([w["y"] for w in wanted], 1), rtol=1e-13)
    np.testing.assert_array_equal(result["rest"][0], x.T)
    np.testing.assert_array_equal(result["rest"][1][0], tree["p"].b)
    # An axis for a whole subtree.
    both = fg.vmap(lambda t: t["a"] + t["b"][0], in_axes=({"a": 0, "b": 1},))
    np.testing.assert_array_equal(
        both({"a": np.arange(3.0), "b": (np.arange(3.0)[None],)}), [[0], [2], [4]]
    )


def test_none_in_trees():
    f = fg.vmap(lambda t: (t["x"] * 2, None, t["n"]))
    result = f({"x": np.arange(3.0), "n": None})
    np.testing.assert_array_equal(result[0], [0, 2, 4])
    assert result[1:] == (None, None)


def test_keyword_arguments_are_mapped_over_axis_0():
    x, y = np.arange(3.0), np.arange(6.0).reshape(3, 2)
    result = fg.vmap(lambda x, *, y: x * y, in_axes=(0,))(x, y=y)
    np.testing.assert_array_equal(result, x[:, None] * y)
    np.testing.assert_array_equal(fg.vmap(lambda *, y: y * 2)(y=y), 2 * y)
    result = fg.vmap(lambda x, *, y: x * y, in_axes=None)(2.0, y=y)
    np.testing.assert_array_equal(result, 2 * y)


def test_axis_size():
    assert fg.vmap(lambda: 3.0, axis_size=4)().tolist() == [3, 3, 3, 3]
    np.testing.assert_array_equal(
        fg.vmap(lambda x: x * 2, in_axes=None, axis_size=2)(np.arange(2.0)), [[0, 2], [0, 2]]
    )
    np.testing.assert_array_equal(fg.vmap(lambda x: x, axis_size=2)(np.arange(2.0)), [0, 1])


def test_axis_name_is_accepted():
    f = fg.vmap(fg.vmap(lambda x: x * 2, axis_name="inner"), axis_name="outer")
    np.testing.assert_array_equal(f(np.ones((2, 3))), np.full((2, 3), 2.0))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 3.0,
        lambda x: 3,
        lambda x: np.arange(2.0),
        lambda x: np.float32(1),
        lambda x: True,
        lambda x: (x, np.ones((2, 2))),
        lambda x: fnp.zeros(2),
    ],
)
@pytest.mark.parametrize("out", [0, -1])
def test_constants_are_repeated(f, out):
    check(f, 0, out, np.arange(3.0))


def test_constants_are_not_repeated_with_out_axes_none():
    value = fg.vmap(lambda x: np.arange(2.0), out_axes=None)(np.ones(5))
    np.testing.assert_array_equal(value, [0, 1])
    x, y = fg.vmap(lambda x, y: (x, y * 2), (0, None), (0, None))(np.ones(5), 3.0)
    assert (x.shape, y) == ((5,), 6)
    assert type(y) is np.float64


@pytest.mark.parametrize("size", [0, 1])
def test_small_batches(size):
    def f(x, y):
        z = fnp.where(x > 0, x, -x) @ y
        return z, fnp.sum(x), x[0] * 2, fnp.concatenate([x, x]), fnp.sort(x)

    results = fg.vmap(f, (0, None))(np.ones((size, 3)), np.ones((3, 2)))
    assert [r.shape for r in results] == [(size, 2), (size,), (size,), (size, 6), (size, 3)]
    assert fg.vmap(fg.grad(lambda x: fnp.sum(x * x)))(np.ones((size, 3))).shape == (size, 3)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float32, np.complex64])
def test_dtypes_stay(dtype):
    x = np.ones((3, 2), dtype)
    assert fg.vmap(lambda x: x)(x).dtype == dtype
    assert fg.vmap(lambda x: x[0])(x).dtype == dtype
    if dtype not in (bool, np.int8):
        assert fg.vmap(lambda x: x * 2.0)(x).dtype == dtype
        assert fg.vmap(lambda x, y: x * y, (0, None))(x, 2.0).dtype == dtype


# Nesting


def test_nested_vmaps(rng):
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    outer = fg.vmap(fg.vmap(fnp.dot, (None, 0)), (0, None))
    np.testing.assert_allclose(outer(x, y), x @ y.T, rtol=1e-13)
    closure = fg.vmap(lambda a: fg.vmap(lambda b: fnp.sum(a * b))(y))
    np.testing.assert_allclose(closure(x), x @ y.T, rtol=1e-13)
    other = fg.vmap(fg.vmap(fg.vmap(lambda a, b: a * b, (0, 0)), (None, 0)), (0, None))
    np.testing.assert_allclose(other(x, y), x[:, None] * y, rtol=1e-13)
    swapped = fg.vmap(lambda r: fg.vmap(lambda e: e * 2, in_axes=0)(r), in_axes=1, out_axes=1)
    np.testing.assert_array_equal(swapped(x), 2 * x)


def test_four_levels(rng):
    x = rng.normal(size=(2, 3, 2, 2))
    f = lambda v: v * v + 1
    for axis in (0, -1):
        g = fg.vmap(fg.vmap(fg.vmap(fg.vmap(f), in_axes=axis, out_axes=axis)))
        np.testing.assert_allclose(g(x), x * x + 1, rtol=1e-13)


def test_per_example_gradients(rng):
    def loss(w, x, y):
        return (fnp.tanh(w @ x) - y) ** 2

    w, x, y = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)
    g = fg.vmap(fg.grad(loss), (None, 0, 0))(w, x, y)
    np.testing.assert_allclose(g, [fg.grad(loss)(w, a, b) for a, b in zip(x, y)], rtol=1e-12)
    total = fg.grad(lambda w: fnp.mean(fg.vmap(loss, (None, 0, 0))(w, x, y)))(w)
    np.testing.assert_allclose(total, g.mean(0), rtol=1e-12)


def test_batched_and_unbatched_captures(rng):
    a, b, c = rng.normal(size=(3, 2)), rng.normal(size=(2, 2)), rng.normal(size=4)

    def f(x):
        s = fnp.sum(x)

        def g(y):
            return s * y @ b + fnp.sum(c)

        return fg.vmap(g)(x * np.ones((2, 1)))

    expected = [[r.sum() * r @ b + c.sum()] * 2 for r in a]
    np.testing.assert_allclose(fg.vmap(f)(a), expected, rtol=1e-12)


def test_jacobian_by_hand():
    x = np.array([1.0, 2.0, 3.0])
    _, pullback = fg.vjp(lambda x: x**2, x)
    np.testing.assert_array_equal(fg.vmap(pullback)(np.eye(3))[0], np.diag(2 * x))
    push = lambda t: fg.jvp(lambda x: x**2, (x,), (t,))[1]
    np.testing.assert_array_equal(fg.vmap(push, out_axes=1)(np.eye(3)), np.diag(2 * x))


def test_what_does_not_depend_on_the_batch_is_computed_once():
    shapes = []

    def f(x, y):
        z = fnp.sin(y)
        return x * z

    expr = fg.make_expr(fg.vmap(f, (0, None)))(np.ones(100), np.ones(()))
    for primitive, _, outputs in expr.equations:
        if primitive.name == "sin":
            shapes.append(expr.types[outputs[0]].shape)
    assert shapes == [()]


def test_arguments_are_never_modified_and_mutation_between_calls_is_seen():
    x = np.ones((2, 3))
    f = fg.vmap(lambda r: r * 2)
    first = f(x)
    x[:] = 5
    np.testing.assert_array_equal(first, np.full((2, 3), 2.0))
    np.testing.assert_array_equal(f(x), np.full((2, 3), 10.0))


# Errors


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: fg.vmap(lambda x, y: x)(np.ones(3), np.ones((4, 2))),
            r"one length(.|\n)*argument 0 .*float64\[3\].*length 3(.|\n)*argument 1 .*length 4",
        ),
        (
            lambda: fg.vmap(lambda t, **k: t)({"w": np.ones(3)}, bias=np.ones(2)),
            r"argument 0\['w'\].*length 3(.|\n)*\['bias'\].*length 2",
        ),
        (lambda: fg.vmap(lambda x: x, axis_size=2)(np.ones(3)), r"length 3(.|\n)*axis_size is 2"),
        (lambda: fg.vmap(lambda x: x, in_axes=None)(1.0), "nothing is mapped.*axis_size"),
        (lambda: fg.vmap(lambda: 1)(), "nothing is mapped"),
        (
            lambda: fg.vmap(lambda x: x)(3.0),
            r"argument 0, of type float64\[\], is a scalar.*Pass None",
        ),
        (lambda: fg.vmap(lambda x: x, in_axes=2)(np.ones((2, 2))), "argument 0.* has no axis 2"),
        (lambda: fg.vmap(lambda x: x, in_axes=-3)(np.ones((2, 2))), "argument 0.* has no axis -3"),
        (
            lambda: fg.vmap(lambda x, y: x + y["a"])(np.ones(2), {"a": 1.0}),
            r"argument 1\['a'\], of type float64\[\], is a scalar, and has no axis to map over\. Pass None",
        ),
        (
            lambda: fg.vmap(lambda x, k: x)(np.ones(2), k=3),
            r"argument 'k', of type int64\[\], is a scalar",
        ),
        (
            lambda: fg.vmap(lambda x: {"a": (x, x)}, out_axes={"a": (0, 2)})(np.ones((2, 2))),
            r"axis 2 of out_axes is out of range for the result\['a'\]\[1\], of type float64\[2\]",
        ),
        (
            lambda: fg.vmap(lambda x: x, out_axes=2)(np.ones((2, 2))),
            "axis 2 of out_axes is out of range",
        ),
        (lambda: fg.vmap(lambda x: x, out_axes=None)(np.ones(2)), "out_axes is None"),
        (lambda: fg.vmap(lambda x: x, in_axes=(0, 0))(np.ones(2)), "2 entries.*1 positional"),
        (
            lambda: fg.vmap(lambda x: x, in_axes=({"a": 0},))((np.ones(2),)),
            r"in_axes\[0\] is {'a': \*}, where there is a tuple of length 1. It must be",
        ),
        (
            lambda: fg.vmap(lambda d: d, in_axes=({"a": {"b": 0}},))(
                {"a": {"b": np.ones(2), "c": 1.0}}
            ),
            r"in_axes\[0\]\['a'\] lacks the key 'c'\. It must be an integer, None, or a tree",
        ),
        (
            lambda: fg.vmap(lambda d: d, in_axes=({"a": 0, "b": None},))({"a": np.ones(2)}),
            r"in_axes\[0\] has the key 'b', which is not there",
        ),
        (
            lambda: fg.vmap(lambda x: x, out_axes=(0, 0))(np.ones(2)),
            "out_axes is a tuple of length 2, where there is a leaf",
        ),
        (
            lambda: fg.vmap(lambda x: x, in_axes="0")(np.ones(2)),
            "the axis of argument 0 must be an integer or None, got '0'",
        ),
    ],
)
def test_messages(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def _ruled(kind):
    f = kind(lambda x, y: (x * y, y + 1))
    if kind is fg.custom_jvp:
        f.defjvp(lambda p, t: (f(*p), (t[0] * p[1] + p[0] * t[1], t[1])))
    else:
        f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda r, g: (g[0] * r[1], g[0] * r[0] + g[1]))
    return f


def _loop_until(x, y):
    return lax.while_loop(lambda c: c[1] < 4, lambda c: (c[0] * y, c[1] + y), (x, y))


def _scanned(x, y):
    (x, y), ys = lax.scan(lambda c, _: ((c[0] * y, c[1] + y), c[1]), (x, y), length=2)
    return x, y + ys[0]


UNBATCHED = {
    "while_loop": _loop_until,
    "fori_loop": lambda x, y: lax.fori_loop(0, 2, lambda i, c: (c[0] * y, c[1] + y), (x, y)),
    "fori_loop by while": lambda x, y: lax.fori_loop(
        0, fnp.floor(y).astype(int), lambda i, c: (c[0] * y, c[1] + y), (x, y)
    ),
    "scan": _scanned,
    "nested": lambda x, y: lax.scan(lambda c, _: (_loop_until(*c), None), (x, y), length=2)[0],
    "cond": lambda x, y: lax.cond(y > 1, lambda x, y: (x, y + 1), lambda x, y: (x * x, y), x, y),
    "switch": lambda x, y: lax.switch(
        fnp.floor(y).astype(int),
        [lambda x, y: (x, y), lambda x, y: (x, y * y), lambda x, y: (x + y, y + y)],
        x,
        y,
    ),
    "jit": fg.jit(lambda x, y: (x + y, y * y)),
    "checkpoint": fg.checkpoint(lambda x, y: (x + y, y * y)),
    "custom_jvp": _ruled(fg.custom_jvp),
    "custom_vjp": _ruled(fg.custom_vjp),
    "custom_jvp in scan": lambda x, y: lax.scan(
        lambda c, _: (_ruled(fg.custom_jvp)(*c), None), (x, y), length=2
    )[0],
}


@pytest.mark.parametrize("name", UNBATCHED)
def test_what_passes_unbatched_through_programs_may_have_out_axes_none(name):
    f = UNBATCHED[name]
    x, y = np.array([1.0, 2.0, 0.5]), 2.0
    # A scalar that is given has a value; one that jit is given has none, so that there is something to batch.
    batched = lambda x, y: fg.vmap(f, in_axes=(0, None), out_axes=(0, None))(x, y)
    for g in (batched, fg.jit(batched)):
        found = g(x, y)
        for i in range(3):
            a, b = f(x[i], np.float64(y))
            np.testing.assert_allclose(found[0][i], a)
            np.testing.assert_allclose(found[1], b)
    if "while" not in name and name != "nested":
        loss = lambda y: (lambda r: r[0].sum() + 5 * r[1])(fg.jit(batched)(x, y))
        each = lambda y: sum(f(v, y)[0] for v in x) + 5 * f(x[0], y)[1]
        np.testing.assert_allclose(fg.grad(loss)(y), fg.grad(each)(np.float64(y)))


def test_a_choice_for_each_call_has_a_batch():
    f = lambda x: lax.cond(x > 0, lambda x: (x, 1.0), lambda x: (x, 2.0), x)
    with pytest.raises(ValueError, match="out_axes is None for a result that differs"):
        fg.vmap(f, out_axes=(0, None))(np.array([1.0, -1.0]))


def test_sum_match_is_false():
    with pytest.raises(ValueError, match="sum the results over the mapped axis"):
        fg.vmap(fnp.sin, sum_match=True)
