"""Applications of this folder as a user of JAX writes them: loops over time are scans, the rest is vectorised."""

import jax
import jax.numpy as jnp


def advection(steps, u, speed):
    return jax.lax.fori_loop(0, steps, lambda _, u: u - 0.4 * speed * (u - jnp.roll(u, 1)), u)


def wave_2d(steps, u, c):
    def step(_, fields):
        past, now = fields
        bent = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        after = 2 * now[1:-1, 1:-1] - past[1:-1, 1:-1] + 0.1 * c[1:-1, 1:-1] * bent
        return now, now.at[1:-1, 1:-1].set(after)

    return jax.lax.fori_loop(0, steps, step, (u, u))[1]


def heat_by_spectra(steps, u, kappa):
    waves = jnp.fft.fftfreq(len(u), 1.0 / len(u))

    def step(_, u):
        u = jnp.fft.ifft(jnp.exp(-kappa * 0.001 * waves**2) * jnp.fft.fft(u)).real
        return u + 0.01 * u * (1.0 - u)

    return jax.lax.fori_loop(0, steps, step, u)


def nbody(steps, x, v, mass):
    def step(_, state):
        x, v = state
        d = x[None] - x[:, None]
        near = (jnp.sum(d * d, axis=2) + 0.01) ** -1.5
        v = v + 0.01 * jnp.einsum("j,ij,ijk->ik", mass, near, d)
        return x + 0.01 * v, v

    return jax.lax.fori_loop(0, steps, step, (x, v))[0]


def springs(steps, x, v, stiffness):
    def step(_, state):
        x, v = state
        pull = stiffness[1:-1] * (x[2:] - x[1:-1]) - stiffness[:-2] * (x[1:-1] - x[:-2])
        v = v.at[1:-1].add(0.01 * pull)
        return x.at[1:-1].add(0.01 * v[1:-1]), v

    return jax.lax.fori_loop(0, steps, step, (x, v))[0]


def hidden_markov(seen, passes, emits, start):
    alpha = start * emits[:, seen[0]]

    def step(alpha, s):
        alpha = (alpha @ passes) * emits[:, s]
        scale = alpha.sum()
        return alpha / scale, jnp.log(scale)

    _, logs = jax.lax.scan(step, alpha / alpha.sum(), seen[1:])
    return jnp.array([jnp.log(alpha.sum()) + logs.sum()])


def option_lattice(steps, price, strike, volatility):
    dt = 1.0 / steps
    up = jnp.exp(volatility * jnp.sqrt(dt))
    fall = jnp.exp(-0.03 * dt)
    p = (1.0 / fall - 1.0 / up) / (up - 1.0 / up)
    i = jnp.arange(steps + 1.0)
    value = jnp.maximum(strike - price * up ** (2.0 * i - steps), 0.0)

    def step(value, t):
        held = fall * (p * jnp.roll(value, -1) + (1.0 - p) * value)
        return jnp.maximum(held, strike - price * up ** (2.0 * i - t)), None

    return jax.lax.scan(step, value, jnp.arange(steps - 1.0, -1.0, -1.0))[0][:1]


def kalman(seen, a, q, r):
    def step(state, y):
        x, p = state
        x = a @ x
        p = a @ p @ a.T + q
        gain = p[:, 0] / (p[0, 0] + r)
        x = x + gain * (y - x[0])
        return (x, p - jnp.outer(gain, p[0])), x

    return jax.lax.scan(step, (jnp.zeros(2), jnp.eye(2)), seen)[1]


def runge_kutta(steps, start, sigma, rho):
    def slope(s):
        return jnp.array(
            [sigma * (s[1] - s[0]), s[0] * (rho - s[2]) - s[1], s[0] * s[1] - 8.0 / 3.0 * s[2]]
        )

    def step(s, _):
        k1 = slope(s)
        k2 = slope(s + 0.005 * k1)
        k3 = slope(s + 0.005 * k2)
        k4 = slope(s + 0.01 * k3)
        s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s

    return jax.lax.scan(step, start, None, length=steps)[1]
