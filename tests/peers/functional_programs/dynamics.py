"""Differential equations, roots and fixed points, chains of random states."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.tree_util import tree_map


def pendulum(state, t, damping):
    angle, speed = state
    return speed, -jnp.sin(angle) - damping * speed + 0.1 * jnp.cos(t)


def rk4_step(f, y, t, h):
    add = lambda y, k, s: tree_map(lambda a, b: a + s * b, y, k)
    k1 = f(y, t)
    k2 = f(add(y, k1, h / 2), t + h / 2)
    k3 = f(add(y, k2, h / 2), t + h / 2)
    k4 = f(add(y, k3, h), t + h)
    mean = tree_map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, k1, k2, k3, k4)
    return add(y, mean, h)


def runge_kutta(angle, speed, damping):
    def step(state, _):
        y, t = state
        y = rk4_step(lambda y, t: pendulum(y, t, damping), y, t, 0.1)
        return (y, t + 0.1), y

    return lax.scan(step, ((angle, speed), 0.0), length=5)[1]


def adaptive_steps(y0, rate, tolerance):
    """Heun and Euler, the step by their difference; a loop whose length depends on values."""
    f = lambda y: jnp.sin(rate * y) - 0.2 * y

    def keep_on(state):
        t, _, _, steps = state
        return (t < 1.0) & (steps < 50)

    def step(state):
        t, y, h, steps = state
        h = jnp.minimum(h, 1.0 - t)
        k1 = f(y)
        k2 = f(y + h * k1)
        error = jnp.max(jnp.abs(h * (k2 - k1) / 2))
        good = error < tolerance
        t, y = jnp.where(good, t + h, t), jnp.where(good, y + h * (k1 + k2) / 2, y)
        h = h * jnp.clip(0.9 * jnp.sqrt(tolerance / (error + 1e-9)), 0.3, 2.0)
        return t, y, h, steps + 1

    zero = jnp.zeros_like(tolerance)
    t, y, _, _ = lax.while_loop(keep_on, step, (zero, y0, zero + 0.1, 0))
    return t, y


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def odeint(f, y, theta):
    return lax.fori_loop(0, 20, lambda i, y: rk4_step(lambda y, t: f(y, theta), y, 0.0, 0.05), y)


def odeint_forward(f, y, theta):
    y = odeint(f, y, theta)
    return y, (y, theta)


def odeint_backward(f, residuals, g):
    """The adjoint equation, backwards in time together with the state."""
    y, theta = residuals

    def augmented(state, t):
        y, a, _ = state
        dy, pull = jax.vjp(f, y, theta)
        da, dtheta = pull(a)
        return -dy, da, dtheta

    state = (y, g, jnp.zeros_like(theta))
    step = lambda i, s: rk4_step(augmented, s, 0.0, 0.05)
    _, a, dtheta = lax.fori_loop(0, 20, step, state)
    return a, dtheta


odeint.defvjp(odeint_forward, odeint_backward)


def adjoint_method(y, theta):
    return odeint(lambda y, theta: jnp.tanh(theta @ y) - 0.5 * y, y, theta)


def leapfrog(q, p, stiffness):
    """Planets on springs; forces are gradients."""
    energy = lambda q: 0.5 * stiffness * jnp.sum(jnp.diff(q) ** 2) + jnp.sum(q**4) / 4

    def step(_, state):
        q, p = state
        p = p - 0.05 * jax.grad(energy)(q)
        q = q + 0.1 * p
        return q, p - 0.05 * jax.grad(energy)(q)

    q, p = lax.fori_loop(0, 4, step, (q, p))
    return energy(q) + 0.5 * jnp.sum(p**2), q


def heat_equation(u, conductivity):
    def step(u, _):
        flux = conductivity * (jnp.roll(u, -1) - u)
        u = u + 0.1 * (flux - jnp.roll(flux, 1))
        return u, u.max()

    return lax.scan(step, u, None, length=6)


def quantum_evolution(hamiltonian, psi):
    """Steps of Crank and Nicolson; the norm stays, and the populations are returned."""
    h = hamiltonian + hamiltonian.conj().T
    eye = jnp.eye(h.shape[0], dtype=h.dtype)

    def step(psi, _):
        psi = jnp.linalg.solve(eye + 0.05j * h, (eye - 0.05j * h) @ psi)
        return psi, jnp.abs(psi) ** 2

    return lax.scan(step, psi, None, length=4)[1]


def newton(a):
    """A square root by iteration until it stands still."""
    body = lambda s: ((s[0] + a / s[0]) / 2, s[0])
    apart = lambda s: jnp.abs(s[0] - s[1]) > 1e-6
    return lax.while_loop(apart, body, (a, a + 1))[0]


def bisection(a, lower, upper):
    def body(state):
        lower, upper = state
        middle = (lower + upper) / 2
        above = middle**3 + a * middle > 1.0
        return jnp.where(above, lower, middle), jnp.where(above, middle, upper)

    lower, upper = lax.while_loop(lambda s: s[1] - s[0] > 1e-3, body, (lower, upper))
    return (lower + upper) / 2


@jax.custom_vjp
def fixed_point(w, b):
    """z = tanh(w z + b), differentiated implicitly."""
    step = lambda state: (jnp.tanh(w @ state[0] + b), state[0])
    apart = lambda state: jnp.max(jnp.abs(state[0] - state[1])) > 1e-12
    return lax.while_loop(apart, step, (jnp.tanh(b), b))[0]


def fixed_point_forward(w, b):
    z = fixed_point(w, b)
    return z, (w, b, z)


def fixed_point_backward(residuals, g):
    w, b, z = residuals
    _, pull_z = jax.vjp(lambda z: jnp.tanh(w @ z + b), z)
    u = lax.fori_loop(0, 60, lambda i, u: g + pull_z(u)[0], g)
    _, pull = jax.vjp(lambda w, b: jnp.tanh(w @ z + b), w, b)
    return pull(u)


fixed_point.defvjp(fixed_point_forward, fixed_point_backward)


def deep_equilibrium(w, b, v):
    return v @ fixed_point(w / (2 * jnp.sqrt(jnp.sum(w**2))), b)


def root_by_custom_root(a, b):
    def solve(f, x):
        body = lambda i, x: x - f(x) / (3 * x**2 + a)
        return lax.fori_loop(0, 20, body, x)

    equation = lambda x: x**3 + a * x - b
    tangent_solve = lambda g, y: y / g(jnp.ones_like(y))
    return lax.custom_root(equation, b, solve, tangent_solve)


def conjugate_gradients(m, b):
    """A linear system by a loop, with derivatives that are linear systems."""
    a = m @ m.T + 3 * jnp.eye(m.shape[0], dtype=m.dtype)
    matvec = lambda x: a @ x

    def solve(matvec, b):
        def body(state):
            x, r, p, k = state
            ap = matvec(p)
            alpha = (r @ r) / (p @ ap)
            x, new = x + alpha * p, r - alpha * ap
            return x, new, new + (new @ new) / (r @ r) * p, k + 1

        go_on = lambda state: (state[1] @ state[1] > 1e-24) & (state[3] < 20)
        return lax.while_loop(go_on, body, (jnp.zeros_like(b), b, b, 0))[0]

    return lax.custom_linear_solve(matvec, b, solve, symmetric=True)


def metropolis(x, scale, steps, uniforms):
    """A chain of random states. Its random numbers are arguments."""
    log_density = lambda x: -0.5 * jnp.sum(x**2) - 0.1 * jnp.sum(x**4)

    def step(state, inputs):
        x, logp, accepted = state
        eps, u = inputs
        proposal = x + scale * eps
        new = log_density(proposal)
        accept = jnp.log(u) < new - logp
        x, logp = lax.cond(accept, lambda: (proposal, new), lambda: (x, logp))
        return (x, logp, accepted + accept), x

    (_, logp, accepted), samples = lax.scan(step, (x, log_density(x), 0), (steps, uniforms))
    return logp, accepted, samples.mean(axis=0)


def hamiltonian_monte_carlo(q, momenta, uniforms):
    potential = lambda q: 0.5 * jnp.sum(q**2) + jnp.log1p(jnp.sum(q**2))
    energy = lambda q, p: potential(q) + 0.5 * p @ p

    def trajectory(q, p):
        def step(state, _):
            q, p = state
            p = p - 0.1 * jax.grad(potential)(q)
            q = q + 0.2 * p
            return (q, p - 0.1 * jax.grad(potential)(q)), None

        return lax.scan(step, (q, p), None, length=3)[0]

    def draw(q, inputs):
        p, u = inputs
        new, p_new = trajectory(q, p)
        accept = u < jnp.exp(energy(q, p) - energy(new, p_new))
        q = jnp.where(accept, new, q)
        return q, q

    return lax.scan(draw, q, (momenta, uniforms))[1]


def random_walk_until_hit(start, steps):
    """A first passage: a loop over given steps that ends early."""
    n = steps.shape[0]
    inside = lambda s: (s[0] < n) & (jnp.abs(s[1]) < 1.5)
    body = lambda s: (s[0] + 1, s[1] + lax.dynamic_index_in_dim(steps, s[0], keepdims=False))
    return lax.while_loop(inside, body, (0, start))


def inputs(rng):
    normal = rng.standard_normal
    number = lambda x: np.array(float(x))
    return {
        "runge_kutta": (number(1.0), number(0.2), number(0.1)),
        "adaptive_steps": (normal(2), number(1.5), number(1e-3)),
        "adjoint_method": (normal(2), normal((2, 2))),
        "leapfrog": (normal(3), normal(3), number(2)),
        "heat_equation": (normal(5), number(0.7)),
        "quantum_evolution": (
            normal((2, 2)) + 1j * normal((2, 2)),
            normal(2) + 1j * normal(2),
        ),
        "newton": (number(2.5),),
        "bisection": (number(0.7), number(-1), number(3)),
        "deep_equilibrium": (normal((3, 3)), normal(3), normal(3)),
        "root_by_custom_root": (number(1.3), number(2.1)),
        "conjugate_gradients": (normal((3, 3)), normal(3)),
        "metropolis": (normal(2), number(0.8), normal((5, 2)), rng.uniform(size=5)),
        "hamiltonian_monte_carlo": (normal(2), normal((3, 2)), rng.uniform(size=3)),
        "random_walk_until_hit": (number(0.1), normal(8)),
    }


FORWARD_ONLY = {"adaptive_steps", "newton", "bisection", "random_walk_until_hit"}
REVERSE_ONLY = {"adjoint_method", "deep_equilibrium"}
WIDENS = {"runge_kutta"}
