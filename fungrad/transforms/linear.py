"""Linear functions returned by `vjp`, `linearize` and `linear_transpose`: programs and residuals."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.backend import target_of
from fungrad.core.errors import Source, api_boundary
from fungrad.core.paths import keystr, paths_of
from fungrad.core.types import ArrayType, float0
from fungrad.primitives.elementwise import Cast
from fungrad.transforms.arguments import argument_type, as_operand
from fungrad.transforms.call import at_places, with_float0

Typed = tuple[tree.TreeDef, tuple[ArrayType, ...]]


@dataclasses.dataclass(frozen=True)
class Linear:
    """A linear program between trees: from tangents to tangents, or from cotangents to cotangents.

    `moving` are the positions of the results of the function that depend on the differentiated arguments.
    """

    label: str
    program: Program
    moving: tuple[int, ...]
    arguments: Typed
    results: Typed
    order: tree.KeyOrder
    """The order of keys of dicts in arguments and results: equal trees may differ in it."""
    xp: ModuleType
    # The trace itself would keep all values alive.
    sources: Sequence[Source | None] = dataclasses.field(compare=False)
    made_by: tuple[Program, int] | None = dataclasses.field(default=None, compare=False)
    """Program that computed the residuals, and its number of captured inputs; None if unknown."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle all but the lines of the user's code; the array library is pickled as its name."""
        fields = (self.label, self.program, self.moving, self.arguments, self.results, self.order)
        return _loaded, (self.xp.__name__, *fields)

    def leaves(self, x: Any, expected: Typed, what: str) -> list[Any]:
        """Return the leaves of `x` of inexact type; TypeError if its structure or types are not `expected`."""
        leaves, structure = tree.flatten(x)
        if structure != expected[0]:
            raise TypeError(
                f"{self.label}: the {what} must have the structure of the {_OF[what]}, {expected[0]}; got "
                f"{structure}"
            )
        return check_directions(leaves, *expected[::-1], f"{self.label}: {what.removesuffix('s')}")

    def run(self, *operands: Any) -> list[Any]:
        """Run the program."""
        with at_places(self.sources):
            return self.program(*operands)

    def on_device(self, x: Any) -> Any:
        """Return `x` as an array of the library of the arguments; a constant may be NumPy's."""
        if target_of(self.xp).on_host or not isinstance(x, (np.ndarray, np.generic)):
            return x
        return self.xp.asarray(x)


_OF = {"cotangent": "result", "tangents": "arguments"}


def _loaded(library: str, *fields: Any) -> Linear:
    return Linear(*fields, importlib.import_module(library), ())  # type: ignore[call-arg]


class Kept:
    """A linear function as a pytree, whose leaves are its residuals."""

    __slots__ = ("_how", "_residuals")

    def __init__(self, residuals: Sequence[Any], how: Linear) -> None:
        self._residuals = tuple(residuals)
        self._how = how


class Pullback(Kept):
    """Result of `vjp`: a function from a cotangent of the result to cotangents of the arguments.

    It is a pytree whose leaves are the residuals.
    """

    __slots__ = ()

    @api_boundary
    def __call__(self, ct: Any) -> tuple[Any, ...]:
        """Return the tuple of cotangents of the arguments."""
        how = self._how
        structure, types = how.results
        leaves = how.leaves(ct, how.results, "cotangent")
        cts = dict(zip([i for i, t in enumerate(types) if t.inexact], leaves, strict=True))
        pulled = how.run(*self._residuals, *[cts[i] for i in how.moving])
        structure, types = how.arguments
        results = with_float0([*map(how.on_device, pulled)], types)
        return tuple(tree.unflatten(structure, results))

    def without_integers(self, ct: Any) -> Any:
        """Return a cotangent with `float0` zeros for integer results, whose cotangents JAX ignores."""
        structure, types = self._how.results
        leaves, given = tree.flatten(ct)
        if given != structure or all(t.inexact for t in types):
            return ct
        pairs = zip(leaves, types, strict=True)
        fit = [t.inexact or np.shape(x) != t.shape for x, t in pairs]
        zeros = [np.zeros(t.shape, float0) for t in types]
        return tree.unflatten(
            structure,
            [x if as_it_is else z for x, z, as_it_is in zip(leaves, zeros, fit, strict=True)],
        )

    def __repr__(self) -> str:
        return f"<pullback of {self._how.label}>"


class Derivative(Kept):
    """Result of `linearize`: a function from tangents of the arguments to that of the result.

    It is a pytree whose leaves are the residuals.
    """

    __slots__ = ()

    @api_boundary
    def __call__(self, *tangents: Any) -> Any:
        """Return the tangent of the result."""
        how = self._how
        moved = how.leaves(tangents, how.arguments, "tangents")
        pushed = dict(zip(how.moving, how.run(*self._residuals, *moved), strict=True))
        structure, types = how.results
        for i, t in enumerate(types):
            if t.inexact and i not in pushed:
                pushed[i] = how.on_device(np.zeros(t.shape, t.dtype)[()])
        inexact = [pushed[i] for i, t in enumerate(types) if t.inexact]
        return tree.unflatten(structure, with_float0(inexact, types))

    def __repr__(self) -> str:
        return f"<derivative of {self._how.label}>"


def _parts(f: Kept) -> tuple[tuple[Any, ...], Linear]:
    return f._residuals, f._how


tree.register_node(Pullback, _parts, lambda how, residuals: Pullback(residuals, how))
tree.register_node(Derivative, _parts, lambda how, residuals: Derivative(residuals, how))


def check_directions(
    leaves: Sequence[Any], types: Sequence[ArrayType], structure: tree.TreeDef, what: str
) -> list[Any]:
    """Return the leaves of inexact type as operands; raise if a shape or dtype does not fit."""

    def named(i: int) -> str:
        path = keystr(paths_of(structure)[i])
        return f"{what} {i}" if path in ("", f"[{i}]") else f"{what} {i}, at {path},"

    moved = []
    for i, (x, t) in enumerate(zip(leaves, types, strict=True)):
        given = argument_type(x, what)
        if not t.inexact:
            if given.dtype != float0 or given.shape != t.shape:
                # A tangent of an integer can only be zero: say so rather than drop it.
                raise TypeError(
                    f"{named(i)} belongs to a value of type {t}, which has no derivative; its dtype must "
                    f"be float0 (np.zeros({t.shape}, fungrad.float0)); got {given}"
                )
            continue
        fits = given.dtype == t.dtype or (
            given.weak and np.can_cast(given.dtype, t.dtype, "same_kind")
        )
        if given.shape != t.shape or not fits:
            raise TypeError(
                f"{named(i)} has type {given}, but belongs to a value of type {t}; shapes and dtypes must "
                f"be equal. Convert it with np.broadcast_to and .astype({t.dtype})."
            )
        operand = as_operand(x)
        if given.dtype != t.dtype:
            operand = Cast(t.dtype)(operand)
        moved.append(operand)
    return moved
