"""Arguments of rotations; means of rotations, and rotations between sets of vectors."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.tracer import Tracer
from fungrad.numpy.precision import array, converted, floating_dtype
from fungrad.numpy.promotion import has_tracer


def floats(x: Any) -> Any:
    """Return an array of floating-point numbers."""
    x = array(fnp.asarray(x))
    return converted(x, floating_dtype(x))


def as_vectors(function: str, x: Any, length: int) -> Any:
    """Return an array of vectors of a length; raise for others in the name of a function."""
    x = floats(x)
    if not x.ndim or x.shape[-1] != length:
        raise ValueError(
            f"{function}: the last axis has {length} elements; got an array of shape {x.shape}"
        )
    return x


def axes_of(function: str, seq: str, counts: Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """Return the axes that a string names, as numbers, and whether they move along."""
    intrinsic = re.fullmatch("[XYZ]+", seq) is not None
    same = any(a == b for a, b in itertools.pairwise(seq))
    if same or len(seq) not in counts or not (intrinsic or re.fullmatch("[xyz]+", seq)):
        number = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else counts[0]
        raise ValueError(
            f"{function}: seq names {number} axes, each of x, y, z (fixed ones) or each of X, Y, Z (that move along), and none "
            f"twice in a row; got {seq!r}"
        )
    return tuple(["xyz".index(a) for a in seq.lower()]), intrinsic


def mean_of(quat: Any, weights: Any, axis: int | tuple[int, ...] | None) -> Any:
    """Return the quaternions of the means of rotations, over some of their axes or over all."""
    shape = quat.shape[:-1]
    w: Any = fnp.ones(shape) if weights is None else floats(weights)
    try:
        w = fnp.broadcast_to(w, shape)
    except ValueError:
        number = " x ".join(map(str, shape)) or 1
        raise ValueError(
            f"Rotation.mean: there are {number} rotations, and weights of shape {w.shape}"
        ) from None
    if type(w) is not Tracer and np.any(w < 0):
        raise ValueError("Rotation.mean: weights are not negative")
    given = range(len(shape)) if axis is None else np.atleast_1d(axis).tolist()
    axes = tuple([a % len(shape) for a in given])
    squares = quat[..., :, None] * quat[..., None, :] * converted(w, quat.dtype)[..., None, None]
    return fnp.linalg.eigh(fnp.sum(squares, axis=axes))[1][..., -1]


def aligned(
    plain: Callable[..., Any], a: Any, b: Any, weights: Any, return_sensitivity: bool
) -> Sequence[Any]:
    """Return a quaternion, the distance left, and a sensitivity if asked for.

    The quaternion is the eigenvector of Davenport's matrix (Markley and Crassidis, *Fundamentals of Spacecraft Attitude
    Determination and Control*, 2014), which is regular where the rotation is unique. `plain` is SciPy's function.
    """
    if not has_tracer((a, b, weights)):
        found, *others = plain(a, b, weights, return_sensitivity)
        return found.as_quat(), *others
    label = "Rotation.align_vectors"
    a, b = fnp.atleast_2d(a), fnp.atleast_2d(b)
    if a.shape != b.shape or a.ndim != 2 or a.shape[1] != 3:
        raise ValueError(
            f"{label}: a and b are of one shape, (N, 3) or (3,); got {a.shape} and {b.shape}"
        )
    w: Any = fnp.ones(len(a)) if weights is None else floats(weights)
    if w.shape != a.shape[:1]:
        raise ValueError(f"{label}: there are {len(a)} vectors, and weights of shape {w.shape}")
    if type(w) is not Tracer and not np.all(np.isfinite(w) & (w >= 0)):
        raise ValueError(f"{label}: weights are finite and not negative where something is traced")
    if len(a) == 1:
        if return_sensitivity:
            raise ValueError(f"{label}: of one pair of vectors there is no sensitivity")
        return _shortest(a[0], b[0], w[0])
    product = (a * w[:, None]).T @ b
    trace, axial = fnp.trace(product), fnp.sum(w[:, None] * fnp.cross(b, a), axis=0)
    upper = product + product.T - trace * np.eye(3)
    davenport = fnp.concatenate([
        fnp.concatenate([upper, axial[:, None]], axis=1),
        fnp.concatenate([axial, trace[None]])[None],
    ])  # fmt: skip
    values, columns = fnp.linalg.eigh(davenport)
    squares = fnp.sum(w * fnp.sum(a * a + b * b, axis=1)) - 2 * values[-1]
    found = [columns[:, -1], fnp.sqrt(fnp.maximum(squares, 0))]
    if return_sensitivity:
        x, y, z = fnp.linalg.svd(product, compute_uv=False)
        z = z * fnp.sign(fnp.linalg.det(product))
        scale = fnp.mean(w) / ((x + y) * (y + z) * (z + x))
        found.append(scale * ((x * y + y * z + z * x) * np.eye(3) + product @ product.T))
    return found


def _shortest(a: Any, b: Any, weight: Any) -> Sequence[Any]:
    """Return the quaternion of the shortest rotation from `b` towards `a`, and the distance left."""
    long, short = fnp.linalg.norm(a), fnp.linalg.norm(b)
    both = fnp.concatenate([fnp.cross(b, a), (long * short + a @ b)[None]])
    return both / fnp.linalg.norm(both), fnp.sqrt(weight) * fnp.abs(long - short)
