"""Collectives under fungrad and under JAX, in all nestings with the other transforms."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import fungrad as fg  # noqa: E402
import fungrad.lax  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402

FLAT = np.random.default_rng(0).uniform(0.3, 0.9, (3, 3, 6))


class Ours:
    lib, np, lax = fg, fnp, fungrad.lax


class Theirs:
    lib, np, lax = jax, jnp, jax.lax


CALLS = {
    "psum": lambda m, x: m.lax.psum(m.np.sin(x), "i") * x,
    "psum-constant": lambda m, x: x / m.lax.psum(2, "i") + m.lax.psum(np.ones(6), "i"),
    "pmean": lambda m, x: x - m.lax.pmean(x * x, "i"),
    "pmean-integers": lambda m, x: m.lax.pmean(m.lax.axis_index("i"), "i") * x,
    "pytree": lambda m, x: m.lax.psum({"a": x, "b": (x[0], [x[1]])}, "i")["b"][1][0] * x,
    "all_gather": lambda m, x: m.lax.all_gather(x * x, "i"),
    "all_gather-axis": lambda m, x: m.lax.all_gather(x * x, "i", axis=1),
    "all_gather-tiled": lambda m, x: m.lax.all_gather(x * x, "i", axis=1, tiled=True),
    "psum_scatter": lambda m, x: m.lax.psum_scatter(x * x, "i"),
    "psum_scatter-tiled": lambda m, x: m.lax.psum_scatter(
        x * x, "i", scatter_dimension=1, tiled=True
    ),
    "all_to_all": lambda m, x: m.lax.all_to_all(x * x, "i", 0, 1),
    "all_to_all-tiled": lambda m, x: m.lax.all_to_all(x * x, "i", 1, 0, tiled=True),
    "all_to_all-same": lambda m, x: m.lax.all_to_all(x * x, "i", 1, 1, tiled=True),
    "pswapaxes": lambda m, x: m.lax.pswapaxes(x * x, "i", 0),
    "ppermute": lambda m, x: m.lax.ppermute(x * x, "i", [(0, 1), (1, 2), (2, 0)]) * x,
    "pshuffle": lambda m, x: m.lax.pshuffle(x * x, "i", [1, 2, 0]) * x,
    "axis_index": lambda m, x: m.np.sin(x * m.lax.axis_index("i")) + m.lax.axis_size("i"),
    "together": lambda m, x: m.lax.psum(x * m.lax.ppermute(x, "i", [(0, 2), (1, 0), (2, 1)]), "i"),
}
VALUES = {
    "pmax": lambda m, x: m.lax.pmax(x, "i") - m.lax.pmin(m.np.sin(x), "i"),
    "psum of booleans": lambda m, x: m.lax.psum(x > 0.5, "i"),
}
"""What JAX does not differentiate."""

JAX_FAILS = {
    *((name, "shared") for name in CALLS if name[:3] == "all" and "to_all" in name),
    *(("pswapaxes", nesting) for nesting in ("shared", "grad of shared")),
    *((name, "grad of shared") for name in ("all_to_all-tiled", "all_to_all-same")),
    *(("all_to_all", nesting) for nesting in ("vmap of jit of grad", "grad of vmap of grad")),
    ("all_to_all", "grad of shared"),
}
"""Where JAX gives results of wrong shapes: exchanges of what all calls share, and the transpose of
all_to_all within a call, if its axes differ. tests/lax/test_collectives.py checks these."""


def named(m, f, **options):
    return m.lib.vmap(f, axis_name="i", **options)


def loss(m, f):
    return lambda x: m.np.sum(m.np.sin(f(m, x)))


NESTINGS = {
    "vmap": lambda m, f: named(m, lambda x: f(m, x)),
    "jit of vmap": lambda m, f: m.lib.jit(named(m, lambda x: f(m, x))),
    "vmap of jit": lambda m, f: named(m, m.lib.jit(lambda x: f(m, x))),
    "vmap in vmap": lambda m, f: (
        lambda x: named(m, m.lib.vmap(lambda x: f(m, x)), in_axes=1)(m.np.stack([x, 2 * x]))
    ),
    "vmap of vmap": lambda m, f: (
        lambda x: m.lib.vmap(named(m, lambda x: f(m, x)))(m.np.stack([x, 2 * x]))
    ),
    "shared": lambda m, f: (
        lambda x: named(m, lambda i, x: f(m, x) + 0 * i, in_axes=(0, None))(np.arange(3.0), x[0])
    ),
}
DERIVATIVES = {
    "vmap of jit of grad": lambda m, f: named(m, m.lib.jit(m.lib.grad(loss(m, f)))),
    "grad of vmap": lambda m, f: m.lib.grad(lambda x: m.np.sum(named(m, loss(m, f))(x))),
    "vmap of jvp": lambda m, f: named(m, lambda x: m.lib.jvp(loss(m, f), (x,), (m.np.cos(x),))[1]),
    "grad of vmap of grad": lambda m, f: m.lib.grad(
        lambda x: m.np.sum(m.np.cos(named(m, m.lib.grad(loss(m, f)))(x)))
    ),
    "grad of vmap in vmap": lambda m, f: m.lib.grad(
        lambda x: m.np.sum(named(m, m.lib.vmap(loss(m, f)), in_axes=1)(m.np.stack([x, 2 * x])) ** 2)
    ),
    "grad of shared": lambda m, f: (
        lambda x: named(m, lambda i, x: m.lib.grad(loss(m, f))(x) + 0 * i, in_axes=(0, None))(
            np.arange(3.0), x[0]
        )
    ),
}


def compare(programs):
    """Compare ``programs[name](m)`` for all names; JAX compiles them as one."""
    theirs = jax.jit(lambda x: {name: p(Theirs)(x) for name, p in programs.items()})(FLAT)
    for name, program in programs.items():
        found, expected = program(Ours)(FLAT), np.asarray(theirs[name])
        assert found.shape == expected.shape, name
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12, err_msg=name)


def nested(nestings, nesting, calls):
    return {
        name: lambda m, call=call: nestings[nesting](m, call)
        for name, call in calls.items()
        if (name, nesting) not in JAX_FAILS
    }


@pytest.mark.parametrize("nesting", NESTINGS)
def test_values(nesting):
    compare(nested(NESTINGS, nesting, {**CALLS, **VALUES}))


@pytest.mark.parametrize("nesting", DERIVATIVES)
def test_derivatives(nesting):
    values_only = ("psum-constant", "pmean-integers", "all_gather-axis", "all_to_all-same")
    compare(nested(DERIVATIVES, nesting, {k: f for k, f in CALLS.items() if k not in values_only}))


SEVERAL = {
    "psum": lambda m, x: m.lax.psum(x, ("i", "j")) * m.lax.psum(x, "j"),
    "pmax": lambda m, x: m.lax.pmax(x, ("j", "i")) + m.lax.pmin(x, "i"),
    "pmean": lambda m, x: m.lax.pmean(x, ("i", "j")),
    "axis_index": lambda m, x: x * m.lax.axis_index(("i", "j")) + m.lax.axis_index(("j", "i")),
    "axis_size": lambda m, x: x * m.lax.axis_size(("i", "j")),
    "all_gather of each": lambda m, x: m.lax.all_gather(m.lax.all_gather(x, "i"), "j", axis=1),
}


def test_several_names():
    def program(call):
        def over_both(m):
            inner = m.lib.vmap(lambda x: call(m, x), axis_name="j")
            return m.lib.vmap(inner, axis_name="i")

        return over_both

    compare({name: program(call) for name, call in SEVERAL.items()})


def test_broadcast_from_one_call():
    def documented(x):  # jax.lax.pbroadcast itself fails under vmap
        sent = jnp.where(jax.lax.axis_index("i") == 2, x, jnp.zeros_like(x))
        return jax.lax.psum(sent, "i")

    expected = jax.vmap(jax.grad(lambda x: jnp.sum(jnp.sin(documented(x)))), axis_name="i")(FLAT)
    call = lambda x: fnp.sum(fnp.sin(fungrad.lax.pbroadcast(x, "i", 2)))
    np.testing.assert_allclose(fg.vmap(fg.grad(call), axis_name="i")(FLAT), expected, rtol=1e-10)


def test_names_that_are_not_open():
    for m in (Ours, Theirs):
        with pytest.raises(NameError, match="unbound axis name"):
            m.lax.psum(1, "i")
        with pytest.raises(NameError, match="unbound axis name"):
            named(m, lambda x: m.lax.psum(x, "k"))(FLAT)  # noqa: B023
