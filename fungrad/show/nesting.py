"""Nested arguments and results as source, and names of their leaves."""

from __future__ import annotations

import ast
import builtins
import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from typing import Any

from fungrad.extend.trees import flatten_one_level
from fungrad.extend.types import type_of
from fungrad.show.bundle import Unprintable


class Expression(str):
    """An expression of Python, in place of a leaf."""


class Nesting:
    """Writer of pytrees; `imports` and `definitions` are needs of their classes.

    Leaves are in the order in which fungrad has them everywhere: that of insertion in an `OrderedDict`, of sorted keys in a dict.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self.imports: dict[str, None] = {}
        self.definitions: dict[str, str] = {}  # of named tuples, by their names in the text
        self._classes: dict[tuple[str, tuple[str, ...]], str] = {}
        self._taken = {*taken, *dir(builtins)}

    def arguments(self, values: dict[str, Any]) -> tuple[str, list[str]]:
        """Return the types of arguments, nested alike, and variable names of their leaves, in order.

        One walk makes both, so what `plain.leaves` finds by the types goes by these names.
        """
        names: list[str] = []
        types = [self._types(x, name, names) for name, x in values.items()]
        return _tuple(types), names

    def _types(self, value: Any, name: str, names: list[str]) -> str:
        if value is None:
            return "None"
        children, _ = flatten_one_level(value)
        if len(children) == 1 and not children[0][0]:  # a leaf
            plain, count = name, 1
            while name in names:
                name, count = f"{plain}_{count}", count + 1
            names.append(name)
            return repr(str(type_of(value).update(weak=False)))
        texts = []
        for (key,), child in children:
            part = getattr(key, "key", getattr(key, "idx", getattr(key, "name", "")))
            below = re.sub(r"\W", "_", f"{part}", flags=re.ASCII)
            texts.append(self._types(child, f"{name}_{below}", names))
        if isinstance(value, dict):
            keys: list[Any] = [key for (key,), _ in children]
            return _dict([key.key for key in keys], texts)
        return self._sequence(value, texts, "an argument has")

    def results(self, value: Any) -> str:
        """Return nested tuples, lists and dicts of expressions; keys of dicts are in the order of `value`."""
        if type(value) is Expression:
            return value
        if value is None:
            return "None"
        if not isinstance(value, dict):
            parts = value if isinstance(value, (tuple, list)) else ()
            return self._sequence(value, list(map(self.results, parts)), "a result has")
        text = _dict(list(value), list(map(self.results, value.values())))
        if type(value) is OrderedDict:
            self.imports["from collections import OrderedDict"] = None
            return f"OrderedDict({text if value else ''})"
        if type(value) is defaultdict:
            self.imports["from collections import defaultdict"] = None
            return f"defaultdict({_factory(value.default_factory)}, {text})"
        return text

    def _sequence(self, value: Any, items: list[str], whose: str) -> str:
        if type(value) is list:
            return f"[{', '.join(items)}]"
        if type(value) is tuple:
            return _tuple(items)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self._named_tuple(type(value))}({', '.join(items)})"
        raise Unprintable(
            f"{whose} a node of the class {type(value).__name__}: use tuples, lists, dicts and named tuples"
        )

    def _named_tuple(self, cls: Any) -> str:
        key = cls.__name__, cls._fields
        if key not in self._classes:
            name = self._classes[key] = self._free(cls.__name__)
            self.imports["from collections import namedtuple"] = None
            renamed = ", rename=True" * any(field.startswith("_") for field in cls._fields)
            text = f"{name} = namedtuple({cls.__name__!r}, {list(cls._fields)}{renamed})"
            self.definitions[name] = text
        return self._classes[key]

    def _free(self, name: str) -> str:
        free, count = name, 1
        while free in self._taken:
            free, count = f"{name}{count}", count + 1
        self._taken.add(free)
        return free


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _dict(keys: list[Any], texts: list[str]) -> str:
    pairs = [f"{_key(k)}: {text}" for k, text in zip(keys, texts, strict=True)]
    return f"{{{', '.join(pairs)}}}"


def _key(key: Any) -> str:
    text = repr(str(key) if isinstance(key, str) else key)  # of NumPy's strings too
    try:
        if ast.literal_eval(text) == key:
            return text
    except (ValueError, SyntaxError):
        pass
    raise Unprintable(f"the key {text} of a dict is no literal: use strings, numbers or tuples")


def _factory(factory: Any) -> str:
    """Return the factory of a defaultdict as text."""
    name = getattr(factory, "__name__", "")
    if factory is None or getattr(builtins, name, None) is factory:
        return name or "None"
    raise Unprintable(f"a result is a defaultdict of {factory!r}, which is not Python's own")
