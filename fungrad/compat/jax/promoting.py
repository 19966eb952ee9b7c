"""Names of `jax._src.numpy.util` for libraries: arguments checked, promoted and broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad
import fungrad.numpy as fnp
from fungrad.compat.jax.array import Array
from fungrad.compat.jax.crossing import enter, leave
from fungrad.compat.jax.jnp import result_type
from fungrad.compat.jax.private import to_complex_dtype, to_inexact_dtype, to_numeric_dtype
from fungrad.core.lattice import weak_array
from fungrad.core.tracer import Tracer
from fungrad.core.types import is_key
from fungrad.numpy.promotion import cast


def _arraylike(x: Any) -> bool:
    """Return whether something is an array, a number, or has `__jax_array__`."""
    return isinstance(x, (np.ndarray, Array)) or hasattr(x, "__jax_array__") or np.isscalar(x)


def _arraylike_asarray(x: Any) -> Any:
    """Return an array from one, or from a number."""
    if isinstance(x, str) or not _arraylike(x):
        raise TypeError(f"a value of type {type(x).__name__} is not an array")
    return leave(fnp.asarray(enter(x)))


def _check_jax_array_protocol(x: Any) -> Any:
    """Return the array that an object says it is."""
    return x.__jax_array__() if hasattr(x, "__jax_array__") else x


def check_arraylike(
    fun_name: str, *args: Any, emit_warning: bool = False, stacklevel: int = 3
) -> None:
    """Raise a TypeError unless all arguments are arrays or numbers."""
    for i, x in enumerate(args):
        if not _arraylike(x):
            raise TypeError(
                f"{fun_name} requires ndarray or scalar arguments, got {type(x)} at position {i}."
            )


def check_arraylike_or_none(fun_name: str, *args: Any) -> None:
    """Raise a TypeError unless all arguments are arrays, numbers or None."""
    for i, x in enumerate(args):
        if x is not None and not _arraylike(x):
            raise TypeError(
                f"{fun_name} requires ndarray, scalar, or None arguments, got {type(x)} at position {i}."
            )


def ensure_arraylike(fun_name: str, /, *args: Any) -> Any:
    """Return the argument as an array, or a tuple of several."""
    arrays = ensure_arraylike_tuple(fun_name, args)
    return arrays[0] if len(arrays) == 1 else arrays


def ensure_arraylike_tuple(fun_name: str, tup: Any) -> tuple[Any, ...]:
    """Return the elements as arrays."""
    check_arraylike(fun_name, *tup)
    return tuple(map(_arraylike_asarray, tup))


def _dtype_of(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def check_no_float0s(fun_name: str, *args: Any) -> None:
    """Raise a TypeError of tangents of integers."""
    if any(_dtype_of(x) == fungrad.float0 for x in args):
        raise TypeError(
            f"Called {fun_name} with a float0 array. float0s do not support any operations by design: take jax.numpy.zeros_like "
            "of the primal for zeros of numbers"
        )


_check_no_float0s = check_no_float0s


def check_for_prngkeys(fun_name: str, *args: Any) -> None:
    """Raise a TypeError of keys of random numbers beside anything else."""
    dtypes = [_dtype_of(x) for x in args]
    if len({*dtypes}) > 1 and any(is_key(dtype) for dtype in dtypes):
        raise TypeError(f"{fun_name} does not accept dtypes {', '.join(map(str, dtypes))}.")


def _converted(x: Any, dtype: Any, weak: bool) -> Any:
    """Return an array of a dtype, which gives way to others if it is weak."""
    x = fnp.asarray(enter(x))
    if type(x) is Tracer:
        return cast(x, dtype, weak)
    x = np.asarray(x).astype(dtype)
    return leave(weak_array(x) if weak else x)


def _promoted(args: Any, to: Callable[[Any], Any] | None = None) -> list[Any]:
    dtype, weak = result_type(*args, return_weak_type_flag=True)
    return [_converted(x, dtype if to is None else to(dtype), weak) for x in args]


def promote_dtypes(*args: Any) -> list[Any]:
    """Return arrays of the dtype that all are promoted to."""
    return [*map(_arraylike_asarray, args)] if len(args) < 2 else _promoted(args)


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """Likewise, of floating-point or complex numbers."""
    return _promoted(args, to_inexact_dtype)


def promote_dtypes_numeric(*args: Any) -> list[Any]:
    """Likewise, of numbers in place of booleans."""
    return _promoted(args, to_numeric_dtype)


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """Likewise, of complex numbers."""
    return _promoted(args, to_complex_dtype)


def promote_shapes(fun_name: str, *args: Any) -> list[Any]:
    """Return arrays with the most axes of any, except for scalars where the others agree."""
    arrays = [*map(_arraylike_asarray, args)]
    if len({x.ndim for x in arrays if x.ndim}) < 2:
        return arrays
    rank = len(np.broadcast_shapes(*[x.shape for x in arrays]))
    return [x.reshape((1,) * (rank - x.ndim) + x.shape) for x in arrays]


def _checked(promote: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    def promoted(fun_name: str, *args: Any) -> list[Any]:
        check_arraylike(fun_name, *args)
        args = tuple(map(_check_jax_array_protocol, args))
        check_no_float0s(fun_name, *args)
        check_for_prngkeys(fun_name, *args)
        return promote_shapes(fun_name, *promote(*args))

    return promoted


promote_args = _checked(promote_dtypes)
promote_args_numeric = _checked(promote_dtypes_numeric)
promote_args_inexact = _checked(promote_dtypes_inexact)
promote_args_complex = _checked(promote_dtypes_complex)


def _broadcast_arrays(*args: Any) -> list[Any]:
    """Return arrays of one shape."""
    shape = np.broadcast_shapes(*[fnp.shape(enter(x)) for x in args])
    return [_broadcast_to(x, shape) for x in args]


def _broadcast_to(arr: Any, shape: Any, sharding: Any = None) -> Any:
    """Return an array broadcast to a shape."""
    return leave(fnp.broadcast_to(enter(arr), shape))


def _where(condition: Any, x: Any, y: Any) -> Any:
    """Return elements of one array or the other."""
    return leave(fnp.where(*map(enter, ensure_arraylike("where", condition, x, y))))
