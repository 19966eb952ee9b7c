"""One call of a function that has rules of its own: which of its arguments are operands."""

from __future__ import annotations

import abc
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

from fungrad.compile.keeping import Keeper
from fungrad.core import tree
from fungrad.core.annotations import signature
from fungrad.core.errors import api_boundary
from fungrad.core.nesting import trace_of
from fungrad.core.reading import as_read
from fungrad.core.recorder import Recorder
from fungrad.core.registering import how_to_register
from fungrad.core.tracer import Tracer
from fungrad.core.transformed import Portable, resemble
from fungrad.core.types import ArrayType, is_array, shown, tangent_type, type_of
from fungrad.programs.closing import Closure, close
from fungrad.transforms.argnums import exactly, names_in, positions_in
from fungrad.transforms.arguments import as_operand, check_callable, name_of

Results: TypeAlias = tuple[tuple[ArrayType, ...], tree.TreeDef]
"""Result of a function: the types of the leaves and the structure."""


@dataclasses.dataclass(frozen=True)
class Site:
    """One call: which leaves of the arguments are operands, and everything else, as it was given."""

    args: tuple[tuple[int, Any], ...]
    """The arguments that rules get apart from the others (`nondiff_argnums`), by position."""
    positions: tuple[int, ...]
    """The positions of the other arguments."""
    structure: tree.TreeDef
    """The structure of the other arguments, which is a tuple."""
    leaves: tuple[Any, ...]
    """Their leaves; in the place of an operand its type."""
    at: tuple[int, ...]
    """Which leaves are operands."""
    perturbed: tuple[bool, ...]
    """Which of the operands the call may be differentiated by."""
    exact: Any
    """A key that distinguishes equal parameters, such as 1 and True."""
    order: tree.KeyOrder
    """The orders of the keys of dicts among the arguments."""

    @property
    def static(self) -> tuple[Any, ...]:
        """The arguments that rules get apart from the others."""
        return tuple([x for _, x in self.args])

    @property
    def types(self) -> tuple[ArrayType, ...]:
        """The types of the operands."""
        return tuple([self.leaves[i] for i in self.at])

    @property
    def moving(self) -> tuple[int, ...]:
        """Which of the operands can have tangents."""
        return tuple([i for i, t in enumerate(self.types) if t.inexact])

    @property
    def tangents(self) -> tuple[ArrayType, ...]:
        """The types of the tangents of operands that can have one."""
        return tuple([tangent_type(t) for t in self.types if t.inexact])

    def with_leaves(self, operands: Sequence[Any]) -> list[Any]:
        """Return the leaves with `operands` in their places."""
        leaves = list(self.leaves)
        for i, x in zip(self.at, operands, strict=True):
            leaves[i] = x
        return leaves

    def arguments(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments that have derivatives."""
        return self.unflatten(self.with_leaves(operands))

    def unflatten(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Return `leaves`, one for each, as the arguments that have derivatives."""
        return tuple(tree.unflatten(self.structure, leaves))

    def call(self, arguments: Sequence[Any]) -> list[Any]:
        """Return all arguments in the order of the call."""
        everything: list[Any] = [None] * (len(self.args) + len(self.positions))
        for i, x in (*self.args, *zip(self.positions, arguments, strict=True)):
            everything[i] = x
        return everything


class CustomFunction(Portable, Keeper, abc.ABC):
    """Base of the decorators that give a function rules of its own."""

    kind: ClassVar[str]
    """Name of the decorator."""

    rules: ClassVar[tuple[str, ...]]
    """Attributes that hold the defined rules; the first is None until then."""

    definer: ClassVar[str]
    """The method that defines it."""

    @api_boundary
    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Iterable[int] = (),
        nondiff_argnames: str | Iterable[str] = (),
    ) -> None:
        check_callable(fun, self.kind)
        resemble(self, fun)
        self.fun = fun
        self.label = f"{self.kind} function {name_of(fun)}"
        try:
            self._signature: inspect.Signature | None = signature(fun)
        except (TypeError, ValueError):
            self._signature = None
        self.nondiff_argnums = self._positions(nondiff_argnums, nondiff_argnames)
        parameters = self._signature.parameters.values() if self._signature else ()
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._plain = len(parameters) if all(p.kind in by_position for p in parameters) else -1

    origin: tuple[Callable[..., Any], Callable[..., Any]] | None = None
    """The function that made this, and its argument, if it was not the class itself."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        vars(self).pop("_remade", None)  # it was made of what has changed now

    def recipe(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.origin is not None:
            return self.origin[0], self.origin[1:]
        defined = {name: vars(self)[name] for name in self.rules if name in vars(self)}
        return _with_rules, (type(self), self.fun, self.nondiff_argnums, defined)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, so that methods can have rules."""
        return self if instance is None else functools.partial(self, instance)

    @abc.abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""

    def __repr__(self) -> str:
        return f"<{self.label}>"

    def _positions(
        self, argnums: int | Iterable[int], argnames: str | Iterable[str]
    ) -> frozenset[int]:
        numbers = {*positions_in(self.label, argnums, "nondiff_argnums")}
        known = list(self._signature.parameters) if self._signature else []
        for name in sorted(names_in(argnames)):
            if name not in known:
                raise ValueError(
                    f"{self.label}: nondiff_argnames has {name!r}, but its parameters are {known}"
                )
            numbers.add(known.index(name))
        wrong = [i for i in numbers if i < 0]
        if wrong:
            raise ValueError(f"{self.label}: nondiff_argnums must count from 0, got {wrong}")
        return frozenset(numbers)

    def positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call by position, with the defaults of those that are left out."""
        if getattr(self, self.rules[0]) is None:
            raise AttributeError(
                f"{self.label} has no rule: define it with {name_of(self.fun)}.{self.definer}"
            )
        if len(args) == self._plain and not kwargs:
            return args  # the commonest call: binding takes longer than some functions do
        if self._signature is None:
            if kwargs:
                raise TypeError(
                    f"{self.label} has no signature to find the places of keyword arguments by, got "
                    f"{sorted(kwargs)}: pass them by position"
                )
            return args
        bound = self._signature.bind(*args, **kwargs)
        kinds = {name: p.kind for name, p in self._signature.parameters.items()}
        by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
        wrong = [name for name in bound.arguments if kinds[name] in by_name]
        if wrong:
            raise TypeError(
                f"{self.label}: rules get their arguments by position, so none can be passed that the "
                f"function takes by name only; got {wrong}"
            )
        bound.apply_defaults()
        return bound.args

    def argument_name(self, position: int) -> str:
        """Return how to speak of an argument in messages."""
        names = list(self._signature.parameters) if self._signature else []
        return f"`{names[position]}`" if position < len(names) else str(position)

    def leaf_names(self, site: Site) -> list[str]:
        """Return how to speak of the leaves of the arguments: ``params['w']``."""
        if site.structure.num_leaves == len(site.positions) == site.structure.num_nodes - 1:
            return [self.argument_name(position) for position in site.positions]
        shown = site.unflatten([object()] * len(site.leaves))
        return [
            self.argument_name(position) + path
            for position, argument in zip(site.positions, shown, strict=True)
            for path, _ in tree.leaves_with_paths(argument)
        ]

    def site(
        self,
        args: tuple[Any, ...],
        is_operand: Callable[[Any], bool],
        is_perturbed: Callable[[Any], bool],
    ) -> tuple[Site, list[Any]]:
        """Return the description of a call and its operands."""
        static = tuple([(i, x) for i, x in enumerate(args) if i in self.nondiff_argnums])
        positions = tuple([i for i in range(len(args)) if i not in self.nondiff_argnums])
        moved = tuple([args[i] for i in positions])
        leaves, structure = tree.flatten(moved)
        at = tuple([i for i, x in enumerate(leaves) if is_operand(x)])
        if len(at) < len(leaves):
            self._check_hidden(positions, moved)
        operands = [as_operand(leaves[i]) for i in at]
        for i, x in zip(at, operands, strict=True):
            leaves[i] = tangent_type(type_of(x))
        perturbed = tuple([is_perturbed(x) for x in operands])
        exact = exactly((*[x for _, x in static], *leaves))
        order = tree.key_order(moved)
        site = Site(static, positions, structure, tuple(leaves), at, perturbed, exact, order)
        return site, operands

    def _check_hidden(self, positions: Sequence[int], args: Sequence[Any]) -> None:
        """Raise a TypeError if a leaf of the arguments is a dataclass with traced arrays."""
        for position, argument in zip(positions, args, strict=True):
            for path, x in tree.leaves_with_paths(argument):
                if tree.hides_tracers(x):
                    raise TypeError(
                        f"{self.label}: {self.argument_name(position)}{path}: {shown(x)} of type {type(x).__name__} is not an "
                        f"array or a number. {how_to_register(x)}"
                    )

    def closed(self, site: Site) -> Closure:
        """Trace the function, without its rules, for a call."""

        def function(*values: Any) -> Any:
            run = as_read(self.fun)  # under a name: errors look up which function is called here
            return run(*site.call(site.arguments(values)))

        return close(self.label, function, *site.types)


def _with_rules(
    cls: Callable[..., CustomFunction],
    fun: Callable[..., Any],
    nondiff_argnums: Iterable[int],
    rules: dict[str, Any],
) -> CustomFunction:
    made = cls(fun, tuple(nondiff_argnums)) if nondiff_argnums else cls(fun)
    for name, value in rules.items():
        setattr(made, name, value)
    return made


def top_trace(args: Any) -> Recorder | None:
    """Return the innermost trace that leaves of `args` belong to; None if there is none."""
    return trace_of(tree.leaves(args))


def is_operand(x: Any) -> bool:
    """Whether a leaf is an operand where nothing has a value: it is traced, or has derivatives."""
    return type(x) is Tracer or (is_array(x) and type_of(x).inexact)
