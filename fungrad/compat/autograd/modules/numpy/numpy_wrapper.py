"""``autograd.numpy.numpy_wrapper``: functions of any iterable of arrays, and autograd's additions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

import numpy as _np

import fungrad.numpy as _fnp
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.boxes import getval
from fungrad.compat.autograd.namespaces import names_of, plain_names
from fungrad.compat.autograd.rules import notrace_primitive, primitive

__all__ = [
    "append", "array_from_args", "column_stack", "concatenate", "concatenate_args", "hstack", "make_diagonal",
    "metadata", "notrace_primitive", "numpy_version", "parse_einsum_input", "primitive", "row_stack", "stack", "vstack",
    "wrap_namespace",
]  # fmt: skip
__all__ += plain_names(_np)
__getattr__ = names_of("autograd.numpy.numpy_wrapper", _fnp, _np, ABSENT)
numpy_version = _np.__version__


def concatenate(arr_list: Iterable[Any], axis: int | None = 0) -> Any:
    """Return NumPy's ``concatenate`` of an iterable."""
    return _fnp.concatenate(list(arr_list), axis)


def concatenate_args(axis: int, *args: Any) -> Any:
    """Return NumPy's ``concatenate`` of the arguments."""
    return _fnp.concatenate(args, axis)


def stack(arrays: Iterable[Any], axis: int = 0) -> Any:
    """Return NumPy's ``stack`` of an iterable."""
    return _fnp.stack(list(arrays), axis)


def vstack(tup: Iterable[Any]) -> Any:
    """Return NumPy's ``vstack`` of an iterable."""
    return _fnp.vstack(list(tup))


row_stack = vstack


def hstack(tup: Iterable[Any]) -> Any:
    """Return NumPy's ``hstack`` of an iterable."""
    return _fnp.hstack(list(tup))


def column_stack(tup: Iterable[Any]) -> Any:
    """Return NumPy's ``column_stack`` of an iterable."""
    return _fnp.column_stack(list(tup))


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Return NumPy's ``append``."""
    return _fnp.append(arr, values, axis)


def array_from_args(
    array_args: tuple[Any, ...], array_kwargs: Mapping[str, Any], *args: Any
) -> Any:
    """Return NumPy's ``array`` of the arguments."""
    return _fnp.array(list(args), *array_args, **array_kwargs)


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return matrices along the last two axes with the last axis of `D` as their diagonals."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal takes offset=0, axis1=-1, axis2=-2 alone")
    return D[..., None] * _np.eye(_np.shape(D)[-1])


def metadata(A: Any) -> tuple[Any, ...]:
    """Return the shape, the number of axes, the dtype, and whether it is complex."""
    return _np.shape(A), _np.ndim(A), _fnp.result_type(A), _fnp.iscomplexobj(A)


def parse_einsum_input(*args: Any) -> Any:
    """Return the subscripts of operands and result, and the operands, of arguments of ``einsum``."""
    from numpy._core.einsumfunc import _parse_einsum_input  # type: ignore[attr-defined]

    return _parse_einsum_input(getval(list(args)))


def wrap_namespace(old: Mapping[str, Any], new: MutableMapping[str, Any]) -> None:
    """Put the functions of a namespace into another, as primitives."""
    for name, value in old.items():
        if callable(value) and not isinstance(value, type):
            new[name] = primitive(value)
        elif isinstance(value, (float, int, type, type(None))):
            new[name] = value
