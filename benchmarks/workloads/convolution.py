"""A convolutional layer with pooling, as in a small network for images: its gradient by the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Call, Setting, Target, Workload

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(32, 3, 32, 32))
KERNELS = RNG.normal(size=(16, 3, 3, 3))


def loss(np: Any, lax: Any, kernels: Any, images: Any) -> Any:
    y = np.maximum(lax.conv(images, kernels, (1, 1), "SAME"), 0.0)
    pooled = lax.reduce_window(y, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return np.mean(pooled**2)


def fungrad_jit(setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp
    from fungrad import lax

    gradient = fg.jit(fg.grad(lambda k, x: loss(fnp, lax, k, x)))
    return setting.call(gradient, setting.asarray(KERNELS), setting.asarray(IMAGES))


def jax_jit(setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    gradient = jax.jit(jax.grad(lambda k, x: loss(jax.numpy, jax.lax, k, x)))
    return peers.jax_call(jax, gradient, jax.numpy.asarray(KERNELS), jax.numpy.asarray(IMAGES))


WORKLOADS = [
    Workload(
        name="convolution",
        measures="gradient of a layer of 16 kernels with max pooling, on 32 images of 32 x 32",
        contenders={"fungrad, jit": fungrad_jit, "jax, jit, own arrays": jax_jit},
        targets=(Target("fungrad, jit", 3, of="jax, jit, own arrays"),),
    )
]
