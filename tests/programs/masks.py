"""Boolean masks, `np.where` and its relatives, and Python's `if` and `while` on values."""

import numpy as np


def relu_by_mask(x):
    a = x.copy()
    a[a < 0] = 0
    return a


def leaky_by_mask(x):
    a = x.copy()
    a[a < 0] *= 0.1
    a[np.abs(x) > 1] -= x.mean()
    return a


def mean_of_the_positive(x):
    return x[x > 0].mean() - x[x <= 0].sum()


def masked_rows(m):
    keep = m[:, 0] > 0
    return m[keep].sum(axis=0) * (~keep).sum() + m[~keep, 1].prod()


def huber(x, delta=0.8):
    return np.where(np.abs(x) <= delta, 0.5 * x**2, delta * (np.abs(x) - 0.5 * delta))


def safe_log_ratio(x, y):
    safe = np.where(x > 0, x, 1.0)
    return np.where(x > 0, np.log(safe) * y, -y)


def piecewise_linear(x):
    return np.piecewise(x, [x < -0.5, x > 0.5], [lambda t: -t * t, lambda t: t**3, 0.25])


def selected(x, y):
    return np.select([x > 1, y > 0, x < -1], [x * y, np.exp(-y), y], default=x)


def chosen(x, y):
    return np.choose((x > 0).astype(int) + (y > 0), [x * x, y, x * y])


def outliers_clipped(x):
    a = x.copy()
    limit = 1.2 * a.std()
    np.clip(a, a.mean() - limit, a.mean() + limit, out=a)
    return a


def absolute_by_branch(x):
    return -x if x < 0 else x * x


def soft_sign_of_each(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        if x[i] > 0.5:
            out[i] = x[i] ** 2
        elif x[i] > -0.5:
            out[i] = x[i] / 2
    return out


def square_root_by_newton(x):
    guess = np.ones_like(x)
    while np.max(np.abs(guess * guess - x)) > 8 * np.finfo(x.dtype).eps:
        guess = 0.5 * (guess + x / guess)
    return guess


def halved_until_small(x):
    count = 0
    while np.linalg.norm(x) > 1:
        x = x / 2
        count += 1
    return x * count


def golden_section_minimum(a, b):
    # The minimum is of cos(x) + a x^2 between b - 2 and b + 2, to a fixed number of steps.
    ratio = (np.sqrt(5) - 1) / 2
    low, high = b - 2.0, b + 2.0
    for _ in range(4):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if np.cos(left) + a * left**2 < np.cos(right) + a * right**2:
            high = right
        else:
            low = left
    return 0.5 * (low + high) * a


def any_and_all(x):
    if np.any(x > 10) or not np.all(np.isfinite(x)):
        raise ValueError("out of range")
    return x / (1 + x.max())


def nonzero_entries(x):
    (where,) = np.nonzero(x > 0)
    first = np.argmax(x > 0)
    return x[where] ** 2 * x[first]


def compressed(m):
    return np.compress(m[0] > 0, m, axis=1).sum() + np.extract(m > 1, m).sum()


def put_and_place(m):
    a = m.copy()
    np.putmask(a, a > 1, a**2)
    np.place(a, a < -0.5, [0.5, 0.25])
    np.put(a, [0, -1], m[0, :2])
    np.copyto(a, m[0] * 2, where=m > 0.9)
    return a


def nan_rows_left_out(m):
    a = np.where(m > 1, np.nan, m)
    return np.nanmean(a, axis=0) + np.nansum(a * a) + np.nan_to_num(a).max()


def inputs(rng):
    n = rng.normal
    return {
        "relu_by_mask": (n(size=6),),
        "leaky_by_mask": (n(size=6),),
        "mean_of_the_positive": (np.array([0.5, -1.0, 2.0, -0.3]),),
        "masked_rows": (np.array([[0.5, 1.0, -1], [-0.2, 0.3, 0.1], [2, -0.7, 1.5]]),),
        "huber": (np.array([0.5, -1.5, 0.1, 2.0]),),
        "safe_log_ratio": (np.array([0.5, -1.0, -0.2, 2.0]), n(size=4)),
        "piecewise_linear": (np.array([-0.9, -0.1, 0.3, 1.2]),),
        "selected": (np.array([1.5, -2.0, 0.1, -0.3]), np.array([0.4, -0.8, 1.0, -0.2])),
        "chosen": (np.array([1.5, -2.0, 0.1, -0.3]), np.array([0.4, -0.8, -1.0, 0.2])),
        "outliers_clipped": (np.array([0.1, 3.0, -0.2, 0.4, -2.5, 0.3]),),
        "absolute_by_branch": (np.float64(-1.25),),
        "soft_sign_of_each": (np.array([0.9, -0.9, 0.2, 0.7]),),
        "square_root_by_newton": (np.array([2.0, 0.5, 1.1]),),
        "halved_until_small": (np.array([2.0, -3.0]),),
        "golden_section_minimum": (np.float64(0.3), np.float64(1.0)),
        "any_and_all": (np.array([1.0, 3.0, 2.0]),),
        "nonzero_entries": (np.array([-0.4, 1.5, -1.0, 0.7]),),
        "compressed": (np.array([[0.5, -1.0, 2.0], [1.5, 0.2, 0.7]]),),
        "put_and_place": (np.array([[0.5, -1.0, 2.0], [1.5, 0.2, 0.7]]),),
        "nan_rows_left_out": (np.array([[0.5, -1.0, 2.0], [0.3, 0.2, 0.7]]),),
    }


NOT_OVERRIDABLE = {}
LOOKS_AT_VALUES = {
    "masked_rows": "reads through a mask",
    "absolute_by_branch": "if",
    "soft_sign_of_each": "if",
    "square_root_by_newton": "while",
    "halved_until_small": "while",
    "golden_section_minimum": "if",
    "any_and_all": "if",
    "nonzero_entries": "np.nonzero",
    "compressed": "np.compress",
}
