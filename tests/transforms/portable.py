"""Transformed functions that a module defines, for tests of pickling."""

import functools

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.custom_batching import custom_vmap, sequential_vmap
from fungrad.custom_derivatives import closure_convert, custom_gradient
from fungrad.experimental.checkify import checkify


def plain(x):
    return (fnp.sin(x) * x).sum()


@fg.jit
def jitted(x):
    return plain(x) * 2


@fg.jit
@fg.grad
def gradient(x):
    return plain(x) * 3


@fg.vmap
def mapped(x):
    return x * 2 + 1


@fg.checkpoint
def again(x):
    return fnp.sin(fnp.sin(x)).sum()


@fg.custom_jvp
def ruled(x):
    return x * x


@ruled.defjvp
def _(primals, tangents):
    return ruled(*primals), 10 * tangents[0]


@fg.custom_vjp
def clipped(x):
    return x * x


clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (100 * g,))


@custom_vmap
def batched(x):
    return x + 1


@batched.def_vmap
def _(size, flags, x):
    return x + 100, True


@sequential_vmap
def sequential(x):
    return x + 1


@custom_gradient
def steep(x):
    return x * x, lambda g: 1000 * g


def text_of(f, x):
    return " ".join(str(f(x)).split())


def second_of(f, x):
    return f(x)[1]


class Model:
    scale = 3.0

    @fg.jit
    def doubled(x):
        return 2 * x

    @fg.grad
    def slope(x):
        return x**3


VECTOR = np.array([0.5, 1.0, 1.5])
"""What the functions are called with, but for those of numbers."""

FUNCTIONS = {
    "jitted": (jitted, VECTOR),
    "stacked": (gradient, VECTOR),
    "mapped": (mapped, VECTOR),
    "checkpoint": (fg.grad(again), VECTOR),
    "custom_jvp": (fg.grad(ruled), 3.0),
    "custom_vjp": (fg.grad(clipped), 3.0),
    "custom_vmap": (fg.vmap(batched), VECTOR),
    "sequential_vmap": (fg.vmap(sequential), VECTOR),
    "custom_gradient": (fg.grad(steep), 3.0),
    "in a class": (Model.doubled, VECTOR),
    "gradient in a class": (Model.slope, 2.0),
    "grad": (fg.grad(plain), VECTOR),
    "value_and_grad": (fg.value_and_grad(plain), VECTOR),
    "jit": (fg.jit(plain), VECTOR),
    "vmap": (fg.vmap(fg.grad(plain), in_axes=0, out_axes=1), np.ones((2, 3))),
    "jacfwd": (fg.jacfwd(fg.grad(plain)), VECTOR),
    "jacrev": (fg.jacrev(fg.grad(plain)), VECTOR),
    "hessian": (fg.jit(fg.hessian(plain)), VECTOR),
    "hvp": (fg.hvp(plain), (VECTOR, VECTOR)),
    "ufunc": (fg.jit(np.sin), VECTOR),
    "pullback": (fg.vjp(fg.grad(plain), VECTOR)[1], VECTOR),
    "derivative": (fg.linearize(fg.grad(plain), VECTOR)[1], VECTOR),
    "transpose": (fg.linear_transpose(lambda x: 3 * x, VECTOR), VECTOR),
    "compiled": (fg.jit(plain).lower(VECTOR).compile(), VECTOR),
    "checkify": (functools.partial(second_of, checkify(plain)), VECTOR),
    "closure_convert": (closure_convert(plain, VECTOR)[0], VECTOR),
    "named_call": (fg.named_call(plain, name="other"), VECTOR),
    "make_expr": (functools.partial(text_of, fg.make_expr(plain)), VECTOR),
    "partial": (fg.tree_util.Partial(fg.jit(fnp.add), 1.0), VECTOR),
}
