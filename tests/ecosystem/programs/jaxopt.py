"""JAXopt: solvers with implicit derivatives, projections, proximal operators."""

import jax
import jax.numpy as jnp
import jaxopt
import optax

X = jax.random.normal(jax.random.key(0), (30, 4))
Y = X @ jnp.array([1.0, 0.0, -2.0, 0.3]) + 0.1 * jax.random.normal(jax.random.key(1), (30,))


def _ridge(w, penalty, data=(X, Y)):
    x, y = data
    return jnp.mean((x @ w - y) ** 2) + 0.5 * penalty * jnp.sum(w**2)


def smooth_solvers():
    made = {
        "gd": jaxopt.GradientDescent(_ridge, maxiter=500, tol=1e-8),
        "lbfgs": jaxopt.LBFGS(_ridge, tol=1e-10),
        "bfgs": jaxopt.BFGS(_ridge, tol=1e-9),
        "cg": jaxopt.NonlinearCG(_ridge, tol=1e-9),
    }
    return {name: s.run(jnp.zeros(4), 0.1).params for name, s in made.items()}


def implicit_derivatives():
    solver = jaxopt.LBFGS(_ridge, tol=1e-12, maxiter=200)
    f = lambda penalty: solver.run(jnp.zeros(4), penalty).params
    outer = lambda penalty: jnp.sum(f(penalty) ** 2)
    return f(0.1), jax.jacobian(f)(0.1), jax.jit(jax.grad(outer))(0.1)


def custom_root():
    @jaxopt.implicit_diff.custom_root(jax.grad(_ridge))
    def closed_form(start, penalty):
        return jnp.linalg.solve(2 * X.T @ X / len(X) + penalty * jnp.eye(4), 2 * X.T @ Y / len(X))

    f = lambda p: closed_form(None, p)
    return f(0.3), jax.jacrev(f)(0.3)


def projected_gradient():
    boxes = jnp.zeros(4), jnp.full(4, 0.5)
    box = jaxopt.ProjectedGradient(_ridge, jaxopt.projection.projection_box, tol=1e-9)
    simplex = jaxopt.ProjectedGradient(_ridge, jaxopt.projection.projection_simplex, tol=1e-9)
    bounded = jaxopt.LBFGSB(_ridge, tol=1e-9)
    start = jnp.full(4, 0.25)
    return (
        box.run(start, hyperparams_proj=boxes, penalty=0.1).params,
        simplex.run(start, hyperparams_proj=1.0, penalty=0.1).params,
        bounded.run(start, bounds=boxes, penalty=0.1).params,
        jax.jacrev(lambda b: box.run(start, (boxes[0], b), 0.1).params)(boxes[1]),
    )


def projections():
    v = jnp.array([0.5, -1.2, 2.0, 0.1])
    p = jaxopt.projection
    a = jax.random.normal(jax.random.key(2), (2, 4))
    return (
        p.projection_non_negative(v), p.projection_l2_ball(v, 1.0), p.projection_l1_ball(v, 1.0),
        p.projection_l2_sphere(v, 2.0), p.projection_hyperplane(v, (jnp.ones(4), 1.0)),
        p.projection_halfspace(v, (jnp.ones(4), 1.0)), jax.jacobian(p.projection_simplex)(v),
        p.projection_affine_set(v, (a, jnp.ones(2))), p.projection_box_section(v, (-1.0, 1.0, jnp.ones(4), 0.5)),
        p.projection_transport((jnp.outer(v, v)), (jnp.full(4, 0.25), jnp.full(4, 0.25))),
    )  # fmt: skip


def proximal():
    least = lambda w, data: jnp.mean((data[0] @ w - data[1]) ** 2)
    lasso = jaxopt.ProximalGradient(least, jaxopt.prox.prox_lasso, tol=1e-9, maxiter=1000)
    descent = jaxopt.BlockCoordinateDescent(
        jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, tol=1e-6
    )
    f = lambda l1: lasso.run(jnp.zeros(4), l1, (X, Y)).params
    v = jnp.array([0.5, -1.2, 2.0])
    return (
        f(0.1), jax.jacobian(f)(0.1), descent.run(jnp.zeros(4), 0.1, (X, Y)).params,
        jaxopt.prox.prox_elastic_net(v, (0.3, 0.5)), jaxopt.prox.prox_group_lasso(v, 0.3),
        jaxopt.prox.prox_ridge(v, 0.3), jaxopt.prox.prox_non_negative_lasso(v, 0.3),
    )  # fmt: skip


def stochastic_and_mirror():
    data = [(X[i : i + 10], Y[i : i + 10]) for i in (0, 10, 20)] * 3
    solver = jaxopt.PolyakSGD(lambda w, data: _ridge(w, 0.1, data), maxiter=9, max_stepsize=0.1)
    armijo = jaxopt.ArmijoSGD(lambda w, data: _ridge(w, 0.1, data), maxiter=9)
    kl = jaxopt.MirrorDescent.make_projection_grad(jaxopt.projection.projection_simplex, jnp.log)
    mirror = jaxopt.MirrorDescent(_ridge, kl, maxiter=20, stepsize=0.1)
    mirrored = mirror.run(jnp.full(4, 0.25), 1.0, penalty=0.1).params
    return [s.run_iterator(jnp.zeros(4), iter(data)).params for s in (solver, armijo)], mirrored


def least_squares_and_roots():
    residuals = lambda p, t: p[0] * jnp.exp(-p[1] * t) - 2 * jnp.exp(-1.3 * t)
    t = jnp.linspace(0, 2, 15)
    lm = jaxopt.LevenbergMarquardt(residuals, tol=1e-9)
    gn = jaxopt.GaussNewton(residuals, tol=1e-9)
    bisection = jaxopt.Bisection(lambda x, a: x**3 - a, 0.0, 3.0, tol=1e-9)
    root = jaxopt.ScipyRootFinding(method="hybr", optimality_fun=lambda x, a: x**3 + x - a)
    broyden = jaxopt.Broyden(lambda x, a: x**3 + x - a, tol=1e-9)
    return (
        lm.run(jnp.array([1.0, 1.0]), t).params, gn.run(jnp.array([1.0, 1.0]), t).params,
        jax.value_and_grad(lambda a: bisection.run(None, a).params)(2.0),
        jax.jacobian(lambda a: root.run(jnp.ones(2), a).params)(jnp.array([1.0, 2.0])),
        broyden.run(jnp.ones(2), jnp.array([1.0, 2.0])).params,
    )  # fmt: skip


def fixed_points_and_programs():
    contraction = lambda x, a: jnp.cos(a * x)
    plain = jaxopt.FixedPointIteration(contraction, tol=1e-10)
    anderson = jaxopt.AndersonAcceleration(contraction, history_size=3, tol=1e-9)
    q = jnp.array([[2.0, 0.5], [0.5, 1.0]])
    c, a, b = jnp.array([1.0, 1.0]), jnp.array([[1.0, 1.0]]), jnp.array([1.0])
    quadratic = jaxopt.EqualityConstrainedQP()
    osqp = jaxopt.OSQP(tol=1e-6)
    solved = osqp.run(
        params_obj=(q, c), params_eq=(a, b), params_ineq=(-jnp.eye(2), jnp.zeros(2))
    ).params
    return (
        jax.value_and_grad(lambda a: plain.run(0.5, a).params)(0.8), anderson.run(jnp.full(2, 0.5), 0.8).params,
        quadratic.run(params_obj=(q, c), params_eq=(a, b)).params.primal, solved.primal,
    )  # fmt: skip


def losses_and_wrappers():
    z = jnp.array([0.3, -1.0, 2.0])
    loss = jaxopt.loss
    scipy = jaxopt.ScipyMinimize(method="BFGS", fun=_ridge, tol=1e-8)
    adam = jaxopt.OptaxSolver(_ridge, optax.adam(0.1), maxiter=50)
    return (
        jax.value_and_grad(loss.multiclass_logistic_loss, 1)(1, z), loss.huber_loss(1.0, 3.5),
        jax.vmap(loss.binary_logistic_loss)(jnp.array([0, 1, 1]), z), loss.multiclass_sparsemax_loss(2, z),
        scipy.run(jnp.zeros(4), 0.1).params, adam.run(jnp.zeros(4), 0.1).params,
    )  # fmt: skip
