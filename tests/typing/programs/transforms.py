"""Arguments and results of functions stay known through transforms."""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.typing import Array

Parameters = dict[str, Array]
w: Parameters = {"w": np.ones(2)}
x: Array = np.ones((3, 2))


def loss(parameters: Parameters, inputs: Array, scale: float = 1.0) -> Array:
    return scale * fnp.sum((inputs @ parameters["w"]) ** 2)


def with_aux(v: Array) -> tuple[Array, str]:
    return fnp.sum(v), "seen"


assert_type(fg.grad(loss)(w, x), Parameters)
assert_type(fg.grad(loss)(w, x, scale=2.0), Parameters)
assert_type(fg.value_and_grad(loss)(w, x), tuple[Array, Parameters])
assert_type(fg.grad(with_aux, has_aux=True)(x), tuple[Array, str])
assert_type(fg.value_and_grad(with_aux, has_aux=True)(x), tuple[tuple[Array, str], Array])
assert_type(fg.jit(loss)(w, inputs=x), Array)
assert_type(fg.jit(fg.value_and_grad(loss))(w, x), tuple[Array, Parameters])
assert_type(fg.vmap(loss, in_axes=(None, 0))(w, x), Array)
assert_type(fg.checkpoint(loss)(w, x), Array)
assert_type(fg.stop_gradient(w), Parameters)
assert_type(fg.jvp(loss, (w, x), (w, x)), tuple[Array, Array])
assert_type(fg.jvp(with_aux, (x,), (x,), has_aux=True), tuple[Array, Array, str])
value, pullback = fg.vjp(loss, w, x)
assert_type(value, Array)
assert_type(pullback(value), tuple[Parameters, Array])
assert_type(fg.vjp(with_aux, x, has_aux=True)[2], str)
assert_type(fg.linearize(loss, w, x)[1](w, x), Array)
assert_type(fg.device_put(w), Parameters)
assert_type(fg.jit(loss).source(w, x), str)
fg.jacrev(loss)(w, x)
fg.grad(loss, argnums=(0, 1))(w, x)

fg.grad(loss)(x, x)  # error
fg.grad(loss)(w)  # error
fg.jit(loss)(w, x, scales=2.0)  # error
fg.jit(loss, static_argnum=2)  # error
fg.vmap(loss)("text", x)  # error
fg.jit(loss).lower(w)  # error
fg.vjp(loss, x, x)  # error
pullback(w)  # error


@fg.jit
def step(parameters: Parameters, inputs: Array) -> Parameters:
    gradient = fg.grad(loss)(parameters, inputs)
    return {name: parameters[name] - 0.1 * gradient[name] for name in parameters}


@fg.jit(static_argnames="n")
def repeat(parameters: Parameters, n: int) -> Parameters:
    return parameters


class Model:
    @fg.jit
    def __call__(self, inputs: Array) -> Array:
        return inputs

    @fg.jit
    def predict(self, inputs: Array) -> Array:
        return inputs


assert_type(step(w, x), Parameters)
assert_type(repeat(w, n=3), Parameters)
assert_type(Model().predict(x), Array)
step(w, 3)  # error
repeat(w, n="three")  # error

# Functions without types, ufuncs and flags are no errors.
fg.grad(lambda v: v**2)(3.0)
fg.value_and_grad(lambda v, k: (v * k).sum())(x, 2.0)
fg.vmap(lambda v: v + 1)(x)
fg.vmap(np.sin)(x)
fg.jit(np.sin)(x)
fg.grad(np.sin)(1.0) + 1
fg.vjp(np.sin, x)[1](x)
fg.jvp(lambda v: v * v, (2.0,), (1.0,))[0] + 1
fg.linearize(lambda v, k: (v * k).sum(), x, 2.0)[1](x, 1.0)


def train(any_loss: Callable[..., Any], other: Any, flag: bool) -> None:
    fg.grad(any_loss)(w)
    fg.grad(other)(w)
    fg.jit(other)(w)
    fg.vmap(other)(w)
    fg.jacfwd(any_loss)(w)
    fg.grad(any_loss, has_aux=flag)(w)
    fg.vjp(any_loss, w, x, has_aux=flag)[1](1.0)
    fg.linearize(other, w)[1](w)
    fg.jvp(other, (w,), (w,), has_aux=flag)
    fg.value_and_grad(other, argnums=1)(w)
