"""Calls of Python functions by a program, each time it runs.

A callback gets copies of the operands, because the program may overwrite its arrays later, and what it
returns is copied. It runs on the host: the arrays it gets are NumPy's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core import tree
from fungrad.core.backend import as_result, to_host
from fungrad.core.errors import MissingRuleError
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.shaping import Reshape, expand

Batches = tuple[tuple[int, tuple[bool, ...]], ...]
"""The sizes of batches of calls, the outermost first, with the operands that differ between the calls."""


class Arguments(NamedTuple):
    """The arguments of a call but for the arrays, which are operands."""

    structure: tree.TreeDef
    static: tuple[tuple[int, Any], ...] = ()
    """The leaves that are no arrays, with their positions among all leaves."""
    order: tree.KeyOrder = ()
    """Of the dicts, which a callback can see, and equal structures may differ in."""

    def filled(self, operands: Iterable[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with `operands` in their places."""
        leaves = [*operands]
        for position, value in self.static:
            leaves.insert(position, value)
        args, kwargs = tree.unflatten(self.structure, leaves)
        return args, kwargs


def one_by_one(batches: Batches, operands: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the operands of each call of a batch, in order."""
    calls = [operands]
    for size, batched in batches:
        calls = [
            tuple([x[i] if b else x for x, b in zip(call, batched, strict=True)])
            for call in calls
            for i in range(size)
        ]
    yield from calls


def call_on_host(
    callback: Callable[..., Any], arguments: Arguments, operands: Sequence[Any]
) -> Any:
    """Call a user's function with copies of the operands at their places in the arguments."""
    args, kwargs = arguments.filled(as_result(np.array(to_host(x))) for x in operands)
    return callback(*args, **kwargs)


def name_of_callback(callback: Any) -> str:
    """Return how to speak of a callback in messages."""
    return getattr(callback, "__name__", None) or type(callback).__name__


class _Callback(Primitive):
    """Base of the primitives below."""

    callback: Callable[..., Any]
    arguments: Arguments
    results: tuple[ArrayType, ...]
    out: tree.TreeDef
    batches: Batches

    multiple_results = True
    remembered = False

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        sizes = tuple(size for size, _ in self.batches)
        return tuple(t.update(shape=sizes + t.shape, weak=False) for t in self.results)

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        calls = [
            self._declared(xp, call_on_host(self.callback, self.arguments, call))
            for call in one_by_one(self.batches, operands)
        ]
        if not self.batches:
            return tuple(calls[0])
        types = self.abstract_eval()
        if not calls:
            return tuple(xp.zeros(t.shape, t.dtype) for t in types)
        columns = zip(*calls, strict=True)
        return tuple(
            xp.stack(list(x)).reshape(t.shape) for x, t in zip(columns, types, strict=True)
        )

    def _declared(self, xp: Any, returned: Any) -> list[Any]:
        """Return the results of the callback as arrays of their own, of the types declared for them."""
        leaves, structure = tree.flatten(returned)
        who = f"{self.name}: the callback `{name_of_callback(self.callback)}` returned"
        if structure != self.out:
            raise TypeError(
                f"{who} a tree {structure}, but result_shape_dtypes is a tree {self.out}: they must be alike "
                "(a list of numbers is a tree; make it an array)"
            )
        results = []
        for x, t in zip(leaves, self.results, strict=True):
            weak = isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic)
            result = xp.array(x, t.dtype) if weak else xp.array(x)
            if (result.shape, result.dtype) != (t.shape, t.dtype):
                got = f"{result.dtype}[{','.join(map(str, result.shape))}]"
                raise TypeError(
                    f"{who} an array of type {got} where result_shape_dtypes says {t.update(weak=False)}; "
                    "correct the one or the other (x.astype(dtype) converts)"
                )
            results.append(result)
        return results

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        if not any(t.inexact for t in self.results):
            return (None,) * len(self.results)
        raise MissingRuleError(
            f"{self.missing('jvp').args[0]}. What the callback `{name_of_callback(self.callback)}` computes is not known to "
            "fungrad: state the derivative with custom_jvp or custom_vjp, or pass stop_gradient(x)"
        )

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        return self._batched(size, batched)(*operands)  # type: ignore[no-any-return]

    def _batched(self, size: int, batched: tuple[bool, ...]) -> Primitive:
        """Return the primitive that calls for one element of the batch after the other."""
        return dataclasses.replace(self, batches=((size, batched), *self.batches))  # type: ignore[type-var]

    def __repr__(self) -> str:
        """Show the function called."""
        return f"{self.name}[{name_of_callback(self.callback)}]"


@primitive
class DebugCallback(_Callback):
    """Call `callback` for its effect; there are no results."""

    callback: Callable[..., Any]
    arguments: Arguments
    batches: Batches = ()

    results = ()
    effect = True
    differentiable = False

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        for call in one_by_one(self.batches, operands):
            call_on_host(self.callback, self.arguments, call)
        return ()


@primitive
class IoCallback(_Callback):
    """Call `callback` for its effect and its results."""

    callback: Callable[..., Any]
    arguments: Arguments
    results: tuple[ArrayType, ...]
    out: tree.TreeDef
    ordered: bool = False
    batches: Batches = ()

    effect = True

    def _batched(self, size: int, batched: tuple[bool, ...]) -> Primitive:
        if self.ordered:
            raise ValueError(
                f"io_callback of `{name_of_callback(self.callback)}` with ordered=True cannot be mapped by vmap: "
                "the order of its calls would not be that of the function. Pass ordered=False to call it for "
                "each element, one after the other."
            )
        return super()._batched(size, batched)


VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)


@primitive
class PureCallback(_Callback):
    """The results of `callback`, which depend on its arguments alone."""

    callback: Callable[..., Any]
    arguments: Arguments
    results: tuple[ArrayType, ...]
    out: tree.TreeDef
    vmap_method: str | None = None
    batches: Batches = ()

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        if self.vmap_method is None:
            raise MissingRuleError(
                f"{self.missing('batch').args[0]}. Pass vmap_method to pure_callback: 'sequential' calls "
                f"`{name_of_callback(self.callback)}` for each element; with 'expand_dims' or 'broadcast_all' it is "
                "called once, with arguments that have the batch as their first axis"
            )
        if self.vmap_method == "expand_dims":
            pairs = zip(operands, batched, strict=True)
            operands = tuple([x if b else Reshape((1, *x.shape))(x) for x, b in pairs])
        elif self.vmap_method == "broadcast_all":
            operands = tuple([expand(size, x, b) for x, b in zip(operands, batched, strict=True)])
        return self._batched(size, batched)(*operands)  # type: ignore[no-any-return]

    def _batched(self, size: int, batched: tuple[bool, ...]) -> Primitive:
        if self.vmap_method in ("sequential", "sequential_unrolled"):
            return super()._batched(size, batched)
        results = tuple(t.update(shape=(size, *t.shape)) for t in self.results)
        return dataclasses.replace(self, results=results)  # type: ignore[type-var]
