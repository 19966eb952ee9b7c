"""BlackJAX: HMC, NUTS, adaptation, and other samplers."""

import blackjax
import jax
import jax.numpy as jnp

SCALES = jnp.array([1.0, 0.5, 2.0])


def _logdensity(x):
    return -0.5 * jnp.sum((x / SCALES) ** 2) - 0.1 * jnp.sum(x**4)


def _chain(kernel, state, steps=40, seed=0):
    def step(state, key):
        state, info = kernel(key, state)
        return state, (state.position, info)

    return jax.jit(lambda s: jax.lax.scan(step, s, jax.random.split(jax.random.key(seed), steps)))(
        state
    )


def hmc():
    made = blackjax.hmc(_logdensity, 0.2, jnp.ones(3), 8)
    last, (positions, info) = _chain(made.step, made.init(jnp.ones(3)))
    return last, positions, info.acceptance_rate, info.is_accepted


def nuts():
    made = blackjax.nuts(_logdensity, 0.3, SCALES**2)
    last, (positions, info) = _chain(made.step, made.init(jnp.ones(3)))
    return last, positions, info.num_integration_steps, info.acceptance_rate


def window_adaptation():
    warmup = blackjax.window_adaptation(blackjax.nuts, _logdensity)
    (state, parameters), _ = warmup.run(jax.random.key(1), jnp.ones(3), num_steps=100)
    kernel = blackjax.nuts(_logdensity, **parameters).step
    _, (positions, _) = _chain(kernel, state, 20)
    return state.position, parameters, positions


def random_walks():
    rmh = blackjax.additive_step_random_walk(
        _logdensity, blackjax.mcmc.random_walk.normal(0.5 * jnp.ones(3))
    )
    mala = blackjax.mala(_logdensity, 0.1)
    ghmc = blackjax.barker_proposal(_logdensity, 0.3)
    return [_chain(k.step, k.init(jnp.ones(3)))[1][0] for k in (rmh, mala, ghmc)]


def slice_and_ensembles():
    elliptical = blackjax.elliptical_slice(
        lambda x: -0.1 * jnp.sum(x**4), mean=jnp.zeros(3), cov=jnp.diag(SCALES**2)
    )
    mclmc = blackjax.mclmc(_logdensity, 1.0, 0.2)
    start = mclmc.init(jnp.ones(3), jax.random.key(3))
    return _chain(elliptical.step, elliptical.init(jnp.ones(3)), 15)[1][0], _chain(
        mclmc.step, start, 15
    )[1][0]


def many_chains():
    made = blackjax.nuts(_logdensity, 0.3, SCALES**2)
    states = jax.vmap(made.init)(jax.random.normal(jax.random.key(2), (3, 3)))
    step = jax.jit(jax.vmap(made.step))
    for i in range(5):
        states, _ = step(jax.random.split(jax.random.key(i), 3), states)
    return states


def trees_as_positions():
    density = lambda p: -0.5 * p["a"] ** 2 - jnp.sum(jnp.cosh(p["b"]))
    made = blackjax.hmc(density, 0.1, jnp.ones(3), 5)
    return _chain(made.step, made.init({"a": jnp.asarray(0.5), "b": jnp.ones(2)}), 20)[0]


def sequential_monte_carlo():
    smc = blackjax.tempered_smc(
        lambda x: -0.5 * jnp.sum(x**2), lambda x: -0.5 * jnp.sum((x - 2) ** 2), blackjax.hmc.build_kernel(),
        blackjax.hmc.init, blackjax.smc.extend_params(
            {"step_size": jnp.asarray(0.1), "inverse_mass_matrix": jnp.ones(2), "num_integration_steps": 4}
        ), blackjax.smc.resampling.systematic, 3,
    )  # fmt: skip
    state = smc.init(jax.random.normal(jax.random.key(0), (20, 2)))
    for i, temperature in enumerate((0.3, 0.7, 1.0)):
        state, info = jax.jit(smc.step)(jax.random.key(i), state, tempering_param=temperature)
    return state.particles, state.weights, info.log_likelihood_increment


def variational():
    import optax

    vi = blackjax.meanfield_vi(_logdensity, optax.sgd(0.05), 20)
    state = vi.init(jnp.zeros(3))
    for i in range(10):
        state, info = jax.jit(vi.step)(jax.random.key(i), state)
    path, _ = blackjax.vi.pathfinder.approximate(
        jax.random.key(0), _logdensity, jnp.ones(3), num_samples=10
    )
    return state.mu, state.rho, info.elbo, path.position


def diagnostics():
    draws = jax.random.normal(jax.random.key(0), (2, 50, 3))
    return blackjax.diagnostics.effective_sample_size(
        draws
    ), blackjax.diagnostics.potential_scale_reduction(draws)
