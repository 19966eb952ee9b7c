"""Statistics: likelihoods, mixtures, smoothers, resampling."""

import math
from math import exp, log, pi, sqrt

import numpy as np
from scipy import stats
from scipy.special import gammaln

from tests.reading.programs.program import Program

HEIGHTS = [1.62, 1.75, 1.81, 1.58, 1.69, 1.90, 1.73]
COUNTS = np.array([0, 2, 1, 4, 3, 0, 1, 6])


def normal_loglik(theta):
    """Log likelihood of a normal distribution, by a loop over the data."""
    mu, sigma = theta
    if sigma <= 0:
        return -1e10
    total = 0.0
    for h in HEIGHTS:
        total += -0.5 * log(2 * pi) - log(sigma) - (h - mu) ** 2 / (2 * sigma**2)
    return total


def zero_inflated_poisson(theta):
    """Log likelihood of counts with too many zeros."""
    p, lam = theta
    ll = 0.0
    for k in COUNTS:
        if k == 0:
            ll += np.log(p + (1 - p) * np.exp(-lam))
        else:
            ll += np.log(1 - p) + k * np.log(lam) - lam - gammaln(k + 1)
    return ll


def normal_pdf(x, mu, s):
    return exp(-0.5 * ((x - mu) / s) ** 2) / (s * sqrt(2 * pi))


def mixture_em(theta):
    """Rounds of expectation and maximisation for two normals; the log likelihood in the end."""
    mus = [theta[0], theta[1]]
    s = theta[2]
    weight = 0.5
    data = [-1.2, -0.8, -1.0, 0.9, 1.4, 1.1, 0.7]
    for _ in range(4):
        resp = []
        for x in data:
            a = weight * normal_pdf(x, mus[0], s)
            b = (1 - weight) * normal_pdf(x, mus[1], s)
            resp.append(a / (a + b))
        n0 = sum(resp)
        mus[0] = sum(r * x for r, x in zip(resp, data)) / n0
        mus[1] = sum((1 - r) * x for r, x in zip(resp, data)) / (len(data) - n0)
        weight = n0 / len(data)
    return sum(
        log(weight * normal_pdf(x, mus[0], s) + (1 - weight) * normal_pdf(x, mus[1], s))
        for x in data
    )


def hmm_forward(theta):
    """Likelihood of a sequence of symbols under a hidden Markov model, with scaling."""
    stay, right = theta
    A = np.array([[stay, 1 - stay], [0.3, 0.7]])
    B = np.array([[right, 1 - right], [0.2, 0.8]])
    obs = [0, 0, 1, 0, 1, 1, 1]
    alpha = np.array([0.5, 0.5]) * B[:, obs[0]]
    loglik = 0.0
    for t in range(1, len(obs)):
        scale = alpha.sum()
        loglik += np.log(scale)
        alpha /= scale
        alpha = (alpha @ A) * B[:, obs[t]]
    return loglik + np.log(np.sum(alpha))


def cox_partial(beta):
    """Cox's partial log likelihood with censored times, by the sets at risk."""
    times = [4.0, 3.0, 6.0, 1.0, 5.0, 2.0]
    event = [1, 0, 1, 1, 0, 1]
    X = np.array([[0.5, 1.0], [1.2, 0.0], [-0.3, 1.0], [0.8, 0.0], [0.1, 1.0], [-1.0, 0.0]])
    order = np.argsort(times)
    ll = 0.0
    for i in order:
        if not event[i]:
            continue
        risk = [j for j in order if times[j] >= times[i]]
        ll += X[i] @ beta - np.log(sum(np.exp(X[j] @ beta) for j in risk))
    return ll


def ar_loglik(phi):
    """Conditional log likelihood of an autoregression, with an explosive one penalised."""
    y = np.array([0.1, 0.5, 0.3, -0.2, -0.4, 0.1, 0.6, 0.2])
    p = len(phi)
    resid = np.zeros(len(y) - p)
    for t in range(p, len(y)):
        pred = 0.0
        for k in range(p):
            pred += phi[k] * y[t - k - 1]
        resid[t - p] = y[t] - pred
    sigma2 = np.mean(resid**2)
    penalty = 0.0
    if np.sum(np.abs(phi)) >= 1:
        penalty = 5.0 * (np.sum(np.abs(phi)) - 1) ** 2
    return -0.5 * len(resid) * (np.log(2 * np.pi * sigma2) + 1) - penalty


def lowess_at(x0):
    """Locally weighted regression at a point, with the tricube of the nearest neighbours."""
    x = np.linspace(0, 5, 11)
    y = np.sin(x) + 0.1 * np.cos(7 * x)
    distance = np.abs(x - x0)
    h = np.sort(distance)[6]
    w = np.where(distance < h, (1 - (distance / h) ** 3) ** 3, 0.0)
    sw, swx, swy = w.sum(), (w * x).sum(), (w * y).sum()
    slope = ((w * x * y).sum() - swx * swy / sw) / ((w * x * x).sum() - swx**2 / sw)
    return swy / sw + slope * (x0 - swx / sw)


def kernel_density_cv(h):
    """Leave-one-out log density of a kernel estimate, by its bandwidth."""
    data = [0.2, 0.5, 0.55, 1.1, 1.9, 2.0, 2.4]
    n = len(data)
    score = 0.0
    for i in range(n):
        s = 0.0
        for j in range(n):
            if i == j:
                continue
            s += math.exp(-0.5 * ((data[i] - data[j]) / h) ** 2)
        score += math.log(s / ((n - 1) * h * math.sqrt(2 * math.pi)))
    return score / n


def bootstrap_ratio(weights):
    """Variance of a weighted ratio over resamples drawn once with a seed."""
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2.0, 3.5, 4.0])
    y = np.array([2.1, 3.9, 7.2, 7.8])
    ratios = []
    for _ in range(10):
        idx = rng.integers(0, len(x), len(x))
        w = weights[idx]
        ratios.append(np.sum(w * y[idx]) / np.sum(w * x[idx]))
    return np.var(np.array(ratios)) * 1e3


def student_regression(theta):
    """Log posterior of a robust line, with SciPy's densities."""
    a, b, log_s = theta
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    y = np.array([0.1, 1.2, 1.9, 6.0, 4.1])
    s = np.exp(log_s)
    r = (y - a - b * x) / s
    lp = np.sum(stats.t.logpdf(r, df=4) - log_s)
    lp += stats.norm.logpdf(a, 0, 10) + stats.norm.logpdf(b, 0, 2)
    return lp


def huber_location(x):
    """Huber's loss of residuals, one by one."""
    m, k = x
    loss = 0.0
    for v in HEIGHTS:
        r = abs((v - m) / 0.1)
        loss += 0.5 * r**2 if r <= k else k * (r - 0.5 * k)
    return loss / len(HEIGHTS)


def logit_fisher(beta0):
    """Iteratively reweighted least squares from a start; deviance after three rounds."""
    X = np.column_stack([np.ones(6), [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]])
    y = np.array([0, 0, 1, 0, 1, 1])
    beta = np.array(beta0, dtype=float)
    for _ in range(2):
        p = 1 / (1 + np.exp(-X @ beta))
        W = np.diag(p * (1 - p))
        beta = beta + np.linalg.inv(X.T @ W @ X) @ X.T @ (y - p)
    p = 1 / (1 + np.exp(-X @ beta))
    return -2 * np.sum(y * np.log(p) + (1 - y) * np.log(1 - p))


PROGRAMS = (
    Program(normal_loglik, [1.7, 0.1], ([1.6, 0.2], [1.8, -0.1], [1.5, 0.05])),
    Program(zero_inflated_poisson, [0.2, 2.0], ([0.05, 1.0], [0.5, 4.0], [0.3, 0.5])),
    Program(mixture_em, [-0.5, 0.6, 0.6], ([-1.0, 1.0, 0.4], [0.2, 0.5, 1.0], [1.0, -1.0, 0.7])),
    Program(hmm_forward, [0.9, 0.8], ([0.5, 0.6], [0.3, 0.3], [0.95, 0.9])),
    Program(cox_partial, [0.3, -0.2], ([0.0, 0.5], [1.0, 1.0], [-2.0, 0.7])),
    Program(ar_loglik, [0.5, -0.3], ([0.2, 0.1], [0.9, 0.5], [-0.7, -0.6])),
    Program(lowess_at, 2.2, (0.3, 3.6, 4.9)),
    Program(kernel_density_cv, 0.4, (0.15, 1.0, 3.0)),
    Program(bootstrap_ratio, [1.0, 2.0, 1.0, 0.5], ([1.0] * 4, [0.2, 0.4, 3, 1], [5, 1, 1, 2])),
    Program(student_regression, [0.1, 1.0, -0.5], ([1, 0.5, 0.3], [0, 2, -1.5], [-1, 1.5, 0.7])),
    Program(huber_location, [1.715, 1.1], ([1.65, 0.43], [1.8, 3.0], [1.5, 1.345])),
    Program(logit_fisher, [-1.0, 0.5], ([0.1, 0.1], [-2.0, 1.0], [-0.5, 0.3])),
)
