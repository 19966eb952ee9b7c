"""Trees as vectors."""

import pickle

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.flatten_util import ravel_pytree

TREE = {"w": np.arange(6.0).reshape(2, 3), "b": (np.array([7.0, 8.0]), 9.0), "none": None}


def same(a, b):
    assert fg.tree.structure(a) == fg.tree.structure(b)
    for x, y in zip(fg.tree.leaves(a), fg.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


def test_there_and_back():
    flat, unravel = ravel_pytree(TREE)
    np.testing.assert_array_equal(flat, [7, 8, 9, 0, 1, 2, 3, 4, 5])
    same(unravel(flat), fg.tree.map(np.float64, TREE, is_leaf=np.isscalar))
    single = unravel(flat.astype(np.float32))  # of one dtype: that of the vector
    assert {x.dtype for x in fg.tree.leaves(single)} == {np.dtype(np.float32)}
    flat[:] = 0
    assert TREE["w"][1, 2] == 5
    flat, unravel = ravel_pytree(np.ones((2, 0)))
    assert unravel(flat).shape == (2, 0)


def test_dtypes():
    mixed = [np.int32(3), np.float32([1.5]), np.array([True]), np.complex64(2j)]
    flat, unravel = ravel_pytree(mixed)
    assert flat.dtype == np.result_type(*[x.dtype for x in mixed])
    same(unravel(flat), mixed)
    with pytest.raises(
        TypeError, match="of dtype complex128, which the leaves were promoted to; got f"
    ):
        unravel(np.ones(4))
    empty, unravel = ravel_pytree((None, []))
    assert (empty.shape, empty.dtype, unravel(empty)) == ((0,), np.float32, (None, []))
    assert ravel_pytree(2.0)[0].tolist() == [2.0]


def test_wrong_vectors():
    _, unravel = ravel_pytree(TREE)
    for wrong in (np.ones(8), np.ones((9, 1)), np.ones(())):
        with pytest.raises(ValueError, match="vector of 9 elements, as ravel_pytree has made it"):
            unravel(wrong)
    with pytest.raises(TypeError):
        ravel_pytree(["text"])


def test_under_transforms():
    tree = {"w": np.arange(4.0).reshape(2, 2), "b": np.ones(2)}
    flat, unravel = ravel_pytree(tree)

    def loss(x):
        parts = unravel(x)
        return fnp.sum(parts["w"] ** 2) + 3 * fnp.sum(parts["b"])

    expected = np.array([3.0, 3.0, 0.0, 2.0, 4.0, 6.0])
    np.testing.assert_array_equal(fg.grad(loss)(flat), expected)
    np.testing.assert_array_equal(fg.jit(fg.grad(loss))(flat), expected)
    assert fg.vmap(unravel)(np.ones((5, 6)))["w"].shape == (5, 2, 2)
    np.testing.assert_array_equal(
        fg.jacrev(lambda t: ravel_pytree(t)[0])(tree)["b"], np.eye(6)[:, :2]
    )
    back = fg.jit(lambda t: ravel_pytree(t)[1])(tree)  # the function is a result
    same(back(flat), tree)
    same(fg.jit(lambda f, x: f(x))(unravel, flat), tree)
    assert fg.tree.structure(unravel) == fg.tree.structure(ravel_pytree(tree)[1])
    same(pickle.loads(pickle.dumps(unravel))(flat), tree)
    _, pull = fg.vjp(lambda t: ravel_pytree(t)[0], tree)
    same(pull(flat)[0], tree)


@pytest.mark.parametrize("number", [2**53 + 1, 2**62 + 3, 2**63 - 1, -(2**63), 2**64 - 1])
def test_integers_beside_floats_lose_nothing(number):
    whole = np.array([number, 5], np.uint64 if number > 2**63 else np.int64)
    flat, unravel = ravel_pytree({"n": whole, "x": np.array([2.0])})
    for make in (unravel, pickle.loads(pickle.dumps(unravel))):
        np.testing.assert_array_equal(make(flat)["n"], whole)
    moved = unravel(flat + np.array([0.0, 1.0, 0.5]))
    np.testing.assert_array_equal(moved["n"], [whole[0], 6])
    assert moved["x"] == [2.5]
