"""What is said of arguments and results that a transform cannot take: which ones they are, and what to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from fungrad.core import tree
from fungrad.core.errors import here
from fungrad.core.registering import how_to_register
from fungrad.core.types import type_of


def no_reduce_axes(transform: str) -> NotImplementedError:
    """Return the error for an argument that JAX had once."""
    return NotImplementedError(
        f"{transform}: reduce_axes must be empty, as in JAX; sum with fungrad.lax.psum in the function"
    )


def argument_place(
    leaf: int,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    positions: Sequence[int] | None = None,
) -> str:
    """Return how to speak of a leaf of the arguments, counted from the first: ``argument 0['w']``."""
    places = range(len(args)) if positions is None else positions
    named: list[tuple[int | str, Any]] = [*zip(places, args, strict=True), *(kwargs or {}).items()]
    paths = [(name, path) for name, x in named for path, _ in tree.leaves_with_paths(x)]
    return "argument {!r}{}".format(*paths[leaf])


def no_type(
    args: Sequence[Any], kwargs: Mapping[str, Any], label: str, positions: Sequence[int] | None
) -> TypeError:
    """Return the error for arguments of which a leaf has no type; the `positions` are those of `args` in the user's call."""
    places = range(len(args)) if positions is None else positions
    named: list[tuple[int | str, Any]] = [*zip(places, args, strict=True), *kwargs.items()]
    for name, argument in named:
        for path, x in tree.leaves_with_paths(argument):
            try:
                type_of(x)
            except TypeError as error:
                static = _static_advice(name, path) if label[:3] == "jit" else ""
                return TypeError(f"{label}: argument {name!r}{path}: {error}{static}")
    return TypeError(f"{label}: an argument has no type")


def _static_advice(name: int | str, path: str) -> str:
    if name == 0 and not path:
        return (
            " Name it in static_argnames if it is a setting. If it is the `self` of a method: with static_argnums=0 jit takes its "
            "attributes as they are at the first call, and does not see them change; register the class as a pytree of its arrays "
            "with fungrad.tree_util.register_dataclass, and they are arguments."
        )
    return " Name it in static_argnames if it is a setting."


def no_result(x: Any, label: str) -> TypeError:
    """Return the error for a leaf of what a function has returned that is no array."""
    advice = how_to_register(x)
    if not dataclasses.is_dataclass(x):
        advice = (
            (f"{advice} Or: return" if advice else "Return")
            + " it outside of the transformed function, or with has_aux=True where the transform has it."
        )
    return TypeError(
        f"at {here()}\n{label} must return arrays, numbers or pytrees of them; one of its "
        f"results is {x!r} of type {type(x).__name__}. {advice}"
    )
