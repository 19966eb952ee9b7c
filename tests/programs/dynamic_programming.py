"""Dynamic programming, with tables that are filled in place."""

import numpy as np


def viterbi_score(log_start, log_move, log_emit):
    score = log_start + log_emit[0]
    for emit in log_emit[1:]:
        score = np.max(score[:, None] + log_move, axis=0) + emit
    return score.max()


def forward_algorithm(log_start, log_move, log_emit):
    alpha = np.zeros(log_emit.shape)
    alpha[0] = log_start + log_emit[0]
    for t in range(1, len(log_emit)):
        alpha[t] = np.logaddexp.reduce(alpha[t - 1][:, None] + log_move, axis=0) + log_emit[t]
    return np.logaddexp.reduce(alpha[-1])


def forward_and_backward(move, emit):
    n, k = emit.shape
    a, b = np.empty((n, k)), np.ones((n, k))
    a[0] = emit[0] / k
    for t in range(1, n):
        a[t] = (a[t - 1] @ move) * emit[t]
        a[t] /= a[t].sum()
    for t in range(n - 2, -1, -1):
        b[t] = move @ (emit[t + 1] * b[t + 1])
    posterior = a * b
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior


def soft_time_warping(x, y, gamma=0.5):
    # Cuturi and Blondel 2017.
    r = np.full((len(x) + 1, len(y) + 1), 1e6)
    r[0, 0] = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            z = np.stack([r[i, j], r[i, j + 1], r[i + 1, j]]) / -gamma
            softest = -gamma * (z.max() + np.log(np.exp(z - z.max()).sum()))
            r[i + 1, j + 1] = (x[i] - y[j]) ** 2 + softest
    return r[-1, -1]


def edit_distance(x, y, gap):
    d = np.zeros((len(x) + 1, len(y) + 1))
    d[:, 0] = gap * np.arange(len(x) + 1)
    d[0, :] = gap * np.arange(len(y) + 1)
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            change = d[i - 1, j - 1] + np.abs(x[i - 1] - y[j - 1])
            d[i, j] = min(change, d[i - 1, j] + gap, d[i, j - 1] + gap)
    return d[-1, -1]


def floyd_warshall(weights):
    d = weights.copy()
    for k in range(len(d)):
        np.minimum(d, d[:, k, None] + d[None, k, :], out=d)
    return d


def bellman_ford(weights):
    distance = np.full(len(weights), 10.0)
    distance[0] = 0
    for _ in range(len(weights) - 1):
        distance = np.minimum(distance, np.min(distance[:, None] + weights, axis=0))
    return distance


def matrix_chain_cost(sizes):
    n = len(sizes) - 1
    cost = np.zeros((n, n))
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [
                cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            ]
            cost[i, j] = min(options)
    return cost[0, -1]


def value_iteration(reward, discount, steps=4):
    move = np.array(
        [[[0.8, 0.2, 0], [0, 0.5, 0.5], [0.1, 0, 0.9]], [[0, 1.0, 0], [1, 0, 0], [0, 0.3, 0.7]]]
    )
    v = np.zeros(3)
    for _ in range(steps):
        q = reward + discount * move @ v
        v = q.max(axis=0)
    return v, q.argmax(axis=0) * v


def seam_through_an_image(energy):
    m = energy.copy()
    for i in range(1, len(m)):
        padded = np.pad(m[i - 1], 1, constant_values=np.inf)
        m[i] += np.minimum(np.minimum(padded[:-2], padded[1:-1]), padded[2:])
    return m[-1].min()


def knapsack_relaxed(values, weights=(2, 3, 1), capacity=5):
    best = np.zeros(capacity + 1)
    for v, w in zip(values, weights):
        best[w:] = np.maximum(best[w:], best[:-w] + v)
    return best


def counted_paths(p):
    n = 4
    table = np.zeros((n, n))
    table[0] = 1
    table[:, 0] = p
    for i, j in np.ndindex(n - 1, n - 1):
        table[i + 1, j + 1] = p * table[i, j + 1] + (1 - p) * table[i + 1, j]
    return table


def sinkhorn(cost, steps=4, strength=0.5):
    # Cuturi 2013.
    k = np.exp(-cost / strength)
    u = np.ones(len(cost))
    for _ in range(steps):
        v = 1 / (u @ k)
        u = 1 / (k @ v)
    return np.sum(u[:, None] * k * v * cost)


def inputs(rng):
    n, u = rng.normal, rng.uniform
    hidden = (n(size=2), n(size=(2, 2)), n(size=(4, 2)))
    return {
        "viterbi_score": hidden,
        "forward_algorithm": hidden,
        "forward_and_backward": (u(0.2, 0.8, (2, 2)), u(0.2, 0.8, (4, 2))),
        "soft_time_warping": (n(size=3), n(size=2)),
        "edit_distance": (n(size=3), n(size=3), np.float64(0.4)),
        "floyd_warshall": (u(0.5, 3, (4, 4)),),
        "bellman_ford": (u(0.5, 3, (4, 4)),),
        "matrix_chain_cost": (u(1, 5, 5),),
        "value_iteration": (n(size=(2, 3)), np.float64(0.9)),
        "seam_through_an_image": (u(0, 1, (4, 5)),),
        "knapsack_relaxed": (u(1, 3, 3),),
        "counted_paths": (np.float64(0.3),),
        "sinkhorn": (u(0, 1, (3, 3)),),
    }


NOT_OVERRIDABLE = {
    "forward_algorithm": "assigns to np.zeros",
    "forward_and_backward": "assigns to np.empty",
    "soft_time_warping": "assigns to np.full",
    "edit_distance": "assigns to np.zeros",
    "matrix_chain_cost": "assigns to np.zeros",
    "knapsack_relaxed": "assigns to np.zeros",
    "counted_paths": "assigns to np.zeros",
}
LOOKS_AT_VALUES = {"edit_distance": "Python's min", "matrix_chain_cost": "Python's min"}
