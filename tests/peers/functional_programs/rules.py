"""Rules of the user's own, transformations inside of others, and what calls back into Python."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.jet import jet
from jax.tree_util import Partial, tree_map, tree_structure, tree_unflatten


@jax.custom_jvp
def log1pexp(x):
    return jnp.log1p(jnp.exp(x))


@log1pexp.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t


def softplus_of_large_numbers(x):
    y = log1pexp(100 * x)
    return y, jax.vmap(jax.grad(log1pexp))(x), jax.vmap(jax.grad(jax.grad(log1pexp)))(x)


@jax.custom_jvp
def norm(x):
    return jnp.sqrt(jnp.sum(x**2))


@norm.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    y = norm(x)
    return y, jnp.where(y > 0, x @ t / jnp.where(y > 0, y, 1.0), 0.0)


def safe_norm(x):
    return norm(x) + norm(x * 0), jax.grad(norm)(jnp.zeros_like(x))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def apply(f, x):
    return f(x)


@apply.defjvp
def _(f, primals, tangents):
    y, t = jax.jvp(f, primals, tangents)
    return y, 2 * t


def doubled_derivative_in_a_scan(x):
    return lax.scan(lambda c, _: (apply(jnp.sin, c) + x, c), x, None, length=3)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def clip_gradient(x, bound):
    return x


clip_gradient.defvjp(lambda x, bound: (x, None), lambda bound, _, g: (jnp.clip(g, -bound, bound),))


def clipped_on_the_way_back(w, xs):
    def step(h, x):
        h = clip_gradient(jnp.sin(w @ h) + x, 0.1)
        return h, h

    return lax.scan(step, jnp.zeros_like(xs[0]), xs)


@jax.custom_vjp
def binarized(x):
    return jnp.sign(x)


binarized.defvjp(lambda x: (binarized(x), x), lambda x, g: (jnp.where(jnp.abs(x) < 1, g, 0.0),))


def straight_through(w, x):
    quantized = lambda x: x + lax.stop_gradient(jnp.round(x) - x)
    return binarized(w) @ x, quantized(w @ x)


@jax.custom_vjp
def tree_loss(params, x):
    return {"loss": jnp.sum(params["w"] * x), "count": jnp.sum(x > 0)}


def tree_loss_forward(params, x):
    return tree_loss(params, x), (params, x)


def tree_loss_backward(residuals, g):
    params, x = residuals
    return {"w": g["loss"] * x, "unused": jnp.zeros_like(params["unused"])}, None


tree_loss.defvjp(tree_loss_forward, tree_loss_backward)


def rule_with_trees(params, x):
    return tree_loss(params, x)


@jax.custom_gradient
def reversed_gradient(x):
    return x**2, lambda g: -g * 2 * x


def domain_adversarial(x):
    return reversed_gradient(x) + jnp.sin(x)


def gradient_penalty(w, x):
    critic = lambda x: jnp.sum(jnp.tanh(w @ x))
    g = jax.vmap(jax.grad(critic))(x)
    return jnp.mean((jnp.sqrt(jnp.sum(g**2, axis=-1)) - 1) ** 2)


def converted_closure(a, x):
    """A function that closes over an array, and its closure as an argument."""
    converted, captured = jax.closure_convert(lambda x: jnp.sin(a * x) * a, x)
    return converted(x, *captured), jax.grad(lambda x: converted(x, *captured).sum())(x)


def taylor_series(x, v):
    f = lambda x: jnp.exp(jnp.sin(x)) * jnp.tanh(x)
    y, terms = jet(f, (x,), ((v, jnp.zeros_like(x), jnp.zeros_like(x)),))
    return y, jnp.stack(terms)


def fisher_vector_product(w, x, v):
    model = lambda w: jnp.tanh(x @ w)
    _, push = jax.linearize(model, w)
    _, pull = jax.vjp(model, w)
    return pull(push(v))[0], jax.jvp(jax.grad(lambda w: model(w).sum()), (w,), (v,))[1]


def transposed_scan(xs, coefficients):
    """A linear scan, its transpose, and the transpose of that."""

    def filtered(xs):
        step = lambda c, inputs: (inputs[1] * c + inputs[0], 2 * c)
        last, ys = lax.scan(step, jnp.zeros_like(xs[0]), (xs, coefficients))
        return ys, last

    pull = jax.linear_transpose(filtered, xs)
    (back,) = pull((xs, xs[0]))
    _, push = jax.linearize(lambda c: filtered(c)[0], xs)
    return back, push(back), jax.linear_transpose(lambda ct: pull(ct)[0], (xs, xs[0]))(back)[0]


def tangents_through_a_while(x):
    """Forward mode through a loop of unknown length; the Jacobian by columns."""

    def f(x):
        go_on = lambda s: (jnp.sum(s[0] ** 2) > 0.1) & (s[1] < 30)
        return lax.while_loop(go_on, lambda s: (jnp.sin(s[0]) * 0.9, s[1] + 1), (x, 0))[0]

    return jax.jacfwd(f)(x), f(x)


def implicit_layers(theta):
    """A vector-Jacobian product in each step of a scan."""

    def step(x, t):
        y, pull = jax.vjp(lambda x: jnp.sin(x * t), x)
        return x - 0.1 * pull(y)[0], jnp.sum(y)

    return lax.scan(step, theta, jnp.arange(3, dtype=theta.dtype) / 2 * theta[0])


def branches_by_state(x, codes):
    """A small machine: switch in a scan, cond in a branch."""

    def step(state, code):
        def negate(x):
            return lax.cond(x[0] > 0, lambda x: -x, lambda x: x * 2, x)

        branches = [jnp.sin, negate, lambda x: x[::-1] + x, lambda x: x]
        state = lax.switch(code, branches, state)
        return state, state.sum()

    return lax.scan(step, x, codes)


def mapped_branches(flags, x):
    """Predicates with a batch, operands with and without."""
    f = lambda flag, x, y: lax.cond(flag, lambda x, y: jnp.sin(x) * y, lambda x, y: x - y, x, y)
    both = jax.vmap(f, in_axes=(0, 0, None))(flags, x, x[0])
    same = jax.vmap(f, in_axes=(None, 0, None), out_axes=1)(flags[0], x, 2.0)
    return both, same


def unsafe_branch_not_taken(x):
    """A branch that would divide by zero is not run, and gives no NaN to the gradient."""
    return lax.cond(x[0] > 0, lambda x: jnp.sqrt(x), lambda x: jnp.zeros_like(x), x * (x > 0))


def mapped_loops(x, bounds):
    """Each element goes its own number of steps."""

    def f(x, n):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, jnp.cos(s[1])), (0, x))[1]

    g = lambda x: lax.while_loop(lambda y: y < 5, lambda y: y * 1.7 + 0.1, jnp.abs(x))
    return jax.vmap(f)(x, bounds), jax.vmap(f, (0, None))(x, bounds[0]), jax.vmap(g)(x)


def dynamic_bounds(x, n):
    return lax.fori_loop(0, n, lambda i, y: jnp.sin(y) + i * x, x)


def shapes_without_values(x, ws):
    """The type of a loop's result, asked for before it runs, and a structure filled in."""
    f = lambda x: lax.scan(lambda c, w: (jnp.tanh(w @ c), c.sum()), x, ws)
    shapes = jax.eval_shape(f, jax.ShapeDtypeStruct(x.shape, x.dtype))
    zeros = tree_map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
    filled = tree_unflatten(tree_structure(shapes), f(x))
    return tree_map(lambda a, b: a + b, zeros, filled)


def functions_in_trees(x, scale):
    """Partial functions as carries and as arguments of jit."""
    f = Partial(lambda a, x: jnp.sin(a * x), scale)
    applied = jax.jit(lambda f, x: f(f(x)))(f, x)
    looped = lax.fori_loop(0, 2, lambda _, s: (s[0], s[0](s[1])), (f, x))[1]
    return applied, looped


def trees_together(params, others):
    total = tree_map(lambda a, b, c: a * b + c, params, others, params)
    mixed = tree_map(lambda a, b: None if b is None else a, params, {**others, "b": others["b"]})
    return total, mixed, jax.tree.map(jnp.sum, params)


def called_back(x):
    """NumPy called from within, with a derivative stated."""

    @jax.custom_jvp
    def host_sin(x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(np.sin, shape, x, vmap_method="expand_dims")

    host_sin.defjvp(lambda p, t: (host_sin(*p), jnp.cos(p[0]) * t[0]))
    return lax.scan(lambda c, _: (host_sin(c) * 2, c), x, None, length=2)


def watched(x):
    """Prints; values are what they would be without."""

    def step(c, x):
        jax.debug.print("carry {c} takes {x}", c=c, x=x)
        return c * x, c

    return lax.scan(step, jnp.ones_like(x[0]), x)


def target_network(w, target, x):
    """No gradient into what is compared with; targets follow slowly."""

    def step(state, x):
        w, target = state
        loss = lambda w: jnp.sum((jnp.tanh(w @ x) - lax.stop_gradient(jnp.tanh(target @ x))) ** 2)
        value, g = jax.value_and_grad(loss)(w)
        w = w - 0.1 * g
        return (w, 0.9 * target + 0.1 * w), value

    return lax.scan(step, (w, target), x)[1]


@jax.custom_batching.custom_vmap
def product(a, b):
    return a @ b


@product.def_vmap
def _(size, batched, a, b):
    a, b = (x if f else jnp.broadcast_to(x, (size, *x.shape)) for x, f in zip((a, b), batched))
    return jnp.einsum("nij,nj->ni", a, b), True


def batched_by_rule(a, b):
    return jax.vmap(product, (None, 0))(a, b)


def advantage(rewards, values, discount):
    """Generalized advantage estimation, from the last step to the first."""

    def step(a, inputs):
        delta, value = inputs
        a = delta + 0.9 * discount * a
        return a, (a, a + value)

    deltas = rewards + discount * values[1:] - values[:-1]
    zero = jnp.zeros_like(deltas[0])
    return lax.scan(step, zero, (deltas, values[:-1]), reverse=True, unroll=2)[1]


def derivative_of_a_map(x):
    f = lambda x: lax.map(lambda row: jnp.cumprod(row)[-1], x)
    return jax.jacrev(f)(x), jax.hessian(lambda x: f(x).sum())(x)


def inputs(rng):
    normal = rng.standard_normal
    return {
        "softplus_of_large_numbers": (normal(3),),
        "safe_norm": (normal(3),),
        "doubled_derivative_in_a_scan": (normal(2),),
        "clipped_on_the_way_back": (normal((2, 2)), normal((3, 2))),
        "straight_through": (normal((2, 2)), normal(2)),
        "rule_with_trees": ({"w": normal(3), "unused": normal(2)}, normal(3)),
        "domain_adversarial": (normal(3),),
        "gradient_penalty": (normal((2, 2)), normal((3, 2))),
        "converted_closure": (normal(2), normal(2)),
        "taylor_series": (normal(3), normal(3)),
        "fisher_vector_product": (normal(2), normal((3, 2)), normal(2)),
        "transposed_scan": (normal((3, 2)), normal((3, 2))),
        "tangents_through_a_while": (normal(2),),
        "implicit_layers": (normal(2),),
        "branches_by_state": (normal(3), np.array([0, 1, 2, 7, 1, -3])),
        "mapped_branches": (normal(3) > 0, normal((3, 2))),
        "unsafe_branch_not_taken": (normal(2),),
        "mapped_loops": (normal(3), np.array([0, 3, 1])),
        "dynamic_bounds": (normal(2), np.array(3)),
        "shapes_without_values": (normal(2), normal((3, 2, 2))),
        "functions_in_trees": (normal(2), np.array(1.5)),
        "trees_together": ({"a": normal(2), "b": normal(3)}, {"a": normal(2), "b": normal(3)}),
        "called_back": (normal(2),),
        "watched": (normal(3),),
        "target_network": (normal((2, 2)), normal((2, 2)), normal((3, 2))),
        "batched_by_rule": (normal((2, 3)), normal((4, 3))),
        "advantage": (normal(4), normal(5), np.array(0.95)),
        "derivative_of_a_map": (normal((2, 3)),),
    }


FORWARD_ONLY = {"tangents_through_a_while", "mapped_loops", "dynamic_bounds"}
REVERSE_ONLY = {
    "clipped_on_the_way_back",
    "straight_through",
    "rule_with_trees",
    "domain_adversarial",
}
WIDENS = {"dynamic_bounds"}
