"""Keys: arrays that are indexed, reshaped, stored and carried like any, and with which nothing is computed."""

import copy
import io
import pickle

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, random
from fungrad.core.types import KEYS

KEY = random.key(3)
SEVERAL = random.split(KEY, 4)


def words(keys):
    return random.key_data(keys).tolist()


def test_a_key_is_an_element_of_an_array_of_numpy():
    assert KEY.shape == ()
    assert KEY.dtype == KEYS["threefry2x32"] == random.key_dtype()
    assert type(SEVERAL) is np.ndarray
    assert SEVERAL.shape == (4,)
    assert words(SEVERAL[1]) == words(SEVERAL)[1]


@pytest.mark.parametrize("seed", [0, 42, -1, 2**40 + 3, -(2**50), np.int32(-1), np.uint8(7)])
def test_a_key_is_its_seed(seed):
    raw = random.PRNGKey(seed)
    assert raw.dtype == np.uint32
    assert words(random.key(seed)) == raw.tolist()
    assert raw[1] == int(seed) % 2**32
    wide = 0 if type(seed) is np.int32 else (int(seed) >> 32) % 2**32
    assert raw[0] == wide
    np.testing.assert_array_equal(fg.jit(random.PRNGKey)(seed), raw)


def test_words_are_copied():
    raw = np.array([1, 2], np.uint32)
    key = random.wrap_key_data(raw)
    random.key_data(key)[0] = 7
    raw[0] = 9
    assert words(key) == [1, 2]


def test_a_setting_chooses_the_layout_of_counters_and_jit_sees_it():
    draw = fg.jit(lambda key: random.bits(key, (3,), np.uint32))
    new = draw(KEY)
    with fg.threefry_partitionable(False):
        old = draw(KEY)
        assert old.tolist() == random.bits(KEY, (3,), np.uint32).tolist()
    assert new.tolist() == draw(KEY).tolist() != old.tolist()
    fg.config.update("threefry_partitionable", False)
    try:
        assert draw(KEY).tolist() == old.tolist()
    finally:
        fg.config.update("jax_threefry_partitionable", True)


MOVES = {
    "index": lambda k: k[1],
    "index of indices": lambda k: k[[2, 0]],
    "mask": lambda k: k[np.array([True, False, False, True])],
    "slice": lambda k: k[1::2],
    "reshape": lambda k: k.reshape(2, 2).T,
    "ravel": lambda k: k.reshape(2, 2).ravel(),
    "newaxis": lambda k: k[None],
    "stack": lambda k: fnp.stack([k[0], k[1]]),
    "array": lambda k: fnp.array([k[0], k[1]]),
    "concatenate": lambda k: fnp.concatenate([k, k[:1]]),
    "where": lambda k: fnp.where(np.array([True, False, True, True]), k, k[::-1]),
    "broadcast": lambda k: fnp.broadcast_to(k, (2, 4)),
    "take": lambda k: fnp.take(k, [3, 3]),
    "repeat": lambda k: fnp.repeat(k, 2),
    "roll": lambda k: fnp.roll(k, 1),
    "set": lambda k: fg.at(k)[0].set(k[3]),
    "dynamic slice": lambda k: lax.dynamic_slice(k, (fnp.argmax(np.array([0, 1])),), (2,)),
    "dynamic index": lambda k: k[fnp.argmax(np.array([0, 1]))],
    "select": lambda k: lax.select(np.array([True, False, True, True]), k, k[::-1]),
    "copy": lambda k: k.copy(),
    "split": lambda k: random.split(k[0], (2, 3)),
    "fold_in": lambda k: random.fold_in(k[0], 3),
    "key_data": random.key_data,
    "wrap_key_data": lambda k: random.wrap_key_data(random.key_data(k)),
}


@pytest.mark.parametrize("name", MOVES)
def test_keys_are_moved_under_transforms(name):
    f = MOVES[name]
    plain = f(SEVERAL)
    for traced in (
        fg.jit(f)(SEVERAL),
        fg.vmap(f)(SEVERAL[None])[0],
        fg.vjp(lambda x, k: (x, f(k)), 2.0, SEVERAL)[0][1],
        fg.jvp(lambda x: (x, f(SEVERAL)), (2.0,), (1.0,))[0][1],
    ):
        assert traced.dtype == plain.dtype
        assert np.array_equal(traced, plain)


def test_elements_are_set_while_traced():
    def f(keys, key):
        keys = keys.copy()
        keys[2] = key
        return keys

    assert words(fg.jit(f)(SEVERAL, KEY))[2] == words(KEY)


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_loops_and_branches_carry_keys(transform):
    def step(key, _):
        key, other = random.split(key)
        return key, random.normal(other)

    by_hand, key = [], KEY
    for _ in range(3):
        key, number = step(key, None)
        by_hand.append(number)
    last, numbers = transform(lambda k: lax.scan(step, k, None, length=3))(KEY)
    assert words(last) == words(key)
    np.testing.assert_array_equal(numbers, by_hand)
    each = transform(lambda ks: lax.scan(lambda c, k: (c, random.normal(k)), 0.0, ks)[1])(SEVERAL)
    np.testing.assert_array_equal(each, [random.normal(k) for k in SEVERAL])
    folded = transform(lambda k: lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, i), k))(KEY)
    assert words(folded) == words(random.fold_in(random.fold_in(random.fold_in(KEY, 0), 1), 2))
    body = lambda c: (random.split(c[0])[0], random.uniform(c[0]))
    key, number = transform(lambda k: lax.while_loop(lambda c: c[1] < 0.9, body, (k, 0.0)))(KEY)
    assert number >= 0.9
    chosen = transform(lambda p, k: lax.cond(p, lambda k: random.split(k)[0], lambda k: k, k))
    assert words(chosen(True, KEY)) == words(SEVERAL[0])
    assert words(chosen(False, KEY)) == words(KEY)


def test_mapping_over_keys_is_one_after_the_other():
    draw = lambda key: random.normal(key, (2,))
    mapped = fg.vmap(draw)(SEVERAL)
    np.testing.assert_array_equal(mapped, [draw(k) for k in SEVERAL])
    np.testing.assert_array_equal(fg.vmap(draw)(random.key_data(SEVERAL)), mapped)
    twice = fg.vmap(fg.vmap(draw), in_axes=1, out_axes=1)(SEVERAL.reshape(2, 2))
    np.testing.assert_array_equal(twice, mapped.reshape(2, 2, 2))


def test_keys_are_stored_and_pickled():
    file = io.BytesIO()
    np.save(file, SEVERAL)
    file.seek(0)
    for again in (np.load(file), pickle.loads(pickle.dumps(SEVERAL)), copy.deepcopy(SEVERAL)):
        assert again.dtype == SEVERAL.dtype
        assert np.array_equal(again, SEVERAL)
        np.testing.assert_array_equal(random.uniform(again[2]), random.uniform(SEVERAL[2]))
    key = pickle.loads(pickle.dumps(KEY))
    np.testing.assert_array_equal(random.uniform(key), random.uniform(KEY))


def test_keys_show_their_generator():
    assert "key<threefry2x32>[4]" in str(fg.make_expr(lambda k: k[0])(SEVERAL))
    shown = repr(fg.eval_shape(random.split, KEY))
    assert "key<threefry2x32>" in shown
    assert random.key_impl(KEY) == random.key_impl(random.PRNGKey(0)) == "threefry2x32"


@pytest.mark.parametrize("generator", ["rbg", "unsafe_rbg"])
def test_other_generators(generator):
    key = random.key(3, impl=generator)
    assert random.key_impl(key) == generator
    assert key.dtype == random.key_dtype(generator) == random.key(3, dtype=generator).dtype
    raw = random.PRNGKey(3, impl=generator)
    assert raw.shape == (4,)
    assert random.wrap_key_data(raw, impl=generator) == key
    keys = random.split(key, 3)
    draw = lambda key: random.gamma(key, 2.0, (2,)) + random.normal(key, (2,))
    each = [draw(k) for k in keys]
    np.testing.assert_allclose(fg.vmap(draw)(keys), each, 1e-14)  # and not all of the first key
    np.testing.assert_allclose([fg.jit(draw)(k) for k in keys], each, 1e-14)
    assert 0.4 < random.uniform(key, (2000,)).mean() < 0.6
    with pytest.raises(TypeError):
        fnp.concatenate([fg.jit(lambda k: k)(keys), SEVERAL])


def test_gradients_pass_keys_by():
    f = lambda x, key: (x * random.normal(key, (3,))).sum()
    assert fg.grad(f)(2.0, KEY) == pytest.approx(random.normal(KEY, (3,)).sum())
    assert fg.grad(fg.checkpoint(f))(2.0, KEY) == pytest.approx(random.normal(KEY, (3,)).sum())
    assert fg.vjp(f, 2.0, KEY)[1](1.0)[1].dtype == fg.float0


COMPUTED = {
    "add": lambda k: k + k,
    "number": lambda k: 2.0 * k,
    "sin": fnp.sin,
    "sum": fnp.sum,
    "max": fnp.max,
    "cumsum": fnp.cumsum,
    "matmul": lambda k: k @ k,
    "less": lambda k: k < k,
    "equal to words": lambda k: k == random.key_data(k)[:, 0],
    "sort": fnp.sort,
    "argmax": fnp.argmax,
    "astype": lambda k: k.astype(float),
    "to keys": lambda k: random.key_data(k).astype(KEYS["threefry2x32"]),
    "lax": lambda k: lax.add(k, k),
}


@pytest.mark.parametrize("generator", KEYS)
def test_keys_are_compared(generator):
    several = random.split(random.key(0, impl=generator), 3)
    one = several[1]
    functions = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b}
    functions |= {
        "equal": fnp.equal,
        "not_equal": fnp.not_equal,
        "numpy's": lambda a, b: np.not_equal(b, a),
    }
    for name, f in functions.items():
        expected = np.array([False, True, False]) ^ ("n" in name or "!" in name)
        for a, b, wanted in (
            (several, one, expected),
            (one, several, expected),
            (several[:, None], several, np.eye(3, dtype=bool) ^ expected[0]),
            (several[:0], one, np.zeros(0, bool)),
            (one, one, np.bool_(expected[1])),
        ):
            if name != "numpy's":  # whose ufuncs know no keys that are not traced
                found = f(a, b)
                assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
                np.testing.assert_array_equal(found, wanted)
            found = fg.jit(f)(a, b)
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(fg.jit(lambda a, f=f, b=b: f(a, b))(a), wanted)
        np.testing.assert_array_equal(fg.vmap(f, (0, None))(several, one), expected)
    assert fg.jit(fnp.array_equal)(several, several)
    assert not fg.jit(fnp.array_equal)(several, several[::-1])
    assert fg.jit(fnp.allclose)(several, several)
    np.testing.assert_array_equal(fg.jit(fnp.isclose)(several, one), [False, True, False])
    picked = fg.grad(lambda x: fnp.sum(fnp.where(several == one, x, x * x)))(np.full(3, 5.0))
    np.testing.assert_array_equal(picked, [10, 1, 10])
    other = random.key(0, impl="rbg" if generator == "threefry2x32" else "threefry2x32")
    with pytest.raises(TypeError, match="holds keys"):
        fg.jit(lambda a, b: a == b)(several, other)


@pytest.mark.parametrize("name", COMPUTED)
def test_nothing_is_computed_with_keys(name):
    with pytest.raises(
        TypeError,
        match=r"key<threefry2x32>\[4.*\] holds .*key_data\(keys\)|in numpy.* of key<threefry2x32>|lax.add takes",
    ):
        fg.jit(COMPUTED[name])(SEVERAL)


WRONG = {
    "several": (lambda: random.uniform(SEVERAL), ValueError, r"takes one key.*\(4,\).*fungrad.vmap"),
    "several words": (lambda: random.uniform(np.zeros((3, 2), np.uint32)), ValueError, r"\(3,\)"),
    "a number": (lambda: random.uniform(3), TypeError, r"random.uniform takes a key, .*; got 3"),
    "floats": (lambda: random.uniform(np.zeros(2)), TypeError, r"got float64\[2\]"),
    "three words": (lambda: random.uniform(np.zeros(3, np.uint32)), TypeError, r"got uint32\[3\]"),
    "a list": (lambda: random.uniform([0, 1]), TypeError, r"a list is no key; write numpy.array"),
    "a generator": (lambda: random.uniform(np.random.default_rng()), TypeError, "got Generator"),
    "a float as seed": (lambda: random.key(0.5), TypeError, "a seed is an integer"),
    "many seeds": (lambda: random.key(np.arange(3)), TypeError, r"takes one seed.*fungrad.vmap\(random.key\)"),
    "a key as seed": (lambda: random.key(KEY), TypeError, "was given a key"),
    "a long seed": (lambda: random.key(2**64), OverflowError, r"modulo 2\*\*64"),
    "a generator not here": (lambda: random.key(0, impl="philox2x32"), ValueError, "'philox2x32' is one of JAX's"),
    "no generator": (lambda: random.key(0, impl="mt"), ValueError, "'mt' is no generator; there are 'threefry2x32', 'rbg'"),
    "raw words of another": (lambda: random.uniform(random.PRNGKey(0, impl="rbg")), TypeError, r"of shape \(2,\); got uint32\[4\]"),
    "two generators": (lambda: random.key(0, impl="rbg", dtype="rbg"), ValueError, "not both"),
    "no name": (lambda: random.key(0, impl=3), TypeError, "by its name"),
    "split": (lambda: random.split(KEY, 2.5), TypeError, r"random.split: shape is"),
    "a float folded in": (lambda: random.fold_in(KEY, 0.5), TypeError, "data is one integer"),
    "words of another dtype": (lambda: random.wrap_key_data(np.zeros(2)), TypeError, r"float64\[2\]"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    call, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        call()
