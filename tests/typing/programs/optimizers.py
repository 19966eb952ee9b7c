"""Updates are of the type of the gradients, and parameters keep theirs."""

from typing import NamedTuple, assert_type

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import optim
from fungrad.typing import Array


class Weights(NamedTuple):
    w: Array
    b: Array


def loss(weights: Weights, x: Array) -> Array:
    return fnp.sum((x @ weights.w + weights.b) ** 2)


weights = Weights(np.ones(2), np.zeros(()))
x: Array = np.ones((3, 2))
schedule = optim.warmup_cosine_decay_schedule(0.0, 0.1, 10, 100)
assert_type(schedule(3), Array)
tx = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(schedule, weight_decay=0.1))
optim.sgd(lambda count: 0.1 / (1 + count))
optim.sgd(np.float32(0.1))
optim.adam(0.1, b1=np.float32(0.9), b2=x[0, 0], mu_dtype="float32")
optim.adamw(0.1, weight_decay=lambda count: 0.1 / (1 + count), mask=lambda weights: True)
optim.conditionally_transform(optim.scale(2.0), lambda step: step % 2 == 0)
optim.monitor({"size": optim.tree.norm, "mean": optim.ema(0.9)})
optim.power_iteration(lambda v: x @ v, v0=x[0])
state = tx.init(weights)
gradients = fg.grad(loss)(weights, x)
assert_type(gradients, Weights)
updates, state = tx.update(gradients, state, weights)
assert_type(updates, Weights)
assert_type(optim.apply_updates(weights, updates), Weights)
assert_type(optim.adam(0.1).update(gradients, state, weights)[0], Weights)
assert_type(optim.polyak_sgd().update(gradients, state, weights, value=1.0)[0], Weights)
assert_type(optim.tree.zeros_like(weights), Weights)
assert_type(optim.tree.norm(weights), Array)
assert_type(optim.global_norm(weights), Array)
assert_type(optim.projections.projection_simplex(weights), Weights)
assert_type(optim.softmax_cross_entropy(x, x), Array)


@fg.jit
def step(weights: Weights, state: optim.OptState, x: Array) -> tuple[Weights, optim.OptState]:
    updates, state = tx.update(fg.grad(loss)(weights, x), state, weights)
    return optim.apply_updates(weights, updates), state


weights, state = step(weights, state, x)

optim.adam("fast")  # error
optim.adam(0.1, b3=0.9)  # error
optim.adam(0.1, b1="slow")  # error
optim.adam(0.1, mu_dtype=0.5)  # error
optim.rprop(schedule)  # error
optim.clip_by_global_norm([1.0])  # error
optim.adam(0.1).update(gradients)  # error
optim.adam(0.1).updates(gradients, state)  # error
step(x, state, x)  # error
optim.adamwww(0.1)  # error
