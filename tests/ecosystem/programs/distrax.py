"""Distrax: distributions, bijectors, and distributions made of them."""

import distrax
import jax
import jax.numpy as jnp

KEY = jax.random.PRNGKey(0)


def _made():
    d = distrax
    return {
        "normal": d.Normal(0.5, 2.0), "bernoulli": d.Bernoulli(logits=0.3), "beta": d.Beta(2.0, 3.0),
        "categorical": d.Categorical(logits=jnp.array([0.1, 0.5, -1.0])), "dirichlet": d.Dirichlet(jnp.array([1.0, 2.0, 3.0])),
        "gamma": d.Gamma(2.0, 1.5), "gumbel": d.Gumbel(0.0, 1.0), "laplace": d.Laplace(0.0, 1.0),
        "logistic": d.Logistic(0.0, 1.0), "lognormal": d.LogStddevNormal(0.0, 0.5), "uniform": d.Uniform(-1.0, 2.0),
        "multinomial": d.Multinomial(5, probs=jnp.array([0.2, 0.3, 0.5])), "onehot": d.OneHotCategorical(probs=jnp.array([0.3, 0.7])),
        "mvn": d.MultivariateNormalDiag(jnp.zeros(2), jnp.array([1.0, 2.0])), "softmax": d.Softmax(jnp.array([1.0, 2.0, 0.5])),
        "full": d.MultivariateNormalFullCovariance(jnp.zeros(2), jnp.array([[2.0, 0.3], [0.3, 1.0]])),
        "independent": d.Independent(d.Normal(jnp.zeros(3), 1.0), 1), "vonmises": d.VonMises(0.3, 2.0),
        "mixture": d.MixtureSameFamily(d.Categorical(probs=jnp.array([0.3, 0.7])), d.Normal(jnp.arange(2.0), jnp.ones(2))),
        "quantized": d.Quantized(d.Normal(2.0, 3.0), 0, 5), "greedy": d.EpsilonGreedy(jnp.array([1.0, 3.0, 2.0]), 0.1),
    }  # fmt: skip


def distributions():
    found = {}
    for name, d in _made().items():
        samples, log_prob = d.sample_and_log_prob(seed=KEY, sample_shape=(3,))
        found[name] = samples, log_prob, d.batch_shape, d.event_shape
    return found


def moments():
    names = [
        "normal",
        "bernoulli",
        "beta",
        "categorical",
        "dirichlet",
        "gamma",
        "laplace",
        "uniform",
        "mvn",
    ]
    made = _made()
    moments = {name: made[name].entropy() for name in names}
    means = {
        name: (made[name].mean(), made[name].variance()) for name in names if name != "categorical"
    }
    return (
        moments,
        means,
        made["normal"].kl_divergence(distrax.Normal(0.0, 1.0)),
        made["normal"].cdf(0.3),
    )


def gradients():
    nll = lambda p: -distrax.Normal(p["m"], jnp.exp(p["s"])).log_prob(jnp.array([0.3, 1.2])).sum()
    score = lambda a: distrax.Gamma(a, 1.0).sample(seed=KEY, sample_shape=(4,)).sum()
    logits = lambda l: distrax.Categorical(logits=l).entropy()
    return (
        jax.jit(jax.grad(nll))({"m": 0.1, "s": 0.2}),
        jax.grad(score)(2.0),
        jax.grad(logits)(jnp.array([0.1, 0.5, -1.0])),
    )


def bijectors():
    d = distrax
    x = jnp.array([0.2, 0.7, 0.9])
    made = [
        d.Lambda(jnp.exp), d.Tanh(), d.Sigmoid(), d.ScalarAffine(1.0, 2.0), d.Inverse(d.Sigmoid()),
        d.Chain([d.ScalarAffine(0.5, 3.0), d.Tanh()]), d.GumbelCDF(),
    ]  # fmt: skip
    scalar = [(b.forward_and_log_det(x), b.inverse(b.forward(x))) for b in made]
    spline = d.RationalQuadraticSpline(jnp.linspace(-1, 1, 16), -2.0, 2.0)
    triangular = d.LowerUpperTriangularAffine(jnp.array([[1.0, 0.3], [0.2, 2.0]]), jnp.ones(2))
    coupling = d.MaskedCoupling(jnp.array([True, False, True]), lambda v: jnp.stack([v, 0.1 * v], -1),
                                lambda p: d.ScalarAffine(p[..., 0], jnp.exp(p[..., 1])))  # fmt: skip
    return (
        scalar, spline.forward_and_log_det(x), spline.inverse(x), triangular.forward_and_log_det(x[:2]),
        triangular.inverse(x[:2]), coupling.forward_and_log_det(x), d.Block(d.Tanh(), 1).forward_and_log_det(x),
    )  # fmt: skip


def transformed():
    base = distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2))
    flow = distrax.Transformed(
        base, distrax.Block(distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(0.1, 0.5)]), 1)
    )
    x, log_prob = flow.sample_and_log_prob(seed=KEY, sample_shape=(4,))
    grad = jax.jit(jax.grad(lambda x: flow.log_prob(x).sum()))(x)
    return x, log_prob, grad, jax.vmap(lambda k: flow.sample(seed=k))(jax.random.split(KEY, 3))


def hidden_markov_model():
    hmm = distrax.HMM(
        distrax.Categorical(probs=jnp.array([0.6, 0.4])), distrax.Categorical(probs=jnp.array([[0.9, 0.1], [0.2, 0.8]])),
        distrax.Normal(jnp.array([0.0, 3.0]), jnp.array([1.0, 0.5])),
    )  # fmt: skip
    states, observed = hmm.sample(seed=KEY, seq_len=8)
    forward = hmm.forward(observed)
    return states, observed, forward, hmm.viterbi(observed), hmm.forward_backward(observed)
