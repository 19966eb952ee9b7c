"""Programs from the plain data that `encoding.py` makes of them.

Data may come from a file that somebody has made up. Names in it lead to primitives, records and functions of fungrad's that
programs have as parameters, and to what the reader has been given; nothing else is imported or called.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import KEYS, ArrayType, array_type, float0
from fungrad.primitives.ufunc import Function
from fungrad.programs.encoding import FOREIGN, FUNCTIONS, PLAIN, RECORDS, ExportError, file_name
from fungrad.programs.rules.rule_tracing import Lazy, TracedRule
from fungrad.programs.rules.sites import Results, Site

_HOMES = (
    "fungrad.primitives",
    "fungrad.programs",
    "fungrad.transforms",
    "fungrad.random",
    "fungrad.scipy.sparse",
)
"""Packages that declare primitives."""


class Decoder:
    """The inverse of `Encoder`.

    Parameters
    ----------
    tables
        What that has made.
    given
        Primitives of the user's that a program may hold: classes, and elementwise ones.
    """

    def __init__(self, tables: Mapping[str, list[Any]], given: Iterable[Any]) -> None:
        self.tables = tables
        self._given = {file_name(x): x for x in given if file_name(x)}
        self._made: dict[tuple[str, int], Any] = {}

    def _entry(self, table: str, number: int, make: Callable[[Any], Any]) -> Any:
        """Return the object that an entry stands for, made the first time."""
        key = (table, number)
        if key not in self._made:
            self._made[key] = make(self.tables[table][number])
        return self._made[key]

    def expr(self, number: int) -> Expr:
        """Return the program of a number."""
        return self._entry("programs", number, self._program)  # type: ignore[no-any-return]

    def _program(self, entry: Mapping[str, Any]) -> Expr:
        equations = [
            Equation(self._primitive(n), tuple(inputs), tuple(outputs))
            for n, inputs, outputs in entry["equations"]
        ]
        types = [self._type(n) for n in entry["types"]]
        ends = tuple(entry["inputs"]), tuple(entry["outputs"])
        return Expr(
            ends[0], equations, ends[1], types, entry["constants"], entry["captured"]
        ).check()

    def _type(self, number: int) -> ArrayType:
        return self._entry("types", number, lambda e: array_type(tuple(e[0]), _dtype(e[1]), e[2]))  # type: ignore[no-any-return]

    def _primitive(self, number: int) -> Primitive:
        return self._entry("primitives", number, self._made_primitive)  # type: ignore[no-any-return]

    def _made_primitive(self, entry: list[Any]) -> Primitive:
        name, module, fields = entry
        found = self._given.get(name) if module == FOREIGN else own_primitive(name, module)
        if found is None and module == FOREIGN:
            raise ExportError(
                f"holds the primitive {name}, which is not fungrad's: pass it in types="
            )
        if found is None:
            raise ExportError(
                f"holds the primitive {name}, which this version of fungrad does not have"
            )
        if isinstance(found, Function):
            return found
        given = {key: self.value(x) for key, x in fields}
        if unknown := given.keys() - {f.name for f in dataclasses.fields(found)}:
            raise ExportError(
                f"has parameters {sorted(unknown)} of {name}, which this version of fungrad does not have"
            )
        return found(**given)  # type: ignore[no-any-return]

    def value(self, x: Any) -> Any:
        """Return the parameter that plain data stands for."""
        if type(x) in PLAIN or isinstance(x, np.generic):
            return x
        if type(x) is tuple:
            return tuple([self.value(item) for item in x])
        kind, *about = x
        if kind == "dtype":
            return _dtype(*about)
        if kind == "type":
            return self._type(*about)
        if kind == "program":
            number, donated, borrowed = about
            return Program(self.expr(number), donated, False, borrowed)
        if kind == "primitive":
            return self._primitive(*about)
        if kind == "structure":
            return structure_of(*about)
        if kind == "set":
            return frozenset(map(self.value, about))
        if kind == "rule":
            return self._rule(*about)
        if kind == "function":
            return _function(*about)
        if kind == "record":
            return self._record(*about)
        raise ExportError(f"has a parameter of the unknown kind {kind!r}")

    def _record(self, module: str, name: str, fields: list[Any]) -> Any:
        cls: Any = getattr(_imported(module), name, None) if module.startswith(RECORDS) else None
        is_record = isinstance(cls, type) and (
            dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")
        )
        if not is_record or cls.__module__ != module:
            raise ExportError(
                f"has a parameter {module}.{name}, which this version of fungrad does not have"
            )
        return cls(**{key: self.value(x) for key, x in fields})

    def _rule(self, number: int, count: int, maps: tuple[Any, ...]) -> Lazy:
        owner = _Owner(self, number, self.tables["rules"][number]["name"])
        site = Site(
            (), (), tree.LEAF, (), tuple(range(count)), (True,) * count, None, tree.key_order(())
        )
        return Lazy(owner, site, ((), tree.LEAF), 0, maps)

    def rule(self, number: int) -> TracedRule:
        """Return the rule of a number, and the arrays that it closes over."""

        def made(entry: Mapping[str, Any]) -> TracedRule:
            return self.value(entry["rule"]), tuple(entry["captured"])

        return self._entry("rules", number, made)  # type: ignore[no-any-return]


@dataclasses.dataclass(frozen=True, eq=False)
class _Owner:
    """The function of a saved rule, as far as `Lazy` asks it; the rule is decoded when it is needed."""

    decoder: Decoder
    number: int
    name: str

    symbolic_zeros = False

    @property
    def fun(self) -> Any:
        """Something of the function's name."""
        return type(self.name, (), {})

    def trace_rule(self, site: Site, function: Results) -> TracedRule:
        """Return the rule and the arrays that it closes over."""
        return self.decoder.rule(self.number)


def structure_of(template: Any) -> tree.TreeDef:
    """Return the structure of a tree that has the numbers of its leaves as leaves."""
    leaves, structure = tree.flatten(template)
    if leaves != list(range(len(leaves))):
        raise ExportError("is damaged: a structure has other leaves than their numbers")
    return structure


def own_primitive(name: str, hint: str) -> Any:
    """Return fungrad's primitive of a name, once declared in the module `hint`; None if there is none."""
    for module in _modules(hint):
        for thing in [*vars(module).values()]:
            if file_name(thing) == name and "is_family" not in getattr(thing, "__dict__", {}):
                return thing
    return None


def _modules(hint: str) -> Iterator[ModuleType]:
    """Iterate over the modules that may declare a primitive, the likeliest first."""
    within = tuple([f"{home}." for home in _HOMES])
    if hint.startswith(within):
        with contextlib.suppress(ImportError):  # it may have moved
            yield _imported(hint)
    loaded = {name: x for name, x in sys.modules.copy().items() if name.startswith(within)}
    yield from loaded.values()
    for home in _HOMES:
        for info in pkgutil.walk_packages(importlib.import_module(home).__path__, f"{home}."):
            if info.name not in loaded:
                yield importlib.import_module(info.name)


def _imported(module: str) -> ModuleType:
    if not all(part.isidentifier() for part in module.split(".")):
        raise ExportError(f"is damaged: {module!r} is no name of a module")
    return importlib.import_module(module)


def _function(module: str, name: str) -> Any:
    found = getattr(_imported(module), name, None) if module.startswith(FUNCTIONS) else None
    if not callable(found):
        raise ExportError(
            f"holds the function {module}.{name}, which this version of fungrad does not have"
        )
    return found


def _dtype(name: str) -> Any:
    if name.startswith("key<"):
        return KEYS[name[4:-1]]
    if name == float0.name:
        return float0
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(vars(ml_dtypes)[name])
