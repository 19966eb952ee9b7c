"""What functions of fungrad.lax take and return: arrays, and the trees that loops hand on."""

from typing import assert_type

import numpy as np

import fungrad as fg
from fungrad import lax
from fungrad.typing import Array

x: Array = np.ones((3, 2))
State = dict[str, Array]
state: State = {"w": x}

assert_type(lax.add(x, x), Array)
assert_type(lax.rsqrt(2.0), Array)
assert_type(lax.reduce_sum(x, axes=(0,)), Array)
assert_type(lax.top_k(x, 2), tuple[Array, Array])
assert_type(lax.split(x, (1, 2)), list[Array])
assert_type(lax.dot_general(x, x, (((0,), (0,)), ((), ()))), Array)
assert_type(lax.convert_element_type(x, np.float32), Array)
assert_type(lax.broadcast_shapes((1, 2), (3, 1)), tuple[int, ...])
assert_type(lax.psum(state, "i"), State)
assert_type(lax.linalg.svd(x, full_matrices=False), tuple[Array, Array, Array])
assert_type(lax.linalg.svd(x, compute_uv=False), Array)
assert_type(fg.ops.segment_sum(x, np.array([0, 0, 1])), Array)


def step(carry: State, row: Array) -> tuple[State, Array]:
    return {"w": carry["w"] + row}, row


def swap(carry: tuple[Array, int], _: None) -> tuple[tuple[Array, int], None]:
    return carry, None


assert_type(lax.scan(step, state, x), tuple[State, Array])
assert_type(lax.scan(swap, (x, 0), length=3), tuple[tuple[Array, int], None])
lax.scan(lambda total, row: (total + row, total), 0.0, x)[0] + 1
assert_type(lax.fori_loop(0, 5, lambda i, s: {"w": s["w"] + i}, state), State)
assert_type(lax.while_loop(lambda s: s["w"].sum() < 9, lambda s: {"w": 2 * s["w"]}, state), State)
assert_type(lax.map(lambda row: {"w": row}, x), State)
assert_type(lax.associative_scan(lambda a, b: {"w": a["w"] @ b["w"]}, state), State)


def double(s: State) -> State:
    return {"w": 2 * s["w"]}


def total(s: State) -> float:
    return float(s["w"].sum())


assert_type(lax.cond(x.sum() > 0, double, double, state), State)
assert_type(lax.cond(True, double, total, state), State | float)
assert_type(lax.cond(True, double, double, operand=state), State)
assert_type(lax.switch(0, [double, double], state), State)

lax.scan(step, x, x)  # error
lax.scan(step, state, x, lenght=3)  # error
lax.cond(True, double, double, x, x)  # error
lax.while_loop(total, step, state)  # error
lax.add(x)  # error
lax.reduce_sum(x, axes=0)  # error
lax.sinus(x)  # error
