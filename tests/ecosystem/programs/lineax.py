"""Lineax: linear solves by operators and solvers, with derivatives."""

import jax
import jax.numpy as jnp
import lineax as lx


def _tol(x):
    """A tolerance, or what can be reached in single precision."""
    return max(x, 50 * float(jnp.finfo(jnp.result_type(float)).eps))


A = jax.random.normal(jax.random.key(0), (5, 5))
B = jax.random.normal(jax.random.key(1), (5,))
SPD = A @ A.T + 5 * jnp.eye(5)


def solvers():
    operator = lx.MatrixLinearOperator(SPD, lx.positive_semidefinite_tag)
    solvers = [
        lx.AutoLinearSolver(well_posed=True), lx.LU(), lx.QR(), lx.SVD(), lx.Cholesky(),
        lx.CG(_tol(1e-10), _tol(1e-10)), lx.GMRES(_tol(1e-10), _tol(1e-10)), lx.BiCGStab(_tol(1e-10), _tol(1e-10)),
        lx.Normal(lx.CG(_tol(1e-10), _tol(1e-10))),
    ]  # fmt: skip
    return [lx.linear_solve(operator, B, solver).value for solver in solvers]


def gradients():
    def through(solver, tags=()):
        def f(a, b):
            solution = lx.linear_solve(lx.MatrixLinearOperator(a, tags), b, solver)
            return jnp.sum(jnp.sin(solution.value))

        return f

    psd = lx.positive_semidefinite_tag
    return [
        jax.jit(jax.grad(f, (0, 1)))(SPD, B)
        for f in (through(lx.LU()), through(lx.QR()), through(lx.CG(_tol(1e-12), _tol(1e-12)), psd))
    ] + [jax.jvp(through(lx.LU()), (SPD, B), (A, B)), jax.hessian(through(lx.LU()), 1)(SPD, B)]


def structured_operators():
    diagonal = lx.DiagonalLinearOperator(jnp.arange(1.0, 6.0))
    tridiagonal = lx.TridiagonalLinearOperator(jnp.full(5, 4.0), jnp.ones(4), -jnp.ones(4))
    lower = lx.MatrixLinearOperator(jnp.tril(SPD), lx.lower_triangular_tag)
    identity = lx.IdentityLinearOperator(jax.eval_shape(lambda: B))
    composed = lx.MatrixLinearOperator(A) @ diagonal + 2 * identity
    solved = [lx.linear_solve(op, B).value for op in (diagonal, tridiagonal, lower, identity)]
    return solved, composed.as_matrix(), composed.mv(B), composed.T.mv(B), lx.diagonal(composed)


def of_functions():
    def f(x, args):
        return {"u": jnp.tanh(x["u"]) + 0.1 * x["v"].sum(), "v": x["v"] * 3 + x["u"][:2]}

    x = {"u": jnp.arange(3.0) / 5, "v": jnp.ones(2)}
    jacobian = lx.JacobianLinearOperator(f, x)
    solution = lx.linear_solve(jacobian, jax.tree.map(jnp.ones_like, x))
    linear = lx.FunctionLinearOperator(
        lambda x: SPD @ x, jax.eval_shape(lambda: B), lx.symmetric_tag
    )
    return solution.value, lx.linearise(jacobian).mv(x), lx.linear_solve(linear, B).value


def least_squares():
    tall, wide = A[:, :3], A[:3]
    return (
        lx.linear_solve(lx.MatrixLinearOperator(tall), B, lx.QR()).value,
        lx.linear_solve(
            lx.MatrixLinearOperator(wide), B[:3], lx.AutoLinearSolver(well_posed=None)
        ).value,
        lx.linear_solve(lx.MatrixLinearOperator(jnp.outer(B, B)), B, lx.SVD()).value,
        jax.grad(lambda t: lx.linear_solve(lx.MatrixLinearOperator(t), B, lx.QR()).value.sum())(
            tall
        ),
    )


def batched_and_reused():
    operator = lx.MatrixLinearOperator(SPD)
    state = lx.LU().init(operator, {})
    many = jax.vmap(lambda b: lx.linear_solve(operator, b, lx.LU(), state=state).value)(jnp.eye(5))
    stacked = jax.vmap(lambda a, b: lx.linear_solve(lx.MatrixLinearOperator(a), b).value)(
        jnp.stack([SPD, SPD.T + jnp.eye(5)]), jnp.stack([B, -B])
    )
    return many, stacked


def failures():
    singular = lx.MatrixLinearOperator(jnp.zeros((2, 2)))
    solution = lx.linear_solve(singular, jnp.ones(2), lx.LU(), throw=False)
    stalled = lx.linear_solve(
        lx.MatrixLinearOperator(SPD, lx.positive_semidefinite_tag),
        B,
        lx.CG(1e-14, 1e-14, max_steps=2),
        throw=False,
    )
    return bool(solution.result == lx.RESULTS.successful), bool(
        stalled.result == lx.RESULTS.max_steps_reached
    )
