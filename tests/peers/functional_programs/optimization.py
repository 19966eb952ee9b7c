"""Loops that minimize, and the derivatives they are made of."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp
from jax.tree_util import Partial, tree_leaves, tree_map, tree_reduce


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def squared_error(params, x, y):
    return jnp.mean((network(params, x) - y) ** 2)


def gradient_descent(w, x, y):
    loss = lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2)
    return lax.fori_loop(0, 5, lambda i, w: w - 0.5 / (i + 1) * jax.grad(loss)(w), w)


def adam(params, x, y):
    """Parameters, moments and gradients are trees; the loss of each step is returned."""

    def step(state, i):
        params, m, v = state
        loss, g = jax.value_and_grad(squared_error)(params, x, y)
        m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = tree_map(lambda v, g: 0.99 * v + 0.01 * g**2, v, g)
        correction = jnp.sqrt(1 - 0.99**i) / (1 - 0.9**i)
        params = tree_map(
            lambda p, m, v: p - 0.05 * correction * m / (jnp.sqrt(v) + 1e-3), params, m, v
        )
        return (params, m, v), loss

    zeros = tree_map(jnp.zeros_like, params)
    (params, _, _), losses = lax.scan(step, (params, zeros, zeros), jnp.arange(1, 4))
    return params, losses


def clipped_by_global_norm(params, x, y, bound):
    grads = jax.grad(squared_error)(params, x, y)
    norm = jnp.sqrt(tree_reduce(lambda total, g: total + jnp.sum(g**2), grads, 0.0))
    scale = jnp.minimum(1.0, bound / norm)
    return tree_map(lambda g: g * scale, grads), norm


def armijo_line_search(x, step):
    """Halve the step until the function falls enough."""
    value, g = jax.value_and_grad(rosenbrock)(x)
    too_long = lambda s: rosenbrock(x - s * g) > value - 1e-4 * s * g @ g
    s = lax.while_loop(too_long, lambda s: s / 2, step)
    return x - s * g, s


def descent_with_line_search(x):
    """A loop of unknown length in each step of a scan."""

    def step(x, _):
        value, g = jax.value_and_grad(rosenbrock)(x)
        too_long = lambda s: (rosenbrock(x - s * g) > value - 1e-4 * s * g @ g) & (s > 1e-6)
        s = lax.while_loop(too_long, lambda s: s / 2, jnp.ones_like(value))
        return x - s * g, value

    return lax.scan(step, x, None, length=3)


def newtons_method(x):
    def step(x, _):
        g, h = jax.grad(rosenbrock)(x), jax.hessian(rosenbrock)(x)
        return x - jnp.linalg.solve(h + 10 * jnp.eye(x.size, dtype=x.dtype), g), None

    return lax.scan(step, x, None, length=2)[0]


def newton_by_products(x, b):
    """Newton's step without the matrix: conjugate gradients with Hessian-vector products."""
    f = lambda x: jnp.sum(jnp.cosh(x)) + 0.5 * (b @ x) ** 2
    hvp = lambda v: jax.jvp(jax.grad(f), (x,), (v,))[1]
    r = -jax.grad(f)(x)

    def step(state, _):
        d, r, p = state
        hp = hvp(p)
        alpha = (r @ r) / (p @ hp)
        new = r - alpha * hp
        return (d + alpha * p, new, new + (new @ new) / (r @ r) * p), None

    (d, _, _), _ = lax.scan(step, (jnp.zeros_like(x), r, r), None, length=x.size - 1)
    return d


def gauss_newton(theta, t, y):
    residual = lambda theta: theta[0] * jnp.exp(-theta[1] * t) - y

    def step(i, theta):
        r, push = jax.linearize(residual, theta)
        pull = jax.linear_transpose(push, theta)
        normal = jax.vmap(lambda e: pull(push(e))[0])(jnp.eye(2, dtype=theta.dtype))
        return theta - jnp.linalg.solve(normal, pull(r)[0])

    return lax.fori_loop(0, 2, step, theta)


def gradients_per_example(params, x, y):
    one = lambda params, x, y: squared_error(params, x[None], y[None])
    grads = jax.vmap(jax.grad(one), in_axes=(None, 0, 0))(params, x, y)
    norms = jax.vmap(lambda g: sum(jnp.sum(leaf**2) for leaf in tree_leaves(g)))(grads)
    return tree_map(lambda g: jnp.mean(g, axis=0), grads), norms


def learning_rate_of_the_training(rate, x, y):
    """A gradient through the whole training (and, in the test, once more)."""

    def trained(rate):
        def step(w, _):
            return w - rate * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w), None

        w, _ = lax.scan(step, jnp.zeros_like(x[0]), None, length=3)
        return jnp.mean((x @ w - y) ** 2)

    return trained(rate), jax.grad(trained)(rate)


def maml(w, x, y):
    """An inner step for each task, an outer loss over tasks."""
    loss = lambda w, x, y: jnp.mean((jnp.sin(x @ w) - y) ** 2)

    def adapted(x, y):
        inner = lax.fori_loop(0, 2, lambda _, v: v - 0.1 * jax.grad(loss)(v, x, y), w)
        return loss(inner, x, y)

    return jnp.mean(jax.vmap(adapted)(x, y))


@functools.partial(jax.jit, static_argnames=("steps", "method"))
def power_series(x, *, steps, method="scan"):
    if method == "scan":
        powers = jnp.arange(1, steps + 1, dtype=x.dtype)
        body = lambda c, k: ((c[0] + c[1], c[1] * x / k), None)
        return lax.scan(body, (jnp.zeros_like(x), jnp.ones_like(x)), powers)[0][0]
    body = lambda k, c: (c[0] + c[1], c[1] * x / (k + 1))
    return lax.fori_loop(0, steps, body, (jnp.zeros_like(x), jnp.ones_like(x)))[0]


def static_settings(x):
    return power_series(x, steps=6), power_series(x, steps=3, method="fori")


def power_iteration(m):
    a = m @ m.T

    def step(v, _):
        v = a @ v
        return v / jnp.linalg.norm(v), v @ a @ v

    v, history = lax.scan(step, jnp.ones_like(a[0]), None, length=6)
    return v @ a @ v, history


def simulated_annealing(x, proposals, uniforms):
    def step(i, state):
        x, best = state
        temperature = 1.0 / (1 + i)
        new = x + proposals[i]
        accept = uniforms[i] < jnp.exp(-(rosenbrock(new) - rosenbrock(x)) / 100 / temperature)
        x = jnp.where(accept, new, x)
        return x, jnp.minimum(best, rosenbrock(x))

    return lax.fori_loop(0, proposals.shape[0], step, (x, rosenbrock(x)))


def sinkhorn(cost, width):
    n, m = cost.shape

    def step(potentials, _):
        f, g = potentials
        f = -width * logsumexp((g[None] - cost) / width, axis=1) - math.log(n)
        g = -width * logsumexp((f[:, None] - cost) / width, axis=0) - math.log(m)
        return (f, g), None

    zeros = (jnp.zeros_like(cost[:, 0]), jnp.zeros_like(cost[0]))
    (f, g), _ = lax.scan(step, zeros, None, length=4)
    return jnp.sum(f) + jnp.sum(g)


def kmeans(points, centers):
    def step(centers, _):
        distances = jnp.sum((points[:, None] - centers) ** 2, axis=-1)
        nearest = jnp.argmin(distances, axis=1)
        one_hot = (nearest[:, None] == jnp.arange(centers.shape[0])).astype(points.dtype)
        counts = one_hot.sum(axis=0)
        means = (one_hot.T @ points) / jnp.maximum(counts, 1)[:, None]
        centers = jnp.where(counts[:, None] > 0, means, centers)
        return centers, distances.min(axis=1).sum()

    return lax.scan(step, centers, None, length=3)


def projected_gradient(x, bound):
    """A function handed through the loop as a tree with its arguments."""
    step = Partial(lambda scale, x: x - scale * jax.grad(rosenbrock)(x), bound / 1000)

    def body(carry, _):
        step, x = carry
        return (step, jnp.clip(step(x), -1, 1)), None

    (step, x), _ = lax.scan(body, (step, x), None, length=3)
    return x, step.args[0]


def inputs(rng):
    normal = rng.standard_normal
    layers = [
        {"w": normal((2, 3)), "b": normal(3)},
        {"w": normal((3, 1)), "b": normal(1)},
    ]
    data = (normal((4, 2)), normal((4, 1)))
    return {
        "gradient_descent": (normal(2), normal((4, 2)), normal(4)),
        "adam": (layers, *data),
        "clipped_by_global_norm": (layers, *data, np.array(0.1)),
        "armijo_line_search": (normal(3), np.array(1.0)),
        "descent_with_line_search": (normal(3),),
        "newtons_method": (normal(3),),
        "newton_by_products": (normal(3), normal(3)),
        "gauss_newton": (np.array([1.0, 0.5]), np.linspace(0, 2, 5), rng.uniform(size=5)),
        "gradients_per_example": (layers, *data),
        "learning_rate_of_the_training": (np.array(0.1), normal((4, 2)), normal(4)),
        "maml": (normal(2), normal((2, 3, 2)), normal((2, 3))),
        "static_settings": (normal(2),),
        "power_iteration": (normal((3, 3)),),
        "simulated_annealing": (normal(3), 0.1 * normal((4, 3)), rng.uniform(size=4)),
        "sinkhorn": (rng.uniform(size=(3, 4)), np.array(0.5)),
        "kmeans": (normal((6, 2)), normal((3, 2))),
        "projected_gradient": (normal(3), np.array(1.0)),
    }


FORWARD_ONLY = {"armijo_line_search", "descent_with_line_search"}
WIDENS = {"adam"}
