"""Gradients of selections beside JAX's: they differ only where JAX's are NaN, and there they are finite."""

import numpy as np
import pytest

import fungrad as fg

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

X = np.array([0.0, 0.5, 1.0, 2.0])
DATA = np.array([1.0, np.nan, 2.0, np.inf])
OTHERS = ~np.eye(4, dtype=bool)


def energy(xp, x):
    d = xp.stack([x, x * x], -1)
    d = d[:, None] - d[None]
    r = xp.sqrt(xp.sum(d * d, -1))
    return xp.where(OTHERS & (r < 9.0), 1 / r - r, 0.0)


PROGRAMS = {
    "log": lambda xp, x: xp.where(x > 0, xp.log(x), 0),
    "sqrt": lambda xp, x: xp.where(x > 0, xp.sqrt(x), x * x),
    "division": lambda xp, x: xp.where(x != 1, xp.sin(x) / (x - 1), 0),
    "power": lambda xp, x: xp.where(x > 0, x**1.5 / x, 1),
    "overflow": lambda xp, x: xp.where(x < 1.5, xp.exp(400 * x), x),
    "arccos": lambda xp, x: xp.where(abs(x) < 1, xp.arccos(x), 0),
    "booleans": lambda xp, x: (x > 0) * xp.sqrt(x),
    "nested": lambda xp, x: xp.where(x > 1, x, xp.where(x > 0, 1 / x, -x)),
    "select": lambda xp, x: xp.select([x <= 0, x > 1.5], [x, xp.log(x)], xp.sqrt(x)),
    "maximum": lambda xp, x: xp.maximum(xp.sqrt(x), 1e-3),
    "clip": lambda xp, x: xp.clip(xp.log(x), -3.0, 0.3),
    "slice": lambda xp, x: xp.sqrt(x)[1:],
    "indices": lambda xp, x: (1 / x)[np.array([1, 3, 1])],
    "missing": lambda xp, x: xp.where(np.isfinite(DATA), (DATA - x) ** 2, 0),
    "nansum": lambda xp, x: xp.nansum(xp.where(DATA > 1e9, 0, (DATA - x) ** 2)),
    "energy": energy,
    "rows": lambda xp, x: xp.where(
        np.array([True, False]), xp.sum(xp.log(xp.stack([x + 1, x])), 1), 0
    ),
    "no selection": lambda xp, x: xp.sqrt(x) ** 2 + xp.sqrt(x * 0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_only_nans_differ(name):
    program = PROGRAMS[name]
    ours, theirs = [lambda x, xp=xp: xp.sum(program(xp, x)) for xp in (np, jnp)]
    pairs = [
        (fg.grad(ours), jax.grad(theirs)),
        (fg.jit(fg.grad(ours)), jax.grad(theirs)),
        (lambda x: fg.vjp(ours, x)[1](1.0)[0], jax.grad(theirs)),
        (fg.jacfwd(ours), jax.jacfwd(theirs)),
        (fg.hessian(ours), jax.hessian(theirs)),
        (fg.jacrev(fg.jacrev(ours)), jax.jacrev(jax.jacrev(theirs))),
    ]
    with np.errstate(all="ignore"), jax.enable_x64(True):
        for mine, other in pairs:
            a, b = np.asarray(mine(X)), np.asarray(other(jnp.asarray(X)))
            known = np.isfinite(b)
            np.testing.assert_allclose(a[known], b[known], rtol=1e-9, atol=1e-9)
            if name != "no selection":
                assert np.isfinite(a).all()
