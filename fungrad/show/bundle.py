"""Extraction of a function from fungrad, with all that it calls, into a module without fungrad."""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import functools
import inspect
import sys
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from fungrad.extend import Primitive
from fungrad.show import plain
from fungrad.show.libraries import NUMPY, Library

REPLACED = {
    ("fungrad.core.backend", "target_of"): "target_of",
    ("fungrad.core.backend", "to_host"): "to_host",
    ("fungrad.core.backend", "as_result"): "same",
    ("fungrad.core.config", "settings"): "usual",
    ("fungrad.core.types", "ArrayType"): "Type",
    ("fungrad.core.types", "type_of"): "type_of",
    ("fungrad.core.tracer", "Tracer"): "NoTracer",
    ("fungrad.primitives.indexing", "take_along_axis"): "take_along_axis",
    ("fungrad.primitives.scipy_ufunc", "library"): "library",
    ("fungrad.primitives.slices", "slice_axis"): "slice_axis",
    ("fungrad.primitives.indexing", "write_on_gpu"): "write_on_device",
}
"""Functions of `plain` in place of those that distinguish machines, types and tracers."""

REPLACED_ON_DEVICE = {
    "library": "library_on_device",
    "target_of": "device_of",
    "to_host": "from_device",
}
"""Functions of `plain` for CuPy arrays, in place of those for NumPy arrays."""

_NOT_TAKEN = ("fungrad.core.errors", "fungrad.core.trace", "fungrad.core.expr")
"""Modules about traces, not arrays."""


class Unprintable(Exception):
    """A primitive whose text cannot be taken out; the message says why."""


@functools.cache
def _module(name: str) -> tuple[ast.Module, dict[str, ast.stmt]]:
    """Return a module's syntax, and the statements that define its names."""
    parsed = ast.parse(inspect.getsource(sys.modules[name]))
    defined: dict[str, ast.stmt] = {}
    for node in parsed.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            defined |= {(x.asname or x.name).partition(".")[0]: node for x in node.names}
        elif isinstance(node, ast.Assign):
            defined |= dict.fromkeys(_targets(node), node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            defined[node.target.id] = node
    return parsed, defined


class _Bare(ast.NodeTransformer):
    """Leaves out annotations, which nothing is computed with, and decorators of fungrad's."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if node.value is None:  # a field of a class
            node.annotation = ast.Name("object", ast.Load())
            return node
        return ast.copy_location(ast.Assign([node.target], node.value), node)


class Bundle:
    """The imports and definitions that texts taken out of fungrad need, each once."""

    def __init__(self, library: Library = NUMPY) -> None:
        self.library = library
        self.imports: dict[str, None] = {f"import {library.package} as {library.alias}": None}
        self.definitions: dict[str, str] = {}  # by name, in the order in which they are needed
        self._names: dict[tuple[str, str], str] = {}
        self._primitives: dict[Primitive, str] = {}

    def plain(self, name: str) -> str:
        """Return the name in the text of a function of `plain`."""
        return self.taken(plain.__name__, name)

    def primitive(self, primitive: Primitive) -> str:
        """Return a function, in the text, that computes a primitive on NumPy arrays."""
        if primitive not in self._primitives:
            self._primitives[primitive] = self._object(primitive)
        return self._primitives[primitive]

    def _object(self, primitive: Primitive) -> str:
        cls = type(primitive)
        methods: dict[str, str] = {}
        values: dict[str, str] = {}
        waiting = ["impl", *_fields(primitive)]
        while waiting:
            name = waiting.pop()
            if name in methods or name in values:
                continue
            if name == "infer":
                values[name] = self.plain(name)
                waiting += ["abstract_eval", "multiple_results"]
                continue
            member = inspect.getattr_static(cls, name, None)
            member = member.fget if isinstance(member, property) else member
            member = getattr(member, "__wrapped__", None) or getattr(member, "function", member)
            if isinstance(member, FunctionType) and name not in _fields(primitive):
                definition = _method(member, cls)
                methods[name] = self._resolved(definition, member.__module__)
                waiting += [x for x in _of_self(definition.node) if x != name]
            else:
                values[name] = self._literal(getattr(primitive, name, None), primitive)
        body = (
            ["\n".join([f"    {name} = {text}" for name, text in values.items()])] if values else []
        )
        body += [textwrap.indent(text, "    ") for text in methods.values()]
        name = self._fresh(f"_{cls.__name__}")
        self.definitions[name] = f"class {name}:\n" + "\n\n".join(body)
        return f"{name}().impl"

    def _literal(self, value: Any, primitive: Primitive) -> str:
        if isinstance(value, np.dtype) and value.kind in "biufc":
            self.imports["import numpy as np"] = None
            return f"np.dtype({value.name!r})"
        text = repr(value)
        try:
            if ast.literal_eval(text) == value:
                return text
        except (ValueError, SyntaxError):
            pass
        raise Unprintable(
            f"{primitive} holds {text[:60]}, which cannot be written as source: leave that call out of the function that is "
            "given to to_source"
        )

    def taken(self, module: str, name: str) -> str:
        """Return the name in the text for `name` of a module of fungrad."""
        key = module, name
        if key in self._names:
            return self._names[key]
        if module == plain.__name__ and name == "np":
            return self.library.alias
        if name == "cached_property":
            self.imports["from functools import cached_property"] = None
            return name
        if key in REPLACED:
            own = REPLACED[key]
            on_host = self.library.target.on_host
            return self.plain(own if on_host else REPLACED_ON_DEVICE.get(own, own))
        if module.startswith(_NOT_TAKEN):
            raise Unprintable(f"it reads {module}.{name}")
        statement = _module(module)[1].get(name)
        if isinstance(statement, ast.ImportFrom):
            source = statement.module or ""
            (alias,) = [x for x in statement.names if (x.asname or x.name) == name]
            if source.startswith("fungrad"):
                self._names[key] = self.taken(source, alias.name)
                return self._names[key]
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            text = ast.unparse(statement)
            if "fungrad" in text:
                raise Unprintable(f"{module} reads the module {name} of fungrad")
            self.imports[text] = None
            return name
        if statement is None:
            raise Unprintable(f"{module}.{name} is not defined by a statement")
        value = getattr(sys.modules[module], name, None)
        if isinstance(value, Primitive):
            own = self._names[key] = self._fresh(f"_{name.lstrip('_')}")
            self.definitions[own] = f"{own} = {self.primitive(value).removesuffix('.impl')}"
            return own
        several = _targets(statement) if isinstance(statement, ast.Assign) else [name]
        new = {x: self._fresh(f"_{x.lstrip('_')}") for x in several}
        self._names |= {(module, x): text for x, text in new.items()}
        own = new[name]
        self.definitions[own] = self._resolved(_renamed(statement, tuple(new.items())), module)
        return own

    def _resolved(self, definition: _Definition, module: str) -> str:
        """Return the text of a definition with its references by their names here."""
        return _text(
            definition, tuple((name, self.taken(module, name)) for name in definition.free)
        )

    def _fresh(self, name: str) -> str:
        taken, count = name, 1
        while taken in self.definitions or taken in self._names.values():
            taken, count = f"{name}{count}", count + 1
        return taken


def _fields(primitive: Primitive) -> list[str]:
    return [x.name for x in dataclasses.fields(primitive)]  # type: ignore[arg-type]


def _of_self(node: ast.AST) -> Iterator[str]:
    """Yield the attributes of `self` that a method reads."""
    for x in ast.walk(node):
        if isinstance(x, ast.Attribute) and isinstance(x.value, ast.Name) and x.value.id == "self":
            yield x.attr


def _targets(statement: ast.Assign) -> list[str]:
    """Return the names that an assignment gives values."""
    return [
        x.id for target in statement.targets for x in ast.walk(target) if isinstance(x, ast.Name)
    ]


class _Definition:
    """A definition without annotations. Each is made once, whatever number of texts it is for."""

    def __init__(self, node: Any) -> None:
        self.node = ast.fix_missing_locations(_Bare().visit(node))
        self.free = tuple(dict.fromkeys(_free(self.node)))


@functools.lru_cache(1024)
def _method(function: FunctionType, cls: type) -> _Definition:
    """Return a method of a primitive."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
        (node,) = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError) as error:
        raise Unprintable(f"the source of {cls.__name__} cannot be read") from error
    if not isinstance(node, ast.FunctionDef) or any(
        isinstance(x, ast.Name) and x.id == "super" for x in ast.walk(node)
    ):
        raise Unprintable(f"{cls.__name__}.{function.__name__} is no function by itself")
    is_property = any(
        isinstance(x, ast.Name) and x.id in ("property", "cached_property")
        for x in node.decorator_list
    )
    node.decorator_list = [ast.Name("property", ast.Load())] if is_property else []
    return _Definition(node)


@functools.lru_cache(1024)
def _renamed(statement: ast.stmt, names: tuple[tuple[str, str], ...]) -> _Definition:
    """Return a definition with names replaced."""
    node: Any = copy.deepcopy(statement)
    new = dict(names)
    for x in ast.walk(node):
        if isinstance(x, ast.Name):
            x.id = new.get(x.id, x.id)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        node.name = new[node.name]
    return _Definition(node)


@functools.lru_cache(1024)
def _text(definition: _Definition, names: tuple[tuple[str, str], ...]) -> str:
    """Return the text of a definition with its references renamed."""
    node, new = copy.deepcopy(definition.node), dict(names)
    for x in ast.walk(node):
        if isinstance(x, ast.Name):
            x.id = new.get(x.id, x.id)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        node.decorator_list = [x for x in node.decorator_list if "fungrad" not in ast.dump(x)]
    return ast.unparse(node)


def _free(node: ast.AST) -> Iterator[str]:
    """Yield the names that are neither bound within a definition nor Python's own."""
    bound, read = set[str](), list[str]()
    for x in ast.walk(node):
        match x:
            case ast.Name(ctx=ast.Load()):
                read.append(x.id)
            case ast.Name():
                bound.add(x.id)
            case ast.arg():
                bound.add(x.arg)
            case ast.FunctionDef() | ast.ClassDef() | ast.ExceptHandler():
                bound.add(str(x.name))
    return (name for name in read if name not in bound and not hasattr(builtins, name))
