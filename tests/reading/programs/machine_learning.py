"""Machine learning by hand."""

import math

import numpy as np

from tests.reading.programs.program import Program

X = np.array([[0.5, 1.2], [-1.0, 0.3], [0.8, -0.7], [1.5, 0.9], [-0.4, -1.1], [-1.3, 0.8]])
Y = np.array([1, 0, 1, 1, 0, 0])


def sigmoid(z):
    if z >= 0:
        return 1 / (1 + math.exp(-z))
    e = math.exp(z)
    return e / (1 + e)


def logistic_descent(w0):
    """Loss after some rounds of gradient descent by loops over the samples."""
    w = [w0[0], w0[1], w0[2]]
    rate = 0.5
    for _ in range(5):
        grad = [0.0, 0.0, 0.0]
        for row, label in zip(X, Y):
            p = sigmoid(w[0] + w[1] * row[0] + w[2] * row[1])
            grad[0] += p - label
            for j in range(2):
                grad[j + 1] += (p - label) * row[j]
        w = [wi - rate * g / len(Y) for wi, g in zip(w, grad)]
    loss = 0.0
    for row, label in zip(X, Y):
        p = sigmoid(w[0] + w[1] * row[0] + w[2] * row[1])
        loss -= math.log(p) if label == 1 else math.log(1 - p)
    return loss


def unpack(theta, sizes):
    layers, start = [], 0
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):  # noqa: RUF007
        W = theta[start : start + n_in * n_out].reshape(n_in, n_out)
        start += n_in * n_out
        b = theta[start : start + n_out]
        start += n_out
        layers.append({"W": W, "b": b})
    return layers


def perceptron(theta):
    """A network of two layers from a flat vector, with dictionaries of parameters."""
    h = X
    layers = unpack(theta, [2, 2, 1])
    for k, layer in enumerate(layers):
        h = h @ layer["W"] + layer["b"]
        if k < len(layers) - 1:
            h = np.tanh(h)
    p = 1 / (1 + np.exp(-h[:, 0]))
    return -np.mean(Y * np.log(p) + (1 - Y) * np.log(1 - p))


def leaky(x):
    return np.maximum(x, 0.1 * x)


def recurrent(w):
    """A recurrent network over a sequence, with the states in a list."""
    inputs = [0.5, -0.2, 0.9, 0.1, -0.7]
    W = np.array([[w[0], 0.2], [-0.3, w[1]]])
    u = np.array([w[2], 0.5])
    states = [np.zeros(2)]
    for x in inputs:
        states.append(np.tanh(W @ states[-1] + u * x))
    out = np.array(states[1:])
    return np.mean((out[:, 0] - np.array(inputs)) ** 2) + leaky(out[-1, 1])


def kmeans_inertia(c):
    """Inertia after rounds of k-means from two centres."""
    centres = c.reshape(2, 2).copy()
    for _ in range(3):
        labels = np.array([np.argmin(np.sum((centres - p) ** 2, axis=1)) for p in X])
        for k in range(2):
            members = X[labels == k]
            if len(members) > 0:
                centres[k] = 0.5 * centres[k] + 0.5 * members.mean(axis=0)
    total = 0.0
    for p in X:
        total += min(np.sum((p - centres[0]) ** 2), np.sum((p - centres[1]) ** 2))
    return total


def decision_stump(x):
    """Weighted error of a smooth stump, and the vote of a boosting round."""
    threshold, sharp = x
    weights = np.ones(len(Y)) / len(Y)
    alphas = []
    for feature in range(2):
        pred = 1 / (1 + np.exp(-sharp * (X[:, feature] - threshold)))
        err = np.sum(weights * np.abs(pred - Y))
        if err > 0.5:
            alphas.append(0.0 * err)
            continue
        alpha = 0.5 * np.log((1 - err) / err)
        alphas.append(alpha)
        weights *= np.exp(alpha * np.abs(pred - Y))
        weights /= weights.sum()
    return sum(alphas) + weights[0]


def attention(x):
    """Attention over tokens with a causal mask, row by row."""
    scale, temperature = x
    tokens = np.sin(np.outer(np.arange(1, 5), np.arange(1, 4)))
    Q, K, V = tokens * scale, tokens[:, ::-1], tokens**2
    out = np.zeros_like(tokens)
    for i in range(4):
        scores = np.array([Q[i] @ K[j] / temperature for j in range(i + 1)])
        e = np.exp(scores - np.max(scores))
        out[i] = (e / e.sum()) @ V[: i + 1]
    return np.sum(out**2)


def gaussian_process(x):
    """Log marginal likelihood of a Gaussian process, its kernel filled by a double loop."""
    length, noise = x
    t = [0.0, 0.4, 1.1, 1.7, 2.5]
    y = np.sin(t)
    n = len(t)
    K = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            K[i, j] = np.exp(-0.5 * ((t[i] - t[j]) / length) ** 2)
            if i == j:
                K[i, j] += noise**2
    L = np.linalg.cholesky(K)
    a = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return -0.5 * y @ a - np.log(np.diag(L)).sum() - n / 2 * math.log(2 * math.pi)


def q_learning(x):
    """Values of states of a corridor by temporal differences along fixed episodes."""
    rate, discount = x
    Q = {(s, a): 0.0 for s in range(4) for a in ("left", "right")}
    episodes = [[0, 1, 2, 3], [1, 0, 1, 2, 3], [2, 1, 2, 3], [0, 1, 2, 3]]
    for path in episodes:
        for s, after in zip(path, path[1:]):  # noqa: RUF007
            a = "right" if after > s else "left"
            reward = 1.0 if after == 3 else -0.05
            best = 0.0 if after == 3 else max(Q[after, "left"], Q[after, "right"])
            Q[s, a] += rate * (reward + discount * best - Q[s, a])
    return sum(v**2 for v in Q.values()) + Q[0, "right"]


def adam_rosenbrock(x):
    """Value of Rosenbrock's function after steps of Adam from a start."""
    x = np.array(x, dtype=float)
    m, v = np.zeros_like(x), np.zeros_like(x)
    for t in range(1, 9):
        g = np.array([-2 * (1 - x[0]) - 40 * x[0] * (x[1] - x[0] ** 2), 20 * (x[1] - x[0] ** 2)])
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g**2
        x -= 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
    return (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2


PROGRAMS = (
    Program(logistic_descent, [0.1, -0.2, 0.3], ([1, 1, 1], [-2, 3, 0.5], [0.5, -1, 2])),
    Program(
        perceptron,
        [0.5, -0.3, 0.8, 0.1, 0.2, -0.4, 0.9, -0.7, 0.05],
        (
            [1.0, 0.3, -0.8, 0.5, 0.1, 0.4, -0.9, 0.7, 0.3],
            [2, -1, 1, 2, 0.3, 0.1, 1, 1, -1],
            [0.1] * 9,
        ),
    ),
    Program(recurrent, [0.5, 0.4, 1.0], ([-0.6, 0.9, 0.3], [1.2, -0.5, -1], [0.2, 2.0, 0.7])),
    Program(
        kmeans_inertia,
        [1.0, 0.5, -1.0, 0.2],
        ([0, 1, 0.1, -1], [0.5, 0.5, 9, 9], [-1, -1, 1.0, 1.2]),
    ),
    Program(decision_stump, [0.1, 3.0], ([0.6, 1.0], [-0.5, 6.0], [1.6, 2.0])),
    Program(attention, [1.0, 1.7], ([0.3, 1.0], [2.0, 0.5], [-1.0, 3.0])),
    Program(gaussian_process, [0.8, 0.3], ([0.3, 0.5], [2.0, 0.2], [1.2, 1.0])),
    Program(q_learning, [0.5, 0.9], ([0.1, 0.5], [0.9, 0.95], [0.3, 0.2])),
    Program(adam_rosenbrock, [-0.5, 0.8], ([1.5, 0.2], [0.3, -1.0], [-1.2, 1.0])),
)
