"""Likelihoods and physics with `scipy.special`."""

import numpy as np
from scipy import special


def poisson_likelihood(rate, counts):
    return np.sum(counts * np.log(rate) - rate - special.gammaln(counts + 1))


def gamma_likelihood(x, shape, scale):
    return (shape - 1) * np.log(x) - x / scale - special.gammaln(shape) - shape * np.log(scale)


def beta_binomial(k, a, b, n=10):
    choose = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return choose + special.betaln(k + a, n - k + b) - special.betaln(a, b)


def dirichlet_entropy(alpha):
    total = alpha.sum()
    log_beta = special.gammaln(alpha).sum() - special.gammaln(total)
    excess = (alpha - 1) * special.digamma(alpha)
    return log_beta + (total - len(alpha)) * special.psi(total) - excess.sum()


def normal_quantiles(p, mean, sigma):
    return mean + sigma * special.ndtri(p) - special.erfinv(2 * p - 1)


def logistic_regression(x, y, w, b):
    z = x @ w + b
    return -np.mean(y * special.log_expit(z) + (1 - y) * np.log(special.expit(-z)))


def cross_entropy(logits, target):
    return np.sum(special.xlogy(target, target) - special.xlog1py(target, special.expit(logits)))


def mixture_of_normals(x, log_weights, means, log_sigma):
    z = (x[:, None] - means) / np.exp(log_sigma)
    parts = log_weights - 0.5 * z**2 - log_sigma - 0.5 * np.log(2 * np.pi)
    return special.logsumexp(parts, axis=1) - special.logsumexp(log_weights)


def attention_weights(scores):
    return special.softmax(scores, axis=-1) - special.log_softmax(scores, axis=0) / 10


def truncated_normal_mean(a, b):
    z = special.ndtr(b) - special.ndtr(a)
    return (np.exp(-(a**2) / 2) - np.exp(-(b**2) / 2)) / (np.sqrt(2 * np.pi) * z)


def diffusion_profile(x, d, t=1.5):
    return special.erfc(x / (2 * np.sqrt(d * t))) - special.erf(x) * special.erfcx(x)


def airy_disk(x):
    return (2 * special.j1(x) / x) ** 2 + special.j0(x) * special.i0e(x)


def incomplete_gamma_tail(x, a=2.5):
    return special.gammainc(a, x) + special.gammaincc(a + 1, x)


def student_cdf(t, nu=4.0):
    x = nu / (t * t + nu)
    return 1 - 0.5 * special.betainc(nu / 2, 0.5, x)


def entropy_of_a_histogram(w):
    p = w / w.sum()
    return special.entr(p).sum() - special.rel_entr(p, p[::-1]).sum()


def inputs(rng):
    u = rng.uniform
    n = rng.normal
    return {
        "poisson_likelihood": (u(1, 4, 4), np.array([2.0, 0.0, 3.0, 1.0])),
        "gamma_likelihood": (u(1, 3, 4), np.float64(2.3), np.float64(0.7)),
        "beta_binomial": (np.array([1.0, 4.0, 7.0]), np.float64(1.4), np.float64(2.2)),
        "dirichlet_entropy": (u(0.5, 3, 4),),
        "normal_quantiles": (u(0.1, 0.9, 4), np.float64(0.4), np.float64(1.3)),
        "logistic_regression": (n(size=(4, 2)), u(0, 1, 4), n(size=2), np.float64(0.1)),
        "cross_entropy": (n(size=4), u(0.1, 0.9, 4)),
        "mixture_of_normals": (n(size=4), n(size=2), n(size=2), n(size=2) / 4),
        "attention_weights": (n(size=(2, 3)),),
        "truncated_normal_mean": (np.float64(-0.7), np.float64(1.1)),
        "diffusion_profile": (u(0.1, 2, 4), np.float64(0.8)),
        "airy_disk": (u(0.5, 3, 4),),
        "incomplete_gamma_tail": (u(0.5, 3, 4),),
        "student_cdf": (u(0.5, 2, 3),),
        "entropy_of_a_histogram": (u(0.5, 2, 4),),
    }


NOT_OVERRIDABLE = {
    "mixture_of_normals": "special.logsumexp",
    "attention_weights": "special.softmax",
}
LOOKS_AT_VALUES = {}
