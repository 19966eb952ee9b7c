"""Programs that lean on Python's own exceptions, strings and identities where values decide."""

import contextlib
import math

import numpy as np

from tests.reading.programs.program import Program


def division_fallback(x):
    """A quotient, and a limit in its place where Python refuses to divide."""
    total = 0.0
    for k in range(1, 5):
        try:
            total += x / (k - int(x))
        except ZeroDivisionError:
            total += x**2
    return total


def overflow_fallback(x):
    """log(1 + exp(x)) in the way of people who have met an OverflowError."""
    try:
        return math.log(1 + math.exp(x))
    except OverflowError:
        return x


def suppressed_root(x):
    """A term that is left out where it has no value, by contextlib.suppress."""
    total = x**2
    with contextlib.suppress(ValueError):
        total += math.sqrt(x - 1)
    return total


def jittered_cholesky(x):
    """Cholesky's factor of a matrix, with more on its diagonal where it is not positive definite."""
    A = np.array([[1.0, x[0]], [x[0], x[1]]])
    jitter = 0.0
    while True:
        try:
            L = np.linalg.cholesky(A + jitter * np.eye(2))
            break
        except np.linalg.LinAlgError:
            jitter = 10 * jitter + 0.01
    return np.sum(np.log(np.diag(L))) + L[1, 0] ** 2


def checked_input(x):
    """A function that raises, and its caller, which has another way."""

    def resistance(length):
        if length < 1:
            raise ValueError(f"too short: {length:.3f}")
        return 0.2 * length**2

    try:
        return resistance(x)
    except ValueError as error:
        return 0.1 * x**3 + len(str(error).split(":"))


def label_lookup(x):
    """A coefficient by the name of a class, which a formatted number gives."""
    coefficients = {"class 0": 0.3, "class 1": 0.7, "class 2": 1.1}
    return coefficients.get(f"class {round(x)}", 2.0) * x**2


def matched_regime(x):
    """Cases of a pair of conditions, by match."""
    match (bool(x > 0), bool(abs(x) > 1)):
        case (True, True):
            return x**3
        case (True, False):
            return x**2
        case _:
            return -x


def sequence_or_number(x):
    """A function that takes one number or many, by asking for its length."""
    try:
        n = len(x)
    except TypeError:
        x, n = [x], 1
    return sum(math.sin(v) * v for v in x) / n


PROGRAMS = (
    Program(division_fallback, 2.3, (0.4, 1.6, 3.5)),
    Program(overflow_fallback, 1.5, (-3.0, 40.0, 800.0)),
    Program(suppressed_root, 1.7, (0.4, 5.0, -2.0)),
    Program(jittered_cholesky, [0.5, 1.2], ([1.1, 1.2], [2.0, 0.5], [0.1, 0.3])),
    Program(checked_input, 1.7, (0.4, 3.0, -0.5)),
    Program(label_lookup, 1.3, (0.2, 2.2, 7.8)),
    Program(matched_regime, 1.7, (0.4, -0.6, 2.5)),
    Program(sequence_or_number, 0.8, (-1.2, 2.0, 3.1)),
)
