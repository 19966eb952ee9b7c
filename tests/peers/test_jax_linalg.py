"""Linear algebra under fungrad and under JAX: values, derivatives to second order, batches."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
jsl = pytest.importorskip("jax.scipy.linalg")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
import fungrad.scipy.linalg as fsl  # noqa: E402


def adjoint(np_, x):
    return np_.conj(np_.matrix_transpose(x))


def positive(np_, x):
    return x @ adjoint(np_, x) + 0.5 * np_.eye(x.shape[-1])


def hermitian(np_, x):
    return x + adjoint(np_, x)


def projectors(np_, v):
    return (v * np_.arange(1.0, v.shape[-1] + 1)) @ adjoint(np_, v)


# Functions of a module like numpy, one like scipy.linalg, and a square matrix.
PROGRAMS = {
    "cholesky": lambda np_, sl, x: np_.linalg.cholesky(positive(np_, x)),
    "cholesky of a hermitian": lambda np_, sl, x: np_.linalg.cholesky(
        (x + adjoint(np_, x)) / 9 + 4 * np_.eye(x.shape[-1])
    ),
    "det": lambda np_, sl, x: np_.linalg.det(x),
    "slogdet": lambda np_, sl, x: np_.linalg.slogdet(x)[1],
    "sign of slogdet": lambda np_, sl, x: np_.linalg.slogdet(x)[0],
    "inv": lambda np_, sl, x: np_.linalg.inv(x),
    "solve": lambda np_, sl, x: np_.linalg.solve(x, x[:, :2] ** 2),
    "solve of a vector": lambda np_, sl, x: np_.linalg.solve(x, x[0]),
    "pinv": lambda np_, sl, x: np_.linalg.pinv(x[:, :2]),
    "qr": lambda np_, sl, x: np_.linalg.qr(x[:, :2])[0],
    "r": lambda np_, sl, x: np_.linalg.qr(x)[1],
    "svdvals": lambda np_, sl, x: np_.linalg.svd(x, compute_uv=False),
    "svd": lambda np_, sl, x: projectors(np_, np_.linalg.svd(x[:, :2], full_matrices=False)[0]),
    "polar by svd": lambda np_, sl, x: (lambda u, s, vh: u @ vh)(*np_.linalg.svd(x)),
    "eigh": lambda np_, sl, x: projectors(np_, np_.linalg.eigh(hermitian(np_, x))[1]),
    "eigvalsh": lambda np_, sl, x: np_.linalg.eigvalsh(hermitian(np_, x)),
    "eigvals": lambda np_, sl, x: np_.prod(np_.linalg.eigvals(x) + 1),
    "lstsq": lambda np_, sl, x: np_.linalg.lstsq(x[:, :2], x[:, 2])[0],
    "norm": lambda np_, sl, x: np_.linalg.norm(x, axis=0),
    "nuc": lambda np_, sl, x: np_.linalg.norm(x, "nuc"),
    "norm 3": lambda np_, sl, x: np_.linalg.norm(x, 3, axis=1),
    "matrix_power": lambda np_, sl, x: np_.linalg.matrix_power(x, -3),
    "multi_dot": lambda np_, sl, x: np_.linalg.multi_dot([x, x[:, :2], x[:2], x]),
    "expm": lambda np_, sl, x: sl.expm(x),
    "solve_triangular": lambda np_, sl, x: sl.solve_triangular(x, x[:, :2], lower=True),
    "cho_solve": lambda np_, sl, x: sl.cho_solve(sl.cho_factor(positive(np_, x)), x[0]),
    "lu": lambda np_, sl, x: (lambda p, l, u: l @ l.T + u)(*sl.lu(x)),
    "lu_solve": lambda np_, sl, x: sl.lu_solve(sl.lu_factor(x), x[1]),
    "sqrtm": lambda np_, sl, x: sl.sqrtm(positive(np_, x) + 0j),
    "block_diag": lambda np_, sl, x: sl.block_diag(x, x[0], x[:, :1] * 2),
    "toeplitz": lambda np_, sl, x: sl.toeplitz(x[0], x[1]),
}
VALUES_ONLY = {"sqrtm", "eigvals"}
"""What JAX does not differentiate."""


def runs(lib, np_, sl, f):
    """Everything that is compared, as a function of a matrix, a direction and a batch."""

    def loss(x):
        y = f(np_, sl, x)
        weights = np.cos(np.arange(y.size)).reshape(y.shape) + 0.5
        return np_.sum(np_.real(y * weights) + np_.imag(y))

    def run(x, t, batch):
        return {
            "result": f(np_, sl, x),
            "grad": lib.grad(loss)(x),
            "jvp": lib.jvp(lambda x: f(np_, sl, x), (x,), (t,))[1],
            "hvp": lib.jvp(lib.grad(loss), (x,), (t,))[1],
            "vmap grad": lib.vmap(lib.grad(loss))(batch),
        }

    return run


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_jax(name, dtype, rng):
    def draw(*shape):
        x = rng.normal(size=shape)
        return x + 1j * rng.normal(size=shape) if dtype is complex else x

    x, t, batch = draw(3, 3), draw(3, 3), draw(2, 3, 3)
    f = PROGRAMS[name]
    if name in VALUES_ONLY:
        np.testing.assert_allclose(f(fnp, fsl, x), f(jnp, jsl, x), 1e-9, 1e-9)
        return
    ours = runs(fg, fnp, fsl, f)(x, t, batch)
    theirs = jax.jit(runs(jax, jnp, jsl, f))(x, t, batch)
    for what, expected in theirs.items():
        scale = np.abs(expected).max()
        np.testing.assert_allclose(ours[what], expected, 1e-7, 1e-8 * scale, err_msg=what)
