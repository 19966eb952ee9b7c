"""`jax.scipy.spatial.transform`."""

from collections.abc import Callable
from typing import Any, Self

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import enter, leave
from fungrad.scipy.spatial import transform

__all__ = ["Rotation", "Slerp"]


class Rotation(transform.Rotation):
    """Rotations in space, with arrays as JAX's; see `fungrad.scipy.spatial.transform`."""

    def __init__(self, quat: Any) -> None:
        """JAX's takes quaternions as they are."""
        self._quat = enter(quat)

    @classmethod
    def _of(cls, quat: Any) -> Self:
        return cls(quat)

    @classmethod
    def from_quat(cls, quat: Any) -> Self:
        """Return the rotations of quaternions (x, y, z, w), of any length but 0."""
        return cls(transform.Rotation(enter(quat)).quat)

    @classmethod
    def from_matrix(cls, matrix: Any) -> Self:
        """Return the rotations of matrices, of shape (..., 3, 3), which are not checked."""
        return super().from_matrix(enter(matrix), assume_valid=True)

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Self:
        """Return the rotation by nothing."""
        quat = transform.Rotation.identity(num).quat
        return cls(leave(quat.astype(dtype)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Self:
        """Raise, as JAX's does."""
        raise NotImplementedError

    @property
    def quat(self) -> Any:
        return leave(self._quat)

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Return angles about three axes, of shape (..., 3)."""
        return leave(super().as_euler(seq, degrees, suppress_warnings=True))


class Slerp(transform.Slerp):
    """Rotations between given ones, with arrays as JAX's; see `fungrad.scipy.spatial.transform`."""

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Self:
        """Return an interpolation of rotations, which goes on before the first and after the last."""
        return cls(enter(times), rotations, extrapolate=True)

    def __call__(self, times: Any) -> transform.Rotation:
        return super().__call__(enter(times))


def _crossing(method: Callable[..., Any]) -> Callable[..., Any]:
    def crossed(self: Any, *args: Any, **kwargs: Any) -> Any:
        return leave(method(self, *map(enter, args), **{k: enter(x) for k, x in kwargs.items()}))

    crossed.__name__, crossed.__doc__ = method.__name__, method.__doc__
    return crossed


_METHODS = "as_quat as_matrix as_rotvec as_mrp apply magnitude mean __getitem__"
for _name in _METHODS.split():
    setattr(Rotation, _name, _crossing(getattr(transform.Rotation, _name)))
for _name in ("from_rotvec", "from_mrp", "from_euler"):
    _made = vars(transform.Rotation)[_name].__func__
    setattr(Rotation, _name, classmethod(_crossing(_made)))
for _class in (Rotation, Slerp):
    transform.node(_class)

__getattr__ = _namespace("jax.scipy.spatial.transform", globals(), [])
