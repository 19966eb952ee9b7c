"""Cells about transformations and control flow."""

import functools

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jax import lax


def gradient():
    return [
        jax.grad(jnp.tanh)(2.0),
        jax.grad(lambda x: jnp.sum(x**3))(jnp.arange(3.0)),
        jax.grad(jax.grad(jnp.sin))(1.0),
    ]


def value_and_gradient():
    f = lambda p, x: jnp.mean((x @ p["w"] + p["b"]) ** 2)
    return jax.value_and_grad(f)({"w": jnp.ones(3), "b": 0.5}, jnp.arange(6.0).reshape(2, 3))


def several_arguments():
    f = lambda x, y: x**2 * y
    return [
        jax.grad(f, argnums=1)(3.0, 2.0),
        jax.grad(f, (0, 1))(3.0, 2.0),
        jax.grad(lambda x: (x**2, x * 2), has_aux=True)(3.0),
    ]


def gradient_of_numpy_arguments():
    return jax.grad(lambda x: jnp.sum(x**2))(np.arange(3.0))


def jacobians():
    f = lambda x: jnp.stack([x[0] * x[1], jnp.sin(x[0])])
    x = jnp.array([1.0, 2.0])
    return [
        jax.jacfwd(f)(x),
        jax.jacrev(f)(x),
        jax.hessian(lambda x: jnp.sum(x**3))(x),
        jax.jacobian(f)(x),
    ]


def products_with_vectors():
    f = lambda x: jnp.sin(x) * x
    x, v = jnp.arange(3.0), jnp.ones(3)
    y, pullback = jax.vjp(f, x)
    out, push = jax.linearize(f, x)
    return [
        jax.jvp(f, (x,), (v,)),
        y,
        pullback(v),
        out,
        push(v),
        jax.linear_transpose(lambda x: 2 * x, x)(v),
    ]


def mapping():
    f = lambda a, b: jnp.dot(a, b)
    a, b = jnp.arange(6.0).reshape(3, 2), jnp.ones((3, 2))
    return [
        jax.vmap(f)(a, b),
        jax.vmap(f, (0, None))(a, b[0]),
        jax.vmap(f, (1, 1))(a.T, b.T),
        jax.vmap(lambda x: (x, x * 2), out_axes=(0, 1))(a),
        jax.vmap(jnp.sum)(jnp.arange(6).reshape(3, 2)),
    ]


def per_example_gradients():
    loss = lambda w, x: jnp.sum(jnp.tanh(x @ w))
    return jax.jit(jax.vmap(jax.grad(loss), (None, 0)))(jnp.ones(2), jnp.arange(6.0).reshape(3, 2))


def compiled():
    @jax.jit
    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    return [selu(jnp.arange(5.0)), selu(1.0), selu(2), selu(x=jnp.arange(3))]


def static_arguments():
    @functools.partial(jax.jit, static_argnums=(1,), static_argnames=("twice",))
    def f(x, n, *, twice=False):
        for _ in range(n):
            x = x * 2
        return x + x if twice else x

    return [f(jnp.ones(2), 3), f(jnp.ones(2), 3, twice=True), f(2.0, 1)]


def printing_happens_once():
    seen = []

    @jax.jit
    def f(x):
        seen.append(x.shape)
        return x

    return [f(jnp.ones(2)), f(jnp.ones(2)), f(jnp.ones(3)), len(seen)]


def errors_of_values():
    def kind(f, *args):
        try:
            f(*args)
        except Exception as error:
            return isinstance(error, TypeError)

    return [
        kind(jax.jit(lambda x: x if x > 0 else -x), 1.0),
        kind(jax.grad(lambda x: x), jnp.ones(2)),
        kind(jax.grad(lambda x: x), 3),
    ]


def scans():
    step = lambda c, x: (c * 0.5 + x, c)
    return [
        lax.scan(step, 0.0, jnp.arange(4.0)),
        lax.scan(step, jnp.zeros(2), jnp.ones((3, 2)), reverse=True),
        lax.scan(lambda c, _: (c + 1, None), 0, None, length=3),
        jax.grad(lambda c: lax.scan(step, c, jnp.arange(4.0))[0])(1.0),
    ]


def scan_with_methods():
    def step(carry, x):
        count, total = carry
        return (count + 1, total.at[count].add(x)), total.sum().astype(jnp.int32)

    return lax.scan(step, (0, jnp.zeros(4)), jnp.arange(3.0))


def loops():
    return [
        lax.fori_loop(0, 5, lambda i, x: x + i, 0),
        lax.fori_loop(0, 3, lambda i, x: x.at[i].set(i * 2), jnp.zeros(3)),
        lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] * 2, c[1] + 1), (1, 0)),
        lax.while_loop(lambda x: x < 100.0, lambda x: x * x, 3.0),
        jax.jit(lambda n: lax.fori_loop(0, n, lambda i, x: x * 2, 1))(4),
        lax.map(lambda x: x.astype(float) ** 2, jnp.arange(3)),
    ]


def branches():
    return [
        lax.cond(True, lambda x: x + 1, lambda x: x * 2, 3),
        lax.cond(jnp.array(False), lambda: 1.0, lambda: 2.0),
        lax.switch(7, [lambda x: x, lambda x: -x, lambda x: x * 10], 2.0),
        jax.vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x))(
            jnp.array([True, False]), jnp.ones(2)
        ),
        lax.select(jnp.array([True, False]), jnp.ones(2), jnp.zeros(2)),
    ]


def prefix_sums():
    return [
        lax.associative_scan(jnp.add, jnp.arange(5)),
        lax.cumsum(jnp.arange(4.0)),
        lax.associative_scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (jnp.full(3, 2.0), jnp.ones(3))
        ),
    ]


def own_jvp():
    @jax.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        x, y = primals
        dx, dy = tangents
        return f(x, y), jnp.cos(x) * dx * y + jnp.sin(x) * dy

    return [
        f(1.0, 2.0),
        jax.grad(f)(1.0, 2.0),
        jax.jvp(f, (1.0, 2.0), (1.0, 0.0)),
        jax.grad(f, 1)(jnp.float32(1), 2.0),
    ]


def own_vjp():
    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def clip_gradient(limit, x):
        return x

    clip_gradient.defvjp(
        lambda limit, x: (x, None), lambda limit, _, g: (jnp.clip(g, -limit, limit),)
    )
    return [
        jax.grad(lambda x: clip_gradient(0.1, 5 * x))(2.0),
        jax.vmap(jax.grad(lambda x: clip_gradient(0.1, x**2)))(jnp.arange(3.0)),
    ]


def stopping():
    return [
        jax.grad(lambda x: x * lax.stop_gradient(x))(3.0),
        jax.checkpoint(lambda x: jnp.sin(x) ** 2)(1.0),
        jax.grad(jax.checkpoint(lambda x: jnp.sin(x) ** 2))(1.0),
        jax.remat(jnp.cos)(0.0),
    ]


def types_of_results():
    f = lambda x, n: {"a": x @ x.T, "b": n + 1}
    out = jax.eval_shape(f, jax.ShapeDtypeStruct((3, 2), jnp.float32), 1)
    return [out["a"].shape, str(out["a"].dtype), out["b"].shape, str(out["b"].dtype)]


def programs():
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(jnp.ones(3))
    names = [eqn.primitive.name for eqn in closed.jaxpr.eqns]
    return [
        "sin" in names,
        "mul" in names,
        [v.aval.shape for v in closed.jaxpr.invars],
        str(closed.out_avals[0].dtype),
        jax.core.eval_jaxpr(closed.jaxpr, closed.consts, jnp.ones(3)),
    ]


def trees():
    tree = {"b": [jnp.ones(2), 3], "a": (None, 2.0)}
    leaves, structure = jax.tree.flatten(tree)
    return [
        leaves,
        structure.num_leaves,
        jax.tree.map(lambda x: x * 2, tree),
        jax.tree.unflatten(structure, leaves),
        jax.tree.leaves(tree),
        jax.tree.reduce(lambda a, b: a + jnp.sum(b), tree, 0.0),
        jax.tree_util.tree_all({"x": True}),
    ]


def paths_of_trees():
    tree = {"a": [1, {"b": 2}], "c": (3,)}
    found, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [
        [jax.tree_util.keystr(path) for path, _ in found],
        jax.tree.map(lambda a, b: a + b, tree, tree),
        jax.tree_util.tree_map_with_path(lambda p, x: len(p) * x, tree),
    ]


def registered_nodes():
    @jax.tree_util.register_pytree_node_class
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

        def tree_flatten(self):
            return (self.x, self.y), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    out = jax.jit(lambda p: Point(p.x * 2, p.y + p.x))(Point(jnp.ones(2), 3.0))
    return [out.x, out.y, jax.grad(lambda p: p.x * p.y)(Point(2.0, 3.0)).x]


def flattening():
    flat, unravel = jax.flatten_util.ravel_pytree({"w": jnp.ones((2, 2)), "b": jnp.zeros(2)})
    return [flat, unravel(flat * 2)]


def named_axes():
    f = lambda x: x / lax.psum(x, "i")
    return [
        jax.vmap(f, axis_name="i")(jnp.arange(1.0, 4.0)),
        jax.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(jnp.arange(3.0)),
        jax.vmap(lambda x: lax.axis_index("i") * x, axis_name="i")(jnp.ones(3)),
    ]


def callbacks():
    f = lambda x: jax.pure_callback(
        lambda x: np.sin(x).astype(np.float32),
        jax.ShapeDtypeStruct(x.shape, x.dtype),
        x,
        vmap_method="sequential",
    )
    return [f(jnp.arange(3.0)), jax.jit(f)(jnp.ones(2)), jax.vmap(f)(jnp.ones((2, 2)))]


def debugging(capture=None):
    jax.debug.print("x = {x}", x=jnp.arange(2))
    jax.jit(lambda x: jax.debug.print("{}", x))(3)
    with jax.disable_jit():
        y = jax.jit(lambda x: x + 1 if x > 0 else x)(1.0)
    return [y]


def dynamic_slices():
    x = jnp.arange(6.0)
    return [
        lax.dynamic_slice(x, (4,), (3,)),
        lax.dynamic_update_slice(x, jnp.zeros(2), (5,)),
        lax.dynamic_index_in_dim(x, 2, keepdims=False),
        lax.slice(x, (1,), (5,), (2,)),
        lax.dynamic_slice_in_dim(x, 1, 2),
    ]


def lower_level():
    x = jnp.arange(6.0).reshape(2, 3)
    return [
        lax.add(x, x),
        lax.dot(x, x.T),
        lax.reduce(x, 0.0, lax.add, (0,)),
        lax.broadcast(jnp.ones(2), (3,)),
        lax.transpose(x, (1, 0)),
        lax.rsqrt(x + 1),
        lax.convert_element_type(x, jnp.int32),
        lax.iota(jnp.int32, 3),
        lax.expand_dims(x, (0,)).shape,
        lax.rev(x, (0,)),
        lax.concatenate([x, x], 0),
        lax.clamp(1.0, x, 3.0),
        lax.pad(jnp.ones(2), 0.0, [(1, 1, 0)]),
        lax.sort(jnp.array([3, 1, 2])),
        lax.erf(0.5),
        lax.full((2,), 3),
        lax.population_count(jnp.uint8(7)),
    ]


def convolutions():
    x, k = jnp.arange(16.0).reshape(1, 1, 4, 4), jnp.ones((1, 1, 2, 2))
    return [
        lax.conv(x, k, (1, 1), "SAME"),
        lax.conv_general_dilated(x, k, (2, 2), "VALID"),
        lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
        jnp.convolve(jnp.arange(4.0), jnp.ones(2)),
    ]


def x64_for_a_while():
    with jax.enable_x64(True):
        x = jnp.arange(3.0)
        y = jax.jit(lambda x: jnp.sin(x) + 1)(x)
        return [
            x,
            y,
            jnp.arange(2),
            jax.grad(jnp.sin)(1.0),
            x + jnp.ones(3, jnp.float32),
            jnp.arange(3) + jnp.ones(3, jnp.float32),
        ]


def types_of_carries_and_branches():
    x = jnp.ones(2)
    attempts = {
        "a carry that becomes an integer": lambda: lax.scan(lambda c, _: (3, None), 1.0, length=2),
        "a carry that grows": lambda: lax.fori_loop(0, 2, lambda i, c: jnp.append(c, c), x),
        "a carry that becomes a pair": lambda: lax.while_loop(lambda c: True, lambda c: (c, c), x),
        "branches of two dtypes": lambda: lax.cond(True, jnp.sum, lambda x: x.sum() > 0, x),
        "branches of two shapes": lambda: lax.switch(0, [jnp.sin, jnp.sum], x),
        "branches that agree": lambda: lax.cond(False, jnp.sum, jnp.max, x),
    }
    found = {}
    for name, attempt in attempts.items():
        try:
            found[name] = attempt()
        except TypeError:
            found[name] = "TypeError"
    return found


def gradients_at_the_edge():
    x, outside = jnp.arange(3.0), jnp.array([0, 7, 2, -5])
    weights = jnp.arange(1.0, 5.0)
    return [
        jax.grad(lambda x: (x[outside] * weights).sum())(x),
        jax.grad(lambda x: x[7])(x),
        jax.grad(lambda x: (x.at[outside].get(mode="clip") * weights).sum())(x),
        jax.grad(lambda v: (x.at[outside].set(v) ** 2).sum())(weights),
        jnp.linalg.solve(jnp.ones((2, 2)), jnp.array([1.0, 2.0])),
        jnp.linalg.inv(jnp.diag(jnp.array([1.0, 0.0]))),
    ]


def implicit_root():
    def root(a):
        solve = lambda f, x: lax.fori_loop(0, 30, lambda i, x: x - f(x) / jax.grad(f)(x), x)
        return lax.custom_root(lambda x: x**3 - a, a, solve, lambda g, y: y / g(1.0))

    return [root(8.0), jax.grad(root)(8.0), jax.vmap(jax.grad(root))(jnp.array([1.0, 27.0]))]
