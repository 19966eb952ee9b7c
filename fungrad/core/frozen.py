"""Random numbers that are drawn while a function is traced, and hence once for all calls: a warning.

No tracer takes part in ``rng.normal()``, so nothing is recorded. What tells is the state of the generators that the
function can reach, before it is traced and after.

Design: docs/design/07-state-survives-interrupts.md.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Sequence
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from fungrad.core.errors import FrozenRandomWarning
from fungrad.core.generators import (
    generator_types,
    is_new,
    position_of,
    same,
    shared_generator,
    state_of,
)
from fungrad.core.mention import Mention
from fungrad.core.unseeded import MAKERS, made_without_seed

_FUNCTIONS = 64
"""How many functions are looked through for the generators that they use, at most."""

_ITEMS = 16
"""How many items of a container are looked at, at most."""

_INNER = 4
"""How many containers in a container are looked at, at most."""

_DEEP = 2
"""How many containers, or attributes of attributes, may lie between a name and a generator."""


class Draws:
    """The random number generators that a function can reach, as they are before it is traced."""

    __slots__ = ("_before", "_function", "_mentions", "_shared", "_unseeded")

    def __init__(self, function: Any, arguments: Sequence[Any] = ()) -> None:
        self._function, search = function, _Search(function, arguments)
        self._mentions, self._unseeded = search.mentions, search.unseeded
        own = _code_of(function)
        self._before = [
            (x, state_of(x)) for x, m in search.mentions.values() if not m.seeded_in(own)
        ]
        self._shared = shared = shared_generator()  # which libraries draw from
        if shared is not None and id(shared) not in self._mentions:
            self._before.append((shared, position_of(shared)))

    @property
    def made(self) -> bool:
        """Whether numbers have been drawn since, or may have been: by a generator made without a seed."""
        pairs = self._before
        return bool(self._unseeded) or any(not same(x, self._now(of)) for of, x in pairs)

    def _now(self, generator: Any) -> Any:
        return state_of(generator) if id(generator) in self._mentions else position_of(generator)

    def warn(self, label: str, mapped: bool = False) -> None:
        """Warn if numbers have been drawn since; `mapped` says that the calls differ in a mapped argument."""
        for generator, before in self._before:
            if not same(before, self._now(generator)):
                self._warn(label, generator, mapped)
        if self._shared is None and (shared := shared_generator()) and not is_new(shared):
            self._warn(label, shared, mapped)  # it was imported since
        for code, scope in self._unseeded:
            for line, maker in made_without_seed(code):
                numbers = "np.random.default_rng().normal(size=n)"
                if maker == "Random":
                    numbers = "np.array([random.random() for _ in range(n)])"
                _warn_of(code, scope, line, label, mapped, numbers)

    def _warn(self, label: str, generator: Any, mapped: bool) -> None:
        if id(generator) in self._mentions:
            _, mention = self._mentions[id(generator)]
            code, scope = mention.code, mention.scope
            line, draw = mention.line(), mention.written(generator)
        else:
            own = _code_of(self._function)
            if own is None or len(sys._current_frames()) > 1:  # another thread may have drawn them
                return
            code, scope = own, _scope_of(self._function)
            line, draw = code.co_firstlineno, "np.random.normal"
        numbers = f"{draw}(size=n)"
        if hasattr(generator, "getstate"):  # of Python
            numbers = f"np.array([{draw}() for _ in range(n)])"
        _warn_of(code, scope, line, label, mapped, numbers)


def _warn_of(
    code: CodeType, scope: dict[str, Any], line: int, label: str, mapped: bool, numbers: str
) -> None:
    """Warn of the line that draws, once; `numbers` is how to draw outside of the function."""
    known = scope.setdefault("__warningregistry__", {})
    if any(type(k) is tuple and k[1:] == (FrozenRandomWarning, line) for k in [*known]):
        return  # the transforms around a call see the draw, too
    once = (
        f"Random numbers are drawn while {label} is traced, once for all calls that it maps over, which get "
        "the same numbers. Draw them outside, for each call, and map over them, too:"
        if mapped
        else f"Random numbers are drawn while {label} is traced, and become constants: all further calls or steps get "
        "the same numbers. Draw them outside and pass them as an argument:"
    )
    message = f"{once}\n    noise = {numbers}\n    {label}(x, noise)"
    warnings.warn_explicit(
        message, FrozenRandomWarning, code.co_filename, line, scope.get("__name__"), known
    )


# What a function can reach


class _Search:
    """Look through a function, and those it calls as far as names tell, for generators.

    It runs at each call of a function that `vmap` has made; hence the plain style.
    """

    __slots__ = ("_kinds", "_looked", "_pending", "_seen", "mentions", "unseeded")

    def __init__(self, function: Any, arguments: Sequence[Any]) -> None:
        self.mentions: dict[int, tuple[Any, Mention]] = {}
        self.unseeded: list[tuple[CodeType, dict[str, Any]]] = []
        self._kinds = generator_types()
        self._looked: set[int] = set()
        self._seen: set[tuple[int, int]] = set()
        self._pending: list[Any] = [function]
        code = _code_of(function) if arguments else None
        if code is not None:
            for value in arguments:
                self._see(value, type(value), code, _scope_of(function), "")
        pending, seen = self._pending, self._seen
        while pending and len(seen) < _FUNCTIONS:
            callee = pending.pop()
            key = id(getattr(callee, "__func__", callee)), id(getattr(callee, "__self__", None))
            if key not in seen:
                seen.add(key)
                self._follow(callee)

    def _follow(self, function: Any) -> None:
        kind = type(function)
        if kind is FunctionType:
            self._read(function, ())
        elif kind is MethodType:
            if type(function.__func__) is FunctionType:
                self._read(function.__func__, (("self", function.__self__),))
        elif isinstance(function, functools.partial):
            self._pending.append(function.func)
            code = _code_of(function.func)
            if code is not None:
                scope = _scope_of(function.func)
                for value in (*function.args, *function.keywords.values()):
                    self._see(value, type(value), code, scope, "")
        elif (
            wrapped := getattr(function, "__wrapped__", None)
        ) is not None:  # what a transform made
            self._pending.append(wrapped)
        elif type(call := getattr(kind, "__call__", None)) is FunctionType:  # noqa: B004
            self._pending.append(MethodType(call, function))

    def _read(self, function: FunctionType, values: tuple[tuple[str, Any], ...]) -> None:
        scope, code = function.__globals__, function.__code__
        package = str(scope.get("__name__"))
        own = package.partition(".")[0] not in _NOT_FOLLOWED
        if not own and not package.startswith(_MAKERS):
            return
        names = _names(code) if own else ()
        if not MAKERS.isdisjoint(names):
            self.unseeded.append((code, scope))
        for name in names:
            value = scope.get(name)
            if value is not None and (kind := type(value)) not in _PLAIN:
                if kind is ModuleType:
                    self._see_module(value, names, code, scope, name)
                else:
                    self._see_object(value, kind, names, code, scope, name)
        if function.__closure__:
            for cell, name in zip(function.__closure__, code.co_freevars, strict=False):
                with contextlib.suppress(ValueError):  # not yet filled
                    values += ((name, cell.cell_contents),)
        if function.__defaults__:
            parameters = code.co_varnames[: code.co_argcount]
            values += tuple(
                zip(reversed(parameters), reversed(function.__defaults__), strict=False)
            )
        if function.__kwdefaults__:
            values += tuple(function.__kwdefaults__.items())
        for name, value in values:
            if (kind := type(value)) is ModuleType:
                self._see_module(value, names, code, scope, name)
            elif kind not in _PLAIN:
                self._see_object(value, kind, names, code, scope, name)
        if "rvs" in names and (shared := shared_generator()) is not None:  # of SciPy
            self.mentions.setdefault(id(shared), (shared, Mention(code, scope, "rvs")))

    def _see_module(
        self, module: ModuleType, names: Sequence[str], code: CodeType, scope: Any, name: str
    ) -> None:
        """Look at the attributes of a module that are used."""
        called = module.__name__
        if called == "random":
            self._see(module._inst, module.Random, code, scope, name)
        elif called == "numpy" or called == "numpy.random":
            if called == "numpy" and "random" in names:
                module.random  # noqa: B018 - which NumPy imports when it is asked for
            if (called != "numpy" or "random" in names) and (shared := shared_generator()):
                mention = Mention(code, scope, "random" if called == "numpy" else name)
                self.mentions.setdefault(id(shared), (shared, mention))
        elif called.partition(".")[0] not in _NOT_FOLLOWED:
            held = module.__dict__
            for attribute in names:
                if attribute in held:
                    value = held[attribute]
                    self._see(value, type(value), code, scope, attribute)

    def _see_object(
        self,
        value: Any,
        kind: type,
        names: Sequence[str],
        code: CodeType,
        scope: Any,
        name: str,
        deep: int = _DEEP,
    ) -> None:
        """Look at a value and at those of its attributes that are named."""
        self._see(value, kind, code, scope, name)
        if kind is FunctionType or kind in _BOUND or kind in _CONTAINERS or kind in self._kinds:
            return
        held = getattr(value, "__dict__", _NOTHING)
        for attribute in names:
            member = held.get(attribute)
            if member is not None:
                if (of := type(member)) in _PLAIN:
                    continue
                if deep and of is not ModuleType:
                    self._see_object(member, of, names, code, scope, attribute, deep - 1)
                else:
                    self._see(member, of, code, scope, attribute)
                continue
            of_class = getattr(kind, attribute, None)
            if of_class is None:
                continue
            if (of := type(of_class)) is FunctionType:
                self._pending.append(MethodType(of_class, value))
            elif of is property:
                if type(of_class.fget) is FunctionType:
                    self._pending.append(MethodType(of_class.fget, value))
            elif of is MemberDescriptorType:  # of __slots__
                member = getattr(value, attribute, None)
                self._see(member, type(member), code, scope, attribute)
            elif of in self._kinds or of in _CONTAINERS:
                self._see(of_class, of, code, scope, attribute)

    def _see_items(
        self, container: Any, code: CodeType, scope: Any, name: str, items: tuple[Any, ...] = ()
    ) -> None:
        """Look at the first items of a container, and at those of the first containers in it."""
        values = container.values() if isinstance(container, dict) else container
        last = len(items) + 1 == _DEEP
        wanted = self._kinds if last else self._kinds | _CONTAINERS
        try:
            if wanted.isdisjoint(map(type, itertools.islice(values, _ITEMS))):
                return  # as most are
            keys = container if isinstance(container, dict) else itertools.count()
            inner = 0
            for key, value in itertools.islice(zip(keys, values, strict=False), _ITEMS):
                if (kind := type(value)) in self._kinds:
                    mention = Mention(code, scope, name, (*items, key))
                    self.mentions.setdefault(id(value), (value, mention))
                elif not last and kind in _CONTAINERS and inner < _INNER:
                    self._see_items(value, code, scope, name, (*items, key))
                    inner += 1
        except RuntimeError:  # another thread changes it
            pass

    def _see(self, value: Any, kind: type, code: CodeType, scope: Any, name: str) -> None:
        if kind in _PLAIN:
            return
        if kind is FunctionType:
            self._pending.append(value)
        elif kind in self._kinds:
            self.mentions.setdefault(id(value), (value, Mention(code, scope, name)))
        elif kind in _CONTAINERS or isinstance(value, tuple):  # one with names for its items
            if id(value) not in self._looked:
                self._looked.add(id(value))
                self._see_items(value, code, scope, name)
        elif kind in _BOUND:
            of = value.__self__
            if type(of) in self._kinds:
                self.mentions.setdefault(id(of), (of, Mention(code, scope, name)))
            else:
                self._pending.append(value)
        elif callable(value) and (
            kind.__module__.partition(".")[0] not in _NOT_FOLLOWED or hasattr(value, "__wrapped__")
        ):
            self._pending.append(value)


_BOUND = (MethodType, BuiltinMethodType)
_CONTAINERS = frozenset([dict, list, tuple, deque, defaultdict, OrderedDict])
_NOTHING: dict[str, Any] = {}
_PLAIN = frozenset(
    [int, float, bool, str, complex, type(None), np.ndarray, np.float64, type, np.ufunc]
)
_NOT_FOLLOWED = frozenset(["fungrad", "numpy", "scipy", *sys.stdlib_module_names]) - {"__main__"}
"""The packages whose functions draw no numbers, or draw them from NumPy's shared generator."""

_MAKERS = (
    "fungrad.transforms",
    "fungrad.programs",
    "fungrad.core.errors",
    "functools",
    "contextlib",
)
"""The modules of functions that hold the user's in their closures."""


def _names(code: CodeType) -> tuple[str, ...]:
    """Return the names of globals and attributes in `code` and in the functions written inside of it."""
    names = code.co_names
    for constant in code.co_consts:
        if type(constant) is CodeType:
            names += _names(constant)
    return names


def _code_of(function: Any) -> CodeType | None:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(getattr(function, "__func__", function), "__code__", None)


def _scope_of(function: Any) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(getattr(function, "__func__", function), "__globals__", {})
