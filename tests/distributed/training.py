"""Ways to train a network on several processes: each gives what training in one process by itself does."""

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import flatten_util, lax
from fungrad.sharding import PartitionSpec, make_mesh, shard_map

P = PartitionSpec
STEPS, RATE, DECAY = 12, 0.1, 0.9
RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(16, 6)), RNG.normal(size=(16, 2))
START = {"hidden": 0.5 * RNG.normal(size=(6, 8)), "out": 0.5 * RNG.normal(size=(8, 2))}


def loss(params, x, y):
    return fnp.mean((fnp.tanh(x @ params["hidden"]) @ params["out"] - y) ** 2)


def trained(gradient):
    """Descend along gradients with momentum; return the parameters."""
    params = START
    moments = fg.tree.map(np.zeros_like, START)

    @fg.jit
    def step(params, moments):
        moments = fg.tree.map(lambda m, g: DECAY * m + g, moments, gradient(params, X, Y))
        return fg.tree.map(lambda p, m: p - RATE * m, params, moments), moments

    for _ in range(STEPS):
        params, moments = step(params, moments)
    return params


def alone():
    return trained(fg.grad(loss))


def data_parallel():
    """Each place has rows of the data; gradients are of the mean over all."""
    mean = lambda params, x, y: lax.pmean(loss(params, x, y), "data")
    mesh = make_mesh((4,), ("data",))
    divided = shard_map(mean, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P())
    return trained(fg.grad(divided))


def gradients_within():
    """Likewise, with the derivative taken in each place, and then the mean."""

    def gradient(params, x, y):
        return lax.pmean(fg.grad(loss)(params, x, y), "data")

    specs = (P(), P("data"), P("data"))
    return trained(
        shard_map(gradient, mesh=make_mesh((4,), ("data",)), in_specs=specs, out_specs=P())
    )


def tensor_parallel():
    """Each place has columns of one matrix and rows of the next; data are divided along another axis of the mesh."""

    def part(params, x, y):
        h = fnp.tanh(x @ params["hidden"])
        out = lax.psum(h @ params["out"], "model")
        return lax.pmean(fnp.mean((out - y) ** 2), "data")

    divided = shard_map(
        part,
        mesh=make_mesh((2, 2), ("data", "model")),
        in_specs=({"hidden": P(None, "model"), "out": P("model")}, P("data"), P("data")),
        out_specs=P(),
    )
    return trained(fg.grad(divided))


def divided_state():
    """Each place keeps, and computes with, its share of the optimizer's state (Rajbhandari et al., ZeRO, 2020)."""
    flat, unravel = flatten_util.ravel_pytree(START)

    def step(params, moments, x, y):
        g, _ = flatten_util.ravel_pytree(fg.grad(loss)(unravel(params), x, y))
        g = lax.psum_scatter(g, "data", tiled=True) / lax.axis_size("data")
        moments = DECAY * moments + g
        share = len(params) // lax.axis_size("data")
        own = lax.dynamic_slice(params, (lax.axis_index("data") * share,), (share,))
        return lax.all_gather(own - RATE * moments, "data", tiled=True), moments

    specs = (P(), P("data"), P("data"), P("data"))
    mesh = make_mesh((4,), ("data",))
    run = fg.jit(shard_map(step, mesh=mesh, in_specs=specs, out_specs=(P(), P("data"))))
    params, moments = flat, np.zeros_like(flat)
    for _ in range(STEPS):
        params, moments = run(params, moments, X, Y)
    return unravel(params)


WAYS = {f.__name__: f for f in (data_parallel, gradients_within, tensor_parallel, divided_state)}
