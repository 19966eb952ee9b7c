"""Layers and losses."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def perceptron(x, w1, b1, w2, b2):
    hidden = np.tanh(x @ w1 + b1)
    return hidden @ w2 + b2


def classifier_loss(x, w, b):
    labels = np.array([1, 0, 2])
    logits = np.maximum(x, 0) @ w + b
    logits = logits - logits.max(axis=1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(labels)), labels].mean()


def lstm_cell(x, h, c, w, u, b):
    # Hochreiter and Schmidhuber 1997, with forget gates.
    sigmoid = lambda t: 1 / (1 + np.exp(-t))
    i, f, o, g = np.split(x @ w + h @ u + b, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def recurrent_states(x, w, u):
    states = np.zeros((len(x) + 1, w.shape[1]))
    for t in range(len(x)):
        states[t + 1] = np.tanh(x[t] @ w + states[t] @ u)
    return states[1:]


def layer_norm(x, gain, bias):
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * gain + bias


def batch_norm_in_place(x, gain):
    y = x.copy()
    y -= y.mean(axis=0)
    y /= np.sqrt(np.mean(y * y, axis=0) + 1e-5)
    y *= gain
    return y


def convolution_by_loops(image, kernel):
    kh, kw = kernel.shape
    out = np.zeros((image.shape[0] - kh + 1, image.shape[1] - kw + 1))
    for i in range(kh):
        for j in range(kw):
            out += kernel[i, j] * image[i : i + out.shape[0], j : j + out.shape[1]]
    return out


def convolution_by_windows(image, kernel):
    windows = sliding_window_view(image, kernel.shape)
    return np.einsum("ijkl,kl->ij", windows, kernel)


def max_pooling(image):
    h, w = image.shape
    return image.reshape(h // 2, 2, w // 2, 2).max(axis=(1, 3))


def embedding_lookup(table, weights):
    words = np.array([[0, 2], [3, 0]])
    return np.einsum("nwd,d->nw", table[words], weights)


def dropout(x, rate=0.5):
    keep = np.array([[True, False, True], [False, True, True]])
    return np.where(keep, x / (1 - rate), 0.0)


def gradient_descent_by_hand(x, y, w, rate=0.1, steps=3):
    w = w.copy()
    for _ in range(steps):
        w -= rate * 2 * x.T @ (x @ w - y) / len(y)
    return np.mean((x @ w - y) ** 2)


def adam_by_hand(w, steps=3):
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t in range(1, steps + 1):
        g = np.cos(w) + 0.1 * w
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g**2
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
    return w


def gelu_and_softplus(x):
    gelu = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return gelu + np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


def graph_convolution(x, w):
    adjacency = np.array([[0.0, 1, 1], [1, 0, 0], [1, 0, 0]]) + np.eye(3)
    degree = adjacency.sum(axis=1)
    return np.maximum(adjacency / np.sqrt(np.outer(degree, degree)) @ x @ w, 0)


def contrastive_loss(a, b, temperature):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    s = a @ b.T / temperature
    return np.mean(np.log(np.exp(s).sum(axis=1)) - np.diagonal(s))


def positional_encoding(x, scale):
    position = np.arange(x.shape[0])[:, None]
    rate = scale ** (-np.arange(0, x.shape[1], 2) / x.shape[1])
    out = x.copy()
    out[:, 0::2] += np.sin(position * rate)
    out[:, 1::2] += np.cos(position * rate)
    return out


def inputs(rng):
    n = rng.normal
    return {
        "perceptron": (n(size=(3, 2)), n(size=(2, 4)), n(size=4), n(size=(4, 1)), n(size=1)),
        "classifier_loss": (n(size=(3, 2)), n(size=(2, 3)), n(size=3)),
        "lstm_cell": (
            n(size=2),
            n(size=3),
            n(size=3),
            n(size=(2, 12)),
            n(size=(3, 12)),
            n(size=12),
        ),
        "recurrent_states": (n(size=(3, 2)), n(size=(2, 3)), n(size=(3, 3))),
        "layer_norm": (n(size=(2, 4)), n(size=4), n(size=4)),
        "batch_norm_in_place": (n(size=(4, 2)), n(size=2)),
        "convolution_by_loops": (n(size=(4, 4)), n(size=(2, 3))),
        "convolution_by_windows": (n(size=(4, 4)), n(size=(2, 3))),
        "max_pooling": (n(size=(4, 6)),),
        "embedding_lookup": (n(size=(4, 3)), n(size=3)),
        "dropout": (n(size=(2, 3)),),
        "gradient_descent_by_hand": (n(size=(4, 2)), n(size=4), n(size=2)),
        "adam_by_hand": (n(size=3),),
        "gelu_and_softplus": (n(size=4),),
        "graph_convolution": (n(size=(3, 2)), n(size=(2, 2))),
        "contrastive_loss": (n(size=(3, 2)), n(size=(3, 2)), np.float64(0.5)),
        "positional_encoding": (n(size=(3, 4)), np.float64(100.0)),
    }


NOT_OVERRIDABLE = {
    "recurrent_states": "assigns to np.zeros",
    "convolution_by_loops": "assigns to np.zeros",
}
LOOKS_AT_VALUES = {}
