"""Rows of `fungrad.primitives.contraction`."""

from collections.abc import Sequence

import numpy as np

from fungrad.primitives.contraction import DotGeneral
from tests.samples.row import Sample, booleans, complexes, integers, reals

Axes = Sequence[int]


def row(
    x: np.ndarray,
    y: np.ndarray,
    contracting: tuple[Axes, Axes],
    batch_axes: tuple[Axes, Axes] = ((), ()),
    name: str = "",
    tolerance: float = 1e-12,
) -> Sample:
    """Return the row of a product, with np.einsum as its oracle."""

    def oracle(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        of_x = list(range(x.ndim))
        of_y = list(range(x.ndim, x.ndim + y.ndim))
        for axes, others in (contracting, batch_axes):
            for a, b in zip(axes, others, strict=True):
                of_y[b] = of_x[a]
        paired = [*contracting[0], *batch_axes[0]]
        out = [*batch_axes[0], *[n for n in of_x if n not in paired]]
        out += [n for n in of_y if n not in of_x]
        if x.dtype == np.bool_:
            return np.einsum(x.astype(int), of_x, y.astype(int), of_y, out) > 0
        return np.einsum(x, of_x, y, of_y, out)

    primitive = DotGeneral(
        (tuple(contracting[0]), tuple(contracting[1])),
        (tuple(batch_axes[0]), tuple(batch_axes[1])),
        (x.ndim, y.ndim),
    )
    return Sample(primitive, (x, y), oracle, name=name, tolerance=tolerance)


ROWS = [
    row(reals(4), reals(4, seed=1), ((0,), (0,)), name="vectors"),
    row(reals(3, 4), reals(4, seed=1), ((1,), (0,)), name="matrix-vector"),
    row(reals(4, 3), reals(4, seed=1), ((0,), (0,)), name="transposed-matrix-vector"),
    row(reals(4), reals(4, 2, seed=1), ((0,), (0,)), name="vector-matrix"),
    row(reals(4), reals(2, 4, seed=1), ((0,), (1,)), name="vector-transposed-matrix"),
    row(reals(3, 4), reals(4, 2, seed=1), ((1,), (0,)), name="matrices"),
    row(reals(4, 3), reals(4, 2, seed=1), ((0,), (0,)), name="first-transposed"),
    row(reals(3, 4), reals(2, 4, seed=1), ((1,), (1,)), name="second-transposed"),
    row(reals(4, 3), reals(2, 4, seed=1), ((0,), (1,)), name="both-transposed"),
    row(reals(3, 4), reals(4, 3, seed=1), ((0, 1), (1, 0)), name="all-axes"),
    row(reals(2), reals(3, seed=1), ((), ()), name="outer"),
    row(reals(), reals(2, 3, seed=1), ((), ()), name="scalar"),
    row(reals(), reals(seed=1), ((), ()), name="scalars"),
    row(reals(2, 3, 4), reals(4, 5, seed=1), ((2,), (0,)), name="stack-matrix"),
    row(reals(2, 3, 4), reals(2, 5, 3, seed=1), ((0, 1), (0, 2)), name="two-axes"),
    row(reals(3, 2, 4), reals(5, 4, 3, seed=1), ((0, 2), (2, 1)), name="two-axes-crossed"),
    row(reals(2, 3, 4), reals(2, 4, 5, seed=1), ((2,), (1,)), ((0,), (0,)), "batch"),
    row(reals(2, 3), reals(2, 3, seed=1), ((1,), (1,)), ((0,), (0,)), "batch-of-vectors"),
    row(reals(2, 3), reals(3, 2, seed=1), ((), ()), ((0, 1), (1, 0)), "batch-only"),
    row(reals(2, 3, 2), reals(4, 2, seed=1), ((), ()), ((2,), (1,)), "batch-outer"),
    row(
        reals(2, 3, 2, 4),
        reals(4, 3, 2, 2, seed=1),
        ((3,), (0,)),
        ((2, 1), (3, 1)),
        name="two-batch-axes-crossed",
    ),
    row(complexes(3, 4), complexes(4, 2, seed=7), ((1,), (0,)), name="complex"),
    row(complexes(2, 3), complexes(2, 3, seed=7), ((1,), (1,)), ((0,), (0,)), "complex-batch"),
    row(integers(3, 4), integers(4, 2, seed=1), ((1,), (0,)), name="integers"),
    row(booleans(3, 4), booleans(4, 2, seed=1), ((1,), (0,)), name="booleans"),
    row(
        reals(3, 4).astype(np.float16),
        reals(4, 2, seed=1).astype(np.float16),
        ((1,), (0,)),
        name="float16",
        tolerance=1e-2,
    ),
    row(reals(3, 0), reals(0, 2), ((1,), (0,)), name="empty-sum"),
    row(reals(0, 3), reals(3, 2), ((1,), (0,)), name="empty"),
    row(reals(2, 0, 3), reals(2, 3, 2), ((2,), (1,)), ((0,), (0,)), "empty-batch"),
]
