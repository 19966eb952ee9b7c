"""Programs that collect: lists that grow where a condition holds, generators, queues, and loops that end early."""

import math
from collections import defaultdict, deque

import numpy as np

from tests.reading.programs.program import Program


def detector_events(x):
    """Hits above a threshold, as a list of times and one of energies."""
    threshold, gain = x
    signal = gain * np.sin(0.9 * np.arange(30)) * np.exp(-0.05 * np.arange(30))
    times, energies = [], []
    for k, s in enumerate(signal):
        if s > threshold:
            times.append(0.1 * k)
            energies.append(s**2)
    if not energies:
        return 0.0
    return np.average(times, weights=energies) + sum(energies)


def pareto_front(x):
    """The designs that no other one dominates: mass against deflection of a beam."""
    widths = np.linspace(0.5, 2.0, 9)
    points = [(w * (1 + 0.3 * math.sin(x * w * 5)), 1 / w**3 + 0.1 * x) for w in widths]
    front = []
    for i, p in enumerate(points):
        dominated = False
        for j, q in enumerate(points):
            if j != i and q[0] <= p[0] and q[1] <= p[1] and (q[0] < p[0] or q[1] < p[1]):
                dominated = True
                break
        if not dominated:
            front.append(p)
    front.sort()
    area = 0.0
    for (a, b), (c, d) in zip(front, front[1:]):  # noqa: RUF007
        area += (c - a) * 0.5 * (b + d)
    return area + len(front)


def adaptive_steps(x):
    """An embedded pair of Euler and Heun: accepted steps are appended until the end of time."""
    stiffness, t_end = x
    f = lambda t, y: -stiffness * (y - math.cos(t))
    t, y, h = 0.0, 0.0, 0.3
    ts, ys = [t], [y]
    while t < t_end:
        h = min(h, t_end - t)
        k1 = f(t, y)
        k2 = f(t + h, y + h * k1)
        error = abs(0.5 * h * (k2 - k1))
        if error < 0.05:
            t = t + h
            y = y + 0.5 * h * (k1 + k2)
            ts.append(t)
            ys.append(y)
        h *= min(2.0, max(0.3, 0.9 * math.sqrt(0.05 / (error + 1e-12))))
    return np.trapezoid(ys, ts) + ys[-1]


def rejected_samples(x):
    """Importance of the samples that fall below the density, as rejection sampling leaves them."""
    rng = np.random.default_rng(3)
    proposals, heights = rng.uniform(-2, 2, 40), rng.uniform(0, 1, 40)
    kept = []
    for p, u in zip(proposals, heights):
        if u < math.exp(-((p - x) ** 2)):
            kept.append(p * x)
    return np.mean(kept) + np.std(kept)


def signal_peaks(x):
    """Local maxima of a curve, refined by parabolas, and the mean distance between them."""
    t = np.linspace(0, 6, 49)
    y = np.sin(x[0] * t) + 0.3 * np.cos(x[1] * t)
    peaks = []
    for i in range(1, len(y) - 1):
        if y[i - 1] < y[i] > y[i + 1]:
            shift = 0.5 * (y[i - 1] - y[i + 1]) / (y[i - 1] - 2 * y[i] + y[i + 1])
            peaks.append(t[i] + shift * (t[1] - t[0]))
    if len(peaks) < 2:
        return peaks[0]
    gaps = [b - a for a, b in zip(peaks, peaks[1:])]  # noqa: RUF007
    return sum(gaps) / len(gaps) + peaks[0]


def run_lengths(x):
    """Run-length coding of the signs of a curve: lengths of runs and the area in each."""
    runs = []
    for k in range(24):
        v = math.sin(0.5 * k + x) + 0.1
        if runs and runs[-1][0] == (v > 0):
            runs[-1][1] += 1
            runs[-1][2] += v
        else:
            runs.append([v > 0, 1, v])
    return sum(area**2 / length for _, length, area in runs)


def bracket_by_bisection(x):
    """A root bracketed by bisection, polished by Newton, which is what has the derivative."""
    f = lambda v: v**3 + x * v - 2
    low, high = 0.0, 3.0
    history = []
    while high - low > 0.1:
        middle = 0.5 * (low + high)
        history.append(middle)
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    v = 0.5 * (low + high)
    for _ in range(5):
        v -= f(v) / (3 * v**2 + x)
    return v + 0.01 * len(history)


def labelled_report(x):
    """A report that is built beside the numbers: labels, a width, and a total of what is labelled."""
    report, total = "", 0.0
    for name, value in zip(("mass", "drag", "lift"), x):
        label = "high" if value > 1 else "low"
        report += f"{name:>6}={value:.2f} ({label})\n"
        total += value**2 if label == "high" else 0.5 * value
    rows = report.strip().split("\n")
    assert len(rows) == 3
    return total * (1 + 0.1 * report.count("high"))


def grouped_by_sign(x):
    """A dict of lists: residuals grouped by sign, with a statistic of each group."""
    groups = {"above": [], "below": []}
    for k, v in enumerate(x):
        r = v - 0.3 * k
        groups["above" if r > 0 else "below"].append(r)
    spread = 0.0
    for members in groups.values():
        if members:
            spread += max(members) ** 2 + np.mean(members)
    return spread


def binned(x):
    """A defaultdict of lists, by the integer part, and the mean of each bin."""
    bins = defaultdict(list)
    for v in x:
        bins[int(v // 1)].append(v)
    return sum(key * np.mean(bins[key]) + len(bins[key]) * bins[key][0] for key in sorted(bins))


def median_of_window(x):
    """A deque with maxlen as the window of a moving median."""
    window = deque(maxlen=3)
    total = 0.0
    for k in range(12):
        window.append(math.sin(x * k) + 0.1 * k)
        ordered = sorted(window)
        total += ordered[len(ordered) // 2] ** 2
    return total


def unequal_zip(x):
    """zip of unequal lengths, where the longer one is cut."""
    knots = np.linspace(0, 1, 6)
    weights = [w * x for w in (0.2, 0.5, 0.2, 0.1)]
    return sum(w * math.exp(-k * x) for w, k in zip(weights, knots)) + len(
        list(zip(knots, weights))
    )


def walrus_filter(x):
    """A walrus in the condition of a comprehension, so that the value is computed once."""
    kept = [y for v in x if (y := v**2 - 1) > 0]
    last = y
    return sum(kept) * 0.5 + last + len(kept)


def filtered_comprehension(x):
    """Means of what is positive and of what is not, as comprehensions."""
    positive = [v for v in x if v > 0]
    rest = [v for v in x if not v > 0]
    mean = sum(positive) / len(positive) if positive else 0.0
    return mean**2 + sum(v * v for v in rest) + max(positive, default=0.0)


def nonlocal_counter(x):
    """An objective that counts its calls, minimized by a golden section."""
    calls, best = 0, math.inf

    def objective(v):
        nonlocal calls, best
        calls += 1
        value = (v - x) ** 4 + 0.1 * v
        if value < best:
            best = value
        return value

    a, b, ratio = 0.0, 4.0, 0.618
    while b - a > 0.2:
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        if objective(c) < objective(d):
            b = d
        else:
            a = c
    return best + 0.001 * calls


def generated_series(x):
    """A generator with yield, consumed by sum, list, np.array and np.fromiter."""

    def terms(n):
        t = 1.0
        for k in range(1, n):
            yield t
            t = t * x / k

    a = sum(terms(6))
    b = np.array(list(terms(4)))
    c = np.fromiter(terms(5), float)
    return a + b @ b + c[-1]


def collatz_generator(x):
    """A generator that stops by a condition on what it yields."""

    def damped(v):
        while abs(v) > 0.1:
            yield v
            v = -0.6 * v

    swings = [v for v in damped(x)]  # noqa: C416
    return sum(abs(v) for v in swings) / len(swings) + max(damped(x))


def first_crossing(x):
    """An early return in nested loops: the first cell of a grid where a field changes its sign."""
    a, b = x

    def field(i, j):
        return math.cos(a * i) + math.sin(b * j) - 0.3

    for i in range(6):
        for j in range(6):
            if field(i, j) * field(i, j + 1) < 0:
                fraction = field(i, j) / (field(i, j) - field(i, j + 1))
                return (j + fraction) * 0.1 + i
    return a + b


def guarded_steps(x):
    """Newton's steps, with a fallback where the slope is zero and an end where a step overflows."""
    v, slope = x, 0.0
    for k in range(3):
        try:
            slope = 3 * v**2 - 3 if k else 0.0
            v = v - (v**3 - 3 * v + 1) / slope
        except ZeroDivisionError:
            v = v + 0.5
    return v + 0.1 * slope


def regularized_solve(x):
    """A linear system, solved with more on the diagonal each time that it is singular."""
    A = np.array([[1.0, 2.0], [2.0, 4.0 + (x if x > 1 else 0.0)]])
    for attempt in range(4):
        try:
            u = np.linalg.solve(A + 0.1 * attempt * np.eye(2), np.array([1.0, x]))
        except np.linalg.LinAlgError:
            continue
        return u @ u + attempt
    return 0.0


def overflow_guard(x):
    """Growth that stops where NumPy raises, within errstate."""
    v, total, steps = np.float64(x), 0.0, 0
    with np.errstate(over="raise"):
        for _ in range(12):
            try:
                w = np.exp(v)
            except FloatingPointError:
                break
            total += np.sqrt(v * v + 1) + (1.0 if w < 1 else 2.0)
            v = 2 * v + 1
            steps += 1
    return total * 0.01 + steps + x**2


def converged_or_not(x):
    """for ... else: the else runs where the iteration has not converged."""
    v = 1.0
    for k in range(8):  # noqa: B007
        new = math.cos(x * v)
        if abs(new - v) < 0.05:
            v = new
            break
        v = new
    else:
        v = v**2
    return v + 0.1 * k


def until_settled(x):
    """while True with a break in the middle, and a trajectory that is kept."""
    v, path = x, [x]
    while True:
        v = 0.5 * v + 0.1 * v**2
        path.append(v)
        if abs(v) < 0.05 or len(path) > 20:
            break
    return np.sum(np.diff(path) ** 2) + path[-1] + len(path)


def matched_signs(x):
    """match on tuples of signs, and on shapes of a command."""
    a, b = x
    match (bool(a > 0), bool(b > 0)):
        case (True, True):
            v = a * b
        case (True, False):
            v = a - b
        case (False, _):
            v = b**2
    match ("scale", v):
        case ("scale", amount) if amount > 1:
            return math.sqrt(amount)
        case ("scale", amount):
            return amount**3 + a
    return 0.0


PROGRAMS = (
    Program(detector_events, [0.4, 1.2], ([0.1, 2.0], [5.0, 1.0], [0.9, 1.1])),
    Program(pareto_front, 0.7, (1.3, 2.1, 0.2)),
    Program(adaptive_steps, [2.0, 1.5], ([6.0, 1.0], [0.5, 2.5], [3.0, 0.8])),
    Program(rejected_samples, 0.3, (0.9, -0.5, 1.4)),
    Program(signal_peaks, [2.1, 5.3], ([3.2, 4.1], [1.4, 2.9], [4.4, 1.2])),
    Program(run_lengths, 0.3, (1.1, 2.0, -0.7)),
    Program(bracket_by_bisection, 1.3, (0.4, 2.2, 3.1)),
    Program(labelled_report, [0.5, 1.2, 3.0], ([2.0, 1.5, 1.1], [0.2, 0.3, 0.4], [0.7, 0.8, 5.0])),
    Program(
        grouped_by_sign,
        [0.5, -0.8, 1.2, 1.4],
        ([1, 2, 3, 4], [-1, -2, -3, -4], [0.1, 0.25, 0.8, 0.7]),
    ),
    Program(
        binned,
        [0.5, 1.8, 1.2, 0.1],
        ([1.1, 2.2, 3.3, 4.4], [0.2, 0.3, 0.4, 0.5], [-0.5, 3.1, 3.2, 0.7]),
    ),
    Program(median_of_window, 0.7, (1.9, 0.2, 2.8)),
    Program(unequal_zip, 0.8, (0.1, -0.6, 2.0)),
    Program(walrus_filter, [0.5, -1.8, 1.2], ([1.1, 2, 3], [0.1, 0.2, 0.3], [4.0, 0.2, -2.2])),
    Program(
        filtered_comprehension,
        [0.5, -0.8, 1.2, -0.1],
        ([1, 2, 3, 4], [-4, -3, -2, -1], [0.3, 0.1, -0.2, 5]),
    ),
    Program(nonlocal_counter, 1.3, (0.4, 2.2, 1.7)),
    Program(generated_series, 0.7, (1.9, -0.4, 2.5)),
    Program(collatz_generator, 1.3, (0.4, 2.2, 7.1)),
    Program(first_crossing, [0.4, 0.9], ([1.1, 0.3], [0.2, 0.35], [0.9, 1.4])),
    Program(guarded_steps, 1.7, (1.4, -2.2, 3.1)),
    Program(regularized_solve, 1.7, (0.3, 2.2, -0.4)),
    Program(overflow_guard, 0.3, (1.2, -0.8, 6.9)),
    Program(converged_or_not, 0.7, (1.9, 1.2, 0.3)),
    Program(until_settled, 0.7, (1.9, -1.2, 3.0)),
    Program(matched_signs, [0.4, 0.9], ([1.1, 2.3], [-0.2, 0.35], [0.9, -1.4])),
)
