"""`dropout` and `embedding` of fungrad.nn."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, nn, random
from tests.compile.compiling import compare, needs_compiler
from tests.optional import BFLOAT16

KEY = random.key(7)
X = np.random.default_rng(0).normal(size=(200, 50))
DTYPES = [np.float16, BFLOAT16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dropout_drops_a_part_and_keeps_the_mean(dtype):
    x = np.ones((200, 50), dtype)
    y = nn.dropout(KEY, x, 0.2)
    assert y.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(np.unique(y), np.array([0, 1 / 0.8], dtype))
    assert abs((y == 0).mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / x.size)
    np.testing.assert_array_equal(fg.jit(nn.dropout)(KEY, x, 0.2), y)


def test_dropout_keeps_what_bernoulli_says():
    keep = random.bernoulli(KEY, 1 - 0.3, X.shape)
    np.testing.assert_array_equal(nn.dropout(KEY, X, 0.3), np.where(keep, X / (1 - 0.3), 0))
    gradient = fg.grad(lambda x: nn.dropout(KEY, x, 0.3).sum())(X)
    np.testing.assert_array_equal(gradient, np.where(keep, 1 / (1 - 0.3), 0))


def test_whole_rows_are_dropped():
    zero = nn.dropout(KEY, X, 0.5, broadcast_axes=(-1,)) == 0
    assert np.all(zero == zero[:, :1])
    assert 0 < zero.mean() < 1


def test_nothing_is_drawn_where_there_is_no_training():
    np.testing.assert_array_equal(nn.dropout(None, X, 0.5, training=False), X)


@pytest.mark.parametrize("rate", [0, 1, 0.0, 1.0])
def test_the_ends(rate):
    expected = X * (1 - rate)
    np.testing.assert_array_equal(nn.dropout(KEY, X, rate), expected)
    f = lambda x, rate: nn.dropout(KEY, x, rate).sum()
    for g in (fg.grad(f), fg.jit(fg.grad(f))):
        np.testing.assert_array_equal(g(X, float(rate)), np.full(X.shape, 1.0 - rate))


def test_dropout_is_mapped_and_scanned():
    keys = random.split(KEY, 4)
    rows = X[:4]
    expected = np.stack([nn.dropout(k, x, 0.4) for k, x in zip(keys, rows, strict=True)])
    found = fg.vmap(lambda k, x: nn.dropout(k, x, 0.4))(keys, rows)
    np.testing.assert_array_equal(found, expected)
    _, found = lax.scan(lambda _, kx: (None, nn.dropout(*kx, 0.4)), None, (keys, rows))
    np.testing.assert_array_equal(found, expected)


TABLE = np.random.default_rng(1).normal(size=(7, 3))
IDS = np.array([[2, 0, 2], [6, 2, 1]])


@pytest.mark.parametrize("dtype", [*DTYPES, np.int32])
def test_embedding(dtype):
    table = TABLE.astype(dtype)
    for f in (nn.embedding, fg.jit(nn.embedding)):
        found = f(IDS, table)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found, table[IDS])
    np.testing.assert_array_equal(fg.vmap(nn.embedding, (0, None))(IDS, table), table[IDS])
    assert nn.embedding(3, table).shape == (3,)


def test_the_gradient_of_a_row_is_the_sum_over_its_places():
    weights = np.random.default_rng(2).normal(size=(2, 3, 3))
    expected = np.zeros_like(TABLE)
    np.add.at(expected, IDS, weights)
    gradient = fg.grad(lambda t: (nn.embedding(IDS, t) * weights).sum())
    for f in (gradient, fg.jit(gradient)):
        np.testing.assert_allclose(f(TABLE), expected, rtol=1e-15)
    found = fg.grad(
        lambda t: lax.scan(lambda s, i: (s + nn.embedding(i, t).sum(), None), 0.0, IDS)[0]
    )
    np.testing.assert_array_equal(found(TABLE)[:, 0], [1, 1, 3, 0, 0, 0, 1])


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels(dtype):
    table = TABLE.astype(dtype)
    f = lambda x, t: fnp.tanh(nn.dropout(KEY, x, 0.3)).sum() + fnp.exp(nn.embedding(IDS, t)).sum()
    compare(f, (X.astype(dtype), table), ulps=16)
    compare(fg.grad(f, (0, 1)), (X.astype(dtype), table), ulps=16)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: nn.dropout(KEY, X, 1.5), ValueError, "rate is a probability"),
        (lambda: nn.dropout(KEY, X, -0.1), ValueError, "rate is a probability"),
        (lambda: nn.dropout(KEY, X, float("nan")), ValueError, "rate is a probability"),
        (lambda: nn.dropout(None, X, 0.5), TypeError, "give a key"),
        (lambda: nn.dropout(KEY, X, 0.5, broadcast_axes=(2,)), ValueError, "axis 2 is out"),
        (lambda: nn.embedding(X, TABLE), TypeError, "named by integers"),
        (lambda: nn.embedding(IDS > 1, TABLE), TypeError, "named by integers"),
        (lambda: nn.embedding(IDS, 1.0), ValueError, "table has rows"),
    ],
)
def test_errors(call, error, says):
    with pytest.raises(error, match=rf"nn\.\w+: .*{says}"):
        call()


def test_rows_that_are_not_there():
    for f in (nn.embedding, fg.jit(nn.embedding)):
        with pytest.raises(IndexError, match="out of bounds"):
            f(IDS + 1, TABLE)
