"""Diffrax: ordinary, stochastic and controlled differential equations, with adjoints."""

import diffrax as dfx
import jax
import jax.numpy as jnp
import optimistix as optx


def _tol(x):
    """A tolerance, or what can be reached in single precision."""
    return max(x, 500 * float(jnp.finfo(jnp.result_type(float)).eps))


def _lotka(t, y, args):
    a, b, c, d = args
    return jnp.stack([a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]])


ARGS = (1.5, 1.0, 3.0, 1.0)


def _solved(args, y0=(10.0, 5.0), solver=None, adjoint=None, controller=None, **options):
    return dfx.diffeqsolve(
        dfx.ODETerm(_lotka), solver or dfx.Tsit5(), 0.0, 3.0, 0.05, jnp.array(y0), args,
        saveat=dfx.SaveAt(ts=jnp.linspace(0.0, 3.0, 7)),
        stepsize_controller=controller or dfx.PIDController(_tol(1e-7), _tol(1e-7)),
        adjoint=adjoint or dfx.RecursiveCheckpointAdjoint(), **options,
    )  # fmt: skip


def solvers():
    names = ["Tsit5", "Dopri5", "Dopri8", "Bosh3", "Heun", "Midpoint", "Ralston", "Euler"]
    found = {}
    for name in names:
        adaptive = name in "Tsit5 Dopri5 Dopri8 Bosh3"
        controller = None if adaptive else dfx.ConstantStepSize()
        s = _solved(ARGS, solver=getattr(dfx, name)(), controller=controller)
        found[name] = s.ys, s.stats["num_steps"]
    return found


def implicit():
    def robertson(t, y, _):
        a, b, c = y
        return jnp.stack([-0.04 * a + 1e2 * b * c, 0.04 * a - 1e2 * b * c - 3e3 * b**2, 3e3 * b**2])

    return [
        dfx.diffeqsolve(
            dfx.ODETerm(robertson), solver, 0.0, 5.0, 1e-3, jnp.array([1.0, 0.0, 0.0]),
            stepsize_controller=dfx.PIDController(1e-6, 1e-6),
        ).ys
        for solver in (dfx.Kvaerno5(), dfx.Kvaerno3())
    ]  # fmt: skip


def adjoints():
    loss = lambda args, adjoint: jnp.sum(_solved(args, adjoint=adjoint, max_steps=256).ys[-1])
    args = jnp.array(ARGS)
    kinds = [dfx.RecursiveCheckpointAdjoint(), dfx.DirectAdjoint(), dfx.BacksolveAdjoint()]
    forward = lambda a: loss(a, dfx.ForwardMode())
    return [jax.value_and_grad(lambda a, k=k: loss(a, k))(args) for k in kinds], jax.jacfwd(
        forward
    )(args)


def events_and_dense():
    bounce = lambda t, y, _: jnp.stack([y[1], jnp.asarray(-9.8)])
    event = dfx.Event(lambda t, y, args, **_: y[0], root_finder=optx.Newton(_tol(1e-8), _tol(1e-8)))
    s = dfx.diffeqsolve(
        dfx.ODETerm(bounce),
        dfx.Tsit5(),
        0.0,
        jnp.inf,
        0.1,
        jnp.array([10.0, 0.0]),
        event=event,
        stepsize_controller=dfx.PIDController(_tol(1e-8), _tol(1e-8)),
    )
    dense = dfx.diffeqsolve(
        dfx.ODETerm(_lotka),
        dfx.Tsit5(),
        0.0,
        1.0,
        0.01,
        jnp.array([10.0, 5.0]),
        ARGS,
        saveat=dfx.SaveAt(dense=True),
    )
    steps = dfx.diffeqsolve(
        dfx.ODETerm(_lotka),
        dfx.Dopri5(),
        0.0,
        1.0,
        0.1,
        jnp.array([10.0, 5.0]),
        ARGS,
        saveat=dfx.SaveAt(steps=True, fn=lambda t, y, args: jnp.sum(y)),
        max_steps=32,
    )
    return (
        s.ts,
        s.ys,
        dense.evaluate(0.37),
        dense.derivative(0.5),
        jnp.nan_to_num(steps.ys, posinf=0),
    )


def stochastic():
    def paths(key, mu):
        brownian = dfx.VirtualBrownianTree(0.0, 1.0, 1e-3, (2,), key)
        terms = dfx.MultiTerm(
            dfx.ODETerm(lambda t, y, a: mu * y),
            dfx.ControlTerm(lambda t, y, a: 0.3 * jnp.diag(y), brownian),
        )
        return dfx.diffeqsolve(
            terms,
            dfx.EulerHeun(),
            0.0,
            1.0,
            0.05,
            jnp.ones(2),
            saveat=dfx.SaveAt(ts=jnp.array([0.5, 1.0])),
        ).ys

    many = jax.vmap(paths, (0, None))(jax.random.split(jax.random.key(0), 3), 0.1)
    return many, jax.grad(lambda mu: paths(jax.random.key(1), mu).sum())(0.1)


def more_stochastic_solvers():
    def terms(brownian):
        return dfx.MultiTerm(
            dfx.ODETerm(lambda t, y, a: -y),
            dfx.ControlTerm(lambda t, y, a: jnp.asarray(0.2), brownian),
        )

    plain = dfx.VirtualBrownianTree(0.0, 1.0, 1e-3, (), jax.random.key(2))
    levy = dfx.VirtualBrownianTree(
        0.0, 1.0, 1e-3, (), jax.random.key(2), levy_area=dfx.SpaceTimeLevyArea
    )
    made = [(dfx.Euler(), plain), (dfx.Heun(), plain), (dfx.SRA1(), levy), (dfx.SEA(), levy)]
    return [dfx.diffeqsolve(terms(b), s, 0.0, 1.0, 0.1, jnp.asarray(1.0)).ys for s, b in made]


def controlled():
    ts = jnp.linspace(0.0, 1.0, 8)
    xs = jnp.stack([ts, jnp.sin(3 * ts)], 1)
    cubic = dfx.CubicInterpolation(ts, dfx.backward_hermite_coefficients(ts, xs))
    term = dfx.ControlTerm(
        lambda t, y, a: jnp.tanh(y)[:, None] * jnp.array([1.0, a]), cubic
    ).to_ode()
    f = lambda a: dfx.diffeqsolve(term, dfx.Tsit5(), 0.0, 1.0, 0.05, jnp.ones(3), a).ys
    linear = dfx.LinearInterpolation(ts, xs)
    return (
        f(0.5),
        jax.grad(lambda a: jnp.sum(f(a)))(0.5),
        linear.evaluate(0.33),
        cubic.derivative(0.2),
    )


def batches_of_parameters():
    f = lambda a: _solved((a, 1.0, 3.0, 1.0)).ys[-1]
    return jax.jit(jax.vmap(f))(jnp.array([1.0, 1.5, 2.0]))


def symplectic_and_progress():
    terms = dfx.ODETerm(lambda t, p, a: p), dfx.ODETerm(lambda t, q, a: -jnp.sin(q))
    y0 = (jnp.asarray(1.0), jnp.asarray(0.0))
    s = dfx.diffeqsolve(terms, dfx.SemiImplicitEuler(), 0.0, 5.0, 0.05, y0)
    failed = _solved(ARGS, max_steps=4, throw=False)
    return s.ys, bool(failed.result == dfx.RESULTS.successful)
