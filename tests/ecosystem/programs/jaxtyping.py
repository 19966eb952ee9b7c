"""Jaxtyping: annotations of shapes and dtypes, checked by isinstance and at calls."""

import functools
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int, Key, PRNGKeyArray, PyTree, Shaped, jaxtyped


def _typechecker(function):
    """A checker of annotations, such as beartype and typeguard are."""
    signature = inspect.signature(function)

    def require(value, hint):
        if hint not in (Any, inspect.Signature.empty) and not isinstance(value, hint):
            raise TypeError(f"{value} is no {hint}")
        return value

    @functools.wraps(function)
    def checked(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            require(value, signature.parameters[name].annotation)
        return require(function(*args, **kwargs), signature.return_annotation)

    return checked


@jaxtyped(typechecker=_typechecker)
def product(a: Float[Array, "m k"], b: Float[Array, "k n"]) -> Float[Array, "m n"]:  # noqa: F722
    return a @ b


def isinstance_of_arrays():
    x, i, c = jnp.ones((2, 3)), jnp.arange(4), jnp.ones(2) * 1j
    hints = [
        (x, Float[Array, "a b"]), (x, Float[Array, "a a"]), (x, Float[Array, "2 3"]),
        (x, Float[Array, "..."]), (x, Int[Array, "a b"]), (i, Int[Array, "4"]),
        (i, Shaped[Array, "_"]), (c, Complex[Array, "n"]), (x > 0, Bool[Array, "a b"]),
        (jnp.sum(x), Float[Array, ""]), (np.ones(3), Float[Array, "3"]),
        (np.ones(3), Float[np.ndarray, "3"]), (x, Float[Array, "*batch 3"]),
        (jax.random.key(0), PRNGKeyArray),
        (jax.random.PRNGKey(0), PRNGKeyArray), (2.0, Float[Array, ""]),
    ]  # fmt: skip
    return [isinstance(value, hint) for value, hint in hints]


def calls():
    a, b = jnp.ones((2, 3)), jnp.ones((3, 4))
    good = [product(a, b), jax.jit(product)(a, b), jax.grad(lambda a: jnp.sum(product(a, b)))(a)]
    mapped = jax.vmap(product, (0, None))(jnp.ones((5, 2, 3)), b)
    failed = []
    for x, y in [(a, a), (a, jnp.ones((3, 4), jnp.int32)), (a[0], b)]:
        for f in (product, jax.jit(product)):
            try:
                f(x, y)
            except TypeError:
                failed.append(True)
    return good, mapped, failed


def trees():
    tree = {"a": jnp.ones(2), "b": (jnp.zeros(3),)}
    hints = [PyTree, PyTree[Float[Array, "_"]], PyTree[Int[Array, "_"]], PyTree[Float[Array, "n"]]]
    structured = PyTree[Float[Array, "..."], "T"]
    return [isinstance(tree, hint) for hint in hints], isinstance(tree, structured)


def typed_keys():
    return isinstance(jax.random.key(0), Key[Array, ""])
