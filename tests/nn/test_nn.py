"""fungrad.nn, without another library: properties, errors, and transforms."""

import re
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
from fungrad import nn
from fungrad.nn.exclusions import EXCLUDED
from tests.optional import BFLOAT16

X = np.linspace(-3.0, 3.0, 12).reshape(3, 4)


def test_all_names_are_found():
    assert [name for name in nn.__all__ if not hasattr(nn, name)] == []
    assert set(nn.__all__) <= set(dir(nn))


def test_the_page_names_all_but_the_losses():
    page = (Path(__file__).parents[2] / "docs" / "nn.md").read_text("utf-8")
    table = page.partition("## What there is")[2].partition("## Conventions")[0]
    listed = {name.removeprefix("nn.") for name in re.findall(r"`([\w.]+)`", table)}
    assert {*nn.__all__} - {*nn.losses.__all__} <= listed


@pytest.mark.parametrize("name", EXCLUDED)
def test_a_name_left_out_says_why(name):
    with pytest.raises(AttributeError, match="format of some GPUs"):
        getattr(nn, name)


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64])
def test_dtypes_are_kept(dtype):
    for f in (nn.relu, nn.gelu, nn.silu, nn.softmax, nn.elu, nn.standardize):
        assert fg.jit(f)(X.astype(dtype)).dtype == f(X.astype(dtype)).dtype == np.dtype(dtype)


def test_integers():
    assert nn.relu(np.array([-1, 2])).dtype == np.int64
    assert nn.gelu(np.array([-1, 2], np.int8)).dtype == np.float64
    assert nn.relu(True).dtype == np.int64


def test_many_small_numbers_of_two_bytes_add_up():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.zeros(4096, ml_dtypes.bfloat16)
    np.testing.assert_allclose(float(nn.logsumexp(x)), np.log(4096), rtol=2**-8)
    assert float(nn.softmax(x).astype(float).sum()) == 1.0


@pytest.mark.parametrize("f", [nn.relu, nn.relu6, nn.hard_tanh, nn.gelu, nn.softmax, nn.mish])
def test_mapped_is_row_by_row(f):
    np.testing.assert_array_equal(fg.vmap(f)(X), np.stack([f(row) for row in X]))


def test_the_corners_of_relu_have_no_slope():
    assert fg.grad(nn.relu)(0.0) == fg.grad(nn.relu6)(0.0) == fg.grad(nn.relu6)(6.0) == 0.0


@pytest.mark.parametrize("index", [2, np.int64(2), np.array(2)])
def test_one_hot_of_one_index(index):
    np.testing.assert_array_equal(nn.one_hot(index, 3), [0.0, 0.0, 1.0], strict=True)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: nn.glu(np.ones(3)), ValueError),
        (lambda: nn.glu(np.ones(4), axis=1), ValueError),
        (lambda: nn.standardize(X, algorithm="slow"), ValueError),
        (lambda: nn.one_hot(np.array([1]), 2, axis=3), ValueError),
        (lambda: nn.one_hot(np.array([1]), 2.5), TypeError),
        (lambda: nn.dot_product_attention(X, X, X, implementation="other"), ValueError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error, match=r"nn\."):
        call()


QKV = [np.random.default_rng(seed).normal(size=(2, 5, 4, 3)) for seed in range(3)]


@pytest.mark.parametrize(
    "change",
    [
        {"query": QKV[0][:1]},
        {"query": QKV[0].astype(np.float32)},
        {"value": QKV[2][:, :2]},
        {"key": QKV[1][:, :, :3], "value": QKV[2][:, :, :3]},
        {"mask": np.ones((1, 1, 5, 5))},
        {"mask": np.ones((1, 3, 5, 5), bool)},
        {"bias": np.ones((1, 1, 5, 4))},
        {"query_seq_lengths": np.ones(3, np.int32)},
    ],
    ids=lambda change: "-".join(change),
)
def test_attention_says_what_does_not_fit(change):
    given = dict(zip(("query", "key", "value"), QKV)) | change
    with pytest.raises(ValueError, match=r"nn\.dot_product_attention"):
        nn.dot_product_attention(**given)


def test_causal_attention_does_not_look_ahead():
    f = lambda value: nn.dot_product_attention(QKV[0], QKV[1], value, is_causal=True)[0, 2, 0, 0]
    gradient = fg.grad(f)(QKV[2])[0, :, 0, 0]
    assert np.all(gradient[:3] > 0)
    np.testing.assert_array_equal(gradient[3:], 0)
    np.testing.assert_allclose(gradient.sum(), 1.0, rtol=1e-14)
