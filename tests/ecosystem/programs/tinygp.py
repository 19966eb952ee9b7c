"""Tinygp: Gaussian processes; kernels, likelihoods and their gradients, predictions."""

import jax
import jax.numpy as jnp
from tinygp import GaussianProcess, kernels, noise, solvers, transforms

X = jnp.sort(jax.random.uniform(jax.random.key(0), (12,), minval=0.0, maxval=5.0))
Y = jnp.sin(X) + 0.1 * jax.random.normal(jax.random.key(1), (12,))
T = jnp.linspace(0.0, 5.0, 5)


def likelihood_and_gradient():
    def loss(p):
        kernel = jnp.exp(p["amplitude"]) * kernels.Matern52(jnp.exp(p["scale"]))
        gp = GaussianProcess(kernel, X, diag=jnp.exp(p["noise"]), mean=lambda x: p["mean"] * x)
        return -gp.log_probability(Y)

    p = {
        "amplitude": jnp.asarray(0.1),
        "scale": jnp.asarray(0.0),
        "noise": jnp.asarray(-3.0),
        "mean": jnp.asarray(0.2),
    }
    step = jax.jit(jax.value_and_grad(loss))
    values = []
    for _ in range(6):
        value, grads = step(p)
        p = jax.tree.map(lambda p, g: p - 0.02 * g, p, grads)
        values.append(value)
    return values, p


def predictions_and_samples():
    gp = GaussianProcess(1.5 * kernels.ExpSquared(0.8) + 0.3 * kernels.Cosine(2.0), X, diag=0.01)
    value, posterior = gp.condition(Y, T)
    return (
        value, posterior.loc, posterior.variance, posterior.covariance, gp.predict(Y, T, return_var=True),
        gp.sample(jax.random.key(2), (2,)), posterior.sample(jax.random.key(3)),
    )  # fmt: skip


def all_kernels():
    k = kernels
    made = [
        k.Exp(0.5), k.ExpSquared(0.5), k.Matern32(0.5), k.Matern52(0.5), k.Cosine(1.3), k.ExpSineSquared(scale=1.2, gamma=0.7),
        k.RationalQuadratic(scale=0.8, alpha=1.5), k.Constant(2.0),
        k.Custom(lambda a, b: jnp.exp(-jnp.abs(a - b))), k.Matern32(1.0) * k.Cosine(2.0) + 1.0,
        transforms.Linear(2.0, k.ExpSquared()), transforms.Transform(jnp.sin, k.ExpSquared()),
    ]  # fmt: skip
    return [
        (kernel(X, T), jax.vmap(lambda x, kernel=kernel: kernel.evaluate_diag(x))(X))
        for kernel in made
    ]


def many_dimensions():
    points = jax.random.normal(jax.random.key(4), (10, 3))
    kernel = transforms.Cholesky.from_parameters(
        jnp.ones(3),
        jnp.array([0.1, 0.2, 0.3]),
        kernels.Matern32(distance=kernels.distance.L2Distance()),
    )
    subspace = transforms.Subspace(1, kernels.ExpSquared(0.5))
    gp = GaussianProcess(kernel + subspace, points, diag=0.1)
    grad = jax.grad(lambda p: GaussianProcess(kernel, p, diag=0.1).log_probability(jnp.ones(10)))(
        points
    )
    return gp.log_probability(jnp.ones(10)), grad


def quasiseparable():
    def value(scale):
        kernel = kernels.quasisep.Matern32(scale=scale, sigma=1.2) + kernels.quasisep.SHO(
            omega=2.0, quality=3.0, sigma=0.5
        )
        return GaussianProcess(kernel, X, diag=0.1, assume_sorted=True).log_probability(Y)

    celerite = kernels.quasisep.Celerite(1.0, 0.1, 0.5, 2.0)
    gp = GaussianProcess(celerite, X, diag=0.1)
    return (
        jax.jit(jax.value_and_grad(value))(0.7),
        gp.log_probability(Y),
        gp.predict(Y),
        gp.sample(jax.random.key(5)),
    )


def noise_models():
    dense = noise.Dense(0.1 * jnp.eye(12) + 0.01)
    banded = noise.Banded(jnp.full(12, 0.2), jnp.full((12, 1), 0.05))
    kernel = kernels.ExpSquared(0.7)
    direct = GaussianProcess(kernel, X, noise=dense, solver=solvers.DirectSolver)
    return direct.log_probability(Y), GaussianProcess(
        kernels.quasisep.Exp(0.7), X, noise=banded
    ).log_probability(Y)
