"""Reasons for tracing a jitted function again: a log of compilations, with differences between calls."""

from __future__ import annotations

import functools
import inspect
import itertools
import time
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

from fungrad.core.config import settings
from fungrad.core.errors import here, line_name
from fungrad.core.paths import keystr, paths_of
from fungrad.core.state import state_variable
from fungrad.core.tree import KeyOrder, TreeDef
from fungrad.core.types import ArrayType
from fungrad.transforms.argnums import parameters_of, positional_names

_jitted: weakref.WeakKeyDictionary[CodeType, weakref.ref[Any]] = weakref.WeakKeyDictionary()
"""The jitted function last made from a code object; kept only while misses are explained."""

SHOWN = 4
"""How many differences are written out."""

FIRST = "this is its first call"


class Miss(NamedTuple):
    """That a jitted function was traced.

    Attributes
    ----------
    jitted
        The function.
    text
        Why.
    place
        The user's line that called it.
    """

    jitted: Any
    text: str
    place: str

    @property
    def first(self) -> bool:
        """Whether it was the function's first call, which has to trace."""
        return self.text.endswith(FIRST)


_NOWHERE: tuple[list[Miss], ...] = ()
noted = state_variable("misses_noted", _NOWHERE)
"""A list for each `with` block that collects misses; while there is one, misses are not logged."""


class Signature(NamedTuple):
    """Properties of calls for which a compiled program holds."""

    structure: TreeDef
    """The structure of all arguments that are not static."""
    types: tuple[ArrayType, ...]
    static: tuple[tuple[int | str, Hashable, Any], ...]
    """Static arguments: position or name, the key that is compared, and the value."""
    axes: tuple[tuple[Hashable, ...], ...]
    """The named axes within which it was traced, their lengths and parts."""
    order: KeyOrder
    """The orders of the keys of dicts among the arguments."""


def log_miss(
    jitted: Any,
    fun: Callable[..., Any],
    label: str,
    known: Sequence[Signature],
    new: Signature,
    how: str,
    start: float,
) -> str | None:
    """Log that a program was made, and why, as far as settings ask; return the reason if it is wanted.

    `how` is "compiled"; "traced" to be part of another program; or "anew", to be good for this call only.
    """
    import logging  # few programs need it

    logger = logging.getLogger("fungrad")
    chosen = settings.get()
    known_why = chosen.misses_explained or chosen.profiled
    why = explanation(jitted, fun, label, known, new, how) if known_why else None
    if chosen.misses_explained and why is not None:
        for notes in noted.get():
            notes.append(Miss(jitted, why, here()))
        if not noted.get():
            logger.warning("%s", why)
    if chosen.compiles_logged:
        seconds = time.perf_counter() - start
        done = "compiled" if how == "compiled" else "traced"
        types = ", ".join(map(str, new.types)) or "no arrays"
        logger.warning("%s %s for %s in %.1f ms", done, label, types, 1e3 * seconds)
    return why


def log_traced_anew(name: str, error: Exception) -> None:
    """Log that a function runs without `jit`, and its line that asks for values, if settings ask for it."""
    import logging  # few programs need it

    chosen = settings.get()
    if chosen.misses_explained or chosen.compiles_logged:
        text = "%s is traced anew in each call, since it cannot be compiled: %s"
        logging.getLogger("fungrad").warning(text, name, error)


def explanation(
    jitted: Any,
    fun: Callable[..., Any],
    label: str,
    known: Sequence[Signature],
    new: Signature,
    how: str,
) -> str:
    """Return why there was no program for a call."""
    if how == "anew":
        return (
            f"{label} is traced anew in each call: it uses traced values of the function around it that are "
            "not its arguments. Pass them as arguments"
        )
    if known:
        reasons = min((list(differences(fun, old, new)) for old in reversed(known)), key=len)
        reasons = reasons or [
            "arguments are passed by keyword that were passed by position, or the reverse"
        ]
        more = f"; and {len(reasons) - SHOWN} more" if len(reasons) > SHOWN else ""
        return f"retraced {label}: {'; '.join(reasons[:SHOWN])}{more}"
    code = code_of(fun)
    before = None if code is None else _jitted.get(code)
    if code is not None:
        _jitted[code] = weakref.ref(jitted)
    if code is not None and before is not None and before() is not jitted:
        place = line_name(code.co_filename, code.co_firstlineno)
        return (
            f"traced {label}: {place} has made a new function, as it did before. Each jit(f) starts without programs: write "
            "g = jit(f) once, outside of the loop, and call g in it"
        )
    return f"traced {label}: {FIRST}"


def code_of(fun: Any) -> CodeType | None:
    """Return the code of a function, or of one within `partial` or `functools.wraps`; None of others."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(inspect.unwrap(fun), "__code__", None)


def differences(fun: Callable[..., Any], old: Signature, new: Signature) -> Iterator[str]:
    """Describe the differences between two calls of `fun`."""
    before, now = dict(_static(fun, old)), dict(_static(fun, new))
    for name in dict.fromkeys([*before, *now]):
        if name not in now:
            yield f"static argument {name} was {before[name]}, and is not given now"
        elif name not in before:
            yield f"static argument {name} was not given, and is {now[name]} now"
        elif before[name] != now[name]:
            yield f"static argument {name} changed from {before[name]} to {now[name]}"
    trees, new_trees = dict(_arguments(fun, old)), dict(_arguments(fun, new))
    for name in dict.fromkeys([*trees, *new_trees]):
        if name not in new_trees:
            yield f"argument {name} was given before, and is not given now"
        elif name not in trees:
            yield f"argument {name} was not given before, and is given now"
        elif trees[name][0] != new_trees[name][0]:
            yield (
                f"the structure of argument {name} changed from {_shown(trees[name][0])} to "
                f"{_shown(new_trees[name][0])}"
            )
        else:
            structure, types = trees[name]
            for path, t, u in zip(paths_of(structure), types, new_trees[name][1], strict=True):
                if t != u:
                    yield f"argument {name}{keystr(path)} {_change(t, u)}"
    if old.structure == new.structure and old.order != new.order:
        pairs = itertools.product(old.order, new.order)
        a, b = next((a, b) for a, b in pairs if a != b and {*a} == {*b})
        yield f"the keys of a dict were in the order {list(a)}, and are in the order {list(b)} now"
    if old.axes != new.axes:
        yield f"the named axes of vmap around it changed from {_sizes(old)} to {_sizes(new)}"


def _sizes(of: Signature) -> dict[Hashable, Any]:
    return {name: size for name, size, *_ in of.axes}


def _change(old: ArrayType, new: ArrayType) -> str:
    if old.weak != new.weak:
        return f"was {described(old)}, and is {described(new)} now"
    return f"went from {old} to {new}"


def described(type_: ArrayType) -> str:
    """Describe a type, telling Python numbers from arrays of the same dtype."""
    if not type_.weak:
        return str(type_)
    of = {"i": "int", "f": "float", "c": "complex"}[type_.dtype.kind]
    return f"{type_.update(weak=False)} of Python's {of}" if type_.shape else f"a Python {of}"


def _shown(structure: TreeDef) -> str:
    return str(structure).removeprefix("PyTreeSpec(").split(", namespace=")[0].removesuffix(")")


def _names(fun: Callable[..., Any]) -> list[str]:
    """Return the names of the positional parameters."""
    return positional_names(parameters_of(fun) or ())


def _static(fun: Callable[..., Any], signature: Signature) -> Iterator[tuple[str, str]]:
    names = _names(fun)
    for where, _, held in signature.static:
        value = held() if isinstance(held, weakref.ref) else held
        name = names[where] if isinstance(where, int) and where < len(names) else str(where)
        yield name, repr(value)


def _arguments(
    fun: Callable[..., Any], signature: Signature
) -> Iterator[tuple[str, tuple[TreeDef, Sequence[ArrayType]]]]:
    """Yield the name of each argument that is not static, with its structure and types."""
    names = _names(fun)
    args, kwargs = signature.structure.children()
    fixed = {where for where, _, _ in signature.static}
    free = (i for i in range(args.num_children + len(fixed)) if i not in fixed)
    labels = [
        names[i] if i < len(names) else str(i) for _, i in zip(range(args.num_children), free)
    ]
    labels += [str(k) for k in kwargs.entries()]
    start = 0
    for label, child in zip(labels, [*args.children(), *kwargs.children()], strict=True):
        yield label, (child, signature.types[start : start + child.num_leaves])
        start += child.num_leaves
