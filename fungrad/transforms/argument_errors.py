"""Messages for arguments and results that a transform cannot take: which they are, and a fix."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from fungrad.core import tree
from fungrad.core.annotations import signature
from fungrad.core.errors import here
from fungrad.core.registering import how_to_register
from fungrad.core.types import shown, type_of


def no_reduce_axes(transform: str) -> NotImplementedError:
    """Return the error for an argument that JAX had once."""
    return NotImplementedError(
        f"{transform}: reduce_axes must be empty, as in JAX; sum with fungrad.lax.psum in the function"
    )


def axes_by_name(fun: Any, in_axes: Mapping[Any, Any], label: str) -> TypeError:
    """Return the error for axes by argument name, or for a tree without the tuple of arguments around it."""
    names = _names_of(fun)
    if {*in_axes} <= {*names}:
        fix = f"in_axes={_as_tuple([repr(in_axes.get(name, 0)) for name in names])}"
        said = f"Axes go by position: write {fix}"
    else:
        said = (
            "It is a tuple with an entry for each argument: for the tree of a first argument that is a dict, write "
            f"in_axes=({dict(in_axes)!r},)"
        )
    return TypeError(
        f"{label}: in_axes must be an integer, None, or a tuple with one of these, or a tree of them, for each positional argument; "
        f"got the dict {dict(in_axes)!r}. {said}"
    )


def _names_of(fun: Any) -> list[str]:
    """Return the names of the arguments that a function takes by position."""
    try:
        given = signature(fun).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _as_tuple(parts: Sequence[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def unlike_arguments(in_axes: Any, args: Sequence[Any], error: ValueError) -> ValueError:
    """Return the error for axes that are no prefix of the arguments: with those that would be."""
    if not isinstance(in_axes, tuple) or len(in_axes) != len(args):
        return error
    parts, wrong = [], []
    for i, (axes, x) in enumerate(zip(in_axes, args, strict=True)):
        try:
            tree.broadcast_prefix(axes, x, "")
        except ValueError:
            wrong.append(i)
            whole = repr(tree.map(lambda _: 0, x))
            parts.append(whole if len(whole) < 100 else "0")
        else:
            parts.append(repr(axes))
    if not wrong:
        return error
    return ValueError(
        f"{error}. For argument {wrong[0]} write one axis for all of it, or a tree of axes like it: in_axes={_as_tuple(parts)}"
    )


def no_type(
    args: Sequence[Any], kwargs: Mapping[str, Any], label: str, positions: Sequence[int] | None
) -> TypeError:
    """Return the error for arguments that have a leaf without a type.

    The `positions` are those of `args` in the user's call.
    """
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
            "attributes as they are at the first call, and does not see them change, as by m.w = 5; register the class as a pytree of "
            "its arrays, as above or with fungrad.tree_util.register_dataclass, and they are arguments."
        )
    if path:
        return (
            " If it is a setting, take it out of that argument: let the function close over it, or pass it as an argument of its "
            "own, which jit takes with static_argnames."
        )
    return " Name it in static_argnames if it is a setting."


def not_hashable(where: int | str, value: Any, label: str) -> TypeError:
    """Return the error for a static argument that can be part of no key."""
    return TypeError(
        f"{label}: the static argument {where!r} is {shown(value)} of type {type(value).__name__}, which is not hashable, so it "
        "cannot be part of the key of a compiled program. Pass a tuple instead of a list, or leave the argument out of "
        "static_argnums and static_argnames."
    )


def no_result(x: Any, label: str) -> TypeError:
    """Return the error for a leaf of a function's result that is no array."""
    advice = how_to_register(x)
    if not dataclasses.is_dataclass(x):
        advice = (
            (f"{advice} Or: return" if advice else "Return")
            + " it outside of the transformed function, or with has_aux=True where the transform has it."
        )
    return TypeError(
        f"at {here()}\n{label} must return arrays, numbers or pytrees of them; one of its "
        f"results is {shown(x)} of type {type(x).__name__}. {advice}"
    )
