"""Places that take numbers: functions of a number and of the names of fungrad, or of JAX in whose place it stands.

A number of a class derived from Python's, such as a member of an IntEnum, means the same there as the plain one.
"""

import enum
import operator

import numpy as np

ONES = np.ones(2, np.float32)
WHOLE = np.arange(3, dtype=np.int32)


class Colour(enum.IntEnum):
    RED = 1


class Flag(enum.IntFlag):
    WRITE = 2


class Integer(int):
    pass


class Float(float):
    pass


class Complex(complex):
    pass


NUMBERS = [
    (Colour.RED, 1),
    (Flag.WRITE, 2),
    (Integer(-3), -3),
    (Float(1.5), 1.5),
    (Complex(1 + 2j), 1 + 2j),
]


def _operators(jax, jnp, lax):
    named = [
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "and_",
        "or_",
        "xor",
    ]
    for name in named:
        f = getattr(operator, name)
        for x in (WHOLE + 1,) if name in ("and_", "or_", "xor") else (ONES, WHOLE + 1):
            yield f"x {name} v of {x.dtype}", lambda v, f=f, x=x: jax.jit(lambda x: f(x, v))(x)
            yield f"v {name} x of {x.dtype}", lambda v, f=f, x=x: jax.jit(lambda x: f(v, x))(x)
    yield "derivative of x ** v", lambda v: jax.grad(lambda x: abs(x**v))(2.0)
    yield "derivative of v ** x", lambda v: jax.grad(lambda x: abs(v**x))(2.0)


def _control_flow(jax, jnp, lax):
    yield "carry of fori_loop", lambda v: lax.fori_loop(0, 3, lambda i, c: c * 2, v)
    yield "bound of fori_loop", lambda v: lax.fori_loop(0, v, lambda i, c: c + i, ONES)
    yield (
        "carry of while_loop",
        lambda v: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, v)),
    )
    yield "carry of scan", lambda v: lax.scan(lambda c, x: (c * 2, c), v, None, length=2)
    yield "result of scan", lambda v: lax.scan(lambda c, x: (c, v), ONES, None, length=2)[1]
    yield "result of map", lambda v: lax.map(lambda x: v, ONES)
    yield (
        "branch",
        lambda v: jax.jit(lambda p: lax.cond(p, lambda: v, lambda: v))(True),
    )
    yield "operand of cond", lambda v: jax.jit(lambda p: lax.cond(p, abs, abs, v))(True)
    yield (
        "index of switch",
        lambda v: jax.jit(lambda x: lax.switch(v, [lambda: x, lambda: 2 * x, lambda: 3 * x]))(ONES),
    )


def _arguments(jax, jnp, lax):
    yield "argument of jit", lambda v: jax.jit(lambda x: x * 2)(v)
    yield "leaf of an argument", lambda v: jax.jit(lambda d: d["a"] * 2)({"a": v})
    yield "static argument", lambda v: jax.jit(lambda y, x: x * y, static_argnums=0)(v, ONES)
    yield "result of jit", lambda v: jax.jit(lambda x: (x, v))(ONES)[1]
    yield "unmapped", lambda v: jax.vmap(lambda a, x: a * x, in_axes=(None, 0))(v, ONES)
    yield "result of vmap", lambda v: jax.vmap(lambda x: v)(ONES)
    yield "differentiated", lambda v: jax.grad(lambda x: x * x * 1.0)(v)
    yield "beside it", lambda v: jax.grad(lambda x, y: abs(x * y))(2.0, v)
    yield "result of grad", lambda v: jax.grad(lambda x: v)(1.0)
    yield "primal", lambda v: jax.jvp(lambda x: x * 2.0, (v,), (1.0,))
    yield "tangent", lambda v: jax.jvp(lambda x: x * 2.0, (1.0,), (v,))
    yield "cotangent", lambda v: jax.vjp(lambda x: x * 2.0, 1.0)[1](v)
    yield "linearized", lambda v: jax.linearize(lambda x: x * 2.0, v)[0]
    yield "jacobian", lambda v: jax.jacfwd(lambda x: x * 2.0)(v)
    yield "hessian", lambda v: jax.hessian(lambda x: x * x)(v)
    yield "checkpoint", lambda v: jax.grad(jax.checkpoint(lambda x, n: abs(x * n)))(2.0, v)
    yield "argnums", lambda v: jax.grad(lambda a, b, c: a * b * c, argnums=v)(1.0, 2.0, 3.0)
    yield "types", lambda v: jax.eval_shape(lambda x: x, v)
    yield "tree", lambda v: len(jax.tree.leaves((v, [v])))

    @jax.custom_jvp
    def forward(x, n):
        return x * n

    forward.defjvps(lambda t, out, x, n: t * n, None)

    @jax.custom_vjp
    def backward(x, n):
        return x * n

    backward.defvjp(lambda x, n: (x * n, n), lambda n, g: (g * n, None))
    for f in (forward, backward):
        yield f.__name__, lambda v, f=f: f(2.0, v)
        yield f"derivative of {f.__name__}", lambda v, f=f: jax.grad(lambda x: abs(f(x, v)))(2.0)


def _functions(jax, jnp, lax):
    for name in ("where", "maximum", "add", "full_like"):
        f = getattr(jnp, name)
        of = (lambda x, v, f=f: f(x > 1, v, x)) if name == "where" else f
        yield f"jnp.{name}", lambda v, of=of: jax.jit(lambda x: of(x, v))(ONES)
    yield "jnp.array", lambda v: jax.jit(lambda x: jnp.array([v, x]))(1.0)
    yield "jnp.asarray", lambda v: jnp.asarray(v)
    yield "jnp.full", lambda v: jnp.full((2,), v)
    yield "jnp.sin", lambda v: jnp.sin(v)
    yield "jnp.roll", lambda v: jnp.roll(WHOLE, v)
    yield "lax.add", lambda v: jax.jit(lambda x: lax.add(x, v))(ONES)
    yield "lax.max", lambda v: lax.max(np.int32(1), v)
    yield "lax.select", lambda v: lax.select(True, v, v)
    yield "lax.convert_element_type", lambda v: lax.convert_element_type(v, "complex64")
    yield "psum", lambda v: jax.vmap(lambda x: x * lax.psum(v, "i"), axis_name="i")(ONES)
    yield "mean", lambda v: jax.vmap(lambda x: x * lax.pmean(v, "i"), axis_name="i")(ONES)
    yield "norm", lambda v: jax.scipy.stats.norm.logpdf(1.0, v)
    yield "seed", lambda v: jax.random.key_data(jax.random.fold_in(jax.random.key(0), v))


def _indices(jax, jnp, lax):
    yield "index", lambda v: jax.jit(lambda x: x[v])(np.arange(4.0))
    yield "slice", lambda v: jax.jit(lambda x: x[v:])(np.arange(4.0))
    yield "element set", lambda v: jax.jit(lambda x: x.at[1].set(v))(ONES)
    yield "element added to", lambda v: jax.jit(lambda x: x.at[1].add(v))(ONES)
    yield "at", lambda v: jax.jit(lambda x: x.at[v].add(1))(np.arange(4.0))
    yield "begin of a slice", lambda v: lax.dynamic_slice(np.arange(4.0), (v,), (2,))
    yield "axis", lambda v: jnp.sum(np.ones((2, 3, 4)), axis=v)
    yield "length", lambda v: jnp.zeros((v, 2))
    yield (
        "update",
        lambda v: lax.dynamic_update_index_in_dim(np.arange(4.0), np.float64(7), v, 0),
    )


def places(jax, jnp, lax):
    """Return the functions of one number by their names."""
    parts = (_operators, _control_flow, _arguments, _functions, _indices)
    return {name: f for part in parts for name, f in part(jax, jnp, lax)}


def outcome(jax, f, v):
    """Return the dtypes, weakness and values of what `f(v)` gives, or the class of its error."""
    try:
        leaves = jax.tree.leaves(f(v))
    except Exception as error:
        return type(error).__name__
    return [_described(leaf) for leaf in leaves]


def _described(leaf):
    if isinstance(leaf, (bool, int, float, complex)) and not isinstance(leaf, np.generic):
        return complex(leaf)
    values = np.asarray(leaf).tolist() if isinstance(leaf, (np.ndarray, np.generic)) else leaf
    return str(leaf.dtype), getattr(leaf, "weak_type", None), repr(values)
