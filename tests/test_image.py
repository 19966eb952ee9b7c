"""Images in other sizes: what holds of all methods, derivatives against differences, errors."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import image

SMOOTH = ["lanczos3", "lanczos5", "cubic", "cubic-pytorch"]
METHODS = ["linear", "area", *SMOOTH]
X = np.random.default_rng(0).normal(size=(6, 5))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
def test_all_methods(method, antialias):
    """The result is linear in the image and keeps what is constant; an image in its own size is what it was."""
    f = lambda x, shape: image.resize(x, shape, method, antialias)
    for shape in [(12, 5), (3, 9), (1, 1), (6, 2)]:
        np.testing.assert_allclose(f(np.ones_like(X), shape), np.ones(shape))
        fg.test_util.check_grads(lambda x: f(x, shape), (X,), 2)  # noqa: B023
    np.testing.assert_array_equal(f(X, X.shape), X)
    one = np.ones(2)
    still = image.scale_and_translate(X, X.shape, (0, 1), one, 0 * one, method, antialias)
    np.testing.assert_allclose(still, X, atol=1e-14)


@pytest.mark.parametrize("method", SMOOTH)
def test_derivatives_of_a_movement(method):
    f = lambda x, scale, shift: image.scale_and_translate(
        x, (8, 5), (0,), scale, shift, method, False
    )
    fg.test_util.check_grads(f, (X, np.array([1.37]), np.array([0.21])), 2, atol=1e-3, rtol=1e-3)


def test_linear_and_nearest():
    np.testing.assert_array_equal(image.resize(X, (3, 5), "nearest"), X[1::2])
    np.testing.assert_array_equal(image.resize(X, (12, 10), "nearest"), np.kron(X, np.ones((2, 2))))
    places = (np.arange(15) + 0.5) / 3 - 0.5
    np.testing.assert_allclose(
        image.resize(X[0], (15,), "linear"), np.interp(places, range(5), X[0])
    )
    np.testing.assert_allclose(image.resize(X, (3, 5), "area"), X.reshape(3, 2, 5).mean(1))
    assert image.resize(np.arange(3), (2,), "nearest").dtype == np.arange(3).dtype
    assert image.resize(np.arange(3), (2,), "linear").dtype == float
    assert image.resize(X > 0, (2, 2), image.ResizeMethod.AREA).dtype == float


def test_nearest_is_exact_however_long_an_axis_is():
    long = np.arange(30_011)
    count = 30_010
    expected = [(2 * i + 1) * len(long) // (2 * count) for i in range(count)]
    np.testing.assert_array_equal(image.resize(long, (count,), "nearest"), expected)


def test_under_transformations():
    f = lambda x: image.resize(x, (4, 9), "cubic")
    np.testing.assert_allclose(fg.jit(f)(X), f(X))
    batch = np.stack([X, 2 * X])
    np.testing.assert_allclose(fg.vmap(f)(batch), image.resize(batch, (2, 4, 9), "cubic"))
    move = lambda s: image.scale_and_translate(X, (4, 9), (0, 1), s, fnp.zeros(2), "linear")
    scales = np.array([[0.5, 2.0], [1.5, 0.3]])
    np.testing.assert_allclose(fg.vmap(move)(scales), [move(s) for s in scales])
    pairs = lambda s: image.scale_and_translate(X, (4, 9), (0, 1), [s, 2], [0, 0.5], "linear")
    np.testing.assert_allclose(fg.jit(pairs)(0.5), pairs(0.5))


def test_errors():
    for what, message in [
        (lambda: image.resize(X, (3,), "linear"), r"resize: shape has a length for each axis.*\(3,\) .* shape \(6, 5\)"),
        (lambda: image.resize(X, (3, -1), "linear"), r"an axis of 5 elements \(axis 1\) cannot have -1"),
        (lambda: image.resize(np.ones((0, 2)), (3, 2), "nearest"), r"an axis of 0 elements \(axis 0\) cannot have 3"),
        (lambda: image.resize(X, (3, 3), "box"), "unknown resize method 'box'; there are nearest, linear"),
        (lambda: image.scale_and_translate(X, (3, 5), (0,), np.ones(1), np.zeros(1), "nearest"), "resize has it"),
        (lambda: image.scale_and_translate(X, (3, 5), (0,), np.ones(2), np.zeros(1), "linear"), r"scale has a number for each of the 1 axes .* \(2,\)"),
        (lambda: image.scale_and_translate(X, (3, 5), (0,), np.ones(1), 0.0, "linear"), r"translation has a number .* \(\)"),
        (lambda: image.scale_and_translate(X, (3, 3), (0,), np.ones(1), np.zeros(1), "linear"), r"names each axis that changes, once; got \(0,\)"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            what()
    with pytest.raises(TypeError, match="method is a ResizeMethod or the name of one, got 3"):
        image.resize(X, (3, 3), 3)
