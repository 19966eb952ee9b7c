"""Problems of optimization, after those of CUTEst and ADNLPProblems, written in plain NumPy."""

import numpy as np


def arwhead(x):
    return np.sum((x[:-1] ** 2 + x[-1] ** 2) ** 2 - 4 * x[:-1] + 3)


def bdqrtic(x):
    squares = x[:-4] ** 2 + 2 * x[1:-3] ** 2 + 3 * x[2:-2] ** 2 + 4 * x[3:-1] ** 2 + 5 * x[-1] ** 2
    return np.sum((3 - 4 * x[:-4]) ** 2 + squares**2)


def bdqrtic_in_a_loop(x):
    total = 0.0
    for i in range(x.size - 4):
        total += (3 - 4 * x[i]) ** 2
        total += (x[i] ** 2 + 2 * x[i + 1] ** 2 + 3 * x[i + 2] ** 2 + 5 * x[-1] ** 2) ** 2
    return total


def brybnd(x):
    total = 0.0
    for i in range(x.size):
        s = x[i] * (2 + 5 * x[i] ** 2) + 1
        for j in range(max(0, i - 5), min(x.size, i + 2)):
            if j != i:
                s = s - x[j] * (1 + x[j])
        total = total + s**2
    return total


def broydn7d(x):
    half = x.size // 2
    inner = (3 - 2 * x[1:-1]) * x[1:-1] - x[:-2] - 2 * x[2:] + 1
    first, last = (3 - 2 * x[0]) * x[0] - 2 * x[1] + 1, (3 - 2 * x[-1]) * x[-1] - x[-2] + 1
    parts = [np.sum(abs(inner) ** (7 / 3)), abs(first) ** (7 / 3), abs(last) ** (7 / 3)]
    return sum(parts) + np.sum(abs(x[:half] + x[half:]) ** (7 / 3))


def chainwoo(x):
    total = 1.0
    for i in range(1, x.size // 2):
        a, b, c, d = x[2 * i - 2], x[2 * i - 1], x[2 * i], x[2 * i + 1]
        total += 100 * (b - a**2) ** 2 + (1 - a) ** 2 + 90 * (d - c**2) ** 2 + (1 - c) ** 2
        total += 10 * (b + d - 2) ** 2 + 0.1 * (b - d) ** 2
    return total


def cosine(x):
    return np.sum(np.cos(x[:-1] ** 2 - 0.5 * x[1:]))


def cragglvy(x):
    a, b, c, d = x[:-3:2], x[1:-2:2], x[2:-1:2], x[3::2]
    steep = (np.exp(a) - b) ** 4 + 100 * (b - c) ** 6 + (np.tan(c - d) + c - d) ** 4
    return np.sum(steep + a**8 + (d - 1) ** 2)


def curly(x):
    total = 0.0
    for i in range(x.size):
        q = np.sum(x[i : min(i + 3, x.size - 1) + 1])
        total = total + q * (q * (q**2 - 20) - 0.1)
    return total


def dixmaane(x):
    n, m, i = x.size, x.size // 3, np.arange(1, x.size + 1)
    near = np.sum(0.125 * x[:-1] ** 2 * (x[1:] + x[1:] ** 2) ** 2)
    far = np.sum(0.125 * x[: 2 * m] ** 2 * x[m:] ** 4) + np.sum(i[:m] / n * x[:m] * x[2 * m :])
    return 1 + np.sum(i / n * x**2) + near + far


def edensch(x):
    return np.sum((x[:-1] - 2) ** 4 + (x[:-1] * x[1:] - 2 * x[1:]) ** 2 + (x[1:] + 1) ** 2)


def eg2(x):
    return np.sum(np.sin(x[0] + x[:-1] ** 2 - 1)) + 0.5 * np.sin(x[-1] ** 2)


def engval1(x):
    return np.sum((x[:-1] ** 2 + x[1:] ** 2) ** 2 - 4 * x[:-1] + 3)


def fletchcr(x):
    return np.sum(100 * (x[1:] - x[:-1] + 1 - x[:-1] ** 2) ** 2)


def freuroth(x):
    a = x[:-1] + x[1:] * ((5 - x[1:]) * x[1:] - 2) - 13
    b = x[:-1] + x[1:] * ((1 + x[1:]) * x[1:] - 14) - 29
    return np.sum(a * a + b * b)


def genhumps(x):
    waves = np.sin(2 * x[:-1]) ** 2 * np.sin(2 * x[1:]) ** 2
    return np.sum(waves + 0.05 * (x[:-1] ** 2 + x[1:] ** 2))


def indef(x):
    return np.sum(x) + np.sum(0.5 * np.cos(2 * x[1:-1] - x[-1] - x[0]))


def liarwhd(x):
    return np.sum(4 * (x**2 - x[0]) ** 2 + (x - 1) ** 2)


def morebv(x):
    h, u = 1 / (x.size + 1), np.pad(x, 1)
    places = h * np.arange(1, x.size + 1)
    return np.sum((2 * x - u[:-2] - u[2:] + h * h / 2 * (x + places + 1) ** 3) ** 2)


def ncb20b(x):
    total = np.sum(100 * x**4 + 2)
    for i in range(x.size - 4):
        s = 0.0
        for j in range(5):
            s = s + x[i + j] / (1 + x[i + j] ** 2)
        total = total + 10 / (i + 1) * s**2
    return total


def noncvxun(x):
    i = np.arange(1, x.size + 1)
    s = x + x[(2 * i - 1) % x.size] + x[(3 * i - 1) % x.size]
    return np.sum(s**2 + 4 * np.cos(s))


def nondia(x):
    return (x[0] - 1) ** 2 + np.sum((100 * x[0] - x[:-1] ** 2) ** 2)


def nondquar(x):
    ends = (x[0] - x[1]) ** 2 + (x[-2] - x[-1]) ** 2
    return ends + np.sum((x[:-2] + x[1:-1] + x[-1]) ** 4)


def penalty2(x):
    return np.sum((x - 1) ** 2) * 1e-5 + (np.sum(x**2) - 0.25) ** 2


def powellsg(x):
    a, b, c, d = x.reshape(-1, 4).T
    return np.sum((a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4)


def quartc(x):
    return np.sum((x - np.arange(1, x.size + 1)) ** 4)


def schmvett(x):
    a, b, c = x[:-2], x[1:-1], x[2:]
    return np.sum(
        -1 / (1 + (a - b) ** 2) - np.sin((np.pi * b + c) / 2) - np.exp(-(((a + c) / b - 2) ** 2))
    )


def sinquad(x):
    inner = np.sin(x[1:-1] - x[-1]) - x[0] ** 2 + x[1:-1] ** 2
    return (x[0] - 1) ** 4 + (x[-1] ** 2 - x[0] ** 2) ** 2 + np.sum(inner**2)


def sparsine(x):
    i = np.arange(1, x.size + 1)
    s = np.sin(x) + sum([np.sin(x[(k * i - 1) % x.size]) for k in (2, 3, 5)])
    return np.sum(0.5 * i * s**2)


def srosenbr(x):
    return np.sum(100 * (x[1::2] - x[::2] ** 2) ** 2 + (x[::2] - 1) ** 2)


def tointgss(x):
    width = 0.1 + x[2:] ** 2
    return np.sum((10 / 14 + x[2:] ** 2) * (2 - np.exp(-((x[:-2] - x[1:-1]) ** 2) / width)))


def vardim(x):
    t = np.sum(np.arange(1, x.size + 1) * (x - 1))
    return np.sum((x - 1) ** 2) + t**2 + t**4


def woods(x):
    a, b, c, d = x.reshape(-1, 4).T
    steep = 100 * (b - a**2) ** 2 + (1 - a) ** 2 + 90 * (d - c**2) ** 2 + (1 - c) ** 2
    return np.sum(steep + 10 * (b + d - 2) ** 2 + 0.1 * (b - d) ** 2)


def clnlbeam(x):
    angle, _, moment = x.reshape(3, -1)
    bent = np.sum(moment[1:] ** 2 + moment[:-1] ** 2)
    return 0.1 * bent + 70 * np.sum(np.cos(angle[1:]) + np.cos(angle[:-1]))


# Residuals and constraints


def broydn3d(x):
    around = np.pad(x, 1)
    return (3 - 2 * x) * x - around[:-2] - 2 * around[2:] + 1


def of_clnlbeam(x):
    angle, height, moment = x.reshape(3, -1)
    bends = height[1:] - height[:-1] - 0.1 * (np.sin(angle[1:]) + np.sin(angle[:-1]))
    return np.concatenate([bends, angle[1:] - angle[:-1] - 0.1 * moment[1:] - 0.1 * moment[:-1]])


def catenary(x):
    return np.sum(np.diff(x.reshape(-1, 3), axis=0) ** 2, axis=1) - 0.01


def hovercraft(x):
    place, speed, force = x.reshape(3, 2, -1)
    moved = place[:, 1:] - place[:, :-1] - speed[:, :-1]
    return np.stack([moved, speed[:, 1:] - 0.95 * speed[:, :-1] - force[:, :-1]])


def rocket(x):
    h, v, m, thrust = np.split(x, 4)
    drag = 310 * v**2 * np.exp(-500 * (h - 1))
    gained = (thrust - drag - m / h**2) / m
    trapezoid = lambda y, rate: np.diff(y) - 0.05 * (rate[1:] + rate[:-1])
    return {"h": trapezoid(h, v), "v": trapezoid(v, gained), "m": trapezoid(m, -thrust)}


def bratu(x):
    u = np.pad(x.reshape(4, 3), 1)
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return (4 * u[1:-1, 1:-1] - around - 0.1 * np.exp(u[1:-1, 1:-1])).ravel()


def bratu_in_a_loop(x):
    residuals = []
    for i in range(x.size):
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i < x.size - 1 else 0.0
        residuals.append(left - 2 * x[i] + right + 0.1 * np.exp(x[i]))
    return np.array(residuals)


def brownal(x):
    residuals = x + np.sum(x) - (x.size + 1)
    residuals[-1] = np.prod(x) - 1
    return residuals


def circle(x):
    return np.sum((x[2:].reshape(-1, 2) - x[:2]) ** 2, axis=1) - 1


OBJECTIVES = [
    *(arwhead, bdqrtic, bdqrtic_in_a_loop, brybnd, broydn7d, chainwoo, cosine, cragglvy, curly),
    *(dixmaane, edensch, eg2, engval1, fletchcr, freuroth, genhumps, indef, liarwhd, morebv),
    *(ncb20b, noncvxun, nondia, nondquar, penalty2, powellsg, quartc, schmvett, sinquad, sparsine),
    *(srosenbr, tointgss, vardim, woods, clnlbeam),
]
RESIDUALS = [
    *(broydn3d, of_clnlbeam, catenary, hovercraft, rocket, bratu, bratu_in_a_loop, brownal, circle)
]
