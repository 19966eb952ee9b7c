"""What functions of fungrad.numpy take and return."""

from typing import assert_type

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.typing import Array, ArrayLike, PyTree

x = fnp.sin(1.0)
assert_type(x, Array)
assert_type(len(x.shape), int)
assert_type(fnp.sum(x, axis=0, keepdims=True), Array)
assert_type(fnp.zeros((2, 3), dtype=np.float32), Array)
assert_type(fnp.concatenate([x, np.ones(3)], axis=0), Array)
assert_type(fnp.where(x > 0, x, 0.0), Array)
assert_type(fnp.einsum("ij,j->i", x, x), Array)
assert_type(fnp.linspace(0, 1, 5), Array)
assert_type(fnp.linspace(0, 1, 5, retstep=True), tuple[Array, Array])
assert_type(fnp.split(x, 2), list[Array])
assert_type(fnp.nonzero(x), tuple[Array, ...])
assert_type(fnp.divmod(x, 2), tuple[Array, Array])
assert_type(fnp.shape(x), tuple[int, ...])
assert_type(fnp.ndim(x), int)
assert_type(fnp.pi, float)
assert_type(fnp.linalg.solve(fnp.eye(3), x), Array)
assert_type(fnp.linalg.norm(x), Array)
assert_type(fnp.fft.rfft(x, n=4), Array)
fnp.linalg.eigh(x).eigenvectors.sum()
fnp.put(x, 0, 1.0)

fnp.sum(x, axs=0)  # error
fnp.reshape(x, "wide")  # error
fnp.sin(object())  # error
fnp.sine(x)  # error


def plain(a: np.ndarray) -> np.ndarray:
    """Functions annotated with NumPy's class take and return what these functions do."""
    return fnp.exp(a) + 1


def either(a: ArrayLike) -> Array:
    return fnp.asarray(a)


def norm(tree: PyTree) -> Array:
    return fnp.sqrt(fnp.sum(fnp.stack([fnp.vdot(leaf, leaf) for leaf in fg.tree.leaves(tree)])))


plain(x)
either([1.0, 2.0])
either(x).reshape(-1)
