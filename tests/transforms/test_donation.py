"""Donated arguments of `jit`: their memory is used for results, where nobody else has a claim to it."""

import functools
import tracemalloc

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.transforms import donation


def shared(results, *arguments):
    """Return for each result the positions of the arguments whose memory it shares."""
    return [
        [i for i, x in enumerate(arguments) if np.shares_memory(result, x)]
        for result in fg.tree.leaves(results)
    ]


windows = functools.partial(np.lib.stride_tricks.sliding_window_view, writeable=True)

FUNCTIONS = {
    "sum": (lambda x, y: x + y, 0, [[0]]),
    "second": (lambda x, y: x + y, 1, [[1]]),
    "chain": (lambda x, y: fnp.sin(x * y) * 2 - y, 0, [[0]]),
    "step": (lambda x, y: x - 0.1 * y, 0, [[0]]),
    "both": (lambda x, y: (x + 1, y * 2), (0, 1), [[0], [1]]),
    "as it is": (lambda x, y: (x, y + 1), 0, [[0], []]),
    "view": (lambda x, y: x.T, 0, [[0]]),
    "element": (lambda x, y: fg.at(x)[0].set(y[0]), 0, [[0]]),
    "needed later": (lambda x, y: (x + y, x * y), 0, [[], [0]]),
    "other shape": (lambda x, y: (x * y).sum(0), 0, [[]]),
    "other dtype": (lambda x, y: (x + y).astype(np.float32), 0, [[]]),
    "nothing": (lambda x, y: x + y, (), [[]]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_use_the_memory_of_donated_arguments(name, rng):
    f, donated, expected = FUNCTIONS[name]
    x, y = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    wanted = fg.tree.leaves(f(x.copy(), y.copy()))
    given = x.copy(), y.copy()
    found = fg.jit(f, donate_argnums=donated)(*given)
    assert shared(found, *given) == expected
    for a, b in zip(fg.tree.leaves(found), wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    kept = [i for i in (0, 1) if i not in np.atleast_1d(donated)]
    for i in kept:
        np.testing.assert_array_equal(given[i], (x, y)[i])


def test_a_donated_array_can_be_read_but_holds_something_else():
    x = np.ones(3)
    result = fg.jit(lambda x: 5 * x, donate_argnums=0)(x)
    np.testing.assert_array_equal(result, [5, 5, 5])
    np.testing.assert_array_equal(x, result)


def test_trees_and_names():
    def step(params, grads):
        return {k: params[k] - grads[k] for k in params}

    for options in ({"donate_argnums": 0}, {"donate_argnames": "params"}, {"donate_argnums": -2}):
        params, grads = ({k: np.ones(n) for k, n in zip("ab", (3, 4))} for _ in range(2))
        new = fg.jit(step, **options)(params, grads)
        assert all(np.shares_memory(new[k], params[k]) for k in params)
        new = fg.jit(step, donate_argnames="grads")(params, grads=grads)
        assert all(np.shares_memory(new[k], grads[k]) for k in params)


def test_a_loop_of_steps_allocates_nothing_large():
    step = fg.jit(lambda x: fnp.cos(x) * 0.5 + 1, donate_argnums=0)
    x = np.ones(10_000)
    x = step(x)
    tracemalloc.start()
    for _ in range(3):
        x = step(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes / 2


def read_only(x):
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    "arguments",
    [
        lambda: (read_only(np.ones(6)), np.ones(6)),
        lambda: (x := np.ones(6), x),
        lambda: ((x := np.ones(12))[:6], x[3:9]),
        lambda: (np.ones(6, ">f8"), np.ones(6)),
        lambda: (np.broadcast_to(1.0, (6,)), np.ones(6)),
        lambda: (np.lib.stride_tricks.as_strided(np.ones(1), (6,), (0,)), np.ones(6)),
        lambda: (windows(np.arange(5.0), 2), np.ones((4, 2))),
        lambda: (windows(np.arange(5.0), 2)[::-1].T, np.ones((2, 4))),
        lambda: (np.ndarray((3,), float, np.zeros(24, np.uint8), strides=(4,)), np.ones(3)),
        lambda: ((x := np.ones(6)), x.view(np.recarray)),
    ],
    ids=[
        "read-only",
        "twice",
        "overlapping",
        "byte order",
        "repeated",
        "one place",
        "windows",
        "windows backwards",
        "half an element apart",
        "view of a subclass",
    ],
)
def test_memory_that_must_not_be_written_is_left_alone(arguments):
    x, y = arguments()
    before = x.copy()
    found = fg.jit(lambda x, y: x + y, donate_argnums=0)(x, y)
    assert not np.shares_memory(found, x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    "x",
    [
        np.ones((4, 6))[::2, 1::2],
        np.ones((4, 6)).T[::-1],
        np.ones((3, 1, 4)).transpose(2, 0, 1)[:, ::-1],
        np.lib.stride_tricks.as_strided(np.ones(4), (1, 4), (0, 8)),
        np.ones((0, 3))[::2],
        np.ones((4, 2), [("a", float), ("b", np.int8)])["a"],
    ],
    ids=["steps", "backwards", "permuted", "axis of length 1", "empty", "field"],
)
def test_arrays_that_do_not_overlap_themselves_are_used(x):
    found = fg.jit(lambda x: 3 * x, donate_argnums=0)(x)
    assert np.shares_memory(found, x) or not x.size
    np.testing.assert_array_equal(found, np.full(x.shape, 3.0))


def test_what_waits_to_be_computed_reads_an_array_as_it_was_when_used():
    step = fg.jit(lambda b: 2 * b, donate_argnums=0)
    b = np.ones(1 << 13)

    def f(x):
        y = (x * b).sum()
        return y + 0 * step(b)[0]

    assert fg.grad(f)(1.0) == b.size


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: fg.grad(lambda x: f(x).sum()),
        lambda f: lambda x: fg.jvp(f, (x,), (x,)),
        lambda f: fg.vmap(f),
        lambda f: fg.jit(f),
    ],
    ids=["grad", "jvp", "vmap", "jit"],
)
def test_nothing_is_overwritten_in_traced_calls(transform):
    x = np.ones(4)
    transform(fg.jit(lambda x: fnp.sin(x) * 3, donate_argnums=0))(x)
    np.testing.assert_array_equal(x, np.ones(4))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"donate_argnums": 2}, ValueError, "donate_argnums=2 is out of range"),
        ({"donate_argnums": "x"}, TypeError, "donate_argnums takes positions .* got 'x'. Names go into donate_argnames"),
        ({"static_argnums": ("n",)}, TypeError, "static_argnums takes positions"),
        ({"donate_argnums": 1, "static_argnums": 1}, ValueError, "argument 1 of scaled is both static and donated"),
        ({"donate_argnames": "n", "static_argnums": 1}, ValueError, "is both static and donated"),
    ],
    ids=["range", "name", "static name", "static", "static by name"],
)  # fmt: skip
def test_errors(options, error, message):
    def scaled(x, n):
        return x * n

    with pytest.raises(error, match=message):
        fg.jit(scaled, **options)


def test_overlaps_are_found_by_sorting_as_in_pairs(rng, monkeypatch):
    for _ in range(200):
        whole = np.zeros(60)
        leaves = []
        for _ in range(rng.integers(2, 7)):
            start, length, step = rng.integers(50), rng.integers(6), rng.choice([-2, -1, 1, 3])
            leaves.append(whole[start : start + length][::step])
        leaves.append(1.0)
        donated = [i for i in range(len(leaves) - 1) if rng.random() < 0.5]
        monkeypatch.setattr(donation, "PAIRS", 10**9)
        expected = donation.are_apart(leaves, donated)
        monkeypatch.setattr(donation, "PAIRS", -1)
        assert donation.are_apart(leaves, donated) == expected
