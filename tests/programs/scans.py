"""Cumulative sums and products, and recurrences."""

import numpy as np


def random_walk_maximum(steps):
    walk = np.cumsum(steps)
    return np.maximum.accumulate(walk) - walk


def drawdown(returns):
    wealth = np.cumprod(1 + returns)
    peak = np.maximum.accumulate(wealth)
    return np.max(1 - wealth / peak) + wealth[-1]


def exponential_moving_average(x, alpha):
    out = np.zeros_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = alpha * x[i] + (1 - alpha) * out[i - 1]
    return out


def moving_average_by_cumsum(x, width=3):
    total = np.cumsum(np.insert(x, 0, 0.0))
    return (total[width:] - total[:-width]) / width


def log_partition_of_prefixes(x):
    return np.logaddexp.accumulate(x) - np.logaddexp.reduce(x)


def survival_probabilities(hazard):
    alive = np.cumprod(1 - hazard)
    before = np.concatenate([[1.0], alive[:-1]])
    return before * hazard, alive


def discounted_returns(rewards, gamma):
    out, running = [], 0.0
    for r in rewards[::-1]:
        running = r + gamma * running
        out.append(running)
    return np.stack(out[::-1])


def stick_breaking(v):
    left = np.append(1.0, np.cumprod(1 - v))
    return np.append(v, 1.0) * left


def second_differences(m):
    return np.diff(np.cumsum(m, axis=1), n=2, axis=0) * np.ediff1d(m[0]).sum()


def cumulative_trapezoid(x, y):
    area = np.cumsum(0.5 * (y[1:] + y[:-1]) * np.diff(x))
    return np.concatenate(([0.0], area)) + np.trapezoid(y, x)


def linear_recurrence(a, b):
    h = 0.0
    hs = []
    for ai, bi in zip(a, b):
        h = np.tanh(ai) * h + bi
        hs.append(h)
    return np.array(hs)


def clamped_accumulation(x):
    level = np.zeros_like(x)
    for i in range(1, x.size):
        level[i] = np.clip(level[i - 1] + x[i], -0.5, 1.0)
    return level * x


def biquad_filter(x, b, a):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = b[0] * x[i]
        if i > 0:
            y[i] += b[1] * x[i - 1] - a[0] * y[i - 1]
        if i > 1:
            y[i] += b[2] * x[i - 2] - a[1] * y[i - 2]
    return y


def summed_area_table(image):
    s = np.pad(image, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    return s[2:, 2:] - s[:-2, 2:] - s[2:, :-2] + s[:-2, :-2]


def segment_sums(x):
    return np.add.reduceat(x, [0, 2, 3]) * np.multiply.reduce(x)


def subtract_accumulated(x):
    return np.subtract.accumulate(x) + np.divide.accumulate(x)[-1]


def inputs(rng):
    n, u = rng.normal, rng.uniform
    return {
        "random_walk_maximum": (n(size=6),),
        "drawdown": (n(size=6) / 5,),
        "exponential_moving_average": (n(size=5), np.float64(0.3)),
        "moving_average_by_cumsum": (n(size=6),),
        "log_partition_of_prefixes": (n(size=5),),
        "survival_probabilities": (u(0.1, 0.5, 5),),
        "discounted_returns": (n(size=4), np.float64(0.9)),
        "stick_breaking": (u(0.1, 0.9, 4),),
        "second_differences": (n(size=(4, 3)),),
        "cumulative_trapezoid": (np.sort(n(size=5)), n(size=5)),
        "linear_recurrence": (n(size=4), n(size=4)),
        "clamped_accumulation": (n(size=6),),
        "biquad_filter": (n(size=5), n(size=3), n(size=2) / 3),
        "summed_area_table": (n(size=(4, 4)),),
        "segment_sums": (n(size=5),),
        "subtract_accumulated": (u(0.5, 1.5, 4),),
    }


NOT_OVERRIDABLE = {
    "linear_recurrence": "np.array",
    "biquad_filter": "assigns to np.zeros",
}
LOOKS_AT_VALUES = {}
