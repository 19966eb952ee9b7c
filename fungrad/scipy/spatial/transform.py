"""`scipy.spatial.transform` for traced arrays: rotations in space.

Rotations are pytrees of their quaternions, so they may be arguments and results of transformed functions; all their representations
are differentiated, also at the rotation by nothing. float32 stays float32.

>>> import numpy as np
>>> import fungrad as fg
>>> turn = Rotation.from_euler("z", 90, degrees=True)
>>> turn.apply(np.array([1.0, 0.0, 0.0])).round(15)
array([0., 1., 0.])
>>> fg.jacobian(lambda v: Rotation.from_rotvec(v).apply(np.array([0.0, 0.0, 1.0])))(np.zeros(3))
array([[ 0.,  1.,  0.],
       [-1.,  0.,  0.],
       [ 0.,  0.,  0.]])
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.spatial.transform

import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.summary import summary
from fungrad.core.tracer import Tracer
from fungrad.numpy.precision import converted
from fungrad.numpy.promotion import as_tracer, has_tracer
from fungrad.scipy.names import mirror_of
from fungrad.scipy.spatial import quaternions as q
from fungrad.scipy.spatial.alignment import aligned, as_vectors, axes_of, floats, mean_of
from fungrad.typing import ArrayLike


class Rotation:
    """Rotations in space: one, or an array of them. Anything not said here is as in SciPy.

    Parameters
    ----------
    quat : array_like
        Quaternions (x, y, z, w), of shape (..., 4).
    normalize : bool
        Whether to divide them by their lengths.
    copy : bool
        Makes no difference: nothing writes to them.
    scalar_first : bool
        Whether they are (w, x, y, z).

    Attributes
    ----------
    quat : array
        The quaternions, of shape (..., 4) and length 1.

    Raises
    ------
    ValueError
        If an array does not end in the axis that it should, if a quaternion is zero, or `seq` names no axes.

    Examples
    --------
    >>> r = Rotation.from_quat(np.array([0.0, 0.0, 1.0, 1.0]))
    >>> r.as_euler("xyz", degrees=True).round(12)
    array([ 0.,  0., 90.])
    >>> (r * r.inv()).magnitude()
    np.float64(0.0)
    """

    _quat: Any

    def __init__(
        self, quat: ArrayLike, normalize: bool = True, copy: bool = True, scalar_first: bool = False
    ) -> None:
        quaternions: Any = as_vectors("Rotation", quat, 4)
        if scalar_first:
            quaternions = fnp.roll(quaternions, -1, axis=-1)
        if normalize:
            if type(quaternions) is not Tracer and not np.all(np.any(quaternions != 0, axis=-1)):
                raise ValueError("Rotation: a quaternion is zero, which is no rotation")
            quaternions = q.normalized(quaternions)
        self._quat = quaternions

    @classmethod
    def _of(cls, quat: Any) -> Self:
        """Return the rotations of quaternions, which are not looked at."""
        self = object.__new__(cls)
        self._quat = quat
        return self

    def _parts(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the arrays, and the other arguments of `_of`."""
        return (self._quat,), ()

    @property
    def quat(self) -> Any:
        """The quaternions, of shape (..., 4)."""
        return self._quat

    @classmethod
    def from_quat(cls, quat: Any, *, scalar_first: bool = False) -> Self:
        """Return the rotations of quaternions (x, y, z, w), or (w, x, y, z), of any length but 0."""
        return cls(quat, scalar_first=scalar_first)

    @classmethod
    def from_matrix(cls, matrix: Any, *, assume_valid: bool = False) -> Self:
        """Return the rotations of matrices, of shape (..., 3, 3).

        Matrices that are not orthogonal, as far as their values are known, are a ValueError; `assume_valid` leaves that out.
        """
        m = floats(matrix)
        if m.shape[-2:] != (3, 3):
            raise ValueError(
                f"Rotation.from_matrix: matrices are of shape (..., 3, 3), got {m.shape}"
            )
        if type(m) is not Tracer and not assume_valid:
            limit = np.sqrt(np.finfo(m.dtype).eps)
            off = np.abs(m @ np.swapaxes(m, -1, -2) - np.eye(3)).max(initial=0)
            if off > limit or np.any(np.linalg.det(m) < 0):
                raise ValueError(
                    f"Rotation.from_matrix: a matrix is no rotation: its product with its transpose is {off:.1e} off the identity, "
                    "or its determinant is negative. Take the nearest orthogonal one (u @ vh of its SVD), or pass assume_valid=True"
                )
        return cls._of(q.from_matrix(m))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Self:
        """Return the rotations about vectors, of shape (..., 3), by angles of their lengths."""
        v = as_vectors("Rotation.from_rotvec", rotvec, 3)
        return cls._of(q.from_rotation_vector(fnp.radians(v) if degrees else v))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Self:
        """Return the rotations of modified Rodrigues parameters, of shape (..., 3)."""
        return cls._of(q.from_rodrigues(as_vectors("Rotation.from_mrp", mrp, 3)))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Self:
        """Return rotations about axes in order: ``"xyz"`` fixed ones, ``"XYZ"`` ones that move along.

        Angles are of shape (..., n) for n axes; for one axis also a number.
        """
        axes, intrinsic = axes_of("Rotation.from_euler", seq, (1, 2, 3))
        x = floats(angles)
        if len(axes) == 1 and not x.ndim:
            x = x[None]
        if not x.ndim or x.shape[-1] != len(axes):
            raise ValueError(
                f"Rotation.from_euler: for {seq!r} the last axis has {len(axes)} angles; got an array of shape {x.shape}"
            )
        x = fnp.radians(x) if degrees else x
        quat = q.elementary(axes[0], x[..., 0])
        for i, axis in enumerate(axes[1:], 1):
            more = q.elementary(axis, x[..., i])
            quat = q.product(quat, more) if intrinsic else q.product(more, quat)
        return cls._of(quat)

    @classmethod
    def identity(
        cls, num: int | None = None, *, shape: int | tuple[int, ...] | None = None
    ) -> Self:
        """Return the rotation by nothing, or `num` of them, or an array of a shape."""
        if num is not None and shape is not None:
            raise ValueError("Rotation.identity: give num or shape, and not both")
        shape = num if shape is None else shape
        axes = () if shape is None else tuple(np.atleast_1d(shape).tolist())
        return cls._of(np.tile(np.array([0.0, 0.0, 0.0, 1.0]), (*axes, 1)))

    @classmethod
    def align_vectors(
        cls, a: Any, b: Any, weights: Any = None, return_sensitivity: bool = False
    ) -> Any:
        """Return the rotation that takes vectors `b` closest to `a`, and the root of the sum of squares left.

        `return_sensitivity` returns a matrix too, as in SciPy. Where something is traced, weights are finite.
        """
        plain = scipy.spatial.transform.Rotation.align_vectors
        found = aligned(plain, floats(a), floats(b), weights, return_sensitivity)
        return cls._of(q.normalized(found[0])), *found[1:]

    @classmethod
    def concatenate(cls, rotations: Any) -> Self:
        """Return an array of all rotations in a sequence of rotations or arrays of them."""
        given = [rotations] if isinstance(rotations, Rotation) else rotations
        return cls._of(fnp.concatenate([fnp.atleast_2d(r._quat) for r in given]))

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Return quaternions; `canonical`: of the two of each rotation the one whose scalar is not negative."""
        quat = q.canonical(self._quat) if canonical else self._quat
        return fnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Any:
        """Return matrices, of shape (..., 3, 3)."""
        return q.matrix(self._quat)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Return vectors along the axes, as long as the angles, of shape (..., 3)."""
        vectors = q.rotation_vector(self._quat)
        return fnp.degrees(vectors) if degrees else vectors

    def as_mrp(self) -> Any:
        """Return modified Rodrigues parameters, of shape (..., 3)."""
        return q.rodrigues(self._quat)

    def as_euler(self, seq: str, degrees: bool = False, *, suppress_warnings: bool = False) -> Any:
        """Return angles about three axes, of shape (..., 3), from -pi to pi.

        The second is from -pi/2, or from 0 if `seq` is like ``"zxz"``. Where only the sum of the outer ones is determined one of them is 0, and a UserWarning says so of plain arrays.
        """
        axes, intrinsic = axes_of("Rotation.as_euler", seq, (3,))
        angles, lost = q.euler_angles(self._quat, axes, intrinsic)
        if not suppress_warnings and type(lost) is not Tracer and np.any(lost):
            warnings.warn(
                "Gimbal lock detected. Setting third angle to zero since it is not possible to uniquely determine all angles.",
                UserWarning,
                stacklevel=2,
            )
        return fnp.degrees(angles) if degrees else angles

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Return rotated vectors, of shape (..., 3); one rotation, or one vector, serves all others."""
        m = q.matrix(q.conjugate(self._quat) if inverse else self._quat)
        return fnp.sum(m * as_vectors("Rotation.apply", vectors, 3)[..., None, :], axis=-1)

    def inv(self) -> Self:
        """Return the inverses."""
        return self._of(q.conjugate(self._quat))

    def magnitude(self) -> Any:
        """Return the angles, from 0 to pi."""
        return q.magnitude(self._quat)

    def approx_equal(self, other: Rotation, atol: float = 1e-8, degrees: bool = False) -> Any:
        """Return where the angle between rotations is less than `atol`."""
        angle = q.magnitude(q.product(other._quat, q.conjugate(self._quat)))
        return (fnp.degrees(angle) if degrees else angle) < atol

    def mean(self, weights: Any = None, axis: int | tuple[int, ...] | None = None) -> Self:
        """Return the rotation for which the weighted sum of squares of distances, as of matrices, is least.

        The sum is over an axis of the array of rotations, or over all.
        """
        return self._of(mean_of(self._quat, weights, axis))

    @property
    def single(self) -> bool:
        """Whether this is one rotation, and no array of them."""
        return bool(self._quat.ndim == 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of rotations."""
        return tuple(self._quat.shape[:-1])

    def __mul__(self, other: Rotation | scipy.spatial.transform.Rotation) -> Self:
        """Return the rotations by `other`, then by these."""
        if not isinstance(other, Rotation | scipy.spatial.transform.Rotation):
            return NotImplemented
        return self._of(q.normalized(q.product(self._quat, other.as_quat())))

    def __rmul__(self, other: scipy.spatial.transform.Rotation) -> Self:
        return self._of(q.normalized(q.product(other.as_quat(), self._quat)))

    def __pow__(self, n: float) -> Self:
        """Return rotations about the same axes by n times the angles."""
        return self._of(q.from_rotation_vector(n * q.rotation_vector(self._quat)))

    def __getitem__(self, indexer: Any) -> Self:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        quat: Any = as_tracer(self._quat) if has_tracer(tree.leaves(indexer)) else self._quat
        return self._of(quat[indexer])

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self._quat.shape[0])

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return summary(type(self).__name__, quat=self._quat)


class Slerp:
    """Rotations between given ones, at constant speed; differentiable in these and in all times.

    Parameters
    ----------
    times : array_like
        N of them, in increasing order.
    rotations : Rotation
        N of them.
    extrapolate : bool
        Whether the first and the last movement go on before and after; else plain times there are an error, and traced ones give NaN.

    Raises
    ------
    TypeError
        If `rotations` is no `Rotation`.
    ValueError
        If there are less than two, not as many as times, or the times do not increase.

    Examples
    --------
    >>> ends = Rotation.from_euler("z", [[0], [90]], degrees=True)
    >>> Slerp([0, 1], ends)(0.5).as_rotvec(degrees=True).round(12)
    array([ 0.,  0., 45.])
    """

    def __init__(self, times: ArrayLike, rotations: Rotation, extrapolate: bool = False) -> None:
        if not isinstance(rotations, Rotation):
            raise TypeError(f"Slerp: rotations are a Rotation, got {type(rotations).__name__}")
        quat = rotations._quat
        if quat.ndim != 2 or len(quat) < 2:
            raise ValueError(
                f"Slerp: an array of at least two rotations, got shape {quat.shape[:-1]}"
            )
        at: Any = converted(floats(times), quat.dtype)
        if at.shape != quat.shape[:1]:
            raise ValueError(f"Slerp: {len(quat)} rotations have a time each, got {at.shape}")
        steps = at[1:] - at[:-1]
        if type(steps) is not Tracer and np.any(steps <= 0):
            raise ValueError("Slerp: times increase from each to the next")
        between = q.normalized(q.product(q.conjugate(quat[:-1]), quat[1:]))
        self._set(at, steps, rotations._of(quat[:-1]), q.rotation_vector(between), extrapolate)

    def _set(
        self, times: Any, timedelta: Any, rotations: Rotation, rotvecs: Any, extrapolate: bool
    ) -> None:
        self.times, self.timedelta, self.rotations = times, timedelta, rotations
        self.rotvecs, self.extrapolate = rotvecs, extrapolate

    @classmethod
    def _of(cls, *parts: Any) -> Self:
        """Return one with these attributes, which are not looked at."""
        self = object.__new__(cls)
        self._set(*parts)
        return self

    def _parts(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the arrays, and the other arguments of `_of`."""
        return (self.times, self.timedelta, self.rotations, self.rotvecs), (self.extrapolate,)

    def __call__(self, times: Any) -> Rotation:
        """Return the rotation at a time, or those at an array of times with one axis."""
        t = converted(floats(times), self.times.dtype)
        if t.ndim > 1:
            raise ValueError(f"Slerp: times have one axis at most, got shape {t.shape}")
        inside = (t >= self.times[0]) & (t <= self.times[-1])
        if not self.extrapolate and type(inside) is not Tracer and not np.all(inside):
            raise ValueError("Slerp: times are not before the first or after the last given one")
        i = fnp.clip(fnp.searchsorted(self.times, t) - 1, 0, self.times.shape[0] - 2)
        share = (t - fnp.take(self.times, i)) / fnp.take(self.timedelta, i)
        if not self.extrapolate:
            share = fnp.where(inside, share, np.nan)
        moved = q.from_rotation_vector(fnp.take(self.rotvecs, i, axis=0) * share[..., None])
        return self.rotations._of(
            q.normalized(q.product(fnp.take(self.rotations._quat, i, axis=0), moved))
        )

    def __repr__(self) -> str:
        return summary(type(self).__name__, times=self.times, rotvecs=self.rotvecs)


def node(cls: Any) -> Any:
    """Make a class of these an inner node of pytrees. A decorator."""
    return tree.register_node(
        cls, lambda x: x._parts(), lambda others, arrays: cls._of(*arrays, *others)
    )


node(Rotation)
node(Slerp)

if not TYPE_CHECKING:  # type checkers know all names by the imports
    __all__, __dir__, __getattr__ = mirror_of(scipy.spatial.transform, globals())
