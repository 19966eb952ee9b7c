"""Loops that fill arrays, in-place operators, `out=`, and writing through views."""

import numpy as np


def differences_in_a_loop(x):
    out = np.zeros_like(x)
    for i in range(1, len(x)):
        out[i] = x[i] - x[i - 1] ** 2
    out[0] = x[-1]
    return out


def table_of_products(x, y):
    table = np.zeros((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            table[i, j] = x[i] * y[j] / (1 + abs(x[i]))
    return table


def rows_collected_in_empty(x):
    out = np.empty((3, x.size))
    out[0] = x
    out[1] = np.sin(x)
    out[2, ::-1] = out[0] * out[1]
    return out


def like_another(x):
    out = np.empty((2, len(x)), like=x)
    out[0], out[1] = x**2, x[::-1]
    return out.T


def shifted_sums(x, y):
    a = x.copy()
    a[1:] += y[:-1] * x[:-1]
    a[:-1] -= a[1:]
    a[::2] *= 2
    return a


def written_to_out(a, b):
    c = np.empty_like(a)
    np.add(a, b, out=c)
    np.multiply(c, a, out=c)
    np.tanh(c, c)
    np.subtract(c, b, out=c, where=a > 0)
    return c


def scatter_add(x, values):
    bins = np.array([0, 2, 2, 1, 0])
    total = x.copy()
    np.add.at(total, bins, values**2)
    np.multiply.at(total, [1, 1], values[:2])
    return total


def histogram_in_a_loop(weights):
    counts = np.zeros(3)
    for i, w in enumerate(weights):
        counts[i % 3] += w * w
    return counts / counts.sum()


def filled_and_scaled(x):
    a = np.empty_like(x)
    a.fill(x.sum())
    a[1:-1] = x[1:-1]
    a /= a.max()
    return a


def sorted_in_place(x):
    a = x * x - x
    a.sort()
    a[::-1].sort()
    return np.cumsum(a) * x


def matrix_through_views(m):
    a = np.array(m)
    a[0] += a[1]
    a[:, 0] *= a[:, 1]
    diagonal = a.reshape(-1)[:: a.shape[1] + 1]
    diagonal += 1
    a.T[1] = a[:, 2] * 2
    return a


def blocks(a, b):
    out = np.zeros((4, 4))
    out[:2, :2] = a
    out[2:, 2:] = b
    out[:2, 2:] = a @ b
    out[2:, :2] = out[:2, 2:].T
    return out


def ping_pong(x, steps=4):
    now, after = x.copy(), np.empty_like(x)
    for _ in range(steps):
        after[1:-1] = 0.5 * (now[:-2] + now[2:])
        after[0], after[-1] = now[-1], np.sin(now[0])
        now, after = after, now
    return now


def swap_rows(m):
    a = m.copy()
    a[[0, 2]] = a[[2, 0]]
    a[:, [0, 1]] = a[:, [1, 0]] * 2
    kept = a[1].copy()
    a[1] = a[0]
    a[0] = kept
    return a


def running_maximum_in_place(x):
    a = x.copy()
    for i in range(1, len(a)):
        a[i] = max(a[i], a[i - 1])
    return a


def work_buffer(m):
    row, total = np.zeros(m.shape[1]), np.zeros(m.shape[1])
    for r in m:
        row[:] = r
        row *= row
        row += 1
        total += np.log(row)
    return total


def symmetrized_in_place(m):
    a = m.copy()
    i, j = np.triu_indices(len(a), 1)
    a[j, i] = a[i, j]
    np.fill_diagonal(a, np.abs(np.diag(m)) + 1)
    return a


def flat_iteration(m):
    a = m.copy()
    a.flat[::2] = a.flat[1]
    total = 0.0
    for v in a.flat:
        total = total * 0.5 + v
    return a * total


def nd_iteration(m):
    out = np.zeros_like(m)
    for i in np.ndindex(m.shape):
        out[i] = m[i] ** (sum(i) + 1)
    for (i, j), v in np.ndenumerate(m):
        out[j % 2, i] += v
    return out


def matrix_multiply_by_hand(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def complex_parts(z):
    w = z.copy()
    w.real += w.imag**2
    w.imag[1:] = 0.5
    w *= 1j
    return w


def inputs(rng):
    n = rng.normal
    return {
        "differences_in_a_loop": (n(size=5),),
        "table_of_products": (n(size=3), n(size=2)),
        "rows_collected_in_empty": (n(size=4),),
        "like_another": (n(size=3),),
        "shifted_sums": (n(size=5), n(size=5)),
        "written_to_out": (n(size=(2, 3)), n(size=(2, 3))),
        "scatter_add": (n(size=3), n(size=5)),
        "histogram_in_a_loop": (n(size=7),),
        "filled_and_scaled": (n(size=5) + 4,),
        "sorted_in_place": (n(size=6),),
        "matrix_through_views": (n(size=(3, 4)),),
        "blocks": (n(size=(2, 2)), n(size=(2, 2))),
        "ping_pong": (n(size=6),),
        "swap_rows": (n(size=(3, 3)),),
        "running_maximum_in_place": (n(size=6),),
        "work_buffer": (n(size=(3, 4)),),
        "symmetrized_in_place": (n(size=(3, 3)),),
        "flat_iteration": (n(size=(2, 3)),),
        "nd_iteration": (n(size=(2, 2)),),
        "matrix_multiply_by_hand": (n(size=(2, 3)), n(size=(3, 2))),
        "complex_parts": (n(size=4) + 1j * n(size=4),),
    }


NOT_OVERRIDABLE = {
    "table_of_products": "assigns to np.zeros",
    "rows_collected_in_empty": "assigns to np.empty",
    "histogram_in_a_loop": "assigns to np.zeros",
    "blocks": "assigns to np.zeros",
    "matrix_multiply_by_hand": "assigns to np.zeros",
    "work_buffer": "assigns to np.zeros",
    "matrix_through_views": "np.array",
    "nd_iteration": "np.ndenumerate",
}
LOOKS_AT_VALUES = {"running_maximum_in_place": "Python's max"}
