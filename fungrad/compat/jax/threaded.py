"""Loops, branches and jitted functions that assign to references: arrays are threaded through."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from fungrad.compat.jax import refs
from fungrad.compat.jax.array import Array
from fungrad.compat.jax.refs import Ref
from fungrad.core import tree
from fungrad.core.tracer import Tracer


def held_here() -> list[Ref]:
    """Return the references that the innermost trace has made."""
    if not refs.ever:
        return []
    here = refs.home()
    found = [ref for ref in refs.made.references if ref.belongs_to == here and ref.held is not None]
    return sorted(found, key=id)


@contextlib.contextmanager
def _holding(held: Sequence[Ref], arrays: Sequence[Any]) -> Iterator[None]:
    """Context in which references belong to the function at hand, and hold its arrays."""
    before, here = [(ref.held, ref.belongs_to) for ref in held], refs.home()
    for ref, array in zip(held, arrays, strict=True):
        ref.held, ref.belongs_to = array, here
    try:
        yield
    finally:
        for ref, (array, place) in zip(held, before, strict=True):
            ref.held, ref.belongs_to = array, place


def _read(held: Sequence[Ref]) -> list[Any]:
    return [ref.held for ref in held]


def _carrying(held: Sequence[Ref], function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """Return a function whose argument and result are paired with the arrays of references."""

    @functools.wraps(function)
    def carried(*args: Any) -> Any:
        arrays, own = args[place]
        with _holding(held, arrays):
            result = function(*args[:place], own, *args[place + 1 :])
            return _read(held), result

    return carried


def _assign(held: Sequence[Ref], arrays: Sequence[Any]) -> None:
    for ref, array in zip(held, arrays, strict=True):
        ref.held = array


def _fori_loop(
    plain: Any, held: Any, lower: Any, upper: Any, body_fun: Any, init_val: Any, **more: Any
) -> Any:
    body = _carrying(held, body_fun, 1)
    arrays, result = plain(lower, upper, body, (_read(held), init_val), **more)
    _assign(held, arrays)
    return result


def _while_loop(plain: Any, held: Any, cond_fun: Any, body_fun: Any, init_val: Any) -> Any:
    def cond(carry: Any) -> Any:
        with _holding(held, carry[0]):
            return cond_fun(carry[1])

    arrays, result = plain(cond, _carrying(held, body_fun, 0), (_read(held), init_val))
    _assign(held, arrays)
    return result


def _scan(plain: Any, held: Any, f: Any, init: Any, xs: Any = None, *rest: Any, **more: Any) -> Any:
    def body(carry: Any, x: Any) -> Any:
        with _holding(held, carry[0]):
            own, y = f(carry[1], x)
            return (_read(held), own), y

    (arrays, carry), ys = plain(body, (_read(held), init), xs, *rest, **more)
    _assign(held, arrays)
    return carry, ys


def _branching(held: Any, branch: Any) -> Any:
    @functools.wraps(branch)
    def branched(arrays: Any, *operands: Any, **named: Any) -> Any:
        with _holding(held, arrays):
            result = branch(*operands, **named)
            return _read(held), result

    return branched


def _cond(plain: Any, held: Any, pred: Any, *operands: Any, **more: Any) -> Any:
    if not all(map(callable, operands[:2])) or len(operands) < 2:
        return plain(pred, *operands, **more)  # an older signature
    branches = [_branching(held, f) for f in operands[:2]]
    given = (more.pop("operand"),) if "operand" in more else operands[2:]
    arrays, result = plain(pred, *branches, _read(held), *given, **more)
    _assign(held, arrays)
    return result


def _switch(plain: Any, held: Any, index: Any, branches: Any, *operands: Any, **more: Any) -> Any:
    threaded = [_branching(held, f) for f in branches]
    arrays, result = plain(index, threaded, _read(held), *operands, **more)
    _assign(held, arrays)
    return result


def _map(scan: Any, f: Any, xs: Any, batch_size: Any) -> Any:
    if batch_size is not None:
        raise NotImplementedError(
            "map with a batch_size: fungrad, in the place of jax, maps functions that use references one by one; leave it out"
        )
    return scan(lambda _, x: (None, f(x)), None, xs)[1]


THREADED: dict[str, Callable[..., Any]] = {
    "fori_loop": _fori_loop,
    "while_loop": _while_loop,
    "scan": _scan,
    "cond": _cond,
    "switch": _switch,
}
"""The functions of `jax.lax` in which references may be assigned to."""


def threaded(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of `jax.lax` whose callees may assign to references of its caller."""
    calling = THREADED[name]

    @functools.wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        held = held_here()
        return calling(plain, held, *args, **kwargs) if held else plain(*args, **kwargs)

    return function


def threaded_map(plain: Callable[..., Any], scan: Callable[..., Any]) -> Callable[..., Any]:
    """Return `jax.lax.map` likewise."""

    @functools.wraps(plain)
    def function(f: Any, xs: Any, *, batch_size: Any = None) -> Any:
        if held_here():
            return _map(scan, f, xs, batch_size)
        return plain(f, xs, batch_size=batch_size)

    return function


# Jitted functions


class Passed:
    """A reference among arguments: a pytree of its array."""

    def __init__(self, array: Any) -> None:
        self.array = array


tree.register_node(Passed, lambda p: ((p.array,), None), lambda _, parts: Passed(*parts))


def _is_passed(x: Any) -> bool:
    return isinstance(x, Passed)


_ARRAYS = frozenset([Array, np.ndarray, Tracer, int, float, bool])


def references(args: Any, kwargs: Any) -> list[Ref]:
    """Return the references among arguments; raise if one is given twice, or for elements of one."""
    if not kwargs and _ARRAYS.issuperset(map(type, args)):
        return []
    leaves = tree.leaves((args, kwargs))
    found = [x for x in leaves if isinstance(x, Ref)]
    if len({*map(id, found)}) < len(found):
        raise ValueError(
            "only one reference to a mutable array may be passed as an argument to a function; one is given twice"
        )
    if any(isinstance(x, refs.TransformedRef) for x in leaves):
        raise TypeError(
            "ref.at[key] is no argument: give the reference itself, or what it holds there, ref[key]"
        )
    return found


def passing(jitted: Any, closed: Sequence[Ref]) -> Any:
    """Return a jitted function that takes and returns the arrays of references.

    Those that are `closed` over, too.
    """
    cls, (fun, *options) = jitted.recipe()

    @functools.wraps(fun)
    def function(*args: Any, fg_arrays: Any, **kwargs: Any) -> Any:
        inner: list[Ref] = []

        def referring(x: Any) -> Any:
            if not _is_passed(x):
                return x
            inner.append(Ref(x.array))
            return inner[-1]

        args, kwargs = tree.map(referring, (args, kwargs), is_leaf=_is_passed)
        with _holding(closed, fg_arrays):
            result = fun(*args, **kwargs)
            arrays = _read([*inner, *closed])
        if any(isinstance(x, refs.Referring) for x in tree.leaves(result)):
            raise ValueError(
                "a jitted function returns no reference: return what it holds, ref[...], and make one outside"
            )
        return arrays, result

    return cls(function, *options)


class Passing:
    """Calls of a jitted function with references: those among its arguments, and those it uses."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.closed = inner, cast(list[Ref], [])
        self.call = passing(inner, [])

    def __call__(self, args: Any, kwargs: Any) -> Any:
        def passed(x: Any) -> Any:
            return Passed(x[...]) if isinstance(x, Ref) else x

        held = references(args, kwargs)
        given, named = tree.map(passed, (args, kwargs))
        while True:
            used = [*held, *self.closed]
            if len({*map(id, used)}) < len(used):
                raise ValueError("a jitted function is given a reference that it closes over, too")
            arrays = [ref[...] for ref in self.closed]
            try:
                after, result = self.call(*given, fg_arrays=arrays, **named)
            except refs.ElsewhereError as error:
                self._take_in(error)
                continue
            for ref, array in zip(used, after, strict=True):
                ref[...] = array
            return result

    def _take_in(self, error: refs.ElsewhereError) -> None:
        if error.ref.belongs_to != refs.home() or error.ref in self.closed:
            raise error
        self.closed.append(error.ref)
        self.call = passing(self.inner, [*self.closed])
