"""Stubs of the packages whose names are imported when they are asked for, and of those that mirror SciPy's.

A function whose parameters and results are annotated is taken from where it is. Others are written out: in the source of
rules `Any` stands for an array or a tracer, and to users both are an `Array`. So a result that is `Any` becomes `Array`, in a
tuple or list too, and a parameter `ArrayLike`, but where `stub_tables` says another type of its name.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from tools.stub_signatures import IMPORTS, OVERLOADS, ByOption, body_of, definition
from tools.stub_tables import AS_THEY_ARE, NAMED, PARAMETERS, RESULTS, SPECIAL

SCIPY = f"# As SciPy {'.'.join(scipy.__version__.split('.')[:2])} has them.\n"
PACKAGES = (
    *("lax", "lax.linalg", "nn", "nn.losses", "random", "training", "scipy"),
    *("scipy.fft", "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage"),
    *("scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.special", "scipy.stats"),
)
"""The packages that have a stub."""

WRITTEN = {"Any", "Callable", "Iterable", "Sequence"}
"""The names of types that every stub has, with an underscore."""

KNOWN_DECORATORS = {"public", "public_like", "COMMON", "overload", "documented", "functools"}
"""Decorators that leave the type of a function as it is."""


@functools.cache
def source(module: str) -> ast.Module:
    """Return the parsed source of a module."""
    return ast.parse(Path(str(sys.modules[module].__file__)).read_text("utf-8"))


@functools.cache
def imported(module: str) -> dict[str, tuple[str, str]]:
    """Return where the names come from that a module imports from others."""
    return {
        name.asname or name.name: (statement.module or "", name.name)
        for statement in ast.walk(source(module))
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
    }


def is_annotated(name: str, function: Any) -> bool:
    """Whether a function can be taken from where it is: no parameter and no result of it is an `Any`."""
    module = function.__module__
    ours = module.startswith("fungrad")
    if not ours or getattr(sys.modules.get(module), name, None) is not function:
        return False
    written = [
        x
        for x in source(module).body
        if isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef)) and x.name == name
    ]
    decorators = [
        ast.unparse(d).split("(")[0].split(".")[0] for x in written for d in x.decorator_list
    ]
    if not written or not {*decorators} <= KNOWN_DECORATORS:
        return False
    if (module, name) in AS_THEY_ARE or "overload" in decorators:
        return True
    signature = inspect.signature(function)
    given = [p.annotation for p in signature.parameters.values()]
    return "Any" not in given and not re.search(r"\bAny\b", str(signature.return_annotation))


def qualified(annotation: str, module: str, needed: dict[str, str]) -> str:
    """Return an annotation with the names that a stub has, and add to `needed` how these are imported."""

    def renamed(found: re.Match[str]) -> str:
        name = found[0]
        if name == "bool" or name in WRITTEN:
            return f"_{name}"
        if name == "np":
            needed["np"] = "import numpy as np"
        elif not hasattr(builtins, name):
            home, original = imported(module).get(name, (module, name))
            needed[name] = f"from {home} import {original} as _{name.lstrip('_')}"
            return f"_{name.lstrip('_')}"
        return name

    return re.sub(r"(?<![\w.'\"])[A-Za-z_]\w*", renamed, annotation)


def parameters(name: str, function: Any, mirrored: Any) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a function; of a ufunc, by the names that its documentation has."""
    ufunc = inspect.unwrap(getattr(mirrored, name, None)) if mirrored else None
    for p in inspect.signature(function).parameters.values():
        if p.kind is not p.VAR_POSITIONAL or not isinstance(ufunc, np.ufunc):
            yield p
            continue
        call = re.search(rf"^{name}\(([^)\[]*?)(?:, out.*)?\)$", ufunc.__doc__ or "", re.MULTILINE)
        names = [x.strip() for x in call[1].split(",")] if call else []
        if len(names) != ufunc.nin or not all(map(str.isidentifier, names)):
            names = [f"x{i + 1}" for i in range(ufunc.nin)] if ufunc.nin > 1 else ["x"]
        yield from (inspect.Parameter(x, p.POSITIONAL_ONLY) for x in names)


class Stub:
    """The stub of a package as it is being written."""

    def __init__(self, package: types.ModuleType) -> None:
        self.package = package
        self.name = package.__name__.removeprefix("fungrad.")
        self.mirrored = None
        if self.name.startswith("scipy."):
            self.mirrored = importlib.import_module(self.name)
        self.needed: dict[str, str] = {}
        group = self.name.partition(".")[0]
        self.types = {
            **PARAMETERS[""],
            **PARAMETERS.get(group, {}),
            **PARAMETERS.get(self.name, {}),
        }

    def type_of(self, name: str, p: inspect.Parameter, module: str, is_ufunc: bool) -> str:
        """Return the type of a parameter: what the source says, or its name."""
        source_says = p.annotation if isinstance(p.annotation, str) else "Any"
        if p.annotation is None:
            source_says = "None"
        if (self.name, name, p.name) in SPECIAL:
            found = SPECIAL[self.name, name, p.name]
        elif source_says != "Any":
            return qualified(source_says, module, self.needed)
        elif is_ufunc and p.kind is p.POSITIONAL_ONLY:
            found = "_ArrayLike"
        elif p.name in self.types:
            found = self.types[p.name]
        else:
            found = {bool: "_bool", str: "str"}.get(type(p.default), "_ArrayLike")
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or "None" in found:
            return found
        return f"{found} | None" if p.default is None and found not in ("_Any", "object") else found

    def result_of(self, name: str, function: Any, ufunc: Any) -> str | ByOption:
        """Return the type of the result: of the table, or what the source says, with arrays for `Any`."""
        if (self.name, name) in RESULTS:
            return RESULTS[self.name, name]
        if isinstance(ufunc, np.ufunc) and ufunc.nout > 1:
            return f"tuple[{', '.join(['_Array'] * ufunc.nout)}]"
        annotation = inspect.signature(function).return_annotation
        if not isinstance(annotation, str):
            annotation = "None" if annotation is None else "Any"
        found = qualified(annotation, function.__module__, self.needed)
        is_plain = re.fullmatch(r"(_Any|tuple|list|None|[\[\], .|])+", found)
        return re.sub(r"\b_Any\b", "_Array", found) if is_plain else found

    def lines_of(self, name: str) -> Iterator[str]:
        """Yield the lines of a public name."""
        value = getattr(self.package, name)
        if isinstance(value, types.ModuleType):
            yield f"from {value.__name__.rpartition('.')[0]} import {name} as {name}"
        elif callable(value) and not isinstance(value, type) and inspect.isroutine(value):
            if is_annotated(name, value):
                yield f"from {value.__module__} import {name} as {name}"
                return
            ufunc = inspect.unwrap(getattr(self.mirrored, name, value))
            is_ufunc = isinstance(ufunc, np.ufunc)
            given = [
                (p, self.type_of(name, p, value.__module__, is_ufunc))
                for p in parameters(name, value, self.mirrored)
            ]
            yield from definition(name, given, self.result_of(name, value, ufunc), value.__doc__)
        elif isinstance(value, type) or not type(value).__module__.startswith("fungrad"):
            home = str(getattr(value, "__module__", ""))
            own = getattr(sys.modules.get(home), name, None) is value
            if not own or not home.startswith("fungrad"):  # an alias of a type, or SciPy's
                home = self.home_of(name, value)
            yield f"from {home} import {name} as {name}"
        else:
            kind = type(value)
            self.needed[kind.__name__] = (
                f"from {kind.__module__} import {kind.__name__} as _{kind.__name__}"
            )
            yield f"{name}: _{kind.__name__}"

    def home_of(self, name: str, value: Any) -> str:
        """Return the public module that has a value: SciPy's, or one of the package."""
        if getattr(self.mirrored, name, None) is value:
            return self.name
        home = getattr(self.package, "_HOME", {}).get(name)
        return f"{self.package.__name__}.{home}"

    def text(self, head: str) -> str:
        """Return the stub."""
        body = body_of(line for name in self.package.__all__ for line in self.lines_of(name))
        if "np." in body:
            self.needed["np"] = "import numpy as np"
        more = OVERLOADS if "@_overload" in body else ""
        if "_T" in re.findall(r"\w+", body):
            more += "from typing import TypeVar as _TypeVar\n"
        variable = '_T = _TypeVar("_T")\n' if "_TypeVar" in more else ""
        for home, names in NAMED.items():
            used = [x for x in names.split() if f"-> {x}:" in body]
            used = [x for x in used if f" {x} as {x}" not in body]
            more += f"from {home} import {', '.join(used)}\n" if used else ""
        more += "".join(f"{line}\n" for line in sorted({*self.needed.values()}))
        return (
            (SCIPY if self.mirrored else "")
            + head
            + IMPORTS.rstrip()
            + "\n"
            + more
            + "\n"
            + variable
            + body
        )


def of_package(name: str, head: str) -> str:
    """Return the stub of a package of fungrad."""
    return Stub(importlib.import_module(f"fungrad.{name}")).text(head)
