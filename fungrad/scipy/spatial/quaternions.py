"""Rotations in space as quaternions (x, y, z, w), the last axis of arrays; w is the scalar.

All have derivatives at rotations by nothing, too, where the usual ones divide 0 by 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import fungrad.numpy as fnp

TERMS = 9
"""Terms of a series for arguments below 1/4 (1/100 if factorials do not divide it)."""


def norm(x: Any) -> Any:
    """Return the lengths of vectors, with an axis of one element in place of theirs."""
    return fnp.sqrt(fnp.sum(x * x, axis=-1, keepdims=True))


def normalized(q: Any) -> Any:
    """Return quaternions of length 1."""
    return q / norm(q)


def conjugate(q: Any) -> Any:
    """Return the inverses of unit quaternions."""
    return fnp.concatenate([-q[..., :3], q[..., 3:]], axis=-1)


def canonical(q: Any) -> Any:
    """Return the quaternion or its negative, whichever has its last non-zero of (w, x, y, z) positive."""
    x, y, z, w = (q[..., i : i + 1] for i in range(4))
    negative = z < 0
    for part in (y, x, w):
        negative = (part < 0) | ((part == 0) & negative)
    return fnp.where(negative, -q, q)


def product(p: Any, q: Any) -> Any:
    """Return the quaternions that rotate by `q`, then by `p`."""
    v, w, u, s = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    vector = w * u + s * v + fnp.cross(v, u)
    return fnp.concatenate([vector, w * s - fnp.sum(v * u, axis=-1, keepdims=True)], axis=-1)


def elementary(axis: int, angles: Any) -> Any:
    """Return rotations by angles about a coordinate axis."""
    half = angles / 2
    parts = [fnp.zeros_like(half)] * 3 + [fnp.cos(half)]
    parts[axis] = fnp.sin(half)
    return fnp.stack(parts, axis=-1)


def _series(x: Any, coefficients: list[float]) -> Any:
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def from_rotation_vector(v: Any) -> Any:
    """Return rotations about vectors by their lengths, with sine and cosine as functions of the square."""
    quarter = fnp.sum(v * v, axis=-1, keepdims=True) / 4
    small = quarter < 0.25
    half = fnp.sqrt(fnp.where(small, 1.0, quarter))
    sines = _series(quarter, [(-1) ** k / math.factorial(2 * k + 1) for k in range(TERMS)])
    cosines = _series(quarter, [(-1) ** k / math.factorial(2 * k) for k in range(TERMS)])
    scale = fnp.where(small, sines, fnp.sin(half) / half) / 2
    return fnp.concatenate([scale * v, fnp.where(small, cosines, fnp.cos(half))], axis=-1)


def rotation_vector(q: Any) -> Any:
    """Return the axes of rotations, as long as their angles, which are not larger than pi."""
    q = fnp.where(q[..., 3:] < 0, -q, q)
    v, w = q[..., :3], q[..., 3:]
    square = fnp.sum(v * v, axis=-1, keepdims=True)
    small = square < 0.01 * w * w
    ratio = fnp.where(small, square, 0.0) / fnp.where(small, w * w, 1.0)
    sine = fnp.sqrt(fnp.where(small, 1.0, square))
    near = _series(ratio, [(-1) ** k / (2 * k + 1) for k in range(TERMS)])
    near = near / fnp.where(small, w, 1.0)
    return 2 * fnp.where(small, near, fnp.arctan2(sine, w) / sine) * norm(q) * v


def matrix(q: Any) -> Any:
    """Return rotation matrices, of shape (..., 3, 3)."""
    x, y, z, w = (q[..., i] for i in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w],
    ]
    return fnp.stack([fnp.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(m: Any) -> Any:
    """Return the quaternions of rotation matrices, by the formula with the largest divisor.

    F. L. Markley, 2008.
    """
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    sizes = fnp.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1)
    choice = fnp.argmax(sizes, axis=-1)[..., None]
    turns = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
    quaternions = fnp.stack([*turns, 1 + trace], axis=-1)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: list[Any] = [None, None, None, turns[i]]
        parts[i] = 1 - trace + 2 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        quaternions = fnp.where(choice == i, fnp.stack(parts, axis=-1), quaternions)
    return normalized(quaternions)


def from_rodrigues(p: Any) -> Any:
    """Return the rotations of modified Rodrigues parameters: the axis times tan of a quarter of the angle."""
    square = fnp.sum(p * p, axis=-1, keepdims=True)
    return fnp.concatenate([2 * p, 1 - square], axis=-1) / (1 + square)


def rodrigues(q: Any) -> Any:
    """Return modified Rodrigues parameters, of length 1 at most."""
    q = fnp.where(q[..., 3:] < 0, -q, q)
    return q[..., :3] / (1 + q[..., 3:])


def magnitude(q: Any) -> Any:
    """Return the angles of rotations, from 0 to pi."""
    return 2 * fnp.arctan2(norm(q[..., :3]), fnp.abs(q[..., 3:]))[..., 0]


def euler_angles(q: Any, axes: tuple[int, ...], intrinsic: bool) -> tuple[Any, Any]:
    """Return three angles, and where two are about one axis, so that the last is set to 0.

    E. Bernardes and S. Viollet, "Quaternion to Euler angles conversion: a direct, general and computationally efficient method",
    PLoS ONE 17, 2022.
    """
    i, j, k = axes[::-1] if intrinsic else axes
    same = i == k
    k = 3 - i - j if same else k
    sign = (i - j) * (j - k) * (k - i) // 2
    a, b, c, d = q[..., 3], q[..., i], q[..., j], sign * q[..., k]
    if not same:
        a, b, c, d = a - c, b + d, c + a, d - b
    second = 2 * fnp.arctan2(fnp.hypot(c, d), fnp.hypot(a, b))
    none, opposite = fnp.abs(second) <= 1e-7, fnp.abs(second - np.pi) <= 1e-7
    lost = none | opposite
    sums = fnp.arctan2(b, fnp.where(opposite, 1.0, a))
    differences = fnp.arctan2(d, fnp.where(none, 1.0, c))
    only = fnp.where(none, 2 * sums, (2 if intrinsic else -2) * differences)
    first, third = sums - differences, sums + differences
    if intrinsic:
        first, third = fnp.where(lost, 0.0, first), fnp.where(lost, only, third)
    else:
        first, third = fnp.where(lost, only, first), fnp.where(lost, 0.0, third)
    if not same:
        second, third = second - np.pi / 2, sign * third
    angles = fnp.stack([third, second, first] if intrinsic else [first, second, third], axis=-1)
    turn = 2 * np.pi
    angles = fnp.where(angles > np.pi, angles - turn, angles)
    return fnp.where(angles < -np.pi, angles + turn, angles), lost
