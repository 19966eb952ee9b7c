"""NumPyro: NUTS and HMC, variational inference, distributions, effect handlers."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.contrib import control_flow
from numpyro.infer import (
    HMC,
    MCMC,
    NUTS,
    SVI,
    Predictive,
    Trace_ELBO,
    TraceMeanField_ELBO,
    autoguide,
    log_likelihood,
)
from numpyro.infer.reparam import LocScaleReparam

Y = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SIGMA = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
X = jax.random.normal(jax.random.key(5), (40, 3))
LABELS = (
    jax.random.uniform(jax.random.key(6), (40,)) < jax.nn.sigmoid(X @ jnp.array([1.0, -2.0, 0.5]))
).astype(int)


def _eight_schools():
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", 8), handlers.reparam(config={"theta": LocScaleReparam(0)}):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("obs", dist.Normal(theta, SIGMA), obs=Y)


def _logistic(x, y=None):
    w = numpyro.sample("w", dist.Normal(jnp.zeros(3), 1.0).to_event(1))
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    with numpyro.plate("N", len(x)):
        numpyro.sample("y", dist.Bernoulli(logits=x @ w + b), obs=y)


def _summary(mcmc):
    samples = mcmc.get_samples()
    return {k: (v[:3], v.mean(0), v.std(0)) for k, v in samples.items()}


def nuts_on_eight_schools():
    mcmc = MCMC(NUTS(_eight_schools), num_warmup=60, num_samples=60, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), extra_fields=("potential_energy", "num_steps"))
    return mcmc.get_extra_fields()["num_steps"], _summary(mcmc)


def nuts_on_logistic_regression():
    mcmc = MCMC(NUTS(_logistic, dense_mass=True), num_warmup=50, num_samples=50, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(1), X, LABELS)
    prediction = Predictive(_logistic, mcmc.get_samples())(jax.random.PRNGKey(2), X[:4])
    return (
        _summary(mcmc),
        prediction,
        log_likelihood(_logistic, mcmc.get_samples(), X, LABELS)["y"].sum(),
    )


def hmc_with_chains():
    kernel = HMC(_logistic, step_size=0.05, num_steps=7, adapt_step_size=False)
    mcmc = MCMC(
        kernel,
        num_warmup=20,
        num_samples=20,
        num_chains=2,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.PRNGKey(3), X, LABELS)
    by_chain = mcmc.get_samples(group_by_chain=True)
    return _summary(mcmc), numpyro.diagnostics.gelman_rubin(by_chain["w"])


def variational_inference():
    found = {}
    for guide in (autoguide.AutoNormal, autoguide.AutoMultivariateNormal, autoguide.AutoDelta):
        svi = SVI(_logistic, guide(_logistic), numpyro.optim.Adam(0.05), Trace_ELBO())
        result = svi.run(jax.random.PRNGKey(0), 60, X, LABELS, progress_bar=False)
        found[guide.__name__] = result.losses[::10], result.params
    return found


def own_guide():
    def model(data):
        p = numpyro.sample("p", dist.Beta(2, 2))
        numpyro.sample("obs", dist.Bernoulli(p).expand([len(data)]).to_event(1), obs=data)

    def guide(data):
        a = numpyro.param("a", 3.0, constraint=dist.constraints.positive)
        b = numpyro.param("b", 3.0, constraint=dist.constraints.positive)
        numpyro.sample("p", dist.Beta(a, b))

    svi = SVI(model, guide, numpyro.optim.ClippedAdam(0.02), TraceMeanField_ELBO())
    state = svi.init(jax.random.PRNGKey(4), LABELS[:10])
    step = jax.jit(svi.update)
    for _ in range(30):
        state, loss = step(state, LABELS[:10])
    return svi.get_params(state), loss


def _distributions():
    lower = jnp.array([[1.0, 0.0], [0.4, 0.8]])
    return {
        "normal": dist.Normal(0.5, 2.0), "gamma": dist.Gamma(2.0, 1.5), "beta": dist.Beta(2.0, 3.0),
        "student": dist.StudentT(4.0, 1.0, 2.0), "cauchy": dist.Cauchy(0.0, 1.0), "laplace": dist.Laplace(0, 1),
        "exponential": dist.Exponential(2.0), "lognormal": dist.LogNormal(0.0, 0.5),
        "dirichlet": dist.Dirichlet(jnp.array([1.0, 2.0, 3.0])), "poisson": dist.Poisson(3.0),
        "binomial": dist.Binomial(10, 0.3), "categorical": dist.Categorical(jnp.array([0.2, 0.3, 0.5])),
        "bernoulli": dist.Bernoulli(0.3), "mvn": dist.MultivariateNormal(jnp.zeros(2), scale_tril=lower),
        "halfnormal": dist.HalfNormal(2.0), "weibull": dist.Weibull(2.0, 1.5), "gumbel": dist.Gumbel(0.0, 1.0),
        "truncated": dist.TruncatedNormal(0.0, 1.0, low=-0.5, high=1.0), "vonmises": dist.VonMises(0.3, 2.0),
        "lkj": dist.LKJCholesky(3, 1.5), "negbinomial": dist.NegativeBinomial2(3.0, 2.0),
        "mixture": dist.MixtureSameFamily(dist.Categorical(jnp.array([0.3, 0.7])), dist.Normal(jnp.arange(2.0), 1.0)),
        "transformed": dist.TransformedDistribution(dist.Normal(0, 1), dist.transforms.AffineTransform(1.0, 2.0)),
        "wishart": dist.InverseGamma(3.0, 1.0), "uniform": dist.Uniform(-1.0, 2.0), "logistic": dist.Logistic(0, 1),
    }  # fmt: skip


def distributions():
    found = {}
    for name, d in _distributions().items():
        sample = d.sample(jax.random.PRNGKey(0), (4,))
        found[name] = sample, d.log_prob(sample)
    return found


def derivatives_and_moments():
    found = {}
    for name, d in _distributions().items():
        if name not in ("lkj", "transformed"):
            found[name] = d.mean, d.variance
    rate = jax.grad(lambda a: dist.Gamma(a, 1.0).sample(jax.random.PRNGKey(1), (3,)).sum())(2.0)
    log_prob = jax.grad(lambda a: dist.Beta(a, 2.0).log_prob(0.3))(1.5)
    kl = dist.kl_divergence(dist.Normal(0.0, 1.0), dist.Normal(1.0, 2.0))
    return found, rate, log_prob, kl, dist.Normal(0, 1).cdf(0.3), dist.Gamma(2.0, 1.0).cdf(1.2)


def effect_handlers():
    seeded = handlers.seed(_eight_schools, jax.random.PRNGKey(9))
    trace = handlers.trace(seeded).get_trace()
    values = {k: v["value"] for k, v in trace.items() if v["type"] in ("sample", "deterministic")}
    done = handlers.substitute(_logistic, {"w": jnp.ones(3), "b": 0.5})
    density, _ = numpyro.infer.util.log_density(done, (X, LABELS), {}, {})
    conditioned = handlers.trace(
        handlers.seed(handlers.condition(_eight_schools, {"mu": 1.0}), 0)
    ).get_trace()
    return values, density, conditioned["tau"]["value"]


def loops_in_models():
    def model(xs):
        scale = numpyro.sample("scale", dist.HalfNormal(1.0))

        def step(carry, x):
            z = numpyro.sample("z", dist.Normal(0.8 * carry, scale))
            numpyro.sample("x", dist.Normal(z, 0.5), obs=x)
            return z, z

        control_flow.scan(step, 0.0, xs)

    mcmc = MCMC(NUTS(model), num_warmup=20, num_samples=20, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), jnp.sin(jnp.arange(8.0)))
    return _summary(mcmc)
