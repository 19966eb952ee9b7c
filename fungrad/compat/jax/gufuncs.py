"""Parts of `jax.numpy.vectorize` for libraries: signatures such as ``(m,n),(n)->(m)``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

Dims = tuple[str, ...]


def _parse_gufunc_signature(signature: str) -> tuple[list[Dims], list[Dims]]:
    """Return the names of the axes of each operand, and of each result."""
    sides = signature.split("->")
    if len(sides) != 2 or not all(s[:1] == "(" and s[-1:] == ")" for s in sides):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    names = [[part.split(",") for part in side[1:-1].split("),(")] for side in sides]
    if any(name and not name.isidentifier() for side in names for part in side for name in part):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    inputs, outputs = [[tuple(filter(None, part)) for part in side] for side in names]
    return inputs, outputs


def _update_dim_sizes(
    dim_sizes: dict[str, int],
    shape: tuple[int, ...],
    core_dims: Dims,
    error_context: str = "",
    *,
    is_input: bool,
) -> None:
    """Note the lengths of the last axes of an array; raise an error where a name has another one."""
    if len(core_dims) > len(shape):
        raise ValueError(
            f"{'input' if is_input else 'output'} with shape {shape} does not have enough dimensions for all core "
            f"dimensions {core_dims} {error_context}"
        )
    for name, length in zip(core_dims, shape[len(shape) - len(core_dims) :], strict=True):
        if dim_sizes.setdefault(name, length) != length:
            raise ValueError(
                f"inconsistent size for core dimension {name!r}: {length} vs {dim_sizes[name]} {error_context}"
            )


def _parse_input_dimensions(
    args: Sequence[Any], input_core_dims: Sequence[Dims], error_context: str = ""
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Return the shape over which a function is mapped, and the lengths of its own axes by name."""
    if len(args) != len(input_core_dims):
        raise TypeError(
            f"wrong number of positional arguments: expected {len(input_core_dims)}, got {len(args)} {error_context}"
        )
    shapes: list[tuple[int, ...]] = []
    dim_sizes: dict[str, int] = {}
    for arg, core_dims in zip(args, input_core_dims, strict=True):
        _update_dim_sizes(dim_sizes, arg.shape, core_dims, error_context, is_input=True)
        shapes.append(arg.shape[: arg.ndim - len(core_dims)])
    return np.broadcast_shapes(*shapes), dim_sizes


def _check_output_dims(
    func: Callable[..., Any],
    dim_sizes: Mapping[str, int],
    expected_output_core_dims: Sequence[Dims],
    error_context: str = "",
) -> Callable[..., Any]:
    """Return the function, which then checks the number of its results and their axes."""

    def wrapped(*args: Any) -> Any:
        out = func(*args)
        results = out if isinstance(out, tuple) else (out,)
        if len(results) != len(expected_output_core_dims):
            raise TypeError(
                f"wrong number of output arguments: expected {len(expected_output_core_dims)}, got {len(results)} "
                f"{error_context}"
            )
        sizes = dict(dim_sizes)
        for result, core_dims in zip(results, expected_output_core_dims, strict=True):
            _update_dim_sizes(sizes, result.shape, core_dims, error_context, is_input=False)
        return out

    return wrapped


def _apply_excluded(
    func: Callable[..., Any],
    excluded: Collection[int | str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]:
    """Return the function with some arguments fixed, and the others."""
    if not excluded:
        return func, args, kwargs
    fixed = {i: x for i, x in enumerate(args) if i in excluded}
    named = {k: x for k, x in kwargs.items() if k in excluded}

    def new_func(*others: Any, **rest: Any) -> Any:
        given = iter(others)
        whole = [fixed[i] if i in fixed else next(given) for i in range(len(args))]
        return func(*whole, **rest, **named)

    others = [x for i, x in enumerate(args) if i not in fixed]
    return new_func, others, {k: x for k, x in kwargs.items() if k not in named}
