"""Functions with rules of their own under fungrad and under JAX: what rules are given, and what comes of them."""

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

from jax import custom_batching as jax_batching  # noqa: E402
from jax import custom_derivatives as jax_derivatives  # noqa: E402

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad import custom_batching, custom_derivatives  # noqa: E402

A = np.array([0.3, -1.2, 2.0])


class Ours:
    lib, np, rules, batching = fg, fnp, custom_derivatives, custom_batching


class Theirs:
    lib, np, rules, batching = jax, jnp, jax_derivatives, jax_batching


def log1pexp(m):
    f = m.rules.custom_jvp(lambda x: m.np.log1p(m.np.exp(x)))
    f.defjvp(lambda p, t: (f(*p), (1 - 1 / (1 + m.np.exp(p[0]))) * t[0]))
    return f


def wrong_jvp(m):
    f = m.rules.custom_jvp(lambda x, y: (m.np.sin(x) * y, x))
    f.defjvp(lambda p, t: (f(*p), (3 * t[0] * p[1] + f(*p)[0] * t[1], p[0] * t[0])))
    return lambda x: sum(f(x, x + 1.0))


def by_argument(m):
    f = m.rules.custom_jvp(lambda x, y, n: x * y**n)
    f.defjvps(lambda t, out, x, y, n: t * y**n, lambda t, out, x, y, n: 2 * out * t / y, None)
    return lambda x: f(x, x, 3)


def settings(m):
    @functools.partial(m.rules.custom_jvp, nondiff_argnums=(0, 2))
    def f(function, x, scale=2.0):
        return function(x) * scale

    @f.defjvp
    def _(function, scale, primals, tangents):
        _, t = m.lib.jvp(function, primals, tangents)
        return f(function, *primals, scale), 7 * scale * t

    return lambda x: f(m.np.sin, x) + f(m.np.cos, x=x, scale=3.0)


def symbolic(m):
    zero = m.rules.SymbolicZero

    def rule(primals, tangents):
        (x, y), (t_x, t_y) = primals, tangents
        out = f(x, y)
        terms = [c * t for c, t in ((y, t_x), (5 * x, t_y)) if type(t) is not zero]
        return out, functools.reduce(lambda a, b: a + b, terms)

    f = m.rules.custom_jvp(lambda x, y: x * y)
    f.defjvp(rule, symbolic_zeros=True)
    return lambda x: f(x, 3.0) + f(2.0, x) + f(x, x)


def wrong_vjp(m):
    f = m.rules.custom_vjp(lambda tree, n: {"s": tree["a"] * tree["b"] * n})
    f.defvjp(
        lambda tree, n: (f(tree, n), tree),
        lambda res, g: ({"a": 2 * res["b"] * g["s"], "b": m.np.sin(res["a"]) * g["s"]}, None),
    )
    return lambda x: f({"a": x, "b": x * x}, 2)["s"]


def clipped(m):
    f = m.rules.custom_vjp(lambda x, low, high: x)
    f.defvjp(
        lambda x, low, high: (x, (low, high)),
        lambda res, g: (m.np.clip(g, *res), None, None),
    )
    return lambda x: f(x * x, -0.5, 0.5) * x


def nondiff_vjp(m):
    f = m.rules.custom_vjp(lambda g, x, k: g(x) * k, nondiff_argnums=(0, 2))
    f.defvjp(lambda g, x, k: (f(g, x, k), x), lambda g, k, x, ct: (ct * k * m.np.exp(x),))
    return lambda x: f(m.np.sin, x, 3)


def symbolic_vjp(m):
    zero = m.rules.SymbolicZero

    def bwd(res, cts):
        x, y = res
        g = [0.0 if type(c) is zero else c for c in cts]
        return g[0] * y + 3 * g[1], 4 * g[0] * x + 5 * g[1]

    f = m.rules.custom_vjp(lambda x, y: (x * y, x + y))
    f.defvjp(
        lambda x, y: (f(x.value, y.value), (x.value, y.value)),
        bwd,
        symbolic_zeros=True,
    )
    return lambda x: f(x, 2.0)[0] + f(x, x)[1]


def gradient(m):
    @m.rules.custom_gradient
    def f(x, y):
        s = m.np.sin(x)
        return s * y, lambda g: (2 * g * s, m.np.cos(x) * y * g)

    return lambda x: f(x, x * x)


def converted(m):
    def f(x):
        g, found = m.rules.closure_convert(lambda y: m.np.sin(x) * y, x)
        return g(x, *found) ** 2

    return f


JVP = [log1pexp, wrong_jvp, by_argument, settings, symbolic, converted]
VJP = [wrong_vjp, clipped, nondiff_vjp, symbolic_vjp, gradient]


def reverse(m, f, a):
    """What is compared of a function with a reverse rule."""
    lib = m.lib
    batch = lambda x: lib.vmap(f)(x).sum()
    return {
        "value": f(a[0]),
        "vmap": lib.vmap(f)(a),
        "jit": lib.jit(f)(a[0]),
        "grad": lib.grad(f)(a[0]),
        "jit of grad": lib.jit(lib.grad(f))(a[0]),
        "vmap of grad": lib.vmap(lib.grad(f))(a),
        "grad of vmap": lib.grad(batch)(a),
        "jit of grad of vmap": lib.jit(lib.grad(batch))(a),
        "grad of grad": lib.grad(lib.grad(f))(a[0]),
        "jit of grad of grad": lib.jit(lib.grad(lib.grad(f)))(a[0]),
        "vmap of grad of grad": lib.vmap(lib.grad(lib.grad(f)))(a),
        "jacrev of vmap": lib.jacrev(lib.vmap(f))(a),
    }


def forward(m, f, a):
    """What is compared of a function with a forward rule, beside that."""
    lib = m.lib
    return {
        "jvp": lib.jvp(f, (a[0],), (2.0,)),
        "jvp of vmap": lib.jvp(lib.vmap(f), (a,), (a,)),
        "jit of jacfwd": lib.jit(lib.jacfwd(lib.vmap(f)))(a),
        "hessian": lib.hessian(f)(a[0]),
        "linearize": lib.linearize(f, a[0])[1](3.0),
    }


def compare(ours, theirs):
    assert ours.keys() == theirs.keys()
    for what in ours:
        for x, y in zip(fg.tree.leaves(ours[what]), jax.tree.leaves(theirs[what]), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12, err_msg=what)


@pytest.mark.parametrize("program", JVP + VJP, ids=lambda f: f.__name__)
def test_in_reverse_mode(program):
    theirs = jax.jit(lambda a: reverse(Theirs, program(Theirs), a))  # compiles faster in one piece
    compare(reverse(Ours, program(Ours), A), theirs(A))


@pytest.mark.parametrize("program", JVP, ids=lambda f: f.__name__)
def test_in_forward_mode(program):
    theirs = jax.jit(lambda a: forward(Theirs, program(Theirs), a))
    compare(forward(Ours, program(Ours), A), theirs(A))


def batches(m):
    @m.batching.custom_vmap
    def f(tree, y):
        return {"z": tree["x"] * y, "y": y}

    @f.def_vmap
    def _(axis_size, in_batched, tree, y):
        assert in_batched == [{"x": True}, False]
        return {"z": tree["x"] * y * axis_size, "y": y}, {"z": True, "y": False}

    @m.batching.sequential_vmap
    def g(x, y):
        return m.np.sin(x) * y

    both = m.lib.vmap(f, ({"x": 0}, None))
    return {
        "vmap": both({"x": A}, 2.0),
        "jit": m.lib.jit(both)({"x": A}, 2.0),
        "vmap of jit": m.lib.vmap(m.lib.jit(f), ({"x": 0}, None))({"x": A}, 2.0),
        "sequential": m.lib.vmap(g, (0, None))(A, 3.0),
        "nested": m.lib.vmap(m.lib.vmap(g, (None, 0)), (0, None))(A, A),
    }


def test_batches():
    compare(batches(Ours), batches(Theirs))


def linear(m):
    def f(x, r):
        return m.rules.linear_call(lambda r, x: x / r, lambda r, ct: 3 * ct / r, r, x)

    transposed = m.lib.linear_transpose(lambda x: f(x, 2.0), 1.0)
    return {
        "value": f(3.0, 2.0),
        "transpose": transposed(1.0),
        "jvp": m.lib.jvp(lambda x: f(x, 2.0), (1.0,), (5.0,)),
        "grad": m.lib.jit(m.lib.grad(lambda x: f(x, 2.0) * x))(3.0),
    }


def test_linear_call():
    compare(linear(Ours), linear(Theirs))


def test_zeros_and_names():
    for x in (np.ones(2), 3, np.float32(1.0)):
        ours, theirs = custom_derivatives.zero_from_primal(x), jax_derivatives.zero_from_primal(x)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    trees = [
        lib.zero_from_primal({"x": (1.0, 2)}, True) for lib in (custom_derivatives, jax_derivatives)
    ]
    assert [x.dtype for x in trees[0]["x"]] == [x.dtype for x in trees[1]["x"]]
    internal = {"custom_jvp_call_p", "custom_vjp_call_p", "remat_opt_p"}
    public = {name for name in vars(jax_derivatives) if not name.startswith("_")}
    assert public - internal == set(custom_derivatives.__all__)
    public = {name for name in vars(jax_batching) if not name.startswith("_")}
    assert public == set(custom_batching.__all__)
