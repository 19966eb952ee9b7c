"""Arguments of transformed functions: those differentiated, their types, and operands made of them.

Design: docs/design/14-first-gradients-and-structures.md.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.config import settings
from fungrad.core.foreign import holds_array
from fungrad.core.snapshot import native
from fungrad.core.tracer import Tracer
from fungrad.core.types import PYTHON_SCALARS, ArrayType, array_type, python_number, shown, type_of
from fungrad.transforms.argument_errors import no_type
from fungrad.transforms.dtypes import narrowed_types


def check_callable(fun: Any, transform: str) -> None:
    """Raise a TypeError if `fun` is no function.

    Examples
    --------
    >>> check_callable(3, "grad")
    Traceback (most recent call last):
    TypeError: grad takes a function, not 3 of type int
    """
    if not callable(fun):
        raise TypeError(
            f"{transform} takes a function, not {shown(fun)} of type {type(fun).__name__}"
        )


def name_of(function: Any) -> str:
    """Return how to speak of `function` in messages.

    Examples
    --------
    >>> name_of(check_callable)
    'check_callable'
    """
    return getattr(function, "__name__", None) or type(function).__name__


class Argnums:
    """Which positional arguments a function is differentiated by: one, or several as a tuple."""

    __slots__ = ("_given", "_least", "single")

    def __init__(self, argnums: Any) -> None:
        if type(argnums) is int and argnums >= 0:
            self.single, self._least = True, argnums + 1
            self._given: tuple[int, ...] = (argnums,)
            return
        self.single = isinstance(argnums, (int, np.integer))
        self._given = given = _as_positions(argnums)
        plain = min(given, default=0) >= 0 and len({*given}) == len(given)
        self._least = max(given, default=-1) + 1 if plain else sys.maxsize
        """So many arguments make the positions right as they are given."""

    def of(self, args: tuple[Any, ...], label: str) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        """Return positions, from the front, and the arguments there; raise if an argument is missing."""
        count = len(args)
        positions = self._given
        if count < self._least:
            positions = _in_range(positions, count, label)
        return positions, (args[positions[0]],) if self.single else tuple(
            [args[i] for i in positions]
        )

    def replaced(self, args: tuple[Any, ...], positions: tuple[int, ...], chosen: Any) -> list[Any]:
        """Return `args` with others in their places: one, or a tuple."""
        new = list(args)
        if self.single:
            new[positions[0]] = chosen
        else:
            for i, x in zip(positions, chosen, strict=True):
                new[i] = x
        return new


def _as_positions(argnums: Any) -> tuple[int, ...]:
    """Return `argnums` as a tuple."""
    try:
        return (operator.index(argnums),)
    except TypeError:
        pass
    try:
        return tuple([operator.index(i) for i in argnums])
    except TypeError:
        raise TypeError(
            f"argnums must be an integer or a sequence of integers, not {argnums!r}"
        ) from None


def _in_range(positions: tuple[int, ...], count: int, label: str) -> tuple[int, ...]:
    """Return `positions` counted from the front; raise if there is no such argument."""
    for i in positions:
        if not -count <= i < count:
            raise ValueError(
                f"{label}: argnums={i} needs at least {i + 1 if i >= 0 else -i} positional arguments, "
                f"but the call has {count}. Arguments passed by keyword cannot be differentiated: "
                "pass them by position."
            )
    result = tuple([i % count for i in positions])
    if len(set(result)) < len(result):
        raise ValueError(f"{label}: argnums={positions} names an argument twice")
    return result


def as_operand(x: Any, recorded: bool = False) -> Any:
    """Return a leaf as programs take it: numbers as NumPy scalars, arrays of subclasses as NumPy's.

    What is `recorded` keeps 64 bits also where there are none outside of programs.
    """
    if settings.get().narrow and type(x) is not Tracer and not recorded:
        from fungrad.core.lattice import narrow_array  # few programs need it

        x = narrow_array(x)
    if isinstance(x, np.ndarray) or (type(x) not in PYTHON_SCALARS and holds_array(x)):
        array = np.asarray(x)
        return array if array.dtype.isnative else native(array)
    if type(x) not in PYTHON_SCALARS:
        number = python_number(x)
        if number is None:
            return x
        x = number
    try:
        return np.asarray(x, PYTHON_SCALARS[type(x)].dtype)[()]
    except OverflowError:
        raise OverflowError(
            f"the Python integer {x} does not fit into int64; pass a float, or name the argument in "
            "static_argnums of jit"
        ) from None


ARRAYS = frozenset([np.ndarray, np.float64, np.float32, np.int64, np.int32, np.bool_])
_OPERANDS = ARRAYS | {Tracer}


def as_operands(leaves: Sequence[Any]) -> Sequence[Any]:
    """Return leaves as programs take them, with arrays in this machine's byte order."""
    if _OPERANDS.issuperset(map(type, leaves)) and not settings.get().narrow:
        return leaves
    return [as_operand(x) for x in leaves]


def argument_type(x: Any, label: str) -> ArrayType:
    """Return the type of `x`, or raise a TypeError that starts with `label`."""
    try:
        type_ = type_of(x)
    except TypeError as error:
        raise TypeError(f"{label}: {error}") from None
    return narrowed_types([type_], [x])[0] if settings.get().narrow else type_


def argument_types(
    leaves: Sequence[Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    label: str,
    positions: Sequence[int] | None = None,
) -> list[ArrayType]:
    """Return the types of the leaves of arguments.

    Raises a TypeError that says which leaf it is that has none. The `positions` are those of `args` in
    the user's call, if `args` are not all of it.
    """
    try:
        types = [
            array_type(x.shape, x.dtype) if type(x) is np.ndarray else type_of(x) for x in leaves
        ]
        return narrowed_types(types, leaves) if settings.get().narrow else types
    except TypeError:
        raise no_type(args, kwargs, label, positions) from None


def described(x: Any) -> Any:
    """Return `x`, or a stand-in with NumPy's dtype for one whose dtype is ``float``, ``"f4"`` or the like."""
    dtype, shape = getattr(x, "dtype", None), getattr(x, "shape", None)
    if isinstance(dtype, (type, str)) and isinstance(shape, tuple):
        try:
            return SimpleNamespace(shape=shape, dtype=np.dtype(dtype))
        except TypeError:
            return x
    return x


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
