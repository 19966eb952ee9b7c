"""Filters, smoothers, hidden states and what goes in prefixes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp


def kalman_filter(a, c, q, r, ys):
    """The log likelihood of observations, and the filtered means."""
    eye = jnp.eye(a.shape[0], dtype=a.dtype)
    q, r = q @ q.T + eye, r @ r.T + jnp.eye(c.shape[0], dtype=a.dtype)

    def step(state, y):
        m, p = state
        m, p = a @ m, a @ p @ a.T + q
        s = c @ p @ c.T + r
        v = y - c @ m
        k = jnp.linalg.solve(s, c @ p).T
        ll = -0.5 * (v @ jnp.linalg.solve(s, v) + jnp.linalg.slogdet(s)[1])
        return (m + k @ v, (eye - k @ c) @ p), (m, ll)

    _, (means, lls) = lax.scan(step, (jnp.zeros_like(a[0]), eye), ys)
    return lls.sum(), means


def rauch_tung_striebel(a, q, ys):
    """A filter forwards, a smoother backwards; everything is observed."""
    n = a.shape[0]
    eye = jnp.eye(n, dtype=a.dtype)
    q = q @ q.T + eye

    def forward(state, y):
        m, p = state
        mp, pp = a @ m, a @ p @ a.T + q
        k = jnp.linalg.solve(pp + eye, pp).T
        m, p = mp + k @ (y - mp), pp - k @ pp
        return (m, p), (m, p, mp, pp)

    (m, p), filtered = lax.scan(forward, (jnp.zeros_like(a[0]), eye), ys)

    def backward(state, filtered):
        ms, ps = state
        m, p, mp, pp = filtered
        g = jnp.linalg.solve(pp, a @ p).T
        m = m + g @ (ms - mp)
        p = p + g @ (ps - pp) @ g.T
        return (m, p), m

    # The smoother needs what was predicted one step later.
    m1, p1, mp1, pp1 = filtered
    _, smoothed = lax.scan(
        lambda s, x: backward(s, x), (m, p), (m1[:-1], p1[:-1], mp1[1:], pp1[1:]), reverse=True
    )
    return jnp.concatenate([smoothed, m[None]])


def hmm_forward(log_start, log_transition, log_emission, observations):
    def normalized(x):
        return x - logsumexp(x, axis=-1, keepdims=True)

    start, transition, emission = map(normalized, (log_start, log_transition, log_emission))

    def step(alpha, y):
        alpha = logsumexp(alpha[:, None] + transition, axis=0) + emission[:, y]
        return alpha, None

    alpha, _ = lax.scan(step, start + emission[:, observations[0]], observations[1:])
    return logsumexp(alpha)


def viterbi(log_start, log_transition, log_emission, observations):
    """The best path: forwards with pointers, and backwards along them."""

    def step(best, y):
        scores = best[:, None] + log_transition
        return scores.max(axis=0) + log_emission[:, y], scores.argmax(axis=0)

    best, pointers = lax.scan(step, log_start + log_emission[:, observations[0]], observations[1:])
    last = best.argmax()
    _, path = lax.scan(lambda s, p: (p[s], s), last, pointers, reverse=True)
    return best.max(), path


def linear_recurrence(decays, xs):
    """h[t] = a[t] h[t-1] + x[t], by doubling."""

    def combine(left, right):
        (a, x), (b, y) = left, right
        return a * b, b * x + y

    return lax.associative_scan(combine, (jnp.tanh(decays), xs))[1]


def diagonal_state_space(log_decay, frequency, b, c, xs):
    """A layer of complex diagonal state, its real output."""
    rate = jnp.exp(-jnp.exp(log_decay) + 1j * frequency)
    drive = jnp.einsum("np,tp->tn", b, xs) + 0j

    def combine(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    rates = jnp.broadcast_to(rate, drive.shape)
    _, states = lax.associative_scan(combine, (rates, drive))
    return jnp.einsum("pn,tn->tp", c, states).real


def matrix_prefix_products(ms):
    return lax.associative_scan(jnp.matmul, ms), lax.associative_scan(jnp.matmul, ms, reverse=True)


def complex_scan(z0, rotations, kicks):
    def step(z, inputs):
        rotation, kick = inputs
        z = z * jnp.exp(1j * rotation) + kick
        return z / (1 + jnp.abs(z)), z

    return lax.scan(step, z0, (rotations, kicks))


def cumulative_logsumexp(xs):
    def step(carry, x):
        total = jnp.logaddexp(carry, x)
        return total, total

    _, by_scan = lax.scan(step, jnp.full_like(xs[0], -jnp.inf), xs)
    return by_scan - lax.cumlogsumexp(xs, axis=0), by_scan[-1] * lax.cummax(xs, axis=0)


def cumulated(xs):
    return lax.cumsum(xs, axis=0, reverse=True) * lax.cumprod(xs, axis=1), lax.cummin(xs, axis=1)


def particle_filter(scale, particles, noise, uniforms, ys):
    """Systematic resampling; random numbers are arguments."""
    n = particles.shape[0]

    def step(x, inputs):
        eps, u, y = inputs
        x = jnp.sin(x) + scale * eps
        log_w = -0.5 * (y - x) ** 2
        w = jnp.exp(log_w - logsumexp(log_w))
        chosen = jnp.searchsorted(jnp.cumsum(lax.stop_gradient(w)), (u + jnp.arange(n)) / n)
        return x[jnp.clip(chosen, 0, n - 1)], (logsumexp(log_w), w @ x)

    _, (evidence, means) = lax.scan(step, particles, (noise, uniforms, ys))
    return evidence.sum(), means


def garch(omega, alpha, beta, returns):
    def step(variance, r):
        new = jnp.exp(omega) + alpha**2 * r**2 + beta**2 * variance
        return new, -0.5 * (jnp.log(variance) + r**2 / variance)

    return lax.scan(step, jnp.var(returns), returns)[1].sum()


def linear_chain_crf(unary, pairwise, labels):
    """Marginals are the gradient of the log partition function."""

    def log_partition(unary):
        def step(alpha, u):
            return logsumexp(alpha[:, None] + pairwise, axis=0) + u, None

        return logsumexp(lax.scan(step, unary[0], unary[1:])[0])

    log_z, marginals = jax.value_and_grad(log_partition)(unary)
    score = jnp.take_along_axis(unary, labels[:, None], axis=1).sum()
    score = score + pairwise[labels[:-1], labels[1:]].sum()
    return score - log_z, marginals


def inputs(rng):
    normal = rng.standard_normal
    observations = np.array([0, 2, 1, 1, 3])
    hmm = (normal(3), normal((3, 3)), normal((3, 4)), observations)
    return {
        "kalman_filter": (
            0.5 * normal((2, 2)),
            normal((1, 2)),
            normal((2, 2)),
            normal((1, 1)),
            normal((4, 1)),
        ),
        "rauch_tung_striebel": (0.5 * normal((2, 2)), normal((2, 2)), normal((4, 2))),
        "hmm_forward": hmm,
        "viterbi": hmm,
        "linear_recurrence": (normal((5, 2)), normal((5, 2))),
        "diagonal_state_space": (
            normal(3),
            normal(3),
            normal((3, 2)),
            normal((2, 3)),
            normal((5, 2)),
        ),
        "matrix_prefix_products": (normal((5, 2, 2)),),
        "complex_scan": (
            normal(2) + 1j * normal(2),
            normal((4, 2)),
            normal((4, 2)) + 1j * normal((4, 2)),
        ),
        "cumulative_logsumexp": (normal((4, 2)),),
        "cumulated": (normal((3, 4)),),
        "particle_filter": (
            np.array(0.3),
            normal(5),
            normal((3, 5)),
            rng.uniform(size=3),
            normal(3),
        ),
        "garch": (np.array(-2.0), np.array(0.4), np.array(0.8), normal(6)),
        "linear_chain_crf": (normal((4, 3)), normal((3, 3)), np.array([0, 2, 1, 1])),
    }
