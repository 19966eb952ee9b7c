"""Models and their training: regression, rules by hand, convolutions, softmax regression, sessions, schedules."""

import functools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from examples.digits import load_digits
from fungrad import lax, tree

# Linear regression


@fg.custom_vjp
def relu(x):
    return fnp.maximum(x, 0.0)


relu.defvjp(lambda x: (relu(x), x > 0), lambda positive, g: (g * positive,))


def squared_loss(params, x, y, activation=lambda x: x):
    w, b = params
    return fnp.mean((activation(x @ w + b) - y) ** 2)


@pytest.fixture
def points(rng):
    x = rng.normal(size=(20, 3))
    y = x @ np.array([1.0, -2.0, 0.5]) + 0.7
    return x, y


START = (np.array([0.5, -1.0, 0.1]), np.float64(0.3))


def test_linear_regression_finds_the_line(points):
    step, params = fg.jit(fg.grad(squared_loss)), START
    for _ in range(500):
        params = tree.map(lambda p, g: p - 0.1 * g, params, step(params, *points))
    np.testing.assert_allclose(params[0], [1.0, -2.0, 0.5], atol=1e-12)
    assert params[1] == pytest.approx(0.7, abs=1e-12)


def test_one_pullback_runs_backward_twice(points):
    x, y = points
    loss, pullback = fg.vjp(lambda params: squared_loss(params, x, y), START)
    residual = x @ START[0] + START[1] - y
    assert loss == pytest.approx(np.mean(residual**2), rel=1e-14)
    ((w, b),), again = pullback(1.0), pullback(1.0)
    np.testing.assert_allclose(w, 2 * x.T @ residual / len(x), rtol=1e-13)
    assert b == pytest.approx(2 * residual.mean(), rel=1e-13)
    np.testing.assert_array_equal(again[0][0], w)
    assert again[0][1] == b
    np.testing.assert_allclose(pullback(3.0)[0][0], 3 * w, rtol=1e-15)


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["plain", "jitted"])
def test_a_relu_defined_by_hand(points, wrap):
    x, y = points
    loss = lambda params: squared_loss(params, x, y, relu)
    w, b = wrap(fg.grad(loss))(START)
    out = x @ START[0] + START[1]
    assert 0 < np.count_nonzero(out > 0) < len(out)  # some are cut off
    back = 2 * (np.maximum(out, 0) - y) * (out > 0) / len(x)
    np.testing.assert_allclose(w, x.T @ back, rtol=1e-13)
    assert b == pytest.approx(back.sum(), rel=1e-13)


def test_the_rule_is_what_runs(points):
    """A rule that doubles the gradient doubles it: nothing looks into the function."""
    doubled = fg.custom_vjp(lambda x: fnp.maximum(x, 0.0))
    doubled.defvjp(lambda x: (doubled(x), x > 0), lambda positive, g: (2 * g * positive,))
    once, twice = (
        fg.grad(lambda params, act=act: squared_loss(params, *points, act))(START)
        for act in (relu, doubled)
    )
    np.testing.assert_allclose(twice[0], 2 * once[0], rtol=1e-15)


# ReLU(Conv(x, w, b))


def conv_loss(params, x, target):
    w, b = params
    out = lax.conv_general_dilated(x, w, (1, 1), "VALID") + b[:, None, None]
    return fnp.sum((relu(out) - target) ** 2) / 2


def conv_loss_by_hand(params, x, target):
    """Return the loss and its gradients, from the patches under each place of the kernel."""
    w, b = params
    patches = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    out = np.einsum("nchwij,ocij->nohw", patches, w) + b[:, None, None]
    back = (np.maximum(out, 0) - target) * (out > 0)
    gradients = np.einsum("nohw,nchwij->ocij", back, patches), back.sum((0, 2, 3))
    return np.sum((np.maximum(out, 0) - target) ** 2) / 2, gradients


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["plain", "jitted"])
def test_relu_of_a_convolution_with_a_loss(rng, wrap):
    x, target = rng.normal(size=(2, 3, 6, 5)), rng.normal(size=(2, 4, 4, 3))
    params = rng.normal(size=(4, 3, 3, 3)), rng.normal(size=4)
    loss, (by_w, by_b) = wrap(fg.value_and_grad(conv_loss))(params, x, target)
    expected, (w_by_hand, b_by_hand) = conv_loss_by_hand(params, x, target)
    assert loss == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(by_w, w_by_hand, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(by_b, b_by_hand, rtol=1e-11, atol=1e-12)


def test_convolution_of_an_image_of_ones():
    x, w, b = np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)), np.array([-3.0])
    loss, (by_w, by_b) = fg.value_and_grad(conv_loss)((w, b), x, np.zeros((1, 1, 2, 2)))
    assert (loss, by_b) == (2.0, 4.0)  # four results of 4 - 3, squared and halved
    np.testing.assert_array_equal(by_w, np.full((1, 1, 2, 2), 4.0))


# Softmax regression on digits: three ways


def cross_entropy(w, images, targets):
    scores = images @ w
    scores = scores - fnp.max(scores, axis=1, keepdims=True)
    return -fnp.mean(fnp.sum(targets * scores, axis=1) - fnp.log(fnp.sum(fnp.exp(scores), axis=1)))


def gradient_by_hand(w, images, targets):
    scores = images @ w
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances = exponentials / exponentials.sum(axis=1, keepdims=True)
    return images.T @ (chances - targets) / len(images)


def batches(count, size, epochs):
    """Yield the rows of minibatches; the last one of each epoch is smaller."""
    rng = np.random.default_rng(0)
    for _ in range(epochs):
        order = rng.permutation(count)
        yield from (order[start : start + size] for start in range(0, count, size))


def train(gradient, digits, epochs=5):
    w = np.zeros((64, 10))
    for rows in batches(len(digits.train_images), 64, epochs):
        w = w - 0.5 * gradient(w, digits.train_images[rows], digits.train_targets[rows])
    return w


@functools.cache
def digits():
    return load_digits()


def accuracy(w):
    answers = (digits().test_images @ w).argmax(axis=1)
    return np.mean(answers == digits().test_targets.argmax(axis=1))


def test_softmax_regression_by_hand_reads_digits():
    assert accuracy(train(gradient_by_hand, digits())) > 0.94


def test_softmax_regression_through_grad_is_that_by_hand():
    by_hand, through_grad = (train(g, digits()) for g in (gradient_by_hand, fg.grad(cross_entropy)))
    np.testing.assert_allclose(through_grad, by_hand, rtol=0, atol=1e-12)


def test_softmax_regression_as_a_graph_of_unknown_batch_size():
    traced = []

    def loss(w, images, targets):
        traced.append(len(images))
        return cross_entropy(w, images, targets)

    graph = fg.jit(fg.grad(loss))
    w = train(graph, digits())
    # 1438 images are 22 batches of 64 and one of 30, in each of five epochs.
    assert traced == [64, 30]
    np.testing.assert_allclose(w, train(gradient_by_hand, digits()), rtol=0, atol=1e-12)
    for size in (30, 64, 7, 30, 7):
        graph(w, digits().test_images[:size], digits().test_targets[:size])
    assert traced == [64, 30, 7]


# The session of a gradient manager: attach, record, backward, clear


def test_a_gradient_managers_session():
    params = {"w": np.array([1.0, 2.0]), "b": np.float64(0.5)}  # what is attached
    loss = lambda p, x: fnp.sum((x @ p["w"] + p["b"]) ** 2)
    zeros = lambda: tree.map(np.zeros_like, params)

    gradients = zeros()
    for x in (np.array([1.0, 0.0]), np.array([0.0, 1.0])):
        _, pullback = fg.vjp(lambda p, x=x: loss(p, x), params)  # the session records
        gradients = tree.map(np.add, gradients, pullback(1.0)[0])  # backward adds up
    np.testing.assert_array_equal(gradients["w"], [3.0, 5.0])  # 2 (1 + 0.5), 2 (2 + 0.5)
    assert gradients["b"] == 8.0

    gradients = zeros()  # clear
    assert (gradients["w"].tolist(), gradients["b"]) == ([0.0, 0.0], 0.0)


def test_several_losses_of_one_session():
    losses, pullback = fg.vjp(lambda x: (x**2, x**3), 2.0)
    assert losses == (4.0, 8.0)
    assert pullback((1.0, 0.0)) == (4.0,)
    assert pullback((0.0, 1.0)) == (12.0,)
    assert pullback((1.0, 1.0)) == (16.0,)


# Momentum and schedules


def test_momentum_on_a_parabola():
    """The steps are linear: (x, v) is multiplied by one matrix in each."""
    rate, friction, curvature = 0.1, 0.9, 2.0
    gradient = fg.grad(lambda x: curvature * x**2 / 2)

    @fg.jit
    def step(state):
        x, velocity = state
        velocity = friction * velocity + gradient(x)
        return x - rate * velocity, velocity

    matrix = [[1 - rate * curvature, -rate * friction], [curvature, friction]]
    state = np.float64(1.0), np.float64(0.0)
    for count in range(1, 51):
        state = step(state)
        expected = np.linalg.matrix_power(matrix, count) @ [1.0, 0.0]
        np.testing.assert_allclose(state, expected, rtol=0, atol=1e-14)


def halved_every_ten(count):
    return 0.1 * 0.5 ** (count // 10)


def decayed(count):
    return 0.1 * fnp.exp(-0.05 * count)


def warmed_up_and_cosine(count):
    return 0.1 * fnp.where(count < 10, count / 10, (1 + fnp.cos(np.pi * (count - 10) / 40)) / 2)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (halved_every_ten, {0: 0.1, 9: 0.1, 10: 0.05, 25: 0.025, 40: 0.00625}),
        (decayed, {0: 0.1, 20: 0.036787944117144235, 40: 0.013533528323661271}),
        (warmed_up_and_cosine, {0: 0.0, 5: 0.05, 10: 0.1, 30: 0.05, 50: 0.0}),
    ],
)
def test_schedules_run_inside_of_one_program(schedule, rates):
    traced = []

    @fg.jit
    def step(x, count):
        traced.append(count)
        return x - schedule(count) * fg.grad(lambda x: x)(x)

    x = [np.float64(0.0)]
    for count in range(51):
        x.append(step(x[-1], count))
    taken = -np.diff(x)
    for count, rate in rates.items():
        assert taken[count] == pytest.approx(rate, abs=1e-15)
        assert float(schedule(count)) == pytest.approx(rate, abs=1e-16)
    assert len(traced) == 1
    _, scanned = lax.scan(lambda x, n: (step(x, n), schedule(n)), 0.0, np.arange(51))
    np.testing.assert_allclose(scanned, taken, rtol=0, atol=1e-15)


# Devices, on NumPy alone


def test_arrays_move_between_devices_and_to_a_default_one():
    x = np.ones(3)
    (cpu,) = fg.devices("cpu")
    assert fg.device_put(x, cpu) is x
    assert fg.device_get(fg.device_put({"x": x}, "cpu"))["x"] is x
    with fg.default_device(cpu):
        assert fg.devices()[0] == cpu
        np.testing.assert_array_equal(fg.grad(lambda x: fnp.sum(x**2))(fg.device_put(x)), 2 * x)
