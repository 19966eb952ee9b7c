"""One training step of the network of `examples/digits.py`: loss, gradients, momentum update.

Every contender runs the very lines of the example, under its own NumPy. A step starts from the
same parameters each time, so that all answers can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from benchmarks import peers
from benchmarks.workload import Call, Setting, Workload


def start(convert: Callable[[Any], Any]) -> tuple[Any, Any, Any, Any]:
    """Return parameters, velocity, and a minibatch of images and targets."""
    from examples import digits

    data = digits.load_digits()
    batch = slice(digits.BATCH_SIZE)
    params = [{k: convert(v) for k, v in layer.items()} for layer in digits.init_params()]
    velocity = [{k: convert(v) for k, v in layer.items()} for layer in digits.no_velocity(params)]
    return (
        params,
        velocity,
        convert(data.train_images[batch]),
        convert(data.train_targets[batch]),
    )


def step_with(loss_and_gradients: Callable[..., Any]) -> Callable[..., Any]:
    """Return the training step that gets its gradients from `loss_and_gradients`."""
    from examples import digits

    def step(params: Any, velocity: Any, images: Any, targets: Any) -> Any:
        value, gradients = loss_and_gradients(params, images, targets)
        return value, *digits.momentum_step(params, velocity, gradients)

    return step


def loss_under(xp: ModuleType) -> Callable[..., Any]:
    """Return the loss of the example, computed with `xp`."""
    from examples import digits

    return partial(digits.loss, xp=xp)


def fungrad(setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp

    step = step_with(fg.jit(fg.value_and_grad(loss_under(fnp))))
    return setting.call(step, *start(setting.asarray))


def fungrad_all_jit(setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp

    step = fg.jit(step_with(fg.value_and_grad(loss_under(fnp))))
    return setting.call(step, *start(setting.asarray))


def fungrad_no_jit(setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp

    step = step_with(fg.value_and_grad(loss_under(fnp)))
    return setting.call(step, *start(setting.asarray))


def by_hand(setting: Setting) -> Call:
    from examples import digits

    step = step_with(partial(digits.loss_and_gradients_by_hand, xp=setting.xp))
    return setting.call(step, *start(setting.asarray))


def autograd(setting: Setting) -> Call:
    ag = peers.load_autograd(setting)
    value_and_grad = ag.value_and_grad(loss_under(ag.numpy))
    return setting.call(step_with(value_and_grad), *start(setting.asarray))


def jax(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    step = step_with(jax.jit(jax.value_and_grad(loss_under(jax.numpy))))
    return peers.jax_call(jax, step, *start(jax.numpy.asarray))


def jax_all_jit(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    step = jax.jit(step_with(jax.value_and_grad(loss_under(jax.numpy))))
    return peers.jax_call(jax, step, *start(jax.numpy.asarray))


def jax_all_jit_from_numpy(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    step = jax.jit(step_with(jax.value_and_grad(loss_under(jax.numpy))))
    return peers.jax_call(jax, step, *start(lambda x: x))


WORKLOADS = [
    Workload(
        name="digits_step",
        measures="a training step of the digits network: value_and_grad under jit, and momentum",
        contenders={
            "fungrad": fungrad,
            "fungrad, whole step in jit": fungrad_all_jit,
            "fungrad, no jit": fungrad_no_jit,
            "by hand": by_hand,
            "autograd": autograd,
            "jax, own arrays": jax,
            "jax, whole step in jit, own arrays": jax_all_jit,
            "jax, whole step in jit": jax_all_jit_from_numpy,
        },
        blas_threads=1,  # as in the example: a second one is more waited for than useful
    )
]
