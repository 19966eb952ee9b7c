"""Arguments chosen by position or name, as in ``static_argnums`` and ``static_argnames``."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.annotations import signature
from fungrad.transforms.argument_errors import not_hashable
from fungrad.transforms.arguments import name_of


def parameters_of(fun: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """Return the parameters of a function; None if it has no signature, as some of C have none."""
    try:
        return list(signature(fun).parameters.values())
    except (TypeError, ValueError):
        return None


def positional_names(parameters: Iterable[inspect.Parameter]) -> list[str]:
    """Return the names of the parameters that can be given by position, but for ``*args``."""
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def positions_in(label: str, argnums: int | Iterable[int] | None, what: str) -> tuple[int, ...]:
    """Return the positions in `argnums`, an argument that messages call by the parameter's name."""
    if argnums is None:
        return ()
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for i in numbers:
        if not isinstance(i, (int, np.integer)):
            raise TypeError(
                f"{label}: {what} takes positions of arguments, as integers; got {i!r}. Names go into "
                f"{what.replace('nums', 'names')}."
            )
    return numbers


def names_in(argnames: str | Iterable[str] | None) -> frozenset[str]:
    """Return the names that an argument gives."""
    if argnames is None:
        return frozenset()
    return frozenset([argnames]) if isinstance(argnames, str) else frozenset(argnames)


def chosen_arguments(
    label: str,
    fun: Callable[..., Any],
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
    what: str,
) -> tuple[tuple[int, ...], frozenset[str]]:
    """Return positions and names; if one of them is given, the other too, as far as the signature tells.

    `what` is the name of `argnums`, ``"static_argnums"`` say.
    """
    positions, names = positions_in(label, argnums, what), names_in(argnames)
    parameters = parameters_of(fun)
    if parameters is None:
        return positions, names
    positional = positional_names(parameters)
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    for i in positions:
        if not -len(positional) <= i < len(positional) and not variadic:
            raise ValueError(
                f"{label}: {what}={i} is out of range for {name_of(fun)}, which takes {len(positional)} "
                "positional arguments"
            )
    unknown = names - {p.name for p in parameters}
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        raise ValueError(
            f"{label}: {what.replace('nums', 'names')} has {sorted(unknown)}, but {name_of(fun)} takes "
            f"{[p.name for p in parameters]}"
        )
    if positions and names:  # both are said, so neither is completed
        return positions, names
    by_keyword = {positional[i] for i in positions if -len(positional) <= i < len(positional)}
    by_position = [i for i, n in enumerate(positional) if n in names and i not in positions]
    return (*positions, *by_position), names | by_keyword


def weakly(value: Any) -> Any:
    """Return a weak reference to an object that equals only itself, such as a function; else the value.

    A program for such an argument is of no use when that is gone, and must not keep it, and what it closes over.
    """
    if type(value).__hash__ is not object.__hash__:  # type: ignore[comparison-overlap]
        return value
    try:
        return weakref.ref(value)
    except TypeError:
        return value


def strongly(static: Sequence[tuple[int | str, Any, Any]]) -> list[tuple[int | str, Any, Any]]:
    """Return the entries of static arguments with the values themselves."""
    return [
        (where, exact, held() if isinstance(held, weakref.ref) else held)
        for where, exact, held in static
    ]


def with_static(
    args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[tuple[int | str, Any, Any]]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call with the static ones in their places."""
    args, kwargs = list(args), dict(kwargs)
    for where, _, value in strongly(static):
        if isinstance(where, int):
            args.insert(where, value)
        else:
            kwargs[where] = value
    return args, kwargs


@functools.lru_cache
def positions_of(argnums: tuple[int, ...], n: int) -> tuple[list[int], list[int], Any]:
    """Return the positions of some of `n` arguments, of the others, and the structure of these as leaves."""
    some = sorted({i % n for i in argnums if -n <= i < n})
    rest = [i for i in range(n) if i not in some]
    return some, rest, tree.flatten((0.0,) * len(rest))[1]


def keyed(static: Sequence[tuple[int | str, Any]], label: str) -> tuple[Any, ...]:
    """Return a key of static arguments."""
    found = []
    for where, value in static:
        try:
            hash(value)
        except TypeError:
            raise not_hashable(where, value, label) from None
        # 1, 1.0 and True are equal but not the same argument, nor are 0.0 and -0.0.
        found.append((where, exactly(value), weakly(value)))
    return tuple(found)


def exactly(value: Any) -> Any:
    """Return a key that distinguishes equal values which a program may treat differently."""
    if isinstance(value, tuple):
        return (type(value), *[exactly(x) for x in value])
    return (type(value), str(value)) if isinstance(value, (float, complex)) else type(value)
