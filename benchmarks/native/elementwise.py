"""Formulas element by element, with or without a sum: what a compiler can fuse into one pass."""

from __future__ import annotations

from typing import Any

import numpy

from benchmarks.native import Row, gradient, integers, normal, uniform, value_and_gradient

CONTRACTS = 10**6
LEAVES = 100


def gelu(np: Any, lax: Any, x: Any) -> Any:
    """Hendrycks and Gimpel, Gaussian error linear units, 2016, the form with tanh."""
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def exp_sin(np: Any, lax: Any, x: Any) -> Any:
    return np.sum(np.exp(x) * np.sin(x))


def exp_sin_gradient_by_hand(x: Any) -> Any:
    return numpy.exp(x) * (numpy.sin(x) + numpy.cos(x))


def softmax(np: Any, lax: Any, x: Any) -> Any:
    weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True)


def layernorm(np: Any, lax: Any, x: Any, gain: Any, offset: Any) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + offset


def layernorm_loss(np: Any, lax: Any, x: Any, gain: Any, offset: Any) -> Any:
    return np.mean(np.tanh(layernorm(np, lax, x, gain, offset)))


def chain(np: Any, lax: Any, x: Any) -> Any:
    for _ in range(50):
        x = np.sin(x) * 1.1 + 0.1
        x = x * x
    return np.sum(x)


def sines(np: Any, lax: Any, x: Any) -> Any:
    for _ in range(50):
        x = np.sin(x) * 1.01
    return np.sum(x)


def sines_gradient_by_hand(x: Any) -> Any:
    slope = numpy.ones_like(x)
    for _ in range(50):
        slope *= numpy.cos(x) * 1.01
        x = numpy.sin(x) * 1.01
    return slope


def polynomial(np: Any, lax: Any, x: Any) -> Any:
    total = x * 0.0
    for k in range(30):
        total = total * x + 1.0 / (k + 1)
    return total


def normal_cdf(lax: Any, x: Any) -> Any:
    return 0.5 * (1 + lax.erf(x * 0.70710678))


def black_scholes(
    np: Any, lax: Any, spot: Any, strike: Any, time: Any, rate: Any, volatility: Any
) -> Any:
    """Prices of calls and puts. Black and Scholes, J. Polit. Econ. 81, 637 (1973)."""
    width = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / width
    d2 = d1 - width
    discounted = strike * np.exp(-rate * time)
    call = spot * normal_cdf(lax, d1) - discounted * normal_cdf(lax, d2)
    return call, call - spot + discounted


def portfolio(np: Any, lax: Any, *contracts: Any) -> Any:
    call, put = black_scholes(np, lax, *contracts)
    return np.mean(call) + np.mean(put)


def contracts() -> tuple[Any, ...]:
    bounds = ((80, 120), (80, 120), (0.2, 2), (0.01, 0.05), (0.1, 0.5))
    return tuple(uniform(*b, CONTRACTS, seed=i) for i, b in enumerate(bounds))


def gaussian(np: Any, lax: Any, params: Any, x: Any) -> Any:
    """The log likelihood of independent observations, per observation."""
    z = (x - params[0]) * np.exp(-params[1])
    return np.mean(-0.5 * z * z - params[1] - 0.918938533)


def pairwise(np: Any, lax: Any, x: Any, y: Any) -> Any:
    difference = x[:, None] - y
    return np.mean(np.sqrt(np.sum(difference * difference, axis=-1) + 1e-3))


def mandelbrot(np: Any, lax: Any, re: Any, im: Any) -> Any:
    """How many of 50 steps z -> z * z + c each point stays in a disc, on average."""

    def step(i: Any, state: Any) -> Any:
        x, y, count = state
        inside = x * x + y * y < 4.0
        x, y = np.where(inside, x * x - y * y + re, x), np.where(inside, 2 * x * y + im, y)
        return x, y, np.where(inside, count + 1.0, count)

    zero = re * im * 0.0
    count = lax.fori_loop(0, 50, step, (zero, zero, zero))[2]
    return np.mean(count, axis=0)  # of columns: at the border, rounding decides


def plane() -> tuple[Any, ...]:
    return (
        numpy.linspace(-2.0, 0.5, 256, dtype=numpy.float32),
        numpy.linspace(-1.1, 1.1, 256, dtype=numpy.float32)[:, None],
    )


def logsumexp(np: Any, lax: Any, x: Any) -> Any:
    top = np.max(x, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=-1)) + top[..., 0]


def cross_entropy(np: Any, lax: Any, logits: Any, labels: Any) -> Any:
    rows = np.arange(len(labels))
    return np.mean(logsumexp(np, lax, logits) - logits[rows, labels])


def cross_entropy_by_hand(logits: Any, labels: Any) -> Any:
    """The loss and its gradient."""
    rows = numpy.arange(len(labels))
    powers = numpy.exp(logits - logits.max(axis=-1, keepdims=True))
    chances = powers / powers.sum(axis=-1, keepdims=True)
    loss = -numpy.mean(numpy.log(chances[rows, labels]))
    chances[rows, labels] -= 1
    return loss, chances / len(labels)


def adam(np: Any, lax: Any, params: Any, gradients: Any, means: Any, squares: Any) -> Any:
    """A step of Kingma and Ba, Adam, 2015, at the tenth iteration."""
    means = [0.9 * m + 0.1 * g for m, g in zip(means, gradients, strict=True)]
    squares = [0.999 * s + 0.001 * (g * g) for s, g in zip(squares, gradients, strict=True)]
    rate = 1e-3 * (1 - 0.999**10) ** 0.5 / (1 - 0.9**10)
    params = [
        p - rate * m / (np.sqrt(s) + 1e-8) for p, m, s in zip(params, means, squares, strict=True)
    ]
    return params, means, squares


def adam_state() -> tuple[Any, ...]:
    trees = [[normal(1000, seed=LEAVES * t + i) for i in range(LEAVES)] for t in range(3)]
    return (*trees, [uniform(0.5, 1.0, 1000, seed=i) for i in range(LEAVES)])


def small_loss(np: Any, lax: Any, x: Any, y: Any) -> Any:
    """Many terms of few elements, as in losses put together from physical constraints."""
    total = 0.0
    for k in range(1, 11):
        residual = np.sin(k * x) * y - np.exp(-x * x) / k
        total = total + np.mean(residual * residual) + 0.1 * np.mean(np.abs(residual))
        total = total + 0.01 * np.mean(np.log1p(residual * residual))
    return total


def sized(name: str, measures: str, f: Any, sizes: tuple[int, ...], **options: Any) -> list[Row]:
    """Return a row for each number of elements."""
    return [
        Row(f"{name}_{n:.0e}".replace("e+0", "e"), f"{measures}, {n} elements", f, args, **options)
        for n in sizes
        for args in [lambda n=n: (normal(n),)]
    ]


def ten() -> tuple[Any, ...]:
    return (uniform(0.1, 0.5, 10),)


def matrix() -> tuple[Any, ...]:
    return (normal(512, 1024),)


def layer() -> tuple[Any, ...]:
    return *matrix(), uniform(0.5, 1.5, 1024), normal(1024)


def points() -> tuple[Any, ...]:
    return normal(1000, 3), normal(1000, 3, seed=1)


def observations() -> tuple[Any, ...]:
    return normal(2), normal(10**5)


def classes() -> tuple[Any, ...]:
    return normal(256, 1000), integers(1000, 256)


LARGE = (10**6, 10**7)
ROWS = [
    *sized("gelu", "gelu", gelu, LARGE),
    *sized("exp_sin", "sum(exp(x) * sin(x))", exp_sin, LARGE, rtol=1e-3),
    *sized(
        "exp_sin_gradient",
        "its gradient",
        exp_sin,
        LARGE[:1],
        transform=gradient,
        by_hand=exp_sin_gradient_by_hand,
    ),
    *sized("polynomial", "a polynomial of degree 29", polynomial, LARGE[:1]),
    Row("softmax", "softmax of 512 rows of 1024", softmax, matrix),
    Row("layernorm", "layer normalization of 512 rows of 1024", layernorm, layer),
    Row(
        "layernorm_gradient",
        "gradient of a loss of it",
        layernorm_loss,
        layer,
        gradient,
        autograd=False,
    ),
    Row("chain_gradient", "gradient of 200 operations on 10 numbers", chain, ten, gradient),
    Row(
        "sines_gradient_1e6",
        "gradient of 50 times sin(x) * 1.01, 1e6 elements",
        sines,
        lambda: (normal(10**6),),
        gradient,
        sines_gradient_by_hand,
    ),
    Row("black_scholes", f"prices of {CONTRACTS} options", black_scholes, contracts),
    Row(
        "black_scholes_gradient",
        "slopes by spot price",
        portfolio,
        contracts,
        gradient,
        autograd=False,
    ),
    Row("gaussian", "log likelihood of 1e5, gradient", gaussian, observations, value_and_gradient),
    Row("pairwise", "mean distance of 1000 x 1000 points in space", pairwise, points),
    Row("pairwise_gradient", "its gradient", pairwise, points, gradient),
    Row("mandelbrot", "50 steps of a fori_loop on 256 x 256 points", mandelbrot, plane, rtol=1e-2),
    Row("logsumexp", "of 256 rows of 1000", logsumexp, lambda: classes()[:1]),
    Row(
        "cross_entropy_gradient",
        "of 256 examples of 1000 classes, with its value",
        cross_entropy,
        classes,
        value_and_gradient,
        cross_entropy_by_hand,
    ),
    Row("adam", f"a step of Adam on {LEAVES} arrays of 1000", adam, adam_state),
    Row(
        "small_loss_gradient",
        "30 terms of 100 numbers, with their gradient",
        small_loss,
        lambda: (normal(100), normal(100, seed=1)),
        value_and_gradient,
        autograd=False,
    ),
]
